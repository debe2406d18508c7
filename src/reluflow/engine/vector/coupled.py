"""All neurons together: order-8 steps with bits frozen, every crossing and every release located, then resolved.

The same loop as `engine.coupled`, with the velocity and the forces of k outputs; implicit steps are an entry of their
own (`vector.implicit`), to which a burst returns with STIFF.
"""

import numpy as np

from reluflow.engine import coupled
from reluflow.engine._jit import calling, entry, inner
from reluflow.engine.coupled import (
    AHEAD,
    GO_ON,
    STABLE,
    accept,
    count_step,
    keep_sizes,
    no_room,
    write_checkpoint,
    write_end,
)
from reluflow.engine.field import SLID, copy_rows, fill
from reluflow.engine.layout import (
    CANCELLED,
    COUPLED,
    FLUSH,
    NOT_FINITE,
    ORIGIN,
    QUIET,
    REACHED,
    RUNNING,
    STALLED,
    STATIONARY,
    STIFF,
    SWITCH,
    WINDOWS,
    row,
    weights,
)
from reluflow.engine.locate import may_release, suspects
from reluflow.engine.surfaces import out_of_held
from reluflow.engine.vector.events import at_event, followers_meet, hush
from reluflow.engine.vector.explicit import add_follower, dense, error, rescale, settle, square_norm, stages, stretch
from reluflow.engine.vector.field import (
    SQUARE,
    clock_shift,
    fill_places,
    noise,
    per_surface,
    pulls,
    stiffness,
    velocity,
)
from reluflow.engine.vector.groups import gather
from reluflow.engine.vector.layout import heads
from reluflow.engine.vector.locate import first_release, released_before
from reluflow.engine.vector.surfaces import margins

MERGE = -16.0  # log of a follower's size over its neuron's, above which it is added to the neuron

# Reasons to stop ------------------------------------------------------------------------------------------------------


@inner
def moving(problem, state, work):
    """Whether some neuron is pulled by a millionth of what the labels can pull: then the flow has not converged, and no
    rounding needs to be known."""
    unit = 0.0
    for i in range(problem.alpha.size):
        label = np.sqrt(square_norm(work.g[i]))
        if problem.loss == SQUARE:
            label = problem.weight * np.sqrt(square_norm(problem.y[i]))
        unit += abs(problem.alpha[i]) * label
    for j in range(state.sign.size):
        if state.dead[j] == 0 and state.slid[j] == 0:
            if square_norm(work.pull[j]) + square_norm(work.lift[j]) > 1e-12 * unit * unit:
                return True
    return False


@inner
def unfitted(problem, rest, work):
    """Surface forces of the data that are not fitted, in work.probe_force and work.probe_rear.

    Datum i is fitted when its residual is below `rest` |y_i| (the largest label where y_i = 0) or below the rounding of
    its outputs. With softmax no datum ever is. Overwrites work.g.
    """
    top = 0.0
    for i in range(problem.alpha.size):
        top = max(top, square_norm(problem.y[i]))
    for i in range(problem.alpha.size if problem.loss == SQUARE else 0):
        s, a = problem.surf[i], abs(problem.alpha[i])
        label = square_norm(problem.y[i])
        label = np.sqrt(label if label > 0.0 else top)
        if a * np.sqrt(square_norm(work.g[i])) <= a * problem.weight * rest * label + work.noise[s]:
            stretch(work.g[i], 0.0)
    per_surface(problem, work.g, work.probe_force, work.probe_rear)


