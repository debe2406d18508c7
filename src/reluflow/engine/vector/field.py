"""The drive of the data and the velocity it gives every neuron, for k outputs.

    f_i = sum_j a_j m_ji <w_j, x_i>      G_i = -dL/df_i in R^k      M_j = sum_i m_ji G_i x_i'
    q' = M' b - rho q,   b' = M q - rho b,   c' = rho = <b, M q>

On a surface k, x_i = alpha_i e_k: with m the bit of the surface, M = sum_k (m F_k + B_k) e_k', where F_k = sum_i
|alpha_i| G_i and B_k = (1 + slope) sum_{alpha_i < 0} alpha_i G_i are vectors of R^k. Normals of held surfaces are
projected out of M' b; on them <q, e_k> = 0, so that M q needs no projection.

Softmax: G_i = (e_y - p_i)/n with 1 - p_y as the sum of the other p, kept as e^G g with max |g| of order 1, and the
clock is log(1 + t): rates are multiplied by e^{G + s}. Square: the clock is t, G = 0.

The last number of a velocity is the rate at which the loss falls, sum_j e^{2c} (|M' b|^2 + |M q|^2).
"""

import numpy as np

from reluflow.engine._jit import inner
from reluflow.engine.field import SLID
from reluflow.engine.layout import row, weights
from reluflow.engine.loss import log_softplus
from reluflow.engine.surfaces import out_of_held
from reluflow.engine.vector.layout import heads

SQUARE, SOFTMAX = 0, 1
STILL = 1e-11  # pull on a neuron with followers, relative to the forces of its data, that is rounding
SEEN = -23.0  # log size of a neuron whose followers may change the outputs


@inner
def zero(to):
    """to[...] = 0 for a matrix."""
    for i in range(to.shape[0]):
        for o in range(to.shape[1]):
            to[i, o] = 0.0


@inner
def clock_shift(problem, clock):
    """The s of `field`: the clock itself where it is log(1 + t), 0 where it is t."""
    return clock if problem.late == 1 else 0.0


@inner
def outputs(problem, state, y, work):
    """Fills work.u, work.e2c and work.f: the network on the data."""
    rows, big = state.bits.shape
    r, k = problem.e.shape[1], problem.k
    b_all = heads(y, rows, k)
    _, c = weights(y, rows)
    acc, u_all = work.acc, work.u
    zero(acc[0])
    zero(acc[1])
    for j in range(rows):
        work.e2c[j] = 0.0
        lead = state.lead[j]
        if lead < 0 or state.dead[lead] != 0:
            continue
        q, b = row(y, j, r), row(b_all, j, k)
        for s in range(big):
            e = problem.e[s]
            u = 0.0
            for i in range(r):
                u += q[i] * e[i]
            u_all[j, s] = u
        if lead != j:
            continue
        e2c = np.exp(2.0 * c[j])
        work.e2c[j] = e2c
        for s in range(big):
            if (state.code[j, s] & 3) >= SLID:
                continue
            every = e2c * u_all[j, s]
            bit = state.bits[j, s] * every
            for o in range(k):
                acc[0, s, o] += bit * b[o]
                acc[1, s, o] += every * b[o]
    add_up(problem, acc, work.f)


@inner
def add_up(problem, acc, f):
    """f_i from the sums over neurons of a m u and a u on each surface."""
    for i in range(problem.alpha.size):
        s, a = problem.surf[i], problem.alpha[i]
        for o in range(problem.k):
            if a > 0:
                f[i, o] = a * acc[0, s, o]
            else:
                f[i, o] = a * ((1.0 + problem.slope) * acc[1, s, o] - acc[0, s, o])


@inner
def log_sum(f, skip):
    """log of the sum of e^{f_o}, without o = skip (-1: of all)."""
    top = -np.inf
    for o in range(f.size):
        if o != skip:
            top = max(top, f[o])
    total = 0.0
    for o in range(f.size):
        if o != skip:
            total += np.exp(f[o] - top)
    return top + np.log(total)


@inner
def drive(problem, f, g):
    """Fills g with -dL/df_i / e^G and returns G (0 for square)."""
    n, k = f.shape
    if problem.loss == SQUARE:
        for i in range(n):
            for o in range(k):
                g[i, o] = problem.weight * (problem.y[i, o] - f[i, o])
        return 0.0
    top = -np.inf
    for i in range(n):
        label = problem.label[i]
        top = max(top, log_sum(f[i], label) - log_sum(f[i], -1))
    for i in range(n):
        label = problem.label[i]
        level = log_sum(f[i], -1) + top
        total = 0.0
        for o in range(k):
            if o != label:
                g[i, o] = -np.exp(f[i, o] - level)
                total -= g[i, o]
        g[i, label] = total
    return top + np.log(problem.weight)


