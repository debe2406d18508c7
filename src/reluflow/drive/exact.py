"""Gradient flow: the driver that runs the kernels in bursts and keeps what they return.

Bursts are short, so that Ctrl-C, limits and progress are seen at once; a run is a list of checkpoints from which any
moment is replayed, always to the same bits.
"""

from __future__ import annotations

import time as _time
from typing import NamedTuple

import numpy as np

from reluflow.engine import coupled, implicit, layout, rare, windows
from reluflow.engine.field import BLAS_ABOVE
from reluflow.engine.pack import pack
from reluflow.engine.tracer import Window
from reluflow.losses import LOSSES
from reluflow.methods import Flow
from reluflow.outcome import Outcome
from reluflow.problem import Problem

BURST_SECONDS = 0.04
# Squared sizes: a jump ends when a neuron's reaches ACTIVE (its neglected output then costs about 5 ACTIVE in
# time), and
# neurons below PASSIVE are the ones it moves.
ACTIVE = 1e-13
PASSIVE = 1e-10
DRIFT = 1e-9  # change of the outputs that resting neurons may make during one jump
WAYPOINTS = 24  # frames kept inside a jump
EXACT_MOST = 11_585  # data: their Gram matrix takes 1 GiB


class Machine:
    """Kernel arrays of one problem: the state, its scratch space, and the buffers a burst fills."""

    def __init__(self, problem: Problem, rtol: float, end: float, rest: float = 0.0):
        if problem.data.n > EXACT_MOST:
            raise ValueError(
                f"Exact events must have at most {EXACT_MOST} data, got {problem.data.n}: they keep the inner products "
                'of all pairs, 1 GiB at that number. Use `rf.Flow(rtol=1e-4, events="stepped")`, or fewer data.'
            )
        self.pk, self.coords, self.start = pack(problem)
        self.m, self.r = self.start.q.shape
        self.big, self.n = self.pk.e.shape[0], self.pk.alpha.size
        self.size = self.m * (self.r + 2) + 1
        self.st = layout.new_state(self.start, self.big)
        self.run = layout.record(layout.RUN)
        self.run.end, self.run.rtol, self.run.rest, self.run.nearest = end, rtol, rest, 1.0
        self.run.stride = 1
        self.run.passive = 0.5 * np.log(PASSIVE)
        self.tailed = problem.tailed
        top = self.top = float(np.max(np.abs(self.pk.alpha), initial=1e-300))
        label = 1.0 if problem.tailed else min(1.0, np.max(np.abs(self.pk.y), initial=0.0) or 1.0)
        self.c_stop = 0.5 * np.log(ACTIVE * label / max(top, 1.0))
        per_row = 8 * (self.size + self.m * self.big)
        self.rows = int(np.clip(4e6 / per_row, 8, 256))
        cells = self.m * self.big
        self.checkpoints = layout.Checkpoints(
            np.empty((self.rows, 2)), np.empty((self.rows, self.size)), np.empty((self.rows, cells), np.int64)
        )
        few = min(self.rows, 64)
        self.saved = layout.Frames(
            np.empty(0), np.empty(few), np.empty((few, self.size)), np.empty((few, cells), np.int64)
        )
        stiff = LOSSES[problem.loss].quadratic and problem.train == "both" and self.n <= implicit.MOST
        work = layout.new_work(self.m, self.r, self.big, self.n)
        self.scratch = layout.new_scratch(work, implicit.stiff(self.n if stiff else 0, self.size), self.size)
        self.mode: int | None = rare.START
        empty = np.empty((0, 0))
        self.stored = layout.Stored(np.empty(0), empty, np.empty((0, 0), np.int64), empty, np.empty(0), empty)
        self.span = layout.record(layout.SPAN)
        self.window: Window | None = None
        if problem.train == "both" and self.m * self.big * self.r > BLAS_ABOVE:
            self.window = windows.window(self.pk.gram, self.m, self.r, self.n, self.size)

    @property
    def work(self) -> layout.Work:
        return self.scratch.work

    def restore(self, clock: float, step: float, y: np.ndarray, code: np.ndarray):
        """Puts a checkpoint back."""
        self.st.y[:] = y
        self.st.code[:] = code.reshape(self.m, self.big)
        self.st.sign[:] = np.where(layout.parts(y, self.m)[1] >= 0, 1.0, -1.0)
        self.run.clock, self.run.step = clock, step
        self.mode = rare.RESTORE
        # What a replay gives must not depend on what was replayed before it.
        self.work.probe[:] = 1.0 / np.sqrt(max(self.n, 1))
        self.run.wait = self.run.origin = self.run.checked = self.run.patience = 0

    def look(self, clock: np.ndarray, y: np.ndarray, code: np.ndarray, bits: bool = False):
        """Outputs (rows, n), log loss (rows,) and, when asked for, surface bits (rows, m, S) of stored states."""
        rows = len(clock)
        f, logs = np.empty((rows, self.n)), np.empty(rows)
        out = np.empty((rows if bits else 0, self.m * self.big))
        self.stored = layout.Stored(clock, y, np.ascontiguousarray(code, dtype=np.int64), f, logs, out)
        self._rare(rare.LOOK)
        return f, logs, out.reshape(-1, self.m, self.big)

    def frames(self, wanted: np.ndarray):
        """States at ascending clock values, going on from the present state."""
        if self.window is not None:
            return self._frames_in_windows(wanted)
        self.saved = self.saved._replace(wanted=np.ascontiguousarray(wanted))
        self.run.next_frame = self.run.frames_used = 0
        self.run.stride = 2**62
        found = []
        while True:
            status = self.burst(4)  # few steps: a longer burst would run on past the last frame
            used = int(self.run.frames_used)
            found.append((self.saved.y[:used].copy(), self.saved.code[:used].astype(np.int8)))
            self.run.frames_used = self.run.log_used = self.run.checkpoints_used = 0
            if self.run.next_frame >= len(wanted):
                break
            if status == layout.QUIET:
                found += self._frames_in_jump(wanted)
                if self.run.next_frame >= len(wanted):
                    break
                continue
            if status not in (layout.RUNNING, layout.FLUSH):
                left = len(wanted) - int(self.run.next_frame)
                found.append(
                    (
                        np.repeat(self.st.y[None], left, 0),
                        np.repeat(self.st.code.reshape(1, -1), left, 0).astype(np.int8),
                    )
                )
                break
        return np.concatenate([y for y, _ in found]), np.concatenate([c for _, c in found])

    def _frames_in_windows(self, wanted: np.ndarray):
        """The same where stretches have no inside to look into: one run for each, all from the present state."""
        start = self.run.clock, self.run.step, self.st.y.copy(), self.st.code.reshape(-1).copy()
        end = self.run.end
        self.run.stride = 2**60
        y, code = np.empty((len(wanted), self.size)), np.empty((len(wanted), self.m * self.big), np.int8)
        for k, clock in enumerate(wanted):
            self.restore(*start)
            self.run.end = clock
            status = layout.RUNNING
            while status in (layout.RUNNING, layout.FLUSH, layout.QUIET):
                status = self.burst(8)
                self.run.log_used = self.run.checkpoints_used = 0
                if status == layout.QUIET:
                    t1 = self.horizon()
                    self.jump_to(t1)
                    if t1 <= self.span.t0:
                        self.run.wait = 50
            y[k], code[k] = self.st.y, self.st.code.reshape(-1)
        self.run.end = end
        return y, code

    def _frames_in_jump(self, wanted: np.ndarray) -> list:
        """The wanted frames inside the jump that starts now, and the jump itself."""
        t1 = self.horizon()
        clock_end = np.log1p(t1) if self.tailed else t1
        found = []
        start = self.run.clock, self.run.step, self.st.y.copy(), self.st.code.reshape(-1).copy()
        first = int(self.run.next_frame)
        for k in range(first, len(wanted)):
            if wanted[k] >= clock_end:
                break
            self.jump_to(self._time_of(wanted[k]))
            found.append((self.st.y[None].copy(), self.st.code.reshape(1, -1).astype(np.int8)))
            self.run.next_frame += 1
        if found and self.run.next_frame < len(wanted):
            # The jump itself is made in one go, as in the run.
            self.restore(*start)
            self.burst(0)
        self.jump_to(t1)
        if t1 <= self.span.t0:
            self.run.wait = 50
        return found

    def small(self) -> np.ndarray:
        """e^{2c} of the passive neurons, 0 for the others."""
        _, _, c, _ = layout.parts(self.st.y, self.m)
        return np.where((c < self.run.passive) & (self.st.dead == 0), np.exp(2.0 * np.minimum(c, 0.0)), 0.0)

    def time(self) -> float:
        return self._time_of(self.run.clock)

    def _time_of(self, clock: float) -> float:
        # Jumps happen early; times beyond float64 only ever bound them.
        return float(np.expm1(min(clock, 700.0)) if self.tailed else clock)

    def set_time(self, t: float, end: float):
        """Sets the clock to time t; exactly to `end` when t is the end."""
        clock = np.log1p(t) if self.tailed else t
        self.run.clock = min(clock, end)

    def horizon(self) -> float:
        """Until when the drive may be held constant: the first passive neuron that becomes active, the end, or
        drift."""
        t0, t_end = self.time(), self._time_of(self.run.end)
        speed = self.run.speed
        t_drift = t0 + DRIFT / speed if speed > 0.0 else np.inf
        self.span.t0, self.span.t1 = t0, min(t_end, t_drift)
        self.span.c_stop, self.span.c_passive = self.c_stop, self.run.passive
        return self._jump(-1)

    def jump_to(self, t: float) -> np.ndarray:
        """Moves the passive neurons to time t under the drive of the last `horizon`; returns the events, in order
        of time."""
        self.span.t0, self.span.t1 = self.time(), t
        rows = [np.empty((0, 5))]
        self.span.next = 0
        while self.span.next < self.m:
            before = int(self.span.next)
            self._jump(before)
            used = int(self.run.log_used)
            rows.append(self.work.log[:used].copy())
            self.run.log_used = 0
            if self.span.next == before and used == 0:
                longer = np.empty((2 * len(self.work.log), 5))
                self.scratch = self.scratch._replace(work=self.work._replace(log=longer))
        self.set_time(t, self.run.end)
        found = np.concatenate(rows)
        return found[np.argsort(found[:, 0], kind="stable")]

    def _jump(self, first: int) -> float:
        self.span.next = first
        return self._rare(rare.JUMP)

    def _rare(self, mode: int) -> float:
        return rare.handle(mode, self.pk, self.st, self.run, self.scratch, self.span, self.stored)

    def burst(self, budget: int) -> int:
        """Up to `budget` steps; returns a status of `layout`."""
        if self.mode is not None:
            self._rare(self.mode)
            self.mode = None
        while True:
            if self.window is not None:
                status = self._windows(budget)
                if status != windows.SHORT:
                    return status
                budget = 1
            status = coupled.burst(self.pk, self.st, self.run, self.scratch, budget, self.saved, self.checkpoints)
            if status != layout.ORIGIN:
                return status
            self._rare(rare.AT_ORIGIN)

    def _windows(self, budget: int) -> int:
        return windows.advance(self.pk, self.st, self.run, self.work, self.window, budget, self.checkpoints)


