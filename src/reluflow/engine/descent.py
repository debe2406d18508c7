"""Plain gradient descent with the scale of every neuron beside its mantissas.

    w_j = e^{c_j} q_j,  a_j = e^{c_j} b_j:    q += eta b D,   b += eta <D, q>  (old q)
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
from reluflow.engine._jit import entry, glue, inner
from reluflow.engine.field import OFF, ON, PINNED, times
from reluflow.engine.surfaces import EV_DEAD, EV_OFF, EV_ON, EV_SIGN

RUNNING, REACHED, STATIONARY, FLUSH, NOT_FINITE, DRAW = 0, 1, 2, 3, 4, 5
# Places in the control array.
ITER, END, STRIDE, CK_NEXT, FR_NEXT, USED, EV_USED, EPOCH, N_BITS, N_SIGNS, CAP_BITS, CAP_SIGNS, FRESH_START = range(13)
LAST, MODE, NODES, TOP, LENGTH, PENDING, N_LEAPS, N_LEAPT, N_JUMPS, N_JUMPED, N_FIELDS, CAP = range(13, 25)
CONTROLS = 25
# Values of MODE: what `fast_forward` is doing. A run can only be taken up again from states written while STEPPING.
STEPPING, NODING, LEAPING, JUMPING = 0, 1, 2, 3
# What a written row is for, in the second column of `Room.at`: bits 1 and 2.
CHECKPOINT, FRAME = 1, 2

ALIVE, DEAD, DOUBTFUL = 0, 1, 2
RESCALE = 15  # mantissas are rescaled when the iteration has none of these bits: every 16th
RESTING = 1.1e-16  # a relative change that float64 does not see
LOG2 = float(np.log(2.0))


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
    """Where a burst writes: events, and states that are checkpoints (every STRIDE-th), frames (in `saves`) or both."""

    ev: np.ndarray  # (rows, 5): iteration, neuron, datum, kind, unique
    at: np.ndarray  # (rows, 3) int64: iteration, CHECKPOINT + FRAME, 1 + iterations since an event (0: no way on)
    y: np.ndarray  # (rows, m d + 2 m + 1): q, b, c, energy
    code: np.ndarray  # (rows, m n) int8: bits, of use with full batches only


@glue
def drive(task, rows, f, g):
    """g_i = -dL/df_i of a batch."""
    weight = (1.0 / f.size if task.mean == 1 else 1.0) * losses.factor(task.loss)
    for p in range(f.size):
        g[p] = losses.force(task.loss, weight, task.y[rows[p]], f[p])


@glue
def bit(task, z):
    """s'(z), literally."""
    return 1.0 if z > 0.0 else (task.slope if z < 0.0 else task.at_zero)


@inner
def tell(ci, ev, j, i, kind):
    """One event at the present iteration; those beyond the caps are counted only."""
    counter, cap = (N_BITS, CAP_BITS) if i >= 0 else (N_SIGNS, CAP_SIGNS)
    ci[LAST] = ci[ITER]
    ci[counter] += 1
    if ci[counter] <= ci[cap]:
        row = ci[EV_USED]
        ev[row, 0] = ci[ITER]
        ev[row, 1] = j
        ev[row, 2] = i
        ev[row, 3] = kind
        ev[row, 4] = 1.0
        ci[EV_USED] += 1


@inner
def turned(b, sign, ci, ev):
    """Sign changes of a_j since the last look."""
    for j in range(b.size):
        if b[j] * sign[j] < 0.0:
            tell(ci, ev, j, -1, EV_SIGN)
        if b[j] != 0.0:
            sign[j] = 1.0 if b[j] > 0.0 else -1.0


