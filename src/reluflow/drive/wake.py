"""Dead neurons that could have been woken.

A neuron may die on the boundary of the last datum it saw, pushed there by s g < 0. It does not move any more, and while
s g < 0 nothing else is possible. Should s g turn positive later, it may stay or leave at any time: solutions are not
unique. The run keeps it off, as descent does; here the instant is found and recorded, as a second `dead` event that
names the datum and is not unique.

The push of a datum is looked at where the run kept its state. A long run keeps one state of many steps; between two of
them the push is at most what the energy E spent there and the time T allow,

    |f_i(t) - f_i(s)| <= max |grad f_i| int |theta'| dt <= |x_i| (|theta| + sqrt(T E)) sqrt(T E),

and where that does not keep it from turning positive the run is repeated and looked at more often, the likeliest
places first, for as long as that costs less than a quarter of the run (of a short one, than all of it).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

from reluflow.drive.recorder import States, Tape
from reluflow.engine.field import DEAD
from reluflow.engine.layout import RUN, parts
from reluflow.engine.surfaces import EV_DEAD
from reluflow.losses import LOSSES

if TYPE_CHECKING:
    from reluflow.drive.exact import Machine

ON_IT = 1e-13  # of |w|: a dead neuron this near to a boundary is on it
CLEARLY = 100.0  # tolerances by which s g must have turned: outputs are promised to as many
BETWEEN, DEEP = 16, 4  # places looked at between two states, and how often again between these
SHARE, SHORT = 0.25, 1000  # what this may cost: a share of the steps of a run, or as many steps


def note_free_to_leave(machine: Machine, tape: Tape) -> None:
    """Adds an event for every dead neuron and datum that could have woken it. Replays leave the machine in another
    state, but not what the run counts."""
    counted = machine.run.tolist()
    try:
        _note(machine, tape)
    finally:
        for name, value in zip(RUN.names or (), counted, strict=True):
            machine.run[name] = value


def _note(machine: Machine, tape: Tape) -> None:
    problem = machine.made_of[0]
    if problem.activation.slope > 0.0 or LOSSES[problem.loss].tailed:  # with a tail g keeps the sign of y
        return
    q, b, _, _ = parts(machine.state.y.copy(), machine.m)  # stored states are read with the same arrays below
    size = np.linalg.norm(q, axis=1)[:, None]
    on = (np.abs(q @ machine.packed.e.T) <= ON_IT * size) & (size > 0.0)
    pairs = np.argwhere(on & (machine.state.dead == DEAD)[:, None] & (machine.packed.opposite == 0)[None]).tolist()
    if not pairs:
        return
    pushes = _Pushes(machine, *tape.checkpoints())
    if machine.run.stride == 1:
        # Every state was kept: most data never push a neuron of that sign.
        up, down = (pushes.at_marks.max(axis=0) > pushes.clearly), (pushes.at_marks.min(axis=0) < -pushes.clearly)
        pairs = [pair for pair in pairs if (up if b[pair[0]] >= 0.0 else down)[pair[1]]]
        if not pairs:
            return
    known = tape.all_events()
    died = known[known[:, 3] == EV_DEAD]
    deaths = dict(zip(died[:, 1].astype(int).tolist(), died[:, 0].tolist(), strict=True))
    sides = [1.0 if b[j] >= 0.0 else -1.0 for j, _ in pairs]
    if machine.run.stride > 1:
        pushes.look_between({(k, s, deaths.get(j, 0.0)) for (j, k), s in zip(pairs, sides, strict=True)})
    rows = []
    for (j, k), s in zip(pairs, sides, strict=True):
        clock = pushes.turns(k, s, deaths.get(j, 0.0))
        if clock is not None:
            rows.append((clock, j, k, EV_DEAD, 0.0))
    if rows:
        every = np.concatenate([known, rows])
        tape.events = [every[np.argsort(every[:, 0], kind="stable")]]


class _Pushes:
    """What each surface does to a neuron that meets it, along a run."""

    def __init__(self, machine: Machine, marks: States, resume: np.ndarray):
        self.machine, self.marks, self.resume = machine, marks, resume
        self.start = np.arange(len(marks.clock))  # the checkpoint from which each state is reached
        packed = machine.packed
        self.weight = np.zeros((machine.n, machine.big))  # |x_i| of the rows of each surface
        self.weight[np.arange(machine.n), packed.surf] = np.abs(packed.alpha)
        self.known: dict[
            tuple[int, float, int, float], float | None
        ] = {}  # neurons that died on one datum are woken together
        self.signs: dict[tuple[int, float], tuple[list[int], list[int]]] = {}
        self.clock: list[float] = marks.clock.tolist()
        self.at_marks = self._of(marks)
        size = np.sum(self.weight, axis=0)
        self.clearly = CLEARLY * machine.run.rtol * packed.weight * np.max(np.abs(packed.y)) * size

    def _of(self, states: States) -> np.ndarray:
        """(rows, S) the jumps of the pull: sum over the rows of a surface of |x_i| g_i."""
        packed = self.machine.packed
        f = self.machine.look(states.clock, states.y, states.code)[0] / self.machine.units.y0
        g = LOSSES[self.machine.made_of[0].loss].force(packed.y, f, packed.weight)
        return np.einsum("ti,ik->tk", g, self.weight)

    def _room(self, states: States) -> np.ndarray:
        """(rows, 2) |theta|, and the energy spent until then."""
        q, b, c, energy = parts(states.y, self.machine.m)
        theta = np.exp(2.0 * c) * (np.sum(q * q, axis=-1) + b * b)
        return np.column_stack([np.sqrt(np.sum(theta, axis=-1)), energy])

    def _may_turn(self, wanted: set[tuple[int, float, float]]) -> np.ndarray:
        """The rows behind which some s F_k that is not positive may turn clearly positive before the next row, and
        back, before it is seen to: for surfaces k, signs s and moments of death. The likeliest first."""
        clock = np.array(self.clock)
        way = np.sqrt(np.diff(clock) * np.maximum(0.0, np.diff(self.room[:, 1])))
        way *= np.minimum(self.room[:-1, 0], self.room[1:, 0]) + way
        # |dg_i| <= weight |df_i|, as l'' is at most 1 without a tail.
        speed = self.machine.packed.weight * np.einsum("ik,ik->k", self.weight, self.weight)
        excess = np.zeros(len(way))
        for k, s, since in wanted:
            push = s * self.at_marks[:, k]
            highest = 0.5 * (push[:-1] + push[1:] + speed[k] * way)
            seen = np.cumsum((push > self.clearly[k]) & (clock >= since))[1:] > 0
            may = (np.maximum(push[:-1], push[1:]) <= 0.0) & (highest > self.clearly[k]) & (clock[1:] > since) & ~seen
            excess = np.maximum(excess, np.where(may, highest / self.clearly[k], 0.0))
        likeliest = np.argsort(-excess, kind="stable")
        return likeliest[excess[likeliest] > 0.0]

    def look_between(self, wanted: set[tuple[int, float, float]]) -> None:
        """Adds states of a run that kept few of them, where pushes may have turned and back in between."""
        run = self.machine.run
        count = int(min(BETWEEN, run.stride))
        self.room = self._room(self.marks)
        left = max(int(SHARE * run.n_steps), SHORT) // (int(run.stride) + count)
        for _ in range(DEEP):
            rows = np.sort(self._may_turn(wanted)[:left])
            if rows.size == 0:
                return
            left -= rows.size
            clock = np.array(self.clock)
            pushes, room, clocks = [self.at_marks], [self.room], [clock]
            for row in rows.tolist():
                at = np.linspace(clock[row], clock[row + 1], count + 2)[1:-1]
                states = self._replayed(int(self.start[row]), at)
                pushes.append(self._of(states))
                room.append(self._room(states))
                clocks.append(at)
            clock = np.concatenate(clocks)
            order = np.argsort(clock, kind="stable")
            self.start = np.concatenate([self.start, np.repeat(self.start[rows], count)])[order]
            self.clock = clock[order].tolist()
            self.at_marks, self.room = np.concatenate(pushes)[order], np.concatenate(room)[order]

    def _replayed(self, row: int, clock: np.ndarray) -> States:
        """States at ascending clock values, reached from a checkpoint."""
        start = self.marks.rows([row])
        self.machine.restore(float(start.clock[0]), float(self.resume[row]), start.y[0], start.code[0])
        return States(clock, *self.machine.frames(clock))

    def turns(self, k: int, s: float, since: float) -> float | None:
        """The clock at which s F_k turns from negative to clearly positive for the first time; None if it does not."""
        clock, (positive, others) = self.clock, self._signs(k, s)
        dead = bisect_left(clock, since)  # the first checkpoint from its death on
        later = bisect_left(positive, dead)
        if later == len(positive):
            return None
        end = positive[later]
        last = bisect_left(others, end) - 1
        found = last >= 0 and others[last] >= dead
        # Checkpoints are thinned: there may be none between its death and the turn.
        row = others[last] if found else max(0, bisect_right(clock, since) - 1)
        place = k, s, row, max(since, clock[row])
        if place not in self.known:
            self.known[place] = self._located(place, clock[row + 1] if found else clock[end])
        return self.known[place]

    def _signs(self, k: int, s: float) -> tuple[list[int], list[int]]:
        """The checkpoints at which s F_k is clearly positive, and those at which it is not positive."""
        if (k, s) not in self.signs:
            push = s * self.at_marks[:, k]
            self.signs[k, s] = np.flatnonzero(push > self.clearly[k]).tolist(), np.flatnonzero(push <= 0.0).tolist()
        return self.signs[k, s]

    def _located(self, place: tuple[int, float, int, float], end: float) -> float | None:
        """The zero of s F_k in (begin, end], replayed from a checkpoint; None if it is positive at `begin` already."""
        from scipy.optimize import brentq

        k, s, row, begin = place

        def push(clock: float) -> float:
            return s * float(self._of(self._replayed(int(self.start[row]), np.array([clock])))[0, k])

        low = push(begin) if begin > self.clock[row] else s * self.at_marks[row, k]
        if low >= 0.0:
            return None if low > 0.0 else begin
        return float(brentq(push, begin, end, xtol=1e-12 * max(end, 1.0), rtol=1e-12)) if push(end) > 0.0 else end
