r"""Many iterations of descent at once: the sum of a smooth sequence by a polynomial through a few of its terms.

An iteration adds d(k) = -eta grad L at theta(k), decay included, so that N of them add

    theta(k + N) - theta(k) = sum_{n < N} d(k + n)

Between two changes of a bit d is smooth in k. Through its values at `ORDER` earlier iterations goes a polynomial, whose
sum over n has a closed form for any N (Bernoulli numbers): the prediction. The value of d at the predicted end adds one
degree: the correction. This is an Adams method for sums: it follows the iterates of descent themselves, at any step
eta, not the flow they approximate, and for N = 1 it is an iteration. With x = (iteration - k) / N, nodes x_i <= 0:

    pi_j(x) = prod_{i < j} (x - x_i),   gamma_j(n) = (1/N) sum_{k < n} pi_j(k / N)
    theta(k + n) = theta(k) + N (sum_j gamma_j(n) d[x_0 .. x_j] + gamma_P(n) d[x_0 .. x_{P-1}, 1])

Every coefficient of pi_j in powers of x is >= 0, so that the gammas are computed without cancellation. The weights of
earlier changes in the prediction have both signs, and those of a leap that is long beside its nodes add up to 1e5 in
modulus: N eps sum |weights| |d| of rounding belongs to the error estimate.
"""

from math import comb
from typing import NamedTuple

import numpy as np

from reluflow.engine import loss as losses
from reluflow.engine._jit import glue, inner
from reluflow.engine.descent import all_rows, look, pulls, total

ORDER = 9  # sums over nodes go by threes
TOLERANCE = 1e-13  # error estimate of one leap, relative to every neuron
EPS = float(np.finfo(float).eps)
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


class Leap(NamedTuple):
    """What leaps need beside the state. Rows of size (d + 1) m + 1 hold q, b, energy or their changes."""

    past: np.ndarray  # (ORDER, size) changes at earlier iterations, a ring
    node: np.ndarray  # (ORDER,) int64: those iterations
    start: np.ndarray  # (size,) the state at the start of a leap
    new: np.ndarray  # (size,) the change at its end
    foreseen: np.ndarray  # (size,) the change that the prediction has there
    highest: np.ndarray  # (size,) the highest divided difference
    x: np.ndarray  # (ORDER,)
    poly: np.ndarray  # (ORDER + 1, ORDER + 1) coefficients of pi_j
    share: np.ndarray  # (ORDER, ORDER) coefficients of divided differences
    predict: np.ndarray  # (ORDER + 1,) weights of earlier changes in the prediction
    at_end: np.ndarray  # (ORDER + 1,) and in the change at x = 1
    gamma: np.ndarray  # (ORDER + 1,)
    inside: np.ndarray  # (ORDER + 1,) weights of earlier changes in a state inside the leap
    moment: np.ndarray  # (ORDER + 1,) sums of powers
    row: np.ndarray  # (size,) what is being written
    exponent: np.ndarray  # (m,) int64: exponents before plain iterations
    u0: np.ndarray  # (n, m) <x_i, q_j> at the start and at the end of a leap
    u1: np.ndarray
    v0: np.ndarray  # (n, m) their changes there, <x_i, dq_j>
    v1: np.ndarray
    gram: np.ndarray  # (n, n), or (0, 0) where the trace has to do
    root: np.ndarray  # (n,) square roots of the curvatures l''
    size: np.ndarray  # (m,) |q|^2 + b^2


def leap_room(x: np.ndarray, m: int) -> Leap:
    """Room for leaps of m neurons on data x."""
    n, d = x.shape
    size = (d + 1) * m + 1
    table, weights = (ORDER + 1, ORDER + 1), ORDER + 1
    return Leap(
        past=np.zeros((ORDER, size)),
        node=np.zeros(ORDER, np.int64),
        **{name: np.zeros(size) for name in ("start", "new", "foreseen", "highest", "row")},
        x=np.zeros(ORDER),
        poly=np.zeros(table),
        share=np.zeros((ORDER, ORDER)),
        **{name: np.zeros(weights) for name in ("predict", "at_end", "gamma", "inside", "moment")},
        exponent=np.zeros(m, np.int64),
        **{name: np.zeros((n, m)) for name in ("u0", "u1", "v0", "v1")},
        gram=x @ x.T if n <= 8 * d else np.empty((0, 0)),
        root=np.zeros(n),
        size=np.zeros(m),
    )


