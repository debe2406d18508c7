"""Pictures of runs, in one palette. Every function draws on the axes it is given and returns nothing else."""

from reluflow.plot.palette import DATA, FAINT, INK, MINUS, PAPER, PLUS, THEORY, sign_colours, style
from reluflow.plot.run import directions, function, loss, norms

__all__ = [
    "DATA",
    "FAINT",
    "INK",
    "MINUS",
    "PAPER",
    "PLUS",
    "THEORY",
    "directions",
    "function",
    "loss",
    "norms",
    "sign_colours",
    "style",
]
