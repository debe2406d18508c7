"""Descent that takes single iterations only where it has to.

STEPPING is plain descent. After `CALM` iterations without an event the run starts COLLECTING: plain iterations that
remember the change at every `SPACING`-th; then LEAPING (`adams`), until a bit or a sign is about to change. Where the
forces are constant it is JUMPING instead (`closed_form`). What happens depends on the state, the iteration and the
iteration of the last event alone, never on what is written on the way: states inside leaps and jumps are read off
without disturbing them.
"""

import numpy as np

from reluflow.engine import descent as kd
from reluflow.engine._jit import entry, inner
from reluflow.engine.adams import (
    DAMPED,
    ORDER,
    TOLERANCE,
    correct,
    crossing,
    dipped,
    fastest,
    fetch,
    field,
    margins,
    predict,
    prepare,
    state_inside,
)
from reluflow.engine.closed_form import (
    EARLY,
    NEVER,
    NOTHING,
    SMALL,
    SMALL_ONES,
    felt,
    moved_to,
    place,
    resting_large,
    settle,
    take_events,
)
from reluflow.engine.descent import COLLECTING, JUMPING, LEAPING, RUNNING, STEPPING, label

CALM = 12
SPACING = 2
SHORTEST = 3  # shorter leaps are not worth their evaluations
LONGEST = 2**50
REVIEW = 4  # leaps between two looks at the fastest rate
ROUND = 64  # jumps are thought of at iterations that leave 1


# Plain iterations -----------------------------------------------------------------------------------------------------


@inner
def steps(task, st, run, until, work, room):
    """Plain iterations before iteration `until`, as `burst` makes them."""
    batch = kd.all_rows(task, work)
    began, status = run.iteration, RUNNING
    while status == RUNNING and run.iteration < until:
        if kd.full_up(st, run, room):
            status = kd.FLUSH
            break
        status = kd.iterate(task, st, run, batch, work, room)
    run.n_fields += run.iteration - began
    return status


@inner
def choose(task, st, run, work, leap, jump):
    """While STEPPING: begins a jump or collecting where that may be possible; returns until when to step plainly."""
    now = run.iteration
    calm = now - run.last_event >= CALM
    if now > 0 and (calm or now % ROUND == 1):
        run.n_fields += 1
        if field(task, st, work, leap.new) == 0.0:
            if begin_jump(task, st, run, work, jump) and calm:
                margins(task.x, st.q, leap.new, leap.u0, leap.v0)
                if longest(task, st, leap, work) >= 4 * SPACING:
                    run.mode = COLLECTING
                    run.nodes = 0
        if calm and run.mode == STEPPING:
            run.last_event = now
    if run.mode != STEPPING:
        return now
    return now + min(CALM - (now - run.last_event), ROUND - (now - 1) % ROUND)


@inner
def next_row(run, saves):
    """The next iteration whose state is to be written."""
    at = min(run.next_checkpoint, run.end)
    return min(at, saves[run.next_frame]) if run.next_frame < saves.size else at


# Leaps ----------------------------------------------------------------------------------------------------------------


@inner
def longest(task, st, leap, work):
    """How long a leap may be for the fastest rate to be damped."""
    rate = task.step * fastest(task, st, leap, work)
    return int(DAMPED / rate) if rate > DAMPED / LONGEST else LONGEST


@inner
def collect(task, st, run, work, leap):
    """While COLLECTING: remembers the change at this iteration if it is one of the nodes, and begins to leap when there
    are enough; returns until when to step plainly."""
    now = run.iteration
    if run.nodes == 0 or now == leap.node[run.top] + SPACING:
        run.top = run.nodes
        run.nodes += 1
        run.n_fields += 1
        leap.node[run.top] = now
        if field(task, st, work, leap.past[run.top]) != 0.0:
            run.mode = STEPPING
        elif run.nodes == ORDER:
            margins(task.x, st.q, leap.past[run.top], leap.u0, leap.v0)
            run.mode = LEAPING
            run.length = SPACING
            run.pending = 0
            run.nodes = 0
    if run.mode != COLLECTING:
        return now
    for j in range(st.b.size):
        leap.exponent[j] = st.exponent[j]
    return leap.node[run.top] + SPACING


