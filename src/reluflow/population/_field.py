r"""The population field of m students and M teachers, for numba.

With unit directions u_j, teachers B_k v_k (v_k unit) and students of size A_j = a_j |w_j|,

    D_j = sum_k B_k g(u_j, v_k) - sum_i A_i g(u_j, u_i),    2 pi g(u, v) = (1-c)^2 ((pi - th) v + sin th u) + 2 pi c v

depends on directions alone. Both layers trained: w = e^c q, a = e^c b, |q|^2 = r^2 = 2 - b^2, A = e^{2c} b r, and

    u' = (b/r) (D - <u,D> u),   b' = (1 - b^2) r <u,D>,   c' = b r <u,D>;

a neuron at w = 0 (b = +-sqrt 2, q = 0) stays there while b <u, D> < 0 in every direction, and its u moves by
u' = b (D - <u,D> u) towards the direction in which that is largest. First layer alone: w = e^c u, A = a e^c, u' =
a e^-c (D - <u,D> u), c' = a e^-c <u,D>.

Neurons that come to point the same way differ by e^-mu t, which no unit vector can hold, and part again when the
cluster sits on a saddle. A balanced neuron next to another one is therefore written as u_j = u_p + e^{l_j} z_j, p its
parent; D_j - D_p is computed relative to e^{l_j}, so that z_j obeys an equation in which the size of the difference
appears only through its square, and not at all once that is below rounding.
"""

from typing import NamedTuple

import numba
import numpy as np

jit = numba.njit(cache=True, error_model="numpy")

PI = np.pi
LINEAR = -37.0  # log |difference| below which its square is less than rounding
HELD = 1e-13  # |q|^2 up to which w counts as 0: the neuron is held there while every direction pulls it back
NEAR = 0.99  # cosine beyond which an angle is taken from the chord


class Source(NamedTuple):
    """What does not change along a run: teachers, slope, which layers are trained."""

    size: np.ndarray  # B_k, (M,)
    unit: np.ndarray  # v_k, (M, r)
    slope: float
    first: bool


class Tree(NamedTuple):
    """How neurons are written: `parent` (-1: as a unit vector), `ell` the logarithm of the unit of z, an order in which
    parents come first, and the rates at which `ell` itself moves (0 but inside a step)."""

    parent: np.ndarray
    ell: np.ndarray
    order: np.ndarray
    growth: np.ndarray


@jit
def directions(z, tree, out):
    """Unit vectors u_j from the state's rows z; a parent's is normalised, a child is its parent plus e^l z."""
    m, r = z.shape
    for k in range(m):
        j = tree.order[k]
        p = tree.parent[j]
        if p < 0:
            total = 0.0
            for i in range(r):
                total += z[j, i] * z[j, i]
            total = np.sqrt(total)
            for i in range(r):
                out[j, i] = z[j, i] / total
        else:
            scale = np.exp(tree.ell[j])
            for i in range(r):
                out[j, i] = out[p, i] + scale * z[j, i]


@jit
def sizes(b, c, first, out):
    """A_j = a_j |w_j|."""
    for j in range(b.size):
        if first:
            out[j] = b[j] * np.exp(c[j])
        else:
            square = 2.0 - b[j] * b[j]
            out[j] = np.exp(2.0 * c[j]) * b[j] * np.sqrt(square) if square > HELD else 0.0


@jit
def angle(u, v, cosine):
    """(theta, sin theta) of two unit vectors whose inner product is known; from the chord next to 0 and pi."""
    if -NEAR < cosine < NEAR:
        return np.arccos(cosine), np.sqrt((1.0 - cosine) * (1.0 + cosine))
    total = 0.0
    sign = -1.0 if cosine > 0 else 1.0
    for i in range(u.size):
        x = u[i] + sign * v[i]
        total += x * x
    part = 2.0 * np.arcsin(min(1.0, 0.5 * np.sqrt(total)))
    if cosine > 0:
        return part, np.sin(part)
    return PI - part, np.sin(part)


