r"""One neuron under a recorded drive, with its own events: its motion over a stretch of time.

The surface forces over a stretch of time of length H are polynomials, F_k(x) = sum_i F_ki x^i with x in [0, 1] the
fraction of the stretch. In a cell the neuron obeys a linear equation with D(x) = sum_i D_i x^i:

    w' = a D(x),   a' = <D(x), w>,    so   w = q + sum_i alpha_i(x) D_i,   alpha_i' = a x^i,
    a' = sum_i x^i (beta_i + sum_l Gamma_il alpha_l),   beta_i = <D_i, q>,   Gamma_il = <D_i, D_l>,

solved by the Taylor series of the one number a. Everything the events need is an inner product: with coefficients C_i,
D_i = sum_k C_ik e_k, and V_ik = <D_i, e_k>, on the surfaces <w, e_k> = u_k + sum_i alpha_i V_ik. A bit that changes
changes one column of C, and adds a multiple of e_k to D and of a row of the Gram matrix to V. A held surface has the
coefficient nu that keeps <D, e_k> = 0.

Decay multiplies (w, a) by e^{-fade x}, fade = decay H, and changes nothing else: the series and the events are those
without it. c loses fade x when a neuron is put back in order, and outputs carry the factor e^{-2 fade x}.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import inner
from reluflow.engine.events import SAME_INSTANT, change_sign, settle_surfaces
from reluflow.engine.explicit import delta_log, on_invariant
from reluflow.engine.field import FRESH, ON, PINNED, SLID, copy, fill, times
from reluflow.engine.layout import row, weights
from reluflow.engine.locate import GRAIN, LEFT, norm_q
from reluflow.engine.loss import tailed
from reluflow.engine.surfaces import Hold

NODES = 6  # of the Gauss rule, and coefficients of a polynomial
TAYLOR = 18
MOST_LOOKS = 4000  # between two of the places of LOOKS: beyond, what is left to exclude is rounding
LOOKS = 10  # places at which the sign on a surface is tested before its crossing is located
MOST_EVENTS = 400  # of one neuron in one stretch
UNSEEN, PLACES = 0.1, 4  # of a stretch's tolerance: forces that would turn a neuron by less in it are errors

_x, _w = np.polynomial.legendre.leggauss(NODES)
AT, WEIGHT = 0.5 * (1.0 + _x), 0.5 * _w
LEGENDRE = np.polynomial.legendre.legvander(_x, NODES - 1).T.copy()  # [l, node]
FIT = np.linalg.inv(np.vander(AT, NODES, increasing=True))  # values at the nodes -> coefficients of x^i
_powers = np.vander(AT, NODES, increasing=True)
INTO = (_powers * AT[:, None] / np.arange(1, NODES + 1)) @ FIT  # values at the nodes -> integrals from 0 to them

DONE, BAD = 0, 1  # BAD: too long a stretch, or something only the coupled regime handles
ON_SIDE, OF_SIGN, HELD = 0, 1, 2  # what is watched: the side of a surface, the sign of a, the hold of a surface

STRETCH = np.dtype(
    [
        ("clock", "f8"),  # at the start of the stretch
        ("H", "f8"),  # its length
        ("fade", "f8"),  # decay times its length
        ("unit", "f8"),  # the unit of the forces, which are times H, relative to work.jump
        ("gram_norm", "f8"),  # largest eigenvalue of the Gram matrix: |sum_k c_k e_k|^2 over sum_k c_k^2
        ("rtol", "f8"),  # its tolerance
        ("both", "i8"),  # 1 when some surface has rows on both of its sides
        ("factor", "f8"),  # of the forces with respect to the clock, at its start
        ("proposed", "f8"),  # its length as first tried
        ("last", "i8"),  # 1 when that takes the run to its end
        ("most", "f8"),  # the next one may be this much longer
        ("open", "i8"),  # 1 while it is being worked at; then its sweep, and the neuron that is next in it
        ("sweep", "i8"),
        ("next", "i8"),
        ("bad", "i8"),  # 1 when threads found it too long
        ("used", "i8"),  # what the run had when it began: rows of the log, events, the nearest bifurcation
        ("seen", "i8"),
        ("nearest", "f8"),
        ("nearest_clock", "f8"),
        ("nearest_neuron", "i8"),
        ("nearest_surface", "i8"),
        ("ended", "f8"),  # the clock at the end of the last one that was accepted, for which `Window.bend` holds
        ("known", "i8"),  # rows of `Window.kernel` that are those of its start
        ("kink", "f8"),  # where a margin first passes the kink of the loss, see `kinks`; 2 without one
        ("before", "f8"),  # its length before it was shortened to end there; 0 if it was not
        # One neuron from its last event on: the piece [x0, x0 + length] of the stretch.
        ("x0", "f8"),
        ("length", "f8"),
        ("move", "f8"),  # how far anything can have moved
        ("norm", "f8"),  # |q| at its start
        ("looked", "i8"),  # rows of the table of amounts that are filled
        # Its first event, at x0 + x; x is 2 without one.
        ("x", "f8"),
        ("hit", "i8"),  # a surface; -1: the output weight changes sign; -2: no event
        ("side", "i8"),  # -1 crossing, otherwise a release as in `surfaces.margins`
    ],
    align=True,
)


class Single(NamedTuple):
    """What one neuron is traced in."""

    C: np.ndarray  # (NODES, S) coefficients of D_i
    D: np.ndarray  # (NODES, r)
    V: np.ndarray  # (NODES, S) <D_i, e_k>
    F: np.ndarray  # (NODES,) the force of one surface from the last event on
    B: np.ndarray
    u: np.ndarray  # (S,) <q, e_k>
    beta: np.ndarray  # (NODES,)
    gamma: np.ndarray  # (NODES, NODES)
    A: np.ndarray  # (TAYLOR + 1,) series of a
    T: np.ndarray  # (TAYLOR + 1, NODES) those of alpha_i / x^(i + 1)
    alpha: np.ndarray  # (NODES,) amounts
    share: np.ndarray  # (NODES, NODES + 1) what u and the V_i add to the outputs at a node, or to a moment
    bound: np.ndarray  # (NODES,) and what they can become
    bend: np.ndarray  # (NODES,) bounds of their second derivatives
    later: np.ndarray  # (60, 2) ends of intervals that wait to be looked at
    along: np.ndarray
    table: np.ndarray  # (LOOKS + 1, NODES + 1) amounts and a at equally spaced places
    on: np.ndarray  # (2, S) bits, and 1, of the surfaces it is not held on
    here: np.ndarray
    near: np.ndarray  # (NEAR, S) the surfaces it may reach, side by side; see the names below
    who: np.ndarray  # (S,) which surfaces these are
    was: np.ndarray  # (S,) codes before an event


# Rows of `Single.near`, behind the V_i: values at the start, bounds of second derivatives, grains, values at the two
# ends of an interval. All have the sign that makes them positive on the neuron's side.
START, BEND, GRAINS, BEFORE, NOW, NEAR = NODES, NODES + 1, NODES + 2, NODES + 3, NODES + 4, NODES + 5


class Sums(NamedTuple):
    """Outputs of neurons on each surface, and the energy they spend."""

    values: np.ndarray  # (NODES, 2, S) at the nodes, of neurons without events
    moments: np.ndarray  # (NODES, 2, S) Legendre moments of those with
    energy: np.ndarray  # (2 NODES,)


class Window(NamedTuple):
    """Arrays of the window regime; overwritten by every stretch."""

    stretch: np.record  # a STRETCH
    at: np.ndarray  # (NODES, 2, S) F_k and B_k at the nodes, with respect to the clock
    bend: np.ndarray  # (2, S) half of their second derivatives over the last stretch
    new: np.ndarray
    F: np.ndarray  # (NODES, S) the same as coefficients of x^i, times H
    B: np.ndarray
    FE: np.ndarray  # (S, NODES r) F_ik e_k for all i, and B_ik e_k
    BE: np.ndarray
    sums: Sums  # over all neurons traced so far
    block: Sums  # over those of the block at hand
    kernel: np.ndarray  # (S, S) see `newton.find_kernel`; (0, 0) where that costs more than it saves
    root: np.ndarray  # (m, S) e^c b m, and e^c m u: the kernel is made of their products
    lift: np.ndarray
    column: np.ndarray  # (m,) one column of these
    rows: np.ndarray  # (m,) where it is not 0
    curve: np.ndarray  # (NODES, S) what the forces lose when outputs grow
    term: np.ndarray  # (NODES, S) of the series in `newton.improve`
    more: np.ndarray  # (NODES, S) what it does to the rates of the outputs
    ends: np.ndarray  # (m,) a at the end
    fast: np.ndarray  # (m,) |D_0| on the last piece of each neuron
    left: np.ndarray  # (m,) the share of the stretch after the last event of a neuron, 1 without one
    move: np.ndarray  # (m, r) what remains to be added to q
    pull: np.ndarray  # (m, S) <D_j, e_k> of the present drive
    hits: np.ndarray  # (m,) events in this stretch
    y: np.ndarray  # the state at its start
    bits: np.ndarray
    code: np.ndarray
    sign: np.ndarray
    dead: np.ndarray
    u0: np.ndarray  # (m, S) <q_j, e_k> there
    rate: np.ndarray  # (2, S) rates of the outputs
    f: np.ndarray  # (n,) outputs on the way
    margin: np.ndarray  # (NODES, n) y f - kink at the nodes; (NODES, 0) for a loss without a kink
    legendre: np.ndarray  # (NODES,) one of them as a polynomial
    tmp: np.ndarray
    one: Single


class Watch(NamedTuple):
    """One thing that must stay positive, and what decides it."""

    kind: int  # ON_SIDE, OF_SIGN, HELD
    k: int
    side: float
    grain: float  # how far below zero is still zero
    bend: float  # largest |second derivative|
    hold: Hold
    bend_F: float  # of a held surface: those of its jump
    bend_need: float  # and of the force its bit has to give


@inner
def dot(a, b):
    """<a, b> by eight sums side by side, always in the same order."""
    n = a.size
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    k = 0
    while k + 8 <= n:
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
        s4 += a[k + 4] * b[k + 4]
        s5 += a[k + 5] * b[k + 5]
        s6 += a[k + 6] * b[k + 6]
        s7 += a[k + 7] * b[k + 7]
        k += 8
    while k < n:
        s0 += a[k] * b[k]
        k += 1
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@inner
def value(poly, k, x):
    """sum_i poly[i, k] x^i."""
    v = 0.0
    for i in range(NODES - 1, -1, -1):
        v = v * x + poly[i, k]
    return v


@inner
def add_multiple(to, factor, source):
    """to += factor source for flat arrays."""
    for k in range(to.size):
        to[k] += factor * source[k]


@inner
def series(beta, gamma, a0, A, T):
    """Taylor coefficients of a(x) and of alpha_i(x) / x^(i + 1); whether those of a have died out at x = 1."""
    A[0] = a0
    for k in range(TAYLOR):
        total = 0.0
        for i in range(min(k, NODES - 1) + 1):
            if i == k:
                total += beta[i]
            p = k - i
            part = 0.0
            for l in range(min(p, NODES)):
                part += gamma[i, l] * A[p - 1 - l]
            if p > 0:
                total += part / p
        A[k + 1] = total / (k + 1)
    top = 0.0
    for k in range(TAYLOR + 1):
        top = max(top, abs(A[k]))
        for i in range(NODES):
            T[k, i] = A[k] / (k + 1 + i)
    return abs(A[TAYLOR]) + abs(A[TAYLOR - 1]) <= 1e-14 * top


@inner
def amounts(one, x, alpha):
    """Fills alpha with alpha_i(x) and returns a(x)."""
    A, T = one.A, one.T
    a = 0.0
    for i in range(NODES):
        alpha[i] = 0.0
    for k in range(TAYLOR, -1, -1):
        a = a * x + A[k]
        for i in range(NODES):
            alpha[i] = alpha[i] * x + T[k, i]
    power = x
    for i in range(NODES):
        alpha[i] *= power
        power *= x
    return a


@inner
def hold_coefficients(problem, state, one, j):
    """Gives the held surfaces of neuron j the coefficients nu that make V vanish there; expects V without them."""
    C, V, along = one.C, one.V, one.along
    count = state.slid[j]
    for i in range(NODES):
        for a in range(count):
            total = V[i, state.where[j, a]]
            for p in range(a):
                total -= state.tri[j, p, a] * along[p]
            along[a] = total / state.tri[j, a, a]
        for p in range(count - 1, -1, -1):
            total = -along[p]
            for a in range(p + 1, count):
                total -= state.tri[j, p, a] * C[i, state.where[j, a]]
            C[i, state.where[j, p]] = total / state.tri[j, p, p]
        for a in range(count):
            k = state.where[j, a]
            add_multiple(V[i], C[i, k], problem.gram[k])
            add_multiple(one.D[i], C[i, k], problem.e[k])
        for a in range(count):
            V[i, state.where[j, a]] = 0.0


@inner
def surface_at(u, V, alpha, k):
    """<w, e_k> given the amounts."""
    v = u[k]
    for i in range(NODES):
        v += alpha[i] * V[i, k]
    return v


@inner
def fill_table(one, stretch, p):
    """alpha_i and a at equally spaced places, one row each, up to the p-th of LOOKS."""
    while stretch.looked <= p:
        at = stretch.looked
        one.table[at, NODES] = amounts(one, stretch.length * at / LOOKS, one.table[at])
        stretch.looked += 1


@inner
def force(poly, x):
    """sum_i poly[i] x^i."""
    v = 0.0
    for i in range(NODES - 1, -1, -1):
        v = v * x + poly[i]
    return v


@inner
def probe(one, watch, x):
    """What is watched, at x."""
    if watch.kind == HELD:
        need = value(one.C, watch.k, x) - force(one.B, x)
        margin, _ = surfaces.held_margin(force(one.F, x), need, watch.hold)
        return margin
    a = amounts(one, x, one.alpha)
    return watch.side * (a if watch.kind == OF_SIGN else surface_at(one.u, one.V, one.alpha, watch.k))


@inner
def lowest_possible(va, vb, bend):
    """The least value on an interval of a function with these values at its ends and |f''| dx^2 / 2 at most `bend`."""
    rise = vb - va
    if abs(rise) >= bend:
        return min(va, vb)
    return va - (bend - rise) ** 2 / (4.0 * bend)


@inner
def stays_above(one, watch, xa, va, xb, vb):
    """Whether what is watched cannot be below its grain on [xa, xb], where va and vb are its values at the ends."""
    half = 0.5 * (xb - xa) ** 2
    if lowest_possible(va, vb, half * watch.bend) >= -watch.grain:
        return True
    return watch.kind == HELD and stays_held(one, watch, xa, xb, half)


@inner
def stays_held(one, watch, xa, xb, half):
    """`stays_above` for the margin of a held surface that attracts on all of [xa, xb], each of its two sides by itself.

    Where a neuron is held by rounding, its margin is rounding for as long as it slides. On that side the second
    derivative is that of the force the bit has to give and `slope` times that of F; a bound with all of F would have
    intervals halved without end.
    """
    k, hold = watch.k, watch.hold
    Fa, Fb = -hold.sign * force(one.F, xa), -hold.sign * force(one.F, xb)
    least = lowest_possible(Fa, Fb, half * watch.bend_F)
    if least <= 10.0 * hold.noise:
        return False
    need_a = hold.sign * (value(one.C, k, xa) - force(one.B, xa))
    need_b = hold.sign * (value(one.C, k, xb) - force(one.B, xb))
    lo_a, lo_b = -need_a - hold.slope * Fa, -need_b - hold.slope * Fb
    bend_lo = half * (watch.bend_need + hold.slope * watch.bend_F)
    grain = surfaces.grain_of_hold(hold)
    if hold.pinned and -lowest_possible(-lo_a, -lo_b, bend_lo) > 2.0 * grain + surfaces.LABEL * least:
        return False
    hi = lowest_possible(Fa + need_a, Fb + need_b, half * (watch.bend_need + watch.bend_F))
    return min(lowest_possible(lo_a, lo_b, bend_lo), hi) + grain >= 0.0


@inner
def bracket_between(one, watch, xa, va, xb, vb):
    """(lo, hi) in [xa, xb] around the first place below the grain, hi = 2 if there is none; va, vb are the end values.

    An interval is left out when its second derivative cannot take it below, and is halved, left half first, until the
    function can only fall on it.
    """
    later, depth, looks = one.later, 0, 0
    while True:
        looks += 1
        bend = 0.5 * watch.bend * (xb - xa) ** 2
        last = depth == later.shape[0] - 1 or looks > MOST_LOOKS
        if vb >= -watch.grain and (last or stays_above(one, watch, xa, va, xb, vb)):
            if depth == 0:
                return 0.0, 2.0
            depth -= 1
            xa, va = xb, vb
            xb, vb = later[depth, 0], later[depth, 1]
        elif vb < -watch.grain and (last or va - vb > 2.0 * bend):
            return xa, xb
        else:
            later[depth, 0], later[depth, 1] = xb, vb
            depth += 1
            xb = 0.5 * (xa + xb)
            vb = probe(one, watch, xb)


@inner
def first_below(one, watch, length):
    """Smallest x in [0, length] at which what is watched is below its grain; 2 if there is none."""
    xa, va = 0.0, probe(one, watch, 0.0)
    if va < -watch.grain:
        return 0.0
    end = probe(one, watch, length)
    if end >= -watch.grain and stays_above(one, watch, xa, va, length, end):
        return 2.0
    for p in range(1, LOOKS + 1):
        xb = length * p / LOOKS
        vb = probe(one, watch, xb) if p < LOOKS else end
        x = first_between(one, watch, xa, va, xb, vb)
        if x <= 1.0:
            return x
        xa, va = xb, vb
    return 2.0


@inner
def first_between(one, watch, xa, va, xb, vb):
    """Smallest x in [xa, xb] at which what is watched is below its grain; 2 if there is none. va, vb are the values at
    the ends."""
    lo, hi = bracket_between(one, watch, xa, va, xb, vb)
    if hi > 1.0:
        return hi
    # False position with a bisection every third time: down to rounding in about ten turns.
    low, high = probe(one, watch, lo) + watch.grain, probe(one, watch, hi) + watch.grain
    for turn in range(100):
        if hi - lo <= 4e-16:
            break
        x = lo + (hi - lo) * low / (low - high) if low > 0.0 else lo
        near = 0.02 * (hi - lo)
        x = 0.5 * (lo + hi) if turn % 3 == 2 else min(max(x, lo + 0.1 * near * near), hi - 0.1 * near * near)
        if not lo < x < hi:
            x = 0.5 * (lo + hi)
            if not lo < x < hi:
                break
        v = probe(one, watch, x) + watch.grain
        if v < 0.0:
            hi, high = x, v
        else:
            lo, low = x, v
    return hi


@inner
def shift(poly, by):
    """Turns the coefficients of poly(x) into those of poly(by + x)."""
    for start in range(NODES - 1):
        for i in range(NODES - 2, start - 1, -1):
            add_multiple(poly[i], by, poly[i + 1])


@inner
def shift_one(poly, k, by, out):
    """The coefficients of poly_k(by + x), in out."""
    for i in range(NODES):
        out[i] = poly[i, k]
    for start in range(NODES - 1):
        for i in range(NODES - 2, start - 1, -1):
            out[i] += by * out[i + 1]


@inner
def advance_neuron(problem, state, stretch, one, j, a, x):
    """Moves q, b, c of neuron j by the amounts one.alpha, those at x of its piece, where its output weight is a."""
    q = row(state.y, j, problem.e.shape[1])
    for i in range(NODES):
        add_multiple(q, one.alpha[i], one.D[i])
    normalise(problem, state, stretch, j, a, stretch.x0 + x, x)


@inner
def normalise(problem, state, stretch, j, a, x, passed):
    """Puts (q, a) e^c at x back on |q|^2 + b^2 = 2 and on the law of a^2 - |w|^2; held surfaces are taken out of q.

    `passed` is how much of the stretch decay has not been taken out of c for yet.
    """
    r = problem.e.shape[1]
    weight, log_size = weights(state.y, state.sign.size)
    surfaces.project(problem, state, state.y, j)
    q = row(state.y, j, r)
    square = 0.0
    for i in range(r):
        square += q[i] * q[i]
    size = np.sqrt(0.5 * (a * a + square))
    c = log_size[j] + np.log(size) - stretch.fade * passed
    b = a / size if state.delta_sign[j] != 0.0 else state.sign[j]
    delta = delta_log(problem, state, stretch.clock + x * stretch.H, j)
    square /= size * size
    weight[j], log_size[j], factor = on_invariant(b, square, c, state.delta_sign[j], delta)
    for i in range(r):
        q[i] *= factor / size


@inner
def spent_at(one, size, a, x, fade):
    """The rate at which the neuron dissipates energy at x, where its output weight is a.

    With decay: |p - fade theta|^2, where <p, theta> = 2 a a' and |w|^2 = a^2 + 2 (1 - b^2), b = a at the start.
    """
    rate, power = 0.0, 1.0
    for k in range(1, TAYLOR + 1):
        rate += k * one.A[k] * power
        power *= x
    pull2, left = 0.0, 1.0
    for i in range(NODES):
        right = 1.0
        for l in range(NODES):
            pull2 += one.gamma[i, l] * left * right
            right *= x
        left *= x
    if fade > 0.0:
        b = one.A[0]
        norm = a * a + (1.0 - b) * (1.0 + b)
        return size * (a * a * pull2 + rate * rate - 4.0 * fade * a * rate + 2.0 * fade * fade * norm)
    return size * (a * a * pull2 + rate * rate)


@inner
def shares(window, size, length):
    """What u and the V_i of a neuron add to the outputs at the nodes, if the piece is the whole stretch, and otherwise
    to their Legendre moments, in one.share; the energy that it spends goes to `energy`. Returns whether it is whole."""
    one, stretch = window.one, window.stretch
    alpha, share = one.alpha, one.share
    whole = stretch.x0 == 0.0 and length == 1.0
    for l in range(NODES):
        for i in range(NODES + 1):
            share[l, i] = 0.0
    for node in range(NODES):
        x = length * AT[node]
        a = amounts(one, x, alpha)
        left = size * np.exp(-2.0 * stretch.fade * x) if stretch.fade > 0.0 else size
        amp = left * a
        spent = spent_at(one, left, a, x, stretch.fade)
        if whole:
            window.block.energy[node] += spent
            share[node, 0] = amp
            for i in range(NODES):
                share[node, 1 + i] = amp * alpha[i]
            continue
        z = 2.0 * (stretch.x0 + x) - 1.0
        before, now = 0.0, length * WEIGHT[node]
        for l in range(NODES):
            window.block.energy[NODES + l] += now * spent
            share[l, 0] += now * amp
            for i in range(NODES):
                share[l, 1 + i] += now * amp * alpha[i]
            before, now = now, ((2.0 * l + 1.0) * z * now - l * before) / (l + 1.0)
    return whole


@inner
def contribute(state, window, j, length):
    """Adds the neuron's outputs over a piece to `values` (at the nodes, if the piece is the whole stretch) or to the
    Legendre `moments`, and the energy it spends to `energy`."""
    m, big = state.bits.shape
    one, both = window.one, window.stretch.both
    _, c = weights(state.y, m)
    size = np.exp(2.0 * c[j])
    if size == 0.0:
        return
    on, here, u, V = one.on, one.here, one.u, one.V
    sums = window.block.values if shares(window, size, length) else window.block.moments
    # The NODES = 6 rows are written out: a loop over them would store the sums after each.
    V0, V1, V2, V3, V4, V5 = V[0], V[1], V[2], V[3], V[4], V[5]
    for l in range(NODES):
        s = one.share[l]
        s0, s1, s2, s3, s4, s5, s6 = s[0], s[1], s[2], s[3], s[4], s[5], s[6]
        for k in range(big):
            here[k] = s0 * u[k] + s1 * V0[k] + s2 * V1[k] + s3 * V2[k] + s4 * V3[k] + s5 * V4[k] + s6 * V5[k]
        add_product(sums[l, 0], on[0], here)
        if both:
            add_product(sums[l, 1], on[1], here)


@inner
def add_product(to, a, b):
    """to += a b, number by number."""
    for k in range(to.size):
        to[k] += a[k] * b[k]


@inner
def add_rows(weight, rows, out, who):
    """out += sum_k weight[k] rows[k], four rows at a time; rows of weight 0 are left out."""
    count = 0
    for k in range(weight.size):
        if weight[k] != 0.0:
            who[count] = k
            count += 1
    at = 0
    while at + 4 <= count:
        k0, k1, k2, k3 = who[at], who[at + 1], who[at + 2], who[at + 3]
        w0, w1, w2, w3 = weight[k0], weight[k1], weight[k2], weight[k3]
        r0, r1, r2, r3 = rows[k0], rows[k1], rows[k2], rows[k3]
        for i in range(out.size):
            out[i] += w0 * r0[i] + w1 * r1[i] + w2 * r2[i] + w3 * r3[i]
        at += 4
    while at < count:
        add_multiple(out, weight[who[at]], rows[who[at]])
        at += 1


@inner
def add_all(C, rows, V, on, who):
    """V_i = sum_k C_ik rows_k for all i, over the k with on_k != 0, two at a time."""
    for i in range(NODES):
        fill(V[i], 0.0)
    count = 0
    for k in range(on.size):
        if on[k] != 0.0:
            who[count] = k
            count += 1
    # The NODES = 6 rows are written out: a row of `rows` is read once for all of them.
    V0, V1, V2, V3, V4, V5 = V[0], V[1], V[2], V[3], V[4], V[5]
    for at in range(0, count, 2):
        a = who[at]
        b = who[at + 1] if at + 1 < count else a
        half = 1.0 if at + 1 < count else 0.0
        a0, a1, a2, a3, a4, a5 = C[0, a], C[1, a], C[2, a], C[3, a], C[4, a], C[5, a]
        b0, b1, b2 = half * C[0, b], half * C[1, b], half * C[2, b]
        b3, b4, b5 = half * C[3, b], half * C[4, b], half * C[5, b]
        rows_a, rows_b = rows[a], rows[b]
        for s in range(V0.size):
            x, y = rows_a[s], rows_b[s]
            V0[s] += a0 * x + b0 * y
            V1[s] += a1 * x + b1 * y
            V2[s] += a2 * x + b2 * y
            V3[s] += a3 * x + b3 * y
            V4[s] += a4 * x + b4 * y
            V5[s] += a5 * x + b5 * y


@inner
def note_bits(state, one, j):
    """The bits of neuron j, and 1, on the surfaces it is not held on, in one.on."""
    for k in range(state.bits.shape[1]):
        live = 1.0 if (state.code[j, k] & 3) < SLID else 0.0
        one.on[0, k] = live * state.bits[j, k]
        one.on[1, k] = live


@inner
def take_up(problem, state, window, j):
    """What belongs to neuron j at the start of the stretch."""
    one = window.one
    C, D = one.C, one.D
    big = state.bits.shape[1]
    note_bits(state, one, j)
    on, live = one.on[0], one.on[1]
    for i in range(NODES):
        F, B, Ci = window.F[i], window.B[i], C[i]
        for k in range(big):
            Ci[k] = on[k] * F[k] + live[k] * B[k]
    flat = D.reshape(D.size)
    fill(flat, 0.0)
    add_rows(on, window.FE, flat, one.who)
    if window.stretch.both:
        add_rows(live, window.BE, flat, one.who)
    if big < 2 * problem.e.shape[1]:
        add_all(C, problem.gram, one.V, live if window.stretch.both else on, one.who)
    else:
        times(D, problem.et, one.V)
    copy(one.u, window.u0[j])
    if state.slid[j] > 0:
        hold_coefficients(problem, state, one, j)
    window.stretch.x0 = 0.0
    window.left[j] = 1.0
    window.hits[j] = 0


@inner
def expand(problem, state, window, j):
    """The series of a from here on, and bounds of what can move; whether the series dies out."""
    one, stretch = window.one, window.stretch
    D, A, beta, gamma, bound, bend = one.D, one.A, one.beta, one.gamma, one.bound, one.bend
    b, _ = weights(state.y, state.sign.size)
    q = row(state.y, j, problem.e.shape[1])
    for i in range(NODES):
        beta[i] = dot(D[i], q)
        for l in range(i + 1):
            gamma[i, l] = dot(D[i], D[l])
            gamma[l, i] = gamma[i, l]
    if not series(beta, gamma, b[j], A, one.T):
        return False
    length = 1.0 - stretch.x0
    move = 0.0
    for i in range(NODES):
        bound[i], bend[i] = 0.0, 0.0
    power = 1.0
    for k in range(1, TAYLOR + 1):
        for i in range(min(k, NODES)):
            bound[i] += abs(A[k - 1 - i]) * power * length / k
            if k > 1:
                bend[i] += (k - 1) * abs(A[k - 1 - i]) * power / length
        power *= length
    for i in range(NODES):
        move += bound[i] * np.sqrt(gamma[i, i])
    stretch.length, stretch.move, stretch.looked = length, move, 0
    stretch.norm = norm_q(state.y, j, problem.e.shape[1])
    return True


@inner
def first_sign(problem, state, window, j):
    """Where the output weight of neuron j changes its sign, as the event of `stretch`."""
    one, stretch, s = window.one, window.stretch, state.sign[j]
    if state.delta_sign[j] == 0.0:
        return
    reach = 0.0
    for k in range(1, TAYLOR + 1):
        reach += abs(one.A[k])
    if s * one.A[0] <= reach:
        hold = Hold(s, 1.0, 0.0, 0.0, 0.0, problem.slope, False)
        bend, power = 0.0, 1.0
        for k in range(2, TAYLOR + 1):
            bend += k * (k - 1) * abs(one.A[k]) * power
            power *= stretch.length
        stretch.x = first_below(one, Watch(OF_SIGN, 0, s, 0.0, bend, hold, 0.0, 0.0), stretch.length)
        if stretch.x <= stretch.length:
            stretch.hit = -1


@inner
def reach(one, here):
    """How far each surface can be reached from the present place: sum_i |alpha_i V_ik| at most, in here."""
    V, bound = one.V, one.bound
    V0, V1, V2, V3, V4, V5 = V[0], V[1], V[2], V[3], V[4], V[5]
    b0, b1, b2, b3, b4, b5 = bound[0], bound[1], bound[2], bound[3], bound[4], bound[5]
    for k in range(here.size):
        here[k] = (b0 * abs(V0[k]) + b1 * abs(V1[k]) + b2 * abs(V2[k])) + (
            b3 * abs(V3[k]) + b4 * abs(V4[k]) + b5 * abs(V5[k])
        )


@inner
def gather(state, window, j):
    """The surfaces that neuron j may reach on its piece, side by side in one.near; returns how many."""
    one, stretch, near = window.one, window.stretch, window.one.near
    reach(one, one.here)
    count = 0
    for k in range(state.bits.shape[1]):
        kind = state.code[j, k] & 3
        right = 1.0 if kind == ON else -1.0
        away = right * one.u[k]
        if kind >= SLID or away > one.here[k]:
            continue
        grain = 1e-13 * stretch.move
        if state.code[j, k] >= FRESH:
            grain += GRAIN * stretch.norm
        elif away < 0.0:
            one.u[k] = 0.0
            away = 0.0
        if away + grain > one.here[k]:
            continue
        bend = 0.0
        for i in range(NODES):
            near[i, count] = right * one.V[i, k]
            bend += one.bend[i] * abs(one.V[i, k])
        near[START, count], near[BEND, count], near[GRAINS, count] = away, bend, grain
        one.who[count] = k
        count += 1
    return count


@inner
def look(one, p, count, out):
    """The values of the surfaces in one.near at the p-th place of the table."""
    near, at = one.near, one.table[p]
    u, V0, V1, V2, V3, V4, V5 = near[START], near[0], near[1], near[2], near[3], near[4], near[5]
    a0, a1, a2, a3, a4, a5 = at[0], at[1], at[2], at[3], at[4], at[5]
    for c in range(count):
        out[c] = u[c] + a0 * V0[c] + a1 * V1[c] + a2 * V2[c] + a3 * V3[c] + a4 * V4[c] + a5 * V5[c]


@inner
def first_side(problem, state, window, j):
    """Where neuron j first crosses a surface it is not held on, if that comes before the event of `stretch`.

    All surfaces are looked at on one interval before any is on the next: what lies behind a crossing is not located.
    """
    one, stretch = window.one, window.stretch
    count = gather(state, window, j)
    before, now, bend, grain = one.near[BEFORE], one.near[NOW], one.near[BEND], one.near[GRAINS]
    for c in range(count):
        before[c] = one.near[START, c]
        if before[c] < -grain[c] and stretch.x > 0.0:
            stretch.x, stretch.hit, stretch.side = 0.0, one.who[c], -1
    eighth = 0.125 * (stretch.length / LOOKS) ** 2
    for p in range(1, LOOKS + 1):
        xa, xb = stretch.length * (p - 1) / LOOKS, stretch.length * p / LOOKS
        if count == 0 or xa >= stretch.x:
            return
        fill_table(one, stretch, p)
        look(one, p, count, now)
        for c in range(count):
            if min(before[c], now[c]) - eighth * bend[c] < -grain[c]:
                k = one.who[c]
                right = 1.0 if (state.code[j, k] & 3) == ON else -1.0
                hold = Hold(right, 1.0, 0.0, 0.0, 0.0, problem.slope, False)
                watch = Watch(ON_SIDE, k, right, grain[c], bend[c], hold, 0.0, 0.0)
                x = first_between(one, watch, xa, before[c], xb, now[c])
                if x < stretch.x:
                    stretch.x, stretch.hit, stretch.side = x, k, -1
            before[c] = now[c]


@inner
def bend_of_hold(one, k, length):
    """Bounds of the second derivatives of the jump F of surface k and of the force its bit has to give."""
    of_F, of_need, power = 0.0, 0.0, 1.0
    for i in range(2, NODES):
        of_F += i * (i - 1) * abs(one.F[i]) * power
        of_need += i * (i - 1) * abs(one.C[i, k] - one.B[i]) * power
        power *= length
    return of_F, of_need


@inner
def live_force(state, one, j, x):
    """The sum of the moduli of the live forces on neuron j at x of the piece."""
    total = 0.0
    for k in range(state.bits.shape[1]):
        if (state.code[j, k] & 3) < SLID:
            total += abs(value(one.C, k, x))
    return total


@inner
def clearly_lost(problem, state, window, watch, j, x):
    """Whether the hold that neuron j loses at x of the piece is lost by more than errors of the outputs before its end,
    looked at in a few places; UNSEEN tolerances are errors, if the live forces on the neuron are as small.

    Once its live data are fitted, the sign of their forces changes from stretch to stretch, and the neuron would be
    released and held again without end. Forces with an exponential tail are right to their own size, and those that
    decay balances stay small: there any loss counts.
    """
    one, stretch = window.one, window.stretch
    small = UNSEEN * stretch.rtol
    if problem.decay > 0.0 or tailed(problem.loss):
        return True
    for p in range(PLACES + 1):
        at = x + (stretch.length - x) * p / PLACES
        if live_force(state, one, j, at) > small or probe(one, watch, at) * watch.hold.scale < -small:
            return True
    return False


@inner
def first_loss_of_hold(problem, state, work, window, j):
    """Where neuron j is first released from a surface, if that comes before the event of `stretch`."""
    one, stretch = window.one, window.stretch
    scale, held, loose = 1e-300, 0.0, 0.0
    for k in range(state.bits.shape[1]):
        if (state.code[j, k] & 3) >= SLID:
            held += abs(value(window.F, k, stretch.x0)) + abs(value(window.B, k, stretch.x0))
        else:
            scale += abs(one.C[0, k])
            loose += stretch.unit * surfaces.rounding(problem, state, work, j, k)
    for a in range(state.slid[j]):
        k = state.where[j, a]
        shift_one(window.F, k, stretch.x0, one.F)
        shift_one(window.B, k, stretch.x0, one.B)
        pinned = (state.code[j, k] & 3) == PINNED
        hold = Hold(state.sign[j], scale, held, stretch.unit * work.noise[k], loose, problem.slope, pinned)
        of_F, of_need = bend_of_hold(one, k, stretch.length)
        watch = Watch(HELD, k, state.sign[j], 0.0, (of_F + of_need) / scale, hold, of_F, of_need)
        if state.code[j, k] >= FRESH:
            clear = 2.0 * surfaces.ROUND * (scale + held) / scale
            surfaces.muted(state, j, k, probe(one, watch, 0.0), clear)
            if state.code[j, k] >= FRESH:
                continue
        x = first_below(one, watch, min(stretch.x, stretch.length))
        if x < stretch.x:
            need = value(one.C, k, x) - force(one.B, x)
            _, side = surfaces.held_margin(force(one.F, x), need, hold)
            # From pinned to sliding is the same motion.
            if side == 2 or clearly_lost(problem, state, window, watch, j, x):
                stretch.x, stretch.hit, stretch.side = x, k, side


@inner
def first_event(problem, state, work, window, j):
    """The first event of neuron j on its piece, in `stretch`."""
    stretch = window.stretch
    stretch.x, stretch.hit, stretch.side = 2.0, -2, -1
    first_sign(problem, state, window, j)
    if problem.slope != 1.0:
        first_side(problem, state, window, j)
    if state.slid[j] > 0:
        first_loss_of_hold(problem, state, work, window, j)


@inner
def mark_met(problem, state, work, window, j, a):
    """Marks what happens to neuron j at its event, where its output weight is a; whether a surface is involved."""
    one, stretch, mark = window.one, window.stretch, work.mark
    speed = 0.0
    for i in range(NODES):
        speed = max(speed, np.sqrt(abs(one.gamma[i, i])))
    hit, x = stretch.hit, stretch.x
    changes = hit >= 0
    here = one.here
    copy(here, one.u)
    for i in range(NODES):
        add_multiple(here, one.alpha[i], one.V[i])
    for k in range(state.bits.shape[1]):
        mark[k] = surfaces.ABSENT
        kind = state.code[j, k] & 3
        if kind >= SLID:
            mark[k] = surfaces.HELD
            if k == hit and stretch.side == 0:
                mark[k] = surfaces.FORCE_OFF
            elif k == hit and stretch.side == 1:
                mark[k] = surfaces.FORCE_ON
            elif k == hit:
                mark[k] = surfaces.RELEASE
            continue
        if problem.slope == 1.0:
            continue
        if k == hit:
            mark[k] = surfaces.FALLING if kind == ON else surfaces.RISING
        elif state.code[j, k] < FRESH:
            right = 1.0 if kind == ON else -1.0
            if right * here[k] <= SAME_INSTANT * stretch.norm:
                rate = 0.0
                power = 1.0
                for i in range(NODES):
                    rate += one.V[i, k] * power
                    power *= x
                if right * a * rate < -1e-13 * speed:
                    mark[k] = surfaces.FALLING if kind == ON else surfaces.RISING
                    changes = True
    return changes


@inner
def forces_in(poly, x, unit, out):
    """The forces at x in units of `unit`, in out."""
    copy(out, poly[NODES - 1])
    for i in range(NODES - 2, -1, -1):
        row = poly[i]
        for k in range(out.size):
            out[k] = out[k] * x + row[k]
    for k in range(out.size):
        out[k] /= unit


@inner
def happen(problem, state, run, work, window, j):
    """Moves neuron j to its event and decides what follows; False if only the coupled regime can."""
    one, stretch = window.one, window.stretch
    x = stretch.x
    window.hits[j] += 1
    a = amounts(one, x, one.alpha)
    advance_neuron(problem, state, stretch, one, j, a, x)
    stretch.x0 += x
    window.left[j] = 1.0 - stretch.x0
    run.clock = stretch.clock + stretch.x0 * stretch.H
    forces_in(window.F, stretch.x0, stretch.unit, work.jump)
    forces_in(window.B, stretch.x0, stretch.unit, work.base)
    unique = True
    if stretch.hit == -1:
        unique = change_sign(state, run, work, j)
    elif stretch.side < 0 and state.slid[j] > 0:
        r = problem.e.shape[1]
        if state.slid[j] == r - 1 or norm_q(state.y, j, r) <= 1e-9 * stretch.norm:
            return False
    changes = mark_met(problem, state, work, window, j, a)
    for k in range(state.bits.shape[1]):
        one.was[k] = state.code[j, k]
    if changes or not unique:
        settle_surfaces(problem, state, run, work, j, 1.0 if unique else 0.0)
    return run.origin == 0 and not surfaces.depends(state, j)


@inner
def leave_ends(window, j):
    """What remains to be added to neuron j at the end of the stretch."""
    one, move = window.one, window.move[j]
    window.fast[j] = np.sqrt(one.gamma[0, 0])
    window.ends[j] = amounts(one, window.stretch.length, one.alpha)
    for i in range(move.size):
        move[i] = 0.0
    for i in range(NODES):
        add_multiple(move, one.alpha[i], one.D[i])


@inner
def trace(problem, state, run, work, window, j):
    """Neuron j over the stretch; DONE, or BAD.

    What the neuron adds to the outputs goes to window.block. On return the state holds the neuron at
    its last event, if it had one, and (move, ends) what remains: q += move[j], a = ends[j].
    """
    stretch = window.stretch
    b, _ = weights(state.y, state.sign.size)
    if surfaces.depends(state, j):
        window.hits[j] = 0
        return BAD
    take_up(problem, state, window, j)
    for _ in range(MOST_EVENTS):
        if not expand(problem, state, window, j):
            return BAD
        first_event(problem, state, work, window, j)
        if stretch.x > 0.0:
            contribute(state, window, j, min(stretch.x, stretch.length))
        if stretch.x > stretch.length:
            leave_ends(window, j)
            return DONE
        if not happen(problem, state, run, work, window, j):
            return BAD
        if state.dead[j] != 0:
            return DONE
        normalise(problem, state, stretch, j, b[j], stretch.x0, 0.0)
        restart(problem, state, window, j, stretch.x)
    return BAD


@inner
def restart(problem, state, window, j, x):
    """Forces, coefficients and surfaces of neuron j from the event at x on."""
    one = window.one
    big = state.bits.shape[1]
    C, D, V, u = one.C, one.D, one.V, one.u
    note_bits(state, one, j)
    shift(C, x)
    shift(D, x)
    shift(V, x)
    fill(u, 0.0)
    q = row(state.y, j, problem.e.shape[1])
    for p in range(q.size):
        add_multiple(u, q[p], problem.et[p])
    for k in range(big):
        live = (state.code[j, k] & 3) < SLID
        if live and (one.was[k] & 3) == (state.code[j, k] & 3):
            continue
        shift_one(window.F, k, window.stretch.x0, one.F)
        shift_one(window.B, k, window.stretch.x0, one.B)
        for i in range(NODES):
            more = (state.bits[j, k] * one.F[i] + one.B[i] if live else 0.0) - C[i, k]
            C[i, k] += more
            if more != 0.0:
                add_multiple(D[i], more, problem.e[k])
                add_multiple(V[i], more, problem.gram[k])
    if state.slid[j] > 0:
        hold_coefficients(problem, state, one, j)
        for a in range(state.slid[j]):
            u[state.where[j, a]] = 0.0
    size = norm_q(state.y, j, problem.e.shape[1])
    for k in range(big):
        if state.code[j, k] >= FRESH and (state.code[j, k] & 3) < SLID:
            right = 1.0 if (state.code[j, k] & 3) == ON else -1.0
            if right * u[k] > LEFT * size:
                state.code[j, k] -= FRESH
