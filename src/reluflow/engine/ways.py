"""The ways out of w = 0, where they can be counted.

A neuron of sign s leaves along z where h(z) = s sum_k (bit_k F_k + B_k) <z, e_k> is positive. h is linear in each cell
between the surfaces, so it is positive somewhere if it is so on an extreme ray of a cell: these are the directions that
lie on rank - 1 surfaces with independent normals, two for each choice of them, the halves of the surfaces in the plane.
In one and two dimensions all ways out are known: h grows fastest along s D within a cell or along a ray that attracts
from both sides. In more, the moment at which the first ray opens and that ray, as long as there are at most MOST.
"""

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from reluflow.engine._jit import inner, making

ALONG = 1e-14  # <z, e> of a ray along its own surface
NEAR = 1e-9  # angle from a ray at which a direction lies on it
FEW = 2  # dimensions in which all ways out are known
MOST = 4000  # rays that are tabulated
SHARED = 1e-9  # <z, e> of a ray that lies on a further surface: it is computed again from all of these
# Growth, over the rounding of the forces, with which a neuron at rest is let go, and which it must still have after
# the step was cut there, where that rounding is another.
GO, GOING = 100.0, 30.0


class Way(NamedTuple):
    """A way out of w = 0."""

    growth: float  # not positive if it leads nowhere
    z0: float
    z1: float
    surface: int  # that it slides on, -1 for none


class Circle(NamedTuple):
    """The rays in the plane by their angles, and s D between each and the next."""

    angle: np.ndarray
    surface: np.ndarray
    D0: np.ndarray
    D1: np.ndarray


def rays(e: np.ndarray, rank: int) -> np.ndarray:
    """(R, r) the extreme rays of the cells between surfaces with these normals (S, r) of that rank; none if there
    would be more than MOST, in more than FEW dimensions."""
    none, inside = np.zeros((0, e.shape[1])), e[:, :rank]
    if rank <= 0:
        return none
    if rank <= FEW:
        half = np.ones((1, 1)) if rank == 1 else np.column_stack([-inside[:, 1], inside[:, 0]])
    elif 2 * comb(len(e), rank - 1) > MOST:
        return none
    else:
        choice = np.array(list(combinations(range(len(e)), rank - 1)))
        _, size, axes = np.linalg.svd(inside[choice])
        half = axes[size[:, -1] > SHARED, -1]
        on = np.unique(np.abs(half @ inside.T) <= SHARED, axis=0)
        half = np.array([np.linalg.svd(inside[row])[2][-1] for row in on])
    found = np.zeros((2 * len(half), e.shape[1]))
    found[0::2, :rank], found[1::2, :rank] = half, -half
    return found


@inner
def few(problem):
    """Whether the ways out can be counted."""
    return problem.rays.shape[0] > 0


@inner
def height(problem, work, z):
    """(sum_k (bit_k F_k + B_k) <z, e_k>, the rounding of that) for a direction z."""
    total, grain = 0.0, 0.0
    for k in range(problem.e.shape[0]):
        u = 0.0
        for i in range(z.size):
            u += z[i] * problem.e[k, i]
        if abs(u) <= ALONG or (u < 0.0 and problem.slope == 0.0 and problem.opposite[k] == 0):
            continue
        total += ((1.0 if u > 0.0 else problem.slope) * work.jump[k] + work.base[k]) * u
        grain += work.noise[k] * abs(u)
    return total, grain


@inner
def closed(problem, work, sign, grains):
    """How far w = 0 is from opening, over the sum of the forces: negative where a neuron of this sign can leave, with
    a growth of more than so many times its rounding. A ray on which no datum acts is none."""
    scale, least = 1e-300, 1.0
    for k in range(problem.e.shape[0]):
        scale += abs(work.jump[k]) + abs(work.base[k])
    for p in range(problem.rays.shape[0]):
        h, grain = height(problem, work, problem.rays[p])
        if grain > 0.0:
            least = min(least, (grains * grain - sign * h) / scale)
    return least


@inner
def steepest(problem, work, sign):
    """(the ray along which a neuron of this sign grows fastest, how fast)."""
    best, ray = -np.inf, 0
    for p in range(problem.rays.shape[0]):
        h, _ = height(problem, work, problem.rays[p])
        if sign * h > best:
            best, ray = sign * h, p
    return ray, best


