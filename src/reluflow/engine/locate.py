"""The first crossing or release inside a step, found on its dense output."""

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import inner
from reluflow.engine.explicit import velocity
from reluflow.engine.field import FRESH, ON, SLID, copy_rows
from reluflow.engine.layout import row, weights

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
def surface_poly(problem, P, j, k, out):
    """The interpolant of <q_j, e_k>."""
    r = problem.e.shape[1]
    for p in range(7):
        q = row(P[p], j, r)
        total = 0.0
        for i in range(r):
            total += q[i] * problem.e[k, i]
        out[p] = total


@inner
def along_normal(problem, y, j, k):
    """<q_j, e_k> of a state or a velocity y."""
    r = problem.e.shape[1]
    q = row(y, j, r)
    total = 0.0
    for i in range(r):
        total += q[i] * problem.e[k, i]
    return total


@inner
def normal_rate(problem, v, m, j, k, u):
    """Rate of <w_j, e_k> over e^c, from the velocity of (q, c): zero exactly where the data cannot move it."""
    _, c = weights(v, m)
    return along_normal(problem, v, j, k) + c[j] * u


@inner
def speed(v, m, j, r):
    """Rate at which neuron j turns and grows."""
    q = row(v, j, r)
    _, c = weights(v, m)
    total = c[j] ** 2
    for i in range(r):
        total += q[i] ** 2
    return np.sqrt(total)


@inner
def norm_q(y, j, r):
    """|q_j|."""
    q = row(y, j, r)
    total = 0.0
    for i in range(r):
        total += q[i] * q[i]
    return np.sqrt(total)


@inner
def suspects(problem, state, scratch):
    """Pairs (neuron, surface) that may have crossed in the step; surface -1 stands for a change of sign of b.

    A wrong sign without a force that could have made it is rounding: such a coordinate is put back on its surface, and
    step.moved says so. Fills scratch.who, scratch.where and step.suspects.
    """
    m, big = state.bits.shape
    r = problem.e.shape[1]
    step, y1, u0, u1 = scratch.step, scratch.y1, scratch.u0, scratch.u1
    start, end, h = scratch.K[0], scratch.K[12], step.h
    b1, _ = weights(y1, m)
    count, moved = 0, 0
    for j in range(m):
        if state.dead[j] != 0:
            continue
        if problem.first == 0 and state.delta_sign[j] != 0.0 and b1[j] * state.sign[j] < 0.0:
            scratch.who[count], scratch.where[count] = j, -1
            count += 1
        if problem.slope == 1.0:
            continue
        q1 = norm_q(y1, j, r)
        v0, v1 = speed(start, m, j, r), speed(end, m, j, r)
        for k in range(big):
            kind = state.code[j, k] & 3
            if kind >= SLID:
                continue
            side = 1.0 if kind == ON else -1.0
            a, b = side * u0[j, k], side * u1[j, k]
            fresh = state.code[j, k] >= FRESH
            if b < (-0.1 * LEFT * q1 if fresh else 0.0):
                grain0, grain1 = 1e-13 * v0, 1e-13 * v1
                towards = side * normal_rate(problem, end, m, j, k, u1[j, k]) < -grain1
                towards = towards or side * normal_rate(problem, start, m, j, k, u0[j, k]) < -grain0
                if towards:
                    scratch.who[count], scratch.where[count] = j, k
                    count += 1
                elif b > -1e-6 * q1:
                    q = row(y1, j, r)
                    for i in range(r):
                        q[i] -= u1[j, k] * problem.e[k, i]
                    u1[j, k] = 0.0
                    moved = 1
                continue
            if fresh or min(a, b) > h * max(v0, v1):
                continue
            # Both ends on the right side: may the cubic through them dip below zero?
            da = side * h * along_normal(problem, start, j, k)
            db = side * h * along_normal(problem, end, j, k)
            if da < 0.0 < db and hermite_minimum(a, b, da, db) < 0.3 * min(a, b):
                scratch.who[count], scratch.where[count] = j, k
                count += 1
    step.suspects, step.moved = count, moved


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
def between(state, P, x, out):
    """The state at fraction x of the step."""
    for i in range(out.size):
        v = 0.0
        for p in range(6, -1, -1):
            v = (v + P[p, i]) * (x if p % 2 == 0 else 1.0 - x)
        out[i] = state.y[i] + v


@inner
def first_crossing(problem, state, scratch):
    """The earliest crossing among the suspects, as step.x (2 without one), step.neuron and step.surface."""
    m = state.sign.size
    r = problem.e.shape[1]
    step, P, poly = scratch.step, scratch.P, scratch.poly
    b0, _ = weights(state.y, m)
    for p in range(step.suspects):
        j, k = scratch.who[p], scratch.where[p]
        if k < 0:
            for i in range(7):
                b, _ = weights(P[i], m)
                poly[i] = b[j]
            x = first_violation(b0[j], poly, state.sign[j], 0.0)
        else:
            surface_poly(problem, P, j, k, poly)
            side = 1.0 if (state.code[j, k] & 3) == ON else -1.0
            grain = 0.1 * LEFT * norm_q(scratch.y1, j, r) if state.code[j, k] >= FRESH else 0.0
            x = first_violation(scratch.u0[j, k], poly, side, grain)
        if x < step.x:
            step.x, step.neuron, step.surface, step.side = x, j, k, -1


