"""A neuron meets a surface or is released from one: `surfaces.resolve` decides, what changed is recorded."""

from reluflow.engine import surfaces
from reluflow.engine._jit import inner
from reluflow.engine.field import DEAD, FRESH, OFF, ON, SLID, fill
from reluflow.engine.layout import row, weights
from reluflow.engine.locate import along_normal, norm_q, normal_rate, speed

SAME_INSTANT = 1e-13  # |<q, e>| / |q| that counts as being on the surface with another event


@inner
def record(run, log, j, k, kind, unique):
    """One more row of the event log, if there is room."""
    at = run.log_used
    if at >= log.shape[0]:
        return
    log[at, 0] = run.clock
    log[at, 1] = j
    log[at, 2] = k
    log[at, 3] = kind
    log[at, 4] = unique
    run.log_used += 1
    run.n_events += 1


@inner
def note_distance(run, distance, j, k):
    """Remembers the decision that came nearest to a bifurcation: how near, when, and which neuron and surface."""
    if distance < run.nearest:
        run.nearest, run.nearest_clock = distance, run.clock
        run.nearest_neuron, run.nearest_surface = j, k


@inner
def mute_repeats(state, work, j):
    """A release that changes no code is none: the surface is marked, and not tested until it holds clearly."""
    mark, old = work.mark, work.old
    for k in range(mark.size):
        if mark[k] != surfaces.ABSENT and (old[k] & 3) != (state.code[j, k] & 3):
            return
    for k in range(mark.size):
        if mark[k] == surfaces.RELEASE and (state.code[j, k] & 3) >= SLID:
            state.code[j, k] |= FRESH


@inner
def settle_surfaces(problem, state, run, work, j, sure):
    """Resolves neuron j on the surfaces in work.mark and records what changed; `sure` is 0 if that is not unique."""
    big = state.bits.shape[1]
    r = problem.e.shape[1]
    mark, old = work.mark, work.old
    for k in range(big):
        old[k] = state.code[j, k]
    unique, distance, where = surfaces.resolve(problem, state, work, j)
    unique = unique and sure == 1.0
    note_distance(run, distance, j, where)
    mute_repeats(state, work, j)
    for k in range(big):
        if mark[k] == surfaces.ABSENT:
            continue
        kind = surfaces.change(old[k], state.code[j, k])
        if kind >= 0 or (not unique and mark[k] == surfaces.AT_START):
            if kind < 0:
                kind = surfaces.EV_ON if (state.code[j, k] & 3) == ON else surfaces.EV_OFF
            record(run, work.log, j, k, kind, 1.0 if unique else 0.0)
        if (state.code[j, k] & 3) < SLID:
            q = row(state.y, j, r)
            u = along_normal(problem, state.y, j, k)
            for i in range(r):
                q[i] -= u * problem.e[k, i]
    if surfaces.is_dead(problem, state, j):
        for k in range(big):
            state.code[j, k] = OFF
            state.bits[j, k] = 0.0
        state.slid[j] = 0
        state.dead[j] = DEAD
        record(run, work.log, j, -1, surfaces.EV_DEAD, 1.0)
    else:
        surfaces.hold(problem, state, j)
        surfaces.project(problem, state, state.y, j)
        if state.slid[j] == r:
            run.origin = j + 1


@inner
def change_sign(state, run, work, j):
    """The output weight of neuron j passes through zero; returns whether what follows is unique."""
    b, _ = weights(state.y, state.sign.size)
    state.sign[j] = -state.sign[j]
    b[j] = state.sign[j] * 1e-300
    unique = state.slid[j] == 0
    record(run, work.log, j, -1, surfaces.EV_SIGN, 1.0 if unique else 0.0)
    return unique


@inner
def mark_surfaces(problem, state, run, scratch, v, j):
    """Marks what happens to neuron j at this instant, where v is the velocity; whether anything does."""
    m, big = state.bits.shape
    r = problem.e.shape[1]
    step, work = scratch.step, scratch.work
    u, mark = work.u, work.mark
    primary = j == step.neuron
    size = norm_q(state.y, j, r)
    rate = speed(problem, v, m, j)
    resolution = 4.0 * 2.3e-16 * abs(run.clock)
    hit = False
    for k in range(big):
        kind = state.code[j, k] & 3
        if kind >= SLID:
            mark[k] = surfaces.HELD
            if primary and k == step.surface:
                hit = True
                if step.side == 0:
                    mark[k] = surfaces.FORCE_OFF
                elif step.side == 1:
                    mark[k] = surfaces.FORCE_ON
                else:
                    mark[k] = surfaces.RELEASE
            continue
        falling = kind == ON
        if primary and k == step.surface and step.side < 0:
            mark[k] = surfaces.FALLING if falling else surfaces.RISING
            hit = True
        elif (
            problem.slope < 1.0 and abs(u[j, k]) <= SAME_INSTANT * size + resolution * rate and state.code[j, k] < FRESH
        ):
            across = normal_rate(problem, v, m, j, k, u[j, k])
            if (falling and across < -1e-13 * rate) or (not falling and across > 1e-13 * rate):
                mark[k] = surfaces.FALLING if falling else surfaces.RISING
                hit = True
    return hit


@inner
def at_event(problem, state, run, scratch, v):
    """Resolves everything that happens at this instant. What was located is step.neuron, step.surface, step.side.

    `v` is the velocity; work.size are the norms |q_j| at the start of the step. Expects work at the present state, with
    the bits from before.
    """
    m = state.sign.size
    r = problem.e.shape[1]
    step, work = scratch.step, scratch.work
    b, _ = weights(state.y, m)
    surfaces.noise(problem, state, state.y, work)
    if step.side == surfaces.FROM_ORIGIN:
        run.origin = step.neuron + 1
    for j in range(m):
        if state.dead[j] != 0:
            continue
        fill(work.mark, surfaces.ABSENT)
        primary = j == step.neuron
        if primary and step.surface >= 0 and state.slid[j] > 0 and step.side < 0:
            # Held on all but one dimension, the neuron moves on a line, which meets other surfaces at w = 0 alone.
            if state.slid[j] == r - 1 or norm_q(state.y, j, r) <= 1e-9 * work.size[j]:
                run.origin = j + 1
                continue
        unique = True
        if problem.first == 0 and state.delta_sign[j] != 0.0:
            if (primary and step.surface < 0) or b[j] * state.sign[j] < 0.0:
                unique = change_sign(state, run, work, j)
        hit = mark_surfaces(problem, state, run, scratch, v, j)
        if hit or not unique:
            settle_surfaces(problem, state, run, work, j, 1.0 if unique else 0.0)
