"""One step of all neurons with bits frozen: order 8, or implicit where that is stiff; its error; what lies inside it.

Errors are measured per neuron on (q, b, c), so relative to its own scale, and on the outputs.
"""

import numpy as np

from reluflow.engine import implicit as stiff
from reluflow.engine import surfaces as slide
from reluflow.engine._jit import inner
from reluflow.engine.field import SLID, SQUARE, copy, field, fill
from reluflow.engine.layout import LOSS0, N_FIELDS, RTOL
from reluflow.engine.tableau import DENSE, E3, E5, STAGES, A, C


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
