"""A neuron at w = 0, where every surface meets: it passes, turns, or stays until the drive lets it leave.

Reached only while sliding, or started at. Where every surface attracts (s F_k <= 0) the neuron goes uphill on a concave
function and what follows is unique; in the plane the ways out are counted; elsewhere it is recorded as not unique, and
leaves, if it rested, along the first ray that opens.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import APART, inner, making
from reluflow.engine.events import record, settle_surfaces
from reluflow.engine.field import DORMANT, FRESH, OFF, ON, PINNED, SLID, fill
from reluflow.engine.layout import row
from reluflow.engine.ways import (
    ALONG,
    FEW,
    GOING,
    circle,
    closed,
    few,
    out_of_line,
    out_of_plane,
    steepest,
    unique_in_plane,
)

MANY = 3  # changes of side in the last steps of the ascent: the ray lies on the surface


class Ascent(NamedTuple):
    """The ray found from w = 0: its bits, how often each still switched at the end, its growth rate, and the `least`
    rate that counts as growth."""

    side: np.ndarray
    flips: np.ndarray
    growth: float
    least: float


@inner
def rest_at_origin(problem, state, run, work, j, unique):
    """w_j = 0 and no direction in which it leaves: the neuron is dormant until the drive gives one."""
    fill(row(state.y, j, problem.e.shape[1]), 0.0)
    for k in range(state.code.shape[1]):
        kind = surfaces.change(state.code[j, k], PINNED)
        if kind >= 0:
            record(run, work.log, j, k, kind, unique)
        state.code[j, k] = PINNED
        state.bits[j, k] = problem.slope
    state.slid[j] = 0
    state.where[j, 0] = 0
    state.dead[j] = DORMANT


@inner
def rest_if_held(problem, state, run, work):
    """A neuron that `settle_surfaces` found held on every direction has w = 0 and rests."""
    if run.origin > 0:
        j = run.origin - 1
        run.origin = 0
        unique = unique_way(problem, work, state.sign[j])
        record(run, work.log, j, -1, surfaces.EV_ORIGIN, unique)
        rest_at_origin(problem, state, run, work, j, unique)


@making
def unique_way(problem, work, sign):
    """1 if what a neuron at w = 0 does is unique, 0 if it is not, or not known to be."""
    big = problem.e.shape[0]
    concave = True
    for k in range(big):
        concave = concave and sign * work.jump[k] <= 10.0 * work.noise[k]
    if concave or big == 0:
        return 1.0
    if problem.rank > FEW:
        return 0.0
    return unique_in_plane(circle(problem, work, sign)) if problem.rank == 2 else out_of_line(problem, work, sign)[1]


@making
def counted(problem, work, sign, way):
    """The way out of w = 0 in one or two dimensions, uphill from `way`."""
    big, r = problem.e.shape[0], problem.rank
    out = out_of_plane(problem, work, sign, way[0], way[1]) if r == 2 else out_of_line(problem, work, sign)[0]
    side, flips = np.empty(big + APART, np.int64)[:big], np.empty(big + APART, np.int64)[:big]
    for k in range(big):
        u = out.z0 * problem.e[k, 0]
        if r == 2:
            u += out.z1 * problem.e[k, 1]
        side[k] = 1 if u > 0.0 else 0
        flips[k] = MANY if k == out.surface else 0
    return Ascent(side, flips, out.growth, 0.0 if closed(problem, work, sign, GOING) < 0.0 else np.inf)


@making
def along_ray(problem, work, sign):
    """The way out of w = 0 next to the steepest ray, on its side of every surface that repels. On the surfaces that
    attract it is decided by `surfaces.resolve`, all of them at once: s D is the element of least norm of a convex set,
    along the ray if that alone has opened, or else along what the surfaces leave of the force that opened a cell."""
    big, r = problem.e.shape
    side, flips = np.empty(big + APART, np.int64)[:big], np.empty(big + APART, np.int64)[:big]
    ray, growth = steepest(problem, work, sign)
    for k in range(big):
        u = 0.0
        for i in range(r):
            u += problem.rays[ray, i] * problem.e[k, i]
        side[k] = 1 if u > ALONG else 0
        flips[k] = MANY if abs(u) <= ALONG or sign * work.jump[k] < 0.0 else 0
    return Ascent(side, flips, growth, 0.0 if closed(problem, work, sign, GOING) < 0.0 else np.inf)


@making
def found_way(problem, state, work, j, way):
    """The way out of w = 0 for neuron j, uphill from `way`; along the ray that has opened if it rested there."""
    sign = state.sign[j]
    if not few(problem):
        return ascend(problem, work, sign, way)
    if problem.rank <= FEW:
        return counted(problem, work, sign, way)
    ray = along_ray(problem, work, sign)
    if state.dead[j] == DORMANT or ray.growth <= ray.least:
        return ray
    uphill = ascend(problem, work, sign, way)
    return uphill if uphill.growth > uphill.least else ray


@making
def ascend(problem, work, sign, way):
    """From `way` uphill on sign * sum_i g_i s(<z, x_i>), 400 steps of decreasing length on the sphere."""
    big, r = problem.e.shape
    z, D = np.empty(r + APART)[:r], np.empty(r + APART)[:r]
    side, flips = np.empty(big + APART, np.int64)[:big], np.empty(big + APART, np.int64)[:big]
    fill(flips, 0)
    fill(side, -1)
    size, scale = 0.0, 1e-300
    for i in range(r):
        z[i] = way[i]
        size += z[i] * z[i]
    for k in range(big):
        scale += abs(work.jump[k]) + abs(work.base[k])
    growth = 0.0
    for turn in range(400):
        size = np.sqrt(size)
        for i in range(r):
            z[i] = z[i] / size if size > 0.0 else 0.0
            D[i] = 0.0
        for k in range(big):
            u = 0.0
            for i in range(r):
                u += z[i] * problem.e[k, i]
            now = 1 if u > 0.0 else 0
            if now != side[k] and turn >= 300:
                flips[k] += 1
            side[k] = now
            coef = (1.0 if now == 1 else problem.slope) * work.jump[k] + work.base[k]
            for i in range(r):
                D[i] += coef * problem.e[k, i]
        growth, size = 0.0, 0.0
        for i in range(r):
            growth += sign * D[i] * z[i]
            z[i] += sign * D[i] / scale * 4.0 / (1.0 + 0.1 * turn)
            size += z[i] * z[i]
    return Ascent(side, flips, growth, 1e-6 * scale)


@making
def leave_origin(problem, state, run, work, j, way):
    """From w_j = 0 along a ray z with sign D(z) along z: see `found_way`.

    Surfaces on which the ascent keeps switching are held and resolved; without a ray that grows the neuron rests at 0.
    """
    found = found_way(problem, state, work, j, way)
    unique = unique_way(problem, work, state.sign[j])
    if state.dead[j] == DORMANT and not few(problem):
        unique = 0.0  # the moment is that of the end of a step
    if state.dead[j] != DORMANT:
        record(run, work.log, j, -1, surfaces.EV_ORIGIN, unique)
    fill(row(state.y, j, problem.e.shape[1]), 0.0)
    state.slid[j] = 0
    if found.growth <= found.least:
        rest_at_origin(problem, state, run, work, j, unique)
        return
    held = PINNED if state.dead[j] == DORMANT and problem.rank > FEW else SLID
    state.dead[j] = 0
    mark = work.mark
    for k in range(state.bits.shape[1]):
        mark[k] = surfaces.HELD if found.flips[k] >= MANY else surfaces.ABSENT
        new = ON if found.side[k] == 1 else OFF
        kind = surfaces.change(state.code[j, k], new)
        state.code[j, k] = new + FRESH
        state.bits[j, k] = 1.0 if new == ON else problem.slope
        if mark[k] == surfaces.ABSENT and kind >= 0:
            record(run, work.log, j, k, kind, unique)
        elif mark[k] != surfaces.ABSENT:
            state.code[j, k] = held
    nearest, clock, neuron, surface = run.nearest, run.nearest_clock, run.nearest_neuron, run.nearest_surface
    settle_surfaces(problem, state, run, work, j, unique)
    if held == PINNED and run.nearest < nearest:
        # The forces of a way that is opening are small beside the others: what decides between them is relative to it.
        run.nearest /= min(1.0, -closed(problem, work, state.sign[j], 0.0))
        if run.nearest >= nearest:
            run.nearest, run.nearest_clock, run.nearest_neuron, run.nearest_surface = nearest, clock, neuron, surface
    rest_if_held(problem, state, run, work)


@making
def leave_dormancy(problem, state, run, work):
    """Dormant neurons leave w = 0 when the drive gives a direction; True if one did."""
    r = problem.e.shape[1]
    way = np.empty(r + APART)[:r]
    moved = False
    for j in range(state.sign.size):
        if state.dead[j] == DORMANT:
            # Off the axes, so that no surface of the data is singled out.
            for i in range(r):
                way[i] = np.cos(1.0 + 2.0 * i)
            leave_origin(problem, state, run, work, j, way)
            moved = moved or state.dead[j] != DORMANT
    return moved
