"""Colours: red and blue for the signs (distinguishable with common colour-vision deficiencies), gold for theory, ten
for classes."""

from contextlib import contextmanager

import numpy as np

INK = "#1d2733"  # text, the network
PAPER = "#fffdf8"
FAINT = "#8b95a1"  # axes, neurons that stay small
PLUS = "#d1495b"  # a_j > 0
MINUS = "#2d7dd2"  # a_j < 0
THEORY = "#e0a100"
DATA = "#1d2733"


def sign_colours(sign) -> np.ndarray:
    """One colour per neuron, by the sign of its output weight."""
    return np.where(np.asarray(sign) >= 0, PLUS, MINUS)


# One colour a class, told apart with common colour-vision deficiencies: neighbours differ in lightness as well.
CLASSES = (MINUS, PLUS, "#2a9d8f", "#7a5195", "#f28e2b", "#5c6b7a", "#b5c334", "#8d5a3b", "#e377c2", "#9bb8d3")


def class_colours(classes) -> np.ndarray:
    """One colour for each class 0, 1, ...; they repeat after ten."""
    return np.array(CLASSES)[np.asarray(classes, int) % len(CLASSES)]


@contextmanager
def style():
    """Matplotlib settings of this project, inside a `with` block."""
    import matplotlib as mpl

    settings = {
        "figure.facecolor": PAPER,
        "axes.facecolor": PAPER,
        "savefig.facecolor": PAPER,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": FAINT,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.titlepad": 9,
        "axes.labelsize": 9,
        "xtick.color": FAINT,
        "ytick.color": FAINT,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "legend.frameon": False,
        "legend.fontsize": 8.5,
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "lines.linewidth": 1.6,
    }
    with mpl.rc_context(settings):
        yield
