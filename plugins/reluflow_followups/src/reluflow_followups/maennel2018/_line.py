"""Twelve points on a line, and the directions of neurons as angles."""

from __future__ import annotations

import numpy as np

import reluflow as rf


def data(n: int = 12, rng: int = 5) -> rf.Data:
    """x uniform in [-1, 1], in order, with a column of ones; y = sin 4x with noise."""
    draw = np.random.default_rng(rng)
    x = np.sort(draw.uniform(-1, 1, n))
    return rf.Data(np.column_stack([x, np.ones(n)]), np.sin(4 * x) + 0.3 * draw.normal(size=n))


def degrees(w) -> np.ndarray:
    return np.degrees(np.arctan2(w[..., 1], w[..., 0]))


def dead(w, x) -> np.ndarray:
    """Neurons inactive on all data, up to rounding: those that die come to rest on an activation boundary."""
    size = np.linalg.norm(w, axis=-1)[..., None] * np.linalg.norm(x, axis=1)
    return np.all(w @ x.T <= 1e-12 * size, axis=-1)
