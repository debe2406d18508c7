"""One step of all neurons with bits frozen, order 8; its error; what lies inside it.

Errors are measured per neuron on (q, b, c), so relative to its own scale, and on the outputs.
"""

import numpy as np

from reluflow.engine import explicit
from reluflow.engine._jit import calling, inner
from reluflow.engine.explicit import on_invariant
from reluflow.engine.field import SLID, copy, fill
from reluflow.engine.layout import row, weights
from reluflow.engine.surfaces import out_of_held, watch
from reluflow.engine.tableau import E3, E5, STAGES, A, C
from reluflow.engine.vector.field import SEEN, add_up, velocity, zero
from reluflow.engine.vector.layout import heads, pair
from reluflow.engine.vector.surfaces import margins

CANCELLED = 1e-12  # rounding, with room, of a change of the outputs that cancels


@inner
def square_norm(v):
    """|v|^2."""
    total = 0.0
    for i in range(v.size):
        total += v[i] * v[i]
    return total


@inner
def stretch(v, factor):
    """v *= factor."""
    for i in range(v.size):
        v[i] *= factor


@inner
def settle(problem, state, y, clock):
    """Puts a state back on what it must satisfy: held surfaces, |a|^2 - |w|^2 of each neuron, |q|^2 + |b|^2 = 2.

    Balanced neurons have |q| = |b| = 1: |q|^2 - 1 obeys e' = -2 rho e, which is unstable while they shrink. Without
    decay nothing of that depends on the clock.
    """
    for j in range(state.sign.size):
        lead = state.lead[j]
        if lead >= 0 and state.dead[lead] == 0:
            settle_row(problem, state, y, j)


@inner
def settle_row(problem, state, y, j):
    """`settle` for row j, which is in use."""
    rows, lead = state.sign.size, state.lead[j]
    q, b = pair(problem, y, rows, j)
    _, log_size = weights(y, rows)
    out_of_held(state, lead, q)
    if lead != j:
        return
    bb, qq = square_norm(b), square_norm(q)
    size, factor = 1.0, np.sqrt(1.0 / qq) if qq > 0.0 else 1.0
    if state.defect_sign[j] != 0.0:
        size, log_size[j], factor = on_invariant(
            np.sqrt(bb), qq, log_size[j], state.defect_sign[j], state.defect_log[j]
        )
    if bb > 0.0:
        stretch(b, size / np.sqrt(bb))
    stretch(q, factor)


@inner
def add_follower(problem, state, j, p):
    """Adds follower p to neuron j."""
    rows = state.sign.size
    _, c = weights(state.y, rows)
    q, b = pair(problem, state.y, rows, j)
    dq, db = pair(problem, state.y, rows, p)
    ratio = np.exp(c[p] - c[j])
    for i in range(q.size):
        q[i] += ratio * dq[i]
    for o in range(b.size):
        b[o] += ratio * db[o]
    size = np.sqrt(0.5 * (square_norm(q) + square_norm(b)))
    stretch(q, 1.0 / size)
    stretch(b, 1.0 / size)
    c[j] += np.log(size)


@inner
def rescale(problem, state):
    """Followers with |q|^2 + |b|^2 = 2 again; those that are 0 are given up."""
    rows = state.sign.size
    _, c = weights(state.y, rows)
    for p in range(problem.m, rows):
        if state.lead[p] < 0:
            continue
        q, b = pair(problem, state.y, rows, p)
        size = np.sqrt(0.5 * (square_norm(q) + square_norm(b)))
        if size > 0.0:
            stretch(q, 1.0 / size)
            stretch(b, 1.0 / size)
            c[p] += np.log(size)
        else:
            state.lead[p] = -1
            c[p] = 0.0


@inner
def stages(problem, state, scratch, clock, h, to, watched):
    """The step of size h from the present state, given K[0]: fills K[1:12] and `to`, settled.

    `watched`: work.held gets the release margins of the held surfaces at the stages.
    """
    y, K = state.y, scratch.K
    size = y.size
    for a in range(1, STAGES + 1):
        copy(to, y)
        for b in range(a):
            w = h * A[a, b]
            if w != 0.0:
                for i in range(size):
                    to[i] += w * K[b, i]
        if a < STAGES:
            velocity(problem, state, to, clock + C[a] * h, K[a], scratch.work)
            if watched and a < STAGES - 1:
                margins(problem, state, to, scratch.work, scratch.at_x)
                watch(state, scratch.at_x, scratch.work.held[a])
    settle(problem, state, to, clock + h)


