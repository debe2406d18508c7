r"""Many iterations of descent at once: the sum of a smooth sequence by a polynomial through a few of its terms.

An iteration adds d(k) = -eta grad L at theta(k), so that N of them add

    theta(k + N) - theta(k) = sum_{n < N} d(k + n)

Between two changes of a bit d is smooth in k. Through its values at `ORDER` earlier iterations goes a polynomial, whose
sum over n has a closed form for any N (Bernoulli numbers): the prediction. The value of d at the predicted end adds one
degree: the correction. This is an Adams method for sums: it follows the iterates of descent themselves, at any step
eta, not the flow they approximate, and for N = 1 it is an iteration. With x = (iteration - k) / N, nodes x_i <= 0:

    pi_j(x) = prod_{i < j} (x - x_i),   gamma_j(n) = (1/N) sum_{k < n} pi_j(k / N)
    theta(k + n) = theta(k) + N (sum_j gamma_j(n) d[x_0 .. x_j] + gamma_P(n) d[x_0 .. x_{P-1}, 1])

Every coefficient of pi_j in powers of x is >= 0, so that the gammas are computed without cancellation.
"""

from math import comb
from typing import NamedTuple

import numpy as np

from reluflow.engine import loss as losses
from reluflow.engine._jit import glue, inner
from reluflow.engine.descent import drive, look, pulls

ORDER = 9  # sums over nodes go by threes
TOLERANCE = 1e-13  # error estimate of one leap, relative to every neuron
DAMPED = 0.23  # eta rate N at which the method damps fastest; it is stable up to 0.33


def _sums() -> np.ndarray:
    """S[l, i] with (1/N) sum_{k < N} (k/N)^l = sum_i S[l, i] N^-i."""
    bernoulli = [1.0, -1 / 2, 1 / 6, 0.0, -1 / 30, 0.0, 1 / 42, 0.0, -1 / 30, 0.0]
    table = np.zeros((ORDER + 1, ORDER + 1))
    for k in range(ORDER + 1):
        for i in range(k + 1):
            table[k, i] = comb(k + 1, i) * bernoulli[i] / (k + 1)
    return table


SUMS = _sums()


class Ahead(NamedTuple):
    """What leaps and jumps need beside the state. Rows of size (d + 1) m + 1 hold q, b, energy or their changes."""

    past: np.ndarray  # (ORDER, size) changes at earlier iterations, a ring
    node: np.ndarray  # (ORDER,) int64: those iterations
    start: np.ndarray  # (size,) the state at the start of a leap
    new: np.ndarray  # (size,) the change at its end
    seen: np.ndarray  # (size,) the change foreseen there
    highest: np.ndarray  # (size,) the highest divided difference
    x: np.ndarray  # (ORDER,)
    poly: np.ndarray  # (ORDER + 1, ORDER + 1) coefficients of pi_j
    share: np.ndarray  # (ORDER, ORDER) coefficients of divided differences
    weight: np.ndarray  # (5, ORDER + 1): of the prediction, of the value at x = 1, gamma, of a dense state, moments
    row: np.ndarray  # (size,) what is being written
    exponent: np.ndarray  # (m,) int64: exponents before plain iterations
    u: np.ndarray  # (4, n, m): <x_i, q_j> and <x_i, dq_j> at the start and at the end of a leap
    gram: np.ndarray  # (n, n), or (0, 0) where the trace has to do
    bent: np.ndarray  # (n,) square roots of l''
    size: np.ndarray  # (m,) |q|^2 + b^2
    cell: np.ndarray  # (2, d, m): in a jump, the direction of D and what of q is across it
    real: np.ndarray  # (4, m): in a jump, b + p and b - p at the base, log(1 + eta |D|), log(1 - eta |D|)
    whole: np.ndarray  # (3, m) int64: in a jump, the base, the next event, the end
    q: np.ndarray  # (d,) one neuron


@glue
def change(task, st, D, h, out):
    """One iteration's change of (q, b, energy) at the present state."""
    d, m = st.q.shape
    spent = 0.0
    for j in range(m):
        h[j] = 0.0
    for k in range(d):
        for j in range(m):
            h[j] += D[k, j] * st.q[k, j]
            v = task.step * st.b[j] * D[k, j]
            out[k * m + j] = v
            spent += st.amp[j] * (v * v)
    for j in range(m):
        v = task.step * h[j] if task.first == 0 else 0.0
        out[d * m + j] = v
        spent += st.amp[j] * (v * v)
    out[(d + 1) * m] = spent / task.step