@glue
def change(task, st, work, out):
    """One iteration's change of (q, b, energy) at the present state."""
    d, m = st.q.shape
    D, h, spent, fade = work.D, work.h, work.part, task.step * task.decay
    for j in range(m):
        h[j] = 0.0
        spent[j] = 0.0
    for k in range(d):
        for j in range(m):
            h[j] += D[k, j] * st.q[k, j]
            v = task.step * st.b[j] * D[k, j] - fade * st.q[k, j]
            out[k * m + j] = v
            spent[j] += v * v
    for j in range(m):
        v = task.step * h[j] - fade * st.b[j] if task.first == 0 else 0.0
        out[d * m + j] = v
        spent[j] = (spent[j] + v * v) * st.amp[j]
    out[(d + 1) * m] = total(spent) / task.step


@inner
def field(task, st, work, out):
    """The change at the present state into `out`; returns how many bits and signs are others than before."""
    batch = all_rows(task, work)
    changed, flips = look(task, st, batch, work)
    pulls(task, batch, work)
    change(task, st, work, out)
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
def fastest(task, st, leap, work):
    """A bound on the rates of the flow: |D| of neurons plus the norm (or trace, without `gram`) of l'' times the kernel
    K_ik = sum_j e^{2c} (m_i m_k <x_i, x_k> b^2 + m_i u_i m_k u_k)."""
    n, m = st.mask.shape
    gram, u, root, D = leap.gram, leap.u0, leap.root, work.D
    d = D.shape[0]
    curvature(task, work.f, root)
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
            part = root[i] * root[k] * ((gram[i, k] if full else g) * near + (0.0 if task.first == 1 else size))
            total += part if not full else part * part * (1.0 if i == k else 2.0)
    pull = 0.0
    for j in range(m if task.first == 0 else 0):
        s = 0.0
        for p in range(d):
            s += D[p, j] * D[p, j]
        pull = max(pull, s)
    return (np.sqrt(total) if full else total) + np.sqrt(pull) + task.decay


@inner
def prepare(leap, now, top, length):
    """Coefficients of a leap of `length` iterations from `now`; returns pi_P(1), the factor of the highest divided
    difference in the error estimate, and that of the change."""
    P = ORDER
    x, poly, share, gamma = leap.x, leap.poly, leap.share, leap.gamma
    for i in range(P):
        x[i] = (leap.node[(top - i) % P] - now) / length
    for j in range(P + 1):
        leap.predict[j] = 0.0
        leap.at_end[j] = 0.0
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
    gammas(leap, length, length)
    at_one = 1.0
    for j in range(P):
        for i in range(j + 1):
            leap.predict[i] += gamma[j] * share[j, i]
            leap.at_end[i] += at_one * share[j, i]
        at_one *= 1.0 - x[j]
    weights = 0.0
    for i in range(P):
        weights += abs(leap.predict[i])
    return at_one, length * abs(gamma[P] - (1.0 - x[P - 1]) * gamma[P - 1]), length * EPS * weights


@inner
def gammas(leap, n, length):
    """gamma_j(n) of all j into `leap.gamma`."""
    moment = leap.moment
    power = 1.0
    back = 1.0 / n if n > 0 else 0.0
    for k in range(ORDER + 1):
        power *= n / length
        s = 0.0
        for i in range(k, -1, -1):
            s = s * back + SUMS[k, i]
        moment[k] = power * s
    for j in range(ORDER + 1):
        s = 0.0
        for k in range(j + 1):
            s += leap.poly[j, k] * moment[k]
        leap.gamma[j] = s


