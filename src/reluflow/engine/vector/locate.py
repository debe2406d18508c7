"""The first release inside a step, found on its dense output; crossings are those of `engine.locate`."""

from reluflow.engine import surfaces as held
from reluflow.engine._jit import inner
from reluflow.engine.field import copy_rows
from reluflow.engine.locate import BACK, FIT, between, earliest
from reluflow.engine.vector.field import velocity
from reluflow.engine.vector.surfaces import margins


@inner
def margin_at(problem, state, scratch, x, out):
    """Smallest release margin at fraction x of the step, all of them in `out`."""
    step = scratch.step
    between(state, scratch.P, x, scratch.tmp)
    velocity(problem, state, scratch.tmp, step.clock + x * step.h, scratch.K[15], scratch.work)
    return margins(problem, state, scratch.tmp, scratch.work, out)


@inner
def released_before(problem, state, run, scratch):
    """The smallest place found in (0, 1], not after step.x, where a held surface has been released; 0 if there is none.

    Looks where the polynomials through the margins at the stages do not exclude it. Expects the margins at the end in
    at_hi; leaves those at the place found there.
    """
    step = scratch.step
    hi = min(step.x, 1.0)
    best, looked = 2.0, -1.0
    if hi == 1.0 and step.margin1 < 0.0:
        best = 1.0
    for j in range(state.sign.size):
        for a in range(held.held_count(state, j)):
            x = held.release_place(state, scratch.work, held.Watched(12, FIT, BACK), j, a, hi)
            if x == 0.0 or x == looked or x >= best:
                continue
            looked = x
            low, _, _, _ = margin_at(problem, state, scratch, x, scratch.at_x)
            run.n_fields += 1
            if low < 0.0:
                best = x
                copy_rows(scratch.at_hi, scratch.at_x)
    return best if best <= 1.0 else 0.0


@inner
def first_release(problem, state, run, scratch, hi):
    """The first release in (0, hi], given that one has happened at hi: into step.x, neuron, surface and side.

    Good to a hundredth of the run's tolerance in time. Expects the margins at the start in at_lo.
    """
    step = scratch.step
    at_lo, at_x, at_hi = scratch.at_lo, scratch.at_x, scratch.at_hi
    grain = max(1e-16, 1e-4 * run.rtol * max(1.0, step.clock / step.h))
    lo, last, stuck = 0.0, 2.0, False
    _, neuron, surface, side = margin_at(problem, state, scratch, hi, at_hi)
    for turn in range(80):
        run.n_fields += 1
        if hi - lo < 100.0 * grain:
            break
        x = earliest(state, lo, hi, at_lo, at_hi)
        if stuck:
            # Estimates from one side agree, with the other end far away: look just across.
            x = hi - 50.0 * grain if last == hi else lo + 50.0 * grain
        if turn % 5 == 4 or not lo < x < hi:
            x = 0.5 * (lo + hi)
        low, j, s, to = margin_at(problem, state, scratch, x, at_x)
        stuck = abs(x - last) < grain
        last = x
        if low < 0.0:
            hi, neuron, surface, side = x, j, s, to
            copy_rows(at_hi, at_x)
        else:
            lo = x
            copy_rows(at_lo, at_x)
    step.x, step.neuron, step.surface, step.side = hi, neuron, surface, side
