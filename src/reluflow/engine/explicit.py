"""One step of all neurons with bits frozen, of order 8; its error; what lies inside it.

Errors are measured per neuron on (q, b, c), so relative to its own scale, and on the outputs.
"""

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import inner
from reluflow.engine.field import SLID, copy, field, fill
from reluflow.engine.layout import row, weights
from reluflow.engine.tableau import DENSE, E3, E5, STAGES, A, C


@inner
def clock_shift(problem, clock):
    """The s of `field`: the clock itself where it is log(1 + t), 0 where it is t."""
    return clock if problem.late == 1 else 0.0


@inner
def velocity(problem, state, y, clock, out, work):
    """`out` = the velocity at y with respect to the clock; returns G."""
    return field(problem, state, y, clock_shift(problem, clock), out, work)


@inner
def delta_log(problem, state, clock, j):
    """log |a^2 - |w|^2| of neuron j: constant, with decay e^{-2 decay t} times its value at the start."""
    return state.delta_log[j] - 2.0 * problem.decay * clock


@inner
def on_invariant(b, square, c, kind, delta):
    """(b, c, factor of q) with |q|^2 + b^2 = 2 and 2 e^{2c} (b^2 - 1) = a^2 - |w|^2 = kind e^delta, from a state that
    has left them by little; `square` is |q|^2.

    The smallest of |q|, b and |b^2 - 1| is kept and the others follow from it: computed from them it would lose digits.
    """
    if kind != 0.0:
        if abs(b * b - 1.0) < 0.5:
            b = np.sign(b) * np.sqrt(max(0.0, 1.0 + 0.5 * kind * np.exp(delta - 2.0 * c)))
        elif b * b > 1.0 and square < 0.5:
            return np.sign(b) * np.sqrt(2.0 - square), 0.5 * (delta - np.log(2.0 * (1.0 - square))), 1.0
        else:
            c = 0.5 * (delta - np.log(2.0 * abs(b * b - 1.0)))
    return b, c, np.sqrt(max(0.0, 2.0 - b * b) / square) if square > 0.0 else 1.0


@inner
def settle(problem, state, y, clock):
    """Puts a state back on what it must satisfy: held surfaces, the law of a^2 - |w|^2, |q|^2 + b^2 = 2."""
    m = state.sign.size
    r = problem.e.shape[1]
    weight, log_size = weights(y, m)
    for j in range(m):
        if state.dead[j] != 0:
            continue
        surfaces.project(problem, state, y, j)
        if problem.first == 1:
            continue
        q = row(y, j, r)
        square = 0.0
        for i in range(r):
            square += q[i] * q[i]
        delta = delta_log(problem, state, clock, j)
        weight[j], log_size[j], factor = on_invariant(weight[j], square, log_size[j], state.delta_sign[j], delta)
        for i in range(r):
            q[i] *= factor


@inner
def add_stages(to, h, share, count, K):
    """to += h sum_b share_b K_b over the first `count` stages, in their order; those without a share are left out.

    Four stages at a time: their sum stays in a register.
    """
    b, four = 0, 0
    b0, b1, b2 = 0, 0, 0
    while b < count:
        if share[b] != 0.0:
            four += 1
            if four == 1:
                b0 = b
            elif four == 2:
                b1 = b
            elif four == 3:
                b2 = b
            else:
                w0, w1, w2, w3 = h * share[b0], h * share[b1], h * share[b2], h * share[b]
                K0, K1, K2, K3 = K[b0], K[b1], K[b2], K[b]
                for i in range(to.size):
                    to[i] = to[i] + w0 * K0[i] + w1 * K1[i] + w2 * K2[i] + w3 * K3[i]
                four = 0
        b += 1
    for part in range(four):
        b = b0 if part == 0 else b1 if part == 1 else b2
        w, row_b = h * share[b], K[b]
        for i in range(to.size):
            to[i] += w * row_b[i]


@inner
def stages(problem, state, scratch, clock, h, to, watched):
    """The step of size h from the present state, given K[0]: fills K[1:12] and `to`, settled.

    `watched`: work.held gets the release margins of the held surfaces at the stages.
    """
    y, K = state.y, scratch.K
    for a in range(1, STAGES + 1):
        copy(to, y)
        add_stages(to, h, A[a], a, K)
        if a < STAGES:
            velocity(problem, state, to, clock + C[a] * h, K[a], scratch.work)
            if watched and a < STAGES - 1:
                surfaces.margins(problem, state, scratch.work, scratch.at_x)
                surfaces.watch(state, scratch.at_x, scratch.work.held[a])
    settle(problem, state, to, clock + h)


