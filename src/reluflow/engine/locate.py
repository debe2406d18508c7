"""The first crossing or release inside a step, found on its dense output."""

import numpy as np

from reluflow.engine import surfaces as slide
from reluflow.engine._jit import inner
from reluflow.engine.explicit import velocity
from reluflow.engine.field import FRESH, ON, SLID, copy_rows
from reluflow.engine.layout import N_FIELDS

LEFT = 1e-11  # a neuron has clearly left a surface


@inner
def interpolate(start, P, x):
    """Value at fraction x of the step of a scalar with coefficients P (7,)."""
    v = 0.0
    for p in range(6, -1, -1):
        v = (v + P[p]) * (x if p % 2 == 0 else 1.0 - x)
    return start + v


@inner
def first_violation(start, P, side, grain):
    """Smallest fraction at which side * value < -grain, to rounding; 2 if there is none.

    Looks at 17 places, and between them wherever three in a row show a minimum, so that a short visit is not missed.
    """
    lo, hi = 0.0, 2.0
    before, here = side * start, side * start
    for p in range(1, 17):
        x = p / 16.0
        there = side * interpolate(start, P, x)
        if p > 1 and here <= before and here <= there:
            at, value = lowest(start, P, side, x - 0.125, x)
            if value < -grain:
                # Everything up to the first of the three was on the right side.
                lo, hi = x - 0.125, at
                break
        if there < -grain:
            lo, hi = x - 0.0625, x
            break
        before, here = here, there
    if hi > 1.0:
        return 2.0
    for _ in range(60):
        mid = 0.5 * (lo + hi)
        if mid == lo or mid == hi:
            break
        if side * interpolate(start, P, mid) < -grain:
            hi = mid
        else:
            lo = mid
    return hi


@inner
def lowest(start, P, side, lo, hi):
    """(place, value) of the minimum of side * value on [lo, hi], by golden sections to a millionth of the step."""
    ratio = 0.6180339887498949
    a, b = hi - ratio * (hi - lo), lo + ratio * (hi - lo)
    fa, fb = side * interpolate(start, P, a), side * interpolate(start, P, b)
    for _ in range(26):
        if fa < fb:
            hi, b, fb = b, a, fa
            a = hi - ratio * (hi - lo)
            fa = side * interpolate(start, P, a)
        else:
            lo, a, fa = a, b, fb
            b = lo + ratio * (hi - lo)
            fb = side * interpolate(start, P, b)
    return (a, fa) if fa < fb else (b, fb)


@inner
def surface_poly(pk, P, j, k, r, out):
    """The interpolant of <q_j, e_k>."""
    for p in range(7):
        total = 0.0
        for i in range(r):
            total += P[p, j * r + i] * pk.e[k, i]
        out[p] = total


@inner
def normal_rate(pk, v, u, j, k, m, r):
    """Rate of <w_j, e_k> over e^c, from the velocity of (q, c): zero exactly where the data cannot move it."""
    total = 0.0
    for i in range(r):
        total += v[j * r + i] * pk.e[k, i]
    return total + v[m * r + m + j] * u


@inner
def speed(v, j, m, r):
    """Rate at which neuron j turns and grows."""
    total = v[m * r + m + j] ** 2
    for i in range(j * r, (j + 1) * r):
        total += v[i] ** 2
    return np.sqrt(total)


@inner
def norm_q(y, j, r):
    total = 0.0
    for i in range(j * r, (j + 1) * r):
        total += y[i] * y[i]
    return np.sqrt(total)


@inner
def suspects(pk, st, y1, h, K, u0, u1, who, where):
    """Pairs (neuron, surface) that may have crossed in the step; surface -1 stands for a change of sign of b.

    A wrong sign without a force that could have made it is rounding: such a coordinate is put back on its surface,
    and the second value returned says so.
    """
    m, big = st.bits.shape
    r = pk.e.shape[1]
    count, moved = 0, False
    for j in range(m):
        if st.dead[j] != 0:
            continue
        if pk.first == 0 and st.delta_sign[j] != 0.0 and y1[m * r + j] * st.sign[j] < 0.0:
            who[count], where[count] = j, -1
            count += 1
        if pk.slope == 1.0:
            continue
        q1 = norm_q(y1, j, r)
        v0, v1 = speed(K[0], j, m, r), speed(K[12], j, m, r)
        for k in range(big):
            kind = st.code[j, k] & 3
            if kind >= SLID:
                continue
            side = 1.0 if kind == ON else -1.0
            a, b = side * u0[j, k], side * u1[j, k]
            fresh = st.code[j, k] >= FRESH
            if b < (-0.1 * LEFT * q1 if fresh else 0.0):
                grain0, grain1 = 1e-13 * v0, 1e-13 * v1
                towards = side * normal_rate(pk, K[12], u1[j, k], j, k, m, r) < -grain1
                towards = towards or side * normal_rate(pk, K[0], u0[j, k], j, k, m, r) < -grain0
                if towards:
                    who[count], where[count] = j, k
                    count += 1
                elif b > -1e-6 * q1:
                    for i in range(r):
                        y1[j * r + i] -= u1[j, k] * pk.e[k, i]
                    u1[j, k] = 0.0
                    moved = True
                continue
            if fresh or min(a, b) > h * max(v0, v1):
                continue
            # Both ends on the right side: may the cubic through them dip below zero?
            da = side * h * normal_plain(pk, K[0], j, k, r)
            db = side * h * normal_plain(pk, K[12], j, k, r)
            if da < 0.0 < db and hermite_minimum(a, b, da, db) < 0.3 * min(a, b):
                who[count], where[count] = j, k
                count += 1
    return count, moved


