"""Many neurons, many events, k outputs: all neurons over a stretch of time at once, the drive found by iteration.

The method, its error and its control are those of `engine.windows`; every neuron is traced by `engine.vector.tracer`.
Neurons have no followers here.
"""

import numpy as np

from reluflow.engine import windows
from reluflow.engine._jit import calling, entry, inner
from reluflow.engine.coupled import FINEST, GO_ON
from reluflow.engine.explicit import loudness
from reluflow.engine.field import DORMANT, SLID, copy, times
from reluflow.engine.layout import (
    CANCELLED,
    QUIET,
    REACHED,
    RUNNING,
    STATIONARY,
    all_apart,
    record,
    row,
)
from reluflow.engine.tracer import AT, BAD, DONE, FIT, LEGENDRE, NODES, TAYLOR, WEIGHT, Sums
from reluflow.engine.vector.coupled import (
    calm,
    fastest_rate,
    hidden,
    moving,
    resting,
    stretch_for,
)
from reluflow.engine.vector.field import add_up, clock_shift, drive, noise, per_surface, stiffness, velocity, zero
from reluflow.engine.vector.layout import heads, pair
from reluflow.engine.vector.tracer import LONG, PIECE, Single, Window, normalise, trace
from reluflow.engine.windows import SHORT, clear


def window(problem, m: int, size: int) -> Window:
    """Empty arrays for m neurons and states of `size` numbers; `problem` is a `pack.Pack`."""
    (S, r), k, n = problem.e.shape, problem.k, problem.alpha.size
    held = max(1, min(S, r))
    terms = TAYLOR + 1
    single = Single(
        M=np.zeros((NODES, k, r)),
        N=np.zeros((NODES, k, r)),
        W=np.zeros((terms, r)),
        A=np.zeros((terms, k)),
        U=np.zeros((terms, S)),
        size=np.zeros(terms),
        powers=np.zeros(NODES * terms),
        at=np.zeros((NODES, S)),
        head=np.zeros((NODES, k)),
        F=np.zeros((NODES, k)),
        B=np.zeros((NODES, k)),
        nu=np.zeros((NODES, k, held)),
        jump=np.zeros(LONG + 1),
        need=np.zeros(LONG + 1),
        series=np.zeros(LONG + 1),
        stack=np.zeros((54, TAYLOR + 2)),
        wide=np.zeros((54, LONG + 2)),
        on=np.zeros((2, S)),
        was=np.zeros((2, S)),
        here=np.zeros(S),
        who=np.zeros(S, np.int64),
    )
    stretch = record(PIECE)
    # Rounded up: the last digits depend on the threads of the library.
    stretch.gram_norm = float(f"{np.linalg.eigvalsh(problem.gram)[-1] * 1.0001:.4g}")
    rear = S if np.any(problem.opposite == 1) else 1
    sums = lambda: all_apart(Sums(np.zeros((NODES, 2, k * S)), np.zeros((NODES, 2, k * S)), np.zeros(2 * NODES)))
    made = Window(
        stretch=stretch,
        at=np.zeros((NODES, 2, S * k)),
        new=np.zeros((NODES, 2, S * k)),
        F=np.zeros((NODES, S * k)),
        B=np.zeros((NODES, S * k)),
        FE=np.zeros((S, NODES * k * r)),
        BE=np.zeros((rear, NODES * k * r)),
        sums=sums(),
        block=sums(),
        ends=np.zeros((m, r)),
        heads=np.zeros((m, k)),
        fast=np.zeros(m),
        pull=np.zeros((m, S)),
        hits=np.zeros(m, np.int64),
        y=np.zeros(size),
        bits=np.zeros((m, S)),
        code=np.zeros((m, S), np.int64),
        sign=np.zeros(m),
        dead=np.zeros(m, np.int64),
        rate=np.zeros((2, S, k)),
        f=np.zeros((n, k)),
        df=np.zeros((n, k)),
        tmp=np.zeros(size),
        one=all_apart(single),
    )
    return all_apart(made)


# The drive over a stretch ---------------------------------------------------------------------------------------------


@inner
def forces_at(problem, f, clock, node, work, at):
    """Surface forces with respect to the clock, from the outputs f at a node."""
    G = drive(problem, f, work.g)
    per_surface(problem, work.g, work.force, work.rear)
    fac = np.exp(G + clock_shift(problem, clock))
    k = problem.k
    for s in range(work.force.shape[0]):
        for o in range(k):
            at[node, 0, s * k + o] = fac * work.force[s, o]
            at[node, 1, s * k + o] = fac * work.rear[s, o]


