"""Stiff stretches of the square loss: Radau's five-stage step, implicit in the outputs alone.

While bits rest the velocity is linear in the drive, y' = V(y) g with g = weight (label - f(y)), and V changes slowly:
what is stiff is g. So the Jacobian is taken as -V w J, J = df/dy, of rank n whatever the width, and Newton's equations
for the stages Z, (I + h A x V w J) dZ = -R, come down to n unknowns a stage:

    (I + h A x w K) omega = -w J R,     K = J V,     dZ = -R - h (A x V) omega.

Order 9, and residuals never change sign by overshooting. The error is the difference to the quadrature of order 5
that also uses the start with weight 1/MU, filtered by (I + (h/MU) V w J)^-1 [Hairer and Wanner, section IV.8]. A step
is only offered: `coupled.burst` takes it when nothing crosses or lets go.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine._jit import APART, inner, making
from reluflow.engine.field import SLID, copy, field, fill
from reluflow.engine.surfaces import out_of_held

MOST = 24  # data: beyond, the 5n equations of a step cost more than they save
STAGES = 5
ORDER = 6  # of the error estimate in h
TURNS = 8


def _collocation():
    """(A, E, MU): the stages' matrix, the error's weights on Z, the real eigenvalue of A^-1."""
    s = STAGES
    x = np.polynomial.Polynomial([0.0, 1.0])
    # Nodes: 1 and the roots of the (s-1)st derivative of x^(s-1) (x - 1)^s.
    nodes = np.sort((x ** (s - 1) * (x - 1.0) ** s).deriv(s - 1).roots().real)
    nodes[-1] = 1.0
    powers = nodes[:, None] ** np.arange(s)
    A = np.linalg.solve(powers.T, (nodes[:, None] ** np.arange(1, s + 1) / np.arange(1, s + 1)).T).T
    back = np.linalg.inv(A)
    values = np.linalg.eigvals(back)
    mu = float(values[np.argmin(np.abs(values.imag))].real)
    left = 1.0 / np.arange(1, s + 1)
    left[0] -= 1.0 / mu
    weights = np.linalg.solve(powers.T, left)
    return A, mu * (weights - A[-1]) @ back, mu


A, E, MU = _collocation()


class Stiff(NamedTuple):
    """Scratch space; all empty where the method does not apply."""

    V: np.ndarray  # (n, size) velocity under a unit drive of each datum
    J: np.ndarray  # (n, size) df_i/dy
    K: np.ndarray  # (n, n)
    M: np.ndarray  # (5n, 5n)
    small: np.ndarray  # (n, n)
    Z: np.ndarray  # (5, size)
    R: np.ndarray  # (5, size)
    rhs: np.ndarray  # (5n,)
    pivot: np.ndarray  # (5n,) int64


def stiff(n: int, size: int) -> Stiff:
    from reluflow.engine.pack import all_apart

    rows, stages = np.zeros((n, size)), np.zeros((STAGES, size))
    square, all_ = np.zeros((n, n)), np.zeros((STAGES * n, STAGES * n))
    return all_apart(
        Stiff(rows, rows, square, all_, square, stages, stages, np.zeros(STAGES * n), np.zeros(STAGES * n, np.int64))
    )


@inner
def factor(M, pivot):
    """M = PLU in place; whether it could be done."""
    n = M.shape[0]
    for a in range(n):
        best = a
        for i in range(a + 1, n):
            if abs(M[i, a]) > abs(M[best, a]):
                best = i
        pivot[a] = best
        if not abs(M[best, a]) > 0.0:
            return False
        if best != a:
            for k in range(n):
                M[a, k], M[best, k] = M[best, k], M[a, k]
        for i in range(a + 1, n):
            M[i, a] /= M[a, a]
            w = M[i, a]
            if w != 0.0:
                for k in range(a + 1, n):
                    M[i, k] -= w * M[a, k]
    return True


@inner
def backsolve(M, pivot, x):
    """x = M^-1 x, M factored."""
    n = M.shape[0]
    for a in range(n):
        p = pivot[a]
        if p != a:
            x[a], x[p] = x[p], x[a]
    for a in range(n):
        for k in range(a):
            x[a] -= M[a, k] * x[k]
    for a in range(n - 1, -1, -1):
        for k in range(a + 1, n):
            x[a] -= M[a, k] * x[k]
        x[a] /= M[a, a]


@making
def columns(pk, st, y, wk, sf):
    """Fills V, J and K at y; expects wk.u and wk.e2c there."""
    m = st.sign.size
    r = pk.e.shape[1]
    n = pk.alpha.size
    D = np.empty(r + APART)[:r]
    for i in range(n):
        k = pk.surf[i]
        V, J = sf.V[i], sf.J[i]
        fill(V, 0.0)
        fill(J, 0.0)
        for j in range(m):
            if st.dead[j] != 0 or (st.code[j, k] & 3) >= SLID:
                continue
            bit = st.bits[j, k] if pk.alpha[i] > 0.0 else 1.0 + pk.slope - st.bits[j, k]
            if bit == 0.0:
                continue
            at, b, u, e2c = j * r, y[m * r + j], wk.u[j, k], wk.e2c[j]
            size = bit * pk.alpha[i]
            for a in range(r):
                D[a] = size * pk.e[k, a]
                J[at + a] = e2c * b * D[a]
            J[m * r + j] = e2c * size * u
            J[m * r + m + j] = 2.0 * e2c * b * size * u
            out_of_held(st, j, r, D)
            h = 0.0
            for a in range(r):
                h += D[a] * y[at + a]
            for a in range(r):
                V[at + a] = b * (D[a] - h * y[at + a])
            V[m * r + j] = h * (1.0 - b) * (1.0 + b)
            V[m * r + m + j] = b * h
    for i in range(n):
        for k in range(n):
            total = 0.0
            for a in range(y.size):
                total += sf.J[i, a] * sf.V[k, a]
            sf.K[i, k] = total


@inner
def low_rank(pk, sf, h, v):
    """v = (MU/h + V w J)^-1 v; expects sf.small factored for this h."""
    n = pk.alpha.size
    rhs = sf.rhs[:n]
    for i in range(n):
        total = 0.0
        for a in range(v.size):
            total += sf.J[i, a] * v[a]
        rhs[i] = pk.weight * total
    backsolve(sf.small, sf.pivot[:n], rhs)
    for i in range(n):
        for a in range(v.size):
            v[a] -= rhs[i] * sf.V[i, a]
    for a in range(v.size):
        v[a] *= h / MU


@inner
def largest(pk, st, v):
    """The largest movement of a neuron in v, on (q, b, c)."""
    m = st.sign.size
    r = pk.e.shape[1]
    worst = 0.0
    for j in range(m):
        total = v[m * r + j] ** 2 + v[m * r + m + j] ** 2
        for i in range(j * r, (j + 1) * r):
            total += v[i] * v[i]
        if not np.isfinite(total):
            return np.inf
        worst = max(worst, total)
    return np.sqrt(worst)


@inner
def stages(pk, st, h, rtol, F, y1, wk, sf):
    """Newton's iteration for the stages of a step of size h from st.y; whether it converged. Expects `columns`.

    Fills sf.Z and y1 = st.y + the last stage, not yet settled; F (5, size) is scratch space.
    """
    n, size = pk.alpha.size, st.y.size
    for a in range(STAGES):
        fill(sf.Z[a], 0.0)
        for b in range(STAGES):
            for i in range(n):
                for k in range(n):
                    here = h * A[a, b] * pk.weight * sf.K[i, k]
                    sf.M[a * n + i, b * n + k] = here + (1.0 if a == b and i == k else 0.0)
    if not factor(sf.M, sf.pivot):
        return False
    before = np.inf
    for turn in range(TURNS):
        for a in range(STAGES):
            for i in range(size):
                y1[i] = st.y[i] + sf.Z[a, i]
            field(pk, y1, 0.0, st.bits, st.code, st.dead, st.slid, st.basis, F[a], wk)
        for a in range(STAGES):
            copy(sf.R[a], sf.Z[a])
            for b in range(STAGES):
                w = h * A[a, b]
                for i in range(size):
                    sf.R[a, i] -= w * F[b, i]
            for i in range(n):
                total = 0.0
                for p in range(size):
                    total += sf.J[i, p] * sf.R[a, p]
                sf.rhs[a * n + i] = -pk.weight * total
        backsolve(sf.M, sf.pivot, sf.rhs)
        moved = 0.0
        for a in range(STAGES):
            for i in range(n):
                w = 0.0
                for b in range(STAGES):
                    w += h * A[a, b] * sf.rhs[b * n + i]
                for p in range(size):
                    sf.R[a, p] += w * sf.V[i, p]
            for p in range(size):
                sf.Z[a, p] -= sf.R[a, p]
            moved = max(moved, largest(pk, st, sf.R[a]))
        if not moved < 2.0 * before:
            return False
        if moved <= max(1e-3 * rtol, 1e-14):
            for i in range(size):
                y1[i] = st.y[i] + sf.Z[STAGES - 1, i]
            return True
        if turn > 1 and moved > 0.5 * before:
            return False
        before = moved
    return False


@inner
def square_loss(pk, f):
    total = 0.0
    for i in range(f.size):
        total += (f[i] - pk.y[i]) ** 2
    return 0.5 * pk.weight * total


@inner
def defect(sf, h, v, out):
    """out = v + sum E_a Z_a / h."""
    copy(out, v)
    for a in range(STAGES):
        w = E[a] / h
        for p in range(out.size):
            out[p] += w * sf.Z[a, p]


@inner
def estimate(pk, st, h, v0, wk, sf, again, F, out):
    """The step's error in (q, b, c, energy), in `out`; with `again` filtered once more, for a step about to be refused.

    `v0` is the velocity at the start; F is scratch space.
    """
    n, size = pk.alpha.size, st.y.size
    for i in range(n):
        for k in range(n):
            sf.small[i, k] = pk.weight * sf.K[i, k] + (MU / h if i == k else 0.0)
    if not factor(sf.small, sf.pivot[:n]):
        fill(out, np.inf)
        return
    defect(sf, h, v0, out)
    low_rank(pk, sf, h, out)
    if again:
        for p in range(size):
            sf.R[0, p] = st.y[p] + out[p]
        field(pk, sf.R[0], 0.0, st.bits, st.code, st.dead, st.slid, st.basis, F, wk)
        defect(sf, h, F, out)
        low_rank(pk, sf, h, out)