@inner
def normal_plain(pk, v, j, k, r):
    total = 0.0
    for i in range(r):
        total += v[j * r + i] * pk.e[k, i]
    return total


@inner
def hermite_minimum(a, b, da, db):
    """Smallest value on [0, 1] of the cubic with these end values and slopes, da < 0 < db."""
    c3 = 2.0 * (a - b) + da + db
    c2 = -3.0 * (a - b) - 2.0 * da - db
    lo, hi = 0.0, 1.0
    for _ in range(30):
        x = 0.5 * (lo + hi)
        if da + x * (2.0 * c2 + 3.0 * c3 * x) < 0.0:
            lo = x
        else:
            hi = x
    return a + lo * (da + lo * (c2 + lo * c3))


@inner
def between(st, P, x, out):
    """The state at fraction x of the step."""
    for i in range(out.size):
        v = 0.0
        for p in range(6, -1, -1):
            v = (v + P[p, i]) * (x if p % 2 == 0 else 1.0 - x)
        out[i] = st.y[i] + v


@inner
def margin_at(pk, st, clock, h, x, P, tmp, K, wk, noises, out):
    """Smallest release margin at fraction x of the step, all of them in `out`."""
    between(st, P, x, tmp)
    velocity(pk, st, tmp, clock + x * h, K[15], wk)
    return slide.margins(pk, st, wk, noises, out)


@inner
def earliest(st, lo, hi, at_lo, at_hi):
    """Where, by straight lines between two fractions, the first held surface lets go."""
    best = hi
    for j in range(st.sign.size):
        if st.dead[j] != 0:
            continue
        for a in range(st.slid[j]):
            k = st.where[j, a]
            if at_hi[j, k] < 0.0:
                top = max(at_lo[j, k], 0.0)
                best = min(best, lo + (hi - lo) * top / (top - at_hi[j, k]))
    return best


@inner
def lowest_dip(st, at_lo, at_mid, at_hi):
    """Where, by parabolas through three places, a held surface comes nearest to letting go; 0 if none comes near."""
    best, where = 1.0, 0.0
    for j in range(st.sign.size):
        if st.dead[j] != 0:
            continue
        for a in range(st.slid[j]):
            k = st.where[j, a]
            c1 = -3.0 * at_lo[j, k] + 4.0 * at_mid[j, k] - at_hi[j, k]
            c2 = 2.0 * (at_lo[j, k] - 2.0 * at_mid[j, k] + at_hi[j, k])
            if c1 < 0.0 and c2 > -0.5 * c1:
                value = at_lo[j, k] - 0.25 * c1 * c1 / c2
                if value < 0.3 * min(at_lo[j, k], at_hi[j, k]) and value < best:
                    best, where = value, -0.5 * c1 / c2
    return where


@inner
def may_let_go(st, at_lo, at_hi):
    """Whether a held surface comes near to letting go in a step, by the margins at its ends."""
    for j in range(st.sign.size):
        if st.dead[j] != 0:
            continue
        for a in range(st.slid[j]):
            k = st.where[j, a]
            if min(at_lo[j, k], at_hi[j, k]) <= abs(at_hi[j, k] - at_lo[j, k]):
                return True
    return False


@inner
def first_release(pk, st, clock, h, hi, grain, P, tmp, K, wk, noises, at_lo, at_hi, at_x, ci):
    """The fraction in (0, hi] at which a held surface first lets go, given that one has at hi: (x, neuron, surface,
    side).

    To 100 `grain`, a fraction of the step.
    Expects the margins at the start of the step in `at_lo`.
    """
    lo, last, stuck = 0.0, 2.0, False
    _, wj, wkk, side = margin_at(pk, st, clock, h, hi, P, tmp, K, wk, noises, at_hi)
    for turn in range(80):
        ci[N_FIELDS] += 1
        if hi - lo < 100.0 * grain:
            break
        x = earliest(st, lo, hi, at_lo, at_hi)
        if stuck:
            # Estimates from one side agree, with the other end far away: look just across.
            x = hi - 50.0 * grain if last == hi else lo + 50.0 * grain
        if turn % 5 == 4 or not lo < x < hi:
            x = 0.5 * (lo + hi)
        low, a, b, c = margin_at(pk, st, clock, h, x, P, tmp, K, wk, noises, at_x)
        stuck = abs(x - last) < grain
        last = x
        if low < 0.0:
            hi, wj, wkk, side = x, a, b, c
            copy_rows(at_hi, at_x)
        else:
            lo = x
            copy_rows(at_lo, at_x)
    return hi, wj, wkk, side
