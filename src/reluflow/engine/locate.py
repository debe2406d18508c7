"""The first crossing or release inside a step, found on its dense output."""

import numpy as np

from reluflow.engine import bernstein, surfaces
from reluflow.engine._jit import inner
from reluflow.engine.explicit import velocity
from reluflow.engine.field import FRESH, ON, SLID, copy_rows, fill, norm_q
from reluflow.engine.layout import row, weights
from reluflow.engine.tableau import C

LEFT = 1e-11  # a neuron has clearly left a surface
GRAIN = 1e-12  # an excursion across a surface, relative to |q|, that is not looked for
GRAZE = 1e-3  # distance from a surface, relative to |q|, above which nothing is near to touching it
TERM = np.array([1 / 16, 0.03456, 1 / 64, 0.0084])  # largest values of the interpolant's last four terms
# A polynomial of degree 6, as the velocity of the interpolant is, whose modulus is at most 1 at the stages of a step is
# at most this on the whole of it (tests/engine/test_locate.py computes it).
REACH = 4.36
# The polynomial of degree 5 through release margins at the stages and at the end.
FIT, BACK = bernstein.fit_matrices(np.r_[C[:11], 1.0], 5)


@inner
def interpolate(start, P, x):
    """Value at fraction x of the step of a scalar with coefficients P (7,)."""
    v = 0.0
    for p in range(6, -1, -1):
        v = (v + P[p]) * (x if p % 2 == 0 else 1.0 - x)
    return start + v


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
    """Rate of <w_j, e_k> over e^c, from the velocity of (q, c), without decay: zero exactly where the data cannot
    move it."""
    _, c = weights(v, m)
    return along_normal(problem, v, j, k) + (c[j] + problem.decay) * u


@inner
def speed(problem, v, m, j):
    """Rate at which neuron j turns and grows, decay added back: where that balances the growth, forces still have the
    rounding of their own size."""
    r = problem.e.shape[1]
    q = row(v, j, r)
    _, c = weights(v, m)
    total = (c[j] + problem.decay) ** 2
    for i in range(r):
        total += q[i] ** 2
    return np.sqrt(total)


@inner
def shorter(y0, y1, j, r):
    """|q_j| at the start or the end of a step, the smaller one that is not 0: when the first layer alone is trained, q
    may grow by many orders of magnitude in one step."""
    size0, size1 = norm_q(y0, j, r), norm_q(y1, j, r)
    return min(size0, size1) if size0 > 0.0 and size1 > 0.0 else max(size0, size1)


@inner
def fastest(problem, state, scratch, top, top_b):
    """The largest |q_j'|^2 and |b_j'| of every neuron among the stages of the step."""
    r = problem.e.shape[1]
    m = state.sign.size
    fill(top, 0.0)
    fill(top_b, 0.0)
    for p in range(13):
        v = scratch.K[p]
        b, _ = weights(v, m)
        if r == 2:
            for j in range(m):
                total = v[2 * j] * v[2 * j] + v[2 * j + 1] * v[2 * j + 1]
                top[j] = total if total > top[j] else top[j]
        else:
            for j in range(m):
                q = row(v, j, r)
                total = 0.0
                for i in range(r):
                    total += q[i] * q[i]
                top[j] = total if total > top[j] else top[j]
        for j in range(m):
            top_b[j] = abs(b[j]) if abs(b[j]) > top_b[j] else top_b[j]


@inner
def across(problem, state, scratch, j, k):
    """Whether neuron j ends the step on the wrong side of surface k: by more than GRAIN after an event."""
    if state.code[j, k] < FRESH:
        return True
    return abs(scratch.u1[j, k]) > GRAIN * shorter(state.y, scratch.y1, j, problem.e.shape[1])


@inner
def crossed(problem, state, scratch, j, k):
    """Whether a force has taken neuron j across surface k, on whose wrong side it ends the step: without one it is
    rounding."""
    m = state.sign.size
    start, end = scratch.K[0], scratch.K[12]
    side = 1.0 if (state.code[j, k] & 3) == ON else -1.0
    b = side * scratch.u1[j, k]
    size = shorter(state.y, scratch.y1, j, problem.e.shape[1])
    grain0, grain1 = 1e-13 * speed(problem, start, m, j), 1e-13 * speed(problem, end, m, j)
    back = side * normal_rate(problem, end, m, j, k, scratch.u1[j, k])
    if back < -grain1 or side * normal_rate(problem, start, m, j, k, scratch.u0[j, k]) < -grain0:
        return True
    # Away from it at both ends: the neuron went across in between, and is on its way back.
    return b <= -1e-6 * size or (b < -GRAIN * size and back > grain1)


