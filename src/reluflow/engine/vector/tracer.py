r"""One neuron with k outputs under a recorded drive, with its own events: its motion over a stretch of time.

The forces over a stretch are polynomials, as in `engine.tracer`. From an event of the neuron to the end of the stretch,
a piece, x in [0, 1], it obeys a linear equation with M(x) = sum_i M_i x^i, M_i of shape (k, r):

    w' = P M(x)' a,   a' = M(x) w,    P: held normals projected out,

which is solved by its Taylor series (W_n, A_n). On the surfaces <w, e_s> = sum_n U_ns x^n, U_ns = <W_n, e_s>: where one
first changes its sign is found on its Bernstein form, with certainty. A bit that changes adds a multiple of F_i e_s' to
the M_i. The forces by which a held surface is kept or left are polynomials too: <a, F_s> and <a, nu_s - B_s>, with nu
the multipliers of the held normals.
"""

from math import comb
from typing import NamedTuple

import numpy as np

from reluflow.engine import bernstein, surfaces
from reluflow.engine._jit import inner
from reluflow.engine.events import SAME_INSTANT, settle_surfaces
from reluflow.engine.field import FRESH, ON, PINNED, SLID, copy, fill, times
from reluflow.engine.layout import weights
from reluflow.engine.locate import GRAIN, LEFT, norm_q
from reluflow.engine.surfaces import Hold
from reluflow.engine.tracer import (
    AT,
    BAD,
    DONE,
    MOST_EVENTS,
    NODES,
    STRETCH,
    TAYLOR,
    WEIGHT,
    Sums,
    add_multiple,
    add_rows,
    dot,
    forces_in,
    note_bits,
    shift,
)
from reluflow.engine.vector.explicit import settle_row, square_norm, stretch
from reluflow.engine.vector.field import contract
from reluflow.engine.vector.layout import pair

LONG = TAYLOR + NODES - 1  # degree of a series times a polynomial
LOST = 1e-18  # terms of a series, over its largest one, that are left out
AGAIN = 16  # places at which a hold is looked at again while its force is rounding

PIECE = np.dtype([*STRETCH.descr, ("terms", "i8")], align=True)  # degree up to which the series counts


def raised(degree: int) -> np.ndarray:
    """Coefficients of x^i -> Bernstein coefficients of this degree, [i, l]."""
    out = np.zeros((degree + 1, degree + 1))
    for i in range(degree + 1):
        out[i, i:] = [comb(l, i) / comb(degree, i) for l in range(i, degree + 1)]
    return out


RAISED, RAISED_LONG = raised(TAYLOR), raised(LONG)


class Single(NamedTuple):
    """What one neuron is traced in."""

    M: np.ndarray  # (NODES, k, r) of the surfaces it is not held on, times the length of the piece
    N: np.ndarray  # the same, held normals projected out
    W: np.ndarray  # (TAYLOR + 1, r) series of w
    A: np.ndarray  # (TAYLOR + 1, k) series of a
    U: np.ndarray  # (TAYLOR + 1, S) series of <w, e_s>
    size: np.ndarray  # (TAYLOR + 1,) |W_n| + |A_n|
    powers: np.ndarray  # (NODES (TAYLOR + 1),) x^n at the nodes
    at: np.ndarray  # (NODES, S) <w, e_s> at the nodes
    head: np.ndarray  # (NODES, k) a at the nodes
    F: np.ndarray  # (NODES, k) the force of one surface on the piece
    B: np.ndarray
    nu: np.ndarray  # (NODES, k, kmax) multipliers of the held normals
    jump: np.ndarray  # (LONG + 1,) <a, F_s> of a held surface, first as a series
    need: np.ndarray  # (LONG + 1,) the force its bit has to give
    series: np.ndarray  # (LONG + 1,)
    stack: np.ndarray  # (54, TAYLOR + 2) Bernstein forms of the pieces of a polynomial
    wide: np.ndarray  # (54, LONG + 2)
    on: np.ndarray  # (2, S) bits, and 1, of the surfaces it is not held on
    was: np.ndarray  # (2, S) the same before an event
    here: np.ndarray  # (S,)
    who: np.ndarray  # (S,)


