r"""Angles between all pairs of rows, a block at a time: n = 12,665 needs no n x n matrix.

    cos_ik = <x_i, x_k> / (|x_i| |x_k|)

Rows are first scaled by powers of two, which rounds nothing: orthogonal rows such as (-1/2, 1) and (2, 1) give cosine 0 itself,
and no square over- or underflows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

BLOCK = 512
# Below this distance from 1 a cosine in float64 no longer tells an angle: read the chord |u_i - u_k| instead.
NEAR = 1e-10


def _scaled(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with largest entry in [1/2, 1), and the powers of two taken out."""
    power = np.frexp(np.max(np.abs(x), axis=1))[1]
    return np.ldexp(x, -power[:, None]), power


def norms(x: np.ndarray) -> np.ndarray:
    """Row norms, right also where squares over- or underflow."""
    scaled, power = _scaled(x)
    return np.ldexp(np.linalg.norm(scaled, axis=1), power)


def unit_rows(x: np.ndarray) -> np.ndarray:
    """x_i / |x_i|, with zero rows left zero."""
    scaled = _scaled(x)[0]
    size = np.linalg.norm(scaled, axis=1)
    return scaled / np.where(size > 0, size, 1.0)[:, None]


def cosine_blocks(x: np.ndarray, fill: float) -> Iterator[tuple[int, np.ndarray]]:
    """(first, cosines of rows first.. with rows first..), every pair once: entries with i >= k hold `fill`.

    A zero row has cosine 0 with every row.
    """
    scaled = _scaled(x)[0]
    size = np.linalg.norm(scaled, axis=1)
    size[size == 0] = 1.0
    for first in range(0, len(x), BLOCK):
        cosines = scaled[first : first + BLOCK] @ scaled[first:].T
        cosines /= size[first : first + BLOCK, None]
        cosines /= size[first:]
        cosines[np.tril_indices(cosines.shape[0])] = fill
        yield first, cosines


def chord(u: np.ndarray, i: np.ndarray, k: np.ndarray) -> np.ndarray:
    """|u_i - u_k| for pairs of unit rows: 2 sin(angle / 2) without the cancellation of 1 - cos."""
    parts = range(0, len(i), BLOCK)
    return np.concatenate([np.linalg.norm(u[i[s : s + BLOCK]] - u[k[s : s + BLOCK]], axis=1) for s in parts] or [np.zeros(0)])
