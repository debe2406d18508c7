"""Plain gradient descent with the scale of every neuron beside its mantissas.

    w_j = e^{c_j} q_j,  a_j = e^{c_j} b_j:    q += eta (b D - decay q),   b += eta (<D, q> - decay b)  (old q)
    D_j = sum_i s'(<w_j, x_i>) g_i x_i

That is descent on (w, a) itself, whatever the scale: both updates are linear in (q, b), so e^c drops out of them and
enters the outputs alone, f_i = sum_j e^{2 c_j} b_j s(<q_j, x_i>). Mantissas are brought back to size by powers of two,
which rounds nothing, and c_j = c0_j + E_j log 2 counts them in whole numbers. Bits are literal: 1, the slope, or
`at_zero` at exactly 0.

Neurons lie side by side in memory (q is (d, m), bits are (n, m)), so that plain loops vectorise over them; large
problems use matrix products for the two sums over data and dimensions instead.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import loss as losses
from reluflow.engine._jit import entry, glue, inner, making
from reluflow.engine.field import OFF, ON, PINNED
from reluflow.engine.surfaces import EV_DEAD, EV_OFF, EV_ON, EV_SIGN

# How a burst ended: FLUSH when what it wrote must be taken away first, DRAW when it needs the order of another epoch.
RUNNING, REACHED, STATIONARY, FLUSH, NOT_FINITE, DRAW = 0, 1, 2, 3, 4, 5
# What `fast_forward` is doing (run.mode). A run can only be resumed from states written while STEPPING.
STEPPING, COLLECTING, LEAPING, JUMPING = 0, 1, 2, 3
# What a written row is for, in the second column of `Room.at`: bits 1 and 2.
CHECKPOINT, FRAME = 1, 2

ALIVE, DEAD, DOUBTFUL = 0, 1, 2
ROWS = 256  # of data in one product: they and its results are used before they leave the cache
RESCALE = 15  # mantissas are rescaled when the iteration has none of these bits: every 16th
RESTING = 1.1e-16  # a relative change below the rounding of float64
UNSEEN = 1e-32  # |theta_j|^2 of a neuron that only shrinks
LOG2 = float(np.log(2.0))

RUN = np.dtype(
    [
        ("iteration", "i8"),
        ("end", "i8"),  # the last iteration
        ("last_event", "i8"),  # the iteration of the last event, or from which calm is counted
        ("fresh", "i8"),  # 1 when the state has just been put in place and e^{2c} is not known yet
        ("epoch", "i8"),  # the first epoch in `order`
        ("stride", "i8"),  # iterations between two checkpoints
        ("next_checkpoint", "i8"),  # its iteration
        ("next_frame", "i8"),  # its place in `saves`
        ("rows_used", "i8"),  # rows of `Room` in use: states, events
        ("log_used", "i8"),
        ("n_bits", "i8"),  # events so far, and how many of them are kept at most: bits, signs and deaths
        ("n_signs", "i8"),
        ("most_bits", "i8"),
        ("most_signs", "i8"),
        ("mode", "i8"),
        ("nodes", "i8"),  # changes collected; while leaping, leaps since the first
        ("top", "i8"),  # the newest of them
        ("length", "i8"),  # of the next leap, as far as its error goes
        ("longest", "i8"),  # leap for which the fastest rate is damped
        ("pending", "i8"),  # length of a leap that is accepted but not yet taken over, 0 for none
        ("n_leaps", "i8"),
        ("n_leapt", "i8"),  # iterations made by leaps
        ("n_jumps", "i8"),
        ("n_jumped", "i8"),
        ("n_fields", "i8"),  # gradients evaluated
    ],
    align=True,
)


class Task(NamedTuple):
    """What does not change during a run."""

    x: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    live: np.ndarray  # (n,) 0 for rows that are zero
    loss: int
    slope: float
    at_zero: float
    mean: int  # 1: a batch's loss is its mean, 0: its sum
    first: int  # 1: only the first layer moves
    step: float
    batch: int  # rows in a batch; n for full batches
    products: bool  # matrix products instead of loops
    reach: float  # the largest |x_i|
    decay: float = 0.0


class Moving(NamedTuple):
    """What moves. q and mask are float32 in `burst32`; everything else is float64 always."""

    q: np.ndarray  # (d, m)
    b: np.ndarray  # (m,)
    c0: np.ndarray  # (m,)
    exponent: np.ndarray  # (m,) int64
    amp: np.ndarray  # (m,) e^{2c}
    mask: np.ndarray  # (n, m) s'(<w_j, x_i>) at the last look
    sign: np.ndarray  # (m,) last non-zero sign of a_j
    dead: np.ndarray  # (m,) DEAD when no datum moves the neuron any more
    energy: np.ndarray  # (1,) step times the sum of |grad L|^2


class Room(NamedTuple):
    """Where a burst writes: events, and states that are checkpoints (every stride-th), frames (in `saves`) or both."""

    saves: np.ndarray  # iterations asked for, ascending
    ev: np.ndarray  # (rows, 5): iteration, neuron, datum, kind, unique
    at: np.ndarray  # (rows, 3) int64: iteration, CHECKPOINT + FRAME, 1 + iterations since an event (0: no way on)
    y: np.ndarray  # (rows, m d + 2 m + 1): q, b, c, energy
    code: np.ndarray  # (rows, m n) int8: bits, of use with full batches only


class Work(NamedTuple):
    """The order of the data, and scratch space for batches of up to `batch` rows.

    x, flat, turn and block are empty without matrix products.
    """

    order: np.ndarray  # data in the order of some epochs; 0 ... n - 1 for full batches
    x: np.ndarray  # (batch d,) the rows of a mini-batch
    flat: np.ndarray  # (ROWS m,) <q_j, x_i>, then bits times forces
    turn: np.ndarray  # (m, d) q with neurons as rows
    block: np.ndarray  # (2, m, d) D with neurons as rows, of some data and of all
    u: np.ndarray  # (batch m,) <q_j, x_i>, then bits; with products bits only
    amp_b: np.ndarray  # (m,) e^{2c} b, then step times b
    f: np.ndarray  # (batch,)
    g: np.ndarray  # (batch,) g_i
    moved: np.ndarray  # (batch,) how many bits of a row changed
    D: np.ndarray  # (d, m)
    h: np.ndarray  # (m,) <D, q>
    part: np.ndarray  # (m,) what each neuron adds to a sum


class Batch(NamedTuple):
    """The rows of one iteration, and the scratch space for them."""

    rows: np.ndarray  # (count,) which data
    x: np.ndarray  # (count, d)
    u: np.ndarray  # (count, m)
    f: np.ndarray  # (count,)
    g: np.ndarray  # (count,)
    moved: np.ndarray  # (count,)


# The rows of an iteration ---------------------------------------------------------------------------------------------


@glue
def all_rows(task, work):
    """The full batch."""
    u = work.u.reshape(task.batch, work.h.size)
    return Batch(work.order, task.x, u, work.f, work.g, work.moved)


@glue
def batch_of(task, run):
    """(first place in `order`, size) of this iteration's batch."""
    n = task.y.size
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
            for k in range(d):
                x[p, k] = task.x[rows[p], k]
    u = work.u[: count * m].reshape(count, m)
    return Batch(rows, x, u, work.f[:count], work.g[:count], work.moved[:count])


