"""Two learning rates as one flow, and a plain loop of two-rate descent to compare with.

    w' = h_w a D, a' = h_a <D, w> is the plain flow of x -> sqrt(h_w h_a) x, w -> w / sqrt(h_w), a -> a / sqrt(h_a)

at the same time t; it conserves a_j^2 / h_a - |w_j|^2 / h_w.
"""

from __future__ import annotations

import numpy as np

import reluflow as rf


def rescaled(problem: rf.Problem, h_w: float, h_a: float) -> rf.Problem:
    """The plain problem whose flow is that of `problem` with the rates h_w and h_a."""
    data = rf.Data(np.sqrt(h_w * h_a) * problem.data.x, problem.data.y)
    init = problem.init
    log_w, log_a = init.log_scales
    start = rf.Params(init.w, init.a, log_scale=log_w - 0.5 * np.log(h_w), log_scale_a=log_a - 0.5 * np.log(h_a))
    return rf.Problem(data, start, problem.loss, problem.reduction, problem.activation, problem.train)


def two_rates(problem: rf.Problem, h_w: float, h_a: float, step: float, t1: float) -> np.ndarray:
    """Outputs at t1 by plain descent with a rate for each layer (mean square loss, ReLU)."""
    x, y = problem.data.x, problem.data.y
    w, a = (v.copy() for v in problem.init.arrays())
    for _ in range(round(t1 / step)):
        z = x @ w.T
        force = (y - np.maximum(z, 0.0) @ a) / len(y)
        pull = ((z > 0) * force[:, None]).T @ x
        w, a = w + step * h_w * a[:, None] * pull, a + step * h_a * np.sum(pull * w, axis=1)
    return np.maximum(x @ w.T, 0.0) @ a
