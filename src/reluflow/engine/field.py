"""The drive of the data and the velocity it gives every neuron.

    f_i = sum_j a_j m_ji <w_j, x_i>      g_i = -dL/df_i      D_j = sum_i m_ji g_i x_i,   h = <D_j, q_j>
    q' = b (D - h q),   b' = h (1 - b^2),   c' = b h - decay         (first layer only: q' = b D - decay q)

On a surface k, x_i = alpha_i e_k: with m the bit of the surface, D = sum_k (m F_k + B_k) e_k, where F_k = sum_i
|alpha_i| g_i is the jump and B_k = (1 + slope) sum_{alpha_i < 0} alpha_i g_i. Slid surfaces are projected out of D,
which is what their bit achieves.

The drive is kept as e^G g with max |g| of order 1 for losses with an exponential tail, and the clock s = log(1 + t)
is used there without decay: rates are multiplied by e^{G + s}. Otherwise the clock is t (s = 0 in the formula), and
without a tail G = 0.

Decay acts on neurons whose bits are all off too. The last number of a velocity is the rate at which L +
(decay / 2) |theta|^2 falls; `penalty` is its second part.
"""

import numpy as np

from reluflow.engine import loss as losses
from reluflow.engine._jit import APART, inner, making
from reluflow.engine.layout import row, weights

BLAS_ABOVE = 100_000

# What a surface is to a neuron. FRESH is added after an event until the neuron has clearly left the surface.
OFF, ON, SLID, PINNED, FRESH = 0, 1, 2, 3, 4
ALIVE, DEAD, DORMANT = 0, 1, 2


@inner
def times(a, b, out):
    """out = a b, four rows of b at a time: every number is summed in the same order on any machine and any number of
    threads, which a library's product does not promise."""
    n = b.shape[0]
    for j in range(out.shape[0]):
        to = out[j]
        for l in range(to.size):
            to[l] = 0.0
        k = 0
        while k + 4 <= n:
            a0, a1, a2, a3 = a[j, k], a[j, k + 1], a[j, k + 2], a[j, k + 3]
            b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
            if a0 != 0.0 or a1 != 0.0 or a2 != 0.0 or a3 != 0.0:
                for l in range(to.size):
                    to[l] += a0 * b0[l] + a1 * b1[l] + a2 * b2[l] + a3 * b3[l]
            k += 4
        while k < n:
            a0, b0 = a[j, k], b[k]
            for l in range(to.size):
                to[l] += a0 * b0[l]
            k += 1


@inner
def fill(to, value):
    """to[...] = value for a flat array, as a loop: array expressions are slow to compile."""
    for i in range(to.size):
        to[i] = value


@inner
def norm_q(y, j, r):
    """|q_j|."""
    q = row(y, j, r)
    total = 0.0
    for i in range(r):
        total += q[i] * q[i]
    if total > 1e-280:
        return np.sqrt(total)
    # Squares underflow: only when the first layer alone is trained, where q is not normalised.
    top = 0.0
    for i in range(r):
        top = max(top, abs(q[i]))
    if top == 0.0:
        return 0.0
    total = 0.0
    for i in range(r):
        total += (q[i] / top) ** 2
    return top * np.sqrt(total)


@inner
def copy(to, source):
    """to[...] = source for flat arrays."""
    for i in range(to.size):
        to[i] = source[i]


@inner
def copy_rows(to, source):
    """to[...] = source for contiguous matrices."""
    copy(to.reshape(to.size), source.reshape(source.size))


@inner
def add_rows(to, x, rows):
    """to += sum_k x_k rows_k, added in the order of k."""
    for k in range(x.size):
        weight, row_k = x[k], rows[k]
        for i in range(to.size):
            to[i] += weight * row_k[i]


