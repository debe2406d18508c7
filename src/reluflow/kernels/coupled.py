"""All neurons together: order-8 steps with bits frozen, every crossing and every release located, then resolved.

A step is taken as if no bit changed. If afterwards some <q_j, e_k> has the wrong sign, or a held surface wants to let
go, the earliest such moment is found on the dense output, which gives the state there, and `slide.resolve` decides
what happens. Errors are measured per neuron on (q, b, c), so relative to its own scale, and on the outputs. Where the
step is bounded by stability rather than by its error, `stiff` offers an implicit one.
"""

import numpy as np

from reluflow.kernels import slide, stiff
from reluflow.kernels._jit import APART, entry, inner
from reluflow.kernels.field import (
    ASLEEP,
    DEAD,
    FRESH,
    OFF,
    ON,
    SLID,
    SQUARE,
    copy,
    copy_rows,
    field,
    fill,
    stiffness,
)
from reluflow.kernels.tableau import DENSE, E3, E5, STAGES, A, C

RUNNING, REACHED, STATIONARY, FLUSH, STALLED, NOT_FINITE, STORM, QUIET, ASIDE = 0, 1, 2, 3, 4, 5, 6, 7, 8

# Places in the control arrays.
CLOCK, STEP, END, RTOL, LOSS0, REST, NEAREST, SPEED, PASSIVE = 0, 1, 2, 3, 4, 5, 6, 7, 8
N_STEPS, N_REJECTED, N_EVENTS, N_FIELDS, N_JUMP_EVENTS = 0, 1, 2, 3, 4
EV_USED, CK_USED, FR_NEXT, FR_USED, STRIDE, TICK = 5, 6, 7, 8, 9, 10
WAIT, ORIGIN, CHECKED, N_WINDOWS, PATIENCE, N_STIFF = 11, 12, 13, 14, 15, 16

SAME_INSTANT = 1e-13  # |<q, e>| / |q| that counts as being on the surface with another event
LEFT = 1e-11  # a neuron has clearly left a surface
STABLE = 4.0  # step times fastest rate: the pair holds to 6, but beyond 4.4 residuals alternate and surfaces let go
AHEAD, WORTH = 1.3, 2.0  # times the longest stable step: what makes an implicit one be tried, and be gone on with
AGAIN = 16  # explicit steps after one that was refused


@inner
def clock_shift(pk, clock):
    """The s of `field`: the clock itself for exponential tails, 0 for the square loss, whose clock is t."""
    return 0.0 if pk.loss == SQUARE else clock


@inner
def velocity(pk, st, y, clock, out, wk):
    """`out` = the velocity at y with respect to the clock; returns G."""
    return field(pk, y, clock_shift(pk, clock), st.bits, st.code, st.dead, st.slid, st.basis, out, wk)


@inner
def settle(pk, st, y):
    """Puts a state back on what it must satisfy: held surfaces, the invariant a^2 - |w|^2, |q|^2 + b^2 = 2."""
    m = st.sign.size
    r = pk.e.shape[1]
    for j in range(m):
        if st.dead[j] != 0:
            continue
        slide.project(st, y, j, r)
        if pk.first == 1:
            continue
        b = y[m * r + j]
        if st.delta_sign[j] != 0.0:
            c = y[m * r + m + j]
            ratio = 0.5 * st.delta_sign[j] * np.exp(st.delta_log[j] - 2.0 * c)
            if abs(b * b - 1.0) < 0.5:
                b = np.sign(b) * np.sqrt(max(0.0, 1.0 + ratio))
                y[m * r + j] = b
            else:
                y[m * r + m + j] = 0.5 * (st.delta_log[j] - np.log(2.0 * abs(b * b - 1.0)))
        size = 0.0
        for i in range(j * r, (j + 1) * r):
            size += y[i] * y[i]
        if size > 0.0:
            factor = np.sqrt(max(0.0, 2.0 - b * b) / size)
            for i in range(j * r, (j + 1) * r):
                y[i] *= factor


@inner
def stages(pk, st, clock, h, K, y1, wk):
    """The step of size h from st.y, given K[0]: fills K[1:12] and y1, settled."""
    y = st.y
    size = y.size
    for a in range(1, STAGES + 1):
        copy(y1, y)
        for b in range(a):
            w = h * A[a, b]
            if w != 0.0:
                for i in range(size):
                    y1[i] += w * K[b, i]
        if a < STAGES:
            velocity(pk, st, y1, clock + C[a] * h, K[a], wk)
    settle(pk, st, y1)


