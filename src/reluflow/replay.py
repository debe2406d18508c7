"""Any instant of a run, by going on from the checkpoint before it, and what can be read off states."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

import numpy as np

from reluflow.clock import Clock
from reluflow.drive.loop import Driver
from reluflow.drive.recorder import States
from reluflow.engine.field import ON, SLID


class Replay:
    """States at clock values, outputs, losses and activation patterns of states.

    What it gives depends on what is asked alone, not on what was asked before. The driver inside moves, so questions of
    several threads wait for each other.
    """

    def __init__(self, driver: Driver, clock: Clock, checkpoints: States, resume: np.ndarray):
        self.clock, self.checkpoints, self.resume = clock, checkpoints, resume
        self._driver = driver
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    @property
    def surfaces(self) -> tuple[int, int]:
        """Numbers of neurons and of surfaces: the shape of a row of codes."""
        return self._driver.m, self._driver.big

    @property
    def units(self) -> Any:
        """The units a flow is computed in, None for others."""
        return getattr(self._driver, "units", None)

    @property
    def slope(self) -> float:
        """The slope of the activation."""
        return float(self._driver.packed.slope)

    def known(self, clock: np.ndarray) -> None:
        """Raises where there is no state; a computed run has one at every instant of its span."""

    def at(self, clock: np.ndarray) -> States:
        """States at clock values, in their order."""
        clock = np.ascontiguousarray(clock, float)
        order = np.argsort(clock, kind="stable")
        wanted = clock[order]
        marks = self.checkpoints
        y, code = np.empty((len(clock), marks.y.shape[1])), np.empty((len(clock), marks.code.shape[1]), np.int8)
        before = np.searchsorted(marks.clock, wanted, side="right") - 1
        stored = (wanted == marks.clock[before]) | (before == len(marks.clock) - 1)
        y[order[stored]], code[order[stored]] = marks.y[before[stored]], marks.code[before[stored]]
        # States that no run can continue from are reached from the last one before them.
        way_on = np.flatnonzero(self.resume != 0.0)
        between = np.flatnonzero(~stored)
        base = way_on[np.searchsorted(way_on, before[between], side="right") - 1]
        with self._lock:
            for k in np.unique(base):
                mine = between[base == k]
                self._driver.restore(marks.clock[k], self.resume[k], marks.y[k], marks.code[k])
                y[order[mine]], code[order[mine]] = self._driver.frames(wanted[mine])
        return States(clock, y, code)

    def look(self, states: States, bits: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs (rows, n) or (rows, n, k), log loss (rows,) and, when asked for, bits (rows, m, n) of states."""
        coords = self._driver.coords
        with self._lock:
            clock, y, code = map(_writeable, states)
            f, logs, of_surface = self._driver.look(clock, y, code, bits=bits)
        outputs = np.zeros((len(f), coords.n, *f.shape[2:]))
        outputs[:, coords.kept] = f
        return outputs, logs, self._of_data(of_surface) if bits else of_surface

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q (..., m, r), b (..., m) or (..., m, k), and c (..., m) of states."""
        return self._driver.split(y)

    def expand(self, q: np.ndarray) -> np.ndarray:
        """Rows (..., m, r) in the run's coordinates as rows (..., m, d) in the data's."""
        return self._driver.coords.expand(q)

    def sliding(self, code: np.ndarray) -> np.ndarray:
        """Where a datum is slid on, (rows, m, n)."""
        coords, (m, big) = self._driver.coords, self.surfaces
        full = np.zeros((len(code), m, coords.n), bool)
        full[:, :, coords.kept] = (code.reshape(len(code), m, big) & 3 == SLID)[:, :, self._driver.packed.surf]
        return full

    def active(self, code: np.ndarray) -> np.ndarray:
        """Where the bit of a neuron that does not slide on a datum is above the slope, (rows, m, n), of a flow.

        Read from the codes: bits take an evaluation of the forces.
        """
        packed, coords, (m, big) = self._driver.packed, self._driver.coords, self.surfaces
        full = np.zeros((len(code), m, coords.n), bool)
        if packed.slope < 1.0:
            on = (code.reshape(len(code), m, big) & 3 == ON)[:, :, packed.surf]
            full[:, :, coords.kept] = on ^ (packed.alpha < 0) if np.any(packed.alpha < 0) else on
        return full

    def signs(self) -> np.ndarray:
        """Bits at t = 0 by the signs of <w_j, x_i>, off on a surface, (m, n)."""
        q, packed = self._driver.start.q, self._driver.packed
        q = q / np.maximum(np.linalg.norm(q, axis=1, keepdims=True), 1e-300)
        return self._of_data(np.where(q @ packed.e.T > 4.5e-16, 1.0, packed.slope)[None])[0]

    def stored(self) -> dict[str, np.ndarray]:
        """What a file needs beside the states."""
        return self._driver.stored(self.resume)

    def _of_data(self, bits: np.ndarray) -> np.ndarray:
        """Bits of surfaces as bits of data; a row on the far side of a shared hyperplane has the other."""
        packed, coords = self._driver.packed, self._driver.coords
        full = np.full((*bits.shape[:-1], coords.n), packed.slope)
        of_row = bits[..., packed.surf]
        full[..., coords.kept] = np.where(packed.alpha < 0, 1.0 + packed.slope - of_row, of_row)
        return full


def _writeable(array: np.ndarray) -> np.ndarray:
    # Kernels are compiled for writeable C-contiguous arrays alone.
    return array if array.flags.writeable and array.flags.c_contiguous else np.array(array, order="C")


class Moments:
    """States of a run, one row an instant; columns are worked out when first asked for."""

    def __init__(self, replay: Replay, states: States):
        self._replay, self._states = replay, states

    def __len__(self) -> int:
        return len(self._states.clock)

    def __getitem__(self, rows: int | slice | list[int] | np.ndarray) -> Moments:
        """Some of the instants; a single number keeps one row."""
        if isinstance(rows, int | np.integer):
            rows = np.arange(len(self))[rows : rows + 1 or None]
        return Moments(self._replay, self._states.rows(rows))

    @property
    def clock(self) -> np.ndarray:
        """The run's own clock: t, log(1 + t) for losses with a tail, iterations of descent."""
        return self._states.clock

    @cached_property
    def t(self) -> np.ndarray:
        """Times; beyond 1e308 they read inf."""
        return self._replay.clock.times(self.clock)[0]

    @cached_property
    def log_t(self) -> np.ndarray:
        return self._replay.clock.times(self.clock)[1]

    @cached_property
    def _split(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self._replay.split(self._states.y)

    @property
    def q(self) -> np.ndarray:
        """Mantissas of w in the run's own coordinates, (rows, width, r): lengths and angles are those of `w`."""
        return self._split[0]

    @cached_property
    def w(self) -> np.ndarray:
        """Mantissas of w: true rows are w e^`log_scale`, (rows, width, dim)."""
        return self.expand(self.q)

    @property
    def a(self) -> np.ndarray:
        """Mantissas of a: true weights are a e^`log_scale`, (rows, width), or (rows, width, k) with k outputs."""
        return self._split[1]

    @property
    def log_scale(self) -> np.ndarray:
        """Log scale of the mantissas `w` and `a`, (rows, width)."""
        return self._split[2]

    @cached_property
    def log_norm(self) -> np.ndarray:
        """log |w_j|, (rows, width)."""
        with np.errstate(divide="ignore"):
            return self.log_scale + np.log(np.linalg.norm(self.q, axis=-1))

    @cached_property
    def _looked(self) -> tuple[np.ndarray, np.ndarray]:
        return self._replay.look(self._states)[:2]

    @property
    def outputs(self) -> np.ndarray:
        """f(x_i), (rows, n), or (rows, n, k) with k outputs."""
        return self._looked[0]

    @property
    def log_loss(self) -> np.ndarray:
        """log of the loss, (rows,)."""
        return self._looked[1]

    @cached_property
    def bits(self) -> np.ndarray:
        """s'(<w_j, x_i>), (rows, width, n): the slope or 1, or between while sliding."""
        outputs, log_loss, bits = self._replay.look(self._states, bits=True)
        self.__dict__.setdefault("_looked", (outputs, log_loss))  # found on the way
        return bits

    @cached_property
    def sliding(self) -> np.ndarray:
        """True where neuron j is sliding on datum i, (rows, width, n)."""
        return self._replay.sliding(self._states.code)

    @cached_property
    def active(self) -> np.ndarray:
        """True where `bits` are above the slope, (rows, width, n); of no meaning where a neuron slides."""
        if self._replay.units is None:
            return self.bits > self._replay.slope
        return self._replay.active(self._states.code)

    def expand(self, q: np.ndarray) -> np.ndarray:
        """Rows (..., width, r) in the run's own coordinates as rows (..., width, dim) in the data's."""
        return self._replay.expand(q)
