"""A neuron at w = 0, where every surface meets: it passes, turns, or rests until the drive opens a way.

Reached only while sliding, or started at. Where every surface attracts (s F_k <= 0) the neuron goes uphill on a concave
function and what follows is unique; in the plane the ways out are counted; elsewhere it is recorded as not unique.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import APART, inner, making
from reluflow.engine.events import record, settle_surfaces
from reluflow.engine.field import DORMANT, FRESH, OFF, ON, PINNED, SLID, fill
from reluflow.engine.layout import row


class Ascent(NamedTuple):
    """The ray found from w = 0: its bits, how often each still switched at the end, growth rate and force scale."""

    side: np.ndarray
    flips: np.ndarray
    growth: float
    scale: float


@inner
def rest_at_origin(problem, state, run, work, j, unique):
    """w_j = 0 and no way out of it: the neuron is dormant until the drive opens one."""
    fill(row(state.y, j, problem.e.shape[1]), 0.0)
    for k in range(state.code.shape[1]):
        kind = surfaces.change(state.code[j, k], PINNED)
        if kind >= 0:
            record(run, work.log, j, k, kind, unique)
        state.code[j, k] = PINNED
        state.bits[j, k] = problem.slope
    state.slid[j] = 0
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


@inner
def planar_pull(problem, work, angle, D):
    """D for the direction `angle` in the plane, in D; returns nothing."""
    z0, z1 = np.cos(angle), np.sin(angle)
    D[0], D[1] = 0.0, 0.0
    for k in range(problem.e.shape[0]):
        on = z0 * problem.e[k, 0] + z1 * problem.e[k, 1] > 0.0
        coef = (1.0 if on else problem.slope) * work.jump[k] + work.base[k]
        D[0] += coef * problem.e[k, 0]
        D[1] += coef * problem.e[k, 1]


@making
def unique_way(problem, work, sign):
    """1 if what a neuron at w = 0 does is unique, 0 if it is not, or not known to be.

    In the plane the directions between two surfaces share one D. A way out is a direction along s D within its own
    cell, or along a surface that attracts or repels from both sides with s D along it; staying is a solution when the
    convex hull of all D contains 0. Unique: no way out, or one and no staying.
    """
    big, r = problem.e.shape
    concave = True
    for k in range(big):
        concave = concave and sign * work.jump[k] <= 10.0 * work.noise[k]
    if concave or big == 0:
        return 1.0
    if r != 2:
        return 0.0
    angles, D, other = np.empty(2 * big + 1), np.empty(2), np.empty(2)
    for k in range(big):
        angle = (np.arctan2(problem.e[k, 1], problem.e[k, 0]) + 0.5 * np.pi) % np.pi
        angles[2 * k], angles[2 * k + 1] = angle, angle + np.pi
    angles = np.sort(angles[: 2 * big])
    pulls = np.empty(2 * big)
    ways = 0
    for c in range(2 * big):
        after = angles[c + 1] if c + 1 < 2 * big else angles[0] + 2.0 * np.pi
        planar_pull(problem, work, 0.5 * (angles[c] + after), D)
        pulls[c] = np.arctan2(D[1], D[0])
        toward = np.arctan2(sign * D[1], sign * D[0])
        turn = (toward - angles[c]) % (2.0 * np.pi)
        if 0.0 < turn < after - angles[c]:
            ways += 1
        before = angles[c - 1] if c > 0 else angles[2 * big - 1] - 2.0 * np.pi
        planar_pull(problem, work, 0.5 * (before + angles[c]), other)
        z0, z1 = np.cos(angles[c]), np.sin(angles[c])
        here, there = sign * (z0 * D[1] - z1 * D[0]), sign * (z0 * other[1] - z1 * other[0])
        if here * there < 0.0 and sign * (z0 * D[0] + z1 * D[1]) > 0.0:
            ways += 1
    pulls = np.sort(pulls)
    gap = pulls[0] + 2.0 * np.pi - pulls[2 * big - 1]
    for c in range(1, 2 * big):
        gap = max(gap, pulls[c] - pulls[c - 1])
    return 1.0 if ways == 0 or (ways == 1 and gap > np.pi) else 0.0


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
    return Ascent(side, flips, growth, scale)


@making
def leave_origin(problem, state, run, work, j, way):
    """From w_j = 0 along a ray z with sign D(z) along z, found by `ascend` from `way`.

    Surfaces on which the ascent keeps switching are held and resolved; without a ray that grows the neuron rests at 0.
    """
    found = ascend(problem, work, state.sign[j], way)
    unique = unique_way(problem, work, state.sign[j])
    if state.dead[j] != DORMANT:
        record(run, work.log, j, -1, surfaces.EV_ORIGIN, unique)
    fill(row(state.y, j, problem.e.shape[1]), 0.0)
    state.slid[j] = 0
    if found.growth <= 1e-6 * found.scale:
        rest_at_origin(problem, state, run, work, j, unique)
        return
    state.dead[j] = 0
    mark = work.mark
    for k in range(state.bits.shape[1]):
        mark[k] = surfaces.HELD if found.flips[k] > 2 else surfaces.ABSENT
        new = ON if found.side[k] == 1 else OFF
        kind = surfaces.change(state.code[j, k], new)
        state.code[j, k] = new + FRESH
        state.bits[j, k] = 1.0 if new == ON else problem.slope
        if mark[k] == surfaces.ABSENT and kind >= 0:
            record(run, work.log, j, k, kind, unique)
        elif mark[k] != surfaces.ABSENT:
            state.code[j, k] = SLID
    settle_surfaces(problem, state, run, work, j, unique)
    rest_if_held(problem, state, run, work)


@making
def leave_dormancy(problem, state, run, work):
    """Dormant neurons at w = 0 go on when the drive opens a way; True if one did."""
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
