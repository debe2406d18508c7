"""Losses with a kink: the force of a datum follows max(0, kink - y f). Steps and stretches end where a margin passes.

Their polynomials know nothing of a kink between nodes or stages, and the error estimate of a step sees it by chance.
They follow the branch on which most of these lie. So of a kink at the distance d from the start or the end they leave
out the triangle c |(y f)'| d^2 / 2, which is to be negligible; in the middle of a stretch at most that of d = 1/2.
"""

import numpy as np

from reluflow.engine import loss as losses
from reluflow.engine._jit import inner
from reluflow.engine.explicit import loudness, velocity
from reluflow.engine.field import copy
from reluflow.engine.tracer import AT, LEGENDRE, NODES, WEIGHT

HALVINGS = 60  # of a gap, until its root is known to rounding
NEGLIGIBLE = 0.01  # of the tolerance: what a kink may do to a neuron without being landed on
TRIES = 30  # to land a step, after which it is taken as its error allows


@inner
def keep_margins(problem, f, out):
    """What the margins of outputs f lack to the kink, with the opposite sign."""
    kink = losses.kink(problem.loss)
    for i in range(out.size):
        out[i] = problem.y[i] * f[i] - kink


@inner
def coefficients(window, i):
    """The margin of datum i over the stretch, in window.legendre: coefficients of P_l(2 x - 1)."""
    for l in range(NODES):
        total = 0.0
        for node in range(NODES):
            total += WEIGHT[node] * LEGENDRE[l, node] * window.margin[node, i]
        window.legendre[l] = (2 * l + 1) * total


@inner
def margin_at(window, x):
    """The polynomial of `coefficients` at x."""
    z, before, now = 2.0 * x - 1.0, 1.0, 2.0 * x - 1.0
    total = window.legendre[0] + window.legendre[1] * now
    for l in range(2, NODES):
        before, now = now, ((2 * l - 1) * z * now - (l - 1) * before) / l
        total += window.legendre[l] * now
    return total


@inner
def root(window, lo, hi):
    """Where the polynomial changes its sign between lo and hi."""
    sign = 1.0 if margin_at(window, lo) > 0.0 else -1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (lo + hi)
        if sign * margin_at(window, middle) > 0.0:
            lo = middle
        else:
            hi = middle
    return hi


@inner
def first_kink(problem, window):
    """The first place x of the stretch at which a margin passes the kink and it matters; 2 without one."""
    stretch = window.stretch
    first = 2.0
    if window.margin.size == 0:
        return first
    unit = stretch.H * problem.weight * losses.factor(problem.loss) * np.sqrt(stretch.gram_norm)
    for i in range(problem.y.size):
        coefficients(window, i)
        lo, before = 0.0, margin_at(window, 0.0)
        for gap in range(NODES + 1):
            hi = 1.0 if gap == NODES else AT[gap]
            after = margin_at(window, hi)
            if (before > 0.0) != (after > 0.0):
                x = root(window, lo, hi)
                away = 1.0 - x if gap == NODES else x if gap == 0 else 0.5
                effect = unit * abs(problem.alpha[i]) * abs(after - before) / (hi - lo) * 0.5 * away * away
                if effect > NEGLIGIBLE * stretch.rtol:
                    first = min(first, x)
            lo, before = hi, after
    return first


@inner
def begin_step(problem, scratch):
    """Keeps the margins at the start of a step. Expects work there."""
    step = scratch.step
    step.before, step.anchor, step.tries = 0.0, 0.0, 0
    keep_margins(problem, scratch.work.f, scratch.margin[0])


@inner
def shorter_step(problem, state, run, scratch, h):
    """The length at which a step of length h to y1 is to be tried again, so that a margin passes the kink at its end
    only; h if it may stay."""
    step, margin, work = scratch.step, scratch.margin, scratch.work
    if margin.size == 0 or step.tries == TRIES:
        return h
    velocity(problem, state, scratch.y1, step.clock + h, scratch.K[12], work)
    run.n_fields += 1
    keep_margins(problem, work.f, margin[2])
    unit = problem.weight * losses.factor(problem.loss)
    allowed = NEGLIGIBLE * run.rtol / loudness(problem, state, work)
    best = h
    for i in range(problem.y.size):
        start, last, now = margin[0, i], margin[1, i], margin[2, i]
        if (start > 0.0) == (now > 0.0):
            continue
        x = h * start / (start - now)
        if step.anchor > 0.0 and last != now:  # by the secant through this try and the last, if it is inside
            there = h + (step.anchor - h) * now / (now - last)
            x = there if 0.0 < there < h else x
        rate = abs(now - start) / h
        room = np.sqrt(2.0 * allowed / (unit * abs(problem.alpha[i]) * rate))
        if min(x, h - x) > room:
            best = min(best, x + 0.5 * room)
    if best < h:
        copy(margin[1], margin[2])
        step.anchor, step.before = h, max(step.before, h)
        step.tries += 1
    return best
