"""The loop that every run goes through: limits, progress, Ctrl-C and other requests to stop.

A driver advances in bursts, so that all of these are looked at about 25 times a second; where bursts end never shows in
what a run keeps or counts.
"""

import signal
import threading
import time as _time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np

from reluflow.drive import compile
from reluflow.drive.estimate import Left
from reluflow.drive.recorder import Costs, Tape
from reluflow.methods import Limits, Save, as_bytes
from reluflow.outcome import Outcome

BURST_SECONDS = 0.04
TELL_SECONDS = 0.1
KEEP_SECONDS = 600.0  # between two writings of a long run to disk
MOST = 1_000_000  # steps in one burst
STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU") if hasattr(signal, name))


class Progress(NamedTuple):
    """Where a run is: the fraction done (None without an end time), log t, steps, events, seconds so far and, where
    that can be estimated, seconds left."""

    fraction: float | None
    log_t: float
    steps: int
    events: int
    seconds: float
    left: float | None = None


class Done(NamedTuple):
    """How far a run is."""

    steps: int
    tried: int  # steps, those that were not kept included
    events: int
    work: int  # in the units of a burst's budget
    bounded: bool = True  # whether `Limits(events=...)` ends the run


class Driver(Protocol):
    """One method on one problem: the interface that the loop, a Replay and the store use."""

    m: int  # neurons
    r: int  # coordinates of a neuron
    n: int  # data that are not zero
    big: int  # surfaces
    packed: Any  # the problem as kernels read it: e, surf, alpha, y, slope
    coords: Any  # the way back to the data's coordinates: expand, kept, n
    start: Any  # the state at t = 0: q, b, c
    first: int  # how long the first burst is
    row_bytes: int  # what one checkpoint takes

    def begin(self, tape: Tape, save: Save, limits: Limits) -> Outcome | None:
        """Prepares a run and records the state at t = 0."""

    def advance(self, budget: int, tape: Tape) -> Outcome | None:
        """Goes on for about `budget` steps and records what there is; an outcome when the run is over."""

    def finish(self, tape: Tape, outcome: Outcome) -> None:
        """Records the last state, wherever the run stopped."""

    def done(self) -> Done:
        """How far it is."""

    def progress(self) -> tuple[float | None, float]:
        """The fraction done, None without an end, and log t."""

    def costs(self) -> Costs:
        """What the run took."""

    def restore(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        """Puts a checkpoint back, to the last bit."""

    def frames(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(y, code) at ascending clock values, going on from the checkpoint put back last."""

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q (..., m, r), b (..., m) and c (..., m) of states, in the user's units."""

    def energy(self, y: np.ndarray) -> np.ndarray:
        """The energy dissipated, in the user's units."""

    def look(
        self, clock: np.ndarray, y: np.ndarray, code: np.ndarray, bits: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs (rows, n), log loss (rows,) and, when asked for, bits of surfaces (rows, m, S) of states."""

    def stored(self, resume: np.ndarray) -> dict[str, np.ndarray]:
        """What a file needs beside the states to take a run up again."""


class Run(NamedTuple):
    """A run that has ended, and what it took."""

    driver: Driver
    tape: Tape
    outcome: Outcome
    seconds: float
    costs: Costs


class Start(NamedTuple):
    """A state to go on from, as `Driver.restore` takes it."""

    clock: float
    resume: float
    y: np.ndarray
    code: np.ndarray


class Extra(NamedTuple):
    """What a run may be given beside its end."""

    start: Start | None = None  # not t = 0: what was before is not recorded again
    keep: Callable[[Run], None] | None = None  # called every KEEP_SECONDS with the run so far


NOTHING = Extra()


class Stops:
    """Requests to stop that came while a run was at work."""

    def __init__(self) -> None:
        self.count = 0

    def note(self, number: int, frame: object) -> None:
        """A signal handler. The first request waits for the end of a burst; the second is raised at once, and so is one
        that comes while kernels are compiled, which can take half a minute."""
        self.count += 1
        if self.count > 1 or compile.underway():
            raise KeyboardInterrupt


@contextmanager
def stops() -> Iterator[Stops]:
    """Ctrl-C, SIGTERM, SIGHUP and SIGXCPU counted instead of obeyed, in the main thread.

    Other threads get no signals, and a handler of the caller's own is left in place.
    """
    found = Stops()
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in STOPS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, found.note)
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(
    driver: Driver,
    save: Save,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    stop: Stops,
    extra: Extra = NOTHING,
) -> Run:
    """Advances `driver` until it is over or a limit is met. Compiling kernels takes none of its time."""
    before = compile.spent()
    clock = lambda: _time.perf_counter() - (compile.spent() - before)
    began = told = kept = clock()
    tape = Tape(max(8, min(save.frames, as_bytes(save.memory) // driver.row_bytes)))
    outcome: Outcome | None = Outcome.INTERRUPTED
    ahead, underway = Left(), getattr(driver, "underway", None)
    try:
        budget = driver.first
        outcome = driver.begin(tape if extra.start is None else Tape(8), save, limits)
        if extra.start is not None:
            # `restore` may be lazy, but a run that continues needs its state now.
            getattr(driver, "take_up", driver.restore)(*extra.start)
            outcome = None
        while outcome is None:
            outcome = driver.advance(max(1, min(budget, limits.steps - driver.done().tried)), tape)
            now, done = clock(), driver.done()
            if outcome is None:
                outcome = _limited(done, limits, now - began, stop)
            if outcome is None and progress is not None and now - told > TELL_SECONDS:
                told = now
                fraction, log_t = driver.progress()
                left = ahead.left(now - began, fraction, *([] if underway is None else [underway()]))
                progress(Progress(fraction, log_t, done.steps, done.events, now - began, left))
            if outcome is None and extra.keep is not None and now - kept > KEEP_SECONDS and tape.marks:
                extra.keep(Run(driver, tape, Outcome.INTERRUPTED, now - began, driver.costs()))
                kept = clock()
            budget = max(1, int(min(BURST_SECONDS / max(now - began, 1e-9) * max(1, done.work), MOST)))
    except KeyboardInterrupt:
        if not tape.marks and extra.start is None:
            raise  # while kernels were compiled: nothing is known but the start
        outcome = Outcome.INTERRUPTED
    driver.finish(tape, outcome)
    return Run(driver, tape, outcome, clock() - began, driver.costs())


def _limited(done: Done, limits: Limits, seconds: float, stop: Stops) -> Outcome | None:
    if stop.count:
        return Outcome.INTERRUPTED
    if done.tried >= limits.steps:
        return Outcome.STEP_LIMIT
    if done.bounded and done.events >= limits.events:
        return Outcome.EVENT_LIMIT
    if limits.seconds is not None and seconds > limits.seconds:
        return Outcome.TIME_LIMIT
    return None
