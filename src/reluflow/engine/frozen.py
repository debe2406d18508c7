"""Constant drive: each neuron alone, from event to event, by formula.

In a cell D is constant. With d = |D|, p = <q, D>/d, q = p D/d + q_perp and b the output weight,

    P = b + p grows like e^{dt},   M = b - p decays like e^{-dt},   q_perp stays,   P M = |q_perp|^2 + 2 (b^2 - 1)

(balanced: b = +-1, where this is straight-line motion with sinh time). A surface with a = <D, e>/d is met where p =
p* := -<q_perp, e>/a,

    P Z^2 - 2 p* Z - M = 0,   Z = e^{dt};

b changes sign at Z^2 = -M/P; the neuron's size reaches e^C where P^2 W^2 + 2 (|q_perp|^2 - R) W + M^2 = 0, W = Z^2, R
= 2 e^{2(C - c)}. With the first layer alone q moves on a straight line at the constant velocity b D.
"""

import numpy as np

from reluflow.engine import surfaces as slide
from reluflow.engine._jit import APART, inner, making
from reluflow.engine.events import record, settle_surfaces
from reluflow.engine.explicit import velocity
from reluflow.engine.field import ON, SLID, SQUARE
from reluflow.engine.layout import CLOCK, EV_USED, N_EVENTS, N_JUMP_EVENTS, NEAREST
from reluflow.engine.locate import norm_q
from reluflow.engine.origin import leave_origin, rest_if_held
from reluflow.engine.surfaces import out_of_held

ALIGNED = 1e-28  # |q_perp|^2 below which the direction is that of D to rounding


@inner
def clock_at(pk, t):
    return t if pk.loss == SQUARE else np.log1p(t)


@inner
def pull_of(pk, st, j, wk, force, D):
    """D_j for the frozen forces; returns (its norm, the sum of the moduli that were added up)."""
    big = st.bits.shape[1]
    r = pk.e.shape[1]
    total = 0.0
    for i in range(r):
        D[i] = 0.0
    for k in range(big):
        if (st.code[j, k] & 3) >= SLID:
            continue
        coef = st.bits[j, k] * wk.jump[k] + wk.base[k]
        total += abs(coef)
        if coef != 0.0:
            for i in range(r):
                D[i] += coef * pk.e[k, i]
    out_of_held(st, j, r, D)
    size = 0.0
    for i in range(r):
        D[i] *= force
        size += D[i] * D[i]
    return np.sqrt(size), total * force


@inner
def first_root(P, M, Pi, target):
    """log of the smallest Z >= 1 with P Z^2 - 2 target Z - M = 0, given that one exists; inf if none does."""
    disc = target * target + Pi
    if disc < 0.0:
        return np.inf
    root = np.sqrt(disc)
    big = target + root if target >= 0.0 else target - root
    best = np.inf
    if P != 0.0:
        z = big / P
        if z > 1.0 - 1e-10:
            best = np.log(max(z, 1.0))
    if big != 0.0:
        z = -M / big
        if z > 1.0 - 1e-10:
            best = min(best, np.log(max(z, 1.0)))
    return best


@inner
def size_root(P, M, perp2, log_ratio):
    """log Z at which (P^2 Z^2 + M^2 / Z^2) / 2 + |q_perp|^2 grows to e^log_ratio; inf if it never does, 0 if it is
    there already."""
    if P == 0.0:
        return np.inf
    if log_ratio > 300.0:
        return 0.5 * (np.log(2.0) + log_ratio) - np.log(abs(P))
    R = np.exp(log_ratio)
    half = R - perp2
    disc = half * half - P * P * M * M
    if half <= 0.0 or disc < 0.0:
        return 0.0
    return max(0.0, 0.5 * np.log((half + np.sqrt(disc)) / (P * P)))


