r"""Angles between all pairs of rows, a block at a time: n = 12,665 needs no n x n matrix.

    cos_ik = <x_i, x_k> / (|x_i| |x_k|)

Rows are first scaled by powers of two, which is exact: orthogonal rows such as (-1/2, 1) and (2, 1) give cosine exactly
0, and no square over- or underflows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from reluflow.data.core import PARALLEL

EPS = float(np.finfo(float).eps)
BLOCK = 512
# Closer to 1 than this, a cosine in float64 no longer determines the angle: use the chord |u_i - u_k| instead.
NEAR = 1e-10


def _scaled(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with largest entry in [1/2, 1), and the powers of two removed."""
    power = np.frexp(np.max(np.abs(x), axis=1))[1]
    return np.ldexp(x, -power[:, None]), power


def norms(x: np.ndarray) -> np.ndarray:
    """Row norms, accurate also where squares over- or underflow."""
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
    return np.concatenate(
        [np.linalg.norm(u[i[s : s + BLOCK]] - u[k[s : s + BLOCK]], axis=1) for s in parts] or [np.zeros(0)]
    )


class Extremes(NamedTuple):
    """Over pairs i < k (None where there is none): the least signed cosine and how many are negative, the most |cos|,
    the largest |<x_i, x_k>|, and the pairs with |cos| near 1."""

    least: float | None
    least_pair: tuple[int, int] | None
    negative: int
    most: float | None
    most_pair: tuple[int, int] | None
    product: float
    close: np.ndarray


def extremes(x: np.ndarray, sign: np.ndarray) -> Extremes:
    """One pass over all pairs: signed cosines sign_i sign_k cos_ik, |cos_ik|, and |<x_i, x_k>|."""
    size = norms(x)
    silent = np.flatnonzero(sign == 0)
    least, least_pair, most, most_pair, product, negative = np.inf, None, -1.0, None, 0.0, 0
    close = [np.zeros((0, 2), dtype=int)]
    for first, cos in cosine_blocks(np.where(sign < 0, -1.0, 1.0)[:, None] * x, fill=np.inf):
        last, rest = first + cos.shape[0], np.tril_indices(cos.shape[0])
        signed = cos
        if len(silent):
            signed = cos.copy()
            signed[silent[(silent >= first) & (silent < last)] - first] = 0.0
            signed[:, silent[silent >= first] - first] = 0.0
            signed[rest] = np.inf
        negative += int(np.count_nonzero(signed < -x.shape[1] * EPS))  # beyond rounding
        at = int(np.argmin(signed))
        if signed.flat[at] < least:
            least, least_pair = float(signed.flat[at]), _pair(at, signed.shape, first)
        upper = np.abs(cos, out=cos)
        upper[rest] = -1.0
        at = int(np.argmax(upper))
        if upper.flat[at] > most:
            most, most_pair = float(upper.flat[at]), _pair(at, upper.shape, first)
        if most > 1.0 - NEAR:
            close.append(np.argwhere(upper > 1.0 - NEAR) + first)
        upper *= size[first:last, None]
        upper *= size[first:]
        product = max(product, float(upper.max()))
    alone = least_pair is None
    return Extremes(
        None if alone else least,
        least_pair,
        negative,
        None if alone else most,
        most_pair,
        product,
        np.concatenate(close),
    )


def _pair(flat: int, shape: tuple[int, ...], first: int) -> tuple[int, int]:
    i, k = np.unravel_index(flat, shape)
    return int(i) + first, int(k) + first


def collinear(x: np.ndarray, close: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs in `close` that are parallel, and those that are opposite, up to the rounding of a unit row."""
    u = unit_rows(x)
    i, k = close.T
    both = np.concatenate([u, -u])
    return close[chord(u, i, k) <= PARALLEL], close[chord(both, i, k + len(u)) <= PARALLEL]
