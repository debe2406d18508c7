"""Stiff stretches with k outputs: Radau's five-stage step, implicit in the outputs alone.

The method is that of `engine.implicit`, with one unknown for each datum and output: V has the velocity under a unit
force on output o of datum i, J the rows of kappa df/dy, where kappa_i = -dG_i/df_i is a matrix of shape (k, k).
`attempt` is one step; `coupled.burst` asks for it where stability bounds an explicit one and no neuron has followers.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import implicit
from reluflow.engine._jit import entry, inner
from reluflow.engine.coupled import AGAIN, GO_ON, WORTH, accept, count_step, write_checkpoint, write_frame
from reluflow.engine.field import SLID, copy_rows, fill
from reluflow.engine.implicit import (
    MU,
    NODES,
    ORDER,
    REFRESHES,
    STAGES,
    TURNS,
    Stiff,
    couple,
    defect,
    equations,
    factor,
    first_meeting,
    low_rank,
    newton,
)
from reluflow.engine.layout import FLUSH, row, weights
from reluflow.engine.surfaces import Watched, none_released, out_of_held, watch
from reluflow.engine.vector import explicit
from reluflow.engine.vector.coupled import merge
from reluflow.engine.vector.explicit import error, output_error, settle, square_norm
from reluflow.engine.vector.field import bend, clock_shift, log_loss, noise, velocity
from reluflow.engine.vector.layout import Work, heads, pair
from reluflow.engine.vector.surfaces import margins


class Unknowns(NamedTuple):
    """What the equations of one output read off a problem: here n k unknowns."""

    alpha: np.ndarray
    e: np.ndarray


class Path(NamedTuple):
    """What `implicit.first_meeting` reads off a step."""

    stiff: Stiff
    poly: np.ndarray
    u0: np.ndarray
    work: Work


@inner
def curvature(problem, i, f, shift, v, out):
    """out = -dG_i/df_i at the outputs f, (k, k), in units of the clock; v is scratch space."""
    for o in range(problem.k):
        fill(v, 0.0)
        v[o] = 1.0
        bend(problem, i, f, shift, v)
        for p in range(problem.k):
            out[p, o] = v[p]


@inner
def column(problem, state, y, work, stiff, slot, i, o):
    """V and J of output o of datum i, with its curvature in work.MM[0]."""
    rows, s = state.sign.size, problem.surf[i]
    V, J = stiff.V[slot, i * problem.k + o], stiff.J[slot, i * problem.k + o]
    kappa, D = work.MM[0], work.way
    _, V_c = weights(V, rows)
    _, J_c = weights(J, rows)
    fill(V, 0.0)
    fill(J, 0.0)
    for j in range(problem.m):
        if state.dead[j] != 0 or (state.code[j, s] & 3) >= SLID:
            continue
        bit = state.bits[j, s] if problem.alpha[i] > 0.0 else 1.0 + problem.slope - state.bits[j, s]
        if bit == 0.0:
            continue
        q, b = pair(problem, y, rows, j)
        V_q, V_b = pair(problem, V, rows, j)
        J_q, J_b = pair(problem, J, rows, j)
        size, u, e2c = bit * problem.alpha[i], work.u[j, s], work.e2c[j]
        bent = 0.0
        for p in range(problem.k):
            bent += kappa[o, p] * b[p]
            J_b[p] = e2c * size * u * kappa[o, p]
        J_c[j] = 2.0 * e2c * size * u * bent
        for a in range(q.size):
            D[a] = size * problem.e[s, a]
            J_q[a] = e2c * bent * D[a]
        out_of_held(state, j, D)
        rho = b[o] * size * u
        for a in range(q.size):
            V_q[a] = b[o] * D[a] - rho * q[a]
        for p in range(problem.k):
            V_b[p] = -rho * b[p]
        V_b[o] += size * u
        V_c[j] = rho


@inner
def columns(problem, state, y, shift, work, stiff, slot):
    """Fills V and J of a slot at y, where the clock's shift is `shift`; expects work there."""
    for i in range(problem.alpha.size):
        curvature(problem, i, work.f[i], shift, work.df[i], work.MM[0])
        for o in range(problem.k):
            stiff.kappa[slot, i * problem.k + o] = 1.0
            column(problem, state, y, work, stiff, slot, i, o)


