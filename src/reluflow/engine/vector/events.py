"""A neuron meets a surface, is released from one, or arrives at w = 0; decided by the kernels of one output, which see
the neuron's own forces <b_j, F_k>."""

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import inner
from reluflow.engine.events import mark_surfaces, settle_surfaces
from reluflow.engine.field import DORMANT, FRESH, ON, SLID, fill
from reluflow.engine.layout import row, weights
from reluflow.engine.locate import REACH, norm_q
from reluflow.engine.origin import leave_origin
from reluflow.engine.vector.field import contract, followed_by, noise
from reluflow.engine.vector.groups import distance, one_cell

ROUNDING = 1e-13  # <q_j, e_k>, over the sum of the moduli of its terms, that is rounding in one row of several


@inner
def rounding(problem, y, j, s):
    """What of <q_j, e_s> is rounding. In coordinates along the data there is one term, known to its own last digit."""
    q, e = row(y, j, problem.e.shape[1]), problem.e[s]
    total = 0.0
    for i in range(q.size):
        total += abs(q[i] * e[i])
    return ROUNDING * total


@inner
def known(problem, state, scratch, j, s):
    """Whether <q_j, e_s> is more than rounding at the start or at the end of the step."""
    if abs(scratch.u0[j, s]) > rounding(problem, state.y, j, s):
        return True
    return abs(scratch.u1[j, s]) > rounding(problem, scratch.y1, j, s)


@inner
def told_by(problem, state, scratch, j, s):
    """The row that tells on which side of surface s neuron j is: its own, or where <q_j, e_s> is rounding over the step
    the follower with the largest; -1 where all are rounding. A neuron that has just left the surface is near it by
    itself."""
    u0, u1 = scratch.u0, scratch.u1
    if state.code[j, s] >= FRESH or known(problem, state, scratch, j, s):
        return j
    _, c = weights(state.y, state.sign.size)
    best, top = -1, -np.inf
    for p in range(problem.m + j, state.sign.size, problem.m):
        if state.lead[p] == j:
            size = max(abs(u0[p, s]), abs(u1[p, s]))
            if known(problem, state, scratch, p, s) and c[p] + np.log(size) > top:
                best, top = p, c[p] + np.log(size)
    return best


@inner
def followers_meet(problem, state, scratch):
    """Where a follower tells the side of its neuron, it may have met the surface: such pairs are added to the suspects,
    and the neuron's own coordinate counts as 0. Before `suspects` this is `hush`."""
    step, u0, u1 = scratch.step, scratch.u0, scratch.u1
    for j in range(problem.m):
        if state.dead[j] != 0 or not followed_by(problem, state, j):
            continue
        for s in range(u0.shape[1]):
            if (state.code[j, s] & 3) >= SLID:
                continue
            p = told_by(problem, state, scratch, j, s)
            if p < problem.m:
                continue
            state.code[p, s] = state.code[j, s]
            side = 1.0 if (state.code[j, s] & 3) == ON else -1.0
            size = 0.0
            for a in range(13):
                q = row(scratch.K[a], p, problem.e.shape[1])
                total = 0.0
                for i in range(q.size):
                    total += q[i] * q[i]
                size = max(size, total)
            if side * u1[p, s] < 0.0 or side * (u0[p, s] + u1[p, s]) <= REACH * step.h * np.sqrt(size):
                scratch.who[step.suspects], scratch.where[step.suspects] = p, s
                step.suspects += 1


@inner
def hush(problem, state, scratch):
    """<q_j, e_k> that are rounding over the whole step are 0 where a neuron has followers, one of which tells the side;
    so that the rounding does not grow, they are also taken out of the state at the end."""
    u0, u1 = scratch.u0, scratch.u1
    for j in range(problem.m):
        if state.dead[j] == 0 and followed_by(problem, state, j):
            for s in range(u0.shape[1]):
                if (state.code[j, s] & 3) < SLID:
                    by = told_by(problem, state, scratch, j, s)
                    if by == j:
                        continue
                    if by >= 0:
                        q = row(scratch.y1, j, problem.e.shape[1])
                        for i in range(q.size):
                            q[i] -= u1[j, s] * problem.e[s, i]
                    u0[j, s] = 0.0
                    u1[j, s] = 0.0