@making
def circle(problem, work, sign):
    """All rays and cells of a neuron of this sign."""
    big = problem.e.shape[0]
    angles = np.empty(2 * big)
    for k in range(big):
        half = (np.arctan2(problem.e[k, 1], problem.e[k, 0]) + 0.5 * np.pi) % np.pi
        angles[2 * k], angles[2 * k + 1] = half, half + np.pi
    order = np.argsort(angles)
    found = Circle(angles[order], order // 2, np.zeros(2 * big), np.zeros(2 * big))
    for c in range(2 * big):
        middle = 0.5 * (found.angle[c] + next_angle(found, c))
        z0, z1 = np.cos(middle), np.sin(middle)
        for k in range(big):
            on = z0 * problem.e[k, 0] + z1 * problem.e[k, 1] > 0.0
            coef = sign * ((1.0 if on else problem.slope) * work.jump[k] + work.base[k])
            found.D0[c] += coef * problem.e[k, 0]
            found.D1[c] += coef * problem.e[k, 1]
    return found


@inner
def next_angle(circle, c):
    """The angle at which cell c ends."""
    size = circle.angle.size
    return circle.angle[c + 1] if c + 1 < size else circle.angle[0] + 2.0 * np.pi


@inner
def climb(circle, c, angle):
    """(growth, how that rises with the angle) of a direction in or at an end of cell c."""
    z0, z1 = np.cos(angle), np.sin(angle)
    return z0 * circle.D0[c] + z1 * circle.D1[c], z0 * circle.D1[c] - z1 * circle.D0[c]


@inner
def inside(circle, c):
    """Whether s D of cell c lies in it."""
    if circle.D0[c] == 0.0 and circle.D1[c] == 0.0:
        return False
    turn = (np.arctan2(circle.D1[c], circle.D0[c]) - circle.angle[c]) % (2.0 * np.pi)
    return 0.0 < turn < next_angle(circle, c) - circle.angle[c]


@inner
def along_pull(circle, c):
    """The way along s D of cell c."""
    size = np.sqrt(circle.D0[c] ** 2 + circle.D1[c] ** 2)
    return Way(size, circle.D0[c] / size, circle.D1[c] / size, -1)


@inner
def along_ray(circle, c):
    """The way along ray c."""
    growth, _ = climb(circle, c, circle.angle[c])
    return Way(growth, np.cos(circle.angle[c]), np.sin(circle.angle[c]), circle.surface[c])


@making
def uphill(circle, angle):
    """The way that is reached from `angle` by turning to where the growth rises."""
    size = circle.angle.size
    turn = (angle - circle.angle[0]) % (2.0 * np.pi)
    c = 0
    for p in range(size):
        if circle.angle[p] - circle.angle[0] <= turn + NEAR:
            c = p
    if 2.0 * np.pi - turn <= NEAR:
        c, turn = 0, 0.0
    at_ray = turn - (circle.angle[c] - circle.angle[0]) <= NEAR
    _, rises = climb(circle, c, circle.angle[c] if at_ray else angle)
    if at_ray:
        _, before = climb(circle, c - 1, circle.angle[c])
        if rises <= 0.0 <= before:
            return along_ray(circle, c)
        if rises < -before:
            c, rises = (c - 1) % size, before
    for _ in range(size):
        if inside(circle, c):
            return along_pull(circle, c)
        if rises == 0.0:
            break
        following = (c + 1) % size if rises > 0.0 else c
        cell = following if rises > 0.0 else (c - 1) % size
        _, further = climb(circle, cell, circle.angle[following])
        if further * rises <= 0.0:
            return along_ray(circle, following)
        c, rises = cell, further
    return along_ray(circle, c)


@making
def unique_in_plane(circle):
    """1 if there is no way out, or one and staying is no solution; 0 otherwise.

    A way out is a direction along s D within its own cell, or along a surface that attracts or repels from both sides
    with s D along it; staying is a solution when the convex hull of all D contains 0, as it does where no datum is on.
    """
    size = circle.angle.size
    pulls = np.empty(size)
    ways, stays = 0, False
    for c in range(size):
        pulls[c] = np.arctan2(circle.D1[c], circle.D0[c])
        stays = stays or (circle.D0[c] == 0.0 and circle.D1[c] == 0.0)
        growth, up = climb(circle, c, circle.angle[c])
        _, down = climb(circle, c - 1, circle.angle[c])
        ways += (1 if inside(circle, c) else 0) + (1 if up * down < 0.0 and growth > 0.0 else 0)
    pulls = np.sort(pulls)
    gap = pulls[0] + 2.0 * np.pi - pulls[size - 1]
    for c in range(1, size):
        gap = max(gap, pulls[c] - pulls[c - 1])
    return 1.0 if ways == 0 or (ways == 1 and not stays and gap > np.pi) else 0.0


@making
def out_of_plane(problem, work, sign, way0, way1):
    """The way out that is uphill from (way0, way1); from the best ray, if that is 0 or leads nowhere."""
    found = circle(problem, work, sign)
    if way0 != 0.0 or way1 != 0.0:
        first = uphill(found, np.arctan2(way1, way0))
        if first.growth > 0.0:
            return first
    best = 0
    for c in range(found.angle.size):
        if climb(found, c, found.angle[c])[0] > climb(found, best, found.angle[best])[0]:
            best = c
    return uphill(found, found.angle[best])


@making
def out_of_line(problem, work, sign):
    """(the way out in one dimension, whether what follows is unique)."""
    ahead, _ = height(problem, work, problem.rays[0])
    back, _ = height(problem, work, problem.rays[1])
    ahead, back = sign * ahead, sign * back
    # s D is `ahead` on one side and -back on the other: staying is a solution unless both have one sign.
    unique = 1.0 if max(ahead, back) <= 0.0 or min(ahead, back) < 0.0 else 0.0
    return Way(max(ahead, back), 1.0 if ahead >= back else -1.0, 0.0, -1), unique