class Window(NamedTuple):
    """Arrays of the window regime, as in `engine.tracer`; overwritten by every stretch."""

    stretch: np.record  # a PIECE
    at: np.ndarray  # (NODES, 2, S k) F_s and B_s at the nodes, with respect to the clock
    new: np.ndarray
    F: np.ndarray  # (NODES, S k) the same as coefficients of x^i, times H
    B: np.ndarray
    FE: np.ndarray  # (S, NODES k r) F_is e_s' for all i, and B_is e_s' (one row where no surface has two sides)
    BE: np.ndarray
    sums: Sums  # of all neurons traced so far: (NODES, 2, k S)
    block: Sums
    ends: np.ndarray  # (m, r) w at the end, and a
    heads: np.ndarray  # (m, k)
    fast: np.ndarray  # (m,) the fastest rate of a neuron by the clock
    pull: np.ndarray  # (m, S) <M_j' b_j, e_s> of the present drive
    hits: np.ndarray  # (m,) events in this stretch
    y: np.ndarray  # the state at its start
    bits: np.ndarray
    code: np.ndarray
    sign: np.ndarray
    dead: np.ndarray
    rate: np.ndarray  # (2, S, k) rates of the outputs
    f: np.ndarray  # (n, k) outputs on the way
    df: np.ndarray  # (n, k) and their rates
    tmp: np.ndarray
    one: Single


# The series -----------------------------------------------------------------------------------------------------------


@inner
def project_held(state, one, j):
    """N from M: normals that neuron j is held on are projected out of every row."""
    for i in range(NODES):
        for o in range(one.M.shape[1]):
            copy(one.N[i, o], one.M[i, o])
            if state.slid[j] > 0:
                surfaces.out_of_held(state, j, one.N[i, o])


@inner
def take_up(problem, state, window, j):
    """What belongs to neuron j at the start of the stretch."""
    one, piece = window.one, window.stretch
    note_bits(state, one, j)
    flat = one.M.reshape(one.M.size)
    fill(flat, 0.0)
    add_rows(one.on[0], window.FE, flat, one.who)
    if piece.both:
        add_rows(one.on[1], window.BE, flat, one.who)
    project_held(state, one, j)
    piece.x0, piece.length = 0.0, 1.0
    window.hits[j] = 0


@inner
def series(one):
    """Taylor coefficients of w and a from W[0], A[0]; whether they have died out at x = 1."""
    N, W, A, size = one.N, one.W, one.A, one.size
    k = A.shape[1]
    size[0] = np.sqrt(square_norm(W[0])) + np.sqrt(square_norm(A[0]))
    top = size[0]
    for n in range(TAYLOR):
        w, a = W[n + 1], A[n + 1]
        fill(w, 0.0)
        fill(a, 0.0)
        for i in range(min(n, NODES - 1) + 1):
            for o in range(k):
                add_multiple(w, A[n - i, o], N[i, o])
                a[o] += dot(N[i, o], W[n - i])
        stretch(w, 1.0 / (n + 1))
        stretch(a, 1.0 / (n + 1))
        size[n + 1] = np.sqrt(square_norm(w)) + np.sqrt(square_norm(a))
        top = max(top, size[n + 1])
    return size[TAYLOR] + size[TAYLOR - 1] <= 1e-14 * top


@inner
def expand(problem, state, window, j):
    """The series of neuron j on its piece; whether it dies out."""
    one, piece, size = window.one, window.stretch, window.one.size
    q, b = pair(problem, state.y, state.sign.size, j)
    copy(one.W[0], q)
    copy(one.A[0], b)
    if not series(one):
        return False
    top, piece.terms, piece.move = 0.0, 0, 0.0
    for n in range(TAYLOR + 1):
        top = max(top, size[n])
    for n in range(1, TAYLOR + 1):
        if size[n] > LOST * top:
            piece.terms = n
            piece.move += size[n]
    times(one.W[: piece.terms + 1], problem.et, one.U[: piece.terms + 1])
    piece.norm = norm_q(state.y, j, problem.e.shape[1])
    if window.hits[j] > 0:
        for s in range(state.code.shape[1]):
            if state.code[j, s] >= FRESH and (state.code[j, s] & 3) < SLID:
                right = 1.0 if (state.code[j, s] & 3) == ON else -1.0
                if right * one.U[0, s] > LEFT * piece.norm:
                    state.code[j, s] -= FRESH
    return True


@inner
def sum_up(terms, degree, x, out):
    """out = sum_n terms[n] x^n."""
    copy(out, terms[degree])
    for n in range(degree - 1, -1, -1):
        for i in range(out.size):
            out[i] = out[i] * x + terms[n, i]