@inner
def suspects(problem, state, scratch):
    """Pairs (neuron, surface) that may have met in the step; surface -1 stands for a change of sign of b.

    A pair is excluded if the path of the neuron in the step is too short: to reach the surface and come back takes at
    least a + b, the distances at the two ends, and the path is at most REACH h times the largest velocity among the
    stages. A wrong sign without a force that could have made it is rounding: such a coordinate is put back on its
    surface, and step.moved is 1.
    Fills scratch.who, scratch.where and step.suspects; e5 and e3 are scratch space.
    """
    m, big = state.bits.shape
    r = problem.e.shape[1]
    step, y1, u0, u1 = scratch.step, scratch.y1, scratch.u0, scratch.u1
    top, top_b, reach = scratch.e5[:m], scratch.e3[:m], REACH * step.h
    b0, _ = weights(state.y, m)
    b1, _ = weights(y1, m)
    count, moved = 0, 0
    fastest(problem, state, scratch, top, top_b)
    for j in range(m):
        if state.dead[j] != 0:
            continue
        if problem.first == 0 and state.delta_sign[j] != 0.0:
            a, b = b0[j] * state.sign[j], b1[j] * state.sign[j]
            if b < 0.0 or a + b <= reach * top_b[j]:
                scratch.who[count], scratch.where[count] = j, -1
                count += 1
        if problem.slope == 1.0:
            continue
        far = reach * np.sqrt(top[j])
        for k in range(big):
            kind = state.code[j, k] & 3
            if kind >= SLID:
                continue
            side = 1.0 if kind == ON else -1.0
            a, b = side * u0[j, k], side * u1[j, k]
            if b < 0.0 and across(problem, state, scratch, j, k):
                if crossed(problem, state, scratch, j, k):
                    scratch.who[count], scratch.where[count] = j, k
                    count += 1
                else:
                    q = row(y1, j, r)
                    for i in range(r):
                        q[i] -= u1[j, k] * problem.e[k, i]
                    u1[j, k] = 0.0
                    moved = 1
            elif a + b <= far:
                scratch.who[count], scratch.where[count] = j, k
                count += 1
    step.suspects, step.moved = count, moved


@inner
def beyond_cubic(P, j, r):
    """|u - H| over the step for every surface at once, H the cubic through the ends and slopes of u: the largest values
    of the interpolant's last four terms."""
    total = 0.0
    for p in range(4):
        q = row(P[3 + p], j, r)
        size = 0.0
        for i in range(r):
            size += q[i] * q[i]
        total += TERM[p] * np.sqrt(size)
    return total


@inner
def meeting(problem, state, scratch, j, k):
    """(fraction of the step at which neuron j is first across surface k, 2 if it never is; how near it came to touching
    the surface without crossing it, 1 if it did not)."""
    m = state.sign.size
    r = problem.e.shape[1]
    step, P, poly, stack = scratch.step, scratch.P, scratch.poly, scratch.work.stack
    side = 1.0 if (state.code[j, k] & 3) == ON else -1.0
    size = shorter(state.y, scratch.y1, j, r)
    a, b = side * scratch.u0[j, k], side * scratch.u1[j, k]
    fresh = state.code[j, k] >= FRESH
    if b >= 0.0 and not fresh:
        da = side * step.h * along_normal(problem, scratch.K[0], j, k)
        db = side * step.h * along_normal(problem, scratch.K[12], j, k)
        if min(min(a, b), min(a + da / 3.0, b - db / 3.0)) >= beyond_cubic(P, j, r):
            return 2.0, 1.0
    surface_poly(problem, P, j, k, poly)
    bernstein.of_dense(scratch.u0[j, k], poly, side, stack[0])
    low = stack[0, 0]
    for l in range(8):
        low = min(low, stack[0, l])
    x = bernstein.first_below(stack, GRAIN * size if fresh or b >= 0.0 else 0.0)
    if x <= 1.0 or fresh or low > GRAZE * size:
        return x, 1.0
    rate = max(speed(problem, scratch.K[0], m, j), speed(problem, scratch.K[12], m, j))
    return x, grazing(scratch.u0[j, k], poly, side, step.h * rate)


@inner
def grazing(start, P, side, way):
    """sqrt(2 u'' u) over the speed at the lowest point inside the step: the slope with which a surface this much nearer
    would have been crossed, relative to the neuron's speed; `way` is that speed times the step. 1 without a lowest
    point inside."""
    best, place = np.inf, 0
    for p in range(17):
        v = side * interpolate(start, P, p / 16.0)
        if v < best:
            best, place = v, p
    if place == 0 or place == 16 or way == 0.0:
        return 1.0
    x, best = lowest(start, P, side, (place - 1) / 16.0, (place + 1) / 16.0)
    d = 1.0 / 16.0
    x = min(max(x, d), 1.0 - d)
    bend = interpolate(start, P, x - d) + interpolate(start, P, x + d) - 2.0 * interpolate(start, P, x)
    return np.sqrt(2.0 * max(side * bend, 0.0) * max(best, 0.0)) / (d * way)


