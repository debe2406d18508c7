"""All neurons together: order-8 steps with bits frozen, every crossing and every release located, then resolved.

A step is taken as if no bit changed. If afterwards some <q_j, e_k> has the wrong sign, or a neuron is due to be
released from a surface it is held on, the earliest such moment is found on the dense output, which gives the state
there, and `surfaces.resolve` decides what happens. Where the step is bounded by stability rather than by its error,
the burst returns with STIFF: the next step is for `stiff.attempt`, an entry of its own.
"""

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import entry, inner
from reluflow.engine.events import at_event
from reluflow.engine.explicit import clock_shift, dense, error, loudness, settle, stages, velocity
from reluflow.engine.field import DORMANT, FRESH, ON, SLID, copy, copy_rows, fill, stiffness
from reluflow.engine.kinks import begin_step, shorter_step
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
    STORM,
    SWITCH,
    WINDOWS,
    count_anew,
    row,
    weights,
)
from reluflow.engine.locate import (
    LEFT,
    along_normal,
    between,
    first_crossing,
    first_release,
    may_release,
    norm_q,
    released_before,
    suspects,
)
from reluflow.engine.loss import tailed
from reluflow.engine.tableau import STAGES
from reluflow.engine.ways import few

GO_ON = -1  # no status: the burst continues
SMALL = -37.0  # log of an output, relative to 1, that is lost in the rounding of others
STABLE = 4.0  # step times fastest rate: the pair is stable to 6, but beyond 4.4 residuals alternate
AHEAD, WORTH = 1.3, 2.0  # over the longest stable step: what makes an implicit one be tried, and be tried again
FINEST = 1e-13  # tolerance of a neuron down to which `windows` traces it
AGAIN = 16  # explicit steps after an implicit one was refused
COUNTED = 32  # steps over which events are counted
MANY = 3.0  # events in the time a stretch of `windows` would take, above which stretches cost less


# Reasons to stop ------------------------------------------------------------------------------------------------------


@inner
def finite(v):
    """Whether every number of v is finite."""
    others = 0
    for i in range(v.size):
        others += 0 if abs(v[i]) < np.inf else 1
    return others == 0


@inner
def moving(problem, state, work):
    """Whether some neuron is pulled by a millionth of what the labels can pull: then the flow has not converged,
    without a look at rounding. False with decay, where pulls do not vanish at the end: that decides nothing."""
    r = problem.e.shape[1]
    unit = 0.0
    if problem.decay > 0.0:
        return False
    for i in range(problem.alpha.size):
        label = abs(work.g[i]) if tailed(problem.loss) else problem.weight * abs(problem.y[i])
        unit += abs(problem.alpha[i]) * label
    for j in range(state.sign.size):
        if state.dead[j] != 0 or state.slid[j] > 0:
            continue
        size = 0.0
        for i in range(r):
            size += work.pull[j, i] ** 2
        if size > 1e-12 * unit * unit:
            return True
    return False


@inner
def unfitted(problem, rest, work):
    """Surface forces of the data that are not fitted, in work.probe_jump and work.probe_base; returns the sum of the
    moduli of the forces left out.

    Datum i is fitted when its residual is below `rest` |y_i| (the largest label where y_i = 0) or below the rounding of
    its output. With an exponential tail no datum ever is.
    """
    jump, base = work.probe_jump, work.probe_base
    left, top = 0.0, 0.0
    if tailed(problem.loss):
        copy(jump, work.jump)
        copy(base, work.base)
        return left
    for i in range(problem.y.size):
        top = max(top, abs(problem.y[i]))
    fill(jump, 0.0)
    fill(base, 0.0)
    for i in range(problem.alpha.size):
        k, a, g = problem.surf[i], problem.alpha[i], work.g[i]
        label = abs(problem.y[i]) if problem.y[i] != 0.0 else top
        if abs(a * g) <= abs(a) * problem.weight * rest * label + work.noise[k]:
            left += abs(a * g)
            continue
        jump[k] += abs(a) * g
        if a < 0:
            base[k] += (1.0 + problem.slope) * a * g
    return left


