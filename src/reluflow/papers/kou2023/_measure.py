"""Worst cases along a path, stable ranks, and limits read from a finite run."""

import numpy as np

from reluflow.claim import Claim


def worst(text: str, measured, relation: str, bound, *, slack=0.0, at=None, **claim) -> Claim:
    """The claim at the entry that is nearest to failing, relative to its bound; NaN entries are left out.

    `at` labels the leading axis (log s of the frames); the other indices are added to it.
    """
    measured, bound, slack = np.broadcast_arrays(*(np.asarray(v, float) for v in (measured, bound, slack)))
    gap = measured - bound if relation[0] == ">" else bound - measured
    if relation == "=":
        gap = -np.abs(gap)
    room = (gap + slack) / np.maximum(np.abs(bound), 1e-300)
    room = np.where(np.isnan(measured), np.inf, room)
    if measured.size == 0 or np.all(np.isinf(room) & (room > 0)):
        return Claim(text, np.nan, relation, np.nan, **claim)
    where = np.unravel_index(int(np.argmin(room)), room.shape)
    place = None if at is None else (f"s = e^{np.asarray(at)[where[0]]:.6g}", *(int(i) for i in where[1:]))
    return Claim(text, measured[where], relation, bound[where], slack=float(slack[where]), at=place, **claim)


def excess_rank(w: np.ndarray) -> np.ndarray:
    """|W|_F^2/|W|_2^2 - 1 of matrices (..., rows, columns), without cancellation."""
    values = np.linalg.svd(w, compute_uv=False)
    return np.sum((values[..., 1:] / values[..., :1]) ** 2, axis=-1)


def to_limit(x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v (3, ...) at x = 0 through its three points, and how far that is from the line through the last two.

    The values are a power series in x = 1/log t; the difference is its x^2 term, larger than what is left out where
    the series is worth extrapolating.
    """
    (x0, x1, x2), (v0, v1, v2) = x, v
    first = (v1 * x0 - v0 * x1) / (x0 - x1)
    second = (v2 * x1 - v1 * x2) / (x1 - x2)
    best = (second * x0 - first * x2) / (x0 - x2)
    return best, np.abs(best - second)
