"""An implicit step that meets an event is taken again, shorter, until it ends there.

Explicit steps cannot lead to an event that is far away by the measure of the fastest rate, and a state from the inside
of an implicit step is off by the error of the step, which is a large force where the residuals have settled. The end of
an implicit step is not: its stages are solved for together with their drive.
"""

import numpy as np

from reluflow.engine import implicit, surfaces
from reluflow.engine._jit import inner
from reluflow.engine.explicit import velocity
from reluflow.engine.field import ON, copy_rows
from reluflow.engine.layout import row, weights
from reluflow.engine.locate import earliest

ON_IT = 1e-13  # |<q, e>| at which a neuron has landed
NEAR = 1e-3  # of a step, from its end, which is settled: there it decides, and not the collocation polynomial
TURNS = 8  # corrections of the length of a step that is to end on a surface
ROUNDS = 12  # events of a step, the later first
FAR = 32.0  # longest stable steps: to a nearer event explicit ones cost less than the tries of a landing
SECTIONS = 60  # sections of the interval in which a surface is released


@inner
def again(problem, state, run, scratch, h):
    """The implicit step of size h in place of that in `scratch`, with its release margins; False if there is none."""
    step, work = scratch.step, scratch.work
    run.n_fields += 4 * implicit.STAGES
    if not h > step.longest or not implicit.stages(problem, state, run, scratch, h, scratch.y1):
        return False
    step.h, step.new, step.last = h, step.clock + h, 0
    implicit.settle_end(problem, state, scratch, h)
    velocity(problem, state, scratch.y1, step.new, scratch.K[12], work)
    copy_rows(scratch.u1, work.u)
    margins_at_end(problem, state, scratch)
    return True


@inner
def margins_at_end(problem, state, scratch):
    """Release margins at the end of the step; the smallest, and whose it is, in `step`. Expects work there."""
    step, work = scratch.step, scratch.work
    step.margin1 = 1.0
    if step.held:
        surfaces.noise(problem, state, scratch.y1, work)
        step.margin1, step.neuron, step.surface, step.side = surfaces.margins(problem, state, work, scratch.at_hi)


@inner
def first_release(problem, state, scratch):
    """Fraction of the step at which a held surface may have been released, by its margins at the stages; 2 for none."""
    step = scratch.step
    if not step.held:
        return 2.0
    implicit.watch_releases(problem, state, scratch)
    watched = surfaces.Watched(implicit.STAGES, implicit.DRIVE_FIT, implicit.DRIVE_BACK)
    best = 1.0 if step.margin1 < 0.0 else 2.0
    for j in range(state.sign.size):
        for a in range(surfaces.held_count(state, j)):
            x = place_inside(state, scratch.work, watched, j, a)
            if 0.0 < x < best:
                best = x
    return best


@inner
def place_inside(state, work, watched, j, a):
    """Where inside the step the margin of the a-th held surface of neuron j may be negative; 0 if it cannot be. At the
    end the margins themselves are known."""
    x = surfaces.release_place(state, work, watched, j, a, 1.0)
    if x < 1.0:
        return x
    if (state.code[j, state.where[j, a]] & 3) == surfaces.PINNED and state.dead[j] == 0:
        column = j * state.where.shape[1] + a
        for p in range(implicit.STAGES - 1):
            if work.held[p, column] < 0.0:
                return implicit.NODES[p]
    return 0.0


@inner
def at_end(state, scratch, j, k):
    """<q_j, e_k>, or b_j for k = -1, at the end of the step."""
    b, _ = weights(scratch.y1, state.sign.size)
    return b[j] if k < 0 else scratch.u1[j, k]


@inner
def across(state, scratch, j, k):
    """Whether neuron j is across surface k at the end of the step."""
    side = state.sign[j] if k < 0 else (1.0 if (state.code[j, k] & 3) == ON else -1.0)
    return side * at_end(state, scratch, j, k) < -implicit.GRAIN