# The gradient ---------------------------------------------------------------------------------------------------------


@glue
def bit(task, z):
    """s'(z), literally."""
    return 1.0 if z > 0.0 else (task.slope if z < 0.0 else task.at_zero)


@glue
def total(part):
    """The sum of an array by eight sums side by side, always in the same order: one sum would wait for every addition
    before the next."""
    n = part.size
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    k = 0
    while k + 8 <= n:
        s0 += part[k]
        s1 += part[k + 1]
        s2 += part[k + 2]
        s3 += part[k + 3]
        s4 += part[k + 4]
        s5 += part[k + 5]
        s6 += part[k + 6]
        s7 += part[k + 7]
        k += 8
    while k < n:
        s0 += part[k]
        k += 1
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@glue
def look(task, st, batch, work):
    """Outputs and bits of a batch, with products g_i and D too; returns how many bits and signs changed."""
    m = st.b.size
    u, amp_b, moved = batch.u, work.amp_b, batch.moved
    full = task.batch == task.y.size
    changed, flips = 0, 0
    for j in range(m):
        amp_b[j] = st.amp[j] * st.b[j]
        flips += 1 if st.b[j] * st.sign[j] <= 0.0 else 0
    if task.products:
        by_products(task, st, batch, work)
    for p in range(batch.f.size):
        if not task.products:
            batch.f[p] = output(task, st, batch, work, p)
        if full:
            moves = 0
            for j in range(m):
                moves += 1 if u[p, j] != st.mask[p, j] else 0
            moved[p] = moves
            changed += moves
    return changed, flips


