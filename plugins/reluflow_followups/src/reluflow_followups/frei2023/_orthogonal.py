"""Nearly orthogonal inputs, the condition on them, and a first layer with fixed output weights."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SLOPE = 0.5


def inside(n: int = 12, d: int = 40, seed: int = 0):
    """Data that meet the condition for slope 0.5, and a start drawn from the same stream."""
    rng = np.random.default_rng(seed)
    x = np.eye(n, d) + 0.0008 * rng.normal(size=(n, d))
    y = np.where(rng.uniform(size=n) < 0.6, 1.0, -1.0)
    return rf.Data(x, y), rng.normal(size=(40, d))


def outside(n: int = 12, d: int = 600, seed: int = 0):
    """Normal data, too few dimensions for the condition with slope 0.2."""
    rng = np.random.default_rng(seed)
    return rf.Data(rng.normal(size=(n, d)), np.where(np.arange(n) % 2, -1.0, 1.0)), rng.normal(size=(40, d))


def problem(data: rf.Data, g, log_scale: float, slope: float) -> rf.Problem:
    """a = +-1/sqrt(m) in halves, fixed; w = e^log_scale g / sqrt(m)."""
    m = len(g)
    a = np.repeat([1.0, -1.0], m // 2) / np.sqrt(m)
    init = rf.Params(g / np.sqrt(m), a, log_scale=log_scale, log_scale_a=0.0)
    return rf.Problem(data, init, loss="logistic", activation=rf.LeakyReLU(slope), train="first")


def condition(data: rf.Data, slope: float) -> float:
    """min_i |x_i|^2 / (5 slope^-2 n max_k |<x_i, x_k>|): at least 1 where the paper's condition holds."""
    gram = np.abs(data.x @ data.x.T)
    square = np.diag(gram).copy()
    np.fill_diagonal(gram, 0.0)
    return float(np.min(square / np.maximum(5 / slope**2 * data.n * gram.max(axis=1), 1e-300)))


def spectrum(w) -> np.ndarray:
    return np.linalg.svd(w, compute_uv=False)


def boundary(w, a, slope: float) -> np.ndarray:
    """The vector z with sign f(x) = sign <z, x>: sum_j a_j w_j, if the limit is as the paper says."""
    return 0.5 * (1 + slope) * (a @ w)