@inner
def largest(problem, state, v):
    """The largest movement of a neuron in v, on (q, b, c)."""
    rows, r, k = state.sign.size, problem.e.shape[1], problem.k
    b_all = heads(v, rows, k)
    _, c = weights(v, rows)
    worst = 0.0
    for j in range(problem.m):
        total = square_norm(row(v, j, r)) + square_norm(row(b_all, j, k)) + c[j] ** 2
        if not np.isfinite(total):
            return np.inf
        worst = max(worst, total)
    return np.sqrt(worst)


@inner
def stages(problem, state, run, scratch, stiff, h, to):
    """Newton's iteration for the stages of a step of size h; whether it converged. Expects `columns` at the start.

    Fills stiff.Z and `to` = the present state + the last stage, not yet settled; K[1:6] is scratch space.
    """
    F, size = scratch.K[1:6], state.y.size
    many = Unknowns(stiff.small[0], problem.e)
    for a in range(STAGES):
        fill(stiff.Z[a], 0.0)
    if not equations(many, stiff, h, False):
        return False
    before, each, again, refreshed = np.inf, False, False, 0
    for _ in range(TURNS):
        for a in range(STAGES):
            clock = scratch.step.clock + NODES[a] * h
            for i in range(size):
                to[i] = state.y[i] + stiff.Z[a, i]
            velocity(problem, state, to, clock, F[a], scratch.work)
            if again:
                columns(problem, state, to, clock_shift(problem, clock), scratch.work, stiff, a)
        if again:
            each, again, before = True, False, np.inf
            if not equations(many, stiff, h, True):
                return False
        newton(many, state, stiff, h, F, each)
        moved = 0.0
        for a in range(STAGES):
            moved = max(moved, largest(problem, state, stiff.R[a]))
        if not np.isfinite(moved):
            return False
        if moved <= max(1e-3 * run.rtol, 1e-14):
            for i in range(size):
                to[i] = state.y[i] + stiff.Z[STAGES - 1, i]
            return True
        if moved > 0.1 * before:
            again = True
            refreshed += 1
            if refreshed > REFRESHES:
                return False
        before = moved
    return False


@inner
def estimate(problem, state, scratch, stiff, h, again):
    """The step's error in (q, b, c, energy), in e5; with `again` filtered once more, for a step about to be refused.

    Expects the velocity at the start in K[0]; e3 is scratch space.
    """
    F, out, n = scratch.e3, scratch.e5, stiff.small.shape[0]
    many = Unknowns(stiff.small[0], problem.e)
    couple(stiff, STAGES, stiff.small)
    for i in range(n):
        stiff.small[i, i] += MU / h
    if not factor(stiff.small, stiff.pivot[:n]):
        fill(out, np.inf)
        return
    defect(stiff, h, scratch.K[0], out)
    low_rank(many, stiff, h, out)
    if again:
        for p in range(state.y.size):
            stiff.R[0, p] = state.y[p] + out[p]
        velocity(problem, state, stiff.R[0], scratch.step.clock, F, scratch.work)
        defect(stiff, h, F, out)
        low_rank(many, stiff, h, out)


@inner
def offer(problem, state, run, scratch, stiff, h):
    """An implicit step to y1: (its size, its error over tolerance), the size 0 if the longest stable step is longer."""
    e5, step = scratch.e5, scratch.step
    columns(problem, state, state.y, clock_shift(problem, step.clock), scratch.work, stiff, STAGES)
    while h > step.longest:
        done = stages(problem, state, run, scratch, stiff, h, scratch.y1)
        run.n_fields += 4 * STAGES
        err = np.inf
        for again in range(2 if done else 0):
            estimate(problem, state, scratch, stiff, h, again == 1)
            err = max(largest(problem, state, e5), output_error(problem, state, run, e5, scratch.work))
            if run.loss0 > 0.0:
                err = max(err, abs(e5[e5.size - 1]) / run.loss0)
            err /= run.rtol
            if err <= 1.0:
                settle(problem, state, scratch.y1, step.clock + h)
                return h, err
        h *= max(0.2, 0.9 * err ** (-1.0 / ORDER)) if np.isfinite(err) else 0.25
    return 0.0, 0.0