@inner
def dots(x, rows, out):
    """out_k = <x, rows_k>, every sum in the order of its terms: four sums side by side, since one alone waits for the
    rounding of every term before it adds the next."""
    n, size = out.size, x.size
    k = 0
    while k + 4 <= n:
        r0, r1, r2, r3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for i in range(size):
            s0 += x[i] * r0[i]
            s1 += x[i] * r1[i]
            s2 += x[i] * r2[i]
            s3 += x[i] * r3[i]
        out[k], out[k + 1], out[k + 2], out[k + 3] = s0, s1, s2, s3
        k += 4
    while k < n:
        r0 = rows[k]
        s0 = 0.0
        for i in range(size):
            s0 += x[i] * r0[i]
        out[k] = s0
        k += 1


@inner
def outputs(problem, state, y, work):
    """Fills work.u and work.f: the network on the data."""
    m, big = state.bits.shape
    r = problem.e.shape[1]
    b, c = weights(y, m)
    blas = m * big * r > BLAS_ABOVE
    if blas:
        times(y[: m * r].reshape(m, r), problem.et, work.u)
    acc = work.acc
    for k in range(big):
        acc[0, k] = 0.0
        acc[1, k] = 0.0
    for j in range(m):
        if state.dead[j] != 0:
            work.e2c[j] = 0.0
            continue
        e2c = np.exp(2.0 * c[j])
        work.e2c[j] = e2c
        amp = e2c * b[j]
        u, bits = work.u[j], state.bits[j]
        if not blas:
            dots(row(y, j, r), problem.e, u)
        if state.slid[j] == 0:
            for k in range(big):
                acc[0, k] += amp * bits[k] * u[k]
                acc[1, k] += amp * u[k]
            continue
        for k in range(big):
            if (state.code[j, k] & 3) < SLID:
                acc[0, k] += amp * bits[k] * u[k]
                acc[1, k] += amp * u[k]
    add_up(problem, acc, work.f)


@inner
def add_up(problem, acc, f):
    """f_i from the sums over neurons of a m u (row 0) and a u (row 1) on each surface."""
    for i in range(problem.alpha.size):
        k = problem.surf[i]
        if problem.alpha[i] > 0:
            f[i] = problem.alpha[i] * acc[0, k]
        else:
            f[i] = problem.alpha[i] * ((1.0 + problem.slope) * acc[1, k] - acc[0, k])


@inner
def drive(problem, f, g):
    """Fills g with -dL/df_i / e^G and returns G (0 for a loss without a tail)."""
    n = f.size
    if not losses.tailed(problem.loss):
        weight = problem.weight * losses.factor(problem.loss)
        for i in range(n):
            g[i] = losses.force(problem.loss, weight, problem.y[i], f[i])
        return 0.0
    top = -np.inf
    for i in range(n):
        lg = losses.log_force(problem.loss, problem.y[i] * f[i])
        g[i] = lg
        top = max(top, lg)
    for i in range(n):
        g[i] = problem.y[i] * np.exp(g[i] - top)
    top += np.log(problem.weight)
    if losses.factor(problem.loss) != 1.0:
        top += np.log(losses.factor(problem.loss))
    return top


@making
def log_loss(problem, f):
    """log of the loss; -inf for a perfect fit without a tail."""
    n = f.size
    if not losses.tailed(problem.loss):
        # With c = 2 the factor 1/2 of a squared term cancels, and each term is added with one rounding.
        weight = 0.5 * problem.weight * losses.factor(problem.loss)
        return np.log(weight * losses.total(problem.loss, 2.0, problem.y, f) + problem.constant)
    top = -np.inf
    terms = np.empty(n + APART)[:n]
    for i in range(n):
        terms[i] = losses.log_value(problem.loss, problem.y[i] * f[i])
        top = max(top, terms[i])
    total = 0.0
    for i in range(n):
        total += np.exp(terms[i] - top)
    log_sum = top + np.log(total) + np.log(problem.weight) + np.log(losses.factor(problem.loss))
    return log_sum if problem.constant == 0.0 else np.log(np.exp(log_sum) + problem.constant)


@inner
def per_surface(problem, g, jump, base):
    """F_k and B_k from g_i."""
    for k in range(jump.size):
        jump[k] = 0.0
        base[k] = 0.0
    for i in range(g.size):
        k = problem.surf[i]
        jump[k] += abs(problem.alpha[i]) * g[i]
        if problem.alpha[i] < 0:
            base[k] += (1.0 + problem.slope) * problem.alpha[i] * g[i]


