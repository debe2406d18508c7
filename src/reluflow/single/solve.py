"""The verb of `rf.single`: train one neuron, by flow or by descent, on the population or on a sample."""

import math

import numpy as np

from reluflow._checks import number
from reluflow.methods import Descent, Flow
from reluflow.outcome import Outcome, SolveError
from reluflow.single import descent
from reluflow.single import flow as flows
from reluflow.single import sample as samples
from reluflow.single.problem import Problem
from reluflow.single.run import Run
from reluflow.single.sample import Sample

FRAMES = 200_000  # of descent; beyond it, every second, third, ... iteration
STEPS = 100_000  # of the flow's integrator


def solve(
    problem: Problem,
    method: Flow | Descent | None = None,
    t1: float | None = None,
    *,
    log_t1: float | None = None,
    sample: Sample | None = None,
    frames: int = FRAMES,
) -> Run:
    """Trains the neuron of `problem` until t1 (or e^log_t1), or, a flow with neither, until convergence.

    `method` is `rf.Flow(rtol=1e-10)` unless given, or `rf.Descent(step=...)`, whose iteration k is at t = k step; all
    iterations are kept, up to `frames`. With `sample` the expectation is a mean over that sample, by descent.
    """
    method = method or Flow(rtol=1e-10)
    _understood(problem, method, sample)
    if t1 is not None and log_t1 is not None:
        raise ValueError(f"Give `t1` or `log_t1`, not both, got t1 = {t1} and log_t1 = {log_t1}.")
    if t1 is not None:
        finite = lambda v: 0 < v < math.inf
        log_t1 = math.log(number("t1", t1, rule="positive and finite", ok=finite, hint="time starts at 0"))
    if log_t1 is not None:
        log_t1 = number("log_t1", log_t1, rule="finite", ok=math.isfinite, hint="it is the logarithm of the end time")
    if isinstance(method, Descent):
        return _descend(problem, method, log_t1, sample, frames)
    return _flow(problem, method, math.inf if log_t1 is None else log_t1)


def _understood(problem, method, sample):
    if not isinstance(problem, Problem):
        raise TypeError(f"`problem` must be an rf.single.Problem, got {type(problem).__name__}.")
    if not isinstance(method, Flow | Descent):
        raise TypeError(f"`method` must be rf.Flow(...) or rf.Descent(step=...), got {method!r}.")
    if sample is not None and not isinstance(sample, Sample):
        raise TypeError(f"`sample` must be an rf.single.Sample, got {type(sample).__name__}.")
    if isinstance(method, Descent) and (method.batch is not None or method.dtype != "float64"):
        raise ValueError(
            f"`method` must be full-batch float64 descent for single neurons, got {method!r}: leave "
            "`batch` and `dtype` out."
        )
    if sample is not None and isinstance(method, Flow):
        raise ValueError(
            "`method` must be rf.Descent(step=...) on a sample, got a flow: leave `sample` out for the population, or "
            "write a neuron of one or two layers as an rf.Problem of width 1."
        )


def _flow(problem: Problem, method: Flow, log_t1: float) -> Run:
    layers, counts = problem.layers()
    end = log_t1 + problem.log_unit_time
    curve, outcome, steps = flows.follow(layers, counts, problem.y0, method.rtol, end, STEPS)
    if outcome is Outcome.REACHED and math.isfinite(log_t1):
        states = curve.frames()
        inside = flows.log_time(states, curve.counts) < end
        states = np.concatenate([states[:, inside], curve.at(np.array([end]))], axis=1)
    else:
        states = curve.frames()

    def dense(log_t: np.ndarray) -> dict:
        return _columns(problem, curve.at(log_t + problem.log_unit_time), curve.counts, log_t)

    run = Run(problem, method, **_columns(problem, states, curve.counts), outcome=outcome, steps=steps, curve=dense)
    if not outcome.success:
        raise SolveError(_Ended(run), f"{run.t[-1]:.6g}")
    return run


def _columns(problem: Problem, states: np.ndarray, counts: np.ndarray, log_t: np.ndarray | None = None) -> dict:
    """The columns of a Run from states of the flow."""
    layers = states[flows.LAYERS :] + problem.log_target
    outer = {1: [0] * problem.m, 2: [1] * problem.m}.get(len(layers), range(1, len(layers)))
    y = np.full(states.shape[1], problem.y0) if math.isinf(problem.y0) else states[flows.Y]
    return dict(
        log_t=flows.log_time(states, counts) - problem.log_unit_time if log_t is None else log_t,
        log_norm=layers[0],
        y=y,
        gap=states[flows.LAMBDA],
        log_outer=layers[list(outer)].T if problem.m else np.empty((states.shape[1], 0)),
    )


def _descend(problem: Problem, method: Descent, log_t1: float | None, data: Sample | None, frames: int) -> Run:
    if log_t1 is None:
        raise ValueError("`t1` must be given for descent, got None: iteration k is at t = k step.")
    iterations = int(method.iteration(math.exp(log_t1)))
    if iterations < 1:
        raise ValueError(f"`t1` must be at least one step, got {math.exp(log_t1):g} for step {method.step:g}.")
    every = max(1, math.ceil(iterations / max(frames - 1, 1)))
    if data is None:
        columns = descent.descend(problem, method.step, iterations, every)
    else:
        columns = samples.descend(problem, data, method.step, iterations, every)
    k, finite = columns.pop("k"), columns.pop("finite")
    with np.errstate(divide="ignore"):
        log_t = np.log(k) + math.log(method.step)
    outcome = Outcome.REACHED if finite else Outcome.NOT_FINITE
    run = Run(problem, method, log_t, outcome=outcome, steps=int(k[-1]), sample=data, **columns)
    if not finite:
        raise SolveError(_Ended(run), f"{run.t[-1]:.6g}")
    return run


class _Ended:
    """What `SolveError` reads of a run."""

    def __init__(self, run: Run):
        self.run, self.outcome = run, run.outcome