@inner
def at_place(poly, x):
    """sum_n poly[n] x^n."""
    v = 0.0
    for n in range(poly.size - 1, -1, -1):
        v = v * x + poly[n]
    return v


# Events ---------------------------------------------------------------------------------------------------------------


@inner
def first_in(stack, level, before):
    """Smallest x in [0, before) at which the polynomial in row 0 is below -level, at least 2 if there is none."""
    lowest = stack[0, 0]
    for l in range(stack.shape[1] - 1):
        lowest = min(lowest, stack[0, l])
    if lowest >= -level:
        return bernstein.NONE
    if before < 1.0:
        bernstein.up_to(stack, before)
    scale = min(before, 1.0)
    x = bernstein.first_below(stack, level)
    return scale * x if x <= 1.0 else bernstein.NONE


@inner
def reach(one, terms):
    """How far each surface can be reached from the start of the piece, in one.here."""
    here = one.here
    fill(here, 0.0)
    for n in range(1, terms + 1):
        U = one.U[n]
        for s in range(here.size):
            here[s] += abs(U[s])


@inner
def first_side(state, window, j):
    """Where neuron j first crosses a surface it is not held on, as the event of `stretch`."""
    one, piece, U, stack = window.one, window.stretch, window.one.U, window.one.stack
    reach(one, piece.terms)
    for s in range(state.code.shape[1]):
        kind = state.code[j, s] & 3
        right = 1.0 if kind == ON else -1.0
        away = right * U[0, s]
        if kind >= SLID or away > one.here[s]:
            continue
        grain = 1e-13 * piece.move
        if state.code[j, s] >= FRESH:
            grain += GRAIN * piece.norm
        elif away < 0.0:
            U[0, s] = 0.0
            away = 0.0
        if away + grain > one.here[s]:
            continue
        for l in range(TAYLOR + 1):
            total = 0.0
            for n in range(min(l, piece.terms) + 1):
                total += RAISED[n, l] * U[n, s]
            stack[0, l] = right * total
        x = first_in(stack, grain, piece.x)
        if x < piece.x:
            piece.x, piece.hit, piece.side = x, s, -1


@inner
def forces_of(window, k, s):
    """The forces of surface s on the piece, as coefficients of x^i, in one.F and one.B."""
    one, piece = window.one, window.stretch
    for i in range(NODES):
        for o in range(k):
            one.F[i, o] = window.F[i, s * k + o]
            one.B[i, o] = window.B[i, s * k + o]
    shift(one.F, piece.x0)
    shift(one.B, piece.x0)
    power = piece.length
    for i in range(NODES):
        stretch(one.F[i], power)
        stretch(one.B[i], power)
        power *= piece.length


@inner
def hold_multipliers(state, one, j):
    """The multipliers nu of the normals that neuron j is held on: sum_a nu_a e_a = -(the part of M along them)."""
    count, nu = state.slid[j], one.nu
    for i in range(NODES):
        for o in range(one.M.shape[1]):
            for p in range(count - 1, -1, -1):
                total = -dot(state.basis[j, p], one.M[i, o])
                for a in range(p + 1, count):
                    total -= state.tri[j, p, a] * nu[i, o, a]
                nu[i, o, p] = total / state.tri[j, p, p]


@inner
def hold_series(one, a):
    """<a, F_s> and <a, nu_s - B_s> of the a-th held surface as series, in one.jump and one.need."""
    A, k = one.A, one.A.shape[1]
    fill(one.jump, 0.0)
    fill(one.need, 0.0)
    for n in range(TAYLOR + 1):
        for i in range(NODES):
            for o in range(k):
                one.jump[n + i] += one.F[i, o] * A[n, o]
                one.need[n + i] += (one.nu[i, o, a] - one.B[i, o]) * A[n, o]


@inner
def first_hold_below(one, of_jump, of_need, level, before):
    """Where of_jump <a, F> + of_need (the force the bit has to give) first falls below -level; see `first_in`."""
    for n in range(LONG + 1):
        one.series[n] = of_jump * one.jump[n] + of_need * one.need[n]
    for l in range(LONG + 1):
        total = 0.0
        for n in range(l + 1):
            total += RAISED_LONG[n, l] * one.series[n]
        one.wide[0, l] = total
    return first_in(one.wide, level, before)


@inner
def hold_at(one, hold, x):
    """`surfaces.held_margin` at x of the piece."""
    return surfaces.held_margin(at_place(one.jump, x), at_place(one.need, x), hold)


