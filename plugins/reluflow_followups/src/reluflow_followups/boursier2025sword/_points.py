"""The three points of Section 5, the least-squares line through them, and the paper's initialisation."""

from __future__ import annotations

import numpy as np

import reluflow as rf

X, Y = (-0.75, -0.5, 0.125), (1.1, 0.1, 0.8)


def data() -> rf.Data:
    return rf.Data(np.column_stack([X, np.ones(3)]), Y)


def problem(width: int, log_scale: float, seed: int) -> rf.Problem:
    """Balanced neurons of size e^log_scale / sqrt(width)."""
    init = rf.init.balanced(width, 2, log_scale=log_scale - 0.5 * np.log(width), seed=seed)
    return rf.Problem(data(), init)


def least_squares(points: rf.Data) -> tuple[np.ndarray, float]:
    """The coefficients of the best linear function, and its mean loss (1/2)(f - y)^2."""
    beta = np.linalg.lstsq(points.x, points.y, rcond=None)[0]
    return beta, 0.5 * float(np.mean((points.x @ beta - points.y) ** 2))


def bends_upwards(problem: rf.Problem) -> bool:
    """Whether some neuron with a > 0 is active on some of the points but not on all.

    Without one f is, on the points, a linear function minus convex ones, as long as the neurons with a > 0 that see all
    points go on doing so (they did from every scale tried). The middle point is below the line through the outer two,
    so that the best such f is the least-squares line.
    """
    active = np.count_nonzero(problem.data.x @ problem.init.w.T > 0, axis=0)
    return bool(np.any((problem.init.a > 0) & (active > 0) & (active < problem.data.n)))
