"""Separable data that are symmetric under (x, y) -> (-x, -y), and the linear part of a leaky network."""

from __future__ import annotations

import numpy as np

import reluflow as rf

SLOPE = 0.3


def half(n: int = 6, d: int = 5, rng: int = 3) -> rf.Data:
    """Normal inputs with the labels of a random direction, moved apart by 0.6 along it."""
    rng_ = np.random.default_rng(rng)
    x, w = rng_.normal(size=(n, d)), rng_.normal(size=d)
    y = np.sign(x @ w)
    return rf.Data(x + 0.3 * y[:, None] * w / np.linalg.norm(w), y)


def mirrored(data: rf.Data) -> rf.Data:
    return rf.Data(np.vstack([data.x, -data.x]), np.concatenate([data.y, -data.y]))


def linear_part(w, a, slope: float) -> np.ndarray:
    """f = <b, x> + (1 - slope)/2 sum_j a_j |<w_j, x>|: the vector b = (1 + slope)/2 sum_j a_j w_j."""
    return 0.5 * (1 + slope) * (a @ w)


def rest(w, a, x, slope: float) -> np.ndarray:
    """The other part at the rows of x."""
    return 0.5 * (1 - slope) * np.abs(x @ w.T) @ a