@inner
def while_rounding(one, hold, x, before):
    """(place, side) of the release after x, where the force is rounding, so that the neuron is held: looked for at
    AGAIN places, then by bisection."""
    lo, hi = x, bernstein.NONE
    for p in range(1, AGAIN + 1):
        at = x + (1.0 - x) * p / AGAIN
        margin, _ = hold_at(one, hold, at)
        if margin < 0.0:
            hi = at
            break
        lo = at
    if hi > 1.0 or lo >= before:
        return bernstein.NONE, 0
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        margin, _ = hold_at(one, hold, mid)
        if margin < 0.0:
            hi = mid
        else:
            lo = mid
    _, side = hold_at(one, hold, hi)
    return hi, side


@inner
def first_end_of_hold(one, hold, before):
    """(place, side) of the first release in [0, before) of the held surface in one.jump, one.need; 2 if there is none.

    What `surfaces.held_margin` tests, one linear combination of the two polynomials after another.
    """
    grain, slope = surfaces.grain_of_hold(hold), hold.slope
    if hold.pinned and one.jump[0] > 10.0 * hold.noise:
        x, side = first_hold_below(one, slope, -1.0, 2.0 * grain, before), 3
        x = min(x, first_hold_below(one, -slope, 1.0, 2.0 * grain, min(before, x)))
    else:
        x, side = first_hold_below(one, slope, -1.0, grain, before), 0
        other = first_hold_below(one, -1.0, 1.0, grain, min(before, x))
        if other < x:
            x, side = other, 1
        if hold.pinned:
            # Sliding with the bit at the slope is the same motion: the code changes when the bit is clearly above it.
            other, to = first_hold_below(one, -slope - surfaces.LABEL, 1.0, 2.0 * grain, min(before, x)), 2
        else:
            other, to = first_hold_below(one, -1.0, 0.0, 2.0 * grain, min(before, x)), 3
        if other < x:
            x, side = other, to
    if x > 1.0:
        return x, side
    F = at_place(one.jump, x)
    if abs(F) <= 10.0 * hold.noise:
        return while_rounding(one, hold, x, before)
    return x, 3 if F > 0.0 else side


@inner
def first_loss_of_hold(problem, state, work, window, j):
    """Where neuron j is first released from a surface, if that comes before the event of `stretch`."""
    one, piece, k = window.one, window.stretch, problem.k
    size = work.force.size
    forces_in(window.F, piece.x0, piece.unit, work.force.reshape(size))
    forces_in(window.B, piece.x0, piece.unit, work.rear.reshape(size))
    contract(problem, state, state.y, work, j)
    unit = piece.unit * piece.length
    scale, held, loose = 1e-300, 0.0, 0.0
    for s in range(state.code.shape[1]):
        if (state.code[j, s] & 3) >= SLID:
            held += unit * (abs(work.jump[s]) + abs(work.base[s]))
        else:
            scale += unit * abs(one.on[0, s] * work.jump[s] + one.on[1, s] * work.base[s])
            loose += unit * surfaces.rounding(problem, state, work, j, s)
    hold_multipliers(state, one, j)
    for a in range(state.slid[j]):
        s = state.where[j, a]
        forces_of(window, k, s)
        hold_series(one, a)
        pinned = (state.code[j, s] & 3) == PINNED
        hold = Hold(1.0, scale, held, unit * work.noise[s], loose, problem.slope, pinned)
        if state.code[j, s] >= FRESH:
            margin, _ = hold_at(one, hold, 0.0)
            surfaces.muted(state, j, s, margin, 2.0 * surfaces.ROUND * (scale + held) / scale)
            if state.code[j, s] >= FRESH:
                continue
        x, side = first_end_of_hold(one, hold, piece.x)
        if x < piece.x:
            piece.x, piece.hit, piece.side = x, s, side


@inner
def first_event(problem, state, work, window, j):
    """The first event of neuron j on its piece, in `stretch`."""
    piece = window.stretch
    piece.x, piece.hit, piece.side = bernstein.NONE, -2, -1
    if problem.slope != 1.0:
        first_side(state, window, j)
    if state.slid[j] > 0:
        first_loss_of_hold(problem, state, work, window, j)


