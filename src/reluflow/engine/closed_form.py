r"""Descent under a drive that rests: neurons move alone, each in closed form from one change of its bits to the next.

While outputs are too small for the drive to feel them, D_j is constant in a cell of fixed bits. With d = |D|, p the
component of w along D, both layers trained:

    (a + p)_k = (1 + eta d)^k (a + p)_0,   (a - p)_k = (1 - eta d)^k (a - p)_0,   w across D constant

and w_k = w_0 + k eta a D when only the first layer moves. That is plain descent to rounding, its loss of balance and
its changes of sign included. Neurons that are not small must rest; they are left where they are.
"""

import numpy as np

from reluflow.engine._jit import inner
from reluflow.engine.descent import LOG2, RESTING, bit, switched, turned
from reluflow.engine.loss import tailed

SMALL = 1e-14  # an output, relative to what the drive feels, at which a jump ends
EARLY = 1e-2  # a jump begins when outputs are below this share of SMALL
NEVER = 2**62
BASE, NEXT, EXIT = 0, 1, 2
PLUS, MINUS, GROW, SHRINK = 0, 1, 2, 3
NOTHING, SMALL_ONES, ALL = 0, 1, 2


@inner
def felt(loss, mean, g):
    """The output that the drive would feel as a change of relative size 1."""
    if tailed(loss):
        return 1.0
    largest = 0.0
    for i in range(g.size):
        largest = max(largest, abs(g[i]))
    return largest * (g.size if mean == 1 else 1.0)


@inner
def resting_large(first, step, q, b, amp, D, below):
    """SMALL_ONES when every neuron is small or rests and some small one moves, ALL when all rest, else NOTHING.

    Small: an output below `below` for data of norm 1.
    """
    d, m = q.shape
    found = ALL
    for j in range(m):
        own = b[j] * b[j]
        norm = 0.0
        pull = 0.0
        dot = 0.0
        for k in range(d):
            norm += q[k, j] * q[k, j]
            pull += D[k, j] * D[k, j]
            dot += D[k, j] * q[k, j]
        moved = own * pull + (0.0 if first == 1 else dot * dot)
        size = norm if first == 1 else norm + own
        if step * np.sqrt(moved) > RESTING * np.sqrt(size):
            share = np.sqrt(own * norm) if first == 1 else 0.5 * (norm + own)
            if amp[j] * share > below or step * np.sqrt(pull) > 0.5:
                return NOTHING
            found = SMALL_ONES
    return found


@inner
def value(first, c, a, plus, minus, grow, shrink, k):
    """c + a p_k, or a positive multiple of it."""
    if first == 1:
        return c + a * k
    if plus != 0.0 and k * grow > 600.0:
        return a * plus if a != 0.0 else c
    return c + 0.5 * a * (plus * np.exp(k * grow) - minus * np.exp(k * shrink))


