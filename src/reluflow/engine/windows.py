"""Many neurons, many events: all neurons over a stretch of time at once, the drive found by iteration.

Neurons see each other only through the n outputs. Over a stretch [t, t + H] the drive is taken as a polynomial through
Gauss nodes; every neuron is traced under it alone, event by event (`tracer`), which gives outputs, hence a new drive,
until it no longer changes. An event costs one neuron's work instead of a step of everything.

The outputs have kinks where a bit changes. They are projected on polynomials by exact moments, so that what is
neglected is orthogonal to every polynomial the nodes carry: at the end of the stretch a neuron without events feels it
to order 2 NODES, a neuron with events as that amplitude over one node's distance. That is the error which the length of
the stretch is chosen by.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.engine import surfaces as slide
from reluflow.engine._jit import entry, inner
from reluflow.engine.coupled import calm, resting, write_row
from reluflow.engine.explicit import clock_shift, velocity
from reluflow.engine.field import ASLEEP, FRESH, ON, SLID, copy, drive, per_surface, stiffness, times
from reluflow.engine.layout import (
    CHECKED,
    CK_USED,
    CLOCK,
    END,
    EV_USED,
    FLUSH,
    N_EVENTS,
    N_FIELDS,
    N_REJECTED,
    N_STEPS,
    N_WINDOWS,
    NEAREST,
    NOT_FINITE,
    ORIGIN,
    QUIET,
    REACHED,
    REST,
    RTOL,
    RUNNING,
    STATIONARY,
    STEP,
    STRIDE,
    TICK,
    WAIT,
)
from reluflow.engine.locate import LEFT, norm_q
from reluflow.engine.pack import all_apart
from reluflow.engine.tracer import AT, BAD, FIT, LEGENDRE, LOOKS, NODES, TAYLOR, WEIGHT, normalise, trace


class Scratch(NamedTuple):
    """What `tracer.trace` works in, for one neuron."""

    C: np.ndarray
    V: np.ndarray
    F: np.ndarray
    B: np.ndarray
    u: np.ndarray
    beta: np.ndarray
    gamma: np.ndarray
    A: np.ndarray
    alpha: np.ndarray
    bound: np.ndarray
    along: np.ndarray
    table: np.ndarray
    on: np.ndarray
    here: np.ndarray
    mark: np.ndarray
    was: np.ndarray


class Window(NamedTuple):
    """Arrays of the window regime; overwritten by every stretch."""

    at: np.ndarray  # (NODES, 2, S) F_k and B_k at the nodes, with respect to the clock
    new: np.ndarray
    F: np.ndarray  # (NODES, S) the same as coefficients of x^i, times H
    B: np.ndarray
    C: np.ndarray  # (NODES, m, S) coefficients of D_i
    V: np.ndarray  # (NODES, m, S) <D_i, e_k>
    one_C: np.ndarray
    one_V: np.ndarray
    last_C: np.ndarray
    values: np.ndarray  # (NODES, 2, S) sums over neurons without events
    moments: np.ndarray  # (NODES, 2, S) Legendre moments of those with
    energy: np.ndarray
    ends: np.ndarray  # (m, NODES + 1) alpha_i and a at the end
    theta: np.ndarray  # (m, S) what remains to be added to q, along e_k
    move: np.ndarray
    hits: np.ndarray  # (m,) events in this stretch
    y: np.ndarray  # the state at its start
    bits: np.ndarray
    code: np.ndarray
    sign: np.ndarray
    dead: np.ndarray
    u0: np.ndarray
    rate: np.ndarray  # (2, S) rates of the outputs
    f: np.ndarray  # (n,) outputs on the way
    tmp: np.ndarray
    stretch: np.ndarray  # (1,) largest eigenvalue of the Gram matrix: |sum_k c_k e_k|^2 over sum_k c_k^2
    scratch: Scratch


def window(gram: np.ndarray, m: int, r: int, n: int, size: int) -> Window:
    """Empty arrays for m neurons in r dimensions and n data."""
    S = gram.shape[0]
    pair = lambda: np.zeros((NODES, 2, S))
    one = lambda: np.zeros((NODES, S))
    few = lambda: np.zeros(NODES)
    scratch = Scratch(
        C=one(),
        V=one(),
        F=one(),
        B=one(),
        u=np.zeros(S),
        beta=few(),
        gamma=np.zeros((NODES, NODES)),
        A=np.zeros(TAYLOR + 1),
        alpha=few(),
        bound=few(),
        along=np.zeros(max(NODES, min(S, r) + 1)),
        table=np.zeros((LOOKS + 1, NODES + 1)),
        on=np.zeros((2, S)),
        here=np.zeros(S),
        mark=np.zeros(S, np.int64),
        was=np.zeros(S, np.int64),
    )
    stretch = np.array([np.linalg.eigvalsh(gram)[-1]])
    made = Window(
        at=pair(),
        new=pair(),
        F=one(),
        B=one(),
        C=np.zeros((NODES, m, S)),
        V=np.zeros((NODES, m, S)),
        one_C=one(),
        one_V=one(),
        last_C=one(),
        values=pair(),
        moments=pair(),
        energy=np.zeros(2 * NODES),
        ends=np.zeros((m, NODES + 1)),
        theta=np.zeros((m, S)),
        move=np.zeros((m, r)),
        hits=np.zeros(m, np.int64),
        y=np.zeros(size),
        bits=np.zeros((m, S)),
        code=np.zeros((m, S), np.int64),
        sign=np.zeros(m),
        dead=np.zeros(m, np.int64),
        u0=np.zeros((m, S)),
        rate=np.zeros((2, S)),
        f=np.zeros(n),
        tmp=np.zeros(size),
        stretch=stretch,
        scratch=all_apart(scratch),
    )
    return all_apart(made)


SWEEPS = 12
SHORT = 9  # a status of its own: this stretch is for the coupled regime


@inner
def forces_at(pk, f, clock, node, wk, at):
    """Surface forces with respect to the clock, from the outputs f at a node."""
    big = wk.jump.size
    G = drive(pk, f, wk.g)
    per_surface(pk, wk.g, wk.jump, wk.base)
    fac = np.exp(G + clock_shift(pk, clock))
    for k in range(big):
        at[node, 0, k] = fac * wk.jump[k]
        at[node, 1, k] = fac * wk.base[k]


@inner
def to_polynomials(at, H, F, B):
    """H times the forces at the nodes, as coefficients of x^i."""
    for k in range(at.shape[2]):
        for i in range(NODES):
            F[i, k] = 0.0
            B[i, k] = 0.0
            for node in range(NODES):
                F[i, k] += H * FIT[i, node] * at[node, 0, k]
                B[i, k] += H * FIT[i, node] * at[node, 1, k]


@inner
def first_guess(pk, st, clock, H, win, wk, f):
    """Forces at the nodes by a straight line: as they are, and as they will be when the outputs go on as they do.

    Expects wk at the present state.
    """
    m, big = st.bits.shape
    r = pk.e.shape[1]
    fac = np.exp(drive(pk, wk.f, wk.g) + clock_shift(pk, clock))
    times(wk.pull, pk.e.T, win.C[0])
    for part in range(2):
        for k in range(big):
            win.rate[part, k] = 0.0
    for j in range(m):
        if st.dead[j] != 0:
            continue
        b, h = st.y[m * r + j], 0.0
        for i in range(r):
            h += wk.pull[j, i] * st.y[j * r + i]
        for k in range(big):
            if (st.code[j, k] & 3) < SLID:
                v = fac * wk.e2c[j] * (b * b * win.C[0, j, k] + h * wk.u[j, k])
                win.rate[0, k] += st.bits[j, k] * v
                win.rate[1, k] += v
    small = 1e-3 * H
    for end in range(2):
        for i in range(pk.alpha.size):
            k, a = pk.surf[i], pk.alpha[i]
            v = a * win.rate[0, k] if a > 0 else a * ((1.0 + pk.slope) * win.rate[1, k] - win.rate[0, k])
            f[i] = wk.f[i] + end * small * v
        forces_at(pk, f, clock + end * small, end, wk, win.new)
    for node in range(NODES):
        for part in range(2):
            for k in range(big):
                slope = (win.new[1, part, k] - win.new[0, part, k]) / small
                win.at[node, part, k] = win.new[0, part, k] + AT[node] * H * slope


@inner
def keep(st, kept_y, kept_bits, kept_code, kept_sign, kept_dead):
    copy(kept_y, st.y)
    copy(kept_sign, st.sign)
    for j in range(st.sign.size):
        kept_dead[j] = st.dead[j]
        for k in range(st.bits.shape[1]):
            kept_bits[j, k] = st.bits[j, k]
            kept_code[j, k] = st.code[j, k]


@inner
def put_back(pk, st, hits, kept_y, kept_bits, kept_code, kept_sign, kept_dead):
    """The state as it was kept; only neurons that had events need more than their numbers."""
    m, big = st.bits.shape
    copy(st.y, kept_y)
    for j in range(m):
        if hits[j] == 0:
            continue
        st.sign[j], st.dead[j] = kept_sign[j], kept_dead[j]
        for k in range(big):
            st.bits[j, k] = kept_bits[j, k]
            st.code[j, k] = kept_code[j, k]
        slide.hold(pk, st, j)
        if st.dead[j] != 0:
            st.slid[j] = 0
        hits[j] = 0


@inner
def error(pk, st, at, H, hits, wk, stretch):
    """What the polynomials cannot carry, felt by the worst neuron: see the head of this file."""
    m, big = st.bits.shape
    top = wk.acc
    for part in range(2):
        for k in range(big):
            last, before = 0.0, 0.0
            for node in range(NODES):
                last += WEIGHT[node] * LEGENDRE[NODES - 1, node] * at[node, part, k]
                before += WEIGHT[node] * LEGENDRE[NODES - 2, node] * at[node, part, k]
            top[part, k] = H * ((2 * NODES - 1) * abs(last) + (2 * NODES - 3) * abs(before))
    worst = 0.0
    for j in range(m):
        if st.dead[j] != 0:
            continue
        total, pull = 0.0, 0.0
        for k in range(big):
            bit = st.bits[j, k]
            total += (bit * top[0, k] + top[1, k]) ** 2
        for i in range(wk.pull.shape[1]):
            pull += wk.pull[j, i] ** 2
        feel = 1.0 / NODES if hits[j] > 0 else min(1.0, np.sqrt(pull) * H) ** (NODES - 1)
        worst = max(worst, feel * np.sqrt(stretch * total))
    return worst


@inner
def relax(pk, st, clock, H, win, wk, noises, ev, ci, cf, u0, unit):
    """Finds the drive over [clock, clock + H] and every neuron under it: (DONE or BAD, error over tolerance).

    Leaves the neurons that had events at their last one; `finish` takes all to the end.
    """
    m, big = st.bits.shape
    used, seen, nearest = ci[EV_USED], ci[N_EVENTS], cf[NEAREST]
    f = win.f
    both = False
    for k in range(big):
        both = both or pk.opposite[k] == 1
    first_guess(pk, st, clock, H, win, wk, f)
    for sweep in range(SWEEPS):
        if sweep > 0:
            put_back(pk, st, win.hits, win.y, win.bits, win.code, win.sign, win.dead)
        ci[EV_USED], ci[N_EVENTS], cf[NEAREST] = used, seen, nearest
        degree = 1 if sweep == 0 else NODES - 1
        to_polynomials(win.at, H, win.F, win.B)
        for i in range(NODES):
            if i > degree:
                for j in range(m):
                    for k in range(big):
                        win.C[i, j, k] = 0.0
                        win.V[i, j, k] = 0.0
                continue
            for j in range(m):
                for k in range(big):
                    off = (st.code[j, k] & 3) >= SLID or st.dead[j] != 0
                    win.C[i, j, k] = 0.0 if off else st.bits[j, k] * win.F[i, k] + win.B[i, k]
            times(win.C[i], pk.gram, win.V[i])
        for l in range(NODES):
            win.energy[l] = 0.0
            win.energy[NODES + l] = 0.0
            for part in range(2):
                for k in range(big):
                    win.values[l, part, k] = 0.0
                    win.moments[l, part, k] = 0.0
        ci[N_FIELDS] += degree + 1
        for j in range(m):
            win.hits[j] = 0
            if st.dead[j] != 0:
                continue
            for i in range(NODES):
                for k in range(big):
                    win.one_C[i, k] = win.C[i, j, k]
                    win.one_V[i, k] = win.V[i, j, k]
            status = trace(
                pk,
                st,
                j,
                clock,
                H,
                unit,
                u0[j],
                win.one_C,
                win.one_V,
                win.F,
                win.B,
                both,
                win.values,
                win.moments,
                win.energy,
                win.last_C,
                win.ends[j],
                win.hits,
                wk,
                noises,
                win.scratch,
                ev,
                ci,
                cf,
            )
            if status == BAD or ci[EV_USED] >= ev.shape[0]:
                win.hits[j] = 1
                return BAD, 0.0
            for k in range(big):
                theta = 0.0
                for i in range(NODES):
                    theta += win.ends[j, i] * win.last_C[i, k]
                win.theta[j, k] = theta
        # New outputs, new drive.
        change = 0.0
        for node in range(NODES):
            for part in range(2):
                for k in range(big):
                    total = win.values[node, part, k]
                    for l in range(NODES):
                        total += (2 * l + 1) * LEGENDRE[l, node] * win.moments[l, part, k]
                    wk.acc[part, k] = total
            for i in range(f.size):
                k = pk.surf[i]
                a = pk.alpha[i]
                f[i] = a * wk.acc[0, k] if a > 0 else a * ((1.0 + pk.slope) * wk.acc[1, k] - wk.acc[0, k])
            forces_at(pk, f, clock + AT[node] * H, node, wk, win.new)
            moved = 0.0
            for k in range(big):
                moved += (win.new[node, 0, k] - win.at[node, 0, k]) ** 2
                moved += (win.new[node, 1, k] - win.at[node, 1, k]) ** 2
                win.at[node, 0, k] = win.new[node, 0, k]
                win.at[node, 1, k] = win.new[node, 1, k]
            change = max(change, H * np.sqrt(win.stretch[0] * moved))
        if not np.isfinite(change):
            return BAD, 0.0
        if degree > 1 and change <= 0.3 * cf[RTOL]:
            velocity(pk, st, win.y, clock, win.tmp, wk)
            return 0, error(pk, st, win.at, H, win.hits, wk, win.stretch[0]) / cf[RTOL]
    return BAD, 0.0


@inner
def finish(pk, st, clock, H, win):
    """Takes every neuron from its last event, or the start, to the end of the stretch."""
    m = st.sign.size
    r = pk.e.shape[1]
    times(win.theta, pk.e, win.move)
    for j in range(m):
        if st.dead[j] != 0:
            continue
        for i in range(r):
            st.y[j * r + i] += win.move[j, i]
        normalise(st, j, m, r, win.ends[j, NODES])
    spent = 0.0
    for node in range(NODES):
        total = win.energy[node]
        for l in range(NODES):
            total += (2 * l + 1) * LEGENDRE[l, node] * win.energy[NODES + l]
        spent += WEIGHT[node] * total * np.exp(-clock_shift(pk, clock + AT[node] * H))
    # Forces carried the factor H, the rates of the clock: |grad L|^2 has it once more than its integral.
    st.y[st.y.size - 1] += spent / H


@inner
def in_order(ev, lo, hi):
    """Rows lo..hi of the events by time."""
    for a in range(lo + 1, hi):
        b = a
        while b > lo and ev[b, 0] < ev[b - 1, 0]:
            for i in range(5):
                ev[b, i], ev[b - 1, i] = ev[b - 1, i], ev[b, i]
            b -= 1


@entry
def advance(pk, st, cf, ci, budget, win, wk, probe, noises, ev, ck_f, ck_y, ck_code):
    """Up to `budget` stretches; returns a status of `control`, or SHORT when the next one is for the coupled regime."""
    m, big = st.bits.shape
    room = 4 * m * (big + 2)
    taken = 0
    while True:
        clock = cf[CLOCK]
        G = velocity(pk, st, st.y, clock, win.tmp, wk)
        ci[N_FIELDS] += 1
        total = 0.0
        for i in range(st.y.size):
            total += win.tmp[i]
        if not np.isfinite(total):
            return NOT_FINITE
        for j in range(m):
            if st.dead[j] == ASLEEP:
                return SHORT
        if taken >= budget:
            return RUNNING
        if clock >= cf[END]:
            return REACHED
        if resting(pk, st, win.tmp[: st.y.size].reshape(1, st.y.size), G, cf[REST], wk):
            return STATIONARY
        slide.noise(pk, st.y, m, pk.e.shape[1], wk, noises)
        if ci[WAIT] == 0 and calm(pk, st, win.tmp, noises, cf, wk):
            return QUIET
        if ci[EV_USED] + room > ev.shape[0] or ci[CK_USED] == ck_y.shape[0]:
            return FLUSH
        for j in range(m):
            for k in range(big):
                win.u0[j, k] = 0.0 if (st.code[j, k] & 3) >= SLID else wk.u[j, k]
        rate = stiffness(pk, st.y, clock_shift(pk, clock), st.bits, st.code, st.dead, st.slid, st.basis, probe, wk)
        velocity(pk, st, st.y, clock, win.tmp, wk)
        fastest = 0.0
        for j in range(m):
            pull = 0.0
            for i in range(wk.pull.shape[1]):
                pull += wk.pull[j, i] ** 2
            fastest = max(fastest, np.sqrt(pull))
        fac = np.exp(G + clock_shift(pk, clock))
        h = min(cf[STEP], 1.0 / max(1e-300, fac * fastest), 2.0 / max(1e-300, rate))
        last = clock + h >= cf[END] * (1.0 - 1e-15)
        if last:
            h = cf[END] - clock
        keep(st, win.y, win.bits, win.code, win.sign, win.dead)
        for j in range(m):
            win.hits[j] = 0
        used, seen, nearest = ci[EV_USED], ci[N_EVENTS], cf[NEAREST]
        grow, most = 1.0, 1.5
        while True:
            status, err = relax(pk, st, clock, h, win, wk, noises, ev, ci, cf, win.u0, h * fac)
            cf[CLOCK] = clock
            if status == 0 and err <= 1.0:
                grow = min(most, max(0.3, 0.8 * max(err, 1e-10) ** -0.5))
                break
            put_back(pk, st, win.hits, win.y, win.bits, win.code, win.sign, win.dead)
            ci[EV_USED], ci[N_EVENTS], cf[NEAREST] = used, seen, nearest
            ci[N_REJECTED] += 1
            taken += 1
            if ci[ORIGIN] > 0:
                ci[ORIGIN] = 0
                return SHORT
            # A stretch that was too long for its series says so again if the next one is as long.
            most = 1.0
            h *= 0.5 if status == BAD else max(0.2, 0.8 * err**-0.5)
            last = False
            if h < 1e-6 * cf[STEP] or clock + h == clock:
                return SHORT
            velocity(pk, st, st.y, clock, win.tmp, wk)
        taken += 1
        new = cf[END] if last else clock + h
        finish(pk, st, clock, h, win)
        in_order(ev, used, ci[EV_USED])
        cf[CLOCK] = new
        if not last:
            cf[STEP] = h * grow
        clear_fresh(pk, st)
        ci[N_STEPS] += 1
        ci[N_WINDOWS] += 1
        ci[CHECKED] = 0
        ci[WAIT] = max(0, ci[WAIT] - 1)
        ci[TICK] += 1
        if ci[TICK] >= ci[STRIDE]:
            ci[TICK] = 0
            row = ci[CK_USED]
            ck_f[row, 0] = cf[CLOCK]
            ck_f[row, 1] = cf[STEP]
            write_row(ck_y, ck_code, row, st.y, st.code)
            ci[CK_USED] += 1


@inner
def clear_fresh(pk, st):
    """Surfaces that neurons have clearly left are ordinary again."""
    m, big = st.bits.shape
    r = pk.e.shape[1]
    for j in range(m):
        if st.dead[j] != 0:
            continue
        for k in range(big):
            if st.code[j, k] >= FRESH:
                u = 0.0
                for i in range(r):
                    u += st.y[j * r + i] * pk.e[k, i]
                side = 1.0 if (st.code[j, k] & 3) == ON else -1.0
                if side * u > LEFT * norm_q(st.y, j, r):
                    st.code[j, k] -= FRESH