@inner
def beside(problem, state, run, p):
    """What the error of follower p may be relative to, squared, in units of its own size.

    Followers in one place of neurons large enough to be seen are one change of the network: the error of a part is
    relative to the whole. What that change does to the drive moves all neurons, and is rounding where it cancels.
    """
    _, c = weights(state.y, state.sign.size)
    lead = state.lead[p]
    top, felt, first = c[p], -np.inf, p - lead
    for j in range(problem.m):
        if state.lead[first + j] == j and c[j] > SEEN:
            felt = max(felt, c[first + j] + c[j])
            if c[lead] > SEEN:
                top = max(top, c[first + j])
    top = max(top, felt + c[lead] + min(0.0, np.log(CANCELLED / run.rtol)))
    return np.exp(min(600.0, 2.0 * (top - c[p])))


@inner
def error(problem, state, run, scratch, h):
    """The step's error over its tolerance: the worst row, the energy, and the outputs where these may cancel."""
    rows = state.sign.size
    r, k = problem.e.shape[1], problem.k
    K, e5, e3, work = scratch.K, scratch.e5, scratch.e3, scratch.work
    size = state.y.size
    for i in range(size):
        a5 = 0.0
        a3 = 0.0
        for p in range(STAGES):
            a5 += E5[p] * K[p, i]
            a3 += E3[p] * K[p, i]
        e5[i] = h * a5
        e3[i] = h * a3
    b5, b3 = heads(e5, rows, k), heads(e3, rows, k)
    _, c5 = weights(e5, rows)
    _, c3 = weights(e3, rows)
    worst, loud = 0.0, 0.0
    for j in range(rows):
        lead = state.lead[j]
        if lead < 0 or state.dead[lead] != 0:
            continue
        s5 = square_norm(row(e5, j, r)) + square_norm(row(b5, j, k)) + c5[j] ** 2
        s3 = square_norm(row(e3, j, r)) + square_norm(row(b3, j, k)) + c3[j] ** 2
        # Tested here because max() would drop a NaN.
        if not np.isfinite(s5 + s3):
            return np.inf
        if lead != j:
            y1 = scratch.y1
            grown = 0.5 * (square_norm(row(y1, j, r)) + square_norm(row(heads(y1, rows, k), j, k)))
            grown = max(grown, beside(problem, state, run, j))
            s5, s3 = s5 / max(1.0, grown), s3 / max(1.0, grown)
        loud += work.e2c[j]
        if s5 > 0.0:
            worst = max(worst, s5 / np.sqrt(s5 + 0.01 * s3))
    last = size - 1
    if e5[last] != 0.0 and run.loss0 > 0.0:
        worst = max(worst, (e5[last] ** 2 / np.sqrt(e5[last] ** 2 + 0.01 * e3[last] ** 2)) / run.loss0)
    if loud * problem.top > 2.0:
        worst = max(worst, output_error(problem, state, run, e5, work))
    return worst / run.rtol


@inner
def output_error(problem, state, run, e5, work):
    """Effect of the state error e5 on the outputs, relative to max(1, |f|), linearised at the last work.u.

    Below the rounding of an output's own terms nothing can be asked of it. Overwrites work.acc and work.g.
    """
    rows, big = state.bits.shape
    r, k = problem.e.shape[1], problem.k
    b_all, b5 = heads(state.y, rows, k), heads(e5, rows, k)
    _, c5 = weights(e5, rows)
    acc, size = work.acc, work.sum
    zero(acc[0])
    zero(acc[1])
    fill(size, 0.0)
    for j in range(rows):
        e2c = work.e2c[j]
        if e2c < 1e-16:
            continue
        b, db, dc, dq = row(b_all, j, k), row(b5, j, k), c5[j], row(e5, j, r)
        norm = np.sqrt(square_norm(b))
        for s in range(big):
            if (state.code[j, s] & 3) >= SLID:
                continue
            u, du = work.u[j, s], 0.0
            for i in range(r):
                du += dq[i] * problem.e[s, i]
            size[s] += e2c * norm * abs(u)
            for o in range(k):
                change = e2c * (b[o] * du + u * (db[o] + 2.0 * b[o] * dc))
                acc[0, s, o] += state.bits[j, s] * change
                acc[1, s, o] += change
    add_up(problem, acc, work.g)
    worst = 0.0
    for i in range(problem.alpha.size):
        floor = 1e-15 * abs(problem.alpha[i]) * size[problem.surf[i]] / run.rtol
        df = np.sqrt(square_norm(work.g[i]))
        worst = max(worst, df / (max(1.0, np.sqrt(square_norm(work.f[i]))) + floor))
    return worst


dense = calling(explicit.dense, velocity=velocity)