@inner
def error(pk, st, K, h, rtol, loss0, wk, e5, e3):
    """The step's error over its tolerance: the worst neuron, the energy, and the outputs where cancellation may
    hide."""
    m = st.sign.size
    r = pk.e.shape[1]
    size = st.y.size
    for i in range(size):
        a5 = 0.0
        a3 = 0.0
        for p in range(STAGES):
            a5 += E5[p] * K[p, i]
            a3 += E3[p] * K[p, i]
        e5[i] = h * a5
        e3[i] = h * a3
    worst = 0.0
    loud = 0.0
    for j in range(m):
        if st.dead[j] != 0:
            continue
        s5 = 0.0
        s3 = 0.0
        norm = 0.0
        for i in range(j * r, (j + 1) * r):
            s5 += e5[i] * e5[i]
            s3 += e3[i] * e3[i]
            norm += max(abs(st.y[i]), abs(st.y[i] + h * K[0, i])) ** 2
        amp = abs(st.y[m * r + j]) * wk.e2c[j] * np.sqrt(norm)
        if pk.first == 1:
            s5 /= norm
            s3 /= norm
        else:
            s5 += e5[m * r + j] ** 2 + e5[m * r + m + j] ** 2
            s3 += e3[m * r + j] ** 2 + e3[m * r + m + j] ** 2
        loud += amp
        # Said aloud because max() would drop a NaN.
        if not np.isfinite(s5 + s3):
            return np.inf
        if s5 > 0.0:
            worst = max(worst, s5 / np.sqrt(s5 + 0.01 * s3))
    last = size - 1
    if e5[last] != 0.0 and loss0 > 0.0:
        worst = max(worst, (e5[last] ** 2 / np.sqrt(e5[last] ** 2 + 0.01 * e3[last] ** 2)) / loss0)
    top = 0.0
    for i in range(pk.alpha.size):
        top = max(top, abs(pk.alpha[i]))
    if loud * top > 2.0:
        worst = max(worst, output_error(pk, st, wk, e5))
    return worst / rtol


@inner
def output_error(pk, st, wk, e5):
    """Effect of the state error e5 on the outputs, relative to max(1, |f|). Uses the last wk.u as the place to
    linearise."""
    m, big = st.bits.shape
    r = pk.e.shape[1]
    acc = wk.acc
    for k in range(big):
        acc[0, k] = 0.0
        acc[1, k] = 0.0
    for j in range(m):
        if st.dead[j] != 0:
            continue
        b, e2c = st.y[m * r + j], wk.e2c[j]
        if e2c < 1e-16:
            continue
        db, dc = e5[m * r + j], e5[m * r + m + j]
        for k in range(big):
            if (st.code[j, k] & 3) >= SLID:
                continue
            du = 0.0
            for i in range(r):
                du += e5[j * r + i] * pk.e[k, i]
            change = e2c * (b * du + wk.u[j, k] * (db + 2.0 * b * dc))
            acc[0, k] += st.bits[j, k] * change
            acc[1, k] += change
    worst = 0.0
    for i in range(pk.alpha.size):
        k = pk.surf[i]
        a = pk.alpha[i]
        df = a * acc[0, k] if a > 0 else a * ((1.0 + pk.slope) * acc[1, k] - acc[0, k])
        worst = max(worst, abs(df) / max(1.0, abs(wk.f[i])))
    return worst


@inner
def offer(pk, st, h, shortest, K, y1, wk, sf, e5, e3, cf, ci):
    """An implicit step from st.y to y1: (its size, its error over tolerance), the size 0 if `shortest` is too long.

    Expects wk at st.y and K[0]; leaves K[1:6] and the error in e5.
    """
    stiff.columns(pk, st, st.y, wk, sf)
    while h > shortest:
        done = stiff.stages(pk, st, h, cf[RTOL], K[1:6], y1, wk, sf)
        ci[N_FIELDS] += 4 * stiff.STAGES
        err = np.inf
        for again in range(2 if done else 0):
            stiff.estimate(pk, st, h, K[0], wk, sf, again == 1, e3, e5)
            err = max(stiff.largest(pk, st, e5), output_error(pk, st, wk, e5))
            if cf[LOSS0] > 0.0:
                err = max(err, abs(e5[st.y.size - 1]) / cf[LOSS0])
            err /= cf[RTOL]
            if err <= 1.0:
                settle(pk, st, y1)
                return h, err
        h *= max(0.2, 0.9 * err ** (-1.0 / stiff.ORDER)) if np.isfinite(err) else 0.25
    return 0.0, 0.0