@inner
def pull_left(problem, state, work, j):
    """The pull on neuron j by the data that are not fitted: its norm."""
    r = problem.e.shape[1]
    D = work.pull_left
    fill(D, 0.0)
    for k in range(state.bits.shape[1]):
        if (state.code[j, k] & 3) < SLID:
            coef = state.bits[j, k] * work.probe_jump[k] + work.probe_base[k]
            for i in range(r):
                D[i] += coef * problem.e[k, i]
    surfaces.out_of_held(state, j, D)
    size = 0.0
    for i in range(r):
        size += D[i] * D[i]
    return np.sqrt(size)


@inner
def resting(problem, state, run, v, work):
    """Whether the flow has converged: without the data that are fitted, the forces on every neuron cancel to run.rest
    of their sum or to rounding, or the neuron is too small to matter and only shrinks.

    A held neuron may sit at the unstable end of its line, w = -s D/|D|, and shrink for ever without turning. Expects
    work.noise.
    """
    m, big = state.bits.shape
    r = problem.e.shape[1]
    _, c = weights(state.y, m)
    _, c_rate = weights(v, m)
    rest = run.rest
    if problem.decay > 0.0:
        return resting_with_decay(problem, state, run, v, work)
    left = unfitted(problem, rest, work)
    for j in range(m):
        if state.dead[j] != 0:
            continue
        q_rate = row(v, j, r)
        size, turn, total, grain = 0.0, 0.0, 0.0, 0.0
        for i in range(r):
            size += work.pull[j, i] ** 2
            turn += q_rate[i] ** 2
        if state.slid[j] > 0 and problem.first == 0 and c_rate[j] < 0.0:
            if np.exp(2.0 * c[j]) <= rest and turn <= rest * rest:
                continue
        for k in range(big):
            if (state.code[j, k] & 3) < SLID:  # what a held datum does to the neuron is projected out
                total += abs(state.bits[j, k] * work.probe_jump[k] + work.probe_base[k])
                grain += state.bits[j, k] * work.noise[k]
        bound = rest * total + 4.0 * grain
        if np.sqrt(size) > left + bound or pull_left(problem, state, work, j) > bound:
            return False
    return True


@inner
def resting_with_decay(problem, state, run, v, work):
    """The same with decay, by velocities: every neuron moves by less than 1e-4 rtol in the time 1 / decay, or by less
    than rounding can move it, or it shrinks and is too small for its output to be seen.

    A neuron that turns or grows is not at rest, however small it is.
    """
    m, big = state.bits.shape
    r = problem.e.shape[1]
    b_rate, c_rate = weights(v, m)
    b, c = weights(state.y, m)
    fac = np.exp(run.G)
    for j in range(m):
        q_rate, q = row(v, j, r), row(state.y, j, r)
        turn, size, grain = b_rate[j] ** 2, 0.0, 0.0
        for i in range(r):
            turn += q_rate[i] ** 2
            size += q[i] * q[i]
        for k in range(big):
            bit = 1.0 if (state.code[j, k] & 3) >= SLID else state.bits[j, k]
            grain += bit * work.noise[k]
        turn, size, grain = np.sqrt(turn), np.sqrt(size), 4.0 * fac * grain
        bound = max(1e-4 * run.rtol, 1e-14) * problem.decay
        if problem.first == 1:
            small = size < 1e-16 and turn <= 2.0 * problem.decay * size
            if turn > bound * size + abs(b[j]) * grain and not small:
                return False
            continue
        bound += grain
        small = 2.0 * c[j] < SMALL and c_rate[j] < 0.0
        if turn > bound or not (small or abs(c_rate[j]) <= bound):
            return False
    return True


@inner
def hidden(problem, work):
    """Whether the force of a datum that is fitted ever better is lost in the rounding of others (exponential tails)."""
    if not tailed(problem.loss) or problem.decay > 0.0:
        return False
    for i in range(problem.y.size):
        if problem.y[i] * work.f[i] > 0.0 and abs(work.g[i]) < 1e-10:
            return True
    return False