@inner
def margin_at(problem, state, scratch, x, out):
    """Smallest release margin at fraction x of the step, all of them in `out`."""
    step = scratch.step
    between(state, scratch.P, x, scratch.tmp)
    velocity(problem, state, scratch.tmp, step.clock + x * step.h, scratch.K[15], scratch.work)
    return surfaces.margins(problem, state, scratch.work, out)


@inner
def released_before(problem, state, run, scratch):
    """A place in (0, 1], not after step.x, where a held surface has been released; 0 if there is none.

    Looks at the end, half-way, and where parabolas through the margins at three places have their minimum. Expects
    the margins at the start and at the end in at_lo and at_hi; leaves those at the place found in at_hi.
    """
    step = scratch.step
    at_lo, at_x, at_hi = scratch.at_lo, scratch.at_x, scratch.at_hi
    hi = min(step.x, 1.0)
    if hi >= 1.0 and step.margin1 < 0.0:
        return hi
    # Not at the end of the step, but perhaps before the crossing, or in between and back.
    low, _, _, _ = margin_at(problem, state, scratch, 0.5 * hi, at_x)
    run.n_fields += 1
    if low < 0.0:
        copy_rows(at_hi, at_x)
        return 0.5 * hi
    low = step.margin1
    if hi < 1.0:
        low, _, _, _ = margin_at(problem, state, scratch, hi, at_hi)
        run.n_fields += 1
    if low < 0.0:
        return hi
    dip = lowest_dip(state, at_lo, at_x, at_hi)
    if dip > 0.0:
        low, _, _, _ = margin_at(problem, state, scratch, dip * hi, at_hi)
        run.n_fields += 1
        if low < 0.0:
            return dip * hi
    return 0.0


@inner
def earliest(state, lo, hi, at_lo, at_hi):
    """Where, by straight lines between two fractions, the first held surface is released."""
    best = hi
    for j in range(state.sign.size):
        if state.dead[j] != 0:
            continue
        for a in range(state.slid[j]):
            k = state.where[j, a]
            if at_hi[j, k] < 0.0:
                top = max(at_lo[j, k], 0.0)
                best = min(best, lo + (hi - lo) * top / (top - at_hi[j, k]))
    return best


@inner
def lowest_dip(state, at_lo, at_mid, at_hi):
    """Where, by parabolas through three places, a held surface comes nearest to its release; 0 if none comes near."""
    best, where = 1.0, 0.0
    for j in range(state.sign.size):
        if state.dead[j] != 0:
            continue
        for a in range(state.slid[j]):
            k = state.where[j, a]
            c1 = -3.0 * at_lo[j, k] + 4.0 * at_mid[j, k] - at_hi[j, k]
            c2 = 2.0 * (at_lo[j, k] - 2.0 * at_mid[j, k] + at_hi[j, k])
            if c1 < 0.0 and c2 > -0.5 * c1:
                value = at_lo[j, k] - 0.25 * c1 * c1 / c2
                if value < 0.3 * min(at_lo[j, k], at_hi[j, k]) and value < best:
                    best, where = value, -0.5 * c1 / c2
    return where


@inner
def may_release(state, at_lo, at_hi):
    """Whether a held surface comes near to its release in a step, by the margins at its ends."""
    for j in range(state.sign.size):
        if state.dead[j] != 0:
            continue
        for a in range(state.slid[j]):
            k = state.where[j, a]
            if min(at_lo[j, k], at_hi[j, k]) <= abs(at_hi[j, k] - at_lo[j, k]):
                return True
    return False


@inner
def first_release(problem, state, run, scratch, hi):
    """The first release in (0, hi], given that one has happened at hi: into step.x, neuron, surface and side.

    Good to a hundredth of the run's tolerance in time. Expects the margins at the start in at_lo.
    """
    step = scratch.step
    at_lo, at_x, at_hi = scratch.at_lo, scratch.at_x, scratch.at_hi
    grain = max(1e-16, 1e-4 * run.rtol * max(1.0, step.clock) / step.h)
    lo, last, stuck = 0.0, 2.0, False
    _, neuron, surface, side = margin_at(problem, state, scratch, hi, at_hi)
    for turn in range(80):
        run.n_fields += 1
        if hi - lo < 100.0 * grain:
            break
        x = earliest(state, lo, hi, at_lo, at_hi)
        if stuck:
            # Estimates from one side agree, with the other end far away: look just across.
            x = hi - 50.0 * grain if last == hi else lo + 50.0 * grain
        if turn % 5 == 4 or not lo < x < hi:
            x = 0.5 * (lo + hi)
        low, j, k, to = margin_at(problem, state, scratch, x, at_x)
        stuck = abs(x - last) < grain
        last = x
        if low < 0.0:
            hi, neuron, surface, side = x, j, k, to
            copy_rows(at_hi, at_x)
        else:
            lo = x
            copy_rows(at_lo, at_x)
    step.x, step.neuron, step.surface, step.side = hi, neuron, surface, side
