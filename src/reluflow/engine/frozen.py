"""Constant drive: each neuron alone, from event to event, by formula.

In a cell D is constant. With d = |D|, p = <q, D>/d, q = p D/d + q_perp and b the output weight,

    P = b + p grows like e^{dt},   M = b - p decays like e^{-dt},   q_perp stays,   P M = |q_perp|^2 + 2 (b^2 - 1)

(balanced: b = +-1, where this is straight-line motion with sinh time). A surface with a = <D, e>/d is met where p =
p* := -<q_perp, e>/a,

    P Z^2 - 2 p* Z - M = 0,   Z = e^{dt};

b changes sign at Z^2 = -M/P; the neuron's size reaches e^C where P^2 W^2 + 2 (|q_perp|^2 - R) W + M^2 = 0, W = Z^2, R
= 2 e^{2(C - c)}. With the first layer alone q moves on a straight line at the constant velocity b D.

Decay multiplies (w, a) by e^{-decay t} and changes nothing else: q, b and all events are those without it, and c is
less by decay t. c - decay t is convex in t, so that a size is reached from below once at most. (The first layer alone
is never followed here.)
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import surfaces
from reluflow.engine._jit import APART, inner, making
from reluflow.engine.events import change_sign, settle_surfaces
from reluflow.engine.explicit import delta_log, on_invariant, velocity
from reluflow.engine.field import ON, SLID, copy
from reluflow.engine.layout import row, weights
from reluflow.engine.locate import along_normal, norm_q
from reluflow.engine.origin import leave_origin, rest_if_held
from reluflow.engine.surfaces import out_of_held

ALIGNED = 1e-28  # |q_perp|^2 below which the direction is that of D to rounding
MOST_EVENTS = 100_000  # events of one neuron in one jump
GONE = -20.0  # log size of a dead neuron below which decay has left nothing of it


class Alone(NamedTuple):
    """A neuron under constant forces: the SPAN of time it is followed over, and its scratch space."""

    span: np.record
    D: np.ndarray  # (r,) its pull, then the direction of it
    perp: np.ndarray  # (r,) q_perp
    reach: np.ndarray  # (S,) d times the time at which each surface is met
    kept: np.ndarray  # (r + 4,) q, b, c, sign and flag, to be put back
    kept_code: np.ndarray  # (S,)
    kept_bits: np.ndarray


class Motion(NamedTuple):
    """The letters of the head of this file."""

    d: float
    total: float  # sum of the moduli of what was added up to D
    p: float
    perp2: float
    P: float
    M: float
    Pi: float  # P M


@inner
def clock_at(problem, t):
    """The clock at time t."""
    return np.log1p(t) if problem.late == 1 else t


@inner
def pull_of(problem, state, work, alone, j):
    """D_j for the frozen forces; returns (its norm, the sum of the moduli that were added up)."""
    big = state.bits.shape[1]
    r = problem.e.shape[1]
    D, force = alone.D, alone.span.force
    total = 0.0
    for i in range(r):
        D[i] = 0.0
    for k in range(big):
        if (state.code[j, k] & 3) >= SLID:
            continue
        coef = state.bits[j, k] * work.jump[k] + work.base[k]
        total += abs(coef)
        if coef != 0.0:
            for i in range(r):
                D[i] += coef * problem.e[k, i]
    out_of_held(state, j, D)
    size = 0.0
    for i in range(r):
        D[i] *= force
        size += D[i] * D[i]
    return np.sqrt(size), total * force


@inner
def motion(problem, state, alone, j, d, total):
    """How neuron j moves in its cell under the pull alone.D of norm d; makes that a direction and fills q_perp."""
    r = problem.e.shape[1]
    D, perp = alone.D, alone.perp
    q = row(state.y, j, r)
    b, _ = weights(state.y, state.sign.size)
    p, perp2 = 0.0, 0.0
    for i in range(r):
        D[i] /= d
        p += q[i] * D[i]
    for i in range(r):
        perp[i] = q[i] - p * D[i]
    out_of_held(state, j, perp)
    for i in range(r):
        perp2 += perp[i] * perp[i]
    if problem.first == 1:
        return Motion(d, total, p, perp2, 0.0, 0.0, 0.0)
    if perp2 < ALIGNED:
        perp2 = 0.0
        for i in range(r):
            perp[i] = 0.0
    bj = b[j]
    Pi = perp2 + 2.0 * (bj - 1.0) * (bj + 1.0)
    # Whichever of b + p, b - p does not cancel gives the other one through their product.
    if bj * p >= 0.0:
        P = bj + p
        M = Pi / P
    else:
        M = bj - p
        P = Pi / M
    return Motion(d, total, p, perp2, P, M, Pi)


@inner
def first_root(P, M, Pi, target):
    """log of the smallest Z >= 1 with P Z^2 - 2 target Z - M = 0, given that one exists; inf if none does."""
    disc = target * target + Pi
    if disc < 0.0:
        return np.inf
    root = np.sqrt(disc)
    big = target + root if target >= 0.0 else target - root
    best = np.inf
    if P != 0.0:
        z = big / P
        if z > 1.0 - 1e-10:
            best = np.log(max(z, 1.0))
    if big != 0.0:
        z = -M / big
        if z > 1.0 - 1e-10:
            best = min(best, np.log(max(z, 1.0)))
    return best


@inner
def size_root(P, M, perp2, log_ratio):
    """log Z at which (P^2 Z^2 + M^2 / Z^2) / 2 + |q_perp|^2 grows to e^log_ratio; inf if it never does, 0 if it is
    there already."""
    if P == 0.0:
        return np.inf
    if log_ratio > 300.0:
        return 0.5 * (np.log(2.0) + log_ratio) - np.log(abs(P))
    R = np.exp(log_ratio)
    half = R - perp2
    disc = half * half - P * P * M * M
    if half <= 0.0 or disc < 0.0:
        return 0.0
    return max(0.0, 0.5 * np.log((half + np.sqrt(disc)) / (P * P)))


@inner
def decayed_size_root(go, log_ratio, share):
    """log Z at which ((P^2 Z^2 + M^2 / Z^2) / 2 + |q_perp|^2) / Z^{2 share} grows to e^log_ratio, share = decay / d.

    Its logarithm is convex in log Z and lies above its asymptote: Newton's method from where that gets there.
    """
    if go.P == 0.0 or share >= 1.0:
        return np.inf
    x = max(0.0, (0.5 * (np.log(2.0) + log_ratio) - np.log(abs(go.P))) / (1.0 - share))
    for _ in range(60):
        up, down = 0.5 * go.P * go.P, 0.5 * go.M * go.M * np.exp(-4.0 * x)
        total = up + go.perp2 * np.exp(-2.0 * x) + down
        above = np.log(total) + 2.0 * (1.0 - share) * x - log_ratio
        slope = 2.0 * (up - down) / total - 2.0 * share
        new = max(0.0, x - above / slope) if slope > 0.0 else x
        if new >= x:
            break
        x = new
    return x


@inner
def sign_root(state, go, j):
    """d times the time at which b_j passes through zero; inf if it does not."""
    b, _ = weights(state.y, state.sign.size)
    # b has a zero ahead only while its sign is not that of P: just after one, rounding would find it again.
    if state.delta_sign[j] != 0.0 and b[j] * go.P < 0.0 and go.P * go.M < 0.0:
        return max(0.0, 0.5 * np.log(-go.M / go.P))
    return np.inf


@inner
def first_surface(problem, state, alone, go, j, x):
    """(d times the time, surface) of the first crossing before x; (x, -1) without one. All of them in alone.reach."""
    s, reach = state.sign[j], alone.reach
    b, _ = weights(state.y, state.sign.size)
    hit = -1
    for k in range(state.bits.shape[1]):
        reach[k] = np.inf
        kind = state.code[j, k] & 3
        if kind >= SLID or problem.slope == 1.0:
            continue
        a, u = 0.0, along_normal(problem, state.y, j, k)
        for i in range(alone.D.size):
            a += alone.D[i] * problem.e[k, i]
        if abs(a) * go.d <= 1e-13 * go.total or (kind == ON) == (a * s > 0.0):
            continue
        if problem.first == 1:
            reach[k] = max(0.0, -u / (a * b[j]))
        else:
            reach[k] = first_root(go.P, go.M, go.Pi, go.p - u / a)
        if reach[k] < x:
            x = reach[k]
            hit = k
    return x, hit


@inner
def move(problem, state, alone, go, j, x, clock):
    """Takes neuron j to d t = x, where the clock is `clock`."""
    r = problem.e.shape[1]
    D, q = alone.D, row(state.y, j, r)
    b, c = weights(state.y, state.sign.size)
    if problem.first == 1:
        bj = b[j]
        for i in range(r):
            q[i] += x * bj * D[i]
        return
    shrink = np.exp(-x)
    M1 = go.M * shrink * shrink
    bj = 0.5 * (go.P + M1)
    size = bj * bj
    for i in range(r):
        qi = alone.perp[i] * shrink + 0.5 * (go.P - M1) * D[i]
        q[i] = qi
        size += qi * qi
    size = np.sqrt(0.5 * size)
    c[j] += x + np.log(size) - problem.decay * x / go.d
    b[j] = bj / size if state.delta_sign[j] != 0.0 else state.sign[j]
    for i in range(r):
        q[i] /= size
    back_on_invariant(problem, state, j, clock)


@inner
def mark_met(state, work, alone, j, x):
    """Marks the surfaces neuron j is held on, and those it meets at d t = x."""
    mark = work.mark
    for k in range(state.bits.shape[1]):
        mark[k] = surfaces.ABSENT
        kind = state.code[j, k] & 3
        if kind >= SLID:
            mark[k] = surfaces.HELD
        elif alone.reach[k] - x <= 1e-13 * max(1.0, x):
            mark[k] = surfaces.FALLING if kind == ON else surfaces.RISING


@inner
def follow(problem, state, run, work, alone, j):
    """Neuron j from span.t0 to span.until, or until its log size is span.stop: the time reached.

    Events are recorded at their own times.
    """
    span = alone.span
    big, r = problem.e.shape
    _, c = weights(state.y, state.sign.size)
    t, idle = span.t0, 0
    for _ in range(MOST_EVENTS):
        # Held on its surface for good, by a force that is rounding: it moves no further.
        if state.dead[j] != 0 or idle > 2 * big + 4:
            c[j] -= problem.decay * (span.until - t) if span.until < np.inf else 0.0
            return span.until
        d, total = pull_of(problem, state, work, alone, j)
        if d <= 1e-14 * total:
            c[j] -= problem.decay * (span.until - t) if span.until < np.inf else 0.0
            return span.until
        go = motion(problem, state, alone, j, d, total)
        x_end, x_size, x_sign = d * (span.until - t), np.inf, np.inf
        if problem.first == 0:
            if go.P == 0.0:
                # At the unstable end of its line, w = -s D/|D|: it shrinks for ever without turning.
                c[j] -= x_end + problem.decay * (span.until - t)
                return span.until
            x_sign = sign_root(state, go, j)
            if span.stop < np.inf and problem.decay > 0.0:
                x_size = decayed_size_root(go, np.log(2.0) + 2.0 * (span.stop - c[j]), problem.decay / d)
            elif span.stop < np.inf:
                x_size = size_root(go.P, go.M, go.perp2, np.log(2.0) + 2.0 * (span.stop - c[j]))
        x, hit = first_surface(problem, state, alone, go, j, min(x_end, min(x_size, x_sign)))
        move(problem, state, alone, go, j, x, t + x / d)
        if x == x_end:
            return span.until
        idle = idle + 1 if t + x / d == t else 0
        t += x / d
        if hit < 0 and x == x_size:
            return t
        run.clock = clock_at(problem, t)
        unique = True
        if hit < 0:
            unique = change_sign(state, run, work, j)
            if unique:
                continue
        elif state.slid[j] == r - 1 > 0 or (
            state.slid[j] > 0 and norm_q(state.y, j, r) <= 1e-9 * (np.sqrt(go.perp2) + abs(go.p))
        ):
            for i in range(r):
                alone.perp[i] = state.sign[j] * alone.D[i]
            leave_origin(problem, state, run, work, j, alone.perp)
            continue
        mark_met(state, work, alone, j, x)
        settle_surfaces(problem, state, run, work, j, 1.0 if unique else 0.0)
        rest_if_held(problem, state, run, work)
        back_on_invariant(problem, state, j, t)
    return t


@inner
def back_on_invariant(problem, state, j, clock):
    """|q|^2 + b^2 = 2 and 2 e^{2c} (b^2 - 1) = a^2 - |w|^2 for one neuron; held surfaces taken out of q."""
    r = problem.e.shape[1]
    surfaces.project(problem, state, state.y, j)
    weight, log_size = weights(state.y, state.sign.size)
    delta = delta_log(problem, state, clock, j)
    square = norm_q(state.y, j, r) ** 2
    weight[j], log_size[j], factor = on_invariant(weight[j], square, log_size[j], state.delta_sign[j], delta)
    q = row(state.y, j, r)
    for i in range(r):
        q[i] *= factor


@inner
def keep(state, alone, j):
    """Remembers neuron j."""
    r = alone.D.size
    q, kept = row(state.y, j, r), alone.kept
    b, c = weights(state.y, state.sign.size)
    for i in range(r):
        kept[i] = q[i]
    kept[r], kept[r + 1], kept[r + 2], kept[r + 3] = b[j], c[j], state.sign[j], state.dead[j]
    for k in range(state.bits.shape[1]):
        alone.kept_code[k], alone.kept_bits[k] = state.code[j, k], state.bits[j, k]


@inner
def put_back(problem, state, alone, j):
    """Neuron j as `keep` found it."""
    r = alone.D.size
    q, kept = row(state.y, j, r), alone.kept
    b, c = weights(state.y, state.sign.size)
    for i in range(r):
        q[i] = kept[i]
    b[j], c[j], state.sign[j], state.dead[j] = kept[r], kept[r + 1], kept[r + 2], int(kept[r + 3])
    for k in range(state.bits.shape[1]):
        state.code[j, k], state.bits[j, k] = alone.kept_code[k], alone.kept_bits[k]
    surfaces.hold(problem, state, j)


class Counts(NamedTuple):
    """What a run knows of its events."""

    used: int
    events: int
    nearest: float
    clock: float
    neuron: int
    surface: int


@inner
def counts(run):
    """The counts of the run as they are."""
    return Counts(run.log_used, run.n_events, run.nearest, run.nearest_clock, run.nearest_neuron, run.nearest_surface)


@inner
def count_from(run, before):
    """The counts of the run as they were."""
    run.log_used, run.n_events = before.used, before.events
    run.nearest, run.nearest_clock = before.nearest, before.clock
    run.nearest_neuron, run.nearest_surface = before.neuron, before.surface


@inner
def shrink_dead(problem, state, span, j):
    """Decay over the span for dead neuron j. One that is not small pays for it: the energy that this costs is added."""
    b, c = weights(state.y, state.sign.size)
    less = problem.decay * (span.t1 - span.t0)
    if c[j] >= span.c_passive:
        square = norm_q(state.y, j, problem.e.shape[1]) ** 2 + b[j] ** 2
        state.y[state.y.size - 1] -= 0.5 * problem.decay * square * np.exp(2.0 * c[j]) * np.expm1(-2.0 * less)
    c[j] -= less


@inner
def move_passive(problem, state, run, work, alone):
    """Moves passive neurons span.next, span.next + 1, ... from span.t0 to span.t1 as long as their events fit in the
    log; span.next is then the next one, the width when all are done."""
    span, m = alone.span, state.sign.size
    _, c = weights(state.y, m)
    span.until, span.stop = span.t1, np.inf
    for j in range(span.next, m):
        span.next = j
        if c[j] >= span.c_passive or state.dead[j] != 0:
            if state.dead[j] != 0 and problem.first == 0:
                shrink_dead(problem, state, span, j)
            continue
        keep(state, alone, j)
        before = counts(run)
        follow(problem, state, run, work, alone, j)
        if run.log_used >= work.log.shape[0]:
            count_from(run, before)
            put_back(problem, state, alone, j)
            return
        run.n_jump_events += run.n_events - before.events
    span.next = m


@inner
def move_through(problem, state, run, work, alone, instants):
    """Moves the passive neurons to instants span.row, span.row + 1, ..., one after the other, and writes the states
    there down, until all are done or the log is full."""
    span, m = alone.span, state.sign.size
    while span.row < instants.clock.size:
        at = span.row
        span.t0, span.t1 = instants.start[at], instants.time[at]
        move_passive(problem, state, run, work, alone)
        if span.next < m:
            return
        run.clock = instants.clock[at]
        instants.used[at] = run.log_used
        copy(instants.y[at], state.y)
        copy(instants.code[at], state.code.reshape(state.code.size))
        span.row, span.next = at + 1, 0


@inner
def horizon(problem, state, run, work, alone, v):
    """The time at which the first passive neuron gets as large as span.c_stop, at most span.t1; no neuron is moved, and
    the drive is left in `work`."""
    m, big = state.bits.shape
    _, c = weights(state.y, m)
    span, clock = alone.span, run.clock
    span.G = velocity(problem, state, state.y, clock, v, work)
    surfaces.noise(problem, state, state.y, work)
    # A force below its rounding decides nothing: it would switch bits back and forth at one instant.
    for k in range(big):
        if abs(work.jump[k]) <= 10.0 * work.noise[k]:
            work.jump[k] = 0.0
        if abs(work.base[k]) <= 10.0 * work.noise[k]:
            work.base[k] = 0.0
    span.force, span.until = np.exp(span.G), span.t1
    for j in range(m):
        if state.dead[j] != 0 and problem.decay > 0.0 and span.t1 == np.inf and c[j] > GONE:
            span.until = min(span.until, span.t0 + (c[j] - GONE + 1.0) / problem.decay)  # it shrinks until it is gone
        if c[j] >= span.c_passive or state.dead[j] != 0 or problem.first == 1:
            continue
        keep(state, alone, j)
        before = counts(run)
        # Half again as large as it is now, for a neuron that is above the mark already.
        span.stop = max(span.c_stop, c[j] + 0.4)
        span.until = min(span.until, follow(problem, state, run, work, alone, j))
        count_from(run, before)
        put_back(problem, state, alone, j)
    run.clock = clock
    return span.until


@making
def jump(problem, state, run, work, asked, v):
    """Passive neurons under the present drive, except those at rest at w = 0; v is scratch space.

    With span.next < 0 the time that `horizon` returns; otherwise they are moved to the instants asked for.
    """
    big = state.bits.shape[1]
    r = problem.e.shape[1]
    alone = Alone(
        asked.span,
        np.empty(r + APART)[:r],
        np.empty(r + APART)[:r],
        np.empty(big + APART)[:big],
        np.empty(r + 4 + APART)[: r + 4],
        np.empty(big + APART, np.int64)[:big],
        np.empty(big + APART)[:big],
    )
    if asked.span.next < 0:
        return horizon(problem, state, run, work, alone, v)
    asked.span.force = np.exp(asked.span.G)
    move_through(problem, state, run, work, alone, asked.instants)
    return 0.0
