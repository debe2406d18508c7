"""What a run keeps: states, thinned so that they fit in memory, and events."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class States(NamedTuple):
    """States of a run, one row an instant."""

    clock: np.ndarray  # (rows,)
    y: np.ndarray  # (rows, m (r + 2) + 1): q, b, c, energy
    code: np.ndarray  # (rows, m S) int8: what each neuron does on each surface

    def rows(self, which: slice | np.ndarray | list[int]) -> States:
        """Some of the instants."""
        return States(self.clock[which], self.y[which], self.code[which])


class Costs(NamedTuple):
    """What a run took, as `Stats` reports it."""

    steps: int
    rejected: int
    fields: int
    nearest: float  # smallest normalised distance of any decision on a surface from going the other way
    regimes: dict[str, float]
    seen: int | None = None  # events counted, where not all of them are listed
    place: tuple[float, int, int] | None = None  # clock, neuron and surface of the nearest decision


class Tape:
    """Checkpoints, frames asked for and events of a run; at most `limit` checkpoints are kept, every 2nd, 4th, ..."""

    def __init__(self, limit: int):
        self.limit = limit
        self.marks: list[States] = []
        # Beside every checkpoint, what going on from it needs: the step of a flow; for descent 1 + the iterations since
        # an event, or 0 where a run cannot be taken up again.
        self.resume: list[np.ndarray] = []
        self.count = 0  # checkpoints kept
        self.asked: list[States] = []
        self.events: list[np.ndarray] = []

    def keep(
        self, states: States, resume: np.ndarray, thinned: Callable[[bool, float], None], last: bool = False
    ) -> None:
        """Adds checkpoints; `last` says that the newest is the end of the run and stays.

        Where there are too many, every second is dropped, and the run is told: whether the newest was, and the clock of
        the newest that is left.
        """
        self.marks.append(states)
        self.resume.append(resume)
        self.count += len(states.clock)
        while self.count > self.limit:
            count = self.count
            self.select(np.unique(np.r_[0:count:2, count - 1 if last else 0]))
            thinned(count % 2 == 0, float(self.marks[0].clock[-1]))

    def select(self, rows: np.ndarray) -> None:
        """Keeps these checkpoints only."""
        marks, resume = self.checkpoints()
        self.marks, self.resume = [marks.rows(rows)], [resume[rows]]
        self.count = len(self.marks[0].clock)

    def checkpoints(self) -> tuple[States, np.ndarray]:
        """All checkpoints, and what going on from each needs."""
        if len(self.marks) > 1:
            self.marks, self.resume = [joined(self.marks)], [np.concatenate(self.resume)]
        return self.marks[0], self.resume[0]

    def frames(self) -> States:
        """The frames asked for."""
        if self.asked:
            return joined(self.asked)
        return self.checkpoints()[0].rows(slice(0))

    def all_events(self) -> np.ndarray:
        """Rows (clock, neuron, surface, kind, unique) in order of time."""
        return np.concatenate(self.events) if self.events else np.empty((0, 5))


def joined(parts: list[States]) -> States:
    """Several stretches of states as one."""
    return States(*map(np.concatenate, zip(*parts, strict=True))) if len(parts) > 1 else parts[0]
