"""Stiff stretches: Radau's five-stage step, implicit in the outputs alone.

While no bit changes, the velocity is linear in the drive, y' = V(y) g(f(y)) (decay subtracts a constant), and what is
stiff is g. So the drive at the stages, gamma, is an unknown beside the stages Z themselves:

    Z = h (A x V(y + Z)) gamma =: Z - R,      gamma = g(f(y + Z)) =: gamma - S,

and dV/dy is left out of Newton's equations, whose Jacobian then has rank n whatever the width. With J = df/dy and
kappa_i = -dg_i/df_i, the curvature of the loss, they have n unknowns a stage:

    (I + h A x kappa K) omega = S - kappa J R,     K = J V,     dZ = -R - h (A x V) omega,     dgamma = -omega.

V, kappa and J are those of the start of the step, or of every stage where they change by too much along it. What is
left out is as small as the movement in the step, however stiff it is: V is multiplied by gamma, which is small where
the residuals have settled, and not by the drive of an iterate, where an error of the outputs counts h kappa times.

Order 9, and residuals never change sign by overshooting. The error is the difference to the quadrature of order 5
that also uses the start with weight 1/MU, filtered by (I + (h/MU) V kappa J)^-1 [Hairer and Wanner, section IV.8].
A step is taken by `stiff.attempt`; one in which a neuron crosses a surface or is released from one is shortened until
it ends there (`landing`).
"""

from collections import namedtuple
from typing import Any, NamedTuple, cast

import numpy as np

from reluflow.engine import bernstein, surfaces
from reluflow.engine._jit import APART, inner, making
from reluflow.engine.explicit import settle
from reluflow.engine.field import (
    ON,
    SLID,
    add_decay,
    add_rows,
    copy,
    copy_rows,
    datum_curvature,
    dots,
    drive,
    field,
    fill,
    norm_q,
    outputs,
    per_surface,
    pulled,
    pulls,
)
from reluflow.engine.layout import Scratch, row, weights, zeros_apart
from reluflow.engine.surfaces import out_of_held

MOST = 64  # data: beyond, the 5n equations of a step cost more than they save
STAGES = 5
ORDER = 6  # of the error estimate in h
TURNS, REFRESHES = 12, 4  # Newton iterations, and how often V, kappa and J are taken anew
MILD = (
    100.0  # over the longest stable step: up to there what Newton leaves within the tolerance is no force that counts
)


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
GRAIN = 1e-12  # an excursion across a surface that is not looked for, relative to |q|, or to b for a change of its sign
FIT, BACK = bernstein.fit_matrices(np.r_[0.0, NODES], STAGES)  # the collocation polynomial in Bernstein form
DRIVE_FIT, DRIVE_BACK = bernstein.fit_matrices(NODES, STAGES - 1)  # the same for what follows the drive
# What the last stage adds to the cubic through the others.
CUBIC = np.r_[[-np.prod((1.0 - np.delete(NODES[:4], a)) / (NODES[a] - np.delete(NODES[:4], a))) for a in range(4)], 1.0]
END = 7.0 * (FIT[7] - FIT[6])[1:]  # its slope at the end, from the values at the stages where it starts at 0
# A polynomial of degree 5 that vanishes at 0 and is at most 1 at the stages is at most this on the step.
LEBESGUE = float(np.max(np.sum(np.abs(bernstein.basis(np.linspace(0.0, 1.0, 2001)) @ FIT[:, 1:]), axis=1)))


