"""Many neurons, many events: all neurons over a stretch of time at once, the drive found by iteration.

Neurons interact only through the n outputs. Over a stretch [t, t + H] the drive is taken as a polynomial through
Gauss nodes; every neuron is traced under it alone, event by event (`tracer`), which gives outputs, hence a new drive,
until it no longer changes (`newton`). An event costs one neuron's work instead of a step of everything.

The outputs have kinks where a bit changes. They are projected on polynomials by exact moments, so that what is
neglected is orthogonal to every polynomial the nodes carry: at the end of the stretch a neuron without events feels it
to order 2 NODES, a neuron with events as that amplitude over one node's distance. That is the error which the length of
the stretch is chosen by.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import entry, inner
from reluflow.engine.coupled import (
    FINEST,
    GO_ON,
    MANY,
    calm,
    finite,
    hidden,
    longest_stretch,
    moving,
    resting,
    write_checkpoint,
)
from reluflow.engine.explicit import clock_shift, loudness, velocity
from reluflow.engine.field import (
    DORMANT,
    FRESH,
    ON,
    SLID,
    add_up,
    copy,
    copy_rows,
    drive,
    fill,
    per_surface,
    stiffness,
    times,
)
from reluflow.engine.kinks import first_kink, keep_margins
from reluflow.engine.layout import (
    CANCELLED,
    COUPLED,
    FLUSH,
    NOT_FINITE,
    PAUSED,
    QUIET,
    REACHED,
    RUNNING,
    STATIONARY,
    SWITCH,
    WINDOWS,
    all_apart,
    count_anew,
    record,
    row,
    weights,
)
from reluflow.engine.locate import LEFT, along_normal, norm_q
from reluflow.engine.newton import curvature, find_kernel, improve
from reluflow.engine.tracer import (
    AT,
    BAD,
    DONE,
    FIT,
    LEGENDRE,
    LOOKS,
    NEAR,
    NODES,
    STRETCH,
    TAYLOR,
    WEIGHT,
    Single,
    Sums,
    Window,
    add_multiple,
    normalise,
    trace,
)


class Limits(NamedTuple):
    """How far `advance` goes."""

    stretches: int
    neurons: int  # traced, about; -1: threads trace them, see `drive.threads`


def sums(S: int) -> Sums:
    """Empty sums over neurons for S surfaces."""
    return all_apart(Sums(np.zeros((NODES, 2, S)), np.zeros((NODES, 2, S)), np.zeros(2 * NODES)))


def single(S: int, r: int) -> Single:
    """Empty arrays for one neuron on S surfaces in r dimensions."""
    one, few = (lambda: np.zeros((NODES, S))), (lambda: np.zeros(NODES))
    made = Single(
        C=one(),
        D=np.zeros((NODES, r)),
        V=one(),
        F=few(),
        B=few(),
        u=np.zeros(S),
        beta=few(),
        gamma=np.zeros((NODES, NODES)),
        A=np.zeros(TAYLOR + 1),
        T=np.zeros((TAYLOR + 1, NODES)),
        alpha=few(),
        share=np.zeros((NODES, NODES + 1)),
        bend=np.zeros(NODES),
        bound=few(),
        along=np.zeros(max(NODES, min(S, r) + 1)),
        later=np.zeros((60, 2)),
        table=np.zeros((LOOKS + 1, NODES + 1)),
        on=np.zeros((2, S)),
        here=np.zeros(S),
        near=np.zeros((NEAR, S)),
        who=np.zeros(S, np.int64),
        was=np.zeros(S, np.int64),
    )
    return all_apart(made)


def window(e: np.ndarray, m: int, n: int, size: int, newton: bool = False, kinked: bool = False) -> Window:
    """Empty arrays for m neurons and n data on surfaces with the normals e, (S, r); `newton`: see `newton.improve`,
    `kinked`: whether the loss has a kink, see `kinks`."""
    S, r = e.shape
    pair = lambda: np.zeros((NODES, 2, S))
    one = lambda: np.zeros((NODES, S))
    stretch = record(STRETCH)
    # Of the smaller of e e^T and e^T e. Rounded up: the last digits depend on the threads of the library.
    stretch.gram_norm = float(f"{np.linalg.eigvalsh(e @ e.T if S < r else e.T @ e)[-1] * 1.0001:.4g}")
    wide = S if newton else 0
    made = Window(
        stretch=stretch,
        at=pair(),
        new=pair(),
        bend=np.zeros((2, S)),
        F=one(),
        B=one(),
        FE=np.zeros((S, NODES * r)),
        BE=np.zeros((S, NODES * r)),
        sums=sums(S),
        block=sums(S),
        kernel=np.zeros((wide, wide)),
        root=np.zeros((m, wide)),
        lift=np.zeros((m, wide)),
        column=np.zeros(m),
        rows=np.zeros(m, np.int64),
        curve=one(),
        term=one(),
        more=one(),
        ends=np.zeros(m),
        fast=np.zeros(m),
        left=np.ones(m),
        move=np.zeros((m, r)),
        pull=np.zeros((m, S)),
        hits=np.zeros(m, np.int64),
        y=np.zeros(size),
        bits=np.zeros((m, S)),
        code=np.zeros((m, S), np.int64),
        sign=np.zeros(m),
        dead=np.zeros(m, np.int64),
        u0=np.zeros((m, S)),
        rate=np.zeros((2, S)),
        f=np.zeros(n),
        margin=np.zeros((NODES, n if kinked else 0)),
        legendre=np.zeros(NODES),
        tmp=np.zeros(size),
        one=single(S, r),
    )
    return all_apart(made)


SWEEPS = 12
BLOCK = 16  # neurons whose outputs are summed before they are added to those of the others
COUNTED = 8  # stretches over which events are counted
SHORT = 9  # a status of its own: this stretch is for the coupled regime


@inner
def forces_at(problem, f, clock, node, work, at):
    """Surface forces with respect to the clock, from the outputs f at a node."""
    G = drive(problem, f, work.g)
    per_surface(problem, work.g, work.jump, work.base)
    fac = np.exp(G + clock_shift(problem, clock))
    for k in range(work.jump.size):
        at[node, 0, k] = fac * work.jump[k]
        at[node, 1, k] = fac * work.base[k]


@inner
def to_polynomials(problem, window):
    """H times the forces at the nodes, as coefficients of x^i, and what they add to D_i."""
    at, H, F, B = window.at, window.stretch.H, window.F, window.B
    r = problem.e.shape[1]
    for k in range(at.shape[2]):
        for i in range(NODES):
            F[i, k] = 0.0
            B[i, k] = 0.0
            for node in range(NODES):
                F[i, k] += H * FIT[i, node] * at[node, 0, k]
                B[i, k] += H * FIT[i, node] * at[node, 1, k]
            for p in range(r):
                window.FE[k, i * r + p] = F[i, k] * problem.e[k, p]
                window.BE[k, i * r + p] = B[i, k] * problem.e[k, p]


@inner
def output_rates(problem, state, work, window, fac):
    """Rates of the outputs on each surface, in window.rate, under the present drive times `fac`."""
    m, big = state.bits.shape
    r = problem.e.shape[1]
    weight, _ = weights(state.y, m)
    times(work.pull, problem.et, window.pull)
    for part in range(2):
        for k in range(big):
            window.rate[part, k] = 0.0
    for j in range(m):
        if state.dead[j] != 0:
            continue
        b, h = weight[j], 0.0
        q = row(state.y, j, r)
        for i in range(r):
            h += work.pull[j, i] * q[i]
        for k in range(big):
            if (state.code[j, k] & 3) < SLID:
                v = fac * work.e2c[j] * (b * b * window.pull[j, k] + h * work.u[j, k])
                window.rate[0, k] += state.bits[j, k] * v
                window.rate[1, k] += v


@inner
def first_guess(problem, state, work, window):
    """Forces at the nodes, parabolas in time: value and slope are those of the start, where outputs go on at their
    rates there; the second derivative is that at the end of the last stretch, if this one begins there.

    Expects work at the present state.
    """
    clock, H, f = window.stretch.clock, window.stretch.H, window.f
    fac = np.exp(drive(problem, work.f, work.g) + clock_shift(problem, clock))
    output_rates(problem, state, work, window, fac)
    small = 1e-3 * H
    bent = 1.0 if window.stretch.ended == clock else 0.0
    for end in range(2):
        for i in range(problem.alpha.size):
            k, a = problem.surf[i], problem.alpha[i]
            if a > 0:
                v = a * window.rate[0, k]
            else:
                v = a * ((1.0 + problem.slope) * window.rate[1, k] - window.rate[0, k])
            f[i] = work.f[i] + end * small * (v - 2.0 * problem.decay * work.f[i])
        forces_at(problem, f, clock + end * small, end, work, window.new)
    for node in range(NODES):
        for part in range(2):
            for k in range(window.at.shape[2]):
                slope = (window.new[1, part, k] - window.new[0, part, k]) / small
                more = slope + bent * AT[node] * H * window.bend[part, k]
                window.at[node, part, k] = window.new[0, part, k] + AT[node] * H * more


@inner
def keep(state, window):
    """Remembers the state at the start of the stretch."""
    copy(window.y, state.y)
    copy(window.sign, state.sign)
    for j in range(state.sign.size):
        window.dead[j] = state.dead[j]
        window.hits[j] = 0
        for k in range(state.bits.shape[1]):
            window.bits[j, k] = state.bits[j, k]
            window.code[j, k] = state.code[j, k]


@inner
def put_back(problem, state, window):
    """The state as it was kept; only neurons that had events need more than their numbers."""
    m, big = state.bits.shape
    copy(state.y, window.y)
    for j in range(m):
        if window.hits[j] == 0:
            continue
        state.sign[j], state.dead[j] = window.sign[j], window.dead[j]
        for k in range(big):
            state.bits[j, k] = window.bits[j, k]
            state.code[j, k] = window.code[j, k]
        surfaces.hold(problem, state, j)
        if state.dead[j] != 0:
            state.slid[j] = 0
        window.hits[j] = 0


@inner
def error(problem, state, work, window):
    """The effect on the worst neuron of what the polynomials leave out: see the head of this file. Expects the bits of
    the end. How fast a neuron moves counts where it has no events only."""
    m, big = state.bits.shape
    at, H, hits = window.at, window.stretch.H, window.hits
    top = work.acc
    for part in range(2):
        for k in range(big):
            last, before = 0.0, 0.0
            for node in range(NODES):
                last += WEIGHT[node] * LEGENDRE[NODES - 1, node] * at[node, part, k]
                before += WEIGHT[node] * LEGENDRE[NODES - 2, node] * at[node, part, k]
            top[part, k] = H * ((2 * NODES - 1) * abs(last) + (2 * NODES - 3) * abs(before))
    worst = 0.0
    for j in range(m):
        if state.dead[j] != 0:
            continue
        total = 0.0
        for k in range(big):
            bit = state.bits[j, k]
            total += (bit * top[0, k] + top[1, k]) ** 2
        feel = 1.0 / NODES if hits[j] > 0 else min(1.0, window.fast[j]) ** (NODES - 1)
        worst = max(worst, feel * np.sqrt(window.stretch.gram_norm * total))
    return worst


@inner
def clear(sums):
    """Sums of nothing."""
    fill(sums.energy, 0.0)
    for l in range(NODES):
        for part in range(2):
            fill(sums.values[l, part], 0.0)
            fill(sums.moments[l, part], 0.0)


@inner
def add_sums(to, more):
    """to += more."""
    add_multiple(to.energy, 1.0, more.energy)
    for l in range(NODES):
        for part in range(2):
            add_multiple(to.values[l, part], 1.0, more.values[l, part])
            add_multiple(to.moments[l, part], 1.0, more.moments[l, part])


@inner
def trace_neurons(problem, state, run, work, window, first, last):
    """Neurons first .. last - 1, a block, under the present forces; DONE, or BAD."""
    clear(window.block)
    for j in range(first, last):
        window.hits[j] = 0
        if state.dead[j] != 0:
            window.left[j] = 1.0
            continue
        status = trace(problem, state, run, work, window, j)
        if status == BAD or run.log_used >= work.log.shape[0]:
            window.hits[j] = 1
            return BAD
    return DONE


@inner
def trace_some(problem, state, run, work, window, most):
    """Goes on with the sweep, for about `most` neurons: DONE, BAD or PAUSED."""
    m = state.sign.size
    stretch = window.stretch
    begun = stretch.next
    if stretch.bad:
        return BAD
    while stretch.next < m:
        if most < 0 or stretch.next >= begun + most:
            return PAUSED
        last = min(m, stretch.next + BLOCK)
        if trace_neurons(problem, state, run, work, window, stretch.next, last) == BAD:
            return BAD
        add_sums(window.sums, window.block)
        stretch.next = last
    return DONE


@inner
def new_forces(problem, work, window):
    """The forces at the nodes from the outputs just found, and in window.new their change; returns how far a neuron
    feels it."""
    stretch, f, acc = window.stretch, window.f, work.acc
    big = acc.shape[1]
    change = 0.0
    for node in range(NODES):
        for part in range(2):
            for k in range(big):
                total = window.sums.values[node, part, k]
                for l in range(NODES):
                    total += (2 * l + 1) * LEGENDRE[l, node] * window.sums.moments[l, part, k]
                acc[part, k] = total
        add_up(problem, acc, f)
        clock = stretch.clock + AT[node] * stretch.H
        forces_at(problem, f, clock, node, work, window.new)
        keep_margins(problem, f, window.margin[node])
        if window.kernel.size > 0:
            curvature(problem, f, clock_shift(problem, clock), window.curve[node])
        moved = 0.0
        for part in range(2):
            new, at = window.new[node, part], window.at[node, part]
            for k in range(big):
                more = new[k] - at[k]
                moved += more**2
                at[k] = new[k]
                new[k] = more
        change = max(change, stretch.H * np.sqrt(stretch.gram_norm * moved))
    return change


@inner
def keep_bend(window):
    """Half of the second derivatives of the forces, by their parabolas, for the first guess of the next stretch."""
    stretch, at, bend = window.stretch, window.at, window.bend
    for part in range(2):
        for k in range(at.shape[2]):
            second = 0.0
            for node in range(NODES):
                second += WEIGHT[node] * LEGENDRE[2, node] * at[node, part, k]
            # 5 P_2(2 x - 1) = 30 x^2 + ...
            bend[part, k] = 30.0 * second / stretch.H**2
    stretch.ended = stretch.clock + stretch.H


@inner
def finish(problem, state, window):
    """Takes every neuron from its last event, or the start, to the end of the stretch."""
    r = problem.e.shape[1]
    stretch = window.stretch
    keep_bend(window)
    _, c = weights(state.y, state.sign.size)
    faded = 0.0
    for j in range(state.sign.size):
        if state.dead[j] != 0:
            if stretch.fade > 0.0:
                before = np.exp(2.0 * c[j])
                c[j] -= stretch.fade * window.left[j]
                faded += before - np.exp(2.0 * c[j])
            continue
        q = row(state.y, j, r)
        for i in range(r):
            q[i] += window.move[j, i]
        normalise(problem, state, stretch, j, window.ends[j], 1.0, window.left[j])
    spent = 0.0
    for node in range(NODES):
        total = window.sums.energy[node]
        for l in range(NODES):
            total += (2 * l + 1) * LEGENDRE[l, node] * window.sums.energy[NODES + l]
        spent += WEIGHT[node] * total * np.exp(-clock_shift(problem, stretch.clock + AT[node] * stretch.H))
    # Forces carried the factor H, the rates of the clock: |grad L|^2 has it once more than its integral.
    state.y[state.y.size - 1] += spent / stretch.H
    if stretch.fade > 0.0:
        # Neurons that no datum moves spend what they lose of (decay / 2) |theta|^2 = decay e^{2c}.
        state.y[state.y.size - 1] += problem.decay * faded


@inner
def reason_to_stop(problem, state, run, work, window, budget):
    """The status with which the stretches end before the next one, or GO_ON."""
    for j in range(state.sign.size):
        if state.dead[j] == DORMANT:
            return SHORT
    if run.taken >= budget:
        return RUNNING
    if run.clock >= run.end:
        return REACHED
    if run.rtol < FINEST * loudness(problem, state, work):
        return SHORT
    surfaces.noise(problem, state, state.y, work)
    if not moving(problem, state, work) and resting(problem, state, run, window.tmp, work):
        return CANCELLED if hidden(problem, work) else STATIONARY
    if run.wait == 0 and calm(problem, state, run, window.tmp, work):
        return QUIET
    return GO_ON


@inner
def propose(problem, state, run, work, window):
    """A length for the next stretch, by the fastest neuron and the fastest rate of the residuals. Expects work at its
    start."""
    m, big = state.bits.shape
    clock = run.clock
    for j in range(m):
        for k in range(big):
            window.u0[j, k] = 0.0 if (state.code[j, k] & 3) >= SLID else work.u[j, k]
    copy_rows(window.move, work.pull)
    rate = stiffness(problem, state, clock_shift(problem, clock), work)
    copy_rows(work.pull, window.move)
    window.stretch.known = 0
    length, fac = longest_stretch(problem, state, run, work, rate)
    return min(run.step, length), fac


@inner
def keep_counts(run, stretch):
    """Remembers what the run had before the stretch."""
    stretch.used, stretch.seen = run.log_used, run.n_events
    stretch.nearest, stretch.nearest_clock = run.nearest, run.nearest_clock
    stretch.nearest_neuron, stretch.nearest_surface = run.nearest_neuron, run.nearest_surface


@inner
def begin_again(problem, state, run, window):
    """State and counts as they were before the stretch."""
    stretch = window.stretch
    put_back(problem, state, window)
    run.clock = stretch.clock
    run.log_used, run.n_events = stretch.used, stretch.seen
    run.nearest, run.nearest_clock = stretch.nearest, stretch.nearest_clock
    run.nearest_neuron, run.nearest_surface = stretch.nearest_neuron, stretch.nearest_surface


@inner
def begin_stretch(problem, state, run, work, window):
    """Proposes the next stretch, and keeps the state at its start."""
    stretch = window.stretch
    h, stretch.factor = propose(problem, state, run, work, window)
    stretch.rtol = run.rtol / loudness(problem, state, work)
    stretch.last = run.clock + h >= run.end * (1.0 - 1e-15)
    if stretch.last:
        h = run.end - run.clock
    stretch.clock, stretch.proposed, stretch.most, stretch.open = run.clock, h, 1.5, 1
    stretch.kink, stretch.before = 2.0, 0.0
    keep(state, window)
    keep_counts(run, stretch)
    begin_try(problem, state, run, work, window, h)


@inner
def begin_try(problem, state, run, work, window, h):
    """Takes the stretch to be of length h, with forces by a first guess. Expects work at its start."""
    stretch = window.stretch
    stretch.H, stretch.unit, stretch.fade = h, h * stretch.factor, h * problem.decay
    stretch.kink = 2.0
    first_guess(problem, state, work, window)
    begin_sweep(problem, run, window, 0)


@inner
def begin_sweep(problem, run, window, sweep):
    """All neurons are to be traced under the present forces."""
    window.stretch.sweep, window.stretch.next, window.stretch.bad = sweep, 0, 0
    to_polynomials(problem, window)
    clear(window.sums)
    run.n_fields += 2 if sweep == 0 else NODES


@inner
def shorter(stretch, err):
    """How much shorter a stretch with this error is tried again: if a margin passes the kink of the loss, to there."""
    if stretch.kink < 1.0:
        stretch.before = max(stretch.before, stretch.H)
        return stretch.kink
    return max(0.2, 0.8 * err**-0.5) if err < np.inf else 0.5


@inner
def refuse(problem, state, run, work, window, factor):
    """Tries again with a stretch that is shorter by `factor`; False if that is for the coupled regime."""
    stretch = window.stretch
    begin_again(problem, state, run, window)
    run.taken += 1
    run.n_rejected += 1
    h = stretch.H * factor
    if run.origin > 0 or h < 1e-6 * run.step or run.clock + h == run.clock:
        run.origin = 0
        stretch.open = 0
        return False
    # A stretch that was too long for its series is too long again if the next one is as long.
    stretch.most = 1.0
    velocity(problem, state, state.y, run.clock, window.tmp, work)
    begin_try(problem, state, run, work, window, h)
    return True


@inner
def accept(problem, state, run, window, err):
    """The end of the stretch, whose error is `err` tolerances, becomes the state."""
    stretch = window.stretch
    last = stretch.last and stretch.H == stretch.proposed
    finish(problem, state, window)
    run.clock = run.end if last else stretch.clock + stretch.H
    if not last:
        run.step = stretch.H * min(stretch.most, max(0.3, 0.8 * max(err, 1e-10) ** -0.5))
        run.step = max(run.step, stretch.before)
    clear_fresh(problem, state)
    stretch.open = 0
    run.taken += 1
    run.n_steps += 1
    run.n_windows += 1
    run.checked = 0
    run.wait = max(0, run.wait - 1)


@inner
def next_sweep(problem, state, run, work, window):
    """After all neurons were traced: False if the forces have converged, or else another sweep begins.

    The second number is the error over the tolerance, inf if the forces do not converge.
    """
    stretch = window.stretch
    change = new_forces(problem, work, window)
    if not np.isfinite(change) or (change > 0.3 * stretch.rtol and stretch.sweep == SWEEPS - 1):
        return False, np.inf
    if stretch.sweep > 0:
        stretch.kink = first_kink(problem, window)
        if stretch.kink < 1.0:
            return False, np.inf
    if stretch.sweep > 0 and change <= 0.3 * stretch.rtol:
        return False, error(problem, state, work, window) / stretch.rtol
    begin_again(problem, state, run, window)
    if not improve(problem, window):
        return False, np.inf
    begin_sweep(problem, run, window, stretch.sweep + 1)
    return True, 0.0


@inner
def give_up(problem, state, run, window):
    """Leaves a stretch that has begun: the run is at its start again."""
    if window.stretch.open:
        begin_again(problem, state, run, window)
        window.stretch.open = 0


@inner
def both_sides(problem):
    """Whether some surface has rows on both of its sides."""
    both = False
    for k in range(problem.opposite.size):
        both = both or problem.opposite[k] == 1
    return both


@inner
def few_events(run):
    """Whether steps of all neurons together cost less from here on; counts events and stretches."""
    run.since_steps += 1
    if run.since_steps < COUNTED:
        return False
    events = run.n_events - run.since_events
    count_anew(run)
    return events < 0.5 * MANY * COUNTED


@entry
def trace_blocks(problem, state, run, work, window, first, last, kept):
    """Neurons first .. last - 1 of the present sweep, block by block, whose sums go to kept, one row each; DONE, or
    BAD. For one of several threads, each with arrays of its own."""
    at = 0
    while first < last:
        end = min(last, first + BLOCK)
        if trace_neurons(problem, state, run, work, window, first, end) == BAD:
            return BAD
        copy(kept.energy[at], window.block.energy)
        for l in range(NODES):
            for part in range(2):
                copy(kept.values[at, l, part], window.block.values[l, part])
                copy(kept.moments[at, l, part], window.block.moments[l, part])
        first, at = end, at + 1
    return DONE


@entry
def advance(problem, state, run, work, window, limits, checkpoints):
    """Some stretches: limits.stretches of them, about limits.neurons traced; a status of `layout`.

    SHORT: the next stretch is for the coupled regime. PAUSED: a stretch is not finished, and the next call goes on with
    it (limits.neurons = -1: after `drive.threads` has traced the neurons that are left, if any).
    """
    m, big = state.bits.shape
    stretch = window.stretch
    stretch.both = both_sides(problem)
    run.taken = 0
    if limits.neurons == 0:
        give_up(problem, state, run, window)
        return RUNNING
    while True:
        if stretch.open == 0:
            run.G = velocity(problem, state, state.y, run.clock, window.tmp, work)
            run.n_fields += 1
            if not finite(window.tmp):
                return NOT_FINITE
            status = reason_to_stop(problem, state, run, work, window, limits.stretches)
            if status != GO_ON:
                return status
            if run.log_used + 4 * m * (big + 2) > work.log.shape[0] or run.checkpoints_used == checkpoints.y.shape[0]:
                return FLUSH
            begin_stretch(problem, state, run, work, window)
        status = trace_some(problem, state, run, work, window, limits.neurons)
        if status == PAUSED or (status == DONE and not find_kernel(problem, window)):
            return PAUSED
        again, err = False, np.inf
        if status == DONE:
            again, err = next_sweep(problem, state, run, work, window)
        if again:
            continue
        if err > 1.0:
            if not refuse(problem, state, run, work, window, shorter(stretch, err)):
                return SHORT
            continue
        accept(problem, state, run, window, err)
        switch = run.free == 1 and run.regime == WINDOWS and few_events(run)
        if switch:
            run.regime = COUPLED
        write_checkpoint(state, run, checkpoints)
        if switch:
            return SWITCH


@inner
def clear_fresh(problem, state):
    """Surfaces that neurons have clearly left are ordinary again."""
    m, big = state.bits.shape
    for j in range(m):
        if state.dead[j] != 0:
            continue
        for k in range(big):
            if state.code[j, k] >= FRESH:
                u = along_normal(problem, state.y, j, k)
                side = 1.0 if (state.code[j, k] & 3) == ON else -1.0
                if side * u > LEFT * norm_q(state.y, j, problem.e.shape[1]):
                    state.code[j, k] -= FRESH
