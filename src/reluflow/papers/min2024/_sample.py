"""Directions drawn for the geometric lemmas: `default_rng([seed, 3])` throughout."""

import numpy as np


def rounding(data) -> float:
    """Of an inner product of two unit vectors."""
    return float((data.d + 4) * np.finfo(float).eps)


def in_cone(u: np.ndarray, samples: int, seed: int) -> np.ndarray:
    """Unit vectors of cone{u_i}: the generators, then combinations with few and with many terms."""
    rng = np.random.default_rng([seed, 3])
    weight = rng.exponential(size=(samples, len(u))) * (rng.random((samples, len(u))) < rng.random((samples, 1)))
    weight[np.arange(samples), rng.integers(len(u), size=samples)] += 0.01
    z = np.concatenate([u, weight @ u])
    size = np.linalg.norm(z, axis=1)
    return z[size > 1e-9] / size[size > 1e-9][:, None]


def on_sphere(d: int, samples: int, seed: int, tag: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, 3, tag])
    z = rng.normal(size=(samples, d))
    return z / np.linalg.norm(z, axis=1)[:, None]
