"""The one verb: `solve(problem, method, t1=...)`."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from reluflow._checks import as_finite, by_name, number, shown, whole
from reluflow.clock import clock_for
from reluflow.drive.descent import run as run_descent
from reluflow.drive.exact import Progress
from reluflow.drive.exact import run as run_flow
from reluflow.drive.stepped import run as run_stepped
from reluflow.methods import Descent, Flow
from reluflow.outcome import Outcome, SolveError
from reluflow.problem import Problem
from reluflow.solution import Solution

_UNITS = {"": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9}


@by_name
@dataclass(frozen=True)
class Save:
    """What a Solution keeps: frames at `times`, or at most `frames` of the run's own steps, within `memory`."""

    times: tuple | None = None
    frames: int = 1000
    memory: str = "64 MiB"

    def __post_init__(self):
        whole("frames", self.frames, least=2, hint="the first and the last frame are always kept")
        if self.times is not None:
            times = np.atleast_1d(as_finite("times", self.times, hint="give times in increasing order"))
            if times.ndim != 1 or np.any(np.diff(times) <= 0) or np.any(times < 0):
                raise ValueError("`times` must be increasing and >= 0, got others: sort them and drop repeats.")
            object.__setattr__(self, "times", tuple(times.tolist()))
        self.bytes  # noqa: B018  (validates `memory`)

    @property
    def bytes(self) -> int:
        found = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", str(self.memory))
        if not found or found[2].lower() not in _UNITS:
            raise ValueError(f'`memory` must be a size, got {self.memory!r}: write it like "64 MiB".')
        return int(float(found[1]) * _UNITS[found[2].lower()])


@by_name
@dataclass(frozen=True)
class Limits:
    """When to give up: steps (tried ones), events, seconds of wall time (None: no limit)."""

    steps: int = 5_000_000
    events: int = 1_000_000
    seconds: float | None = None

    def __post_init__(self):
        whole("steps", self.steps, least=1, hint="leave it out for the default")
        whole("events", self.events, least=1, hint="leave it out for the default")
        if self.seconds is not None:
            number("seconds", self.seconds, rule="positive", ok=lambda v: v > 0, hint="leave it out for no limit")


@by_name
def solve(
    problem: Problem,
    method: Flow | Descent | None = None,
    t1: float | None = None,
    *,
    log_t1: float | None = None,
    save: Save | None = None,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
    throw: bool = True,
) -> Solution:
    """Trains `problem` by `method` until t1 (or e^log_t1), or, with neither, until nothing moves any more.

    `progress` is called with a `Progress` about ten times a second. Ctrl-C returns what there is, whole up to then; a
    second one ends at once, with nothing. An outcome that is neither reached, stationary nor interrupted raises
    `SolveError`, whose `.solution` holds the run; `throw=False` returns it instead.
    """
    method, save = method or Flow(), save or Save()
    if not isinstance(problem, Problem):
        raise TypeError(f"`problem` must be an rf.Problem, got {type(problem).__name__}.")
    if not isinstance(method, Flow | Descent):
        way_out = f": a time is `t1={method}`." if isinstance(method, int | float) else "."
        raise TypeError(f"`method` must be rf.Flow(...) or rf.Descent(step=...), got {shown(method)}{way_out}")
    end = end_clock(problem, t1, log_t1, method)
    with _held(progress) as (tell, pressed):
        if isinstance(method, Descent):
            # The iterations asked for by t1 are no surprise, so only limits given by the caller bound them.
            limits = limits or Limits(steps=10**15)
            *kept, outcome, seconds = run_descent(problem, method, end, save, limits, tell)
            sol = Solution.from_descent(problem, method, kept, outcome, seconds, save.times)
        else:
            run = run_stepped if method.events == "stepped" else run_flow
            machine, tape, outcome, seconds = run(problem, method, end, save, limits or Limits(), tell)
            sol = Solution.from_flow(problem, method, machine, tape, outcome, seconds, save.times)
    if len(pressed) > (outcome is Outcome.INTERRUPTED) or (outcome is Outcome.INTERRUPTED and _whole_runs.get()):
        raise KeyboardInterrupt
    if throw and not outcome.success and outcome is not Outcome.INTERRUPTED:
        raise SolveError(sol)
    return sol


_whole_runs: ContextVar[bool] = ContextVar("whole_runs", default=False)


@contextmanager
def whole_runs():
    """Inside, Ctrl-C in a solve goes on to the caller: for whoever draws conclusions from runs of their own."""
    token = _whole_runs.set(True)
    try:
        yield
    finally:
        _whole_runs.reset(token)


@contextmanager
def _held(progress: Callable[[Progress], None] | None):
    """Yields a callback for runs, and the list of Ctrl-C so far.

    The first Ctrl-C waits until the run tells its progress: only there is nothing half done. It cuts short no other
    moment, so one that comes too late is raised by `solve` in the end, and a second one is raised at once. Other
    threads get no signals, and whoever has a handler of their own keeps it.
    """
    pressed: list[int] = []

    def note(number, frame):
        pressed.append(number)
        if len(pressed) > 1:
            raise KeyboardInterrupt

    def tell(now):
        if pressed:
            raise KeyboardInterrupt
        if progress is not None:
            progress(now)

    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield progress, pressed
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield tell, pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def end_clock(problem: Problem, t1, log_t1, method: Flow | Descent | None = None) -> float:
    """The clock value at which to stop, from t1 or log_t1."""
    clock = clock_for(problem, method)
    if t1 is not None and log_t1 is not None:
        raise ValueError(f"Give `t1` or `log_t1`, not both, got t1 = {t1} and log_t1 = {log_t1}.")
    if t1 is not None:
        t1 = number(
            "t1",
            t1,
            rule="positive and finite",
            ok=lambda v: 0 < v < np.inf,
            hint="time starts at 0; beyond 1e308 use `log_t1`",
        )
        return _some(method, t1, float(clock.of(t1)))
    if log_t1 is not None:
        log_t1 = number(
            "log_t1", log_t1, rule="finite", ok=np.isfinite, hint="it is the natural logarithm of the end time"
        )
        if isinstance(method, Descent):
            if log_t1 - np.log(method.step) > 36:
                raise ValueError(
                    f"`log_t1` must be below log(step) + 36 for descent, got {log_t1:g}: iterations are counted in "
                    "whole numbers; try `rf.Flow()`."
                )
            return _some(method, np.exp(log_t1), float(clock.of_log(log_t1)))
        if problem.tailed:
            return float(clock.of_log(log_t1))
        if log_t1 > 700:
            raise ValueError(
                f"`log_t1` must be <= 700 for the {problem.loss} loss, got {log_t1:g}: it ends in finite time to "
                "rounding, so leave both `t1` and `log_t1` out to run until nothing moves."
            )
        return float(np.exp(log_t1))
    if problem.tailed:
        raise ValueError(
            f"`t1` must be given for the {problem.loss} loss, got None: its tail never ends. "
            "Give `t1` or `log_t1`, e.g. `log_t1=230` for 1e100."
        )
    if isinstance(method, Descent) and method.batch is not None:
        raise ValueError(
            "`t1` must be given for mini-batches, got None: single batches never all come to rest. Give `t1`."
        )
    return np.inf


def _some(method, t1: float, iterations: float) -> float:
    """At least one iteration."""
    if isinstance(method, Descent) and iterations < 1:
        raise ValueError(
            f"`t1` must be at least one step, got {t1:g} for step {method.step:g}: iteration k is at t = k step."
        )
    return iterations
