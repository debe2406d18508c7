"""Pictures of runs and sweeps in one palette. Every function except `picture` draws on given axes."""

from reluflow.plot.figure import picture
from reluflow.plot.palette import DATA, FAINT, INK, MINUS, PAPER, PLUS, THEORY, class_colours, sign_colours, style
from reluflow.plot.run import directions, function, learned, loss, norms
from reluflow.plot.sweep import curve, heat, scatter

__all__ = [
    "DATA",
    "FAINT",
    "INK",
    "MINUS",
    "PAPER",
    "PLUS",
    "THEORY",
    "class_colours",
    "curve",
    "directions",
    "function",
    "heat",
    "learned",
    "loss",
    "norms",
    "picture",
    "scatter",
    "sign_colours",
    "style",
]
