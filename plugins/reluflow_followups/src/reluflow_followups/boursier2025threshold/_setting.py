"""Linear labels with noise, and what a network learnt of them, in closed form where inputs are Gaussian."""

from __future__ import annotations

import numpy as np

import reluflow as rf

DIM, NOISE = 3, 0.5


def data(n: int, seed: int) -> rf.Data:
    """Normal inputs in three dimensions, y = x_1 + noise."""
    rng = np.random.default_rng(100 + seed)
    x = rng.normal(size=(n, DIM))
    return rf.Data(x, x[:, 0] + NOISE * rng.normal(size=n))


def least_squares(x, y) -> float:
    """Sum of (1/2)(f - y)^2 for the best linear function."""
    if len(x) == 0:
        return 0.0
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    return 0.5 * float(np.sum((x @ beta - y) ** 2))


def excess(neurons: np.ndarray, signs: np.ndarray) -> float:
    r"""E (f(x) - x_1)^2 over standard normal x, for f = sum_k s_k relu(<v_k, x>).

    E relu(<u, x>) relu(<v, x>) = |u||v| (sin t + (pi - t) cos t) / (2 pi), t the angle between them, and
    E relu(<u, x>) x_1 = u_1 / 2.
    """
    norm = np.linalg.norm(neurons, axis=1)
    cos = np.clip(neurons @ neurons.T / np.outer(norm, norm), -1.0, 1.0)
    angle = np.arccos(cos)
    both = np.outer(norm, norm) * (np.sin(angle) + (np.pi - angle) * cos) / (2 * np.pi)
    return float(signs @ both @ signs - signs @ neurons[:, 0] + 1.0)
