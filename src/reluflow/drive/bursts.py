"""What exact flows with one output (`drive.exact`) and with several (`drive.vector`) have in common as drivers: the
clock, the checkpoints that bursts write, the frames replayed from them, and counts.

A run is a list of checkpoints from which any moment is replayed, always to the same bits.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from reluflow.drive import stretches
from reluflow.drive.loop import Done
from reluflow.drive.recorder import Costs, States, Tape
from reluflow.engine import layout, rare
from reluflow.engine.pack import Coordinates, Units
from reluflow.engine.windows import Limits
from reluflow.outcome import Outcome

STATUS = {
    layout.REACHED: Outcome.REACHED,
    layout.STATIONARY: Outcome.STATIONARY,
    layout.STALLED: Outcome.STALLED,
    layout.NOT_FINITE: Outcome.NOT_FINITE,
    layout.STORM: Outcome.STORM,
    layout.CANCELLED: Outcome.CANCELLED,
}
AHEAD = 8  # steps that a replay may take past the last moment it is asked for


def progress_of(clock: float, end: float, tailed: bool) -> tuple[float | None, float]:
    """The fraction done, None without an end, and log t."""
    with np.errstate(divide="ignore"):
        log_t = float(clock + np.log(-np.expm1(-clock))) if tailed else float(np.log(clock))
    return (float(clock / end) if np.isfinite(end) else None), log_t


def stored_flow(coords: Coordinates, end: float, rest: float) -> dict[str, np.ndarray]:
    """What a file needs to take a flow up again."""
    found = {
        "control/end": np.array([end, rest]),
        "coordinates/basis": coords.basis,
        "coordinates/kept": coords.kept,
    }
    return found if coords.perp is None else found | {"coordinates/perp": coords.perp}


def room_for(size: int, cells: int) -> tuple[layout.Checkpoints, layout.Frames]:
    """Buffers of a burst, for states of `size` numbers and so many codes."""
    rows = int(np.clip(4e6 / (8 * (size + cells)), 8, 256))
    few = min(rows, 64)
    states = lambda count: (np.empty((count, size)), np.empty((count, cells), np.int64))
    checkpoints = layout.Checkpoints(np.empty((rows, 2)), *states(rows))
    return checkpoints, layout.Frames(np.empty(0), np.empty(few), *states(few))


class Bursts(ABC):
    """A flow that advances in bursts, which are short, so that Ctrl-C, limits and progress are seen at once."""

    made_of: tuple  # arguments of the constructor
    units: Units
    coords: Coordinates
    state: Any
    run: Any  # a `layout.RUN`
    scratch: Any
    checkpoints: layout.Checkpoints
    saved: layout.Frames
    looked: layout.Stored
    m: int
    big: int  # surfaces
    tailed: bool
    mode: int | None  # what `rare` has to do before the next burst
    jumps: int
    neglected: float  # what the outputs may have moved while the drive was held constant, at most
    _window: Any

    def __reduce__(self) -> tuple:
        # A copy is at t = 0: a checkpoint is restored before a state is read from it.
        return type(self), self.made_of

    @property
    def work(self) -> Any:
        return self.scratch.work

    @abstractmethod
    def burst(self, budget: int) -> int:
        """Up to `budget` steps; returns a status of `layout`."""

    @abstractmethod
    def _advance(self, limits: Limits) -> int:
        """Stretches of all neurons; a status of `layout`."""

    @abstractmethod
    def _rare(self, mode: int) -> Any:
        """What `rare` does in this mode."""

    @abstractmethod
    def _leap(self, tape: Tape) -> Outcome | None:
        """One jump over a phase in which the outputs stand still; an outcome if nothing would ever happen again."""

    @abstractmethod
    def _frames_in_jump(self, wanted: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The wanted frames inside the jump that starts now, and the jump itself."""

    @abstractmethod
    def _put(self, y: np.ndarray, code: np.ndarray) -> None:
        """Takes over the numbers and the codes of a stored state."""

    # A run ----------------------------------------------------------------------------------------------------------

    def done(self) -> Done:
        steps, tried = int(self.run.n_steps), int(self.run.n_steps + self.run.n_rejected)
        return Done(steps, tried, int(self.run.n_events), tried)

    def progress(self) -> tuple[float | None, float]:
        fraction, log_t = progress_of(self.run.clock, self.run.end, self.tailed)
        return fraction, log_t - self.units.log_time

    def costs(self) -> Costs:
        run = self.run
        regimes = {
            "coupled": int(run.n_steps - run.n_windows),
            "stiff": int(run.n_stiff),
            "windows": int(run.n_windows),
            "jumps": self.jumps,
            "jump_events": int(run.n_jump_events),
            "neglected": self.neglected,
            **self._more_costs(),
        }
        place = (float(run.nearest_clock), int(run.nearest_neuron), int(run.nearest_surface))
        nearest = float(run.nearest)
        found = Costs(int(run.n_steps), int(run.n_rejected), int(run.n_fields), nearest, regimes)
        return found._replace(place=place) if nearest < 1.0 else found

    def _more_costs(self) -> dict[str, int]:
        return {}

    def stored(self, resume: np.ndarray) -> dict[str, np.ndarray]:
        """The reduced coordinates, and the end and rest that steps were clipped by."""
        found = stored_flow(self.coords, self.run.end, self.run.rest)
        return found | {"control/units": np.array([self.units.x0, self.units.y0, self.units.b0])}

    def _recorded(self, status: int, tape: Tape) -> Outcome | None:
        if status == layout.PAUSED:
            return None
        self._write(tape)
        return self._leap(tape) if status == layout.QUIET else STATUS.get(status)

    def _write(self, tape: Tape) -> None:
        """Moves what a burst wrote to the tape."""
        used = int(self.run.checkpoints_used)
        if used:
            clock, y, code = (a[:used].copy() for a in self.checkpoints)
            tape.keep(States(clock[:, 0].copy(), y, code.astype(np.int8)), clock[:, 1].copy(), self._thinned)
        if self.run.log_used:
            rows = self.work.log[: self.run.log_used]
            # Stretches list the events of one neuron after those of another.
            tape.events.append(rows[np.argsort(rows[:, 0], kind="stable")])
        self.run.checkpoints_used = self.run.log_used = 0

    def _add_now(self, tape: Tape, last: bool = False) -> None:
        """The present state as one more checkpoint."""
        clock, _, y, code = self._kept()
        self._add(tape, States(np.array([clock]), y[None], code[None].astype(np.int8)), last)

    def _add(self, tape: Tape, states: States, last: bool = False) -> None:
        """States that the next step goes on from, which has the same length from all of them."""
        count = len(states.clock)
        resume = np.full(count, self._resume())
        if tape.count + count <= tape.limit:
            tape.keep(states, resume, self._thinned, last)
            return
        for k in range(count):
            tape.keep(states.rows(slice(k, k + 1)), resume[:1], self._thinned, last)

    def _thinned(self, newest_dropped: bool, newest: float) -> None:
        # Ticks since the newest go on counting: where a burst ended, which is a matter of wall time, must not show.
        self.run.tick += newest_dropped * self.run.stride
        self.run.stride = min(2 * int(self.run.stride), 2**60)

    def _close(self, tape: Tape) -> None:
        """What the tape still lacks at the end."""
        if self._window is not None:
            self._advance(Limits(0, 0))  # a stretch that has begun is left
        if not tape.marks:
            self.burst(0)
            self._add_now(tape)
        self._write(tape)
        if tape.checkpoints()[0].clock[-1] != self.run.clock:
            self._add_now(tape, last=True)
        # Neurons of one direction may let go one after another within a rounding of the clock: one checkpoint an
        # instant, the last; the start stays.
        clock = tape.checkpoints()[0].clock
        keep = np.ones(len(clock), bool)
        keep[1:-1] = clock[2:] > clock[1:-1]
        if not keep.all():
            tape.select(np.flatnonzero(keep))

    # Any moment -----------------------------------------------------------------------------------------------------

    def time(self) -> float:
        """The time of the present state, in the units of the run."""
        return self._time_of(float(self.run.clock))

    def _time_of(self, clock: float) -> float:
        # Jumps happen early; times beyond float64 only ever bound them.
        return float(np.expm1(min(clock, 700.0)) if self.tailed else clock)

    def set_time(self, t: float) -> None:
        """Sets the clock to time t, at most to the end."""
        self.run.clock = min(np.log1p(t) if self.tailed else t, self.run.end)
        # Events of a jump say nothing about those of steps.
        self.run.since_clock, self.run.since_events, self.run.since_steps = self.run.clock, self.run.n_events, 0

    def restore(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        """Puts a checkpoint back."""
        if self.mode == rare.START:
            # Of a run read from a file: errors of the energy are relative to the loss at the start.
            begun = type(self)(*self.made_of)
            begun._rare(rare.START)
            self.run.loss0 = begun.run.loss0
        self._put(y, code)
        self.run.clock, self.run.step = clock, abs(resume)
        self.run.regime = layout.COUPLED if resume > 0.0 else layout.WINDOWS
        self.mode = rare.RESTORE
        if self._window is not None:
            self._window.stretch.open = 0
        # What a replay gives must not depend on what was replayed before it.
        self.work.probe[:] = 1.0 / np.sqrt(max(self.work.probe.size, 1))
        self.run.wait = self.run.origin = self.run.checked = self.run.patience = self.run.pending = 0

    def look(
        self, clock: np.ndarray, y: np.ndarray, code: np.ndarray, bits: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs (rows, n) or (rows, n, k), log loss (rows,) and, when asked for, surface bits (rows, m, S) of stored
        states."""
        rows = len(clock)
        f, logs = np.empty((rows, *self.work.f.shape)), np.empty(rows)
        out = np.empty((rows if bits else 0, self.m * self.big))
        self.looked = layout.Stored(clock, y, np.ascontiguousarray(code, dtype=np.int64), f, logs, out)
        self._rare(rare.LOOK)
        if self.units.y0 != 1.0:
            f *= self.units.y0
            logs += 2.0 * np.log(self.units.y0)
        return f, logs, out.reshape(len(out), self.m, self.big)

    def energy(self, y: np.ndarray) -> np.ndarray:
        """The energy dissipated, in the user's units."""
        return y[..., -1] * self.units.y0 * self.units.y0

    def frames(self, wanted: np.ndarray, ahead: int = AHEAD) -> tuple[np.ndarray, np.ndarray]:
        """States at ascending clock values, going on from the present state, at most `ahead` steps past the last."""
        self.run.free = 0
        if self.run.regime == layout.WINDOWS:
            return stretches.frames(self, wanted)
        self.saved = self.saved._replace(wanted=np.ascontiguousarray(wanted))
        self.run.next_frame = self.run.frames_used = 0
        self.run.stride = 2**62
        found, budget = [], 1  # most replays go no further than to the next checkpoint, one step away
        while True:
            status = self.burst(budget)
            budget = min(2 * budget, ahead)
            used = int(self.run.frames_used)
            found.append((self.saved.y[:used].copy(), self.saved.code[:used].astype(np.int8)))
            self.run.frames_used = self.run.log_used = self.run.checkpoints_used = 0
            if self.run.next_frame >= len(wanted):
                break
            if status == layout.QUIET:
                found += self._frames_in_jump(wanted)
                if self.run.next_frame >= len(wanted):
                    break
            elif status not in (layout.RUNNING, layout.FLUSH):
                _, _, y, code = self._kept()
                left = len(wanted) - int(self.run.next_frame)
                found.append((np.repeat(y[None], left, 0), np.repeat(code[None], left, 0).astype(np.int8)))
                break
        return np.concatenate([y for y, _ in found]), np.concatenate([c for _, c in found])

    def _kept(self) -> tuple[float, float, np.ndarray, np.ndarray]:
        """The present state as `restore` takes it: the length of the next step has the regime as its sign, negative for
        stretches."""
        return float(self.run.clock), self._resume(), self.state.y.copy(), self.state.code[: self.m].reshape(-1).copy()

    def _resume(self) -> float:
        return float(self.run.step if self.run.regime == layout.COUPLED else -self.run.step)