@inner
def to_surface(problem, state, run, scratch, x):
    """The step that ends where neuron step.neuron meets surface step.surface, at first sight after the fraction x of
    this one; False if there is none. Newton's iteration for its length."""
    step = scratch.step
    j, k = step.neuron, step.surface
    h = x * step.h
    # From a surface that the neuron was on at the start it need only have clearly left.
    close = 4.0 * implicit.GRAIN if k >= 0 and abs(scratch.u0[j, k]) <= implicit.GRAIN else ON_IT
    for _ in range(TURNS):
        if not again(problem, state, run, scratch, h):
            return False
        miss = at_end(state, scratch, j, k)
        step.x, step.neuron, step.surface, step.side = 1.0, j, k, -1
        if abs(miss) <= close:
            put_on(problem, state, scratch)
            return True
        rate = implicit.closing_rate(problem, state, scratch, j, k)
        h -= miss / rate if rate != 0.0 else np.inf
        if not abs(h - step.h) < 0.5 * step.h:
            return False
    return False


@inner
def put_on(problem, state, scratch):
    """Puts neuron step.neuron on surface step.surface at the end of the step.

    A distance that is rounding makes a force that is not, beside those that have settled: the others move so that the
    drive stays what it was.
    """
    step = scratch.step
    r = problem.e.shape[1]
    if step.surface < 0:
        return
    for _ in range(2):
        u, q = implicit.along(problem, scratch.y1, step.neuron, step.surface), row(scratch.y1, step.neuron, r)
        for i in range(r):
            q[i] -= u * problem.e[step.surface, i]
        implicit.settle_end(problem, state, scratch, step.h)


@inner
def to_release(problem, state, run, scratch, x):
    """The step that ends where a held surface is released, if one is at the fraction x of this one: then step.x is 1.
    False if there is no such step."""
    step = scratch.step
    if (x < 1.0 or step.margin1 >= 0.0) and not again(problem, state, run, scratch, x * step.h):
        return False
    if step.margin1 >= 0.0:
        return True
    lo, hi, grain = 0.0, step.h, max(1e-14, 1e-2 * run.rtol * max(1.0, step.clock / step.h)) * step.h
    copy_rows(scratch.at_x, scratch.at_hi)
    for turn in range(SECTIONS):
        if hi - lo <= grain:
            break
        h = 0.5 * (lo + hi) if turn % 4 == 3 else earliest(state, lo, hi, scratch.at_lo, scratch.at_x)
        # Just across, where estimates from one side agree with the other end far away.
        h = min(max(h, lo + 0.4 * grain), hi - 0.4 * grain)
        if not again(problem, state, run, scratch, h):
            return False
        if step.margin1 < 0.0:
            hi = h
            copy_rows(scratch.at_x, scratch.at_hi)
        else:
            lo = h
            copy_rows(scratch.at_lo, scratch.at_hi)
    if step.h != hi and not again(problem, state, run, scratch, hi):
        return False
    step.x = 1.0
    return step.margin1 < 0.0


@inner
def land(problem, state, run, scratch):
    """Shortens the implicit step in `scratch` to its first event. Then step.x is 1, and 2 without one; False if no
    implicit step leads there."""
    step = scratch.step
    step.x = 2.0
    margins_at_end(problem, state, scratch)
    for _ in range(ROUNDS):
        place = 2.0 if step.x <= 1.0 and step.side >= 0 else first_release(problem, state, scratch)
        x, j, k = implicit.first_meeting(problem, state, scratch)
        if x > 1.0 - NEAR and step.x <= 1.0 and not across(state, scratch, j, k):
            x = 2.0
        if min(x, place) > 1.0:
            return True
        if min(x, place) * step.h < FAR * step.longest:
            return False
        step.x = 2.0
        if x <= place:
            step.neuron, step.surface = j, k
            if not to_surface(problem, state, run, scratch, x):
                return False
        elif not to_release(problem, state, run, scratch, place):
            return False
    return False