@inner
def mark_met(problem, state, work, window, j):
    """Marks what happens to neuron j at its event."""
    one, piece, mark, here = window.one, window.stretch, work.mark, window.one.here
    x = piece.x
    sum_up(one.U, piece.terms, x, here)
    for s in range(state.bits.shape[1]):
        mark[s] = surfaces.ABSENT
        kind = state.code[j, s] & 3
        if kind >= SLID:
            mark[s] = surfaces.HELD
            if s == piece.hit and piece.side == 0:
                mark[s] = surfaces.FORCE_OFF
            elif s == piece.hit and piece.side == 1:
                mark[s] = surfaces.FORCE_ON
            elif s == piece.hit:
                mark[s] = surfaces.RELEASE
            continue
        if problem.slope == 1.0:
            continue
        right = 1.0 if kind == ON else -1.0
        met = s == piece.hit
        if not met and state.code[j, s] < FRESH and right * here[s] <= SAME_INSTANT * piece.norm:
            rate = 0.0
            for n in range(piece.terms, 0, -1):
                rate = rate * x + n * one.U[n, s]
            met = right * rate < -1e-13 * piece.move
        if met:
            mark[s] = surfaces.FALLING if kind == ON else surfaces.RISING


@inner
def normalise(problem, state, j):
    """Puts (q, b) e^c of neuron j, any multiple of what they should be, back on what they must satisfy."""
    q, b = pair(problem, state.y, state.sign.size, j)
    _, c = weights(state.y, state.sign.size)
    size = np.sqrt(0.5 * (square_norm(q) + square_norm(b)))
    stretch(q, 1.0 / size)
    stretch(b, 1.0 / size)
    c[j] += np.log(size)
    settle_row(problem, state, state.y, j)


@inner
def happen(problem, state, run, work, window, j):
    """Moves neuron j to its event and decides what follows; False if only the coupled regime can."""
    one, piece = window.one, window.stretch
    r, size = problem.e.shape[1], work.force.size
    q, b = pair(problem, state.y, state.sign.size, j)
    window.hits[j] += 1
    sum_up(one.W, piece.terms, piece.x, q)
    sum_up(one.A, piece.terms, piece.x, b)
    normalise(problem, state, j)
    piece.x0 += piece.length * piece.x
    run.clock = piece.clock + piece.x0 * piece.H
    if piece.side < 0 and state.slid[j] > 0:
        if state.slid[j] == r - 1 or norm_q(state.y, j, r) <= 1e-9 * piece.norm:
            return False
    forces_in(window.F, piece.x0, piece.unit, work.force.reshape(size))
    forces_in(window.B, piece.x0, piece.unit, work.rear.reshape(size))
    contract(problem, state, state.y, work, j)
    mark_met(problem, state, work, window, j)
    settle_surfaces(problem, state, run, work, j, 1.0)
    return run.origin == 0 and not surfaces.depends(state, j)


@inner
def restart(problem, state, window, j):
    """Coefficients of neuron j from its event on."""
    one, piece, k = window.one, window.stretch, problem.k
    for part in range(2):
        copy(one.was[part], one.on[part])
    note_bits(state, one, j)
    flat = one.M.reshape(NODES, one.M.shape[1] * one.M.shape[2])
    shift(flat, piece.x)
    left = max(0.0, 1.0 - piece.x)
    power = left
    for i in range(NODES):
        stretch(flat[i], power)
        power *= left
    piece.length *= left
    for s in range(state.bits.shape[1]):
        more, rear = one.on[0, s] - one.was[0, s], one.on[1, s] - one.was[1, s]
        if more == 0.0 and rear == 0.0:
            continue
        forces_of(window, k, s)
        for i in range(NODES):
            for o in range(k):
                add_multiple(one.M[i, o], more * one.F[i, o] + rear * one.B[i, o], problem.e[s])
    project_held(state, one, j)


# What a neuron contributes --------------------------------------------------------------------------------------------


@inner
def square_rate(terms, degree, x):
    """|sum_n n terms[n] x^(n - 1)|^2."""
    total = 0.0
    for i in range(terms.shape[1]):
        rate = 0.0
        for n in range(degree, 0, -1):
            rate = rate * x + n * terms[n, i]
        total += rate * rate
    return total


@inner
def at_nodes(window, length):
    """<w, e_s> and a at the Gauss nodes of the part [0, length] of the piece, in one.at and one.head."""
    one, count = window.one, window.stretch.terms + 1
    powers = one.powers[: NODES * count].reshape(NODES, count)
    for node in range(NODES):
        x, power = length * AT[node], 1.0
        for n in range(count):
            powers[node, n] = power
            power *= x
    times(powers, one.U[:count], one.at)
    times(powers, one.A[:count], one.head)