@inner
def log_loss(problem, f):
    """log of the loss; -inf for a perfect fit by square."""
    n, k = f.shape
    if problem.loss == SQUARE:
        total = 0.0
        for i in range(n):
            for o in range(k):
                total += (f[i, o] - problem.y[i, o]) ** 2
        return np.log(0.5 * problem.weight * total + problem.constant)
    top = -np.inf
    for i in range(n):
        label = problem.label[i]
        top = max(top, log_softplus(log_sum(f[i], label) - f[i, label]))
    total = 0.0
    for i in range(n):
        label = problem.label[i]
        total += np.exp(log_softplus(log_sum(f[i], label) - f[i, label]) - top)
    found = top + np.log(total) + np.log(problem.weight)
    return found if problem.constant == 0.0 else np.log(np.exp(found) + problem.constant)


@inner
def per_surface(problem, g, force, rear):
    """F_k and B_k from G_i."""
    zero(force)
    zero(rear)
    for i in range(g.shape[0]):
        s, a = problem.surf[i], problem.alpha[i]
        for o in range(problem.k):
            force[s, o] += abs(a) * g[i, o]
            if a < 0:
                rear[s, o] += (1.0 + problem.slope) * a * g[i, o]


@inner
def contract(problem, state, y, work, j):
    """work.jump and work.base: the forces <b_j, F_k> and <b_j, B_k> on the surfaces of neuron j."""
    k = problem.k
    b = row(heads(y, state.sign.size, k), j, k)
    for s in range(work.jump.size):
        jump, base = 0.0, 0.0
        for o in range(k):
            jump += b[o] * work.force[s, o]
            base += b[o] * work.rear[s, o]
        work.jump[s], work.base[s] = jump, base


@inner
def pulls(problem, state, y, force, rear, work):
    """Fills work.pull, work.free and work.lift with M' b and M q for the surface forces given; expects work.u at y."""
    rows, big = state.bits.shape
    r, k = problem.e.shape[1], problem.k
    b_all = heads(y, rows, k)
    for j in range(rows):
        lead = state.lead[j]
        pull, free, lift = work.pull[j], work.free[j], work.lift[j]
        for i in range(r):
            free[i] = 0.0
        for o in range(k):
            lift[o] = 0.0
        if lead >= 0 and state.dead[lead] == 0:
            b = row(b_all, j, k)
            bits, code = state.bits[lead], state.code[lead]
            for s in range(big):
                if (code[s] & 3) >= SLID or (bits[s] == 0.0 and problem.opposite[s] == 0):
                    continue
                u, total = work.u[j, s], 0.0
                for o in range(k):
                    part = bits[s] * force[s, o] + rear[s, o]
                    lift[o] += part * u
                    total += part * b[o]
                e = problem.e[s]
                for i in range(r):
                    free[i] += total * e[i]
        for i in range(r):
            pull[i] = free[i]
        if lead >= 0:
            out_of_held(state, lead, pull)


@inner
def fill_places(problem, state):
    """Gives every neuron a row, of zeros if need be, in each place where a neuron that can be seen has a follower: what
    that does to the drive moves all of them."""
    rows = state.sign.size
    _, c = weights(state.y, rows)
    for first in range(problem.m, rows, problem.m):
        top = -np.inf
        for j in range(problem.m):
            if state.lead[first + j] == j and c[j] > SEEN and state.dead[j] == 0:
                top = max(top, c[first + j] + c[j])
        for j in range(problem.m):
            p = first + j
            if top > -np.inf and state.lead[p] < 0 and state.dead[j] == 0:
                state.lead[p] = j
                c[p] = top + c[j]


