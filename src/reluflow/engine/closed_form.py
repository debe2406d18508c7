r"""Descent under constant forces: neurons move alone, each in closed form from one change of its bits to the next.

While outputs are too small for the drive to feel them, D_j is constant in a cell of fixed bits. With d = |D|, p the
component of w along D, both layers trained:

    (a + p)_k = (1 + eta d)^k (a + p)_0,   (a - p)_k = (1 - eta d)^k (a - p)_0,   w across D constant

and w_k = w_0 + k eta a D when only the first layer moves. That is plain descent to rounding, its loss of balance and
its changes of sign included. Neurons that are not small must rest; they are left where they are.

Decay (both layers) multiplies an iteration by 1 - eta decay, with eta / (1 - eta decay) in place of eta: the path of a
neuron and its events are those of that step, its size loses log(1 - eta decay) an iteration.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine._jit import inner
from reluflow.engine.descent import LOG2, RESTING, UNSEEN, bit, note_bits, note_signs
from reluflow.engine.loss import tailed

SMALL = 1e-14  # an output, relative to what the forces feel, at which a jump ends
EARLY = 1e-2  # a jump begins when outputs are below this share of SMALL
NEVER = 2**62
NOTHING, SMALL_ONES, ALL = 0, 1, 2
STAYS = 1.0  # in place of `shrink`, which is negative: forces and decay balance


class Jump(NamedTuple):
    """What jumps need beside the state: the closed form of every neuron since its `base`."""

    g: np.ndarray  # (n,) the forces, held constant
    along: np.ndarray  # (d, m) the direction of D_j
    across: np.ndarray  # (d, m) what of q_j is at right angles to it
    plus: np.ndarray  # (m,) b + p and b - p at the base
    minus: np.ndarray
    grow: np.ndarray  # (m,) log(1 + eta |D|), log(1 - eta |D|); first layer alone: eta b |D|, the speed; 0 at rest
    shrink: np.ndarray
    base: np.ndarray  # (m,) int64: iterations from which the form holds, of the next event, at which it becomes large
    event: np.ndarray
    exit: np.ndarray
    q: np.ndarray  # (d,) one neuron


def jump_room(n: int, d: int, m: int) -> Jump:
    """Room for jumps of m neurons."""
    return Jump(
        g=np.zeros(n),
        **{name: np.zeros((d, m)) for name in ("along", "across")},
        **{name: np.zeros(m) for name in ("plus", "minus", "grow", "shrink")},
        **{name: np.zeros(m, np.int64) for name in ("base", "event", "exit")},
        q=np.zeros(d),
    )


class Line(NamedTuple):
    """One neuron along its pull: p_k = ((b + p) e^{k grow} - (b - p) e^{k shrink}) / 2, or k with the first layer
    alone."""

    first: int
    p: float  # p_0
    speed: float  # of p, with the first layer alone
    plus: float
    minus: float
    grow: float
    shrink: float


@inner
def felt(task, g):
    """The output that the forces would feel as a change of relative size 1."""
    if tailed(task.loss):
        return 1.0
    largest = 0.0
    for i in range(g.size):
        largest = max(largest, abs(g[i]))
    return largest * (g.size if task.mean == 1 else 1.0)


@inner
def resting_large(task, st, D, below):
    """SMALL_ONES when every neuron is small or rests and some small one moves, ALL when all rest, else NOTHING.

    Small: an output below `below` for data of norm 1.
    """
    d, m = st.q.shape
    q, b, first, step = st.q, st.b, task.first, task.step
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
        if task.decay > 0.0:
            moved = (dot - task.decay * b[j]) ** 2
            for k in range(d):
                moved += (b[j] * D[k, j] - task.decay * q[k, j]) ** 2
        if step * np.sqrt(moved) > RESTING * np.sqrt(size):
            share = np.sqrt(own * norm) if first == 1 else 0.5 * (norm + own)
            if st.amp[j] * share > below or step * np.sqrt(pull) > 0.5:
                return NOTHING
            found = SMALL_ONES
    return found


@inner
def value(line, c, a, k):
    """c + a p_k, or a positive multiple of it."""
    if line.first == 1:
        return c + a * k
    if line.plus != 0.0 and k * line.grow > 600.0:
        return a * line.plus if a != 0.0 else c
    return c + 0.5 * a * (line.plus * np.exp(k * line.grow) - line.minus * np.exp(k * line.shrink))


@inner
def search(line, s, c, a, low, high):
    """The first k in (low, high] with s (c + a p_k) <= 0, positive before: near `low` first."""
    stride = 1
    while high - low > 1:
        k = low + min(stride, (high - low) // 2)
        stride *= 2
        if s * value(line, c, a, k) <= 0.0:
            high = k
        else:
            low = k
    return high


@inner
def passes(line, s, c, a, limit):
    """The first k in 1 .. limit at which s (c + a p_k) is not positive; NEVER if there is none."""
    low = limit - limit  # an int64, as in the other call
    if a == 0.0:
        return NEVER
    if line.first == 0 and line.plus * line.minus < 0.0:
        # p turns once: two crossings are possible.
        ratio = line.minus * line.shrink / (line.plus * line.grow)
        if ratio > 1.0:
            turn = np.log(ratio) / (line.grow - line.shrink)
            if turn < limit - 1:
                low = int(turn)
                for k in range(max(low, 1), low + 2):
                    if s * value(line, c, a, k) <= 0.0:
                        return search(line, s, c, a, k - k, k)
    if s * value(line, c, a, limit) <= 0.0:
        return search(line, s, c, a, low, limit)
    return NEVER


@inner
def fade(task):
    """log(1 - eta decay): what decay adds to the logarithm of a neuron's size in an iteration."""
    return np.log1p(-task.step * task.decay)