class Stiff(NamedTuple):
    """Scratch space of the equations. Slot STAGES of V, J and kappa belongs to the start."""

    V: np.ndarray  # (6, n, size) velocity under a unit force of each datum, at the stages and at the start
    J: np.ndarray  # (6, n, size) df_i/dy
    kappa: np.ndarray  # (6, n) -dg_i/df_i, in units of the clock
    M: np.ndarray  # (5n, 5n)
    small: np.ndarray  # (n, n)
    Z: np.ndarray  # (5, size)
    R: np.ndarray  # (5, size)
    across: np.ndarray  # (size, 5n) the V of a product, by coordinates
    g: np.ndarray  # (n,) the drive at the start, in units of the clock
    pull: np.ndarray  # (m, r) what it gives every neuron
    gamma: np.ndarray  # (5, n) the drive at the stages less that at the start
    S: np.ndarray  # (5, n) the same less the drive of the outputs at the stages
    rhs: np.ndarray  # (5n,)
    x: np.ndarray  # (n + 5,) weights of a sum of rows
    pivot: np.ndarray  # (5n,) int64


# Scratch space of an implicit step: that of the stepping loop, and that of the equations.
Room = cast(Any, namedtuple("Room", (*Scratch._fields, "stiff")))  # type: ignore[misc]


def stiff(n: int, size: int, pull: np.ndarray) -> Stiff:
    """Scratch space for n unknowns a stage, states of `size` numbers and pulls like `pull`."""
    unknowns = STAGES * n
    return Stiff(
        **zeros_apart(
            float,
            V=(STAGES + 1, n, size),
            J=(STAGES + 1, n, size),
            kappa=(STAGES + 1, n),
            M=(unknowns, unknowns),
            small=(n, n),
            Z=(STAGES, size),
            R=(STAGES, size),
            across=(size, unknowns),
            g=(n,),
            pull=pull.shape,
            gamma=(STAGES, n),
            S=(STAGES, n),
            rhs=(unknowns,),
            x=(n + STAGES,),
        ),
        **zeros_apart(np.int64, pivot=(unknowns,)),
    )


def room(scratch: Scratch, n: int) -> Any:
    """The scratch space of the stepping loop with that of the equations for n data."""
    return Room(*scratch, stiff(n, scratch.y1.size, scratch.work.pull))


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
            rhs[i] = stiff.S[a, i] - stiff.kappa[at, i] * rhs[i]
    backsolve(stiff.M, stiff.pivot, stiff.rhs)
    moved = 0.0
    for a in range(STAGES):
        for i in range(n):
            stiff.gamma[a, i] -= stiff.rhs[a * n + i]
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
def begin(problem, state, shift, scratch):
    """What the stages need of the start of the step, where the clock's shift is `shift`; expects work there."""
    work, stiff = scratch.work, scratch.stiff
    columns(problem, state, state.y, shift, scratch, STAGES)
    fac = np.exp(drive(problem, work.f, work.g) + shift)
    for i in range(problem.alpha.size):
        stiff.g[i] = fac * work.g[i]
    pulls_by(problem, state, stiff.g, work)
    copy_rows(stiff.pull, work.pull)


@inner
def pulls_by(problem, state, g, work):
    """work.pull and work.free under the drive g."""
    per_surface(problem, g, work.jump, work.base)
    pulls(problem, state, work.jump, work.base, work)


@inner
def forced(problem, state, y, shift, scratch, a):
    """The velocity at y under the drive of stage a, to K[1 + a], and S.

    Forces may cancel: what they were at the start is added up once, so that every iteration rounds it alike.
    """
    work, stiff, out = scratch.work, scratch.stiff, scratch.K[1 + a]
    outputs(problem, state, y, work)
    fac = np.exp(drive(problem, work.f, work.g) + shift)
    for i in range(problem.alpha.size):
        stiff.S[a, i] = stiff.gamma[a, i] - (fac * work.g[i] - stiff.g[i])
    pulls_by(problem, state, stiff.gamma[a], work)
    for j in range(work.pull.shape[0]):
        for i in range(work.pull.shape[1]):
            work.pull[j, i] += stiff.pull[j, i]
        if state.slid[j] > 0 and state.dead[j] == 0:
            # Once more: what is left after forces have cancelled may be smaller than the rounding of the first time.
            out_of_held(state, j, work.pull[j])
    out[out.size - 1] = np.exp(-shift) * pulled(problem, state, y, 1.0, out, work)
    if problem.decay > 0.0:
        add_decay(problem, state, y, out)