@inner
def rescale_past(exponent, before, past):
    """Scales what is remembered of the neurons whose exponents were others `before`."""
    m = exponent.size
    for j in range(m):
        if exponent[j] != before[j]:
            factor = 2.0 ** (before[j] - exponent[j])
            for k in range(past.shape[1] // m):
                for i in range(ORDER):
                    past[i, k * m + j] *= factor


@inner
def make_leap(task, st, run, work, room, leap):
    """While LEAPING: one leap, shortened until it is accepted, and the states asked for inside it."""
    status = RUNNING
    if run.pending == 0:
        if run.nodes % REVIEW == 0:
            run.longest = longest(task, st, leap, work)
        run.nodes += 1
    while run.pending == 0 and run.mode == LEAPING:
        length = min(run.length, run.longest)
        at_one, truncated, rounded = prepare(leap, run.iteration, run.top, length)
        predict(st, leap, run.top, length)
        run.n_fields += 1
        crossed = field(task, st, work, leap.new) != 0.0
        error = np.inf
        if not crossed:
            error = correct(task, st, leap, at_one, length, (truncated, rounded))
            if error <= TOLERANCE:
                run.n_fields += 1
                crossed = field(task, st, work, leap.new) != 0.0
        judge(task, st, run, leap, length, error if not crossed else -1.0)
    if run.pending > 0:
        status = write_inside(task, st, run, room, leap)
        if status == RUNNING:
            arrive(task, st, run, work, leap)
    return status


@inner
def judge(task, st, run, leap, length, error):
    """Accepts the leap that led to the present state (`pending`), or puts its start back and shortens it (`length`).

    `error` is -1 when a bit or a sign changed.
    """
    scale = 0.9 * (TOLERANCE / max(error, 1e-300)) ** (1.0 / (ORDER + 1))
    shorter = length
    if error < 0.0:
        shorter = crossing(task.x, st, leap.start, length)
    elif not error <= TOLERANCE:
        shorter = int(length * max(0.3, scale)) if error < np.inf else 0
    else:
        margins(task.x, st.q, leap.new, leap.u1, leap.v1)
        if dipped(leap, length):
            shorter = length // 2
        else:
            run.pending = length
            run.length = int(min(length * min(2.0, max(scale, 0.5)) + 1.0, LONGEST))
    if run.pending == 0:
        fetch(leap.start, st.q, st.b, st.energy)
        run.length = min(shorter, length - 1)
        if run.length < SHORTEST and run.length != SPACING:
            run.mode = STEPPING
            run.last_event = run.iteration


@inner
def write_inside(task, st, run, room, leap):
    """Writes the states asked for inside the pending leap."""
    d, m = st.q.shape
    now, length, row = run.iteration, run.pending, leap.row
    status = RUNNING
    while status == RUNNING and next_row(run, room.saves) < now + length:
        if run.rows_used == room.y.shape[0]:
            status = kd.FLUSH
        else:
            at = next_row(run, room.saves)
            state_inside(leap, run.top, length, at - now, row)
            p = label(run, room, at)
            for j in range(m):
                for k in range(d):
                    room.y[p, j * d + k] = row[k * m + j]
                room.y[p, d * m + j] = row[d * m + j]
                room.y[p, (d + 1) * m + j] = st.c0[j] + st.exponent[j] * kd.LOG2
            room.y[p, (d + 2) * m] = row[(d + 1) * m]
            kd.write_bits(st.mask, task.slope, room.code[p])
            if at == run.end:
                status = kd.REACHED
    return status


@inner
def arrive(task, st, run, work, leap):
    """Takes the pending leap over."""
    run.n_leaps += 1
    run.n_leapt += run.pending
    run.iteration += run.pending
    run.pending = 0
    run.top = (run.top + 1) % ORDER
    leap.node[run.top] = run.iteration
    for p in range(leap.new.size):
        leap.past[run.top, p] = leap.new[p]
    large = False
    for j in range(leap.size.size):
        large = large or leap.size[j] > 1e60 or 0.0 < leap.size[j] < 1e-60
    for i in range(work.f.size):
        for j in range(leap.size.size):
            leap.u0[i, j] = leap.u1[i, j]
            leap.v0[i, j] = leap.v1[i, j]
    below = EARLY * SMALL * felt(task, work.g) / task.reach
    if task.decay > 0.0 and task.first == 1:
        at_rest = kd.resting(task, st, work.D)
    else:
        at_rest = resting_large(task, st, work.D, below) != NOTHING
    if large or at_rest:
        run.mode = STEPPING
        run.last_event = run.iteration - CALM


# Jumps ----------------------------------------------------------------------------------------------------------------


@inner
def begin_jump(task, st, run, work, jump):
    """Begins a jump where the forces are constant; True when leaps may be possible instead.

    With decay and the first layer alone there are no jumps, and a run at rest is left to plain iterations.
    """
    if task.decay > 0.0 and task.first == 1:
        return True
    if task.decay > 0.0 and kd.resting(task, st, work.D):
        return False
    below = EARLY * SMALL * felt(task, work.g) / task.reach
    rest = resting_large(task, st, work.D, below)
    if rest == SMALL_ONES:
        for i in range(work.g.size):
            jump.g[i] = work.g[i]
        for j in range(st.b.size):
            settle(task, st, jump, j, run.iteration)
        run.mode = JUMPING
        run.n_jumps += 1
    return rest == NOTHING


@inner
def make_jump(task, st, run, work, room, jump):
    """While JUMPING: on to the next event, the next row that is due, or the end of the jump."""
    m = st.b.size
    end, event, at = NEVER, NEVER, next_row(run, room.saves)
    for j in range(m):
        end = min(end, jump.exit[j])
        event = min(event, jump.event[j])
    first = min(end, event, at)
    status = RUNNING
    if first == NEVER:
        status = kd.STATIONARY
    elif kd.full_up(st, run, room):
        status = kd.FLUSH
    else:
        run.n_fields += 1
        run.n_jumped += first - run.iteration
        run.iteration = first
        if event == first:
            take_events(task, st, run, jump, work, room)
        elif at == first:
            write_moved(task, st, run, room, jump)
            if at == run.end:
                status = kd.REACHED
        else:
            for j in range(m):
                place(task, st, jump, j, first)
            run.mode = STEPPING
            run.last_event = first
            run.fresh = 1
    return status


@inner
def write_moved(task, st, run, room, jump):
    """Writes the state of the present iteration, all neurons moved there by their closed forms."""
    d, m = st.q.shape
    p = label(run, room, run.iteration)
    kd.write_bits(st.mask, task.slope, room.code[p])
    for j in range(m):
        b, shift = moved_to(task, st, jump, j, run.iteration)
        for k in range(d):
            room.y[p, j * d + k] = jump.q[k]
        room.y[p, d * m + j] = b
        room.y[p, (d + 1) * m + j] = st.c0[j] + (st.exponent[j] + shift) * kd.LOG2
    room.y[p, (d + 2) * m] = st.energy[0]


# The loop -------------------------------------------------------------------------------------------------------------


def _forward(task, st, run, budget, work, room, leap, jump):
    """Descends with about `budget` evaluations; returns why it stopped."""
    enough = run.n_fields + budget
    status = RUNNING
    while status == RUNNING and run.n_fields < enough:
        now, mode, last_event = run.iteration, run.mode, run.last_event
        until = now
        if mode == STEPPING:
            until = choose(task, st, run, work, leap, jump)
        elif mode == COLLECTING:
            until = collect(task, st, run, work, leap)
        elif mode == JUMPING:
            status = make_jump(task, st, run, work, room, jump)
        else:
            status = make_leap(task, st, run, work, room, leap)
        if until > now:
            status = steps(task, st, run, until, work, room)
            if mode == COLLECTING:
                rescale_past(st.exponent, leap.exponent, leap.past)
                if run.last_event != last_event:
                    run.mode = STEPPING
    return status


forward = entry(_forward)