@inner
def still(state, v, work):
    """Whether the outputs may stand still, for `calm` to decide: no neuron moves them by 1e-9 a unit of the clock."""
    m = state.sign.size
    _, c_rate = weights(v, m)
    for j in range(m):
        if work.e2c[j] * abs(c_rate[j]) > 1e-9:
            return False
    return True


@inner
def calm(problem, state, run, v, work):
    """Whether the outputs stand still: neurons that matter rest, all others are too small to be seen. Sets run.speed.

    V = sum_j e^{2c} (2 |c'| + |q'| + |b'|), the speed of the outputs up to |x|, against 1e-15 and what the rounding of
    the forces on a neuron's own bits does to it. Expects work.noise.
    """
    m, big = state.bits.shape
    r = problem.e.shape[1]
    b_rate, c_rate = weights(v, m)
    _, c = weights(state.y, m)
    fast, slow, grain = 0.0, 0.0, 0.0
    for j in range(m):
        if state.dead[j] != 0:
            continue
        e2c = work.e2c[j]
        q_rate = row(v, j, r)
        turn = 0.0
        for i in range(r):
            turn += q_rate[i] * q_rate[i]
        rate = e2c * (2.0 * abs(c_rate[j]) + np.sqrt(turn) + abs(b_rate[j]))
        for k in range(big):
            grain += e2c * state.bits[j, k] * work.noise[k]
        if c[j] < run.passive:
            fast += rate
        else:
            slow += rate
    grain *= 0.3 * np.exp(run.G + clock_shift(problem, run.clock))
    # A drift below the rounding of the drive counts as none: it would bound every jump.
    run.speed = slow if slow > grain else 0.0
    return fast + slow <= 1e-15 + grain


@inner
def no_room(state, run, work):
    """Whether the events of one step might not fit in the log."""
    m, big = state.bits.shape
    return run.log_used + m * (big + 2) > work.log.shape[0]


@inner
def storm(state, run):
    """Whether events follow each other at one instant without end."""
    m, big = state.bits.shape
    return run.idle > 20 * m * (big + 2)


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
        surfaces.noise(problem, state, state.y, work)
        if resting(problem, state, run, v, work):
            return CANCELLED if hidden(problem, work) else STATIONARY
    if run.wait == 0 and problem.first == 0 and still(state, v, work):
        surfaces.noise(problem, state, state.y, work)
        if calm(problem, state, run, v, work):
            return QUIET
    return GO_ON


# Frames and checkpoints -----------------------------------------------------------------------------------------------


@inner
def write_row(rows_y, rows_code, at, y, code):
    """Stores a state and its codes as one row."""
    copy(rows_y[at], y)
    copy(rows_code[at], code.reshape(code.size))


@inner
def write_frame(state, run, frames, clock, y):
    """Stores one of the frames that were asked for."""
    frames.clock[run.frames_used] = clock
    write_row(frames.y, frames.code, run.frames_used, y, state.code)
    run.frames_used += 1
    run.next_frame += 1


@inner
def write_end(state, run, frames):
    """The frames at the end of the run; whether there was room."""
    while run.next_frame < frames.wanted.size:
        if run.frames_used == frames.clock.size:
            return False
        write_frame(state, run, frames, run.clock, state.y)
    return True


@inner
def write_frames(problem, state, run, scratch, frames):
    """The frames inside the step, each a step of its own, so that the run does not depend on what is saved.

    Returns whether there was room; if not the step is taken again later.
    """
    step = scratch.step
    while run.next_frame < frames.wanted.size and frames.wanted[run.next_frame] < step.new:
        run.stale = 1
        if run.frames_used == frames.clock.size:
            return False
        at = max(frames.wanted[run.next_frame], step.clock)
        stages(problem, state, scratch, step.clock, at - step.clock, scratch.tmp, False)
        write_frame(state, run, frames, at, scratch.tmp)
    return True


@inner
def write_checkpoint(state, run, checkpoints):
    """A checkpoint after every run.stride-th step."""
    run.tick += 1
    if run.tick >= run.stride:
        run.tick = 0
        at = run.checkpoints_used
        checkpoints.clock[at, 0] = run.clock
        checkpoints.clock[at, 1] = run.step if run.regime == COUPLED else -run.step
        write_row(checkpoints.y, checkpoints.code, at, state.y, state.code)
        run.checkpoints_used += 1