@inner
def unseen_at(task, st, j, rate, own, now):
    """The iteration by which a neuron that shrinks by e^rate an iteration is too small to be seen: there a run may be
    at rest, which plain iterations find. NEVER if it grows, or is that small already."""
    left = 2.0 * (st.c0[j] + st.exponent[j] * LOG2) + np.log(own) - np.log(UNSEEN)
    return now + 1 + int(0.5 * left / -rate) if rate < 0.0 and left > 0.0 else NEVER


@inner
def settle(task, st, jump, j, now):
    """The closed form of neuron j from iteration `now` on, its next event, and when it becomes large."""
    n, d = task.x.shape
    e, across = jump.along, jump.across
    size = 0.0
    norm2 = 0.0
    for k in range(d):
        e[k, j] = 0.0
        norm2 += st.q[k, j] * st.q[k, j]
    for i in range(n):
        force = st.mask[i, j] * jump.g[i]
        for k in range(d):
            e[k, j] += force * task.x[i, k]
            size += abs(force * task.x[i, k])
    pull = 0.0
    for k in range(d):
        pull += e[k, j] * e[k, j]
    pull = np.sqrt(pull)
    jump.base[j], jump.event[j], jump.exit[j] = now, NEVER, NEVER
    jump.plus[j], jump.minus[j], jump.grow[j], jump.shrink[j] = 0.0, 0.0, 0.0, 0.0
    p = 0.0
    for k in range(d):
        e[k, j] = e[k, j] / pull if pull > 0.0 else 0.0
        p += e[k, j] * st.q[k, j]
    moved = st.b[j] * st.b[j] + (0.0 if task.first == 1 else p * p)
    own = norm2 if task.first == 1 else norm2 + st.b[j] * st.b[j]
    if pull <= 1.8e-15 * size or task.step * pull * np.sqrt(moved) <= RESTING * np.sqrt(own):
        if task.decay > 0.0:
            jump.exit[j] = unseen_at(task, st, j, fade(task), own, now)
        return
    if task.decay > 0.0:
        change = (pull * p - task.decay * st.b[j]) ** 2
        for k in range(d):
            change += (st.b[j] * pull * e[k, j] - task.decay * st.q[k, j]) ** 2
        if task.step * np.sqrt(change) <= RESTING * np.sqrt(own):
            jump.shrink[j] = STAYS
            return
    for k in range(d):
        across[k, j] = st.q[k, j] - p * e[k, j]
    plus, minus = st.b[j] + p, st.b[j] - p
    step = task.step / (1.0 - task.step * task.decay) if task.decay > 0.0 else task.step
    grow, shrink = np.log1p(step * pull), np.log1p(-step * pull)
    speed = task.step * st.b[j] * pull
    jump.plus[j], jump.minus[j], jump.grow[j], jump.shrink[j] = plus, minus, grow, shrink
    c = st.c0[j] + st.exponent[j] * LOG2
    top = np.log(SMALL * felt(task, jump.g) / task.reach)
    if task.first == 1:
        jump.grow[j] = speed
        room = np.exp(top - np.log(abs(st.b[j]))) - np.sqrt(norm2)
        far = room / abs(speed)
    elif task.decay > 0.0:
        rate = grow + fade(task)
        far = (0.5 * (top + 2.0 * LOG2) - c - np.log(abs(plus))) / rate if plus != 0.0 and rate > 0.0 else np.inf
    else:
        far = (0.5 * (top + 2.0 * LOG2) - c - np.log(abs(plus))) / grow if plus != 0.0 else np.inf
    if far < 4e18:
        jump.exit[j] = now + max(1, int(far))
    elif task.decay > 0.0:
        jump.exit[j] = unseen_at(task, st, j, grow + fade(task), own, now)
    next_event(task, st, jump, j, Line(task.first, p, speed, plus, minus, grow, shrink))