@inner
def pulls(problem, state, jump, base, work):
    """Fills work.pull with D_j for the surface forces given, and work.free with its value before projection."""
    m, big = state.bits.shape
    r = problem.e.shape[1]
    bits, code, dead, basis = state.bits, state.code, state.dead, state.basis
    D, free, coef = work.pull, work.free, work.coef
    blas = m * big * r > BLAS_ABOVE
    for j in range(m):
        for k in range(big):
            coef[j, k] = 0.0 if (code[j, k] & 3) >= SLID or dead[j] != 0 else bits[j, k] * jump[k] + base[k]
    if blas:
        times(coef, problem.e, free)
    for j in range(m):
        if dead[j] != 0:
            fill(free[j], 0.0)
        elif not blas:
            dots(coef[j], problem.et, free[j])
    copy_rows(D, free)
    for j in range(m):
        if dead[j] != 0:
            continue
        for p in range(state.slid[j]):
            dot = 0.0
            for i in range(r):
                dot += basis[j, p, i] * D[j, i]
            for i in range(r):
                D[j, i] -= dot * basis[j, p, i]


@inner
def add_decay(problem, state, y, v):
    """Adds decay to the velocity v at y: p becomes p - decay theta in every neuron, dead ones too, and the energy rate
    |p|^2 becomes |p|^2 - 2 decay <p, theta> + decay^2 |theta|^2."""
    decay = problem.decay
    m = state.sign.size
    r = problem.e.shape[1]
    _, c = weights(y, m)
    _, c_rate = weights(v, m)
    total = 0.0
    for j in range(m):
        if problem.first == 0:
            # <p, theta> = 2 e^{2c} b h, and |theta|^2 = 2 e^{2c}.
            total += np.exp(2.0 * c[j]) * (4.0 * c_rate[j] - 2.0 * decay)
            c_rate[j] -= decay
            continue
        q, q_rate = row(y, j, r), row(v, j, r)
        for i in range(r):
            total += q[i] * (2.0 * q_rate[i] - decay * q[i])
            q_rate[i] -= decay * q[i]
    v[v.size - 1] -= decay * total


@inner
def penalty(problem, state, y):
    """(decay / 2) |theta|^2."""
    m = state.sign.size
    _, c = weights(y, m)
    total = 0.0
    if problem.decay == 0.0:
        return total
    if problem.first == 1:
        r = problem.e.shape[1]
        for i in range(m * r):
            total += 0.5 * y[i] * y[i]
    else:
        for j in range(m):
            total += np.exp(2.0 * c[j])
    return problem.decay * total


@inner
def planar_outputs(problem, state, y, work):
    """Fills work.u, work.acc and work.e2c in the plane, four surfaces at a time: their sums over neurons, each in the
    order of the neurons, stay in registers."""
    m, big = state.bits.shape
    bits, code, dead, slid = state.bits, state.code, state.dead, state.slid
    b, c = weights(y, m)
    e, acc, e2c, u = problem.e, work.acc, work.e2c, work.u
    for j in range(m):
        e2c[j] = np.exp(2.0 * c[j]) if dead[j] == 0 else 0.0
    k = 0
    while k + 4 <= big:
        x0, y0, x1, y1 = e[k, 0], e[k, 1], e[k + 1, 0], e[k + 1, 1]
        x2, y2, x3, y3 = e[k + 2, 0], e[k + 2, 1], e[k + 3, 0], e[k + 3, 1]
        on0, on1, on2, on3, all0, all1, all2, all3 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(m):
            if dead[j] != 0:
                continue
            amp, q0, q1 = e2c[j] * b[j], y[2 * j], y[2 * j + 1]
            to, bit = u[j, k : k + 4], bits[j, k : k + 4]
            u0, u1, u2, u3 = q0 * x0 + q1 * y0, q0 * x1 + q1 * y1, q0 * x2 + q1 * y2, q0 * x3 + q1 * y3
            to[0], to[1], to[2], to[3] = u0, u1, u2, u3
            kind = code[j, k : k + 4]
            free = slid[j] == 0
            if free or (kind[0] & 3) < SLID:
                on0 += amp * bit[0] * u0
                all0 += amp * u0
            if free or (kind[1] & 3) < SLID:
                on1 += amp * bit[1] * u1
                all1 += amp * u1
            if free or (kind[2] & 3) < SLID:
                on2 += amp * bit[2] * u2
                all2 += amp * u2
            if free or (kind[3] & 3) < SLID:
                on3 += amp * bit[3] * u3
                all3 += amp * u3
        acc[0, k], acc[0, k + 1], acc[0, k + 2], acc[0, k + 3] = on0, on1, on2, on3
        acc[1, k], acc[1, k + 1], acc[1, k + 2], acc[1, k + 3] = all0, all1, all2, all3
        k += 4
    while k < big:
        x0, y0 = e[k, 0], e[k, 1]
        on0, all0 = 0.0, 0.0
        for j in range(m):
            if dead[j] != 0:
                continue
            amp, u0 = e2c[j] * b[j], y[2 * j] * x0 + y[2 * j + 1] * y0
            u[j, k] = u0
            if (code[j, k] & 3) < SLID:
                on0 += amp * bits[j, k] * u0
                all0 += amp * u0
        acc[0, k], acc[1, k] = on0, all0
        k += 1