@inner
def resting(problem, state, run, v, work):
    """Whether the flow has converged: without the data that are fitted, the forces on every neuron cancel to run.rest
    of their sum or to rounding, or the neuron is too small to matter and only shrinks.

    Expects work.noise; overwrites work.g, work.pull, work.lift.
    """
    rows, big = state.bits.shape
    r, k = problem.e.shape[1], problem.k
    _, c_rate = weights(v, rows)
    unfitted(problem, run.rest, work)
    pulls(problem, state, state.y, work.probe_force, work.probe_rear, work)
    for j in range(rows):
        if state.dead[j] != 0:
            continue
        if state.slid[j] > 0 and c_rate[j] < 0.0 and work.e2c[j] <= run.rest:
            turn = square_norm(row(v, j, r)) + square_norm(row(heads(v, rows, k), j, k))
            if turn <= run.rest * run.rest:
                continue
        total, grain = 0.0, 0.0
        for s in range(big):
            size = np.sqrt(square_norm(work.probe_force[s])) + np.sqrt(square_norm(work.probe_rear[s]))
            bit = state.bits[j, s] if (state.code[j, s] & 3) < SLID and problem.opposite[s] == 0 else 1.0
            total += bit * size
            grain += bit * work.noise[s]
        size = np.sqrt(square_norm(work.pull[j]) + square_norm(work.lift[j]))
        if size > run.rest * total + 8.0 * grain:
            return False
    return True


@inner
def hidden(problem, work):
    """Whether the force of a datum that is fitted ever better is lost in the rounding of others (softmax)."""
    if problem.loss == SQUARE:
        return False
    for i in range(problem.alpha.size):
        if work.g[i, problem.label[i]] < 1e-10:
            return True
    return False


@inner
def calm(problem, state, run, v, work):
    """Whether the outputs stand still: neurons that matter rest, all others are too small to be seen. Sets run.speed.

    V = sum_j e^{2c} (2 |c'| + |q'| + |b'|), the speed of the outputs up to |x|, against 1e-15 and what the rounding of
    the forces on a neuron's own bits does to it.
    """
    rows, big = state.bits.shape
    r, k = problem.e.shape[1], problem.k
    _, c_rate = weights(v, rows)
    _, c = weights(state.y, rows)
    for j in range(rows):
        if work.e2c[j] * abs(c_rate[j]) > 1e-9:
            return False
    noise(problem, state, state.y, work)
    fast, slow, grain = 0.0, 0.0, 0.0
    for j in range(rows):
        lead = state.lead[j]
        if lead >= 0 and lead != j:
            turn = square_norm(row(v, j, r)) + square_norm(row(heads(v, rows, k), j, k))
            fast += np.exp(c[j] + c[lead]) * np.sqrt(2.0 * turn)
        if state.dead[j] != 0:
            continue
        e2c = work.e2c[j]
        turn = square_norm(row(v, j, r)) + square_norm(row(heads(v, rows, k), j, k))
        rate = e2c * (2.0 * abs(c_rate[j]) + np.sqrt(2.0 * turn))
        for s in range(big):
            grain += e2c * state.bits[j, s] * work.noise[s]
        if c[j] < run.passive:
            fast += rate
        else:
            slow += rate
    grain *= 0.3 * np.exp(run.G + clock_shift(problem, run.clock))
    # A drift below the rounding of the drive is none: it would bound every jump, for ever.
    run.speed = slow if slow > grain else 0.0
    return fast + slow <= 1e-15 + grain


@inner
def followed(state):
    """Whether some neuron has a follower."""
    for j in range(state.sign.size):
        if state.lead[j] >= 0 and state.lead[j] != j:
            return True
    return False


@inner
def reason_to_stop(problem, state, run, scratch, budget, frames):
    """The status with which a burst ends before the next step, or GO_ON."""
    if scratch.step.dormant and run.checked == 0:
        return ORIGIN
    if run.taken >= budget:
        return RUNNING
    if run.clock >= run.end:
        return REACHED if write_end(state, run, frames) else FLUSH
    v, work = scratch.K[0], scratch.work
    if not moving(problem, state, work):
        noise(problem, state, state.y, work)
        lost = hidden(problem, work)
        if resting(problem, state, run, v, work) and not followed(state):
            return CANCELLED if lost else STATIONARY
        velocity(problem, state, state.y, run.clock, scratch.tmp, work)
    if run.wait == 0 and calm(problem, state, run, v, work):
        return QUIET
    return GO_ON