@inner
def field(task, st, blas, w, out):
    """The change at the present state into `out`; returns how many bits and signs are others than before."""
    u = w.u.reshape(st.mask.shape)
    changed, flips = look(task, st, task.x, w.order, blas, u, w.flat, w.turn, w.ab, w.f, w.g)
    drive(task, w.order, w.f, w.g)
    pulls(task, task.x, w.order, blas, u, w.turn, w.g, w.D)
    change(task, st, w.D, w.h, out)
    return changed + flips


@inner
def margins(x, q, row, u, v):
    """<x_i, q_j> and <x_i, dq_j>."""
    n, d = x.shape
    m = q.shape[1]
    for i in range(n):
        for j in range(m):
            u[i, j] = x[i, 0] * q[0, j]
            v[i, j] = x[i, 0] * row[j]
        for k in range(1, d):
            for j in range(m):
                u[i, j] += x[i, k] * q[k, j]
                v[i, j] += x[i, k] * row[k * m + j]


@glue
def curvature(task, f, out):
    """The square root of l'' at every datum."""
    weight = (1.0 / f.size if task.mean == 1 else 1.0) * losses.factor(task.loss)
    for i in range(f.size):
        out[i] = np.sqrt(losses.curvature(task.loss, weight, task.y[i], f[i]))


@inner
def fastest(task, st, gram, u, f, D, bent):
    """A bound on the rates of the flow: |D| of neurons plus the norm (or trace, without `gram`) of l'' times the kernel
    K_ik = sum_j e^{2c} (m_i m_k <x_i, x_k> b^2 + m_i u_i m_k u_k)."""
    n, m = st.mask.shape
    d = D.shape[0]
    curvature(task, f, bent)
    full = gram.size > 0
    total = 0.0
    for i in range(n):
        for k in range(0 if full else i, i + 1):
            near = 0.0
            size = 0.0
            for j in range(m):
                both = st.amp[j] * (st.mask[i, j] * st.mask[k, j])
                near += both * (st.b[j] * st.b[j])
                size += both * (u[i, j] * u[k, j])
            g = 0.0
            for p in range(0 if full else d):
                g += task.x[i, p] * task.x[i, p]
            part = bent[i] * bent[k] * ((gram[i, k] if full else g) * near + (0.0 if task.first == 1 else size))
            total += part if not full else part * part * (1.0 if i == k else 2.0)
    pull = 0.0
    for j in range(m if task.first == 0 else 0):
        s = 0.0
        for p in range(d):
            s += D[p, j] * D[p, j]
        pull = max(pull, s)
    return (np.sqrt(total) if full else total) + np.sqrt(pull)


@inner
def prepare(ahead, now, top, length):
    """Coefficients of a leap of `length` iterations from `now`; returns (pi_P(1), gamma_P, factor of the estimate)."""
    P = ORDER
    x, poly, share, weight = ahead.x, ahead.poly, ahead.share, ahead.weight
    for i in range(P):
        x[i] = (ahead.node[(top - i) % P] - now) / length
    for j in range(P + 1):
        weight[0, j] = 0.0
        weight[1, j] = 0.0
        for k in range(P + 1):
            poly[j, k] = 0.0
    poly[0, 0] = 1.0
    for j in range(P):
        for k in range(j + 1):
            poly[j + 1, k] -= x[j] * poly[j, k]
            poly[j + 1, k + 1] += poly[j, k]
    # d[x_0 .. x_j] = sum_i share[j, i] d(x_i)
    share[0, 0] = 1.0
    for j in range(1, P):
        last = 1.0
        for i in range(j):
            apart = x[i] - x[j]
            share[j, i] = share[j - 1, i] / apart
            last *= -apart
        share[j, j] = 1.0 / last
    gammas(poly, length, length, weight)
    at_one = 1.0
    for j in range(P):
        for i in range(j + 1):
            weight[0, i] += weight[2, j] * share[j, i]
            weight[1, i] += at_one * share[j, i]
        at_one *= 1.0 - x[j]
    return at_one, weight[2, P], abs(weight[2, P] - (1.0 - x[P - 1]) * weight[2, P - 1])


@inner
def gammas(poly, n, length, weight):
    """gamma_j(n) of all j into `weight[2]`."""
    power = 1.0
    back = 1.0 / n if n > 0 else 0.0
    for k in range(ORDER + 1):
        power *= n / length
        s = 0.0
        for i in range(k, -1, -1):
            s = s * back + SUMS[k, i]
        weight[4, k] = power * s
    for j in range(ORDER + 1):
        s = 0.0
        for k in range(j + 1):
            s += poly[j, k] * weight[4, k]
        weight[2, j] = s


