"""One implicit step where stability rather than accuracy bounds an explicit one: an entry of its own.

`coupled.burst` returns with STIFF and leaves the start of the step in `scratch`. The step is proposed (`offer`), tested
by the energy it dissipates (`conserves`), shortened to its first event (`landing.land`) and becomes the state. What
happens at the event is decided by the next burst.
"""

import numpy as np

from reluflow.engine import implicit
from reluflow.engine._jit import entry, inner
from reluflow.engine.coupled import (
    AGAIN,
    GO_ON,
    WORTH,
    clear_fresh,
    count_step,
    keep_sizes,
    write_checkpoint,
    write_frame,
)
from reluflow.engine.explicit import clock_shift, output_error, settle, velocity
from reluflow.engine.field import SLID, copy, copy_rows, log_loss, penalty, per_surface
from reluflow.engine.implicit import ORDER, STAGES
from reluflow.engine.landing import land
from reluflow.engine.layout import FLUSH

FORCE = 1e-2  # how much an error of the forces on a held neuron counts: event times are right to 100 rtol
MOVES = 100.0  # of rtol: what they must move the neuron by in the step


@inner
def force_error(problem, state, run, scratch, h):
    """How far the drive of the last stage is from the cubic through the others, in the forces that hold a neuron on a
    surface, relative to their sum: an estimate of their error.

    Where residuals have settled, forces are far smaller than what an error of the outputs within the tolerance makes of
    them, and decide when a neuron is released: by so much of the step, or of the time since the start if that is
    longer, the release may be early or late. Below their rounding, and where they move the neuron by less than the
    tolerance, they do not count.
    """
    stiff, work = scratch.stiff, scratch.work
    g = work.g
    for i in range(g.size):
        g[i] = 0.0
        for a in range(STAGES):
            g[i] += implicit.CUBIC[a] * stiff.gamma[a, i]
    per_surface(problem, g, work.probe_jump, work.probe_base)
    per_surface(problem, stiff.g, work.jump, work.base)
    unit = np.exp(run.G + clock_shift(problem, scratch.step.clock))
    worst = 0.0
    for j in range(state.sign.size):
        if state.slid[j] == 0 or state.dead[j] != 0:
            continue
        miss, scale, grain = 0.0, 1e-300, 0.0
        for k in range(state.bits.shape[1]):
            if (state.code[j, k] & 3) < SLID:
                miss += abs(state.bits[j, k] * work.probe_jump[k] + work.probe_base[k])
                scale += abs(state.bits[j, k] * work.jump[k] + work.base[k])
                grain += 10.0 * unit * state.bits[j, k] * work.noise[k]
        if h * scale > MOVES * run.rtol:
            worst = max(worst, max(0.0, miss - grain) / scale)
    return worst * min(1.0, h / max(scratch.step.clock, 1e-300))


@inner
def offer(problem, state, run, scratch, h):
    """An implicit step to y1: (its size, its error over tolerance), the size 0 if the longest stable step is longer.

    Expects work at the present state and K[0]; leaves K[1:6] and the error in e5.
    """
    e5, work, step = scratch.e5, scratch.work, scratch.step
    implicit.begin(problem, state, clock_shift(problem, step.clock), scratch)
    while h > step.longest:
        done = implicit.stages(problem, state, run, scratch, h, scratch.y1)
        run.n_fields += 4 * STAGES
        err, force = np.inf, 0.0
        for again in range(2 if done else 0):
            implicit.estimate(problem, state, scratch, h, again == 1)
            err = max(implicit.largest(problem, state, e5), output_error(problem, state, run, e5, work))
            if run.loss0 > 0.0:
                err = max(err, abs(e5[e5.size - 1]) / run.loss0)
            if step.held and again == 0:
                force = FORCE * force_error(problem, state, run, scratch, h)
            err = max(err, force) / run.rtol
            if err <= 1.0:
                implicit.settle_end(problem, state, scratch, h)
                return h, err
        h *= max(0.2, 0.9 * err ** (-1.0 / ORDER)) if np.isfinite(err) else 0.25
    return 0.0, 0.0


@inner
def conserves(problem, state, run, scratch):
    """The velocity at the end of the step; whether the energy dissipated, an integral of squared velocities, is the
    decrease of the loss: a test that the error estimate of the state does not replace."""
    step, y1, work = scratch.step, scratch.y1, scratch.work
    step.last = step.clock + step.h >= run.end * (1.0 - 1e-15)
    step.new = run.end if step.last else step.clock + step.h
    velocity(problem, state, y1, step.new, scratch.K[12], work)
    run.n_fields += 1
    copy_rows(scratch.u1, work.u)
    now = np.exp(log_loss(problem, work.f)) + penalty(problem, state, y1)
    gap = now - step.loss + y1[y1.size - 1] - state.y[y1.size - 1]
    return abs(gap) <= 0.1 * run.rtol * run.loss0


@inner
def write_frames(problem, state, run, scratch, frames):
    """The frames inside the step, each a step of its own; GO_ON, FLUSH without room, or AGAIN if no implicit step leads
    to a frame, and explicit ones must."""
    step = scratch.step
    while run.next_frame < frames.wanted.size and frames.wanted[run.next_frame] < step.new:
        if run.frames_used == frames.clock.size:
            return FLUSH
        at = max(frames.wanted[run.next_frame], step.clock)
        if at == step.clock:
            copy(scratch.tmp, state.y)
        elif implicit.stages(problem, state, run, scratch, at - step.clock, scratch.tmp):
            settle(problem, state, scratch.tmp, at)
        else:
            return AGAIN
        write_frame(state, run, frames, at, scratch.tmp)
    return GO_ON


@entry
def attempt(problem, state, run, scratch, frames, checkpoints):
    """One implicit step, if there is one: GO_ON, or FLUSH without room for a frame. Expects what `coupled.propose`
    leaves: the velocity in K[0], work at the present state, the wanted and the longest stable step."""
    step = scratch.step
    run.stale = 1
    step.loss = np.exp(log_loss(problem, scratch.work.f)) + penalty(problem, state, state.y)
    size, err = offer(problem, state, run, scratch, step.h)
    if size <= 0.0:
        run.patience = AGAIN
        return GO_ON
    step.h = step.whole = size
    step.grow = min(4.0, max(0.2, 0.9 * max(err, 1e-10) ** (-1.0 / ORDER)))
    if not conserves(problem, state, run, scratch):
        run.n_rejected += 1
        run.step = 0.5 * size
        return GO_ON
    if not land(problem, state, run, scratch):
        run.patience = AGAIN
        return GO_ON
    status = write_frames(problem, state, run, scratch, frames)
    if status == AGAIN:
        run.patience = AGAIN
        return GO_ON
    if status != GO_ON:
        return status
    if size * step.grow < WORTH * step.longest:
        run.patience = AGAIN
    become(problem, state, run, scratch, checkpoints)
    return GO_ON


@inner
def become(problem, state, run, scratch, checkpoints):
    """The end of the step becomes the state; an event there is left to the next burst."""
    step = scratch.step
    event = step.x <= 1.0
    keep_sizes(problem, state, scratch.work)
    copy(state.y, scratch.y1)
    run.idle = run.idle + 1 if event and step.new == step.clock else 0
    run.clock = step.new
    if event or not step.last:
        run.step = step.whole * (max(1.0, step.grow) if event else step.grow)
    clear_fresh(problem, state, scratch.u1)
    count_step(run)
    run.n_stiff += 1
    run.pending = 1 if event else 0
    if not event:
        write_checkpoint(state, run, checkpoints)
