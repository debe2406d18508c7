"""What happens rarely: the start, a checkpoint coming back, neurons at w = 0, decisions in a jump, and looking
at stored states.
"""

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import entry, inner
from reluflow.engine.events import record, settle_surfaces
from reluflow.engine.field import DEAD, DORMANT, ON, PINNED
from reluflow.engine.layout import row
from reluflow.engine.locate import norm_q, speed
from reluflow.engine.origin import leave_origin, rest_if_held
from reluflow.engine.rare import bits_from_signs, mark_start
from reluflow.engine.vector.events import leave_dormancy
from reluflow.engine.vector.explicit import add_follower, square_norm
from reluflow.engine.vector.field import contract, log_loss, noise, velocity
from reluflow.engine.vector.layout import heads
from reluflow.engine.vector.surfaces import margins

START, RESTORE, AT_ORIGIN, RESOLVE, LOOK = 0, 1, 2, 3, 4


@inner
def at_start(problem, state, run, work, v):
    """Bits at t = 0 from the signs of <q_j, e_k>; neurons starting on a surface are resolved. v is scratch space."""
    r = problem.e.shape[1]
    bits_from_signs(problem, state)
    for j in range(problem.m, state.sign.size):
        state.dead[j] = DEAD
    velocity(problem, state, state.y, 0.0, v, work)
    noise(problem, state, state.y, work)
    for j in range(problem.m):
        contract(problem, state, state.y, work, j)
        if norm_q(state.y, j, r) == 0.0:
            leave_origin(problem, state, run, work, j, work.pull[j])
        elif mark_start(problem, state, work, j):
            settle_surfaces(problem, state, run, work, j, 1.0)
            rest_if_held(problem, state, run, work)
        elif surfaces.is_dead(problem, state, j):
            state.dead[j] = DEAD
            record(run, work.log, j, -1, surfaces.EV_DEAD, 1.0)


@inner
def restore(problem, state):
    """Bits, dead flags, held bases and followers from the codes and y, without touching them: how a checkpoint comes
    back."""
    rows, big = state.bits.shape
    r, k = problem.e.shape[1], problem.k
    b_all = heads(state.y, rows, k)
    for j in range(problem.m):
        for s in range(big):
            state.bits[j, s] = 1.0 if (state.code[j, s] & 3) == ON else problem.slope
        surfaces.hold(problem, state, j)
        state.dead[j] = DEAD if surfaces.is_dead(problem, state, j) else 0
        if state.slid[j] > 0 and norm_q(state.y, j, r) == 0.0 and (state.code[j, 0] & 3) == PINNED:
            state.dead[j] = DORMANT
            state.slid[j] = 0
    for p in range(problem.m, rows):
        used = square_norm(row(state.y, p, r)) + square_norm(row(b_all, p, k)) > 0.0
        state.lead[p] = p % problem.m if used else -1


@inner
def first_step(problem, state, run, work, v):
    """The loss the energy is compared with, and a careful first step."""
    rows = state.sign.size
    velocity(problem, state, state.y, 0.0, v, work)
    run.loss0 = np.exp(log_loss(problem, work.f))
    b_rates = heads(v, rows, problem.k)
    top = 0.0
    for j in range(rows):
        top = max(top, speed(problem, v, rows, j) + np.sqrt(square_norm(row(b_rates, j, problem.k))))
    run.step = 0.1 / top if top > 0.0 else 1.0


@inner
def at_origin(problem, state, run, work, v):
    """A neuron that has just arrived at w = 0 leaves it or rests; without one, dormant neurons are looked at."""
    if run.origin > 0:
        j = run.origin - 1
        run.origin = 0
        noise(problem, state, state.y, work)
        contract(problem, state, state.y, work, j)
        leave_origin(problem, state, run, work, j, work.way)
        return
    velocity(problem, state, state.y, run.clock, v, work)
    noise(problem, state, state.y, work)
    if run.log_used + state.sign.size * (problem.e.shape[0] + 2) <= work.log.shape[0]:
        leave_dormancy(problem, state, run, work)
    run.checked = 1


@inner
def resolve(problem, state, run, work, j):
    """Decides neuron j on the surfaces in work.mark under the forces work.force, work.rear, for a jump.

    Held on every direction it rests at w = 0.
    """
    contract(problem, state, state.y, work, j)
    settle_surfaces(problem, state, run, work, j, 1.0)
    rest_if_held(problem, state, run, work)


@inner
def look(problem, state, work, stored, v, margin):
    """Outputs, log loss and bits (slid ones with their value) of stored states, one row each."""
    big = state.bits.shape[1]
    for at in range(stored.clock.size):
        for i in range(state.y.size):
            state.y[i] = stored.y[at, i]
        for j in range(problem.m):
            for s in range(big):
                state.code[j, s] = stored.code[at, j * big + s]
        restore(problem, state)
        for p in range(problem.m, state.sign.size):
            if state.lead[p] >= 0:
                add_follower(problem, state, state.lead[p], p)
                state.lead[p] = -1
        velocity(problem, state, state.y, stored.clock[at], v, work)
        stored.log_loss[at] = log_loss(problem, work.f)
        for i in range(stored.f.shape[1]):
            for o in range(problem.k):
                stored.f[at, i, o] = work.f[i, o]
        if stored.bits.shape[0] > 0:
            noise(problem, state, state.y, work)
            margins(problem, state, state.y, work, margin)
            for j in range(problem.m):
                for s in range(big):
                    stored.bits[at, j * big + s] = state.bits[j, s]


@entry
def handle(mode, problem, state, run, scratch, neuron, stored):
    """Does what `mode` says; `neuron` is the one to be resolved."""
    work, v = scratch.work, scratch.y1
    if mode == START:
        at_start(problem, state, run, work, v)
        first_step(problem, state, run, work, v)
    elif mode == RESTORE:
        restore(problem, state)
    elif mode == AT_ORIGIN:
        at_origin(problem, state, run, work, v)
    elif mode == RESOLVE:
        resolve(problem, state, run, work, neuron)
    else:
        look(problem, state, work, stored, v, scratch.at_x)