# A step ---------------------------------------------------------------------------------------------------------------


@inner
def begin(problem, state, run, scratch):
    """The velocity at the start, and who is held or dormant; whether it is finite."""
    step = scratch.step
    step.clock = run.clock
    if run.stale:
        run.G = velocity(problem, state, state.y, run.clock, scratch.K[0], scratch.work)
        run.n_fields += 1
        run.stale, step.known = 0, 0
    step.held, step.dormant = 0, 0
    for j in range(state.sign.size):
        if state.slid[j] > 0 and state.dead[j] == 0:
            step.held = 1
        if state.dead[j] == DORMANT and few(problem):
            step.held = 1
        elif state.dead[j] == DORMANT:
            step.dormant = 1
    return finite(scratch.K[0])


@inner
def release_due(problem, state, scratch):
    """Whether a neuron is to be released before anything moves: which, from what and how goes to `step`."""
    step, work = scratch.step, scratch.work
    step.margin0 = 1.0
    if step.held:
        if not step.known:
            surfaces.noise(problem, state, state.y, work)
        step.margin0, step.neuron, step.surface, step.side = surfaces.margins(problem, state, work, scratch.at_lo)
    return step.margin0 < 0.0


@inner
def keep_sizes(problem, state, work):
    """|q_j| at the start of the step."""
    for j in range(state.sign.size):
        work.size[j] = norm_q(state.y, j, problem.e.shape[1])


@inner
def decide(problem, state, run, scratch, v):
    """Resolves the event in `step`, where v is the velocity; the status it ends the burst with, or GO_ON."""
    at_event(problem, state, run, scratch, v)
    run.stale = 1
    if storm(state, run):
        run.nearest, run.nearest_clock = 0.0, run.clock
        run.nearest_neuron, run.nearest_surface = scratch.step.neuron, scratch.step.surface
        return STORM
    if run.origin > 0:
        copy(scratch.work.way, row(v, run.origin - 1, problem.e.shape[1]))
        return ORIGIN
    return GO_ON


@inner
def release_now(problem, state, run, scratch):
    """Releases a neuron at the start of a step; a status, or GO_ON."""
    if no_room(state, run, scratch.work):
        return FLUSH
    keep_sizes(problem, state, scratch.work)
    run.idle += 1
    return decide(problem, state, run, scratch, scratch.K[0])


@inner
def pending_event(problem, state, run, scratch):
    """Resolves the event that an implicit step has ended at; a status, or GO_ON."""
    run.pending = 0
    return decide(problem, state, run, scratch, scratch.K[0])


@inner
def propose(problem, state, run, scratch):
    """The length of the next step, as far as it is known, and of the longest that is stable: whether the step is for
    `stiff.attempt`, as stability rather than accuracy bounds an explicit one."""
    step, work = scratch.step, scratch.work
    copy_rows(scratch.u0, work.u)
    # With decay neurons align at rates up to twice that, also at rest.
    rate = stiffness(problem, state, clock_shift(problem, step.clock), work) + 2.0 * problem.decay
    h = min(run.step, run.end - step.clock)
    if problem.decay > 0.0:
        h = min(h, 1.0 / problem.decay)
    step.longest = STABLE / rate if rate > 0.0 else np.inf
    if not h < np.inf:
        # A stretch of `windows` that came to nothing, in a run without end: no step is known yet.
        h = min(step.longest, 1.0)
    step.h, step.grow = h, 1.0
    if run.patience > 0:
        run.patience -= 1
        return False
    return run.implicit == 1 and h > AHEAD * step.longest