@inner
def stages(problem, state, run, scratch, h, to):
    """Newton's iteration for the stages of a step of size h; whether it converged. Expects `begin`.

    Fills stiff.Z, stiff.gamma and `to` = the present state + the last stage, not yet settled; K[1:6] is scratch space.
    """
    stiff, F = scratch.stiff, scratch.K[1:6]
    size = state.y.size
    for a in range(STAGES):
        fill(stiff.Z[a], 0.0)
        for i in range(stiff.g.size):
            stiff.gamma[a, i] = -stiff.g[i]
    if not equations(problem, stiff, h, False):
        return False
    before, each, again, refreshed = np.inf, False, False, 0
    for turn in range(TURNS):
        for a in range(STAGES):
            for i in range(size):
                to[i] = state.y[i] + stiff.Z[a, i]
            shift = shift_at(problem, scratch.step, h, a)
            forced(problem, state, to, shift, scratch, a)
            if again:
                columns(problem, state, to, shift, scratch, a)
        if again:
            each, again, before = True, False, np.inf
            if not equations(problem, stiff, h, True):
                return False
        moved = newton(problem, state, stiff, h, F, each)
        if not np.isfinite(moved):
            return False
        # To rounding, if a few more turns do it: where forces have almost settled, an error of the outputs is a force.
        slow = moved > 0.1 * before or turn == TURNS - 1 or h <= MILD * scratch.step.longest
        if moved <= 1e-14 or (moved <= 1e-3 * run.rtol and slow):
            for a in range(STAGES):
                held_still(problem, state, stiff.Z[a])
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
def held_still(problem, state, v):
    """Takes out of a movement or velocity v what rounding moves neurons off the surfaces they are held on."""
    for j in range(state.sign.size):
        if state.slid[j] > 0 and state.dead[j] == 0:
            surfaces.project(problem, state, v, j)


@inner
def relaxation(problem, stiff, rate):
    """rate + kappa K of the start, factored into stiff.small; whether that could be done."""
    n = problem.alpha.size
    couple(stiff, STAGES, stiff.small)
    for i in range(n):
        for k in range(n):
            here = stiff.kappa[STAGES, i] * stiff.small[i, k]
            stiff.small[i, k] = here + (rate if i == k else 0.0)
    return factor(stiff.small, stiff.pivot[:n])


@inner
def push(problem, scratch, h):
    """Moves the end y1 of a step of size h to where its drive is that of the last stage, in so far as it is stiff.

    Expects work.f there, and the `relaxation` with rate 1/h.
    """
    stiff, work, y1 = scratch.stiff, scratch.work, scratch.y1
    n, last = problem.alpha.size, STAGES - 1
    fac = np.exp(drive(problem, work.f, work.g) + shift_at(problem, scratch.step, h, last))
    for i in range(n):
        stiff.rhs[i] = fac * work.g[i] - stiff.g[i] - stiff.gamma[last, i]
    backsolve(stiff.small, stiff.pivot[:n], stiff.rhs[:n])
    add_rows(y1, stiff.rhs[:n], stiff.V[STAGES])


@inner
def settle_end(problem, state, scratch, h):
    """`settle` for the end y1 of a step of size h, whose drive stays that of the last stage."""
    clock = scratch.step.clock + h
    settle(problem, state, scratch.y1, clock)
    if relaxation(problem, scratch.stiff, 1.0 / h):
        for _ in range(3):
            outputs(problem, state, scratch.y1, scratch.work)
            push(problem, scratch, h)
            settle(problem, state, scratch.y1, clock)


@inner
def shift_at(problem, step, h, a):
    """The shift of the clock at stage a of a step of size h."""
    return step.clock + NODES[a] * h if problem.late == 1 else 0.0