@inner
def dense(pk, st, clock, h, K, y1, tmp, wk, P):
    """Coefficients of the order-7 interpolant over the step just taken; expects K[12] = field(y1)."""
    y = st.y
    size = y.size
    for a in range(13, 16):
        copy(tmp, y)
        for b in range(a):
            w = h * A[a, b]
            if w != 0.0:
                for i in range(size):
                    tmp[i] += w * K[b, i]
        velocity(pk, st, tmp, clock + C[a] * h, K[a], wk)
    for i in range(size):
        d = y1[i] - y[i]
        P[0, i] = d
        P[1, i] = h * K[0, i] - d
        P[2, i] = 2.0 * d - h * (K[12, i] + K[0, i])
    for p in range(4):
        row = P[3 + p]
        fill(row, 0.0)
        for b in range(16):
            w = h * DENSE[p, b]
            if w != 0.0:
                for i in range(size):
                    row[i] += w * K[b, i]


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


@inner
def record(ev, ci, cf, j, k, kind, unique):
    row = ci[EV_USED]
    if row >= ev.shape[0]:
        return
    ev[row, 0] = cf[CLOCK]
    ev[row, 1] = j
    ev[row, 2] = k
    ev[row, 3] = kind
    ev[row, 4] = unique
    ci[EV_USED] += 1
    ci[N_EVENTS] += 1


@inner
def settle_surfaces(pk, st, j, mark, wk, noises, ev, ci, cf, sure):
    """Resolves neuron j on its marked surfaces and records what changed."""
    _m, big = st.bits.shape
    r = pk.e.shape[1]
    old = np.empty(big + APART, np.int64)[:big]
    for k in range(big):
        old[k] = st.code[j, k]
    unique, distance = slide.resolve(pk, st, j, mark, wk, noises)
    unique = unique and sure == 1.0
    cf[NEAREST] = min(cf[NEAREST], distance)
    for k in range(big):
        if mark[k] == slide.ABSENT:
            continue
        kind = slide.change(old[k], st.code[j, k])
        if kind >= 0 or (not unique and mark[k] == slide.AT_START):
            if kind < 0:
                kind = slide.EV_ON if (st.code[j, k] & 3) == ON else slide.EV_OFF
            record(ev, ci, cf, j, k, kind, 1.0 if unique else 0.0)
        if (st.code[j, k] & 3) < SLID:
            u = 0.0
            for i in range(r):
                u += st.y[j * r + i] * pk.e[k, i]
            for i in range(r):
                st.y[j * r + i] -= u * pk.e[k, i]
    if slide.is_dead(pk, st, j):
        for k in range(big):
            st.code[j, k] = OFF
            st.bits[j, k] = 0.0
        st.slid[j] = 0
        st.dead[j] = DEAD
        record(ev, ci, cf, j, -1, slide.EV_DEAD, 1.0)
    else:
        slide.hold(pk, st, j)
        slide.project(st, st.y, j, r)
        if st.slid[j] == r:
            ci[ORIGIN] = j + 1