@inner
def feed_back(problem, state, y, G, first, work):
    """Adds to work.pull and work.lift of the followers in one place, rows `first` to first + m, what they do to their
    neurons through the outputs: together they are a small change of the network, and its outputs change the drive.

    The outputs are changed by followers of neurons that are large enough to be seen at the start of the step (the
    velocity must not jump in it); the drive acts on all neurons, whose rows in this place take it up.
    """
    rows, big = state.bits.shape
    r, k = problem.e.shape[1], problem.k
    b_all = heads(y, rows, k)
    _, c = weights(y, rows)
    _, c_start = weights(state.y, rows)
    acc = work.acc
    top = -np.inf
    for j in range(problem.m):
        if state.lead[first + j] == j and c_start[j] > SEEN and state.dead[j] == 0:
            top = max(top, c[first + j] + c[j])
    if top == -np.inf:
        return
    zero(acc[0])
    zero(acc[1])
    for j in range(problem.m):
        p = first + j
        if state.lead[p] != j or not c_start[j] > SEEN or state.dead[j] != 0:
            continue
        amp, b, db = np.exp(c[p] + c[j] - top), row(b_all, j, k), row(b_all, p, k)
        for s in range(big):
            if (state.code[j, s] & 3) >= SLID:
                continue
            for o in range(k):
                every = amp * (b[o] * work.u[p, s] + db[o] * work.u[j, s])
                acc[0, s, o] += state.bits[j, s] * every
                acc[1, s, o] += every
    add_up(problem, acc, work.df)
    for i in range(work.df.shape[0]):
        bend(problem, i, work.f[i], -G if problem.loss == SOFTMAX else 0.0, work.df[i])
        for o in range(k):
            work.df[i, o] = -work.df[i, o]
    per_surface(problem, work.df, work.probe_force, work.probe_rear)
    for j in range(problem.m):
        p = first + j
        if state.lead[p] != j or state.dead[j] != 0:
            continue
        b, pull, lift, way = row(b_all, j, k), work.pull[p], work.lift[p], work.way
        for i in range(r):
            way[i] = 0.0
        size = np.exp(min(300.0, top + c[j] - c[p]))
        for s in range(big):
            if (state.code[j, s] & 3) >= SLID or (state.bits[j, s] == 0.0 and problem.opposite[s] == 0):
                continue
            total = 0.0
            for o in range(k):
                part = size * (state.bits[j, s] * work.probe_force[s, o] + work.probe_rear[s, o])
                lift[o] += part * work.u[j, s]
                total += part * b[o]
            for i in range(r):
                way[i] += total * problem.e[s, i]
        out_of_held(state, j, way)
        for i in range(r):
            pull[i] += way[i]


@inner
def followed_by(problem, state, j):
    """Whether neuron j has a follower."""
    for p in range(problem.m + j, state.sign.size, problem.m):
        if state.lead[p] == j:
            return True
    return False


@inner
def rests(problem, state, work, j):
    """Whether neuron j, which has followers, is moved by rounding alone: that would grow at the rates at which the
    followers do, and is far larger than they are."""
    if state.sign.size == problem.m or not followed_by(problem, state, j):
        return False
    total, size = 0.0, 0.0
    for s in range(work.force.shape[0]):
        if state.bits[j, s] > 0.0 or problem.opposite[s] == 1:
            for o in range(problem.k):
                total = max(total, abs(work.force[s, o]))
    for i in range(work.pull.shape[1]):
        size = max(size, abs(work.pull[j, i]))
    for o in range(problem.k):
        size = max(size, abs(work.lift[j, o]))
    return size <= STILL * total


@inner
def velocity(problem, state, y, clock, out, work):
    """`out` = the velocity of (q, b, c, energy) at y with respect to the clock, bits frozen; returns G."""
    rows = state.sign.size
    r, k = problem.e.shape[1], problem.k
    outputs(problem, state, y, work)
    G = drive(problem, work.f, work.g)
    per_surface(problem, work.g, work.force, work.rear)
    pulls(problem, state, y, work.force, work.rear, work)
    for first in range(problem.m, rows, problem.m):
        feed_back(problem, state, y, G, first, work)
    b_all, b_rates = heads(y, rows, k), heads(out, rows, k)
    _, c_rate = weights(out, rows)
    fac = np.exp(G + clock_shift(problem, clock))
    spent = 0.0
    for j in range(rows):
        q, q_rate = row(y, j, r), row(out, j, r)
        b, b_rate = row(b_all, j, k), row(b_rates, j, k)
        pull, lift = work.pull[j], work.lift[j]
        if state.lead[j] != j:
            # A follower is linear, and its log size stands still within a step.
            for i in range(r):
                q_rate[i] = fac * pull[i]
            for o in range(k):
                b_rate[o] = fac * lift[o]
            c_rate[j] = 0.0
            continue
        if rests(problem, state, work, j):
            for i in range(r):
                q_rate[i] = 0.0
            for o in range(k):
                b_rate[o] = 0.0
            c_rate[j] = 0.0
            continue
        rho, size = 0.0, 0.0
        for i in range(r):
            rho += 0.5 * pull[i] * q[i]
            size += pull[i] * pull[i]
        for o in range(k):
            rho += 0.5 * lift[o] * b[o]
            size += lift[o] * lift[o]
        for i in range(r):
            q_rate[i] = fac * (pull[i] - rho * q[i])
        for o in range(k):
            b_rate[o] = fac * (lift[o] - rho * b[o])
        c_rate[j] = fac * rho
        spent += work.e2c[j] * size
    out[out.size - 1] = spent * fac * np.exp(G)
    return G