@inner
def shorten(problem, state, run, scratch):
    """A step that is stable, to y1, shortened until its error fits and no margin passes a kink of the loss before its
    end; False if it cannot be."""
    step = scratch.step
    clock, h = step.clock, min(step.h, step.longest)
    begin_step(problem, scratch)
    while True:
        run.taken += 1
        run.n_fields += STAGES - 1
        stages(problem, state, scratch, clock, h, scratch.y1, step.held == 1)
        err = error(problem, state, run, scratch, h)
        if not np.isfinite(err):
            err = 1e10
        shorter = shorter_step(problem, state, run, scratch, h) if err < 1e10 else h
        if err <= 1.0 and shorter == h:
            step.grow = min(5.0, max(0.2, 0.9 * max(err, 1e-10) ** -0.125))
            step.h = h
            return True
        run.n_rejected += 1
        h = shorter if shorter < h else h * max(0.1, 0.9 * err**-0.125)
        if clock + h == clock or h < 1e-300:
            return False


@inner
def finish(problem, state, run, scratch):
    """The velocity at the end of the step, and what may have happened inside it."""
    step, work = scratch.step, scratch.work
    step.last = step.clock + step.h >= run.end * (1.0 - 1e-15)
    step.new = run.end if step.last else step.clock + step.h
    velocity(problem, state, scratch.y1, step.new, scratch.K[12], work)
    run.n_fields += 1
    copy_rows(scratch.u1, work.u)
    step.margin1 = 1.0
    if step.held:
        surfaces.noise(problem, state, scratch.y1, work)
        step.margin1, _, _, _ = surfaces.margins(problem, state, work, scratch.at_hi)
    step.suspects, step.moved, step.dips = 0, 0, 0
    suspects(problem, state, scratch)
    step.dips = step.held and may_release(state, scratch)


@inner
def locate(problem, state, run, scratch):
    """The first event inside the step, in `step`; whether there is one."""
    step = scratch.step
    step.x, step.neuron, step.surface, step.side = 2.0, -1, -1, -1
    if step.suspects > 0 or step.dips:
        dense(problem, state, scratch)
        run.n_fields += 3
        first_crossing(problem, state, run, scratch)
        if step.dips:
            hi = released_before(problem, state, run, scratch)
            if hi > 0.0:
                first_release(problem, state, run, scratch, hi)
    if step.x <= 1.0:
        step.new = step.clock + step.x * step.h
        return True
    return False


@inner
def clear_fresh(problem, state, u):
    """Surfaces that neurons have clearly left are ordinary again; u are the <q_j, e_k> of the present state."""
    m, big = state.bits.shape
    for j in range(m):
        if state.dead[j] != 0:
            continue
        for k in range(big):
            if state.code[j, k] >= FRESH and (state.code[j, k] & 3) < SLID:
                side = 1.0 if (state.code[j, k] & 3) == ON else -1.0
                if side * u[j, k] > LEFT * norm_q(state.y, j, problem.e.shape[1]):
                    state.code[j, k] -= FRESH


@inner
def accept(problem, state, run, scratch):
    """The end of the step becomes the state."""
    step = scratch.step
    copy(state.y, scratch.y1)
    run.clock = step.new
    run.idle = 0
    if not step.last:
        run.step = max(step.h * step.grow, step.before)
    clear_fresh(problem, state, scratch.u1)
    if run.stale or step.suspects > 0 or step.dips or step.moved:
        run.stale = 1
    else:
        copy(scratch.K[0], scratch.K[12])
        step.known = step.held  # `inspect` has computed it at the end of this step


@inner
def onto_surface(problem, state, scratch):
    """One Newton step along the flow puts y1 on the surface: the located time is good to the step's error only."""
    step, y1, v = scratch.step, scratch.y1, scratch.K[12]
    m = state.sign.size
    j, k = step.neuron, step.surface
    if k < 0:
        b, _ = weights(y1, m)
        rate, _ = weights(v, m)
        miss, slope = b[j], rate[j]
    else:
        miss, slope = scratch.work.u[j, k], along_normal(problem, v, j, k)
    shift = -miss / slope if slope != 0.0 else 0.0
    if abs(shift) <= 1e-4 * max(step.x * step.h, 1e-12 * abs(step.clock)) and step.new + shift > step.clock:
        for i in range(y1.size):
            y1[i] += shift * v[i]
        step.new += shift
        settle(problem, state, y1, step.new)