@inner
def at_event(pk, st, v, q0, pj, pk_, side, wk, noises, ev, ci, cf):
    """Resolves everything that happens at this instant. (pj, pk_, side) is what was located: side -1 crossing or
    sign, 0/1/2/3 release.

    `q0` are the norms |q_j| at the start of the step. Expects wk at the present state, with the bits from before.
    """
    m, big = st.bits.shape
    r = pk.e.shape[1]
    u = wk.u
    slide.noise(pk, st.y, m, r, wk, noises)
    mark = np.empty(big + APART, np.int64)[:big]
    resolution = 4.0 * 2.3e-16 * abs(cf[CLOCK])
    for j in range(m):
        if st.dead[j] != 0:
            continue
        fill(mark, slide.ABSENT)
        hit = False
        size = norm_q(st.y, j, r)
        primary = j == pj
        if primary and pk_ >= 0 and st.slid[j] > 0 and side < 0 and size <= 1e-9 * q0[j]:
            ci[ORIGIN] = j + 1
            continue
        unique = True
        if pk.first == 0 and st.delta_sign[j] != 0.0 and ((primary and pk_ < 0) or st.y[m * r + j] * st.sign[j] < 0.0):
            st.sign[j] = -st.sign[j]
            st.y[m * r + j] = st.sign[j] * 1e-300
            unique = st.slid[j] == 0
            hit = not unique
            record(ev, ci, cf, j, -1, slide.EV_SIGN, 1.0 if unique else 0.0)
        rate = speed(v, j, m, r)
        for k in range(big):
            kind = st.code[j, k] & 3
            if kind >= SLID:
                mark[k] = slide.HELD
                if primary and k == pk_:
                    hit = True
                    if side == 0:
                        mark[k] = slide.FORCE_OFF
                    elif side == 1:
                        mark[k] = slide.FORCE_ON
                continue
            falling = kind == ON
            if primary and k == pk_ and side < 0:
                mark[k] = slide.FALLING if falling else slide.RISING
                hit = True
            elif pk.slope < 1.0 and abs(u[j, k]) <= SAME_INSTANT * size + resolution * rate and st.code[j, k] < FRESH:
                across = normal_rate(pk, v, u[j, k], j, k, m, r)
                if (falling and across < -1e-13 * rate) or (not falling and across > 1e-13 * rate):
                    mark[k] = slide.FALLING if falling else slide.RISING
                    hit = True
        if hit:
            settle_surfaces(pk, st, j, mark, wk, noises, ev, ci, cf, 1.0 if unique else 0.0)


@inner
def resting(pk, st, K, G, rest, wk):
    """Whether nothing moves and nothing small grows: every pull is below `rest`, or belongs to a neuron that only
    shrinks.

    A held neuron may sit at the unstable end of its line, w = -s D/|D|, and shrink for ever without turning.
    """
    m = st.sign.size
    r = pk.e.shape[1]
    # With an exponential tail pulls fade for ever on separable data: there rest means that they cancel.
    shrink = np.exp(G) if pk.loss == SQUARE else 1.0
    for j in range(m):
        if st.dead[j] != 0:
            continue
        size = 0.0
        turn = 0.0
        for i in range(r):
            size += wk.pull[j, i] ** 2
            turn += K[0, j * r + i] ** 2
        if np.sqrt(size) * shrink <= rest:
            continue
        if st.slid[j] > 0 and np.sqrt(turn) <= rest and K[0, m * r + m + j] < 0.0 and pk.first == 0:
            continue
        return False
    return True


@inner
def calm(pk, st, v, noises, cf, wk):
    """Whether the outputs stand still: neurons that matter rest, all others are too small to be seen. Sets cf[SPEED].

    V = sum_j e^{2c} (2 |c'| + |q'| + |b'|), the speed of the outputs up to |x|, against 1e-15 and the rounding of the
    drive.
    """
    m = st.sign.size
    r = pk.e.shape[1]
    fast, slow, size, grain = 0.0, 0.0, 0.0, 0.0
    for j in range(m):
        if st.dead[j] != 0:
            continue
        e2c = wk.e2c[j]
        turn = 0.0
        for i in range(j * r, (j + 1) * r):
            turn += v[i] * v[i]
        rate = e2c * (2.0 * abs(v[m * r + m + j]) + np.sqrt(turn) + abs(v[m * r + j]))
        size += e2c
        if st.y[m * r + m + j] < cf[PASSIVE]:
            fast += rate
        else:
            slow += rate
    for k in range(noises.size):
        grain += noises[k]
    # A drift below the rounding of the drive is none: it would bound every jump, for ever.
    cf[SPEED] = slow if slow > 0.3 * size * grain else 0.0
    return fast + slow <= 1e-15 + 0.3 * size * grain


