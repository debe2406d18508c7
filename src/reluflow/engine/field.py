"""The drive of the data and the velocity it gives every neuron.

    f_i = sum_j a_j m_ji <w_j, x_i>      g_i = -dL/df_i      D_j = sum_i m_ji g_i x_i,   h = <D_j, q_j>
    q' = b (D - h q),   b' = h (1 - b^2),   c' = b h         (first layer only: q' = b D)

On a surface k, x_i = alpha_i e_k: with m the bit of the surface, D = sum_k (m F_k + B_k) e_k, where F_k = sum_i
|alpha_i| g_i is the jump and B_k = (1 + slope) sum_{alpha_i < 0} alpha_i g_i. Slid surfaces are projected out of D,
which is what their bit achieves.

The drive is kept as e^G g with max |g| of order 1 for losses with an exponential tail, and the clock s = log(1 + t)
is used there: rates are multiplied by e^{G + s}. The square loss has G = 0 and the clock t (s = 0 in the formula).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.engine._jit import APART, inner, making

SQUARE, LOGISTIC, LOGISTIC2, EXPONENTIAL = 0, 1, 2, 3
BLAS_ABOVE = 100_000

# What a surface is to a neuron. FRESH is added after an event until the neuron has clearly left the surface.
OFF, ON, SLID, PINNED, FRESH = 0, 1, 2, 3, 4
ALIVE, DEAD, ASLEEP = 0, 1, 2


class State(NamedTuple):
    """What moves. `y` is q (m*r), b (m), c (m) and the dissipated energy (1), flat; the rest changes at events only."""

    y: np.ndarray
    bits: np.ndarray  # (m, S) m_jk; for slid surfaces its last known value
    code: np.ndarray  # (m, S) OFF, ON, SLID, PINNED (+ FRESH)
    sign: np.ndarray  # (m,) sign of b just after now
    dead: np.ndarray  # (m,) DEAD when nothing can move the neuron again, ASLEEP while it rests at w = 0
    slid: np.ndarray  # (m,) number of surfaces the neuron is held on
    basis: np.ndarray  # (m, kmax, r) orthonormal rows z_p spanning their normals
    tri: np.ndarray  # (m, kmax, kmax) e_a = sum_{p <= a} tri[p, a] z_p
    where: np.ndarray  # (m, kmax) which surface the a-th of these normals belongs to
    delta_sign: np.ndarray
    delta_log: np.ndarray


class Work(NamedTuple):
    """Scratch space, overwritten by every call."""

    u: np.ndarray  # (m, S) <q_j, e_k>
    pull: np.ndarray  # (m, r) D_j / e^G
    free: np.ndarray  # (m, r) D_j / e^G before slid surfaces are projected out
    coef: np.ndarray  # (m, S) m F + B
    f: np.ndarray  # (n,)
    g: np.ndarray  # (n,) g_i / e^G
    jump: np.ndarray  # (S,) F_k / e^G
    base: np.ndarray  # (S,) B_k / e^G
    acc: np.ndarray  # (2, S)
    e2c: np.ndarray  # (m,) e^{2 c_j} of the state last looked at
    probe_jump: np.ndarray  # (S,) F_k and B_k of a probe
    probe_base: np.ndarray
    noise: np.ndarray  # (S,) rounding of the forces
    who: np.ndarray  # (m (S + 1),) pairs of neuron and surface that may have met
    where: np.ndarray
    poly: np.ndarray  # (7,) a coordinate over a step
    size: np.ndarray  # (m,) |q_j|
    nu: np.ndarray  # (kmax,) multipliers of the held surfaces


@making
def times(a, b, out):
    """out = a b; `np.dot` needs references counted."""
    np.dot(a, b, out)


@inner
def fill(to, value):
    """to[...] = value for a flat array, as a loop: array expressions are slow to compile."""
    for i in range(to.size):
        to[i] = value


@inner
def copy(to, source):
    """to[...] = source for flat arrays."""
    for i in range(to.size):
        to[i] = source[i]


@inner
def copy_rows(to, source):
    """to[...] = source for matrices."""
    for i in range(to.shape[0]):
        for k in range(to.shape[1]):
            to[i, k] = source[i, k]


@inner
def outputs(pk, y, bits, code, dead, wk):
    """Fills wk.u and wk.f: the network on the data."""
    m, big = bits.shape
    r = pk.e.shape[1]
    blas = m * big * r > BLAS_ABOVE
    if blas:
        times(y[: m * r].reshape(m, r), pk.e.T, wk.u)
    acc = wk.acc
    for k in range(big):
        acc[0, k] = 0.0
        acc[1, k] = 0.0
    for j in range(m):
        if dead[j] != 0:
            wk.e2c[j] = 0.0
            continue
        e2c = np.exp(2.0 * y[m * r + m + j])
        wk.e2c[j] = e2c
        amp = e2c * y[m * r + j]
        at = j * r
        for k in range(big):
            if blas:
                u = wk.u[j, k]
            else:
                u = 0.0
                for i in range(r):
                    u += y[at + i] * pk.e[k, i]
                wk.u[j, k] = u
            kind = code[j, k] & 3
            if kind >= SLID:
                continue
            acc[0, k] += amp * bits[j, k] * u
            acc[1, k] += amp * u
    add_up(pk, acc, wk.f)


@inner
def add_up(pk, acc, f):
    """f_i from the sums over neurons of a m u (row 0) and a u (row 1) on each surface."""
    for i in range(pk.alpha.size):
        k = pk.surf[i]
        if pk.alpha[i] > 0:
            f[i] = pk.alpha[i] * acc[0, k]
        else:
            f[i] = pk.alpha[i] * ((1.0 + pk.slope) * acc[1, k] - acc[0, k])


@inner
def log1pexp(z):
    """log(1 + e^z) without overflow."""
    return max(z, 0.0) + np.log1p(np.exp(-abs(z)))


@inner
def drive(pk, f, g):
    """Fills g with -dL/df_i / e^G and returns G (0 for the square loss)."""
    n = f.size
    if pk.loss == SQUARE:
        for i in range(n):
            g[i] = pk.weight * (pk.y[i] - f[i])
        return 0.0
    top = -np.inf
    for i in range(n):
        z = pk.y[i] * f[i]
        lg = -z if pk.loss == EXPONENTIAL else -log1pexp(z)
        g[i] = lg
        top = max(top, lg)
    for i in range(n):
        g[i] = pk.y[i] * np.exp(g[i] - top)
    top += np.log(pk.weight)
    if pk.loss == LOGISTIC2:
        top += np.log(2.0)
    return top


@making
def log_loss(pk, f):
    """log of the loss; -inf for a perfect square-loss fit."""
    n = f.size
    if pk.loss == SQUARE:
        total = 0.0
        for i in range(n):
            total += (f[i] - pk.y[i]) ** 2
        return np.log(0.5 * pk.weight * total + pk.constant)
    top = -np.inf
    terms = np.empty(n + APART)[:n]
    for i in range(n):
        z = pk.y[i] * f[i]
        if pk.loss == EXPONENTIAL:
            terms[i] = -z
        elif z > 30.0:
            terms[i] = -z - 0.5 * np.exp(-z)
        else:
            terms[i] = np.log(log1pexp(-z))
        top = max(top, terms[i])
    total = 0.0
    for i in range(n):
        total += np.exp(terms[i] - top)
    log_sum = top + np.log(total) + np.log(pk.weight) + (np.log(2.0) if pk.loss == LOGISTIC2 else 0.0)
    return log_sum if pk.constant == 0.0 else np.log(np.exp(log_sum) + pk.constant)


@inner
def per_surface(pk, g, jump, base):
    """F_k and B_k from g_i."""
    for k in range(jump.size):
        jump[k] = 0.0
        base[k] = 0.0
    for i in range(g.size):
        k = pk.surf[i]
        jump[k] += abs(pk.alpha[i]) * g[i]
        if pk.alpha[i] < 0:
            base[k] += (1.0 + pk.slope) * pk.alpha[i] * g[i]


@inner
def pulls(pk, bits, code, dead, slid, basis, jump, base, wk):
    """Fills wk.pull with D_j for the surface forces given, and wk.free with its value before projection."""
    m, big = bits.shape
    r = pk.e.shape[1]
    blas = m * big * r > BLAS_ABOVE
    if blas:
        for j in range(m):
            for k in range(big):
                wk.coef[j, k] = 0.0 if (code[j, k] & 3) >= SLID or dead[j] != 0 else bits[j, k] * jump[k] + base[k]
        times(wk.coef, pk.e, wk.free)
    D, free = wk.pull, wk.free
    for j in range(m):
        if not blas:
            for i in range(r):
                free[j, i] = 0.0
        if dead[j] != 0:
            for i in range(r):
                D[j, i] = 0.0
            continue
        if not blas:
            for k in range(big):
                if (code[j, k] & 3) >= SLID:
                    continue
                coef = bits[j, k] * jump[k] + base[k]
                if coef != 0.0:
                    for i in range(r):
                        free[j, i] += coef * pk.e[k, i]
        for i in range(r):
            D[j, i] = free[j, i]
        for p in range(slid[j]):
            dot = 0.0
            for i in range(r):
                dot += basis[j, p, i] * D[j, i]
            for i in range(r):
                D[j, i] -= dot * basis[j, p, i]


@inner
def planar(pk, y, s, bits, code, dead, slid, basis, out, wk):
    """`field` in the plane, with the two coordinates written out: small problems spend their time here."""
    m, big = bits.shape
    e, acc = pk.e, wk.acc
    for k in range(big):
        acc[0, k] = 0.0
        acc[1, k] = 0.0
    for j in range(m):
        if dead[j] != 0:
            wk.e2c[j] = 0.0
            continue
        e2c = np.exp(2.0 * y[3 * m + j])
        wk.e2c[j] = e2c
        amp = e2c * y[2 * m + j]
        q0, q1 = y[2 * j], y[2 * j + 1]
        if slid[j] == 0:
            for k in range(big):
                u = q0 * e[k, 0] + q1 * e[k, 1]
                wk.u[j, k] = u
                acc[0, k] += amp * bits[j, k] * u
                acc[1, k] += amp * u
        else:
            for k in range(big):
                u = q0 * e[k, 0] + q1 * e[k, 1]
                wk.u[j, k] = u
                if (code[j, k] & 3) < SLID:
                    acc[0, k] += amp * bits[j, k] * u
                    acc[1, k] += amp * u
    add_up(pk, acc, wk.f)
    G = drive(pk, wk.f, wk.g)
    per_surface(pk, wk.g, wk.jump, wk.base)
    fac = np.exp(G + s)
    spent = 0.0
    for j in range(m):
        d0, d1 = 0.0, 0.0
        if dead[j] == 0:
            if slid[j] == 0:
                for k in range(big):
                    coef = bits[j, k] * wk.jump[k] + wk.base[k]
                    d0 += coef * e[k, 0]
                    d1 += coef * e[k, 1]
            else:
                for k in range(big):
                    if (code[j, k] & 3) < SLID:
                        coef = bits[j, k] * wk.jump[k] + wk.base[k]
                        d0 += coef * e[k, 0]
                        d1 += coef * e[k, 1]
        wk.free[j, 0], wk.free[j, 1] = d0, d1
        for p in range(slid[j]):
            dot = basis[j, p, 0] * d0 + basis[j, p, 1] * d1
            d0 -= dot * basis[j, p, 0]
            d1 -= dot * basis[j, p, 1]
        wk.pull[j, 0], wk.pull[j, 1] = d0, d1
        b, q0, q1 = y[2 * m + j], y[2 * j], y[2 * j + 1]
        size = d0 * d0 + d1 * d1
        if pk.first == 1:
            out[2 * j], out[2 * j + 1] = fac * b * d0, fac * b * d1
            out[2 * m + j] = 0.0
            out[3 * m + j] = 0.0
            spent += b * b * size
        else:
            h = d0 * q0 + d1 * q1
            out[2 * j], out[2 * j + 1] = fac * b * (d0 - h * q0), fac * b * (d1 - h * q1)
            out[2 * m + j] = fac * h * (1.0 - b) * (1.0 + b)
            out[3 * m + j] = fac * b * h
            spent += wk.e2c[j] * (b * b * size + h * h)
    out[4 * m] = spent * fac * np.exp(G)
    return G


@inner
def field(pk, y, s, bits, code, dead, slid, basis, out, wk):
    """The velocity of (q, b, c, energy) with respect to the clock, bits frozen; returns G."""
    m = bits.shape[0]
    r = pk.e.shape[1]
    if r == 2:
        return planar(pk, y, s, bits, code, dead, slid, basis, out, wk)
    outputs(pk, y, bits, code, dead, wk)
    G = drive(pk, wk.f, wk.g)
    per_surface(pk, wk.g, wk.jump, wk.base)
    pulls(pk, bits, code, dead, slid, basis, wk.jump, wk.base, wk)
    fac = np.exp(G + s)
    spent = 0.0
    for j in range(m):
        at = j * r
        b = y[m * r + j]
        if dead[j] != 0:
            for i in range(r):
                out[at + i] = 0.0
            out[m * r + j] = 0.0
            out[m * r + m + j] = 0.0
            continue
        D = wk.pull
        h = 0.0
        size = 0.0
        for i in range(r):
            h += D[j, i] * y[at + i]
            size += D[j, i] * D[j, i]
        if pk.first == 1:
            for i in range(r):
                out[at + i] = fac * b * D[j, i]
            out[m * r + j] = 0.0
            out[m * r + m + j] = 0.0
            spent += b * b * size
        else:
            for i in range(r):
                out[at + i] = fac * b * (D[j, i] - h * y[at + i])
            out[m * r + j] = fac * h * (1.0 - b) * (1.0 + b)
            out[m * r + m + j] = fac * b * h
            spent += wk.e2c[j] * (b * b * size + h * h)
    out[m * r + 2 * m] = spent * fac * np.exp(G)
    return G


@inner
def stiffness(pk, y, s, bits, code, dead, slid, basis, probe, wk):
    """One power iteration for the fastest rate of the residuals; `probe` (n,) is kept between calls.

    K_ik = sum_j e^{2c} m_i m_k (b^2 <x_i, x_k> + u_i u_k) times the curvature of the loss. Expects wk.u, wk.f, wk.e2c
    at `y`.
    """
    m, big = bits.shape
    r = pk.e.shape[1]
    n = probe.size
    jump, base = wk.probe_jump, wk.probe_base
    per_surface(pk, probe, jump, base)
    pulls(pk, bits, code, dead, slid, basis, jump, base, wk)
    acc = wk.acc
    for k in range(big):
        acc[0, k] = 0.0
        acc[1, k] = 0.0
    for j in range(m):
        if dead[j] != 0:
            wk.e2c[j] = 0.0
            continue
        e2c = wk.e2c[j]
        if e2c < 1e-20:
            continue
        b = y[m * r + j]
        h = 0.0
        for i in range(r):
            h += wk.pull[j, i] * y[j * r + i]
        if pk.first == 1:
            h = 0.0
        for k in range(big):
            if (code[j, k] & 3) >= SLID:
                continue
            dot = 0.0
            for i in range(r):
                dot += wk.pull[j, i] * pk.e[k, i]
            rate = e2c * (h * wk.u[j, k] + b * b * dot)
            acc[0, k] += bits[j, k] * rate
            acc[1, k] += rate
    total = 0.0
    for i in range(n):
        k = pk.surf[i]
        if pk.alpha[i] > 0:
            v = pk.alpha[i] * acc[0, k]
        else:
            v = pk.alpha[i] * ((1.0 + pk.slope) * acc[1, k] - acc[0, k])
        z = pk.y[i] * wk.f[i]
        if pk.loss == SQUARE:
            curve = pk.weight
        elif pk.loss == EXPONENTIAL:
            curve = pk.weight * np.exp(s - z)
        else:
            curve = pk.weight * np.exp(s - log1pexp(z) - log1pexp(-z)) * (2.0 if pk.loss == LOGISTIC2 else 1.0)
        probe[i] = curve * v
        total += probe[i] * probe[i]
    total = np.sqrt(total)
    if total > 0.0 and np.isfinite(total):
        for i in range(n):
            # The constant part keeps every direction reachable when the dominant one changes.
            probe[i] = 0.999 * probe[i] / total + 0.001 / np.sqrt(n)
    else:
        fill(probe, 1.0 / np.sqrt(n))
    return total
