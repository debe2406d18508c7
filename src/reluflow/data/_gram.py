r"""Inner products of unit rows, a block at a time: n = 12,665 needs no n x n matrix.

    U_i = x_i / |x_i|,     cos_ik = <U_i, U_k>
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

BLOCK = 512
# Below this distance from 1 a cosine in float64 no longer tells an angle: read the chord |U_i - U_k| instead.
NEAR = 1e-10


def norms(x: np.ndarray) -> np.ndarray:
    """Row norms, right also where squares over- or underflow."""
    top = np.max(np.abs(x), axis=1)
    safe = np.where(top > 0, top, 1.0)
    return top * np.sqrt(np.einsum("ij,ij->i", x / safe[:, None], x / safe[:, None]))


def unit_rows(x: np.ndarray) -> np.ndarray:
    """x_i / |x_i|, with zero rows left zero."""
    top = np.max(np.abs(x), axis=1)
    scaled = x / np.where(top > 0, top, 1.0)[:, None]
    size = np.linalg.norm(scaled, axis=1)
    return scaled / np.where(size > 0, size, 1.0)[:, None]


def cosine_blocks(u: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """(first, cosines, later): cosines of rows first.. with rows first.., `later` masking the pairs i < k.

    Every unordered pair is marked in exactly one block.
    """
    n = u.shape[0]
    for first in range(0, n, BLOCK):
        cosines = u[first : first + BLOCK] @ u[first:].T
        later = np.ones(cosines.shape, dtype=bool)
        later[:, : cosines.shape[0]] = np.triu(later[:, : cosines.shape[0]], k=1)
        yield first, cosines, later


def chord(u: np.ndarray, i: np.ndarray, k: np.ndarray, sign: float = 1.0) -> np.ndarray:
    """|U_i - sign U_k| for pairs of rows: 2 sin(angle / 2) without the cancellation of 1 - cos."""
    return np.concatenate(
        [np.linalg.norm(u[i[s : s + BLOCK]] - sign * u[k[s : s + BLOCK]], axis=1) for s in range(0, len(i), BLOCK)]
        or [np.zeros(0)]
    )