@inner
def planar(problem, state, y, s, out, work):
    """`field` in the plane: the same sums with the two coordinates written out.

    A specialisation for speed: loops over two coordinates cost more than the arithmetic in them, and small problems
    spend their time here.
    """
    m, big = state.bits.shape
    bits, code, dead, slid, basis = state.bits, state.code, state.dead, state.slid, state.basis
    b, _ = weights(y, m)
    b_rate, c_rate = weights(out, m)
    e = problem.e
    planar_outputs(problem, state, y, work)
    add_up(problem, work.acc, work.f)
    G = drive(problem, work.f, work.g)
    per_surface(problem, work.g, work.jump, work.base)
    fac = np.exp(G + s)
    spent = 0.0
    for j in range(m):
        d0, d1 = 0.0, 0.0
        if dead[j] == 0:
            if slid[j] == 0:
                for k in range(big):
                    coef = bits[j, k] * work.jump[k] + work.base[k]
                    d0 += coef * e[k, 0]
                    d1 += coef * e[k, 1]
            else:
                for k in range(big):
                    if (code[j, k] & 3) < SLID:
                        coef = bits[j, k] * work.jump[k] + work.base[k]
                        d0 += coef * e[k, 0]
                        d1 += coef * e[k, 1]
        work.free[j, 0], work.free[j, 1] = d0, d1
        for p in range(slid[j]):
            dot = basis[j, p, 0] * d0 + basis[j, p, 1] * d1
            d0 -= dot * basis[j, p, 0]
            d1 -= dot * basis[j, p, 1]
        work.pull[j, 0], work.pull[j, 1] = d0, d1
        bj, q0, q1 = b[j], y[2 * j], y[2 * j + 1]
        size = d0 * d0 + d1 * d1
        if problem.first == 1:
            out[2 * j], out[2 * j + 1] = fac * bj * d0, fac * bj * d1
            b_rate[j] = 0.0
            c_rate[j] = 0.0
            spent += bj * bj * size
        else:
            h = d0 * q0 + d1 * q1
            out[2 * j], out[2 * j + 1] = fac * bj * (d0 - h * q0), fac * bj * (d1 - h * q1)
            b_rate[j] = fac * h * (1.0 - bj) * (1.0 + bj)
            c_rate[j] = fac * bj * h
            spent += work.e2c[j] * (bj * bj * size + h * h)
    out[out.size - 1] = spent * fac * np.exp(G)
    return G


