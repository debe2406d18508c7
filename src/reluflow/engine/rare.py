"""What happens rarely, apart from the stepping loop so that it is compiled once: the start, the return to a checkpoint,
neurons at w = 0, jumps over frozen phases, and reading of stored states.
"""

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import entry, inner
from reluflow.engine.events import record, settle_surfaces
from reluflow.engine.explicit import velocity
from reluflow.engine.field import DEAD, DORMANT, OFF, ON, PINNED, field, log_loss, penalty
from reluflow.engine.frozen import jump
from reluflow.engine.layout import row, weights
from reluflow.engine.locate import along_normal, norm_q, speed
from reluflow.engine.origin import leave_dormancy, leave_origin, rest_if_held
from reluflow.engine.ways import FEW, GOING, closed

START, RESTORE, AT_ORIGIN, JUMP, LOOK = 0, 1, 2, 3, 4

AHEAD, CLEARLY = 1e-9, 1e-7  # of a step, at first; growth, over the sum of the forces, with which a way out is open
ON_SURFACE = 4.5e-16  # |<q, e>| / |q| below which a neuron starts on a surface


@inner
def bits_from_signs(problem, state):
    """Bits and codes from the signs of <q_j, e_k>, off where that is zero to rounding."""
    m, big = state.bits.shape
    r = problem.e.shape[1]
    for j in range(m):
        size = norm_q(state.y, j, r)
        for k in range(big):
            u = along_normal(problem, state.y, j, k)
            on = u > 0.0 and not abs(u) <= ON_SURFACE * size
            state.code[j, k] = ON if on else OFF
            state.bits[j, k] = 1.0 if on else problem.slope
        state.dead[j] = 0
        state.slid[j] = 0


@inner
def mark_start(problem, state, work, j):
    """Marks the surfaces neuron j starts on; whether there is one."""
    size = norm_q(state.y, j, problem.e.shape[1])
    hit = False
    for k in range(state.bits.shape[1]):
        work.mark[k] = surfaces.ABSENT
        if abs(work.u[j, k]) <= ON_SURFACE * size and problem.slope < 1.0:
            work.mark[k] = surfaces.AT_START
            hit = True
    return hit


@inner
def at_start(problem, state, run, work, v):
    """Bits at t = 0 from the signs of <q_j, e_k>; neurons starting on a surface are resolved. v is scratch space."""
    m = state.sign.size
    r = problem.e.shape[1]
    b, _ = weights(state.y, m)
    bits_from_signs(problem, state)
    field(problem, state, state.y, 0.0, v, work)
    surfaces.noise(problem, state, state.y, work)
    for j in range(m):
        if state.sign[j] == 0.0:
            h = along_pull(state, work, j)
            state.sign[j] = 1.0 if h >= 0.0 else -1.0
            b[j] = state.sign[j] * 1e-300
        if norm_q(state.y, j, r) == 0.0:
            leave_origin(problem, state, run, work, j, work.pull[j])
        elif mark_start(problem, state, work, j):
            settle_surfaces(problem, state, run, work, j, 1.0)
            rest_if_held(problem, state, run, work)
        elif surfaces.is_dead(problem, state, j):
            state.dead[j] = DEAD
            record(run, work.log, j, -1, surfaces.EV_DEAD, 1.0)


@inner
def along_pull(state, work, j):
    """<D_j, q_j>."""
    r = work.pull.shape[1]
    q = row(state.y, j, r)
    h = 0.0
    for i in range(r):
        h += work.pull[j, i] * q[i]
    return h


@inner
def restore(problem, state):
    """Bits, dead flags and held bases from the codes, without touching y: how a checkpoint comes back."""
    m, big = state.bits.shape
    r = problem.e.shape[1]
    for j in range(m):
        for k in range(big):
            state.bits[j, k] = 1.0 if (state.code[j, k] & 3) == ON else problem.slope
        surfaces.hold(problem, state, j)
        state.dead[j] = DEAD if surfaces.is_dead(problem, state, j) else 0
        if state.slid[j] > 0 and norm_q(state.y, j, r) == 0.0 and (state.code[j, 0] & 3) == PINNED:
            state.dead[j] = DORMANT
            state.slid[j] = 0