@inner
def between(state, P, x, out):
    """The state at fraction x of the step."""
    for i in range(out.size):
        v = 0.0
        for p in range(6, -1, -1):
            v = (v + P[p, i]) * (x if p % 2 == 0 else 1.0 - x)
        out[i] = state.y[i] + v


@inner
def dip(problem, state, run, scratch, j):
    """How far b of neuron j may leave its side inside a step and come back: no bit depends on it. Only with a loss that
    has a kink: where a step passes one, by less than matters, polynomials swing that far."""
    m = state.sign.size
    b, _ = weights(scratch.y1, m)
    if scratch.margin.size == 0 or b[j] * state.sign[j] < 0.0:
        return 0.0
    return run.rtol * max(abs(b[j]), norm_q(scratch.y1, j, problem.e.shape[1]))


@inner
def first_crossing(problem, state, run, scratch):
    """The earliest crossing among the suspects, as step.x (2 without one), step.neuron and step.surface."""
    m = state.sign.size
    step, stack = scratch.step, scratch.work.stack
    b0, _ = weights(state.y, m)
    for p in range(step.suspects):
        j, k = scratch.who[p], scratch.where[p]
        if k < 0:
            for i in range(7):
                b, _ = weights(scratch.P[i], m)
                scratch.poly[i] = b[j]
            bernstein.of_dense(b0[j], scratch.poly, state.sign[j], stack[0])
            x = bernstein.first_below(stack, dip(problem, state, run, scratch, j))
        else:
            x, near = meeting(problem, state, scratch, j, k)
            if near < run.nearest:
                run.nearest, run.nearest_clock = near, step.clock
                run.nearest_neuron, run.nearest_surface = j, k
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
    """The smallest place found in (0, 1], not after step.x, where a held surface has been released; 0 if there is none.

    Looks where the polynomials through the margins at the stages do not exclude it. Expects the margins at the end in
    at_hi; leaves those at the place found there.
    """
    step = scratch.step
    hi = min(step.x, 1.0)
    best, looked = 2.0, -1.0
    if hi == 1.0 and step.margin1 < 0.0:
        best = 1.0
    for j in range(state.sign.size):
        for a in range(surfaces.held_count(state, j)):
            x = surfaces.release_place(state, scratch.work, surfaces.Watched(12, FIT, BACK), j, a, hi)
            if x == 0.0 or x == looked or x >= best:
                continue
            looked = x
            low, _, _, _ = margin_at(problem, state, scratch, x, scratch.at_x)
            run.n_fields += 1
            if low < 0.0:
                best = x
                copy_rows(scratch.at_hi, scratch.at_x)
    return best if best <= 1.0 else 0.0


@inner
def may_release(state, scratch):
    """Whether a held surface may have been released in the step, by the margins at its stages."""
    surfaces.watch(state, scratch.at_lo, scratch.work.held[0])
    surfaces.watch(state, scratch.at_hi, scratch.work.held[11])
    watched = surfaces.Watched(12, FIT, BACK)
    return scratch.step.margin1 < 0.0 or not surfaces.none_released(state, scratch.work, watched)


@inner
def earliest(state, lo, hi, at_lo, at_hi):
    """Where, by straight lines between two fractions, the first held surface is released."""
    best = hi
    for j in range(state.sign.size):
        for a in range(surfaces.held_count(state, j)):
            k = state.where[j, a]
            if at_hi[j, k] < 0.0:
                top = max(at_lo[j, k], 0.0)
                best = min(best, lo + (hi - lo) * top / (top - at_hi[j, k]))
    return best


@inner
def first_release(problem, state, run, scratch, hi):
    """The first release in (0, hi], given that one has happened at hi: into step.x, neuron, surface and side.

    Good to a hundredth of the run's tolerance in time. Expects the margins at the start in at_lo.
    """
    step = scratch.step
    at_lo, at_x, at_hi = scratch.at_lo, scratch.at_x, scratch.at_hi
    # Relative to the time itself: when only the first layer moves, a run may begin at times of 1e-13.
    grain = max(1e-16, 1e-4 * run.rtol * max(1.0, step.clock / step.h))
    lo, last, stuck = 0.0, 2.0, False
    _, neuron, surface, side = margin_at(problem, state, scratch, hi, at_hi)
    for turn in range(130):
        run.n_fields += 1
        if hi - lo < 100.0 * grain:
            break
        x = earliest(state, lo, hi, at_lo, at_hi)
        if stuck:
            # Estimates from one side agree, with the other end far away: look just across.
            x = hi - 50.0 * grain if last == hi else lo + 50.0 * grain
        # Lines between the ends approach from one side where the margin has a kink at its zero: two ways out of w = 0
        # that open together.
        if turn % 5 == 4 or turn >= 80 or not lo < x < hi:
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
