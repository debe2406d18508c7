"""The one verb: `solve(problem, method, t1=...)`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from reluflow import _progress
from reluflow._checks import by_name, number, one_output, shown
from reluflow.clock import clock_for
from reluflow.drive import driver_for, loop
from reluflow.drive.loop import Progress
from reluflow.losses import TABLE
from reluflow.methods import DecayLimit, Descent, Flow, Limits, Method, Save, SteppedFlow
from reluflow.outcome import Outcome, SolveError
from reluflow.problem import Problem
from reluflow.solution import Solution, recorded, stop_text

FLOW, SAVE, LIMITS, UNBOUNDED = Flow(), Save(), Limits(), Limits(steps=10**15)  # what left-out arguments mean


@by_name
def solve(
    problem: Problem,
    method: Method | None = None,
    t1: float | None = None,
    *,
    log_t1: float | None = None,
    save: Save | None = None,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
    throw: bool = True,
) -> Solution:
    """Trains `problem` by `method` until t1 (or e^log_t1), or, with neither, until convergence.

    `progress=True` shows a bar in a terminal or a notebook, `progress=False` none; left out, one appears after two
    seconds in interactive use. A function given as `progress` is called with a `Progress` about ten times a second
    instead. Ctrl-C (also SIGTERM, SIGHUP, SIGXCPU) returns the part computed so far; a second one, or one before the
    start, while kernels are compiled, raises KeyboardInterrupt immediately. An outcome that is neither reached,
    stationary nor interrupted raises `SolveError`, whose `.solution` holds the run; `throw=False` returns it instead.
    """
    method, save = method_for(problem, method or FLOW), save or SAVE
    end = end_clock(problem, t1, log_t1, method)
    # t1 determines the iterations of a descent, so only limits given by the caller bound them.
    limits = limits or (UNBOUNDED if isinstance(method, Descent) else LIMITS)
    with loop.stops() as stop:
        with _progress.shown(progress, _progress.of_run) as tell:
            # The explorer's limits are not records: reading them checks whether the page still needs the run.
            bounds = (
                vars(limits).copy() if isinstance(limits, Limits) else {"steps": limits.steps, "events": limits.events}
            )
            kept = {key: value for key, value in vars(save).items() if key != "to"}
            call = {"t1": t1, "log_t1": log_t1, "save": kept, "limits": bounds}
            to = _keeping.get() if save.to is None else save.to
            extra = loop.Extra(keep=None if to is None else lambda run: _keep(problem, method, run, to, call))
            run = loop.run(driver_for(problem, method, end), save, limits, tell, stop, extra)
        sol = recorded(problem, method, run, save.times)
    sol.call = call
    if save.to is not None:
        from reluflow.store import replace_run

        replace_run(sol, save.to)
    outcome = run.outcome
    # A request to stop that came too late to cut the run short still counts.
    if stop.count > (outcome is Outcome.INTERRUPTED) or (outcome is Outcome.INTERRUPTED and _whole_runs.get()):
        raise KeyboardInterrupt
    if throw and not outcome.success and outcome is not Outcome.INTERRUPTED:
        raise SolveError(sol, stop_text(sol))
    return sol


def _keep(problem: Problem, method: Method, run: loop.Run, to: str | Path, call: dict) -> None:
    """Writes what there is of a run that is not over."""
    from reluflow.store import replace_run

    # A driver of its own: looking at states must not disturb the one that is at work.
    sol = recorded(problem, method, run._replace(driver=copy.copy(run.driver)), None)
    sol.call = call
    replace_run(sol, to)


def method_for(problem: Problem, method: Method) -> Method:
    """The method, or one sentence where it is none or does not cover the problem."""
    if not isinstance(problem, Problem):
        raise TypeError(f"`problem` must be an rf.Problem, got {type(problem).__name__}.")
    if not isinstance(method, Method):
        way_out = f": a time is `t1={method}`." if isinstance(method, int | float) else "."
        raise TypeError(f"`method` must be rf.Flow(...) or rf.Descent(step=...), got {shown(method)}{way_out}")
    if isinstance(method, Flow) and method.events == "stepped":
        method = SteppedFlow(method.rtol)
    if isinstance(method, DecayLimit):
        _fits_the_limit(problem)
    if problem.outputs > 1 and problem.train == "first" and not isinstance(method, Descent):
        raise ValueError(
            f'`train` must be "both" for a flow with several outputs ({problem.outputs} here), got "first": use '
            "`rf.Descent(step=...)`."
        )
    return method


def _fits_the_limit(problem: Problem) -> None:
    """Refuses what `rf.DecayLimit` does not cover."""
    one_output(problem, "`rf.DecayLimit`", "solve with a small `decay`")
    if problem.tailed and problem.train == "first":
        raise ValueError(
            f'`rf.DecayLimit` with the {problem.loss} loss needs `train="both"`, got "first": outputs must grow like '
            "the square of the weights. Solve with a small `decay`."
        )
    if not (problem.tailed or TABLE[problem.loss].quadratic):
        raise ValueError(
            f'`rf.DecayLimit` needs `loss="square"` or a loss with an exponential tail, got "{problem.loss}": solve '
            "with a small `decay`."
        )
    if problem.decay > 0.0:
        raise ValueError(
            f"`rf.DecayLimit` needs `decay=0`, got {problem.decay:g}: it is the limit decay -> 0, in tau = decay t."
        )


_keeping: ContextVar[Path | None] = ContextVar("keeping", default=None)


@contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """Inside, what there is of a long solve is written to `folder` every ten minutes, but not at its end."""
    token = _keeping.set(folder)
    try:
        yield
    finally:
        _keeping.reset(token)


_whole_runs: ContextVar[bool] = ContextVar("whole_runs", default=False)


@contextmanager
def whole_runs() -> Iterator[None]:
    """Inside, Ctrl-C during a solve raises KeyboardInterrupt: for callers that need complete runs."""
    token = _whole_runs.set(True)
    try:
        yield
    finally:
        _whole_runs.reset(token)


def end_clock(problem: Problem, t1: float | None, log_t1: float | None, method: Method | None = None) -> float:
    """The clock value at which to stop, from t1 or log_t1."""
    clock = clock_for(problem, method)
    if isinstance(method, Descent) and method.step * problem.decay >= 1.0:
        raise ValueError(
            f"`step` times `decay` must be below 1, got {method.step:g} * {problem.decay:g}: weights would change sign "
            "at every iteration; take a smaller `step`."
        )
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
        if problem.endless:
            return float(clock.of_log(log_t1))
        if log_t1 > 700:
            raise ValueError(
                f"`log_t1` must be <= 700 for the {problem.loss} loss, got {log_t1:g}: it converges in finite time to "
                "rounding, so omit both `t1` and `log_t1` to run until convergence."
            )
        return float(clock.of_log(log_t1))
    if problem.endless and not isinstance(method, DecayLimit):
        raise ValueError(
            f"`t1` must be given for the {problem.loss} loss, got None: its exponential tail never converges. "
            "Give `t1` or `log_t1`, e.g. `log_t1=230` for 1e100; with `decay` > 0 it converges."
        )
    if isinstance(method, SteppedFlow):
        raise ValueError(
            "`t1` must be given with `rf.SteppedFlow`, got None: sliding neurons keep switching. Give `t1` or `log_t1`."
        )
    if isinstance(method, Descent) and method.batch is not None:
        raise ValueError(
            "`t1` must be given for mini-batches, got None: mini-batch descent does not converge. Give `t1`."
        )
    return np.inf


def _some(method: Method | None, t1: float, iterations: float) -> float:
    """At least one iteration."""
    if isinstance(method, Descent) and iterations < 1:
        raise ValueError(
            f"`t1` must be at least one step, got {t1:g} for step {method.step:g}: iteration k is at t = k step."
        )
    return iterations