@inner
def bend(problem, i, f, s, v):
    """v = -dG_i/df_i v at the outputs f of datum i, in units of the clock."""
    k = problem.k
    if problem.loss == SQUARE:
        for o in range(k):
            v[o] *= problem.weight
        return
    level, label = log_sum(f, -1), problem.label[i]
    mean = 0.0
    for o in range(k):
        mean += np.exp(f[o] - level) * v[o]
    total = 0.0
    for o in range(k):
        if o != label:
            v[o] = problem.weight * np.exp(f[o] - level + s) * (v[o] - mean)
            total += v[o]
    v[label] = -total


@inner
def stiffness(problem, state, s, work):
    """One power iteration for the fastest rate of the residuals; its direction work.probe is kept between calls.

    The kernel is sum_j e^{2c} m_i m_l (<x_i, x_l> b b' + u_i u_l) times the curvature of the loss. Expects work at the
    present state; overwrites work.pull, work.free, work.lift, work.acc.
    """
    rows, big = state.bits.shape
    r, k = problem.e.shape[1], problem.k
    probe, acc = work.probe, work.acc
    n = probe.shape[0]
    per_surface(problem, probe, work.probe_force, work.probe_rear)
    pulls(problem, state, state.y, work.probe_force, work.probe_rear, work)
    b_all = heads(state.y, rows, k)
    zero(acc[0])
    zero(acc[1])
    for j in range(rows):
        e2c = work.e2c[j]
        if e2c < 1e-20:
            continue
        b, pull, lift = row(b_all, j, k), work.pull[j], work.lift[j]
        for at in range(big):
            if (state.code[j, at] & 3) >= SLID:
                continue
            e = problem.e[at]
            dot = 0.0
            for i in range(r):
                dot += pull[i] * e[i]
            for o in range(k):
                rate = e2c * (lift[o] * work.u[j, at] + b[o] * dot)
                acc[0, at, o] += state.bits[j, at] * rate
                acc[1, at, o] += rate
    add_up(problem, acc, probe)
    total = 0.0
    for i in range(n):
        bend(problem, i, work.f[i], s, probe[i])
        for o in range(k):
            total += probe[i, o] ** 2
    total = np.sqrt(total)
    good = total > 0.0 and np.isfinite(total)
    for i in range(n):
        for o in range(k):
            # The constant part keeps every direction reachable when the dominant one changes.
            even = 1.0 / np.sqrt(n * k) if (i + o) % 2 == 0 else -1.0 / np.sqrt(n * k)
            probe[i, o] = 0.999 * probe[i, o] / total + 0.001 * even if good else even
    return total


@inner
def noise(problem, state, y, work):
    """Fills work.noise: the rounding error of |F_k|, from the sum of the moduli of what was added up to get it.
    Expects work at y."""
    rows, big = state.bits.shape
    r, k = problem.e.shape[1], problem.k
    b_all = heads(y, rows, k)
    size = work.sum
    for s in range(big):
        size[s] = 0.0
        work.noise[s] = 0.0
    for j in range(rows):
        if work.e2c[j] == 0.0:
            continue
        q, b = row(y, j, r), row(b_all, j, k)
        amp = 0.0
        for o in range(k):
            amp += b[o] * b[o]
        amp = work.e2c[j] * np.sqrt(amp)
        for s in range(big):
            bit = 1.0 if problem.opposite[s] == 1 else state.bits[j, s]
            if bit > 0.0 and (state.code[j, s] & 3) < SLID:
                total = 0.0
                for i in range(r):
                    total += abs(q[i] * problem.e[s, i])
                size[s] += amp * bit * total
    for i in range(problem.alpha.size):
        s, a = problem.surf[i], abs(problem.alpha[i])
        top, label = 0.0, 0.0
        for o in range(k):
            top = max(top, abs(work.g[i, o]))
            label = max(label, abs(problem.y[i, o]))
        if problem.loss == SQUARE:
            work.noise[s] += 1e-15 * problem.weight * a * (label + a * size[s])
        else:
            work.noise[s] += 1e-15 * a * top * (1.0 + a * size[s])
