"""Linear labels with noise, and what a network learnt of them, in closed form where inputs are Gaussian."""

from __future__ import annotations

import numpy as np

import reluflow as rf

DIM, NOISE = 3, 0.5


HELD = 1e-9  # |cos| of the angle between a neuron and a datum on its activation boundary; those held are at 1e-16


def data(n: int, seed: int, gap: float = 0.0) -> rf.Data:
    """Normal inputs in three dimensions, y = x_1 + noise; with a gap those with |x_1| < gap |x| are drawn again."""
    rng = np.random.default_rng(100 + seed)
    x = rng.normal(size=(n, DIM))
    while gap and np.any(near := np.abs(x[:, 0]) < gap * np.linalg.norm(x, axis=1)):
        x[near] = rng.normal(size=(int(near.sum()), DIM))
    return rf.Data(x, x[:, 0] + NOISE * rng.normal(size=n))


def least_squares(x, y) -> float:
    """Sum of (1/2)(f - y)^2 for the best linear function."""
    if len(x) == 0:
        return 0.0
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    return 0.5 * float(np.sum((x @ beta - y) ** 2))


def halves(points: rf.Data) -> float:
    """Mean loss of least squares on each half space of the teacher."""
    side = points.x[:, 0] > 0
    return sum(least_squares(points.x[s], points.y[s]) for s in (side, ~side)) / points.n


def patterns(w: np.ndarray, points: rf.Data) -> np.ndarray:
    """Row by row 1 where a neuron is active, 0 where not, 1/2 on its activation boundary; each pattern once."""
    cos = (w @ points.x.T) / np.outer(np.linalg.norm(w, axis=1), np.linalg.norm(points.x, axis=1))
    return np.unique(np.where(np.abs(cos) < HELD, 0.5, cos > 0), axis=0)


def least_with(patterns: np.ndarray, points: rf.Data) -> float:
    r"""Mean loss of the best function $\sum_k m_k(x) \langle v_k, x \rangle$, $m_k$ the patterns and $v_k$ on their
    boundaries.

    At rest the network is this function: with patterns and boundaries given it is linear in the $v_k$, and a
    gradient of 0 is the normal equation of this least-squares problem.
    """
    columns = []
    for m in patterns:
        _, size, rows = np.linalg.svd(points.x[m == 0.5])
        free = rows[np.count_nonzero(size > 1e-12) :].T
        columns.append(np.where(m[:, None] == 1, points.x, 0.0) @ free)
    return least_squares(np.concatenate(columns, axis=1), points.y) / points.n


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