STATUS = {
    layout.REACHED: Outcome.REACHED,
    layout.STATIONARY: Outcome.STATIONARY,
    layout.STALLED: Outcome.STALLED,
    layout.NOT_FINITE: Outcome.NOT_FINITE,
    layout.STORM: Outcome.EVENT_LIMIT,
}


class Progress(NamedTuple):
    """Where a run is: the fraction done (None without an end time), log t, steps, events, seconds so far."""

    fraction: float | None
    log_t: float
    steps: int
    events: int
    seconds: float


class Tape:
    """Checkpoints and events of a run, checkpoints thinned to every 2nd, 4th, ... so that they fit in memory."""

    def __init__(self, limit: int):
        self.limit = limit
        self.clock: list[np.ndarray] = []
        self.y: list[np.ndarray] = []
        self.code: list[np.ndarray] = []
        self.events: list[np.ndarray] = []
        self.count = 0
        self.jumps = 0
        self.neglected = 0.0  # what the outputs may have moved while the drive was held constant, at most

    def take(self, machine: Machine):
        """Moves what a burst wrote into the tape."""
        used = int(machine.run.checkpoints_used)
        if used:
            clock, y, code = (a[:used].copy() for a in machine.checkpoints)
            self._keep(clock, y, code.astype(np.int8))
            while self.count > self.limit:
                self._thin(machine)
        if machine.run.log_used:
            self.events.append(machine.work.log[: machine.run.log_used].copy())
        machine.run.checkpoints_used = machine.run.log_used = 0

    def add_now(self, machine: Machine):
        """The present state as one more checkpoint."""
        row = np.array([[machine.run.clock, machine.run.step]])
        self._keep(row, machine.st.y[None].copy(), machine.st.code.reshape(1, -1).astype(np.int8))
        while self.count > self.limit:
            self._thin(machine)

    def add_last(self, machine: Machine):
        """The present state as the end of the run: the others are thinned to make room, it stays."""
        if self.count >= self.limit:
            self._thin(machine)
        self.add_now(machine)

    def one_an_instant(self):
        """Drops all but the last checkpoint of each instant: neurons of one direction may let go one after another
        within a rounding of the clock. The start stays."""
        clock, y, code = self.arrays()
        keep = np.r_[np.diff(clock[:, 0]) > 0.0, True]
        keep[0] = True
        if not np.all(keep):
            self.clock, self.y, self.code = [clock[keep]], [y[keep]], [code[keep]]
            self.count = int(np.count_nonzero(keep))

    def _keep(self, clock, y, code):
        self.clock.append(clock)
        self.y.append(y)
        self.code.append(code)
        self.count += len(clock)

    def _thin(self, machine: Machine):
        clock, y, code = self.arrays()
        # The start always stays; after it every 2nd, counted so that the newest is kept when it can be.
        keep = np.r_[0, np.arange(2, len(clock), 2)]
        self.clock, self.y, self.code = [clock[keep]], [y[keep]], [code[keep]]
        self.count = len(keep)
        # Ticks since the newest go on counting: where a burst ended, which is a matter of wall time, must not show.
        machine.run.tick += (len(clock) - 1) % 2 * machine.run.stride
        machine.run.stride = min(2 * int(machine.run.stride), 2**60)

    def arrays(self):
        """(clock and step, y, code), each joined."""
        if len(self.clock) > 1:
            self.clock, self.y, self.code = (
                [np.concatenate(self.clock)],
                [np.concatenate(self.y)],
                [np.concatenate(self.code)],
            )
        return self.clock[0], self.y[0], self.code[0]

    def all_events(self) -> np.ndarray:
        return np.concatenate(self.events) if self.events else np.empty((0, 5))