# Frames and checkpoints -----------------------------------------------------------------------------------------------


write_frames = calling(coupled.write_frames, stages=stages)


# A step ---------------------------------------------------------------------------------------------------------------


begin = calling(coupled.begin, velocity=velocity)


@inner
def begin_step(problem, scratch):
    """Nothing to keep: no loss of several outputs has a kink."""
    scratch.step.before = 0.0


@inner
def shorter_step(problem, state, run, scratch, h):
    """The same length, see `begin_step`."""
    return h


shorten = calling(coupled.shorten, begin_step=begin_step, stages=stages, error=error, shorter_step=shorter_step)
decide = calling(coupled.decide, at_event=at_event)
onto_surface = calling(coupled.onto_surface, settle=settle)
stop_at_event = calling(
    coupled.stop_at_event, settle=settle, velocity=velocity, onto_surface=onto_surface, decide=decide
)
locate = calling(coupled.locate, dense=dense, released_before=released_before, first_release=first_release)


@inner
def release_due(problem, state, scratch):
    """Whether a neuron is to be released before anything moves: which, from what and how goes to `step`."""
    step, work = scratch.step, scratch.work
    step.margin0 = 1.0
    if step.held:
        noise(problem, state, state.y, work)
        step.margin0, step.neuron, step.surface, step.side = margins(problem, state, state.y, work, scratch.at_lo)
    return step.margin0 < 0.0


@inner
def propose(problem, state, run, scratch):
    """A step whose error fits and that is stable, to y1: GO_ON, STALLED if there is none, STIFF if an implicit one may
    be longer."""
    step, work = scratch.step, scratch.work
    copy_rows(scratch.u0, work.u)
    rate = stiffness(problem, state, clock_shift(problem, step.clock), work)
    clock = step.clock
    step.longest = STABLE / rate if rate > 0.0 else np.inf
    if run.patience > 0:
        run.patience -= 1
    elif problem.stiff == 1 and min(run.step, run.end - clock) > AHEAD * step.longest and not followed(state):
        return STIFF
    step.h = min(run.step, run.end - clock, step.longest)
    if not step.h < np.inf:
        step.h = 1.0  # a stretch of `windows` that came to nothing, in a run without end: no step is known yet
    return GO_ON if shorten(problem, state, run, scratch) else STALLED


@inner
def inspect(problem, state, run, scratch):
    """The velocity at the end of the step, and what may have happened inside it."""
    step, y1, work = scratch.step, scratch.y1, scratch.work
    step.last = step.clock + step.h >= run.end * (1.0 - 1e-15)
    step.new = run.end if step.last else step.clock + step.h
    velocity(problem, state, y1, step.new, scratch.K[12], work)
    run.n_fields += 1
    copy_rows(scratch.u1, work.u)
    step.margin1 = 1.0
    if step.held:
        noise(problem, state, y1, work)
        step.margin1, _, _, _ = margins(problem, state, y1, work, scratch.at_hi)
    if state.sign.size > problem.m:
        hush(problem, state, scratch)
    suspects(problem, state, scratch)
    if state.sign.size > problem.m:
        followers_meet(problem, state, scratch)
    step.dips = step.held and may_release(state, scratch)


@inner
def merge(problem, state):
    """Adds followers that have come near to their neuron's size to it, and joins neurons that have come near."""
    rescale(problem, state)
    rows = state.sign.size
    r, k = problem.e.shape[1], problem.k
    _, c = weights(state.y, rows)
    for p in range(problem.m, rows):
        j = state.lead[p]
        if j < 0 or (state.dead[j] == 0 and c[p] - c[j] < MERGE):
            continue
        if state.dead[j] == 0:
            add_follower(problem, state, j, p)
        stretch(row(state.y, p, r), 0.0)
        stretch(row(heads(state.y, rows, k), p, k), 0.0)
        c[p] = 0.0
        state.lead[p] = -1
    gather(problem, state)