@inner
def write_row(rows_y, rows_code, row, y, code):
    """Stores a state and its codes as one row."""
    for i in range(y.size):
        rows_y[row, i] = y[i]
    big = code.shape[1]
    for j in range(code.shape[0]):
        for k in range(big):
            rows_code[row, j * big + k] = code[j, k]


@entry
def burst(
    pk,
    st,
    cf,
    ci,
    budget,
    saves,
    K,
    P,
    y1,
    tmp,
    e5,
    e3,
    u0,
    u1,
    at_lo,
    at_hi,
    at_x,
    wk,
    sf,
    probe,
    ev,
    ck_f,
    ck_y,
    ck_code,
    fr_f,
    fr_y,
    fr_code,
):
    """Up to `budget` steps; returns a status. Everything needed to go on is in st, cf, ci.

    Frames asked for in `saves` (clock values, ascending) are written to fr_*; a checkpoint after every STRIDE-th step
    to ck_*.
    """
    m, big = st.bits.shape
    r = pk.e.shape[1]
    room = m * (big + 2)
    noises = np.empty(big + APART)[:big]
    who, where = (
        np.empty(m * (big + 1) + APART, np.int64)[: m * (big + 1)],
        np.empty(m * (big + 1) + APART, np.int64)[: m * (big + 1)],
    )
    poly = np.empty(7 + APART)[:7]
    q0 = np.empty(m + APART)[:m]
    taken = 0
    idle = 0
    fresh_field = True
    G = 0.0
    while True:
        clock = cf[CLOCK]
        if fresh_field:
            G = velocity(pk, st, st.y, clock, K[0], wk)
            ci[N_FIELDS] += 1
            fresh_field = False
        total = 0.0
        for i in range(st.y.size):
            total += K[0, i]
        if not np.isfinite(total):
            return NOT_FINITE
        any_slid, any_asleep = False, False
        for j in range(m):
            if st.slid[j] > 0 and st.dead[j] == 0:
                any_slid = True
            if st.dead[j] == ASLEEP:
                any_asleep = True
        margin0 = 1.0
        if any_slid:
            slide.noise(pk, st.y, m, r, wk, noises)
            margin0, wj, wkk, side = slide.margins(pk, st, wk, noises, at_lo)
            if margin0 < 0.0:
                if ci[EV_USED] + room > ev.shape[0]:
                    return FLUSH
                for j in range(m):
                    q0[j] = norm_q(st.y, j, r)
                at_event(pk, st, K[0], q0, wj, wkk, side, wk, noises, ev, ci, cf)
                if ci[ORIGIN] > 0:
                    return ASIDE
                fresh_field = True
                idle += 1
                if idle > 20 * room:
                    return STORM
                continue
        if any_asleep and ci[CHECKED] == 0:
            return ASIDE
        if taken >= budget:
            return RUNNING
        if clock >= cf[END]:
            while ci[FR_NEXT] < saves.size:
                if ci[FR_USED] == fr_f.size:
                    return FLUSH
                row = ci[FR_USED]
                fr_f[row] = clock
                write_row(fr_y, fr_code, row, st.y, st.code)
                ci[FR_USED] += 1
                ci[FR_NEXT] += 1
            return REACHED
        if resting(pk, st, K, G, cf[REST], wk):
            return STATIONARY
        if ci[WAIT] == 0 and pk.first == 0:
            slide.noise(pk, st.y, m, r, wk, noises)
            if calm(pk, st, K[0], noises, cf, wk):
                return QUIET
        if ci[EV_USED] + room > ev.shape[0] or ci[CK_USED] == ck_y.shape[0] or ci[FR_USED] == fr_f.size:
            return FLUSH
        copy_rows(u0, wk.u)
        loss = stiff.square_loss(pk, wk.f)
        rate = stiffness(pk, st.y, clock_shift(pk, clock), st.bits, st.code, st.dead, st.slid, st.basis, probe, wk)
        h = min(cf[STEP], cf[END] - clock)
        longest = STABLE / rate if rate > 0.0 else np.inf
        implicit, grow = False, 1.0
        if ci[PATIENCE] > 0:
            ci[PATIENCE] -= 1
        elif sf.rhs.size > 0 and h > AHEAD * longest:
            size, err = offer(pk, st, h, longest, K, y1, wk, sf, e5, e3, cf, ci)
            implicit = size > 0.0
            if implicit:
                h = size
                grow = min(4.0, max(0.2, 0.9 * max(err, 1e-10) ** (-1.0 / stiff.ORDER)))
            if not implicit or h * grow < WORTH * longest:
                ci[PATIENCE] = AGAIN
        if not implicit:
            # An explicit pair never settles unless kept inside its region of stability.
            h = min(h, longest)
        # One step, shortened until its error fits.
        while not implicit:
            taken += 1
            ci[N_FIELDS] += STAGES - 1
            stages(pk, st, clock, h, K, y1, wk)
            err = error(pk, st, K, h, cf[RTOL], cf[LOSS0], wk, e5, e3)
            if not np.isfinite(err):
                err = 1e10
            if err <= 1.0:
                grow = min(5.0, max(0.2, 0.9 * max(err, 1e-10) ** -0.125))
                break
            ci[N_REJECTED] += 1
            h *= max(0.1, 0.9 * err**-0.125)
            if clock + h == clock or h < 1e-300:
                return STALLED
        last = clock + h >= cf[END] * (1.0 - 1e-15)
        if implicit:
            taken += 1
        new = cf[END] if last else clock + h
        velocity(pk, st, y1, new, K[12], wk)
        ci[N_FIELDS] += 1
        if implicit:
            # The energy feels the square of what the error estimate sees: what is spent must be what the loss lost.
            gap = stiff.square_loss(pk, wk.f) - loss + y1[y1.size - 1] - st.y[y1.size - 1]
            if not abs(gap) <= 0.1 * cf[RTOL] * cf[LOSS0]:
                ci[N_REJECTED] += 1
                cf[STEP] = 0.5 * h
                fresh_field = True
                continue
        copy_rows(u1, wk.u)
        margin1 = 1.0
        if any_slid:
            slide.noise(pk, y1, m, r, wk, noises)
            margin1, _, _, _ = slide.margins(pk, st, wk, noises, at_hi)
        count, moved = suspects(pk, st, y1, h, K, u0, u1, who, where)
        dips = any_slid and (margin1 < 0.0 or min(margin0, margin1) < 0.02 + 0.5 * abs(margin1 - margin0))
        if implicit and (count > 0 or (any_slid and may_let_go(st, at_lo, at_hi))):
            # Events are for explicit steps, which can be looked into.
            ci[PATIENCE] = AGAIN
            fresh_field = True
            continue
        dips = dips and not implicit
        x, pj, pkk, side = 2.0, -1, -1, -1
        if count > 0 or dips:
            dense(pk, st, clock, h, K, y1, tmp, wk, P)
            ci[N_FIELDS] += 3
            for p in range(count):
                j, k = who[p], where[p]
                if k < 0:
                    at = m * r + j
                    for i in range(7):
                        poly[i] = P[i, at]
                    xs = first_violation(st.y[at], poly, st.sign[j], 0.0)
                else:
                    surface_poly(pk, P, j, k, r, poly)
                    sgn = 1.0 if (st.code[j, k] & 3) == ON else -1.0
                    grain = 0.1 * LEFT * norm_q(y1, j, r) if st.code[j, k] >= FRESH else 0.0
                    xs = first_violation(u0[j, k], poly, sgn, grain)
                if xs < x:
                    x, pj, pkk, side = xs, j, k, -1
            if dips:
                hi = min(x, 1.0)
                low = margin1
                if hi < 1.0 or margin1 >= 0.0:
                    # Not at the end of the step, but perhaps before the crossing, or in between and back.
                    low, _, _, _ = margin_at(pk, st, clock, h, 0.5 * hi, P, tmp, K, wk, noises, at_x)
                    ci[N_FIELDS] += 1
                    if low < 0.0:
                        hi *= 0.5
                        copy_rows(at_hi, at_x)
                    else:
                        if hi < 1.0:
                            low, _, _, _ = margin_at(pk, st, clock, h, hi, P, tmp, K, wk, noises, at_hi)
                            ci[N_FIELDS] += 1
                        if low >= 0.0:
                            dip = lowest_dip(st, at_lo, at_x, at_hi)
                            if dip > 0.0:
                                low, _, _, _ = margin_at(pk, st, clock, h, dip * hi, P, tmp, K, wk, noises, at_hi)
                                ci[N_FIELDS] += 1
                                hi *= dip
                if low < 0.0:
                    grain = max(1e-16, 1e-4 * cf[RTOL] * max(1.0, clock) / h)
                    x, pj, pkk, side = first_release(
                        pk, st, clock, h, hi, grain, P, tmp, K, wk, noises, at_lo, at_hi, at_x, ci
                    )
        event = x <= 1.0
        if event:
            new = clock + x * h
            last = False
        # Frames inside the step: a step of their own, so that the run does not depend on what is saved.
        full, lost = True, False
        while ci[FR_NEXT] < saves.size and saves[ci[FR_NEXT]] < new:
            row = ci[FR_USED]
            if row == fr_f.size:
                full = False
                break
            at = max(saves[ci[FR_NEXT]], clock)
            if implicit and at - clock > longest:
                lost = not stiff.stages(pk, st, at - clock, cf[RTOL], K[1:6], tmp, wk, sf)
                if lost:
                    break
                settle(pk, st, tmp)
            else:
                stages(pk, st, clock, at - clock, K, tmp, wk)
            fr_f[row] = at
            write_row(fr_y, fr_code, row, tmp, st.code)
            ci[FR_USED] += 1
            ci[FR_NEXT] += 1
            fresh_field = True
        if lost:
            # No implicit step to this frame: explicit ones lead there.
            ci[PATIENCE] = AGAIN
            fresh_field = True
            continue
        if not full:
            # The step is taken again once there is room.
            fresh_field = True
            return FLUSH
        ci[N_STEPS] += 1
        ci[N_STIFF] += 1 if implicit else 0
        ci[CHECKED] = 0
        ci[WAIT] = max(0, ci[WAIT] - 1)
        if event:
            for j in range(m):
                q0[j] = norm_q(st.y, j, r)
            part = x * h
            if part > 0.0:
                # Inside an accepted step the interpolant is off by no more than the step's own error estimate.
                between(st, P, x, y1)
                settle(pk, st, y1)
            else:
                copy(y1, st.y)
            velocity(pk, st, y1, new, K[12], wk)
            if side < 0:
                # The located time is good to the step's error; one Newton step along the flow puts it on the surface.
                if pkk < 0:
                    miss, slope = y1[m * r + pj], K[12, m * r + pj]
                else:
                    miss, slope = wk.u[pj, pkk], normal_plain(pk, K[12], pj, pkk, r)
                shift = -miss / slope if slope != 0.0 else 0.0
                if abs(shift) <= 1e-4 * max(part, 1e-12 * abs(clock)) and new + shift > clock:
                    for i in range(y1.size):
                        y1[i] += shift * K[12, i]
                    new += shift
                    settle(pk, st, y1)
            velocity(pk, st, y1, new, K[12], wk)
            ci[N_FIELDS] += 2
            idle = idle + 1 if new == clock else 0
            copy(st.y, y1)
            cf[CLOCK] = new
            at_event(pk, st, K[12], q0, pj, pkk, side, wk, noises, ev, ci, cf)
            fresh_field = True
            if ci[ORIGIN] > 0:
                return ASIDE
            if idle > 20 * room:
                return STORM
            # Steps stay as long as before the event, which the error test allowed.
            cf[STEP] = h * max(1.0, grow)
        else:
            copy(st.y, y1)
            cf[CLOCK] = new
            idle = 0
            if not last:
                cf[STEP] = h * grow
            for j in range(m):
                if st.dead[j] != 0:
                    continue
                q1 = norm_q(y1, j, r)
                for k in range(big):
                    if st.code[j, k] >= FRESH:
                        sgn = 1.0 if (st.code[j, k] & 3) == ON else -1.0
                        if sgn * u1[j, k] > LEFT * q1:
                            st.code[j, k] -= FRESH
            if fresh_field or count > 0 or dips or moved:
                fresh_field = True
            else:
                for i in range(st.y.size):
                    K[0, i] = K[12, i]
        ci[TICK] += 1
        if ci[TICK] >= ci[STRIDE]:
            ci[TICK] = 0
            row = ci[CK_USED]
            ck_f[row, 0] = cf[CLOCK]
            ck_f[row, 1] = cf[STEP]
            write_row(ck_y, ck_code, row, st.y, st.code)
            ci[CK_USED] += 1
