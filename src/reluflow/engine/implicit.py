"""Stiff stretches: Radau's five-stage step, implicit in the outputs alone.

While no bit changes, the velocity is linear in the drive, y' = V(y) g(f(y)) (decay subtracts a constant), and what is
stiff is g. So the Jacobian is taken as -V kappa J, J = df/dy, kappa_i = -dg_i/df_i the curvature of the loss, which has
rank n whatever the width. Newton's equations for the stages Z, (I + h A x V kappa J) dZ = -R, then have n unknowns a
stage:

    (I + h A x kappa K) omega = -kappa J R,     K = J V,     dZ = -R - h (A x V) omega.

V, kappa and J are those of the start of the step, or of every stage where they change by too much along it.

Order 9, and residuals never change sign by overshooting. The error is the difference to the quadrature of order 5
that also uses the start with weight 1/MU, filtered by (I + (h/MU) V kappa J)^-1 [Hairer and Wanner, section IV.8]. A
step is a proposal: `coupled.burst` accepts it when no neuron crosses a surface or is released from one.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import bernstein, surfaces
from reluflow.engine._jit import APART, inner, making
from reluflow.engine.field import ON, SLID, add_rows, copy, datum_curvature, dots, field, fill, norm_q
from reluflow.engine.layout import all_apart, row, weights
from reluflow.engine.surfaces import out_of_held

MOST = 64  # data: beyond, the 5n equations of a step cost more than they save
STAGES = 5
ORDER = 6  # of the error estimate in h
ROUNDING = 1e-12  # of a polynomial through the stages, relative to its values
TURNS, REFRESHES = 12, 4  # Newton iterations, and how often V, kappa and J are taken anew


def _collocation():
    """(nodes, A, E, MU): the stages and their matrix, the error's weights on Z, the real eigenvalue of A^-1."""
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
    return nodes, A, mu * (weights - A[-1]) @ back, mu


NODES, A, E, MU = _collocation()
FIT, BACK = bernstein.fit_matrices(np.r_[0.0, NODES], STAGES)  # the collocation polynomial in Bernstein form
# A polynomial of degree 5 that vanishes at 0 and is at most 1 at the stages is at most this on the step.
LEBESGUE = float(np.max(np.sum(np.abs(bernstein.basis(np.linspace(0.0, 1.0, 2001)) @ FIT[:, 1:]), axis=1)))


class Stiff(NamedTuple):
    """Scratch space; all empty where the method does not apply. Slot STAGES of V, J and kappa belongs to the start."""

    V: np.ndarray  # (6, n, size) velocity under a unit force of each datum, at the stages and at the start
    J: np.ndarray  # (6, n, size) df_i/dy
    kappa: np.ndarray  # (6, n) -dg_i/df_i, in units of the clock
    M: np.ndarray  # (5n, 5n)
    small: np.ndarray  # (n, n)
    Z: np.ndarray  # (5, size)
    R: np.ndarray  # (5, size)
    across: np.ndarray  # (size, 5n) the V of a product, by coordinates
    rhs: np.ndarray  # (5n,)
    x: np.ndarray  # (n + 5,) weights of a sum of rows
    pivot: np.ndarray  # (5n,) int64


def stiff(n: int, size: int) -> Stiff:
    """Scratch space for n data (0: the method does not apply) and states of `size` numbers."""
    slots, stages = np.zeros((STAGES + 1, n, size)), np.zeros((STAGES, size))
    square, all_ = np.zeros((n, n)), np.zeros((STAGES * n, STAGES * n))
    flat, pivot = np.zeros(STAGES * n), np.zeros(STAGES * n, np.int64)
    kappa, x, across = np.zeros((STAGES + 1, n)), np.zeros(n + STAGES), np.zeros((size, STAGES * n))
    return all_apart(Stiff(slots, slots, kappa, all_, square, stages, stages, across, flat, x, pivot))


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
def columns(problem, state, y, shift, scratch, slot):
    """Fills V, J and kappa of a slot at y, where the clock's shift is `shift`; expects work there."""
    m = state.sign.size
    r = problem.e.shape[1]
    work, stiff = scratch.work, scratch.stiff
    weight, _ = weights(y, m)
    D = np.empty(r + APART)[:r]
    for i in range(problem.alpha.size):
        k = problem.surf[i]
        V, J = stiff.V[slot, i], stiff.J[slot, i]
        V_b, V_c = weights(V, m)
        J_b, J_c = weights(J, m)
        stiff.kappa[slot, i] = datum_curvature(problem, i, work.f[i], shift)
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


