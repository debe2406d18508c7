"""Plain gradient descent with k outputs, the scale of every neuron beside its mantissas.

    w_j = e^{c_j} q_j,  a_j = e^{c_j} b_j:    q += eta (M_j^T b - decay q),   b += eta (M_j q - decay b)   (old q, b)
    M_j^T b = sum_i s'(<w_j, x_i>) <G_i, b> x_i,     M_j q = sum_i s(<q, x_i>) G_i,     G_i = -dL/df_i in R^k

As `engine.descent`, whose events, states and batches these are: e^c drops out of both updates and enters the outputs
alone. Neurons lie side by side in memory: q is (d, m), b is (k, m), bits are (n, m).
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import descent as kd
from reluflow.engine._jit import entry, glue


class Task(NamedTuple):
    """What does not change during a run."""

    x: np.ndarray  # (n, d)
    y: np.ndarray  # (n, k) labels, one-hot for classes
    live: np.ndarray  # (n,) 0 for rows that are zero
    classes: int  # 1: softmax, 0: square
    slope: float
    at_zero: float
    mean: int  # 1: a batch's loss is its mean, 0: its sum
    first: int  # 1: only the first layer moves
    step: float
    batch: int  # rows in a batch; n for full batches
    products: bool  # matrix products instead of loops
    decay: float


class Moving(NamedTuple):
    """What moves. q and mask are float32 in `burst32`; everything else is float64 always."""

    q: np.ndarray  # (d, m)
    b: np.ndarray  # (k, m)
    c0: np.ndarray  # (m,)
    exponent: np.ndarray  # (m,) int64
    amp: np.ndarray  # (m,) e^{2c}
    mask: np.ndarray  # (n, m) s'(<w_j, x_i>) at the last look
    dead: np.ndarray  # (m,)
    energy: np.ndarray  # (1,) step times the sum of |grad L|^2


class Work(NamedTuple):
    """The order of the data, and scratch space for batches of up to `batch` rows."""

    order: np.ndarray  # data in the order of some epochs; 0 ... n - 1 for full batches
    x: np.ndarray  # (batch d,) the rows of a mini-batch
    flat: np.ndarray  # (batch m,) products
    turn: np.ndarray  # (m, d) a matrix transposed
    u: np.ndarray  # (batch m,) <q_j, x_i>, then bits, then bits times <G_i, b_j>
    z: np.ndarray  # (batch m,) s(<q_j, x_i>)
    amp_b: np.ndarray  # (k, m) e^{2c} b
    moved: np.ndarray  # (batch,) how many bits of a row changed
    f: np.ndarray  # (batch, k)
    g: np.ndarray  # (batch, k) G_i
    push: np.ndarray  # (m,) <G_i, b_j> of one datum
    D: np.ndarray  # (d, m) M_j^T b_j
    h: np.ndarray  # (k, m) M_j q_j


class Batch(NamedTuple):
    """The rows of one iteration, and the scratch space for them."""

    rows: np.ndarray  # (count,) which data
    x: np.ndarray  # (count, d)
    u: np.ndarray  # (count, m)
    z: np.ndarray  # (count, m)
    f: np.ndarray  # (count, k)
    g: np.ndarray  # (count, k)


# The rows of an iteration ---------------------------------------------------------------------------------------------


@glue
def all_rows(task, work):
    """The full batch."""
    m = work.push.size
    u, z = work.u.reshape(task.batch, m), work.z.reshape(task.batch, m)
    return Batch(work.order, task.x, u, z, work.f, work.g)


@glue
def batch_of(task, run):
    """(first place in `order`, size) of this iteration's batch."""
    n = task.y.shape[0]
    per_epoch = (n + task.batch - 1) // task.batch
    at = (run.iteration % per_epoch) * task.batch
    return (run.iteration // per_epoch - run.epoch) * n + at, min(task.batch, n - at)


@glue
def some_rows(task, work, at, count):
    """The mini-batch of `count` rows at place `at` of `order`."""
    d, m = work.D.shape
    rows, x = work.order[at : at + count], task.x
    if task.products:
        x = work.x[: count * d].reshape(count, d)
        for p in range(count):
            for i in range(d):
                x[p, i] = task.x[rows[p], i]
    u, z = work.u[: count * m].reshape(count, m), work.z[: count * m].reshape(count, m)
    return Batch(rows, x, u, z, work.f[:count], work.g[:count])


# The gradient ---------------------------------------------------------------------------------------------------------


@glue
def look(task, st, batch, work):
    """Outputs and bits of a batch; returns how many bits changed since last time."""
    d, m = st.q.shape
    k = st.b.shape[0]
    u, z, amp_b = batch.u, batch.z, work.amp_b
    count = batch.f.shape[0]
    full = task.batch == task.y.shape[0]
    changed = 0
    for c in range(k):
        for j in range(m):
            amp_b[c, j] = st.amp[j] * st.b[c, j]
    if task.products:
        for i in range(d):
            for j in range(m):
                work.turn[j, i] = st.q[i, j]
        kd.product(work.turn, batch.x.T, work.flat[: count * m].reshape(m, count))
    for p in range(count):
        if task.products:
            for j in range(m):
                u[p, j] = work.flat[j * count + p]
        else:
            row = batch.rows[p]
            x = task.x[row, 0]
            for j in range(m):
                u[p, j] = x * st.q[0, j]
            for i in range(1, d):
                x = task.x[row, i]
                for j in range(m):
                    u[p, j] += x * st.q[i, j]
        for j in range(m):
            s = kd.bit(task, u[p, j])
            z[p, j] = s * u[p, j]
            u[p, j] = s
        for c in range(k):
            total = 0.0
            for j in range(m):
                total += amp_b[c, j] * z[p, j]
            batch.f[p, c] = total
        if full:
            moves = 0
            for j in range(m):
                moves += 1 if u[p, j] != st.mask[p, j] else 0
            work.moved[p] = moves
            changed += moves
    return changed


@glue
def drive(task, batch):
    """G_i = -dL/df_i of a batch; for classes 1 - p_y is the sum of the other p."""
    count, k = batch.f.shape
    weight = 1.0 / count if task.mean == 1 else 1.0
    for p in range(count):
        row = batch.rows[p]
        if task.classes == 0:
            for c in range(k):
                batch.g[p, c] = weight * (task.y[row, c] - batch.f[p, c])
        else:
            top = batch.f[p, 0]
            for c in range(1, k):
                top = max(top, batch.f[p, c])
            total, others, own = 0.0, 0.0, 0
            for c in range(k):
                e = np.exp(batch.f[p, c] - top)
                batch.g[p, c] = -e
                total += e
                if task.y[row, c] > 0.0:
                    own = c
                else:
                    others += e
            batch.g[p, own] = others
            for c in range(k):
                batch.g[p, c] *= weight / total


@glue
def pulls(task, st, batch, work):
    """M_j^T b_j and M_j q_j of the batch; its bits are overwritten by products."""
    u, z, g, D, h, push = batch.u, batch.z, batch.g, work.D, work.h, work.push
    d, m = D.shape
    count, k = g.shape
    h[:, :] = 0.0
    for p in range(count):
        push[:] = 0.0
        for c in range(k):
            force = g[p, c]
            for j in range(m):
                push[j] += force * st.b[c, j]
                h[c, j] += force * z[p, j]
        for j in range(m):
            u[p, j] *= push[j]
    if task.products:
        kd.product(u.T, batch.x, work.turn)
        for i in range(d):
            for j in range(m):
                D[i, j] = work.turn[j, i]
    else:
        D[:, :] = 0.0
        for p in range(count):
            for i in range(d):
                x = task.x[batch.rows[p], i]
                for j in range(m):
                    D[i, j] += x * u[p, j]


@glue
def move(task, st, work):
    """One iteration: both layers from the old values."""
    d, m = st.q.shape
    k = st.b.shape[0]
    fade = task.step * task.decay
    spent = 0.0
    for i in range(d):
        for j in range(m):
            v = task.step * work.D[i, j] - fade * st.q[i, j]
            st.q[i, j] += v
            spent += st.amp[j] * (v * v)
    if task.first == 0:
        for c in range(k):
            for j in range(m):
                v = task.step * work.h[c, j] - fade * st.b[c, j]
                st.b[c, j] += v
                spent += st.amp[j] * (v * v)
    st.energy[0] += spent / task.step


@glue
def resting(task, st, work):
    """True when an iteration changes no neuron by anything float64 can see, or shrinks one that float64 does not see
    beside others."""
    d, m = st.q.shape
    k = st.b.shape[0]
    rest = True
    for j in range(m):
        size, change, inward = 0.0, 0.0, 0.0
        for i in range(d):
            v = work.D[i, j] - task.decay * st.q[i, j]
            size += st.q[i, j] * st.q[i, j]
            change += v * v
            inward += v * st.q[i, j]
        if task.first == 0:
            for c in range(k):
                v = work.h[c, j] - task.decay * st.b[c, j]
                size += st.b[c, j] * st.b[c, j]
                change += v * v
                inward += v * st.b[c, j]
        if task.decay > 0.0 and inward < 0.0 and st.amp[j] * size < kd.UNSEEN:
            continue
        if task.step * np.sqrt(change) > kd.RESTING * np.sqrt(size):
            rest = False
            break
    return rest


@glue
def rescale(task, st, fresh):
    """Mantissas back to size by powers of two; False when they are not finite."""
    d, m = st.q.shape
    k = st.b.shape[0]
    finite = True
    for j in range(m):
        size = 0.0
        for i in range(d):
            size += st.q[i, j] * st.q[i, j]
        for c in range(k):
            size += st.b[c, j] * st.b[c, j]
        finite = finite and np.isfinite(size)
        shift = 0 if task.first == 1 or size == 0.0 or not finite else int(np.rint(0.5 * np.log2(2.0 / size)))
        if abs(shift) > 1:
            factor = 2.0**shift
            for i in range(d):
                st.q[i, j] *= factor
            for c in range(k):
                st.b[c, j] *= factor
            st.exponent[j] -= shift
        if abs(shift) > 1 or fresh:
            st.amp[j] = np.exp(2.0 * (st.c0[j] + st.exponent[j] * kd.LOG2))
    return finite


# Iterations -----------------------------------------------------------------------------------------------------------


@glue
def write(task, st, room, row):
    """The state as one row: q, b, c, energy."""
    d, m = st.q.shape
    k = st.b.shape[0]
    y = room.y[row]
    for i in range(d):
        for j in range(m):
            y[j * d + i] = st.q[i, j]
    at = m * d
    for c in range(k):
        for j in range(m):
            y[at + j * k + c] = st.b[c, j]
    at += m * k
    for j in range(m):
        y[at + j] = st.c0[j] + st.exponent[j] * kd.LOG2
    y[at + m] = st.energy[0]
    kd.write_bits(st.mask, task.slope, room.code[row])


@glue
def iterate(task, st, run, batch, work, room):
    """One iteration: the state is looked at, written where that is due, and left; returns why it stopped."""
    now = run.iteration
    full = task.batch == task.y.shape[0]
    fresh = run.fresh == 1
    pause = (now & kd.RESCALE) == 0
    status = kd.RUNNING
    if (fresh or pause) and not rescale(task, st, fresh):
        status = kd.NOT_FINITE
    else:
        changed = look(task, st, batch, work)
        if fresh:
            run.fresh = 0
            if full and now == 0:
                kd.begin(task, st, run, batch)
                changed = 1.0
        if changed != 0.0:
            kd.note_bits(task, st, run, room.ev, batch.u, work.moved)
        if kd.due(run, room.saves, now) > 0:
            write(task, st, room, kd.label(run, room, now))
        if now >= run.end:
            status = kd.REACHED
        else:
            drive(task, batch)
            pulls(task, st, batch, work)
            if pause and full and resting(task, st, work):
                status = kd.STATIONARY
            else:
                move(task, st, work)
                run.iteration += 1
    return status


def _burst(task, st, run, budget, work, room):
    """At most `budget` iterations; returns why it stopped."""
    full = task.batch == task.y.shape[0]
    batch = all_rows(task, work)
    for _ in range(budget):
        if kd.full_up(st, run, room):
            return kd.FLUSH
        if not full:
            at, count = batch_of(task, run)
            if at + count > work.order.size:
                return kd.DRAW
            batch = some_rows(task, work, at, count)
        status = iterate(task, st, run, batch, work, room)
        if status != kd.RUNNING:
            return status
    return kd.RUNNING


burst = entry(_burst)
burst32 = entry(_burst)