@making
def follow(pk, st, j, t0, t1, c_stop, force, wk, noises, ev, ci, cf, D, perp, reach):
    """Neuron j from time t0 to t1, or until its log size is c_stop (inf: never): the time reached.

    `force` is e^G, what the stored surface forces are multiplied by. Events are recorded at their own times.
    """
    m, big = st.bits.shape
    r = pk.e.shape[1]
    mark = np.empty(big + APART, np.int64)[:big]
    at_b, at_c = m * r + j, m * r + m + j
    t, idle = t0, 0
    for _ in range(100000):
        # On its surface for good, by a force that is rounding: it moves no further.
        if st.dead[j] != 0 or idle > 2 * big + 4:
            return t1
        d, total = pull_of(pk, st, j, wk, force, D)
        if d <= 1e-14 * total:
            return t1
        b, s = st.y[at_b], st.sign[j]
        p, perp2 = 0.0, 0.0
        for i in range(r):
            D[i] /= d
            p += st.y[j * r + i] * D[i]
        for i in range(r):
            perp[i] = st.y[j * r + i] - p * D[i]
        out_of_held(st, j, r, perp)
        for i in range(r):
            perp2 += perp[i] * perp[i]
        P, M, Pi = 0.0, 0.0, 0.0
        x_end = d * (t1 - t)
        x_size = np.inf
        x_sign = np.inf
        if pk.first == 0:
            if perp2 < ALIGNED:
                perp2 = 0.0
                for i in range(r):
                    perp[i] = 0.0
            Pi = perp2 + 2.0 * (b - 1.0) * (b + 1.0)
            # Whichever of b + p, b - p does not cancel gives the other one through their product.
            if b * p >= 0.0:
                P = b + p
                M = Pi / P
            else:
                M = b - p
                P = Pi / M
            if P == 0.0:
                # At the unstable end of its line, w = -s D/|D|: it shrinks for ever without turning.
                st.y[at_c] -= x_end
                return t1
            # b has a zero ahead only while its sign is not that of P: just after one, rounding would find it again.
            if st.delta_sign[j] != 0.0 and b * P < 0.0 and P * M < 0.0:
                x_sign = max(0.0, 0.5 * np.log(-M / P))
            if c_stop < np.inf:
                x_size = size_root(P, M, perp2, np.log(2.0) + 2.0 * (c_stop - st.y[at_c]))
        x = min(x_end, min(x_size, x_sign))
        hit = -1
        for k in range(big):
            reach[k] = np.inf
            kind = st.code[j, k] & 3
            if kind >= SLID or pk.slope == 1.0:
                continue
            a, u = 0.0, 0.0
            for i in range(r):
                a += D[i] * pk.e[k, i]
                u += st.y[j * r + i] * pk.e[k, i]
            if abs(a) * d <= 1e-13 * total or (kind == ON) == (a * s > 0.0):
                continue
            if pk.first == 1:
                reach[k] = max(0.0, -u / (a * b))
            else:
                reach[k] = first_root(P, M, Pi, p - u / a)
            if reach[k] < x:
                x = reach[k]
                hit = k
        # Move.
        if pk.first == 1:
            for i in range(r):
                st.y[j * r + i] += x * b * D[i]
        else:
            shrink = np.exp(-x)
            M1 = M * shrink * shrink
            b = 0.5 * (P + M1)
            size = b * b
            for i in range(r):
                q = perp[i] * shrink + 0.5 * (P - M1) * D[i]
                st.y[j * r + i] = q
                size += q * q
            size = np.sqrt(0.5 * size)
            st.y[at_c] += x + np.log(size)
            st.y[at_b] = b / size if st.delta_sign[j] != 0.0 else s
            for i in range(r):
                st.y[j * r + i] /= size
            back_on_invariant(st, j, m, r)
        if x == x_end:
            return t1
        idle = idle + 1 if t + x / d == t else 0
        t += x / d
        if hit < 0 and x == x_size:
            return t
        # What happens here, and whatever else happens at the same instant.
        cf[CLOCK] = clock_at(pk, t)
        sure = 1.0
        if hit < 0:
            st.sign[j] = -s
            st.y[at_b] = -s * 1e-300
            sure = 1.0 if st.slid[j] == 0 else 0.0
            record(ev, ci, cf, j, -1, slide.EV_SIGN, sure)
            if sure == 1.0:
                continue
        elif st.slid[j] > 0 and norm_q(st.y, j, r) <= 1e-9 * (np.sqrt(perp2) + abs(p)):
            record(ev, ci, cf, j, -1, slide.EV_ORIGIN, 0.0)
            for i in range(r):
                perp[i] = s * D[i]
            leave_origin(pk, st, j, perp, wk, noises, ev, ci, cf)
            continue
        for k in range(big):
            mark[k] = slide.ABSENT
            kind = st.code[j, k] & 3
            if kind >= SLID:
                mark[k] = slide.HELD
            elif reach[k] - x <= 1e-13 * max(1.0, x):
                mark[k] = slide.FALLING if kind == ON else slide.RISING
        settle_surfaces(pk, st, j, mark, wk, noises, ev, ci, cf, sure)
        rest_if_held(pk, st, ev, ci, cf)
        back_on_invariant(st, j, m, r)
    return t


