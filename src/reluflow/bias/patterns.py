r"""Activation patterns: which subsets of the data a neuron can be active on.

    B(w) = (1[<w, x_1> > 0], ..., 1[<w, x_n> > 0]),   one pattern per cell of the arrangement of the planes <w, x_i> = 0

In general position there are 2 sum_{l < rank} C(n-1, l) cells. They are enumerated without any linear programme: the
plane e_k cuts exactly those cells of e_1..e_{k-1} that the arrangement induced on e_k has, one dimension lower, and the
plane itself comes down to sorting angles. Where there are too many, random directions give some of them.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reluflow._checks import one_of, whole
from reluflow.engine.pack import surfaces

MOST = 5000  # cells that `how="auto"` enumerates
EPS = float(np.finfo(float).eps)
THIN = 1e-10  # a cell narrower than this (radians) counts as rounding


@dataclass(frozen=True, eq=False)
class Patterns:
    """`bits` (M, n), one row per cell, with a direction inside each, `points` (M, d); `exact` when they are all."""

    bits: np.ndarray
    points: np.ndarray
    exact: bool
    how: str

    def __len__(self) -> int:
        return len(self.bits)

    def __repr__(self) -> str:
        return f"Patterns({len(self)} of n={self.bits.shape[1]}, {self.how}{'' if self.exact else ', not all'})"


class Search(NamedTuple):
    """How activation patterns are found: the options of `min_norm` and `max_margin`, given on as one."""

    how: Any = "auto"  # a name, see `patterns`, or bits (M, n)
    most: int = MOST
    samples: int = 4000
    seconds: float = 30.0
    seed: int = 0
    network: Any = None  # whose neurons' patterns are added

    def patterns(self, x, extra=None) -> Patterns:
        """The patterns of the rows of `x`."""
        return patterns(x, self.how, most=self.most, samples=self.samples, seed=self.seed, extra=extra)


def span(x: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span the rows of x: (rank, d)."""
    if len(x) == 0:
        return np.zeros((0, x.shape[1]))
    _, size, vt = np.linalg.svd(x, full_matrices=False)
    rank = int(np.sum(size > size[0] * max(x.shape) * EPS)) if size[0] > 0 else 0
    return vt[:rank]


def most_cells(n: int, rank: int) -> int:
    """2 sum_{l < rank} C(n-1, l): the number of cells of n planes in general position."""
    return 2 * sum(math.comb(n - 1, l) for l in range(rank)) if n > 0 else 1


def patterns(x, how: str = "auto", *, most: int = MOST, samples: int = 4000, seed: int = 0, extra=None) -> Patterns:
    """The patterns of the rows of `x`: all of them ("exact"), those of random directions ("sampled"), or as fits.

    `extra` are directions (k, d) whose patterns are added, such as a trained network's neurons.
    """
    x = np.asarray(x, float)
    one_of("how", how, ("auto", "exact", "sampled"))
    most = whole("most", most, least=1, hint="how many cells may be enumerated")
    size = np.linalg.norm(x, axis=1)
    unit = x[size > 0] / size[size > 0, None]
    owner, _ = surfaces(np.ascontiguousarray(unit))
    e = unit[owner == np.arange(len(unit))]
    basis = span(e)
    expected = most_cells(len(e), len(basis))
    if how == "exact" and expected > most:
        raise ValueError(
            f'`how="exact"` must not enumerate more than {most} cells, got up to {expected} for {len(e)} planes in '
            f'rank {len(basis)}: use `how="sampled"` (upper bounds), fewer points, or raise `most`.'
        )
    if how != "sampled" and expected <= most:
        points = cells(e @ basis.T) @ basis
        exact, how = True, "angles" if len(basis) == 2 else "cells"
    else:
        rng = np.random.default_rng([seed, 3])
        points = rng.normal(size=(whole("samples", samples, least=1, hint="try 4000"), len(basis))) @ basis
        exact, how = False, "sampled"
    if extra is not None and not exact:
        points = np.vstack([np.asarray(extra, float), points])
    bits = points @ x.T > 0
    _, first = np.unique(bits, axis=0, return_index=True)
    first.sort()
    return Patterns(bits[first], points[first], exact, how)


def cells(e: np.ndarray) -> np.ndarray:
    """A unit vector inside every cell of the planes <w, e_k> = 0; rows of `e` are unit and no two are parallel."""
    n, r = e.shape
    if r == 0:
        return np.zeros((1, 0))
    if n == 0:
        return np.eye(1, r)
    if r == 1:
        return np.array([[1.0], [-1.0]])
    if r == 2:
        return _arcs(e)
    points = np.eye(1, r)
    signs = np.zeros((1, 0), bool)
    for k in range(n):
        on = _on_plane(e[:k], e[k])
        lean = e[:k] @ e[k]
        height = on @ e[:k].T
        # Half way to the nearest other plane on either side of this one.
        with np.errstate(divide="ignore"):
            room = np.min(np.abs(height) / np.maximum(np.abs(lean), 1e-300), axis=1, initial=1.0)
        step = 0.5 * room[:, None] * e[k]
        cut = {row.tobytes() for row in height > 0}
        stay = np.array([row.tobytes() not in cut for row in signs], bool)
        points = np.vstack([points[stay], on + step, on - step])
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        signs = points @ e[: k + 1].T > 0
    return points


def _arcs(e: np.ndarray) -> np.ndarray:
    """Mid-angles between the 2n boundary angles atan2(e_k) +- pi/2."""
    angle = np.arctan2(e[:, 1], e[:, 0])
    edge = np.sort(np.concatenate([angle + 0.5 * np.pi, angle - 0.5 * np.pi]) % (2 * np.pi))
    after = np.append(edge[1:], edge[0] + 2 * np.pi)
    middle = (0.5 * (edge + after))[after - edge > THIN]
    return np.column_stack([np.cos(middle), np.sin(middle)])


def _on_plane(e: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Unit vectors inside every cell that the planes `e` cut out of the plane <w, normal> = 0."""
    basis = flat_basis(normal[None])
    inside = e @ basis.T
    size = np.linalg.norm(inside, axis=1)
    inside = np.ascontiguousarray(inside / np.where(size > 0, size, 1.0)[:, None])
    owner = _near_parallel(inside)
    return cells(inside[owner]) @ basis


def flat_basis(normals: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the space orthogonal to the independent rows `normals`."""
    q, _ = np.linalg.qr(normals.T, mode="complete")
    return np.ascontiguousarray(q[:, len(normals) :].T)


def _near_parallel(unit: np.ndarray) -> np.ndarray:
    """Indices of one row of every class of parallel rows; projecting costs digits, hence the wide tolerance (an angle
    of 8e-8)."""
    copies = np.tril(1.0 - np.abs(unit @ unit.T) < 16 * EPS, -1)
    return np.flatnonzero(~np.any(copies, axis=1))