@jit
def product(x, y, out):
    """out = x y, in an order whose inner loop runs along rows: no BLAS threads, the same bits on every machine."""
    for i in range(x.shape[0]):
        for j in range(y.shape[1]):
            out[i, j] = 0.0
        for k in range(x.shape[1]):
            value = x[i, k]
            for j in range(y.shape[1]):
                out[i, j] += value * y[k, j]


@jit
def transposed(x):
    out = np.empty((x.shape[1], x.shape[0]))
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[j, i] = x[i, j]
    return out


@jit
def pull(u, a, source, theta, sine, out):
    """D_j for all students, leaving the angles (m, m + M), students first, and their sines behind."""
    m, r = u.shape
    teachers = source.size.size
    keep = (1.0 - source.slope) ** 2 / (2.0 * PI)
    gram, over = np.empty((m, m)), np.empty((m, teachers))
    product(u, transposed(u), gram)
    product(u, transposed(source.unit), over)
    own = np.zeros(m)
    for j in range(m):
        theta[j, j] = 0.0
        sine[j, j] = 0.0
        for i in range(j):
            theta[j, i], sine[j, i] = angle(u[j], u[i], gram[j, i])
            theta[i, j], sine[i, j] = theta[j, i], sine[j, i]
        for k in range(teachers):
            theta[j, m + k], sine[j, m + k] = angle(u[j], source.unit[k], over[j, k])
    for j in range(m):
        for i in range(m):
            gram[j, i] = -a[i] * (keep * (PI - theta[j, i]) + source.slope)
            own[j] -= a[i] * keep * sine[j, i]
        for k in range(teachers):
            over[j, k] = source.size[k] * (keep * (PI - theta[j, m + k]) + source.slope)
            own[j] += source.size[k] * keep * sine[j, m + k]
    product(gram, u, out)
    rest = np.empty((m, r))
    product(over, source.unit, rest)
    for j in range(m):
        for i in range(r):
            out[j, i] += rest[j, i] + own[j] * u[j, i]


@jit
def pull_change(j, p, z, ell, u, a, source, theta, sine, out):
    """(D_j - D_p) e^-ell for u_j = u_p + e^ell z, right relative to |z| however small e^ell is."""
    m, r = u.shape
    keep = (1.0 - source.slope) ** 2 / (2.0 * PI)
    linear = ell < LINEAR
    scale = 0.0 if linear else np.exp(ell)
    square = 0.0
    along = 0.0
    for i in range(r):
        out[i] = 0.0
        square += z[i] * z[i]
        along += z[i] * u[p, i]
    for k in range(m + source.size.size):
        v = u[k] if k < m else source.unit[k - m]
        size = -a[k] if k < m else source.size[k - m]
        if size == 0.0:
            continue
        size *= keep
        before, after = theta[p, k], theta[j, k]
        # <v, u_j - u_p> e^-ell, by the vector v - u_p or v + u_p where these are small.
        change = 0.0
        if before < 0.15:
            for i in range(r):
                change += z[i] * (v[i] - u[p, i])
            change -= 0.5 * scale * square
        elif before > PI - 0.15:
            for i in range(r):
                change += z[i] * (v[i] + u[p, i])
            change += 0.5 * scale * square
        else:
            for i in range(r):
                change += z[i] * v[i]
        if linear:
            s = sine[p, k]
            if s < 1e-150:
                continue
            # sin th (P z + n <n, z>), n = (v - cos th u)/sin th
            c = np.cos(before)
            across = (change - c * along if PI - 0.15 >= before >= 0.15 else change) / s
            for i in range(r):
                out[i] += size * (s * (z[i] - along * u[p, i]) + across * (v[i] - c * u[p, i]))
            continue
        middle = 0.5 * (before + after)
        s = np.sin(middle)
        half = 0.0 if s == 0.0 else -scale * change / (2.0 * s)  # sin of half the change of the angle
        half = min(1.0, max(-1.0, half))
        turn = 2.0 * np.arcsin(half) / scale
        rise = 2.0 * np.cos(middle) * half / scale
        for i in range(r):
            out[i] += size * (-turn * v[i] + rise * u[j, i] + sine[p, k] * z[i])


