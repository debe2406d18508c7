"""A run on the population as a picture: loss, sizes of the students, angles to the teachers."""

import numpy as np

from reluflow.plot import look

TEACHERS = (look.PLUS, look.MINUS, look.THEORY, look.PURPLE)


def run(sol):
    """Loss, log sizes and angles over time, one line for each student, coloured by the teacher it ends nearest to."""
    fig = look.figure(look.PAGE, 2.6)
    left, middle, right = fig.subplots(1, 3)
    t = sol.t
    colours = [TEACHERS[k % len(TEACHERS)] for k in np.argmin(sol.angles[-1], axis=1)]
    left.plot(t, sol.loss, color=look.INK)
    size = sol.log_norm + sol.log_output
    for j, colour in enumerate(colours):
        style = "-" if sol.sign[-1, j] > 0 else ":"
        middle.plot(t, size[:, j], color=colour, ls=style, lw=1)
        right.plot(t, sol.angles[:, j].min(axis=1), color=colour, ls=style, lw=1)
    left.set(xlabel="t", ylabel="loss", ylim=(0, None))
    middle.set(xlabel="t", ylabel="log |a| |w|")
    right.set(xlabel="t", ylabel="angle to the nearest teacher", ylim=(0, np.pi))
    for letter, ax in zip("abc", (left, middle, right)):
        look.letter(ax, letter)
    return fig