@inner
def stop_at_event(problem, state, run, scratch):
    """The state goes to the event in `step`, which is resolved there; a status, or GO_ON."""
    step, y1, work = scratch.step, scratch.y1, scratch.work
    keep_sizes(problem, state, work)
    if step.x * step.h > 0.0:
        # Inside an accepted step the interpolant is off by no more than the step's own error estimate.
        between(state, scratch.P, step.x, y1)
        settle(problem, state, y1, step.new)
    else:
        copy(y1, state.y)
    velocity(problem, state, y1, step.new, scratch.K[12], work)
    if step.side < 0:
        onto_surface(problem, state, scratch)
    velocity(problem, state, y1, step.new, scratch.K[12], work)
    run.n_fields += 2
    run.idle = run.idle + 1 if step.new == step.clock else 0
    copy(state.y, y1)
    run.clock = step.new
    # Also here: where every step ends in an event, surfaces would never be ordinary again otherwise.
    clear_fresh(problem, state, work.u)
    status = decide(problem, state, run, scratch, scratch.K[12])
    if status == GO_ON:
        # Steps stay as long as before the event, which the error test allowed.
        run.step = max(step.h * max(1.0, step.grow), step.before)
    return status


@inner
def count_step(run):
    """One more step of the run."""
    run.n_steps += 1
    run.checked = 0
    run.wait = max(0, run.wait - 1)


@inner
def longest_stretch(problem, state, run, work, rate):
    """How long a stretch of `windows` may be: by the fastest neuron, and the fastest rate of the residuals.

    Expects work.pull and run.G at the present state.
    """
    fastest = 0.0
    for j in range(state.sign.size):
        pull = 0.0
        for i in range(work.pull.shape[1]):
            pull += work.pull[j, i] ** 2
        fastest = max(fastest, np.sqrt(pull))
    fac = np.exp(run.G + clock_shift(problem, run.clock))
    return min(1.0 / max(1e-300, fac * fastest + problem.decay), 2.0 / max(1e-300, rate)), fac


@inner
def many_events(problem, state, run, scratch):
    """Whether stretches cost less from here on, and how long the first may be; counts events and steps."""
    run.since_steps += 1
    if run.since_steps < COUNTED:
        return False, 0.0
    passed, events = run.clock - run.since_clock, run.n_events - run.since_events
    count_anew(run)
    if passed <= 0.0:
        return False, 0.0
    run.G = velocity(problem, state, state.y, run.clock, scratch.tmp, scratch.work)
    rate = STABLE / scratch.step.longest
    length, _ = longest_stretch(problem, state, run, scratch.work, rate)
    allowed = run.rtol >= FINEST * loudness(problem, state, scratch.work)
    return allowed and events / passed * length > MANY, length


@entry
def burst(problem, state, run, scratch, budget, frames, checkpoints):
    """Up to `budget` steps; returns a status. Everything needed to go on is in `state` and `run`."""
    run.taken, run.stale = 0, 1
    while True:
        if not begin(problem, state, run, scratch):
            return NOT_FINITE
        if run.pending == 1:
            status = pending_event(problem, state, run, scratch)
            if status != GO_ON:
                return status
            write_checkpoint(state, run, checkpoints)
            continue
        if release_due(problem, state, scratch):
            status = release_now(problem, state, run, scratch)
            if status != GO_ON:
                return status
            continue
        status = reason_to_stop(problem, state, run, scratch, budget, frames)
        if status != GO_ON:
            return status
        if (
            no_room(state, run, scratch.work)
            or run.checkpoints_used == checkpoints.y.shape[0]
            or run.frames_used == frames.clock.size
        ):
            return FLUSH
        if propose(problem, state, run, scratch):
            return STIFF
        if not shorten(problem, state, run, scratch):
            return STALLED
        finish(problem, state, run, scratch)
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
        switch, length = False, 0.0
        if run.free == 1 and run.regime == COUPLED:
            switch, length = many_events(problem, state, run, scratch)
        if switch:
            run.regime, run.step = WINDOWS, length
        write_checkpoint(state, run, checkpoints)
        if switch:
            return SWITCH