@inner
def next_event(task, st, jump, j, line):
    """The first bit of neuron j that changes, or its sign, before it becomes large."""
    n, d = task.x.shape
    now = jump.base[j]
    limit = jump.exit[j] - now
    for i in range(n if task.slope < 1.0 else 0):
        u, a, norm = 0.0, 0.0, 0.0
        for k in range(d):
            u += task.x[i, k] * jump.across[k, j]
            a += task.x[i, k] * jump.along[k, j]
            norm += task.x[i, k] * task.x[i, k]
        # Directions at right angles to D stay so: what float64 leaves of <e, x_i> would grow with w.
        a = 0.0 if abs(a) <= 1.8e-15 * np.sqrt(norm) else a
        s = 1.0 if st.mask[i, j] == 1.0 else -1.0
        if task.first == 1:
            u += a * line.p
            a *= line.speed
        k = passes(line, s, u, a, limit)
        limit = min(limit, k)
        if k < NEVER:
            jump.event[j] = now + limit
    if task.first == 0 and st.sign[j] != 0.0:
        # b_k is p_k with b - p turned round.
        other = Line(line.first, line.p, line.speed, line.plus, -line.minus, line.grow, line.shrink)
        u = 0.0 * line.plus
        k = passes(other, st.sign[j], u, u + 1.0, limit)
        if k < NEVER:
            jump.event[j] = now + min(limit, k)


@inner
def moved_to(task, st, jump, j, now):
    """Neuron j at iteration `now`: its w into `jump.q`; returns (its b, how much its exponent grows)."""
    q, e, across = jump.q, jump.along, jump.across
    d = q.size
    k = now - jump.base[j]
    less = k * fade(task) if task.decay > 0.0 and jump.shrink[j] != STAYS else 0.0
    if jump.grow[j] == 0.0 and less < 0.0:
        shift = int(np.rint(less / LOG2))
        factor = np.exp(less - shift * LOG2)
        for i in range(d):
            q[i] = factor * st.q[i, j]
        return factor * st.b[j], shift
    if k == 0 or jump.grow[j] == 0.0:
        for i in range(d):
            q[i] = st.q[i, j]
        return st.b[j], 0
    if task.first == 1:
        for i in range(d):
            q[i] = st.q[i, j] + k * jump.grow[j] * e[i, j]
        return st.b[j], 0
    plus, minus = jump.plus[j], jump.minus[j]
    up, down = k * jump.grow[j] + less, k * jump.shrink[j] + less
    rest = 0.0
    for i in range(d):
        rest = max(rest, abs(across[i, j]))
    most = -np.inf if rest == 0.0 else np.log(rest) + less
    most = max(most, up + np.log(abs(plus))) if plus != 0.0 else most
    most = max(most, down + np.log(abs(minus))) if minus != 0.0 else most
    shift = 0 if abs(most) < 1.5 else int(np.rint(most / LOG2))
    plus *= np.exp(up - shift * LOG2)
    minus *= np.exp(down - shift * LOG2)
    rest = np.exp(-shift * LOG2) if shift == 0 or abs(shift) > 1000 else 2.0**-shift
    if less < 0.0:
        rest = np.exp(less - shift * LOG2)
    for i in range(d):
        q[i] = 0.5 * (plus - minus) * e[i, j] + (across[i, j] * rest if across[i, j] != 0.0 else 0.0)
    return 0.5 * (plus + minus), shift


@inner
def place(task, st, jump, j, now):
    """Moves neuron j to iteration `now`."""
    b, shift = moved_to(task, st, jump, j, now)
    for i in range(jump.q.size):
        st.q[i, j] = jump.q[i]
    st.b[j] = b
    st.exponent[j] += shift


@inner
def take_events(task, st, run, jump, work, room):
    """All events of the present iteration: the neurons concerned are placed there, their bits read, their closed forms
    found anew."""
    n, m = st.mask.shape
    now, moved = run.iteration, work.moved
    u = work.u.reshape(n, m)
    for i in range(n):
        moved[i] = 0.0
        for j in range(m):
            u[i, j] = st.mask[i, j]
    for j in range(m):
        if jump.event[j] == now:
            place(task, st, jump, j, now)
            for i in range(n):
                z = 0.0
                for k in range(jump.q.size):
                    z += task.x[i, k] * jump.q[k]
                u[i, j] = bit(task, z)
                if u[i, j] != st.mask[i, j]:
                    moved[i] += 1.0
    note_signs(st, run, room.ev)
    note_bits(task, st, run, room.ev, u, moved)
    for j in range(m):
        if jump.event[j] == now:
            settle(task, st, jump, j, now)
