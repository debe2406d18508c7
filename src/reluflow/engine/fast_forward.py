"""Descent that steps only where it has to.

STEPPING is plain descent. After `CALM` iterations without an event the run goes on to NODING: plain iterations that
remember the change at every `SPACING`-th; then to LEAPING (`leap`), until a bit or a sign is about to change. Where the
drive rests it is JUMPING instead (`jump`). What happens depends on the state, the iteration and the iteration of the
last event alone, never on what is written on the way: states inside leaps and jumps are read off without disturbing
them.
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import descent as kd
from reluflow.engine._jit import entry, inner
from reluflow.engine.adams import (
    DAMPED,
    ORDER,
    TOLERANCE,
    correct,
    crossing,
    dense,
    dipped,
    fastest,
    fetch,
    field,
    margins,
    predict,
    prepare,
)
from reluflow.engine.closed_form import (
    EARLY,
    EXIT,
    NEVER,
    NEXT,
    NOTHING,
    SMALL,
    SMALL_ONES,
    felt,
    happen,
    moved_to,
    place,
    resting_large,
    settle,
)
from reluflow.engine.descent import ITER, LAST, MODE, NODES, NODING, PENDING, RUNNING, STEPPING, TOP, due, label

CALM = 12
SPACING = 2
SHORTEST = 3  # shorter leaps are not worth their evaluations
LONGEST = 2**50
REVIEW = 4  # leaps between two looks at the fastest rate
ROUND = 64  # jumps are thought of at iterations that leave 1


class Tools(NamedTuple):
    """Arrays to work with, as in `burst`."""

    order: np.ndarray
    xbuf: np.ndarray
    flat: np.ndarray
    turn: np.ndarray
    u: np.ndarray
    ab: np.ndarray
    f: np.ndarray
    g: np.ndarray
    D: np.ndarray
    h: np.ndarray


@inner
def steps(task, st, ci, until, blas, saves, w, room):
    """Plain iterations before iteration `until`, as `burst` makes them."""
    n, m = st.mask.shape
    u = w.u.reshape(n, m)
    began, status = ci[ITER], RUNNING
    while status == RUNNING and ci[ITER] < until:
        if ci[kd.EV_USED] + m * (n + 2) > room.ev.shape[0] or ci[kd.USED] == room.y.shape[0]:
            status = kd.FLUSH
            break
        now = ci[ITER]
        fresh = ci[kd.FRESH_START] == 1
        pause = (now & kd.RESCALE) == 0
        if (fresh or pause) and not kd.rescale(task, st, fresh):
            status = kd.NOT_FINITE
            break
        changed, flips = kd.look(task, st, task.x, w.order, blas, u, w.flat, w.turn, w.ab, w.f, w.g)
        if fresh:
            ci[kd.FRESH_START] = 0
            if now == 0:
                for i in range(n):
                    for j in range(m):
                        st.mask[i, j] = u[i, j]
                        st.dead[j] = kd.DOUBTFUL
                changed = 1.0
        if flips != 0.0:
            kd.turned(st.b, st.sign, ci, room.ev)
        if changed != 0.0:
            kd.switched(st.mask, st.dead, task.live, ci, room.ev, u, w.g)
        why = due(ci, saves, now)
        if why > 0:
            kd.write(task, st, room, label(ci, room, now, why))
        if now >= ci[kd.END]:
            status = kd.REACHED
            break
        kd.drive(task, w.order, w.f, w.g)
        kd.pulls(task, task.x, w.order, blas, u, w.turn, w.g, w.D)
        if pause and kd.resting(task, st, w.D):
            status = kd.STATIONARY
            break
        kd.move(task, st, w.D, w.h, w.ab)
        ci[ITER] += 1
    ci[kd.N_FIELDS] += ci[ITER] - began
    return status


@inner
def longest(task, st, ahead, f, D):
    """How long a leap may be for the fastest rate to be damped."""
    rate = task.step * fastest(task, st, ahead.gram, ahead.u[0], f, D, ahead.bent)
    return int(DAMPED / rate) if rate > DAMPED / LONGEST else LONGEST


@inner
def next_row(ci, saves):
    """The next iteration whose state is to be written."""
    at = min(ci[kd.CK_NEXT], ci[kd.END])
    return min(at, saves[ci[kd.FR_NEXT]]) if ci[kd.FR_NEXT] < saves.size else at


@inner
def consider(task, st, ci, D, g, ahead, reach):
    """Begins a jump where the drive rests; True when leaps may be possible instead."""
    below = EARLY * SMALL * felt(task.loss, task.mean, g) / reach
    rest = resting_large(task.first, task.step, st.q, st.b, st.amp, D, below)
    if rest == SMALL_ONES:
        for i in range(g.size):
            ahead.bent[i] = g[i]
        for j in range(st.b.size):
            settle(task, st, ahead, ahead.bent, j, ci[ITER], reach)
        ci[MODE] = kd.JUMPING
        ci[kd.N_JUMPS] += 1
    return rest == NOTHING


@inner
def follow(exponent, before, past):
    """Scales what is remembered of the neurons whose exponents were others `before`."""
    m = exponent.size
    for j in range(m):
        if exponent[j] != before[j]:
            factor = 2.0 ** (before[j] - exponent[j])
            for k in range(past.shape[1] // m):
                for i in range(ORDER):
                    past[i, k * m + j] *= factor


@inner
def judge(x, st, ci, ahead, length, crossed, error):
    """Accepts the trial at whose end the state is (PENDING), or puts its start back and shortens the next (LENGTH)."""
    scale = 0.9 * (TOLERANCE / max(error, 1e-300)) ** (1.0 / (ORDER + 1))
    shorter = length
    if crossed:
        shorter = crossing(x, st.q, st.b, st.sign, ahead.start, length)
    elif not error <= TOLERANCE:
        shorter = int(length * max(0.3, scale)) if error < np.inf else 0
    else:
        margins(x, st.q, ahead.new, ahead.u[2], ahead.u[3])
        if dipped(ahead.u, length):
            shorter = length // 2
        else:
            ci[PENDING] = length
            ci[kd.LENGTH] = int(min(length * min(2.0, max(scale, 0.5)) + 1.0, LONGEST))
    if ci[PENDING] == 0:
        fetch(ahead.start, st.q, st.b, st.energy)
        ci[kd.LENGTH] = min(shorter, length - 1)
        if ci[kd.LENGTH] < SHORTEST and ci[kd.LENGTH] != SPACING:
            ci[MODE] = STEPPING
            ci[LAST] = ci[ITER]


@inner
def emit(slope, st, ci, saves, room, ahead, row):
    """Writes the states asked for inside the pending leap."""
    d, m = st.q.shape
    now, length = ci[ITER], ci[PENDING]
    status = RUNNING
    while status == RUNNING and next_row(ci, saves) < now + length:
        if ci[kd.USED] == room.y.shape[0]:
            status = kd.FLUSH
        else:
            at = next_row(ci, saves)
            dense(ahead, ci[TOP], length, at - now, row)
            p = label(ci, room, at, due(ci, saves, at))
            for j in range(m):
                for k in range(d):
                    room.y[p, j * d + k] = row[k * m + j]
                room.y[p, d * m + j] = row[d * m + j]
                room.y[p, (d + 1) * m + j] = st.c0[j] + st.exponent[j] * kd.LOG2
            room.y[p, (d + 2) * m] = row[(d + 1) * m]
            kd.write_bits(st.mask, slope, room.code[p])
            if at == ci[kd.END]:
                status = kd.REACHED
    return status


@inner
def arrive(task, st, ci, w, ahead, reach):
    """Takes the pending leap over."""
    ci[kd.N_LEAPS] += 1
    ci[kd.N_LEAPT] += ci[PENDING]
    ci[ITER] += ci[PENDING]
    ci[PENDING] = 0
    ci[TOP] = (ci[TOP] + 1) % ORDER
    ahead.node[ci[TOP]] = ci[ITER]
    for p in range(ahead.new.size):
        ahead.past[ci[TOP], p] = ahead.new[p]
    large = False
    for j in range(ahead.size.size):
        large = large or ahead.size[j] > 1e60 or 0.0 < ahead.size[j] < 1e-60
    for i in range(w.f.size):
        for j in range(ahead.size.size):
            ahead.u[0, i, j] = ahead.u[2, i, j]
            ahead.u[1, i, j] = ahead.u[3, i, j]
    below = EARLY * SMALL * felt(task.loss, task.mean, w.g) / reach
    if large or resting_large(task.first, task.step, st.q, st.b, st.amp, w.D, below) != NOTHING:
        ci[MODE] = STEPPING
        ci[LAST] = ci[ITER] - CALM


@inner
def jump(task, st, ci, saves, w, room, ahead, reach, q):
    """One event, one row or the end of a jump."""
    n, m = st.mask.shape
    d = q.size
    end, event, at = NEVER, NEVER, next_row(ci, saves)
    for j in range(m):
        end = min(end, ahead.whole[EXIT, j])
        event = min(event, ahead.whole[NEXT, j])
    first = min(end, event, at)
    status = RUNNING
    if first == NEVER:
        status = kd.STATIONARY
    elif ci[kd.EV_USED] + m * (n + 2) > room.ev.shape[0] or ci[kd.USED] == room.y.shape[0]:
        status = kd.FLUSH
    else:
        ci[kd.N_FIELDS] += 1
        ci[kd.N_JUMPED] += first - ci[ITER]
        ci[ITER] = first
        if event == first:
            happen(task, st, ahead, ci, room, w.u, w.f, first, reach, q)
        elif at == first:
            p = label(ci, room, at, due(ci, saves, at))
            kd.write_bits(st.mask, task.slope, room.code[p])
            for j in range(m):
                b, shift = moved_to(task.first, st.q, st.b, ahead.cell, ahead.real, ahead.whole, j, at, q)
                for k in range(d):
                    room.y[p, j * d + k] = q[k]
                room.y[p, d * m + j] = b
                room.y[p, (d + 1) * m + j] = st.c0[j] + (st.exponent[j] + shift) * kd.LOG2
            room.y[p, (d + 2) * m] = st.energy[0]
            if at == ci[kd.END]:
                status = kd.REACHED
        else:
            for j in range(m):
                place(task, st, ahead, j, first, q)
            ci[MODE] = STEPPING
            ci[LAST] = first
            ci[kd.FRESH_START] = 1
    return status


def _forward(task, st, ci, budget, blas, saves, w, room, ahead, reach):
    """Descends with about `budget` evaluations; returns why it stopped."""
    m = st.b.size
    enough = ci[kd.N_FIELDS] + budget
    status = RUNNING
    while status == RUNNING and ci[kd.N_FIELDS] < enough:
        now, mode, last = ci[ITER], ci[MODE], ci[LAST]
        until = now
        if mode == STEPPING:
            calm = now - last >= CALM
            if now > 0 and (calm or now % ROUND == 1):
                ci[kd.N_FIELDS] += 1
                if field(task, st, blas, w, ahead.new) == 0.0:
                    if consider(task, st, ci, w.D, w.g, ahead, reach) and calm:
                        margins(task.x, st.q, ahead.new, ahead.u[0], ahead.u[1])
                        if longest(task, st, ahead, w.f, w.D) >= 4 * SPACING:
                            ci[MODE] = NODING
                            ci[NODES] = 0
                if calm and ci[MODE] == STEPPING:
                    ci[LAST] = now
            if ci[MODE] == STEPPING:
                until = now + min(CALM - (now - ci[LAST]), ROUND - (now - 1) % ROUND)
        elif mode == NODING:
            if ci[NODES] == 0 or now == ahead.node[ci[TOP]] + SPACING:
                ci[TOP] = ci[NODES]
                ci[NODES] += 1
                ci[kd.N_FIELDS] += 1
                ahead.node[ci[TOP]] = now
                if field(task, st, blas, w, ahead.past[ci[TOP]]) != 0.0:
                    ci[MODE] = STEPPING
                elif ci[NODES] == ORDER:
                    margins(task.x, st.q, ahead.past[ci[TOP]], ahead.u[0], ahead.u[1])
                    ci[MODE] = kd.LEAPING
                    ci[kd.LENGTH] = SPACING
                    ci[PENDING] = 0
                    ci[NODES] = 0
            if ci[MODE] == NODING:
                until = ahead.node[ci[TOP]] + SPACING
                for j in range(m):
                    ahead.exponent[j] = st.exponent[j]
        elif mode == kd.JUMPING:
            status = jump(task, st, ci, saves, w, room, ahead, reach, ahead.q)
        else:
            if ci[PENDING] == 0:
                if ci[NODES] % REVIEW == 0:
                    ci[kd.CAP] = longest(task, st, ahead, w.f, w.D)
                ci[NODES] += 1
            while ci[PENDING] == 0 and ci[MODE] == kd.LEAPING:
                length = min(ci[kd.LENGTH], ci[kd.CAP])
                at_one, gamma, factor = prepare(ahead, now, ci[TOP], length)
                predict(st, ahead, ci[TOP], length)
                ci[kd.N_FIELDS] += 1
                crossed = field(task, st, blas, w, ahead.new) != 0.0
                error = np.inf
                if not crossed:
                    error = correct(task, st, ahead, at_one, gamma, length, factor)
                    if error <= TOLERANCE:
                        ci[kd.N_FIELDS] += 1
                        crossed = field(task, st, blas, w, ahead.new) != 0.0
                judge(task.x, st, ci, ahead, length, crossed, error)
            if ci[PENDING] > 0:
                status = emit(task.slope, st, ci, saves, room, ahead, ahead.row)
                if status == RUNNING:
                    arrive(task, st, ci, w, ahead, reach)
        if until > now:
            status = steps(task, st, ci, until, blas, saves, w, room)
            if mode == NODING:
                follow(st.exponent, ahead.exponent, ahead.past)
                if ci[LAST] != last:
                    ci[MODE] = STEPPING
    return status


forward = entry(_forward)