# The regime -----------------------------------------------------------------------------------------------------------


@inner
def fastest_rate(problem, state, work, j):
    """The largest rate at which neuron j can turn or grow under the present drive over e^G: the largest singular value
    of M_j with held normals projected out, by (sum sigma^8)^(1/8), which is at most k^(1/8) times as large.

    Expects work.force and work.rear at the present state.
    """
    k = problem.k
    M, once, twice = work.M, work.MM[0], work.MM[1]
    for o in range(k):
        fill(M[o], 0.0)
        for s in range(state.bits.shape[1]):
            bit = state.bits[j, s]
            if (state.code[j, s] & 3) < SLID and (bit != 0.0 or problem.opposite[s] == 1):
                part = bit * work.force[s, o] + work.rear[s, o]
                for i in range(M.shape[1]):
                    M[o, i] += part * problem.e[s, i]
        out_of_held(state, j, M[o])
    top = 0.0
    for a in range(k):
        top = max(top, square_norm(M[a]))
    if top == 0.0:
        return 0.0
    for a in range(k):
        for b in range(k):
            once[a, b] = 0.0
            for i in range(M.shape[1]):
                once[a, b] += M[a, i] * M[b, i] / top
    total = 0.0
    for a in range(k):
        for b in range(k):
            twice[a, b] = 0.0
            for o in range(k):
                twice[a, b] += once[a, o] * once[o, b]
            total += twice[a, b] ** 2
    return np.sqrt(top) * total**0.125


@inner
def stretch_for(fastest, rate):
    """How long a stretch of `windows` may be: by the fastest neuron, and the fastest rate of the residuals."""
    return min(1.0 / max(1e-300, fastest), 2.0 / max(1e-300, rate))


@inner
def longest_stretch(problem, state, run, work, rate):
    """How long a stretch of `windows` may be at the present state, and the factor of its forces."""
    fastest = 0.0
    for j in range(state.sign.size):
        if state.dead[j] == 0:
            fastest = max(fastest, fastest_rate(problem, state, work, j))
    fac = np.exp(run.G + clock_shift(problem, run.clock))
    return stretch_for(fac * fastest, rate), fac


many_events = calling(coupled.many_events, velocity=velocity, longest_stretch=longest_stretch)


@entry
def burst(problem, state, run, scratch, budget, frames, checkpoints):
    """Up to `budget` steps; returns a status. Everything needed to go on is in `state` and `run`."""
    run.taken, run.stale = 0, 1
    while True:
        if state.sign.size > problem.m:
            fill_places(problem, state)
        if not begin(problem, state, run, scratch):
            return NOT_FINITE
        full = no_room(state, run, scratch.work)
        if release_due(problem, state, scratch):
            if full:
                return FLUSH
            keep_sizes(problem, state, scratch.work)
            run.idle += 1
            status = decide(problem, state, run, scratch, scratch.K[0])
            if status != GO_ON:
                return status
            continue
        status = reason_to_stop(problem, state, run, scratch, budget, frames)
        if status != GO_ON:
            return status
        if full or run.checkpoints_used == checkpoints.y.shape[0] or run.frames_used == frames.clock.size:
            return FLUSH
        status = propose(problem, state, run, scratch)
        if status != GO_ON:
            return status
        inspect(problem, state, run, scratch)
        event = locate(problem, state, run, scratch)
        if not write_frames(problem, state, run, scratch, frames):
            return FLUSH
        count_step(run)
        if event:
            status = stop_at_event(problem, state, run, scratch)
            if status != GO_ON:
                return status
        else:
            accept(problem, state, run, scratch)
        if state.sign.size > problem.m:
            merge(problem, state)
            run.stale = 1
        switch, length = False, 0.0
        if run.free == 1 and run.regime == COUPLED:
            switch, length = many_events(problem, state, run, scratch)
        if switch:
            run.regime, run.step = WINDOWS, length
        write_checkpoint(state, run, checkpoints)
        if switch:
            return SWITCH