@jit
def field(y, tree, source, m, out):
    """The rates of y = (z (m, r), b (m), c (m), spent): spent' = |grad L|^2."""
    r = source.unit.shape[1]
    z = y[: m * r].reshape(m, r)
    b = y[m * r : m * r + m]
    c = y[m * r + m : m * r + 2 * m]
    dz = out[: m * r].reshape(m, r)
    u, d = np.empty((m, r)), np.empty((m, r))
    a = np.empty(m)
    theta, sine = np.empty((m, m + source.size.size)), np.empty((m, m + source.size.size))
    directions(z, tree, u)
    sizes(b, c, source.first, a)
    pull(u, a, source, theta, sine, d)
    spent = 0.0
    gap = np.empty(r)
    for j in range(m):
        h = 0.0
        norm = 0.0
        for i in range(r):
            h += u[j, i] * d[j, i]
            norm += d[j, i] * d[j, i]
        if source.first:
            rate = b[j] * np.exp(-c[j])
            out[m * r + j] = 0.0
            out[m * r + m + j] = rate * h
            spent += b[j] * b[j] * norm
        else:
            length = np.sqrt(max(2.0 - b[j] * b[j], 0.0))
            if length * length <= HELD:
                rate = b[j]
                out[m * r + j] = 0.0
                out[m * r + m + j] = 0.0
            else:
                rate = b[j] / length
                out[m * r + j] = (1.0 - b[j]) * (1.0 + b[j]) * length * h
                out[m * r + m + j] = b[j] * length * h
                spent += np.exp(2.0 * c[j]) * (b[j] * b[j] * norm + length * length * h * h)
        p = tree.parent[j]
        if p < 0:
            for i in range(r):
                dz[j, i] = rate * (d[j, i] - h * u[j, i])
            continue
        pull_change(j, p, z[j], tree.ell[j], u, a, source, theta, sine, gap)
        h_p = 0.0
        turn = 0.0
        for i in range(r):
            h_p += u[p, i] * d[p, i]
            turn += z[j, i] * d[j, i] + u[p, i] * gap[i]
        for i in range(r):
            dz[j, i] = rate * (gap[i] - turn * u[j, i] - h_p * z[j, i]) - tree.growth[j] * z[j, i]
    out[m * r + 2 * m] = spent


@jit
def loss(y, tree, source, m):
    """L = E (f - f*)^2 / 2, by the sum of `closed_form.loss`."""
    r = source.unit.shape[1]
    teachers = source.size.size
    u, a = np.empty((m, r)), np.empty(m)
    directions(y[: m * r].reshape(m, r), tree, u)
    sizes(y[m * r : m * r + m], y[m * r + m : m * r + 2 * m], source.first, a)
    rows = np.concatenate((u, source.unit))
    q = np.concatenate((a, -source.size))
    gram = np.empty((m + teachers, m + teachers))
    product(rows, transposed(rows), gram)
    total = np.zeros(r)
    pairs = 0.0
    for j in range(m + teachers):
        for i in range(r):
            total[i] += q[j] * rows[j, i]
        for k in range(j):
            theta, sine = angle(rows[j], rows[k], gram[j, k])
            if theta < 0.03:
                square = theta * theta
                value = theta * square * (1.0 / 3.0 - square * (1.0 / 30.0 - square / 840.0))
            else:
                value = sine - theta * np.cos(theta)
            pairs += q[j] * q[k] * value
    mean = 0.0
    for i in range(r):
        mean += total[i] * total[i]
    slope = source.slope
    return 0.25 * (1.0 + slope * slope) * mean + (1.0 - slope) ** 2 / (2.0 * PI) * pairs