@inner
def shift_follower(problem, state, work, j, by, p):
    """A follower p of neuron j across surfaces that the neuron, told by its row `by`, has just crossed.

    With the follower it meets the surface at another time, by -<e, q_p> / v with v the speed at arrival; the velocity
    in between is the one of the other side: q_p += (change of the velocity) <e, q_p> / v. Where the neuron is held from
    now on, the change is the velocity along the normal, and the follower is projected.
    """
    r = problem.e.shape[1]
    q, pull = row(state.y, p, r), work.pull[by]
    for s in range(state.code.shape[1]):
        old, new = work.old[s] & 3, state.code[j, s] & 3
        if work.mark[s] == surfaces.ABSENT or old == new or old >= SLID or new >= SLID:
            continue
        u, v = 0.0, 0.0
        for i in range(r):
            u += q[i] * problem.e[s, i]
            v += pull[i] * problem.e[s, i]
        change = (1.0 - problem.slope) * (1.0 if new == ON else -1.0) * work.jump[s]
        if p == by:
            factor = -u
        else:
            factor = change * u / v if v != 0.0 else 0.0
        for i in range(r):
            q[i] += factor * problem.e[s, i]
    surfaces.out_of_held(state, j, q)


@inner
def joined(problem, state, i, j):
    """Whether neurons i and j are equal to the bit: what happens to one of them happens to the other."""
    if state.sign.size == problem.m or i < 0 or state.dead[i] != 0 or state.dead[j] != 0:
        return False
    return one_cell(state, i, j) and distance(problem, state, i, j) == 0.0


@inner
def at_event(problem, state, run, scratch, v):
    """Resolves everything that happens at this instant. What was located is step.neuron, step.surface, step.side.

    `v` is the velocity; work.size are the norms |q_j| at the start of the step. Expects work at the present state, with
    the bits from before.
    """
    r = problem.e.shape[1]
    step, work = scratch.step, scratch.work
    if step.neuron >= 0:
        step.neuron = state.lead[step.neuron]  # a follower may have told the side
    first, same = step.neuron, scratch.who
    noise(problem, state, state.y, work)
    if step.side == surfaces.FROM_ORIGIN:
        run.origin = first + 1
    for j in range(problem.m):
        same[j] = 1 if j == first or joined(problem, state, first, j) else 0
    for j in range(problem.m):
        if state.dead[j] != 0:
            continue
        step.neuron = j if same[j] == 1 else first
        fill(work.mark, surfaces.ABSENT)
        if j == step.neuron and state.slid[j] > 0 and step.side < 0:
            # Held on all but one dimension, the neuron moves on a line, which meets other surfaces at w = 0 alone.
            if state.slid[j] == r - 1 or norm_q(state.y, j, r) <= 1e-9 * work.size[j]:
                run.origin = j + 1
                continue
        by, followed = j, followed_by(problem, state, j)
        if followed:
            if j == step.neuron and step.side < 0:
                by = max(j, told_by(problem, state, scratch, j, step.surface))
            for s in range(work.mark.size):
                here = abs(work.u[j, s]) > rounding(problem, state.y, j, s)
                if not here and told_by(problem, state, scratch, j, s) != j:
                    work.u[j, s] = 1.0  # not on the surface: a follower tells where the neuron is
        if mark_surfaces(problem, state, run, scratch, v, j):
            contract(problem, state, state.y, work, by)
            settle_surfaces(problem, state, run, work, j, 1.0)
            for p in range(problem.m + j, state.sign.size, problem.m):
                if state.lead[p] == j:
                    shift_follower(problem, state, work, j, by, p)
    step.neuron = first


@inner
def leave_dormancy(problem, state, run, work):
    """Dormant neurons at w = 0 go on when the drive opens a way."""
    r = problem.e.shape[1]
    for j in range(state.sign.size):
        if state.dead[j] == DORMANT:
            # A fixed direction off the axes, so that no surface of the data is singled out.
            for i in range(r):
                work.way[i] = 1.0 / (1.3 + i) - 0.37 * (i % 2)
            contract(problem, state, state.y, work, j)
            leave_origin(problem, state, run, work, j, work.way)