@inner
def back_on_invariant(st, j, m, r):
    """|q|^2 + b^2 = 2 and 2 e^{2c} (b^2 - 1) = a^2 - |w|^2 for one neuron; held surfaces taken out of q."""
    slide.project(st, st.y, j, r)
    b, c = st.y[m * r + j], st.y[m * r + m + j]
    if st.delta_sign[j] != 0.0:
        if abs(b * b - 1.0) < 0.5:
            b = st.sign[j] * np.sqrt(max(0.0, 1.0 + 0.5 * st.delta_sign[j] * np.exp(st.delta_log[j] - 2.0 * c)))
            st.y[m * r + j] = b
        else:
            st.y[m * r + m + j] = 0.5 * (st.delta_log[j] - np.log(2.0 * abs(b * b - 1.0)))
    size = norm_q(st.y, j, r)
    if size > 0.0:
        factor = np.sqrt(max(0.0, 2.0 - b * b)) / size
        for i in range(j * r, (j + 1) * r):
            st.y[i] *= factor


@making
def jump(pk, st, cf, ci, span, order, wk, v, noises, ev):
    """Passive neurons under the present drive, resting ones untouched. `span` is (t0, t1, log size that ends it, log
    size below which a neuron is passive, G of the drive).

    With order[0] < 0 nothing is moved: returns the time at which the first neuron gets as large as span[2], at most
    t1, and leaves the drive in `wk`. Otherwise moves neurons order[0], order[0] + 1, ... to t1 as long as their
    events fit in `ev`; order[0] is then the next one, the width when all are done. The clock is the caller's to set.
    """
    m, big = st.bits.shape
    r = pk.e.shape[1]
    t0, t1, c_stop, c_passive = span[0], span[1], span[2], span[3]
    clock = cf[CLOCK]
    D, perp, reach = np.empty(r + APART)[:r], np.empty(r + APART)[:r], np.empty(big + APART)[:big]
    if order[0] < 0:
        span[4] = velocity(pk, st, st.y, clock, v, wk)
        slide.noise(pk, st.y, m, r, wk, noises)
    force = np.exp(span[4])
    kept_y, kept_code, kept_bits = (
        np.empty(r + 2 + APART)[: r + 2],
        np.empty(big + APART, np.int64)[:big],
        np.empty(big + APART)[:big],
    )
    trial = order[0] < 0
    j = 0 if trial else order[0]
    while j < m:
        if st.y[m * r + m + j] >= c_passive or st.dead[j] != 0 or (trial and pk.first == 1):
            j += 1
            continue
        for i in range(r):
            kept_y[i] = st.y[j * r + i]
        kept_y[r], kept_y[r + 1] = st.y[m * r + j], st.y[m * r + m + j]
        for k in range(big):
            kept_code[k], kept_bits[k] = st.code[j, k], st.bits[j, k]
        used, seen, sign, dead, nearest = ci[EV_USED], ci[N_EVENTS], st.sign[j], st.dead[j], cf[NEAREST]
        # Half again as large as it is now, for a neuron that is above the mark already.
        stop = max(c_stop, st.y[m * r + m + j] + 0.4) if trial else np.inf
        reached = follow(pk, st, j, t0, t1, stop, force, wk, noises, ev, ci, cf, D, perp, reach)
        full = ci[EV_USED] >= ev.shape[0]
        if trial:
            t1 = min(t1, reached)
        if trial or full:
            ci[EV_USED], ci[N_EVENTS], st.sign[j], st.dead[j], cf[NEAREST] = used, seen, sign, dead, nearest
            for i in range(r):
                st.y[j * r + i] = kept_y[i]
            st.y[m * r + j], st.y[m * r + m + j] = kept_y[r], kept_y[r + 1]
            for k in range(big):
                st.code[j, k], st.bits[j, k] = kept_code[k], kept_bits[k]
            slide.hold(pk, st, j)
        if full and not trial:
            break
        if not trial:
            ci[N_JUMP_EVENTS] += ci[N_EVENTS] - seen
        j += 1
    if not trial:
        order[0] = j
    cf[CLOCK] = clock
    return t1
