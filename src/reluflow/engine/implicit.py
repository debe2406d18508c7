"""Stiff stretches of the square loss: Radau's five-stage step, implicit in the outputs alone.

While no bit changes, the velocity is linear in the drive, y' = V(y) g with g = weight (label - f(y)), and V changes
slowly: what is stiff is g. So the Jacobian is taken as -V w J, J = df/dy, of rank n whatever the width, and Newton's
equations for the stages Z, (I + h A x V w J) dZ = -R, come down to n unknowns a stage:

    (I + h A x w K) omega = -w J R,     K = J V,     dZ = -R - h (A x V) omega.

Order 9, and residuals never change sign by overshooting. The error is the difference to the quadrature of order 5
that also uses the start with weight 1/MU, filtered by (I + (h/MU) V w J)^-1 [Hairer and Wanner, section IV.8]. A step
is only offered: `coupled.burst` takes it when no neuron crosses a surface or is released from one.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine._jit import APART, inner, making
from reluflow.engine.field import SLID, copy, field, fill
from reluflow.engine.layout import all_apart, row, weights
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
    """Scratch space for n data (0: the method does not apply) and states of `size` numbers."""
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
def columns(problem, state, work, stiff):
    """Fills V, J and K at the present state; expects work.u and work.e2c there."""
    m = state.sign.size
    r = problem.e.shape[1]
    n = problem.alpha.size
    y = state.y
    weight, _ = weights(y, m)
    D = np.empty(r + APART)[:r]
    for i in range(n):
        k = problem.surf[i]
        V, J = stiff.V[i], stiff.J[i]
        V_b, V_c = weights(V, m)
        J_b, J_c = weights(J, m)
        fill(V, 0.0)
        fill(J, 0.0)
        for j in range(m):
            if state.dead[j] != 0 or (state.code[j, k] & 3) >= SLID:
                continue
            bit = state.bits[j, k] if problem.alpha[i] > 0.0 else 1.0 + problem.slope - state.bits[j, k]
            if bit == 0.0:
                continue
            q, V_q, J_q = row(y, j, r), row(V, j, r), row(J, j, r)
            b, u, e2c = weight[j], work.u[j, k], work.e2c[j]
            size = bit * problem.alpha[i]
            for a in range(r):
                D[a] = size * problem.e[k, a]
                J_q[a] = e2c * b * D[a]
            J_b[j] = e2c * size * u
            J_c[j] = 2.0 * e2c * b * size * u
            out_of_held(state, j, D)
            h = 0.0
            for a in range(r):
                h += D[a] * q[a]
            for a in range(r):
                V_q[a] = b * (D[a] - h * q[a])
            V_b[j] = h * (1.0 - b) * (1.0 + b)
            V_c[j] = b * h
    for i in range(n):
        for k in range(n):
            total = 0.0
            for a in range(y.size):
                total += stiff.J[i, a] * stiff.V[k, a]
            stiff.K[i, k] = total


@inner
def low_rank(problem, stiff, h, v):
    """v = (MU/h + V w J)^-1 v; expects stiff.small factored for this h."""
    n = problem.alpha.size
    rhs = stiff.rhs[:n]
    for i in range(n):
        total = 0.0
        for a in range(v.size):
            total += stiff.J[i, a] * v[a]
        rhs[i] = problem.weight * total
    backsolve(stiff.small, stiff.pivot[:n], rhs)
    for i in range(n):
        for a in range(v.size):
            v[a] -= rhs[i] * stiff.V[i, a]
    for a in range(v.size):
        v[a] *= h / MU


@inner
def largest(problem, state, v):
    """The largest movement of a neuron in v, on (q, b, c)."""
    m = state.sign.size
    r = problem.e.shape[1]
    b, c = weights(v, m)
    worst = 0.0
    for j in range(m):
        q = row(v, j, r)
        total = b[j] ** 2 + c[j] ** 2
        for i in range(r):
            total += q[i] * q[i]
        if not np.isfinite(total):
            return np.inf
        worst = max(worst, total)
    return np.sqrt(worst)


@inner
def equations(problem, stiff, h):
    """I + h A x w K, factored into stiff.M; whether it could be done."""
    n = problem.alpha.size
    for a in range(STAGES):
        for b in range(STAGES):
            for i in range(n):
                for k in range(n):
                    here = h * A[a, b] * problem.weight * stiff.K[i, k]
                    stiff.M[a * n + i, b * n + k] = here + (1.0 if a == b and i == k else 0.0)
    return factor(stiff.M, stiff.pivot)


@inner
def newton(problem, state, stiff, h, F):
    """One Newton correction of the stages Z, whose velocities are F; returns the largest movement of a neuron."""
    n, size = problem.alpha.size, state.y.size
    for a in range(STAGES):
        copy(stiff.R[a], stiff.Z[a])
        for b in range(STAGES):
            w = h * A[a, b]
            for i in range(size):
                stiff.R[a, i] -= w * F[b, i]
        for i in range(n):
            total = 0.0
            for p in range(size):
                total += stiff.J[i, p] * stiff.R[a, p]
            stiff.rhs[a * n + i] = -problem.weight * total
    backsolve(stiff.M, stiff.pivot, stiff.rhs)
    moved = 0.0
    for a in range(STAGES):
        for i in range(n):
            w = 0.0
            for b in range(STAGES):
                w += h * A[a, b] * stiff.rhs[b * n + i]
            for p in range(size):
                stiff.R[a, p] += w * stiff.V[i, p]
        for p in range(size):
            stiff.Z[a, p] -= stiff.R[a, p]
        moved = max(moved, largest(problem, state, stiff.R[a]))
    return moved


@inner
def stages(problem, state, run, scratch, h, to):
    """Newton's iteration for the stages of a step of size h; whether it converged. Expects `columns`.

    Fills stiff.Z and `to` = the present state + the last stage, not yet settled; K[1:6] is scratch space.
    """
    stiff, F = scratch.stiff, scratch.K[1:6]
    size = state.y.size
    for a in range(STAGES):
        fill(stiff.Z[a], 0.0)
    if not equations(problem, stiff, h):
        return False
    before = np.inf
    for turn in range(TURNS):
        for a in range(STAGES):
            for i in range(size):
                to[i] = state.y[i] + stiff.Z[a, i]
            field(problem, state, to, 0.0, F[a], scratch.work)
        moved = newton(problem, state, stiff, h, F)
        if not moved < 2.0 * before:
            return False
        if moved <= max(1e-3 * run.rtol, 1e-14):
            for i in range(size):
                to[i] = state.y[i] + stiff.Z[STAGES - 1, i]
            return True
        if turn > 1 and moved > 0.5 * before:
            return False
        before = moved
    return False


@inner
def square_loss(problem, f):
    """The square loss of outputs f, without the dropped rows."""
    total = 0.0
    for i in range(f.size):
        total += (f[i] - problem.y[i]) ** 2
    return 0.5 * problem.weight * total


@inner
def defect(stiff, h, v, out):
    """out = v + sum E_a Z_a / h."""
    copy(out, v)
    for a in range(STAGES):
        w = E[a] / h
        for p in range(out.size):
            out[p] += w * stiff.Z[a, p]


@inner
def estimate(problem, state, scratch, h, again):
    """The step's error in (q, b, c, energy), in e5; with `again` filtered once more, for a step about to be refused.

    Expects the velocity at the start in K[0]; e3 is scratch space.
    """
    stiff, F, out = scratch.stiff, scratch.e3, scratch.e5
    n, size = problem.alpha.size, state.y.size
    for i in range(n):
        for k in range(n):
            stiff.small[i, k] = problem.weight * stiff.K[i, k] + (MU / h if i == k else 0.0)
    if not factor(stiff.small, stiff.pivot[:n]):
        fill(out, np.inf)
        return
    defect(stiff, h, scratch.K[0], out)
    low_rank(problem, stiff, h, out)
    if again:
        for p in range(size):
            stiff.R[0, p] = state.y[p] + out[p]
        field(problem, state, stiff.R[0], 0.0, F, scratch.work)
        defect(stiff, h, F, out)
        low_rank(problem, stiff, h, out)