@inner
def below_zero(start, values, side, size, stack):
    """Where in the step the collocation polynomial with these values at the start and the stages is first across zero,
    by more than the rounding of numbers of this size; above 1 if it never is."""
    for l in range(8):
        total = side * start * FIT[l, 0]
        for a in range(STAGES):
            total += side * values[a] * FIT[l, a + 1]
        stack[0, l] = total
    return bernstein.first_below(stack, GRAIN * size)


@inner
def first_meeting(problem, state, scratch):
    """(fraction of the step, neuron, surface) of the first crossing on the collocation polynomial; surface -1 is a
    change of sign of b, a fraction above 1 none."""
    m, big = state.bits.shape
    r = problem.e.shape[1]
    Z, values, stack = scratch.stiff.Z, scratch.poly, scratch.work.stack
    b0, _ = weights(state.y, m)
    best, neuron, surface = 2.0, -1, -1
    for j in range(m):
        if state.dead[j] != 0:
            continue
        if state.delta_sign[j] != 0.0:
            size = abs(b0[j])  # b may be tiny beside q: an error of 1e-12 of q may be all of it
            for a in range(STAGES):
                b, _ = weights(Z[a], m)
                values[a] = b0[j] + b[j]
                size = max(size, abs(values[a]))
            x = below_zero(b0[j], values, state.sign[j], size, stack)
            if x < best:
                best, neuron, surface = x, j, -1
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
                values[a] = start + along(problem, Z[a], j, k)
            x = below_zero(start, values, side, size, stack)
            if x < best:
                best, neuron, surface = x, j, k
    return best, neuron, surface


@inner
def along(problem, y, j, k):
    """<q_j, e_k> of y."""
    r = problem.e.shape[1]
    q = row(y, j, r)
    total = 0.0
    for i in range(r):
        total += q[i] * problem.e[k, i]
    return total


@inner
def closing_rate(problem, state, scratch, j, k):
    """Rate of <q_j, e_k>, or of b_j for k = -1, at the end of the step, on the collocation polynomial."""
    m = state.sign.size
    total = 0.0
    for a in range(STAGES):
        b, _ = weights(scratch.stiff.Z[a], m)
        total += END[a] * (b[j] if k < 0 else along(problem, scratch.stiff.Z[a], j, k))
    return total / scratch.step.h


@inner
def watch_releases(problem, state, scratch):
    """work.held gets the release margins at the stages, with the drive of the stages; overwrites work. Expects those at
    the end in at_hi. Those at the start do not belong: there the drive may not have settled yet."""
    step, work, stiff = scratch.step, scratch.work, scratch.stiff
    surfaces.watch(state, scratch.at_hi, work.held[STAGES - 1])
    for a in range(STAGES - 1):
        for i in range(state.y.size):
            scratch.tmp[i] = state.y[i] + stiff.Z[a, i]
        outputs(problem, state, scratch.tmp, work)
        fac = np.exp(drive(problem, work.f, work.g) + shift_at(problem, step, step.h, a))
        for i in range(stiff.g.size):
            work.g[i] = (stiff.g[i] + stiff.gamma[a, i]) / fac
        pulls_by(problem, state, work.g, work)
        surfaces.margins(problem, state, work, scratch.at_x)
        surfaces.watch(state, scratch.at_x, work.held[a])


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
    size = state.y.size
    if not relaxation(problem, stiff, MU / h):
        fill(out, np.inf)
        return
    defect(stiff, h, scratch.K[0], out)
    held_still(problem, state, out)
    low_rank(problem, stiff, h, out)
    if again:
        for p in range(size):
            stiff.R[0, p] = state.y[p] + out[p]
        shift = scratch.step.clock if problem.late == 1 else 0.0
        field(problem, state, stiff.R[0], shift, F, scratch.work)
        defect(stiff, h, F, out)
        held_still(problem, state, out)
        low_rank(problem, stiff, h, out)