@inner
def predict(st, ahead, top, length):
    """Puts the predicted state in place, its start into `start`, and the change foreseen into `seen`."""
    start, new, seen = ahead.start, ahead.new, ahead.seen
    store(st.q, st.b, st.energy, start)
    for p in range(start.size):
        new[p] = start[p]
        seen[p] = 0.0
    for i in range(0, ORDER, 3):
        a, b, c = ahead.past[(top - i) % ORDER], ahead.past[(top - i - 1) % ORDER], ahead.past[(top - i - 2) % ORDER]
        ua, ub, uc = length * ahead.weight[0, i], length * ahead.weight[0, i + 1], length * ahead.weight[0, i + 2]
        va, vb, vc = ahead.weight[1, i], ahead.weight[1, i + 1], ahead.weight[1, i + 2]
        for p in range(start.size):
            new[p] += ua * a[p] + ub * b[p] + uc * c[p]
            seen[p] += va * a[p] + vb * b[p] + vc * c[p]
    fetch(new, st.q, st.b, st.energy)


@inner
def correct(task, st, ahead, at_one, gamma, length, factor):
    """Puts the corrected state in place; returns the largest error estimate of a neuron, relative to its size."""
    d, m = st.q.shape
    new, seen, highest, size = ahead.new, ahead.seen, ahead.highest, ahead.size
    for p in range(new.size):
        highest[p] = (new[p] - seen[p]) / at_one
    by = length * gamma
    worst = 0.0
    for j in range(m):
        st.b[j] += by * highest[d * m + j]
        size[j] = st.b[j] * st.b[j] if task.first == 0 else 0.0
    for k in range(d):
        for j in range(m):
            st.q[k, j] += by * highest[k * m + j]
            size[j] += st.q[k, j] * st.q[k, j]
    for j in range(m):
        error = 0.0
        for k in range(d + 1):
            error += highest[k * m + j] * highest[k * m + j]
        if error > 0.0:
            worst = max(worst, error / size[j])
    st.energy[0] += by * highest[(d + 1) * m]
    return length * factor * np.sqrt(worst)


@inner
def dense(ahead, top, length, n, out):
    """The state n iterations into a leap."""
    start, highest, weight = ahead.start, ahead.highest, ahead.weight
    gammas(ahead.poly, n, length, weight)
    for i in range(ORDER):
        weight[3, i] = 0.0
        for j in range(i, ORDER):
            weight[3, i] += weight[2, j] * ahead.share[j, i]
    w = length * weight[2, ORDER]
    for p in range(start.size):
        out[p] = start[p] + w * highest[p]
    for i in range(0, ORDER, 3):
        a, b, c = ahead.past[(top - i) % ORDER], ahead.past[(top - i - 1) % ORDER], ahead.past[(top - i - 2) % ORDER]
        ua, ub, uc = length * weight[3, i], length * weight[3, i + 1], length * weight[3, i + 2]
        for p in range(start.size):
            out[p] += ua * a[p] + ub * b[p] + uc * c[p]


@inner
def store(q, b, energy, row):
    """The state as one row."""
    d, m = q.shape
    for k in range(d):
        for j in range(m):
            row[k * m + j] = q[k, j]
    for j in range(m):
        row[d * m + j] = b[j]
    row[(d + 1) * m] = energy[0]


@inner
def fetch(row, q, b, energy):
    """The state from one row."""
    d, m = q.shape
    for k in range(d):
        for j in range(m):
            q[k, j] = row[k * m + j]
    for j in range(m):
        b[j] = row[d * m + j]
    energy[0] = row[(d + 1) * m]


@inner
def crossing(x, q, b, sign, start, length):
    """A length that ends before the first bit or sign that a leap of `length` changed, by linear interpolation."""
    n, d = x.shape
    m = b.size
    share = 1.0
    for j in range(m):
        b0, b1 = start[d * m + j], b[j]
        if b1 * sign[j] <= 0.0:
            share = min(share, b0 / (b0 - b1) if b0 != b1 else 0.0)
        for i in range(n):
            u0, u1 = 0.0, 0.0
            for k in range(d):
                u0 += x[i, k] * start[k * m + j]
                u1 += x[i, k] * q[k, j]
            if (u1 > 0.0) != (u0 > 0.0) or (u1 < 0.0) != (u0 < 0.0):
                share = min(share, u0 / (u0 - u1) if u0 != u1 else 0.0)
    return int(0.95 * share * length) - 1


@inner
def dipped(u, length):
    """True when some <x_i, q_j> may have passed 0 and come back: the tangents at both ends meet beyond it."""
    n, m = u.shape[1:]
    found = False
    for i in range(n):
        for j in range(m):
            s = 1.0 if u[0, i, j] > 0.0 else -1.0
            fall, rise = s * u[1, i, j] * length, s * u[3, i, j] * length
            if fall < 0.0 and rise > 0.0:
                here, there = s * u[0, i, j], s * u[2, i, j]
                found = found or here + fall * (there - rise - here) / (fall - rise) <= 0.0
    return found
