"""Dead neurons that could have been woken.

A neuron may die on the boundary of the last datum it saw, pushed there by s g < 0. It does not move any more, and while
s g < 0 nothing else is possible. Should s g turn positive later, it may stay or leave at any time: solutions are not
unique. The run keeps it off, as descent does; here the instant is found and recorded, as a second `dead` event that
names the datum and is not unique.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reluflow.drive.recorder import States, Tape
from reluflow.engine.field import DEAD
from reluflow.engine.layout import parts
from reluflow.engine.surfaces import EV_DEAD
from reluflow.losses import LOSSES

if TYPE_CHECKING:
    from reluflow.drive.exact import Machine

ON_IT = 1e-13  # of |w|: a dead neuron this near to a boundary is on it
CLEARLY = 100.0  # tolerances by which s g must have turned: outputs are promised to as many


def note_free_to_leave(machine: Machine, tape: Tape) -> None:
    """Adds an event for every dead neuron and datum that could have woken it."""
    problem = machine.made_of[0]
    if problem.activation.slope > 0.0 or LOSSES[problem.loss].tailed:  # with a tail g keeps the sign of y
        return
    q, b, _, _ = parts(machine.state.y.copy(), machine.m)  # stored states are read with the same arrays below
    size = np.linalg.norm(q, axis=1)[:, None]
    on = (np.abs(q @ machine.packed.e.T) <= ON_IT * size) & (size > 0.0)
    pairs = np.argwhere(on & (machine.state.dead == DEAD)[:, None] & (machine.packed.opposite == 0)[None]).tolist()
    if not pairs:
        return
    marks, resume = tape.checkpoints()
    pushes = _Pushes(machine, marks, resume)
    known = tape.all_events()
    died = known[known[:, 3] == EV_DEAD]
    deaths = dict(zip(died[:, 1].astype(int).tolist(), died[:, 0].tolist(), strict=True))
    rows = []
    for j, k in pairs:
        s = 1.0 if b[j] >= 0.0 else -1.0
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

    @cached_property
    def again(self) -> Machine:
        """A machine of its own for replays, which must not change what the run counts."""
        return type(self.machine)(*self.machine.made_of)

    def _of(self, states: States) -> np.ndarray:
        """(rows, S) the jumps of the pull: sum over the rows of a surface of |x_i| g_i."""
        packed = self.machine.packed
        f = self.machine.look(states.clock, states.y, states.code)[0] / self.machine.units.y0
        g = LOSSES[self.machine.made_of[0].loss].force(packed.y, f, packed.weight)
        return np.einsum("ti,ik->tk", g, self.weight)

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
        start = self.marks.rows([row])

        def push(clock: float) -> float:
            self.again.restore(float(start.clock[0]), float(self.resume[row]), start.y[0], start.code[0])
            y, code = self.again.frames(np.array([clock]))
            return s * float(self._of(States(np.array([clock]), y, code))[0, k])

        low = push(begin) if begin > start.clock[0] else s * self.at_marks[row, k]
        if low >= 0.0:
            return None if low > 0.0 else begin
        return float(brentq(push, begin, end, xtol=1e-12 * max(end, 1.0), rtol=1e-12)) if push(end) > 0.0 else end