@glue
def output(task, st, batch, work, p):
    """The output of row p of a batch, and its bits: one loop over the neurons in the plane, one more for every further
    dimension."""
    d, m = st.q.shape
    u, x, i = batch.u, task.x, batch.rows[p]
    last = x[i, d - 1]
    if d == 2:
        c = x[i, 0]
        for j in range(m):
            z = c * st.q[0, j]
            z += last * st.q[1, j]
            u[p, j] = bit(task, z)
            work.part[j] = work.amp_b[j] * (u[p, j] * z)
    else:
        for j in range(m):
            u[p, j] = 0.0
        for k in range(d - 1):
            c = x[i, k]
            for j in range(m):
                u[p, j] += c * st.q[k, j]
        for j in range(m):
            z = u[p, j] + last * st.q[d - 1, j]
            u[p, j] = bit(task, z)
            work.part[j] = work.amp_b[j] * (u[p, j] * z)
    return total(work.part)


@inner
def by_products(task, st, batch, work):
    """Outputs, bits, g_i and D of a batch by matrix products, some rows at a time: a row is read from memory once.

    Neurons are rows of the products: OpenBLAS is a third faster with the long side last.
    """
    d, m = st.q.shape
    some, all_ = work.block[0], work.block[1]
    weight = weight_of(task, batch)
    for j in range(m):
        for k in range(d):
            work.turn[j, k] = st.q[k, j]
            all_[j, k] = 0.0
    for first in range(0, batch.f.size, ROWS):
        rows = min(ROWS, batch.f.size - first)
        x, z = batch.x[first : first + rows], work.flat[: rows * m].reshape(m, rows)
        last = first + rows
        f, g, u = batch.f[first:last], batch.g[first:last], batch.u[first:last]
        product(work.turn, x.T, z)
        for p in range(rows):
            f[p] = 0.0
        for j in range(m):
            for p in range(rows):
                f[p] += work.amp_b[j] * (bit(task, z[j, p]) * z[j, p])
        for p in range(rows):
            g[p] = losses.force(task.loss, weight, task.y[batch.rows[first + p]], f[p])
            for j in range(m):
                u[p, j] = bit(task, z[j, p])
        for j in range(m):
            for p in range(rows):
                z[j, p] = bit(task, z[j, p]) * g[p]
        product(z, x, some)
        for j in range(m):
            for k in range(d):
                all_[j, k] += some[j, k]
    for j in range(m):
        for k in range(d):
            work.D[k, j] = all_[j, k]


@glue
def weight_of(task, batch):
    """What a datum's loss counts in the gradient of the batch."""
    return (1.0 / batch.f.size if task.mean == 1 else 1.0) * losses.factor(task.loss)


@glue
def pulls(task, batch, work):
    """g_i = -dL/df_i of a batch, and D_j from its bits; with products `look` has found both."""
    u, g, D = batch.u, batch.g, work.D
    d, m = D.shape
    if not task.products:
        weight = weight_of(task, batch)
        for p in range(g.size):
            g[p] = losses.force(task.loss, weight, task.y[batch.rows[p]], batch.f[p])
        for k in range(d):
            for j in range(m):
                D[k, j] = 0.0
            p = 0
            while p + 4 <= g.size:  # four rows at a time: D is read and written once for them
                i = batch.rows[p : p + 4]
                c0, c1 = g[p] * task.x[i[0], k], g[p + 1] * task.x[i[1], k]
                c2, c3 = g[p + 2] * task.x[i[2], k], g[p + 3] * task.x[i[3], k]
                for j in range(m):
                    s = D[k, j]
                    s += c0 * u[p, j]
                    s += c1 * u[p + 1, j]
                    s += c2 * u[p + 2, j]
                    s += c3 * u[p + 3, j]
                    D[k, j] = s
                p += 4
            while p < g.size:
                c = g[p] * task.x[batch.rows[p], k]
                for j in range(m):
                    D[k, j] += c * u[p, j]
                p += 1