@inner
def spread(problem, poly, to):
    """Coefficients of x^i of the forces on each surface -> what they add to the M_i, one row a surface."""
    k, r = problem.k, problem.e.shape[1]
    for s in range(to.shape[0]):
        e, mine = problem.e[s], to[s]
        for i in range(NODES):
            for o in range(k):
                for p in range(r):
                    mine[(i * k + o) * r + p] = poly[i, s * k + o] * e[p]


@inner
def to_polynomials(problem, window):
    """H times the forces at the nodes, as coefficients of x^i, and what they add to the M_i."""
    at, H, F, B = window.at, window.stretch.H, window.F, window.B
    for i in range(NODES):
        for c in range(F.shape[1]):
            F[i, c] = 0.0
            B[i, c] = 0.0
            for node in range(NODES):
                F[i, c] += H * FIT[i, node] * at[node, 0, c]
                B[i, c] += H * FIT[i, node] * at[node, 1, c]
    spread(problem, F, window.FE)
    if window.stretch.both:
        spread(problem, B, window.BE)


@inner
def output_rates(problem, state, work, window, fac):
    """Rates of the outputs, in window.df, under the present drive times `fac`."""
    m, big = state.bits.shape
    k = problem.k
    b_all, rate = heads(state.y, m, k), window.rate
    times(work.pull, problem.et, window.pull)
    zero(rate[0])
    zero(rate[1])
    for j in range(m):
        if state.dead[j] != 0:
            continue
        b, lift = row(b_all, j, k), work.lift[j]
        amp = fac * work.e2c[j]
        for s in range(big):
            if (state.code[j, s] & 3) < SLID:
                for o in range(k):
                    v = amp * (b[o] * window.pull[j, s] + lift[o] * work.u[j, s])
                    rate[0, s, o] += state.bits[j, s] * v
                    rate[1, s, o] += v
    add_up(problem, rate, window.df)


@inner
def first_guess(problem, state, work, window):
    """Forces at the nodes by a straight line: as they are, and as they will be when the outputs go on as they do.

    Expects work at the present state.
    """
    clock, H, f = window.stretch.clock, window.stretch.H, window.f
    fac = np.exp(drive(problem, work.f, work.g) + clock_shift(problem, clock))
    output_rates(problem, state, work, window, fac)
    small = 1e-3 * H
    for end in range(2):
        for i in range(f.shape[0]):
            for o in range(f.shape[1]):
                f[i, o] = work.f[i, o] + end * small * window.df[i, o]
        forces_at(problem, f, clock + end * small, end, work, window.new)
    for node in range(NODES):
        for part in range(2):
            for c in range(window.at.shape[2]):
                slope = (window.new[1, part, c] - window.new[0, part, c]) / small
                window.at[node, part, c] = window.new[0, part, c] + AT[node] * H * slope


@inner
def new_forces(problem, work, window):
    """The forces at the nodes from the outputs just found; returns how far a neuron feels the change."""
    stretch, acc, k = window.stretch, work.acc, problem.k
    big = acc.shape[1]
    change = 0.0
    for node in range(NODES):
        for part in range(2):
            for s in range(big):
                for o in range(k):
                    total = window.sums.values[node, part, o * big + s]
                    for l in range(NODES):
                        total += (2 * l + 1) * LEGENDRE[l, node] * window.sums.moments[l, part, o * big + s]
                    acc[part, s, o] = total
        add_up(problem, acc, window.f)
        forces_at(problem, window.f, stretch.clock + AT[node] * stretch.H, node, work, window.new)
        moved = 0.0
        for part in range(2):
            for c in range(window.at.shape[2]):
                moved += (window.new[node, part, c] - window.at[node, part, c]) ** 2
                window.at[node, part, c] = window.new[node, part, c]
        change = max(change, stretch.H * np.sqrt(stretch.gram_norm * moved))
    return change


@inner
def error(problem, state, work, window):
    """The effect on the worst neuron of what the polynomials leave out: see the head of `engine.windows`."""
    m, big = state.bits.shape
    at, H, k = window.at, window.stretch.H, problem.k
    top = work.acc
    for part in range(2):
        for s in range(big):
            for o in range(k):
                last, before = 0.0, 0.0
                for node in range(NODES):
                    last += WEIGHT[node] * LEGENDRE[NODES - 1, node] * at[node, part, s * k + o]
                    before += WEIGHT[node] * LEGENDRE[NODES - 2, node] * at[node, part, s * k + o]
                top[part, s, o] = H * ((2 * NODES - 1) * abs(last) + (2 * NODES - 3) * abs(before))
    worst = 0.0
    for j in range(m):
        if state.dead[j] != 0:
            continue
        total = 0.0
        for s in range(big):
            bit = state.bits[j, s]
            for o in range(k):
                total += (bit * top[0, s, o] + top[1, s, o]) ** 2
        feel = 1.0 / NODES if window.hits[j] > 0 else min(1.0, window.fast[j] * H) ** (NODES - 1)
        worst = max(worst, feel * np.sqrt(window.stretch.gram_norm * total))
    return worst