@glue
def batch_of(task, ci):
    """(first place in `order`, size) of this iteration's batch."""
    n = task.y.size
    if task.batch == n:
        return 0, n
    per_epoch = (n + task.batch - 1) // task.batch
    at = (ci[ITER] % per_epoch) * task.batch
    return (ci[ITER] // per_epoch - ci[EPOCH]) * n + at, min(task.batch, n - at)


@glue
def look(task, st, x, rows, blas, u, flat, turn, ab, f, moved):
    """The outputs f of a batch, its bits in `u` (rows, m); returns how many bits and signs changed since last time."""
    d, m = st.q.shape
    count = f.size
    full = task.batch == task.y.size
    changed, flips = 0.0, 0.0
    for j in range(m):
        ab[j] = st.amp[j] * st.b[j]
        flips += 1.0 if st.b[j] * st.sign[j] <= 0.0 else 0.0
    if blas:
        # Neurons as rows: OpenBLAS is a third faster with the long side last.
        for k in range(d):
            for j in range(m):
                turn[j, k] = st.q[k, j]
        times(turn, x.T, flat.reshape(m, count))
    for p in range(count):
        if blas:
            for j in range(m):
                u[p, j] = flat[j * count + p]
        else:
            i = rows[p]
            c = task.x[i, 0]
            for j in range(m):
                u[p, j] = c * st.q[0, j]
            for k in range(1, d):
                c = task.x[i, k]
                for j in range(m):
                    u[p, j] += c * st.q[k, j]
        total = 0.0
        for j in range(m):
            z = u[p, j]
            s = bit(task, z)
            total += ab[j] * (s * z)
            u[p, j] = s
        if full:
            moved[p] = 0.0
            for j in range(m):
                moved[p] += abs(u[p, j] - st.mask[p, j])
            changed += moved[p]
        f[p] = total
    return changed, flips


@inner
def switched(mask, dead, live, ci, ev, u, moved):
    """Records the bits that changed on the full batch and takes them over; `moved` says in which rows."""
    n, m = mask.shape
    doubt = ci[ITER] == 0
    for i in range(n):
        if moved[i] == 0.0 or live[i] == 0:
            continue
        for j in range(m):
            new, old = u[i, j], mask[i, j]
            if new != old:
                if new == 1.0 or old == 1.0:
                    tell(ci, ev, j, i, EV_ON if new == 1.0 else EV_OFF)
                mask[i, j] = new
                if new == 0.0 and dead[j] == ALIVE:
                    dead[j] = DOUBTFUL
                    doubt = True
    for j in range(m if doubt else 0):
        if dead[j] == DOUBTFUL:
            dead[j] = DEAD
            for i in range(n):
                if mask[i, j] != 0.0 and live[i] == 1:
                    dead[j] = ALIVE
            if dead[j] == DEAD:
                tell(ci, ev, j, -1, EV_DEAD)


@glue
def pulls(task, x, rows, blas, u, turn, g, D):
    """D_j of the batch from the bits in `u`, which is overwritten by products."""
    d, m = D.shape
    count = g.size
    if blas:
        for p in range(count):
            for j in range(m):
                u[p, j] *= g[p]
        times(u.T, x, turn)
        for k in range(d):
            for j in range(m):
                D[k, j] = turn[j, k]
    else:
        for k in range(d):
            c = g[0] * task.x[rows[0], k]
            for j in range(m):
                D[k, j] = c * u[0, j]
            for p in range(1, count):
                c = g[p] * task.x[rows[p], k]
                for j in range(m):
                    D[k, j] += c * u[p, j]


@glue
def move(task, st, D, h, eb):
    """One iteration: both layers from the old values."""
    d, m = st.q.shape
    for j in range(m):
        eb[j] = task.step * st.b[j]
        h[j] = 0.0
    spent = 0.0
    for k in range(d):
        for j in range(m):
            h[j] += D[k, j] * st.q[k, j]
            v = eb[j] * D[k, j]
            st.q[k, j] += v
            spent += st.amp[j] * (v * v)
    if task.first == 0:
        for j in range(m):
            v = task.step * h[j]
            st.b[j] += v
            spent += st.amp[j] * (v * v)
    st.energy[0] += spent / task.step


@glue
def resting(task, st, D):
    """True when an iteration changes no neuron by anything float64 can see."""
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


@glue
def due(ci, saves, now):
    """What the state of iteration `now` is to be written for: CHECKPOINT + FRAME, or 0."""
    mark = CHECKPOINT if now == ci[CK_NEXT] or now == ci[END] else 0
    return mark + (FRAME if ci[FR_NEXT] < saves.size and saves[ci[FR_NEXT]] == now else 0)


@glue
def label(ci, room, now, why):
    """Labels a new row and returns its place."""
    row = ci[USED]
    room.at[row, 0] = now
    room.at[row, 1] = why
    room.at[row, 2] = 1 + min(now - ci[LAST], 1000) if ci[MODE] == STEPPING else 0
    ci[USED] += 1
    ci[CK_NEXT] += ci[STRIDE] if why & CHECKPOINT else 0
    ci[FR_NEXT] += 1 if why & FRAME else 0
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


def _burst(task, st, ci, budget, blas, saves, order, xbuf, flat, turn, ubuf, ab, fbuf, gbuf, D, h, room):
    """At most `budget` iterations; returns why it stopped. A state is looked at and written before it is left."""
    n, d = task.x.shape
    m = st.b.size
    full = task.batch == n
    rows, f, g, x, count = order, fbuf, gbuf, task.x, n
    u = ubuf.reshape(task.batch, m)
    for _ in range(budget):
        if ci[EV_USED] + m * (n + 2) > room.ev.shape[0] or ci[USED] == room.y.shape[0]:
            return FLUSH
        now = ci[ITER]
        if not full:
            at, count = batch_of(task, ci)
            if at + count > order.size:
                return DRAW
            rows, f, g = order[at : at + count], fbuf[:count], gbuf[:count]
            u = ubuf[: count * m].reshape(count, m)
            if blas:
                x = xbuf[: count * d].reshape(count, d)
                for p in range(count):
                    for k in range(d):
                        x[p, k] = task.x[rows[p], k]
        fresh = ci[FRESH_START] == 1
        pause = (now & RESCALE) == 0
        if (fresh or pause) and not rescale(task, st, fresh):
            return NOT_FINITE
        changed, flips = look(task, st, x, rows, blas, u, flat[: count * m], turn, ab, f, g)
        if fresh:
            ci[FRESH_START] = 0
            if full and now == 0:
                for i in range(n):
                    for j in range(m):
                        st.mask[i, j] = u[i, j]
                        st.dead[j] = DOUBTFUL
                changed = 1.0
        if flips != 0.0:
            turned(st.b, st.sign, ci, room.ev)
        if changed != 0.0:
            switched(st.mask, st.dead, task.live, ci, room.ev, u, g)
        why = due(ci, saves, now)
        if why > 0:
            write(task, st, room, label(ci, room, now, why))
        if now >= ci[END]:
            return REACHED
        drive(task, rows, f, g)
        pulls(task, x, rows, blas, u, turn, g, D)
        if pause and full and resting(task, st, D):
            return STATIONARY
        move(task, st, D, h, ab)
        ci[ITER] += 1
    return RUNNING


burst = entry(_burst)
burst32 = entry(_burst)