@inner
def predict(st, leap, top, length):
    """Puts the predicted state in place, its start into `start`, and the change it foresees into `foreseen`."""
    start, new, seen, one, two = leap.start, leap.new, leap.foreseen, leap.predict, leap.at_end
    store(st.q, st.b, st.energy, start)
    for p in range(start.size):
        new[p] = start[p]
        seen[p] = 0.0
    for i in range(0, ORDER, 3):
        a, b, c = leap.past[(top - i) % ORDER], leap.past[(top - i - 1) % ORDER], leap.past[(top - i - 2) % ORDER]
        ua, ub, uc = length * one[i], length * one[i + 1], length * one[i + 2]
        va, vb, vc = two[i], two[i + 1], two[i + 2]
        for p in range(start.size):
            new[p] += ua * a[p] + ub * b[p] + uc * c[p]
            seen[p] += va * a[p] + vb * b[p] + vc * c[p]
    fetch(new, st.q, st.b, st.energy)


@inner
def correct(task, st, leap, at_one, length, factors):
    """Puts the corrected state in place; returns the largest error estimate of a neuron, relative to its size."""
    d, m = st.q.shape
    new, seen, highest, size = leap.new, leap.foreseen, leap.highest, leap.size
    for p in range(new.size):
        highest[p] = (new[p] - seen[p]) / at_one
    by = length * leap.gamma[ORDER]
    worst = 0.0
    for j in range(m):
        st.b[j] += by * highest[d * m + j]
        size[j] = st.b[j] * st.b[j] if task.first == 0 else 0.0
    for k in range(d):
        for j in range(m):
            st.q[k, j] += by * highest[k * m + j]
            size[j] += st.q[k, j] * st.q[k, j]
    for j in range(m):
        error, moved = 0.0, 0.0
        for k in range(d + 1):
            error += highest[k * m + j] * highest[k * m + j]
            moved += new[k * m + j] * new[k * m + j]
        if error + moved > 0.0:
            worst = max(worst, (factors[0] * np.sqrt(error) + factors[1] * np.sqrt(moved)) / np.sqrt(size[j]))
    st.energy[0] += by * highest[(d + 1) * m]
    return worst


@inner
def state_inside(leap, top, length, n, out):
    """The state n iterations into a leap."""
    start, highest, gamma, inside = leap.start, leap.highest, leap.gamma, leap.inside
    gammas(leap, n, length)
    for i in range(ORDER):
        inside[i] = 0.0
        for j in range(i, ORDER):
            inside[i] += gamma[j] * leap.share[j, i]
    w = length * gamma[ORDER]
    for p in range(start.size):
        out[p] = start[p] + w * highest[p]
    for i in range(0, ORDER, 3):
        a, b, c = leap.past[(top - i) % ORDER], leap.past[(top - i - 1) % ORDER], leap.past[(top - i - 2) % ORDER]
        ua, ub, uc = length * inside[i], length * inside[i + 1], length * inside[i + 2]
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
def crossing(x, st, start, length):
    """A length that ends before the first bit or sign that a leap of `length` changed, by linear interpolation."""
    n, d = x.shape
    m = st.b.size
    share = 1.0
    for j in range(m):
        b0, b1 = start[d * m + j], st.b[j]
        if b1 * st.sign[j] <= 0.0:
            share = min(share, b0 / (b0 - b1) if b0 != b1 else 0.0)
        for i in range(n):
            u0, u1 = 0.0, 0.0
            for k in range(d):
                u0 += x[i, k] * start[k * m + j]
                u1 += x[i, k] * st.q[k, j]
            if (u1 > 0.0) != (u0 > 0.0) or (u1 < 0.0) != (u0 < 0.0):
                share = min(share, u0 / (u0 - u1) if u0 != u1 else 0.0)
    return int(0.95 * share * length) - 1


@inner
def dipped(leap, length):
    """True when some <x_i, q_j> may have passed 0 and come back: the tangents at both ends meet beyond it."""
    n, m = leap.u0.shape
    found = False
    for i in range(n):
        for j in range(m):
            s = 1.0 if leap.u0[i, j] > 0.0 else -1.0
            fall, rise = s * leap.v0[i, j] * length, s * leap.v1[i, j] * length
            if fall < 0.0 and rise > 0.0:
                here, there = s * leap.u0[i, j], s * leap.u1[i, j]
                found = found or here + fall * (there - rise - here) / (fall - rise) <= 0.0
    return found