@glue
def move(task, st, work):
    """One iteration: both layers from the old values."""
    d, m = st.q.shape
    D, h, step_b, spent, fade = work.D, work.h, work.amp_b, work.part, task.step * task.decay
    for j in range(m):
        step_b[j] = task.step * st.b[j]
        h[j] = D[0, j] * st.q[0, j]
        v = step_b[j] * D[0, j] - fade * st.q[0, j]
        st.q[0, j] += v
        spent[j] = v * v
    for k in range(1, d):
        for j in range(m):
            h[j] += D[k, j] * st.q[k, j]
            v = step_b[j] * D[k, j] - fade * st.q[k, j]
            st.q[k, j] += v
            spent[j] += v * v
    for j in range(m):
        v = task.step * h[j] - fade * st.b[j] if task.first == 0 else 0.0
        st.b[j] += v
        spent[j] = (spent[j] + v * v) * st.amp[j]
    st.energy[0] += total(spent) / task.step


@glue
def resting(task, st, D):
    """True when an iteration changes every neuron by less than rounding, or shrinks one whose output is lost in the
    rounding of others."""
    d, m = st.q.shape
    rest = True
    for j in range(m):
        size = st.b[j] * st.b[j] if task.first == 0 else 0.0
        pull = 0.0
        dot = 0.0
        for k in range(d):
            size += st.q[k, j] * st.q[k, j]
            pull += D[k, j] * D[k, j]
            dot += D[k, j] * st.q[k, j]
        change = st.b[j] ** 2 * pull + (0.0 if task.first == 1 else dot * dot)
        if task.decay > 0.0:
            change = 0.0 if task.first == 1 else (dot - task.decay * st.b[j]) ** 2
            for k in range(d):
                change += (st.b[j] * D[k, j] - task.decay * st.q[k, j]) ** 2
            layers = 1.0 if task.first == 1 else 2.0
            if layers * st.b[j] * dot < task.decay * size and st.amp[j] * size < UNSEEN:
                continue
        if task.step * np.sqrt(change) > RESTING * np.sqrt(size):
            rest = False
            break
    return rest


@glue
def rescale(task, st, fresh):
    """Mantissas back to size by powers of two; False when they are not finite."""
    d, m = st.q.shape
    finite = True
    for j in range(m):
        size = st.b[j] * st.b[j]
        for k in range(d):
            size += st.q[k, j] * st.q[k, j]
        finite = finite and np.isfinite(size)
        shift = 0 if task.first == 1 or size == 0.0 or not finite else int(np.rint(0.5 * np.log2(2.0 / size)))
        if abs(shift) > 1:
            factor = 2.0**shift
            st.b[j] *= factor
            for k in range(d):
                st.q[k, j] *= factor
            st.exponent[j] -= shift
        if abs(shift) > 1 or fresh:
            st.amp[j] = np.exp(2.0 * (st.c0[j] + st.exponent[j] * LOG2))
    return finite


# Events ---------------------------------------------------------------------------------------------------------------


@making
def product(a, b, out):
    """out = a b by the linear algebra library, for thousands of data; `np.dot` needs references counted."""
    np.dot(a, b, out)


@inner
def note(run, ev, j, i, kind):
    """One event at the present iteration; those beyond the most that are kept are counted only."""
    run.last_event = run.iteration
    if i >= 0:
        run.n_bits += 1
        kept = run.n_bits <= run.most_bits
    else:
        run.n_signs += 1
        kept = run.n_signs <= run.most_signs
    if kept:
        row = run.log_used
        ev[row, 0] = run.iteration
        ev[row, 1] = j
        ev[row, 2] = i
        ev[row, 3] = kind
        ev[row, 4] = 1.0
        run.log_used += 1


@inner
def note_signs(st, run, ev):
    """Sign changes of a_j since the last look."""
    for j in range(st.b.size):
        if st.b[j] * st.sign[j] < 0.0:
            note(run, ev, j, -1, EV_SIGN)
        if st.b[j] != 0.0:
            st.sign[j] = 1.0 if st.b[j] > 0.0 else -1.0


@inner
def note_bits(task, st, run, ev, u, moved):
    """Takes over the bits `u` of the full batch and records changes; `moved` counts them in every row."""
    n, m = st.mask.shape
    first, last = (0, m - 1) if run.iteration == 0 else (m, -1)  # neurons that may have died
    for i in range(n):
        left = 0 if task.live[i] == 0 else int(moved[i])
        j = 0
        while left > 0 and j < m:
            new, old = u[i, j], st.mask[i, j]
            if new != old:
                left -= 1
                if new == 1.0 or old == 1.0:
                    note(run, ev, j, i, EV_ON if new == 1.0 else EV_OFF)
                st.mask[i, j] = new
                if new == 0.0 and st.dead[j] == ALIVE:
                    st.dead[j] = DOUBTFUL
                    first, last = min(first, j), max(last, j)
            j += 1
    for j in range(first, last + 1):
        if st.dead[j] == DOUBTFUL:
            st.dead[j] = DEAD
            for i in range(n):
                if st.mask[i, j] != 0.0 and task.live[i] == 1:
                    st.dead[j] = ALIVE
                    break
            if st.dead[j] == DEAD:
                note(run, ev, j, -1, EV_DEAD)