@inner
def error(problem, state, run, scratch, h):
    """The step's error over its tolerance: the worst neuron, the energy, and the outputs where these may cancel."""
    m = state.sign.size
    r = problem.e.shape[1]
    K, e5, e3, work = scratch.K, scratch.e5, scratch.e3, scratch.work
    size = state.y.size
    for i in range(size):
        a5 = 0.0
        a3 = 0.0
        for p in range(STAGES):
            a5 += E5[p] * K[p, i]
            a3 += E3[p] * K[p, i]
        e5[i] = h * a5
        e3[i] = h * a3
    b, _ = weights(state.y, m)
    b5, c5 = weights(e5, m)
    b3, c3 = weights(e3, m)
    worst = 0.0
    loud = 0.0
    for j in range(m):
        if state.dead[j] != 0:
            continue
        s5 = 0.0
        s3 = 0.0
        norm = 0.0
        q, q1, q5, q3 = row(state.y, j, r), row(scratch.y1, j, r), row(e5, j, r), row(e3, j, r)
        unit = 1.0
        if problem.first == 1:
            # Relative to |q|, whose square may underflow.
            unit = 0.0
            for i in range(r):
                unit = max(unit, max(abs(q[i]), abs(q1[i])))
            unit = unit if unit > 0.0 else 1.0
        for i in range(r):
            s5 += (q5[i] / unit) ** 2
            s3 += (q3[i] / unit) ** 2
            norm += (max(abs(q[i]), abs(q1[i])) / unit) ** 2
        if problem.first == 1:
            loud += abs(b[j]) * work.e2c[j] * unit * np.sqrt(norm)
            s5 /= max(norm, 1e-300)
            s3 /= max(norm, 1e-300)
        else:
            # An error in q or b changes an output by e^{2c} |b| or e^{2c} |q| times it: about this where they differ.
            loud += 0.5 * work.e2c[j] * (b[j] * b[j] + norm)
            s5 += b5[j] ** 2 + c5[j] ** 2
            s3 += b3[j] ** 2 + c3[j] ** 2
        # Tested here because max() would drop a NaN.
        if not np.isfinite(s5 + s3):
            return np.inf
        if s5 > 0.0:
            worst = max(worst, s5 / np.sqrt(s5 + 0.01 * s3))
    last = size - 1
    if e5[last] != 0.0 and run.loss0 > 0.0:
        worst = max(worst, (e5[last] ** 2 / np.sqrt(e5[last] ** 2 + 0.01 * e3[last] ** 2)) / run.loss0)
    top = 0.0
    for i in range(problem.alpha.size):
        top = max(top, abs(problem.alpha[i]))
    if loud * top > 2.0:
        worst = max(worst, output_error(problem, state, run, e5, work))
    return worst / run.rtol


@inner
def loudness(problem, state, work):
    """How far the outputs may move, over 100 labels, if every neuron moves by its own size |(w, a)|; at least 1.

    Up to 100 the promise of 100 rtol leaves room for errors of rtol in every neuron. Beyond, outputs are small beside
    what they are made of: layers far from balance, or many large neurons that cancel.
    """
    loud, top = 0.0, 0.0
    for j in range(state.sign.size):
        if state.dead[j] == 0:
            loud += work.e2c[j]
    for i in range(problem.alpha.size):
        top = max(top, abs(problem.alpha[i]))
    return max(1.0, 0.01 * loud * top)


@inner
def output_error(problem, state, run, e5, work):
    """Effect of the state error e5 on the outputs, relative to max(1, |f|), linearised at the last work.u.

    An error below the rounding of an output's own terms does not count.
    """
    m, big = state.bits.shape
    r = problem.e.shape[1]
    weight, _ = weights(state.y, m)
    b5, c5 = weights(e5, m)
    acc, size = work.acc, work.probe_jump
    for k in range(big):
        acc[0, k] = 0.0
        acc[1, k] = 0.0
        size[k] = 0.0
    for j in range(m):
        if state.dead[j] != 0:
            continue
        b, e2c = weight[j], work.e2c[j]
        if e2c < 1e-16:
            continue
        db, dc, dq = b5[j], c5[j], row(e5, j, r)
        for k in range(big):
            if (state.code[j, k] & 3) >= SLID:
                continue
            du = 0.0
            for i in range(r):
                du += dq[i] * problem.e[k, i]
            change = e2c * (b * du + work.u[j, k] * (db + 2.0 * b * dc))
            acc[0, k] += state.bits[j, k] * change
            acc[1, k] += change
            size[k] += e2c * abs(b * work.u[j, k])
    worst = 0.0
    for i in range(problem.alpha.size):
        k = problem.surf[i]
        a = problem.alpha[i]
        df = a * acc[0, k] if a > 0 else a * ((1.0 + problem.slope) * acc[1, k] - acc[0, k])
        floor = 1e-15 * abs(a) * size[k] / run.rtol
        worst = max(worst, abs(df) / (max(1.0, abs(work.f[i])) + floor))
    return worst


@inner
def dense(problem, state, scratch):
    """Coefficients P of the order-7 interpolant over the step just taken; expects K[12] = field(y1)."""
    K, P, y1, tmp = scratch.K, scratch.P, scratch.y1, scratch.tmp
    clock, h = scratch.step.clock, scratch.step.h
    y = state.y
    size = y.size
    for a in range(13, 16):
        copy(tmp, y)
        add_stages(tmp, h, A[a], a, K)
        velocity(problem, state, tmp, clock + C[a] * h, K[a], scratch.work)
    for i in range(size):
        d = y1[i] - y[i]
        P[0, i] = d
        P[1, i] = h * K[0, i] - d
        P[2, i] = 2.0 * d - h * (K[12, i] + K[0, i])
    for p in range(4):
        part = P[3 + p]
        fill(part, 0.0)
        add_stages(part, h, DENSE[p], 16, K)