@inner
def conserves(problem, state, run, scratch):
    """The velocity at the end of the step; whether the energy dissipated is the decrease of the loss."""
    step, y1, work = scratch.step, scratch.y1, scratch.work
    step.last = step.clock + step.h >= run.end * (1.0 - 1e-15)
    step.new = run.end if step.last else step.clock + step.h
    velocity(problem, state, y1, step.new, scratch.K[12], work)
    run.n_fields += 1
    copy_rows(scratch.u1, work.u)
    gap = np.exp(log_loss(problem, work.f)) - step.loss + y1[y1.size - 1] - state.y[y1.size - 1]
    return abs(gap) <= 0.1 * run.rtol * run.loss0


@inner
def may_release(problem, state, scratch, stiff):
    """Whether a held surface may have been released in the step, by its margins at the stages; overwrites work."""
    step, work = scratch.step, scratch.work
    noise(problem, state, scratch.y1, work)
    margin, _, _, _ = margins(problem, state, scratch.y1, work, scratch.at_hi)
    if margin < 0.0:
        return True
    watch(state, scratch.at_lo, work.held[0])
    watch(state, scratch.at_hi, work.held[STAGES])
    for a in range(STAGES - 1):
        for i in range(state.y.size):
            scratch.tmp[i] = state.y[i] + stiff.Z[a, i]
        velocity(problem, state, scratch.tmp, step.clock + NODES[a] * step.h, scratch.K[15], work)
        margins(problem, state, scratch.tmp, work, scratch.at_x)
        watch(state, scratch.at_x, work.held[a + 1])
    return not none_released(state, work, Watched(STAGES + 1, implicit.FIT, implicit.BACK))


@inner
def write_frames(problem, state, run, scratch, stiff, frames):
    """The frames inside the step, each a step of its own; GO_ON, FLUSH without room, or AGAIN if no implicit step leads
    to a frame."""
    step = scratch.step
    while run.next_frame < frames.wanted.size and frames.wanted[run.next_frame] < step.new:
        if run.frames_used == frames.clock.size:
            return FLUSH
        at = max(frames.wanted[run.next_frame], step.clock)
        part = at - step.clock
        explicitly = part <= step.longest
        if explicitly:
            explicit.stages(problem, state, scratch, step.clock, part, scratch.tmp, False)
            explicitly = error(problem, state, run, scratch, part) <= 1.0
        if not explicitly:
            if not stages(problem, state, run, scratch, stiff, part, scratch.tmp):
                return AGAIN
            settle(problem, state, scratch.tmp, at)
        write_frame(state, run, frames, at, scratch.tmp)
    return GO_ON


@entry
def attempt(problem, state, run, scratch, stiff, frames, checkpoints):
    """One implicit step, if there is one: GO_ON, or FLUSH without room for a frame. Expects what `coupled.propose`
    leaves: the velocity in K[0], work at the present state, the longest stable step."""
    step = scratch.step
    run.stale = 1
    step.loss = np.exp(log_loss(problem, scratch.work.f))
    h, err = offer(problem, state, run, scratch, stiff, min(run.step, run.end - step.clock))
    if h <= 0.0:
        run.patience = AGAIN
        return GO_ON
    step.h = h
    step.grow = min(4.0, max(0.2, 0.9 * max(err, 1e-10) ** (-1.0 / ORDER)))
    if not conserves(problem, state, run, scratch):
        run.n_rejected += 1
        run.step = 0.5 * h
        return GO_ON
    met = first_meeting(problem, state, Path(stiff, scratch.poly, scratch.u0, scratch.work))[0] <= 1.0
    if met or (step.held == 1 and may_release(problem, state, scratch, stiff)):
        run.patience = AGAIN
        return GO_ON
    status = write_frames(problem, state, run, scratch, stiff, frames)
    if status == AGAIN:
        run.patience = AGAIN
        return GO_ON
    if status != GO_ON:
        return status
    if h * step.grow < WORTH * step.longest:
        run.patience = AGAIN
    accept(problem, state, run, scratch)
    if state.sign.size > problem.m:
        merge(problem, state)
    count_step(run)
    run.n_stiff += 1
    write_checkpoint(state, run, checkpoints)
    return GO_ON