# States that are written ----------------------------------------------------------------------------------------------


@glue
def full_up(st, run, room):
    """Whether `room` may not hold what one iteration writes."""
    n, m = st.mask.shape
    return run.log_used + m * (n + 2) > room.ev.shape[0] or run.rows_used == room.y.shape[0]


@glue
def due(run, saves, now):
    """What the state of iteration `now` is to be written for: CHECKPOINT + FRAME, or 0."""
    mark = CHECKPOINT if now == run.next_checkpoint or now == run.end else 0
    return mark + (FRAME if run.next_frame < saves.size and saves[run.next_frame] == now else 0)


@glue
def label(run, room, now):
    """Labels a new row for the state of iteration `now` and returns its place."""
    row, why = run.rows_used, due(run, room.saves, now)
    room.at[row, 0] = now
    room.at[row, 1] = why
    room.at[row, 2] = 1 + min(now - run.last_event, 1000) if run.mode == STEPPING else 0
    run.rows_used += 1
    run.next_checkpoint += run.stride if why & CHECKPOINT else 0
    run.next_frame += 1 if why & FRAME else 0
    return row


@inner
def write_bits(mask, slope, code):
    """Bits as codes, neuron by neuron."""
    n, m = mask.shape
    for i in range(n):
        for j in range(m):
            z = mask[i, j]
            code[j * n + i] = ON if z == 1.0 else (PINNED if abs(z - slope) > 1e-6 * slope else OFF)


@glue
def write(task, st, room, row):
    """The state as one row."""
    d, m = st.q.shape
    y = room.y[row]
    for k in range(d):
        for j in range(m):
            y[j * d + k] = st.q[k, j]
    for j in range(m):
        y[m * d + j] = st.b[j]
        y[m * d + m + j] = st.c0[j] + st.exponent[j] * LOG2
    y[m * d + 2 * m] = st.energy[0]
    write_bits(st.mask, task.slope, room.code[row])


# Iterations -----------------------------------------------------------------------------------------------------------


@glue
def begin(task, st, run, batch):
    """The first look at the start of a run: its bits are taken as they are."""
    n, m = st.mask.shape
    for i in range(n):
        for j in range(m):
            st.mask[i, j] = batch.u[i, j]
            st.dead[j] = DOUBTFUL


@glue
def iterate(task, st, run, batch, work, room):
    """One iteration: tests the state, writes it where that is due, and advances it; returns why it stopped."""
    now = run.iteration
    full = task.batch == task.y.size
    fresh = run.fresh == 1
    pause = (now & RESCALE) == 0
    status = RUNNING
    if (fresh or pause) and not rescale(task, st, fresh):
        status = NOT_FINITE
    else:
        changed, flips = look(task, st, batch, work)
        if fresh:
            run.fresh = 0
            if full and now == 0:
                begin(task, st, run, batch)
                changed = 1.0
        if flips != 0.0:
            note_signs(st, run, room.ev)
        if changed != 0.0:
            note_bits(task, st, run, room.ev, batch.u, batch.moved)
        if due(run, room.saves, now) > 0:
            write(task, st, room, label(run, room, now))
        if now >= run.end:
            status = REACHED
        else:
            pulls(task, batch, work)
            if pause and full and resting(task, st, work.D):
                status = STATIONARY
            else:
                move(task, st, work)
                run.iteration += 1
    return status


def _burst(task, st, run, budget, work, room):
    """At most `budget` iterations; returns why it stopped."""
    full = task.batch == task.y.size
    batch = all_rows(task, work)
    for _ in range(budget):
        if full_up(st, run, room):
            return FLUSH
        if not full:
            at, count = batch_of(task, run)
            if at + count > work.order.size:
                return DRAW
            batch = some_rows(task, work, at, count)
        status = iterate(task, st, run, batch, work, room)
        if status != RUNNING:
            return status
    return RUNNING


burst = entry(_burst)
burst32 = entry(_burst)
