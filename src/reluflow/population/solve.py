"""`rf.population.solve(problem, method, t1)`: the flow or descent on the population loss."""

from __future__ import annotations

import time as _time
from collections.abc import Callable

import numpy as np

from reluflow import _progress
from reluflow._checks import by_name, number, shown
from reluflow.drive.loop import Progress
from reluflow.methods import Descent, Flow, Limits, Save, as_bytes
from reluflow.outcome import Outcome, SolveError
from reluflow.population._descent import descend
from reluflow.population.driver import Count, Driver
from reluflow.population.problem import Problem
from reluflow.population.solution import Recording, Solution, Stats
from reluflow.population.state import Coordinates, State

NOISE = 10.0  # a loss below (NOISE rtol)^2 of the first counts as 0 where no end is given
BURST = 4096  # students times iterations between two looks at the clock


@by_name
def solve(
    problem: Problem,
    method: Flow | Descent | None = None,
    t1: float | None = None,
    *,
    log_t1: float | None = None,
    save: Save | None = None,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
    throw: bool = True,
) -> Solution:
    """Trains `problem` until t1 (or e^log_t1); with neither, the flow runs until it has converged.

    Ctrl-C returns what there is. An outcome that is neither reached, stationary nor interrupted raises `SolveError`,
    whose `.solution` holds the run; `throw=False` returns it instead.
    """
    method, save = method or Flow(), save or Save()
    if not isinstance(problem, Problem):
        raise TypeError(f"`problem` must be an rf.population.Problem, got {type(problem).__name__}.")
    if not isinstance(method, Flow | Descent):
        raise TypeError(f"`method` must be rf.Flow(...) or rf.Descent(step=...), got {shown(method)}.")
    coords = Coordinates(problem)
    end = _end(t1, log_t1, method) * coords.time_unit
    recording = Recording(max(8, min(save.frames, as_bytes(save.memory) // (8 * (coords.size + 2 * coords.m)))))
    with _progress.shown(progress, _progress.of_run) as told:
        tell = _Teller(end, coords.time_unit, limits or Limits(), told)
        if isinstance(method, Descent):
            outcome, count = _descent(coords, method, end, recording, tell)
        else:
            asked = [] if save.times is None else (np.array(save.times) * coords.time_unit).tolist()
            outcome, count = _flow(coords, method, end, recording, tell, asked)
    sol = Solution(problem, method, coords, recording, outcome, _stats(coords, method, recording, count, tell))
    if save.times is not None and recording.asked is None:
        sol = sol.resampled(save.times)
    if throw and not outcome.success and outcome is not Outcome.INTERRUPTED:
        raise SolveError(sol, at=sol.t_end_text)
    return sol


def _flow(coords: Coordinates, method: Flow, end: float, recording: Recording, tell: _Teller, asked: list[float]):
    driver = Driver(coords, coords.start(), method.rtol, end)
    recording.add(driver.state)
    noise = -1.0 if np.isfinite(end) else (NOISE * method.rtol) ** 2 * coords.loss(driver.state)

    def halt(state: State) -> Outcome | None:
        if noise > 0.0 and coords.loss(state) < noise:
            return Outcome.STATIONARY
        return tell(state.t, driver.count.steps)

    if asked:
        recording.asked = []
    try:
        outcome = driver.go(recording.add, asked, recording.show, halt)
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    recording.close(driver.state)
    return outcome, driver.count


def _descent(coords: Coordinates, method: Descent, end: float, recording: Recording, tell: _Teller):
    if method.batch is not None:
        raise ValueError(
            f"`batch` must be None on the population, got {method.batch}: its gradient is exact; for samples use "
            "rf.Problem with rf.data."
        )
    if not np.isfinite(end):
        raise ValueError("`t1` must be given for descent on the population, got None: iteration k is at t = k step.")
    state, eta = coords.start(), method.step * coords.time_unit
    iterations = round(end / eta)
    if iterations < 1:
        raise ValueError(f"`t1` must be at least one step, got {end / coords.time_unit:g} for step {method.step:g}.")
    recording.add(state)
    burst = max(1, min(BURST // coords.m, iterations // max(1, recording.limit) or 1))
    done, outcome = 0, Outcome.REACHED
    try:
        while done < iterations:
            count = min(burst, iterations - done)
            descend(state.y, state.tree, coords.source, coords.m, eta, count)
            done += count
            state.t = done * eta
            if not np.all(np.isfinite(state.y)):
                outcome = Outcome.NOT_FINITE
                break
            recording.add(state.copy())
            said = tell(state.t, done)
            if said is not None:
                outcome = said
                break
    except KeyboardInterrupt:
        outcome = Outcome.INTERRUPTED
    recording.close(state)
    return outcome, Count(steps=done, fields=done)


class _Teller:
    """Limits and progress of a run."""

    def __init__(self, end: float, unit: float, limits: Limits, progress):
        self.end, self.unit, self.limits, self.progress = end, unit, limits, progress
        self.began = self.told = _time.perf_counter()

    def __call__(self, t: float, steps: int) -> Outcome | None:
        now = _time.perf_counter()
        if steps >= self.limits.steps:
            return Outcome.STEP_LIMIT
        if self.limits.seconds is not None and now - self.began > self.limits.seconds:
            return Outcome.TIME_LIMIT
        if self.progress is not None and now - self.told > 0.1:
            self.told = now
            share = t / self.end if np.isfinite(self.end) else None
            self.progress(Progress(share, float(np.log(t / self.unit)), steps, 0, now - self.began))
        return None

    @property
    def seconds(self) -> float:
        return _time.perf_counter() - self.began


def _stats(coords: Coordinates, method, recording: Recording, count: Count, tell: _Teller) -> Stats:
    first, last = recording.states[0], recording.states[-1]
    before = coords.loss(first)
    spent = before - coords.loss(last) - (last.y[-1] - first.y[-1])
    return Stats(
        steps=count.steps,
        fields=count.fields,
        implicit=count.implicit,
        jumps=count.jumps,
        seconds=tell.seconds,
        rtol=getattr(method, "rtol", float("nan")),
        energy_error=abs(spent) / before if before > 0 else abs(spent),
    )


def _end(t1, log_t1, method) -> float:
    if t1 is not None and log_t1 is not None:
        raise ValueError(f"Give `t1` or `log_t1`, not both, got t1 = {t1} and log_t1 = {log_t1}.")
    if t1 is not None:
        hint = "time starts at 0; leave it out to run until the flow has converged"
        return number("t1", t1, rule="positive and finite", ok=lambda v: 0 < v < np.inf, hint=hint)
    if log_t1 is not None:
        hint = "it is the natural logarithm of the end time"
        return float(np.exp(number("log_t1", log_t1, rule="at most 600", ok=lambda v: v <= 600, hint=hint)))
    return np.inf
