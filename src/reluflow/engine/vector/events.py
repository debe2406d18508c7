"""A neuron meets a surface, is released from one, or arrives at w = 0; decided by the kernels of one output, which see
the neuron's own forces <b_j, F_k>."""

from reluflow.engine import surfaces
from reluflow.engine._jit import inner
from reluflow.engine.events import mark_surfaces, settle_surfaces
from reluflow.engine.field import DORMANT, ON, SLID, fill
from reluflow.engine.layout import row
from reluflow.engine.locate import norm_q
from reluflow.engine.origin import leave_origin
from reluflow.engine.vector.field import contract, noise

ROUNDING = 1e-11  # <q_j, e_k> of one row of several that is rounding


@inner
def followed_by(problem, state, j):
    """Whether neuron j has a follower."""
    for p in range(problem.m + j, state.sign.size, problem.m):
        if state.lead[p] == j:
            return True
    return False


@inner
def hush(problem, state, scratch):
    """<q_j, e_k> that are rounding over the whole step count as 0 where a neuron has followers, one of which tells the
    side: such a neuron does not meet the surface."""
    u0, u1 = scratch.u0, scratch.u1
    for j in range(problem.m if state.sign.size > problem.m else 0):
        if state.dead[j] == 0 and followed_by(problem, state, j):
            for s in range(u0.shape[1]):
                if abs(u0[j, s]) <= ROUNDING and abs(u1[j, s]) <= ROUNDING:
                    u0[j, s] = 0.0
                    u1[j, s] = 0.0


@inner
def shift_follower(problem, state, work, j, p):
    """A follower p of neuron j across surfaces that the neuron has just crossed.

    The neuron with the follower meets the surface at another time, by -<e, q_p> / v with v the speed at arrival; the
    velocity in between is the one of the other side: q_p += (change of the velocity) <e, q_p> / v.
    """
    r = problem.e.shape[1]
    q, pull = row(state.y, p, r), work.pull[j]
    for s in range(state.code.shape[1]):
        old, new = work.old[s] & 3, state.code[j, s] & 3
        if work.mark[s] == surfaces.ABSENT or old == new or old >= SLID or new >= SLID:
            continue
        u, v = 0.0, 0.0
        for i in range(r):
            u += q[i] * problem.e[s, i]
            v += pull[i] * problem.e[s, i]
        change = (1.0 - problem.slope) * (1.0 if new == ON else -1.0) * work.jump[s]
        if v != 0.0:
            for i in range(r):
                q[i] += change * u / v * problem.e[s, i]


@inner
def at_event(problem, state, run, scratch, v):
    """Resolves everything that happens at this instant. What was located is step.neuron, step.surface, step.side.

    `v` is the velocity; work.size are the norms |q_j| at the start of the step. Expects work at the present state, with
    the bits from before.
    """
    r = problem.e.shape[1]
    step, work = scratch.step, scratch.work
    noise(problem, state, state.y, work)
    for j in range(state.sign.size):
        if state.dead[j] != 0:
            continue
        fill(work.mark, surfaces.ABSENT)
        if j == step.neuron and state.slid[j] > 0 and step.side < 0:
            # Held on all but one dimension, the neuron moves on a line, which meets other surfaces at w = 0 alone.
            if state.slid[j] == r - 1 or norm_q(state.y, j, r) <= 1e-9 * work.size[j]:
                run.origin = j + 1
                continue
        if followed_by(problem, state, j):
            for s in range(work.mark.size):
                if abs(work.u[j, s]) <= ROUNDING:
                    work.u[j, s] = 1.0  # not on the surface: a follower tells where the neuron is
        if mark_surfaces(problem, state, run, scratch, v, j):
            contract(problem, state, state.y, work, j)
            settle_surfaces(problem, state, run, work, j, 1.0)
            for p in range(problem.m, state.sign.size):
                if state.lead[p] == j:
                    shift_follower(problem, state, work, j, p)


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