@inner
def add_values(one, size, values, on, part):
    """values += size a <w, e_s> on at the nodes."""
    k, big = one.head.shape[1], one.at.shape[1]
    for node in range(NODES):
        to, at = values[node, part], one.at[node]
        for o in range(k):
            factor = size * one.head[node, o]
            mine = to[o * big : (o + 1) * big]
            for s in range(big):
                mine[s] += factor * on[s] * at[s]


@inner
def add_moments(window, size, length, on, part):
    """The same as Legendre moments over the stretch."""
    one, piece = window.one, window.stretch
    k, big = one.head.shape[1], one.at.shape[1]
    before, now = one.F, one.B  # scratch space: their first column
    for node in range(NODES):
        before[node, 0], now[node, 0] = 0.0, size * piece.length * length * WEIGHT[node]
    a0, a1, a2, a3, a4, a5 = one.at[0], one.at[1], one.at[2], one.at[3], one.at[4], one.at[5]
    for l in range(NODES):
        to = window.block.moments[l, part]
        for o in range(k):
            c0, c1, c2 = now[0, 0] * one.head[0, o], now[1, 0] * one.head[1, o], now[2, 0] * one.head[2, o]
            c3, c4, c5 = now[3, 0] * one.head[3, o], now[4, 0] * one.head[4, o], now[5, 0] * one.head[5, o]
            mine = to[o * big : (o + 1) * big]
            for s in range(big):
                mine[s] += on[s] * (c0 * a0[s] + c1 * a1[s] + c2 * a2[s] + c3 * a3[s] + c4 * a4[s] + c5 * a5[s])
        for node in range(NODES):
            z = 2.0 * (piece.x0 + piece.length * length * AT[node]) - 1.0
            new = ((2.0 * l + 1.0) * z * now[node, 0] - l * before[node, 0]) / (l + 1.0)
            before[node, 0], now[node, 0] = now[node, 0], new


@inner
def add_energy(window, size, length, whole):
    """The energy spent on the part [0, length] of the piece."""
    one, piece, energy = window.one, window.stretch, window.block.energy
    for node in range(NODES):
        x = length * AT[node]
        spent = square_rate(one.W, piece.terms, x) + square_rate(one.A, piece.terms, x)
        spent *= size / (piece.length * piece.length)
        if whole:
            energy[node] += spent
            continue
        z = 2.0 * (piece.x0 + piece.length * x) - 1.0
        before, now = 0.0, piece.length * length * WEIGHT[node]
        for l in range(NODES):
            energy[NODES + l] += now * spent
            before, now = now, ((2.0 * l + 1.0) * z * now - l * before) / (l + 1.0)


@inner
def contribute(state, window, j, length):
    """Adds the neuron's outputs over the part [0, length] of its piece to `values` (at the nodes, if that is the whole
    stretch) or to the Legendre `moments`, and the energy it spends to `energy`."""
    one, piece = window.one, window.stretch
    _, c = weights(state.y, state.sign.size)
    size = np.exp(2.0 * c[j])
    if size == 0.0 or piece.length == 0.0:
        return
    whole = piece.x0 == 0.0 and length == 1.0
    at_nodes(window, length)
    for part in range(2 if piece.both else 1):
        if whole:
            add_values(one, size, window.block.values, one.on[part], part)
        else:
            add_moments(window, size, length, one.on[part], part)
    add_energy(window, size, length, whole)


@inner
def trace(problem, state, run, work, window, j):
    """Neuron j over the stretch; DONE, or BAD.

    What the neuron adds to the outputs goes to window.block. On return the state holds the neuron at its last event, if
    it had one, and (ends, heads) where it is at the end of the stretch, in units of e^c at that event.
    """
    one, piece = window.one, window.stretch
    if surfaces.depends(state, j):
        window.hits[j] = 0
        return BAD
    take_up(problem, state, window, j)
    for _ in range(MOST_EVENTS):
        if not expand(problem, state, window, j):
            return BAD
        first_event(problem, state, work, window, j)
        if piece.x > 0.0:
            contribute(state, window, j, min(piece.x, 1.0))
        if piece.x > 1.0:
            sum_up(one.W, piece.terms, 1.0, window.ends[j])
            sum_up(one.A, piece.terms, 1.0, window.heads[j])
            return DONE
        if not happen(problem, state, run, work, window, j):
            return BAD
        if state.dead[j] != 0:
            return DONE
        settle_row(problem, state, state.y, j)
        restart(problem, state, window, j)
    return BAD