def run(problem: Problem, method: Flow, end: float, save, limits, progress):
    """Follows the flow until the clock reads `end`; returns the machine, its tape and the outcome."""
    began = _time.perf_counter()
    rest = 1e-14 if np.isfinite(end) else 1e-2 * method.rtol
    machine = Machine(problem, method.rtol, end, rest=rest)
    per_row = 8 * (machine.size + 2) + machine.m * machine.big
    tape = Tape(max(8, min(save.frames, save.bytes // per_row)))
    numbers = machine.run
    outcome = Outcome.INTERRUPTED
    told = began
    budget = 16 if machine.window is None else 1
    jumps = 0
    started = False
    try:
        while True:
            status = machine.burst(budget if started else 0)
            if not started:
                # The state at t = 0, bits resolved, is the first checkpoint.
                started = True
                tape.add_now(machine)
            tape.take(machine)
            now = _time.perf_counter()
            if status == layout.QUIET:
                jumps += 1
                outcome_of_jump = leap(machine, tape)
                if outcome_of_jump is not None:
                    outcome = outcome_of_jump
                    break
            if status in STATUS:
                outcome = STATUS[status]
                break
            if numbers.n_steps + numbers.n_rejected >= limits.steps:
                outcome = Outcome.STEP_LIMIT
                break
            if numbers.n_events >= limits.events:
                outcome = Outcome.EVENT_LIMIT
                break
            if limits.seconds is not None and now - began > limits.seconds:
                outcome = Outcome.TIME_LIMIT
                break
            per_step = max(now - began, 1e-9) / max(1, numbers.n_steps + numbers.n_rejected)
            budget = int(np.clip(BURST_SECONDS / per_step, 1, 100_000))
            budget = int(min(budget, limits.steps - numbers.n_steps - numbers.n_rejected))
            if progress is not None and now - told > 0.1:
                told = now
                progress(machine_progress(problem, machine, end, now - began))
    except KeyboardInterrupt:
        if not started:
            machine.burst(0)
            tape.add_now(machine)
        tape.take(machine)
    clock, _, _ = tape.arrays()
    if clock[-1, 0] != numbers.clock:
        tape.add_last(machine)
    tape.one_an_instant()
    tape.jumps = jumps
    return machine, tape, outcome, _time.perf_counter() - began


def leap(machine: Machine, tape: Tape) -> Outcome | None:
    """One jump over a phase in which the outputs stand still; an outcome if nothing would ever happen again."""
    t0, t1 = machine.time(), machine.horizon()
    if not np.isfinite(t1):
        return Outcome.STATIONARY
    if t1 <= t0 * (1 + 1e-15):
        # Nothing to gain: integrate for a while before trying again.
        machine.run.wait = 50
        return None
    # Frames where something is to be seen: early, when neurons turn, and evenly.
    inside = t0 + (t1 - t0) * np.union1d(
        np.geomspace(1e-6, 1.0, WAYPOINTS // 2), np.linspace(0.0, 1.0, WAYPOINTS // 2)[1:]
    )
    before = machine.small()
    for t in inside[:-1].tolist() + [t1]:
        rows = machine.jump_to(t)
        if len(rows):
            tape.events.append(rows)
        tape.add_now(machine)
    # |f - f_frozen| <= max |x| (sum of e^{2c} over the neurons that moved + what the others may drift).
    drift = machine.run.speed * (t1 - t0)
    tape.neglected += float(machine.top * (np.sum(np.maximum(before, machine.small())) + drift))
    return None


def machine_progress(problem: Problem, machine: Machine, end: float, seconds: float) -> Progress:
    clock = machine.run.clock
    with np.errstate(divide="ignore"):
        log_t = float(np.log(clock)) if not problem.tailed else float(clock + np.log(-np.expm1(-clock)))
    fraction = float(clock / end) if np.isfinite(end) else None
    return Progress(fraction, log_t, int(machine.run.n_steps), int(machine.run.n_events), seconds)