@inner
def pulled(problem, state, y, fac, out, work):
    """The velocity of (q, b, c) at y under the pulls in work.pull times `fac`; returns the energy rate over fac e^G."""
    m = state.sign.size
    r = problem.e.shape[1]
    b, _ = weights(y, m)
    b_rate, c_rate = weights(out, m)
    spent = 0.0
    for j in range(m):
        q, q_rate = row(y, j, r), row(out, j, r)
        bj = b[j]
        if state.dead[j] != 0:
            for i in range(r):
                q_rate[i] = 0.0
            b_rate[j] = 0.0
            c_rate[j] = 0.0
            continue
        D = work.pull
        h = 0.0
        size = 0.0
        for i in range(r):
            h += D[j, i] * q[i]
            size += D[j, i] * D[j, i]
        if problem.first == 1:
            for i in range(r):
                q_rate[i] = fac * bj * D[j, i]
            b_rate[j] = 0.0
            c_rate[j] = 0.0
            spent += bj * bj * size
        else:
            for i in range(r):
                q_rate[i] = fac * bj * (D[j, i] - h * q[i])
            b_rate[j] = fac * h * (1.0 - bj) * (1.0 + bj)
            c_rate[j] = fac * bj * h
            spent += work.e2c[j] * (bj * bj * size + h * h)
    return spent


@inner
def field(problem, state, y, s, out, work):
    """The velocity of (q, b, c, energy) at y with respect to the clock, bits frozen; returns G."""
    if problem.e.shape[1] == 2:
        G = planar(problem, state, y, s, out, work)
        if problem.decay > 0.0:
            add_decay(problem, state, y, out)
        return G
    outputs(problem, state, y, work)
    G = drive(problem, work.f, work.g)
    per_surface(problem, work.g, work.jump, work.base)
    pulls(problem, state, work.jump, work.base, work)
    fac = np.exp(G + s)
    spent = pulled(problem, state, y, fac, out, work)
    out[out.size - 1] = spent * fac * np.exp(G)
    if problem.decay > 0.0:
        add_decay(problem, state, y, out)
    return G


@inner
def datum_curvature(problem, i, f, s):
    """-dg_i/df_i at the output f, in units of the clock (times e^s for losses with an exponential tail)."""
    weight = problem.weight * losses.factor(problem.loss)
    if losses.tailed(problem.loss):
        return weight * np.exp(losses.log_curvature(problem.loss, s, problem.y[i] * f))
    return losses.curvature(problem.loss, weight, problem.y[i], f)


@inner
def stiffness(problem, state, s, work):
    """One power iteration for the fastest rate of the residuals; its direction work.probe is kept between calls.

    K_ik = sum_j e^{2c} m_i m_k (b^2 <x_i, x_k> + u_i u_k) times the curvature of the loss. Expects work.u, work.f,
    work.e2c at the present state.
    """
    m, big = state.bits.shape
    r = problem.e.shape[1]
    probe = work.probe
    n = probe.size
    jump, base = work.probe_jump, work.probe_base
    per_surface(problem, probe, jump, base)
    pulls(problem, state, jump, base, work)
    output_weight, _ = weights(state.y, m)
    acc = work.acc
    for k in range(big):
        acc[0, k] = 0.0
        acc[1, k] = 0.0
    for j in range(m):
        if state.dead[j] != 0:
            work.e2c[j] = 0.0
            continue
        e2c = work.e2c[j]
        if e2c < 1e-20:
            continue
        b, q = output_weight[j], row(state.y, j, r)
        h = 0.0
        for i in range(r):
            h += work.pull[j, i] * q[i]
        if problem.first == 1:
            h = 0.0
        for k in range(big):
            if (state.code[j, k] & 3) >= SLID:
                continue
            dot = 0.0
            for i in range(r):
                dot += work.pull[j, i] * problem.e[k, i]
            rate = e2c * (h * work.u[j, k] + b * b * dot)
            acc[0, k] += state.bits[j, k] * rate
            acc[1, k] += rate
    total = 0.0
    for i in range(n):
        k = problem.surf[i]
        if problem.alpha[i] > 0:
            v = problem.alpha[i] * acc[0, k]
        else:
            v = problem.alpha[i] * ((1.0 + problem.slope) * acc[1, k] - acc[0, k])
        curve = datum_curvature(problem, i, work.f[i], s)
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
