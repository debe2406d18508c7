r"""All stationary directions of a neuron under a constant residual, from every face of the arrangement <w, x_i> = 0.

A face is a cell of a flat, the set of w on the surfaces of some data T. There the pull D is the cell's pull projected
on the flat, provided bits of T in [slope, 1] cancel the rest, and w = D/|D| or -D/|D| rests if it is in the face.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from reluflow.bias.patterns import cells, flat_basis, most_cells, span
from reluflow.engine.pack import surfaces

TOUCH = 1e-10  # |cos(w, x_i)| below which w is on the surface of x_i


@dataclass(frozen=True, eq=False)
class Direction:
    """A resting direction for neurons of one sign.

    `rate` is the growth rate of log |w_j| there, negative for one that shrinks; `kind` "attracting", "saddle" or
    "repelling"; `on` the data it is active on, `held` those it slides on. `basin` is the share of starts of its sign
    that end here (random ones, or evenly spaced angles in the plane), with error `basin_error`; `neurons` are those of
    the run or problem given.
    """

    sign: int
    direction: np.ndarray
    rate: float
    kind: str
    on: tuple[int, ...]
    held: tuple[int, ...] = ()
    basin: float = 0.0
    basin_error: float = 0.0
    neurons: tuple[int, ...] = ()


def _merged(x: np.ndarray):
    """(unit normals, one per surface; surface of each row, -1 for zero rows; signed length of each row)."""
    size = np.linalg.norm(x, axis=1)
    kept = np.flatnonzero(size > 0)
    owner, sign = surfaces(np.ascontiguousarray(x[kept] / size[kept, None]))
    heads = np.flatnonzero(owner == np.arange(len(kept)))
    surf = np.full(len(x), -1)
    surf[kept] = np.searchsorted(heads, owner)
    length = np.zeros(len(x))
    length[kept] = sign * size[kept]
    return x[kept][heads] / size[kept][heads, None], surf, length


class Planes(NamedTuple):
    """The arrangement <w, z_k> = 0 and the data on it: x_i = length_i z_k, k = surf_i, with the drive g_i."""

    z: np.ndarray  # (planes, r) unit normals in the coordinates of `basis`
    surf: np.ndarray  # (n,) -1: the row is 0
    length: np.ndarray
    g: np.ndarray
    slope: float
    basis: np.ndarray


def count_faces(x: np.ndarray) -> int:
    """An upper bound on cells of all flats of the arrangement."""
    e, _, _ = _merged(x)
    n, r = len(e), len(span(e))
    return sum(comb(n, k) * most_cells(n - k, r - k) for k in range(r)) if n else 0


def all_faces(x: np.ndarray, g: np.ndarray, slope: float) -> list[Direction]:
    """Every resting direction of either sign, from every face of every dimension; rows with no drive do not count."""
    pulls = np.abs(g) > 1e-14 * np.max(np.abs(g), initial=0.0)
    e, surf, length = _merged(np.where(pulls[:, None], x, 0.0))
    basis = span(e)
    z = e @ basis.T
    r = len(basis)
    planes = Planes(z, surf, length, g, slope, basis)
    found: list[Direction] = []
    seen: set[tuple[int, ...]] = set()
    for k in range(r):
        for T in combinations(range(len(z)), k):
            flat = flat_basis(z[list(T)]) if T else np.eye(r)
            inside = z @ flat.T
            size = np.linalg.norm(inside, axis=1)
            closure = tuple(np.flatnonzero(size < 1e-9).tolist())
            if closure in seen or len(span(z[list(closure)])) != k:  # found before, or the rows of T are dependent
                continue
            seen.add(closure)
            free = np.setdiff1d(np.arange(len(z)), closure)
            for p in cells(_distinct(inside[free] / size[free, None])):
                found += _on_face(planes, p @ flat, flat, np.array(closure, int), free)
    for k, d in enumerate(found):
        on = x @ d.direction > TOUCH * np.linalg.norm(x, axis=1)
        on[list(d.held)] = False
        found[k] = replace(d, on=tuple(np.flatnonzero(on).tolist()))
    return found


def _distinct(unit: np.ndarray) -> np.ndarray:
    owner, _ = surfaces(np.ascontiguousarray(unit)) if len(unit) else (np.zeros(0, int), None)
    return unit[owner == np.arange(len(unit))]


def _on_face(planes: Planes, p, flat, closure, free) -> list[Direction]:
    """The resting directions inside the face that contains p."""
    z, surf, length, g, slope, basis = planes
    u = np.zeros(len(g))
    real = surf >= 0
    u[real] = length[real] * (z @ p)[surf[real]]
    on_flat = np.isin(surf, closure) & real
    bits = np.where(u > 0, 1.0, slope)
    rows = length[:, None] * z[np.maximum(surf, 0)]
    c = (np.where(on_flat | ~real, 0.0, bits) * g) @ rows
    D = flat.T @ (flat @ c)
    size = float(np.linalg.norm(D))
    if size <= 1e-12 * float(np.sum(np.abs(g * length))):
        return []
    w = D / size
    ahead = np.sign(z[free] @ w)
    out = []
    for direction in (1.0, -1.0):
        if np.any(np.abs(z[free] @ w) < TOUCH) or np.any(direction * ahead != np.sign(z[free] @ p)):
            continue
        holds = _held_bits(planes, closure, c)
        if holds is None:
            continue
        for s in (1, -1):
            grows = s * direction > 0
            # A surface holds when switching its data on pushes w off them: s times the jump force is negative.
            attract = [s * f < 0 for f in holds]
            alone = len(flat) == 1  # no direction left on the face itself
            kind = "saddle"
            if all(attract) and (grows or alone):
                kind = "attracting"
            elif not any(attract) and (not grows or alone):
                kind = "repelling"
            held = tuple(np.flatnonzero(on_flat).tolist())
            out.append(Direction(s, direction * w @ basis, size if grows else -size, kind, (), held))
    return out


def _held_bits(planes: Planes, closure, c) -> list[float] | None:
    """Jump forces of the held surfaces if some bits in [slope, 1] keep w on all of them, else None."""
    if len(closure) == 0:
        return []
    from scipy.optimize import lsq_linear

    z, surf, length, g, slope, _ = planes
    jumps, low, high = [], [], []
    for k in closure:
        own = np.flatnonzero(surf == k)
        minus = own[length[own] < 0]
        # mu on the rows along the normal, 1 + slope - mu on the opposite ones.
        jump = float(np.sum(np.abs(length[own]) * g[own]))
        base = -(1.0 + slope) * float(np.sum(np.abs(length[minus]) * g[minus]))
        ends = sorted((base + jump * slope, base + jump))
        jumps.append(jump)
        low.append(ends[0])
        high.append(ends[1])
    normals = z[closure]
    scale = max(float(np.max(np.abs(high))), float(np.max(np.abs(low))), float(np.linalg.norm(c)))
    lo, hi = np.array(low) / scale, np.array(high) / scale
    fit = lsq_linear(normals.T, -_onto(normals, c) / scale, bounds=(lo - 1e-13, hi + 1e-13), tol=1e-15)
    return jumps if np.linalg.norm(fit.fun) < 1e-9 else None


def _onto(normals: np.ndarray, c: np.ndarray) -> np.ndarray:
    """c projected on the span of the normals."""
    q, size, _ = np.linalg.svd(normals.T, full_matrices=False)
    q = q[:, size > 1e-9 * size[0]]
    return q @ (q.T @ c)