@inner
def first_step(problem, state, run, work, v):
    """The loss the energy is compared with, and a careful first step."""
    m = state.sign.size
    r = problem.e.shape[1]
    velocity(problem, state, state.y, 0.0, v, work)
    run.loss0 = np.exp(log_loss(problem, work.f)) + penalty(problem, state, state.y)
    top = 0.0
    for j in range(m):
        size = norm_q(state.y, j, r) if problem.first == 1 else 1.0
        if size > 0.0:
            top = max(top, speed(problem, v, m, j) / size)
    run.step = 0.1 / top if top > 0.0 else 1.0


@inner
def look_ahead(problem, state, run, scratch, j):
    """The forces a little later than now, when the way out of w = 0 that is opening for neuron j has opened clearly: at
    the moment itself the forces along it cancel to rounding, and have no direction."""
    work, v, tmp = scratch.work, scratch.y1, scratch.tmp
    velocity(problem, state, state.y, run.clock, v, work)
    for turn in range(12):
        ahead = run.step * AHEAD * 4.0**turn
        for i in range(tmp.size):
            tmp[i] = state.y[i] + ahead * v[i]
        velocity(problem, state, tmp, run.clock + ahead, scratch.K[15], work)
        if closed(problem, work, state.sign[j], GOING) < -CLEARLY:
            return


@inner
def at_origin(problem, state, run, scratch, v):
    """A neuron that has just arrived at w = 0 leaves it or rests, or one that rested there leaves; without one, dormant
    neurons are looked at."""
    work = scratch.work
    if run.origin > 0:
        j = run.origin - 1
        run.origin = 0
        surfaces.noise(problem, state, state.y, work)
        if state.dead[j] == DORMANT and problem.rank > FEW:
            look_ahead(problem, state, run, scratch, j)
        leave_origin(problem, state, run, work, j, work.way)
        return
    velocity(problem, state, state.y, run.clock, v, work)
    surfaces.noise(problem, state, state.y, work)
    if run.log_used + state.sign.size * (problem.e.shape[0] + 2) <= work.log.shape[0]:
        leave_dormancy(problem, state, run, work)
    run.checked = 1


@inner
def look(problem, state, work, stored, v, margins):
    """Outputs, log loss and bits (slid ones with their value) of stored states, one row each."""
    m, big = state.bits.shape
    b, _ = weights(state.y, m)
    for at in range(stored.clock.size):
        for i in range(state.y.size):
            state.y[i] = stored.y[at, i]
        for j in range(m):
            state.sign[j] = 1.0 if b[j] >= 0.0 else -1.0
            for k in range(big):
                state.code[j, k] = stored.code[at, j * big + k]
        restore(problem, state)
        velocity(problem, state, state.y, stored.clock[at], v, work)
        stored.log_loss[at] = log_loss(problem, work.f)
        for i in range(stored.f.shape[1]):
            stored.f[at, i] = work.f[i]
        if stored.bits.shape[0] > 0:
            surfaces.noise(problem, state, state.y, work)
            surfaces.margins(problem, state, work, margins)
            for j in range(m):
                for k in range(big):
                    stored.bits[at, j * big + k] = state.bits[j, k]


@entry
def handle(mode, problem, state, run, scratch, asked):
    """Does what `mode` says; returns how far a jump may go where that is asked for, else 0."""
    work, v = scratch.work, scratch.y1
    if mode == START:
        at_start(problem, state, run, work, v)
        first_step(problem, state, run, work, v)
    elif mode == RESTORE:
        restore(problem, state)
    elif mode == AT_ORIGIN:
        at_origin(problem, state, run, scratch, v)
    elif mode == JUMP:
        return jump(problem, state, run, work, asked, v)
    else:
        look(problem, state, work, asked.stored, v, scratch.at_x)
    return 0.0