# Sweeps over all neurons ----------------------------------------------------------------------------------------------


@inner
def trace_neurons(problem, state, run, work, window, first, last):
    """Neurons first .. last - 1, a block, under the present forces; DONE, or BAD."""
    clear(window.block)
    for j in range(first, last):
        window.hits[j] = 0
        if state.dead[j] != 0:
            continue
        status = trace(problem, state, run, work, window, j)
        if status == BAD or run.log_used >= work.log.shape[0]:
            window.hits[j] = 1
            return BAD
    return DONE


@inner
def find_kernel(problem, window):
    """Nothing: the drive is found by plain iteration, without `engine.newton`."""
    return True


@inner
def improve(problem, window):
    """Nothing, see `find_kernel`."""
    return True


@inner
def first_kink(problem, window):
    """None: no loss of several outputs has a kink."""
    return 2.0


begin_sweep = calling(windows.begin_sweep, to_polynomials=to_polynomials)
next_sweep = calling(
    windows.next_sweep,
    new_forces=new_forces,
    first_kink=first_kink,
    error=error,
    improve=improve,
    begin_sweep=begin_sweep,
)
trace_some = calling(windows.trace_some, trace_neurons=trace_neurons)


# A stretch ------------------------------------------------------------------------------------------------------------


@inner
def propose(problem, state, run, work, window):
    """A length for the next stretch, by the fastest neuron and the fastest rate of the residuals."""
    rate = stiffness(problem, state, clock_shift(problem, run.clock), work)
    velocity(problem, state, state.y, run.clock, window.tmp, work)
    factor = np.exp(run.G + clock_shift(problem, run.clock))
    fastest = 0.0
    for j in range(state.sign.size):
        if state.dead[j] == 0:
            window.fast[j] = factor * fastest_rate(problem, state, work, j)
            fastest = max(fastest, window.fast[j])
    return min(run.step, stretch_for(fastest, rate)), factor


@inner
def begin_try(problem, state, run, work, window, h):
    """Takes the stretch to be of length h, with forces by a first guess. Expects work at its start."""
    stretch = window.stretch
    stretch.H, stretch.unit = h, h * stretch.factor
    first_guess(problem, state, work, window)
    begin_sweep(problem, run, window, 0)


begin_stretch = calling(windows.begin_stretch, propose=propose, begin_try=begin_try)
refuse = calling(windows.refuse, velocity=velocity, begin_try=begin_try)


@inner
def finish(problem, state, window):
    """Takes every neuron from its last event, or the start, to the end of the stretch."""
    stretch = window.stretch
    for j in range(state.sign.size):
        if state.dead[j] != 0:
            continue
        q, b = pair(problem, state.y, state.sign.size, j)
        copy(q, window.ends[j])
        copy(b, window.heads[j])
        normalise(problem, state, j)
    spent = 0.0
    for node in range(NODES):
        total = window.sums.energy[node]
        for l in range(NODES):
            total += (2 * l + 1) * LEGENDRE[l, node] * window.sums.energy[NODES + l]
        spent += WEIGHT[node] * total * np.exp(-clock_shift(problem, stretch.clock + AT[node] * stretch.H))
    # Forces carried the factor H, the rates of the clock: |grad L|^2 has it once more than its integral.
    state.y[state.y.size - 1] += spent / stretch.H


accept = calling(windows.accept, finish=finish)


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
    noise(problem, state, state.y, work)
    if not moving(problem, state, work):
        lost = hidden(problem, work)
        if resting(problem, state, run, window.tmp, work):
            return CANCELLED if lost else STATIONARY
        velocity(problem, state, state.y, run.clock, window.tmp, work)
    if run.wait == 0 and calm(problem, state, run, window.tmp, work):
        return QUIET
    return GO_ON


some_stretches = calling(
    windows.advance,
    velocity=velocity,
    reason_to_stop=reason_to_stop,
    begin_stretch=begin_stretch,
    trace_some=trace_some,
    find_kernel=find_kernel,
    next_sweep=next_sweep,
    refuse=refuse,
    accept=accept,
)


@entry
def advance(problem, state, run, work, window, limits, checkpoints):
    """Some stretches: limits.stretches of them, about limits.neurons traced; a status, see `engine.windows.advance`."""
    return some_stretches(problem, state, run, work, window, limits, checkpoints)