@inner
def couple(stiff, first, out):
    """out_ik = <J_i, V_k>, J and V of the slots from `first` on, one after the other: as many as there are rows.

    All sums of a row are added up side by side, each in the order of its terms; most of J is 0, off its active neurons.
    """
    n, size, count = stiff.kappa.shape[1], stiff.Z.shape[1], out.shape[0]
    for k in range(count):
        V = stiff.V[first + k // n, k % n]
        for p in range(size):
            stiff.across[p, k] = V[p]
    for i in range(count):
        J, sums = stiff.J[first + i // n, i % n], out[i]
        fill(sums, 0.0)
        for p in range(size):
            x, terms = J[p], stiff.across[p]
            if x != 0.0:
                for k in range(count):
                    sums[k] += x * terms[k]


@inner
def low_rank(problem, stiff, h, v):
    """v = (MU/h + V kappa J)^-1 v; expects stiff.small factored for this h."""
    n = problem.alpha.size
    rhs = stiff.rhs[:n]
    dots(v, stiff.J[STAGES], rhs)
    for i in range(n):
        rhs[i] = stiff.kappa[STAGES, i] * rhs[i]
    backsolve(stiff.small, stiff.pivot[:n], rhs)
    for i in range(n):
        rhs[i] = -rhs[i]
    add_rows(v, rhs, stiff.V[STAGES])
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
def equations(problem, stiff, h, each):
    """I + h A x kappa K with the slopes of every stage (`each`) or of the start, factored into stiff.M; whether that
    could be done."""
    n = problem.alpha.size
    if each:
        couple(stiff, 0, stiff.M)
    else:
        couple(stiff, STAGES, stiff.small)
    for a in range(STAGES):
        at = a if each else STAGES
        for i in range(n):
            for b in range(STAGES):
                for k in range(n):
                    here = stiff.M[a * n + i, b * n + k] if each else stiff.small[i, k]
                    one = 1.0 if a == b and i == k else 0.0
                    stiff.M[a * n + i, b * n + k] = one + h * A[a, b] * stiff.kappa[at, i] * here
    return factor(stiff.M, stiff.pivot)


@inner
def newton(problem, state, stiff, h, F, each):
    """One Newton correction of the stages Z, whose velocities are F; returns the largest movement of a neuron."""
    n, size = problem.alpha.size, state.y.size
    for a in range(STAGES):
        at = a if each else STAGES
        copy(stiff.R[a], stiff.Z[a])
        for b in range(STAGES):
            stiff.x[b] = -h * A[a, b]
        add_rows(stiff.R[a], stiff.x[:STAGES], F)
        rhs = stiff.rhs[a * n : (a + 1) * n]
        dots(stiff.R[a], stiff.J[at], rhs)
        for i in range(n):
            rhs[i] = -stiff.kappa[at, i] * rhs[i]
    backsolve(stiff.M, stiff.pivot, stiff.rhs)
    moved = 0.0
    for a in range(STAGES):
        for b in range(STAGES):
            w = h * A[a, b]
            for i in range(n):
                stiff.x[i] = w * stiff.rhs[b * n + i]
            add_rows(stiff.R[a], stiff.x[:n], stiff.V[b if each else STAGES])
        for p in range(size):
            stiff.Z[a, p] -= stiff.R[a, p]
        moved = max(moved, largest(problem, state, stiff.R[a]))
    return moved


@inner
def stages(problem, state, run, scratch, h, to):
    """Newton's iteration for the stages of a step of size h; whether it converged. Expects `columns` at the start.

    Fills stiff.Z and `to` = the present state + the last stage, not yet settled; K[1:6] is scratch space.
    """
    stiff, F = scratch.stiff, scratch.K[1:6]
    size = state.y.size
    for a in range(STAGES):
        fill(stiff.Z[a], 0.0)
    if not equations(problem, stiff, h, False):
        return False
    before, each, again, refreshed = np.inf, False, False, 0
    for _ in range(TURNS):
        for a in range(STAGES):
            for i in range(size):
                to[i] = state.y[i] + stiff.Z[a, i]
            shift = shift_at(problem, scratch.step, h, a)
            field(problem, state, to, shift, F[a], scratch.work)
            if again:
                columns(problem, state, to, shift, scratch, a)
        if again:
            each, again, before = True, False, np.inf
            if not equations(problem, stiff, h, True):
                return False
        moved = newton(problem, state, stiff, h, F, each)
        if not np.isfinite(moved):
            return False
        if moved <= max(1e-3 * run.rtol, 1e-14):
            for i in range(size):
                to[i] = state.y[i] + stiff.Z[STAGES - 1, i]
            return True
        if moved > 0.1 * before:
            again = True
            refreshed += 1
            if refreshed > REFRESHES:
                return False
        before = moved
    return False


@inner
def shift_at(problem, step, h, a):
    """The shift of the clock at stage a of a step of size h."""
    return step.clock + NODES[a] * h if problem.late == 1 else 0.0


@inner
def below_zero(start, values, side, size):
    """Whether the collocation polynomial with these values at the start and the stages may be across zero, by more than
    the rounding of numbers of this size."""
    for l in range(8):
        total = side * start * FIT[l, 0]
        for a in range(STAGES):
            total += side * values[a] * FIT[l, a + 1]
        if total < -ROUNDING * size:
            return True
    return False


@inner
def may_meet(problem, state, scratch):
    """Whether a neuron may have met a surface, or its b changed sign, on the collocation polynomial of the step."""
    m, big = state.bits.shape
    r = problem.e.shape[1]
    Z, values = scratch.stiff.Z, scratch.poly
    b0, _ = weights(state.y, m)
    for j in range(m):
        if state.dead[j] != 0:
            continue
        if state.delta_sign[j] != 0.0:
            size = abs(b0[j])  # b may be tiny beside q: an error of 1e-12 of q may be all of it
            for a in range(STAGES):
                b, _ = weights(Z[a], m)
                values[a] = b0[j] + b[j]
                size = max(size, abs(values[a]))
            if below_zero(b0[j], values, state.sign[j], size):
                return True
        if problem.slope == 1.0:
            continue
        size = norm_q(state.y, j, r)
        span = 0.0
        for a in range(STAGES):
            span = max(span, norm_q(Z[a], j, r))
        span *= LEBESGUE
        for k in range(big):
            kind = state.code[j, k] & 3
            side = 1.0 if kind == ON else -1.0
            start = scratch.u0[j, k]
            if kind >= SLID or side * start > span:
                continue
            for a in range(STAGES):
                q = row(Z[a], j, r)
                values[a] = start
                for i in range(r):
                    values[a] += q[i] * problem.e[k, i]
            if below_zero(start, values, side, size):
                return True
    return False


@inner
def may_release(problem, state, scratch):
    """Whether a held surface may have been released in the step, by its margins at the stages; overwrites work."""
    step, work = scratch.step, scratch.work
    surfaces.watch(state, scratch.at_lo, work.held[0])
    surfaces.watch(state, scratch.at_hi, work.held[STAGES])
    for a in range(STAGES - 1):
        for i in range(state.y.size):
            scratch.tmp[i] = state.y[i] + scratch.stiff.Z[a, i]
        field(problem, state, scratch.tmp, shift_at(problem, step, step.h, a), scratch.K[15], work)
        surfaces.margins(problem, state, work, scratch.at_x)
        surfaces.watch(state, scratch.at_x, work.held[a + 1])
    return not surfaces.none_released(state, work, surfaces.Watched(STAGES + 1, FIT, BACK))


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
    couple(stiff, STAGES, stiff.small)
    for i in range(n):
        for k in range(n):
            here = stiff.kappa[STAGES, i] * stiff.small[i, k]
            stiff.small[i, k] = here + (MU / h if i == k else 0.0)
    if not factor(stiff.small, stiff.pivot[:n]):
        fill(out, np.inf)
        return
    defect(stiff, h, scratch.K[0], out)
    low_rank(problem, stiff, h, out)
    if again:
        for p in range(size):
            stiff.R[0, p] = state.y[p] + out[p]
        shift = scratch.step.clock if problem.late == 1 else 0.0
        field(problem, state, stiff.R[0], shift, F, scratch.work)
        defect(stiff, h, F, out)
        low_rank(problem, stiff, h, out)