@inner
def search(first, s, c, a, plus, minus, grow, shrink, low, high):
    """The first k in (low, high] with s (c + a p_k) <= 0, positive before: near `low` first."""
    stride = 1
    while high - low > 1:
        k = low + min(stride, (high - low) // 2)
        stride *= 2
        if s * value(first, c, a, plus, minus, grow, shrink, k) <= 0.0:
            high = k
        else:
            low = k
    return high


@inner
def passes(first, s, c, a, plus, minus, grow, shrink, limit):
    """The first k in 1 .. limit at which s (c + a p_k) is not positive; NEVER if there is none."""
    low = limit - limit  # an int64, as in the other call
    if a == 0.0:
        return NEVER
    if first == 0 and plus * minus < 0.0:
        # p turns once: two crossings are possible.
        ratio = minus * shrink / (plus * grow)
        if ratio > 1.0:
            turn = np.log(ratio) / (grow - shrink)
            if turn < limit - 1:
                low = int(turn)
                for k in range(max(low, 1), low + 2):
                    if s * value(first, c, a, plus, minus, grow, shrink, k) <= 0.0:
                        return search(first, s, c, a, plus, minus, grow, shrink, k - k, k)
    if s * value(first, c, a, plus, minus, grow, shrink, limit) <= 0.0:
        return search(first, s, c, a, plus, minus, grow, shrink, low, limit)
    return NEVER


@inner
def settle(task, st, ahead, g, j, now, reach):
    """The cell of neuron j from iteration `now` on: its closed form, its next event, when it becomes large."""
    n, d = task.x.shape
    e, across, real, whole = ahead.cell[0], ahead.cell[1], ahead.real, ahead.whole
    size = 0.0
    norm2 = 0.0
    for k in range(d):
        e[k, j] = 0.0
        norm2 += st.q[k, j] * st.q[k, j]
    for i in range(n):
        force = st.mask[i, j] * g[i]
        for k in range(d):
            e[k, j] += force * task.x[i, k]
            size += abs(force * task.x[i, k])
    pull = 0.0
    for k in range(d):
        pull += e[k, j] * e[k, j]
    pull = np.sqrt(pull)
    whole[BASE, j], whole[NEXT, j], whole[EXIT, j] = now, NEVER, NEVER
    for k in range(4):
        real[k, j] = 0.0
    p = 0.0
    for k in range(d):
        e[k, j] = e[k, j] / pull if pull > 0.0 else 0.0
        p += e[k, j] * st.q[k, j]
    moved = st.b[j] * st.b[j] + (0.0 if task.first == 1 else p * p)
    own = norm2 if task.first == 1 else norm2 + st.b[j] * st.b[j]
    if pull <= 1.8e-15 * size or task.step * pull * np.sqrt(moved) <= RESTING * np.sqrt(own):
        return
    for k in range(d):
        across[k, j] = st.q[k, j] - p * e[k, j]
    plus, minus = st.b[j] + p, st.b[j] - p
    grow, shrink = np.log1p(task.step * pull), np.log1p(-task.step * pull)
    speed = task.step * st.b[j] * pull
    real[PLUS, j], real[MINUS, j], real[GROW, j], real[SHRINK, j] = plus, minus, grow, shrink
    c = st.c0[j] + st.exponent[j] * LOG2
    top = np.log(SMALL * felt(task.loss, task.mean, g) / reach)
    if task.first == 1:
        real[GROW, j] = speed
        room = np.exp(top - np.log(abs(st.b[j]))) - np.sqrt(norm2)
        far = room / abs(speed)
    else:
        far = (0.5 * (top + 2.0 * LOG2) - c - np.log(abs(plus))) / grow if plus != 0.0 else np.inf
    if far < 4e18:
        whole[EXIT, j] = now + max(1, int(far))
    limit = whole[EXIT, j] - now
    for i in range(n if task.slope < 1.0 else 0):
        u, a, norm = 0.0, 0.0, 0.0
        for k in range(d):
            u += task.x[i, k] * across[k, j]
            a += task.x[i, k] * e[k, j]
            norm += task.x[i, k] * task.x[i, k]
        # Directions at right angles to D stay so: what float64 leaves of <e, x_i> would grow with w.
        a = 0.0 if abs(a) <= 1.8e-15 * np.sqrt(norm) else a
        s = 1.0 if st.mask[i, j] == 1.0 else -1.0
        if task.first == 1:
            u += a * p
            a *= speed
        k = passes(task.first, s, u, a, plus, minus, grow, shrink, limit)
        limit = min(limit, k)
        if k < NEVER:
            whole[NEXT, j] = now + limit
    if task.first == 0 and st.sign[j] != 0.0:
        u = 0.0 * plus
        k = passes(task.first, st.sign[j], u, u + 1.0, plus, -minus, grow, shrink, limit)
        if k < NEVER:
            whole[NEXT, j] = now + min(limit, k)


@inner
def moved_to(first, base, b, cell, real, whole, j, now, q):
    """Neuron j at iteration `now`: its w into `q`; returns (its b, how much its exponent grows)."""
    d = q.size
    e, across = cell[0], cell[1]
    k = now - whole[BASE, j]
    if k == 0 or real[GROW, j] == 0.0:
        for i in range(d):
            q[i] = base[i, j]
        return b[j], 0
    if first == 1:
        for i in range(d):
            q[i] = base[i, j] + k * real[GROW, j] * e[i, j]
        return b[j], 0
    plus, minus = real[PLUS, j], real[MINUS, j]
    up, down = k * real[GROW, j], k * real[SHRINK, j]
    rest = 0.0
    for i in range(d):
        rest = max(rest, abs(across[i, j]))
    most = -np.inf if rest == 0.0 else np.log(rest)
    most = max(most, up + np.log(abs(plus))) if plus != 0.0 else most
    most = max(most, down + np.log(abs(minus))) if minus != 0.0 else most
    shift = 0 if abs(most) < 1.5 else int(np.rint(most / LOG2))
    plus *= np.exp(up - shift * LOG2)
    minus *= np.exp(down - shift * LOG2)
    rest = np.exp(-shift * LOG2) if shift == 0 or abs(shift) > 1000 else 2.0**-shift
    for i in range(d):
        q[i] = 0.5 * (plus - minus) * e[i, j] + (across[i, j] * rest if across[i, j] != 0.0 else 0.0)
    return 0.5 * (plus + minus), shift


@inner
def place(task, st, ahead, j, now, q):
    """Moves neuron j to iteration `now`."""
    b, shift = moved_to(task.first, st.q, st.b, ahead.cell, ahead.real, ahead.whole, j, now, q)
    for i in range(q.size):
        st.q[i, j] = q[i]
    st.b[j] = b
    st.exponent[j] += shift


@inner
def happen(task, st, ahead, ci, room, ubuf, moved, now, reach, q):
    """All events of iteration `now`: the neurons concerned are placed there, their bits read, their cells found."""
    n, m = st.mask.shape
    u = ubuf.reshape(n, m)
    for i in range(n):
        moved[i] = 0.0
        for j in range(m):
            u[i, j] = st.mask[i, j]
    for j in range(m):
        if ahead.whole[NEXT, j] == now:
            place(task, st, ahead, j, now, q)
            for i in range(n):
                z = 0.0
                for k in range(q.size):
                    z += task.x[i, k] * q[k]
                u[i, j] = bit(task, z)
                if u[i, j] != st.mask[i, j]:
                    moved[i] = 1.0
    turned(st.b, st.sign, ci, room.ev)
    switched(st.mask, st.dead, task.live, ci, room.ev, u, moved)
    for j in range(m):
        if ahead.whole[NEXT, j] == now:
            settle(task, st, ahead, ahead.bent, j, now, reach)
