"""What the checkers of Lee et al. share: columns of a run in unit time, and the worst place of an inequality."""

import math
from dataclasses import dataclass

import numpy as np

from reluflow.claim import Claim
from reluflow.methods import Descent, Flow
from reluflow.single import Run

EPS = np.finfo(float).eps
ARRIVED = 40.0  # pi - phi is 8e-18 there: what follows is judged by `rates`


@dataclass(frozen=True)
class Columns:
    """A run in units: l = log(|w|/v*), y = log tan(phi/2), unit time, from the restart on, t > 0,
    until the angle has arrived."""

    log_t: np.ndarray
    l: np.ndarray
    y: np.ndarray
    slack: np.ndarray  # of l
    t: np.ndarray
    at: np.ndarray  # the run's own time


def columns(run: Run, restart: float = 0.0) -> tuple[Columns, float, float]:
    """Columns after time `restart`, with the values (l, y) there."""
    start = run.at(restart) if restart > 0 else None
    l0 = float(start.log_ratio[0]) if start else run.problem.log_v0 - run.problem.log_target
    y0 = float(start.y[0]) if start else run.problem.y0
    after = (run.log_t > (math.log(restart) if restart > 0 else -math.inf)) & (run.y < ARRIVED)
    own = run.log_t[after]
    l = run.log_ratio[after]
    with np.errstate(divide="ignore", over="ignore"):
        log_t = (own if restart == 0 else np.log(np.exp(own) - restart)) + run.problem.log_unit_time
        # Bounds move by at most one a unit of time, and t - restart has the rounding of t.
        rounding = 8 * EPS * restart * math.exp(run.problem.log_unit_time) if restart > 0 else 0.0
        return Columns(log_t, l, run.y[after], slack(run, l) + rounding, np.exp(log_t), np.exp(own)), l0, y0


def slack(run: Run, logs: np.ndarray) -> np.ndarray:
    """How wrong logarithms log(v/v*) of a run may be.

    A flow promises 100 rtol, relative to log(v/v*) where that is small; descent is exact but for one rounding an
    iteration, relative to numbers of size one.
    """
    if isinstance(run.method, Flow):
        return 100 * run.method.rtol * np.minimum(1.0, np.abs(logs)) + 4 * EPS * np.abs(logs)
    return 8 * EPS * (1.0 + run.iteration[-len(logs) :])


def worst(text: str, measured, relation: str, bound, slack, at, *, log: bool = True, **rest) -> Claim:
    """The claim `measured relation bound` where it is closest to failing, counted in slacks."""
    measured, bound, slack, at = np.broadcast_arrays(
        *(np.asarray(v, dtype=float) for v in (measured, bound, slack, at))
    )
    if measured.size == 0:
        return Claim(text, math.nan, relation, math.nan)
    with np.errstate(invalid="ignore"):
        margin = {"<": 1, "<=": 1, ">": -1, ">=": -1}[relation] * (bound - measured)
    margin = np.where(measured == bound, 0.0, margin)
    k = int(np.argmin(margin / np.maximum(slack, 1e-300)))
    return Claim(text, measured[k], relation, bound[k], slack[k], log, float(at[k]), **rest)


def is_flow(run: Run) -> Claim:
    return Claim("the run is a gradient flow", float(isinstance(run.method, Flow)), "=", 1.0)


def is_descent(run: Run) -> list[Claim]:
    """The run is descent and every iteration was kept."""
    if not isinstance(run.method, Descent):
        return [Claim("the run is gradient descent", 0.0, "=", 1.0)]
    gaps = np.diff(run.iteration)
    return [Claim("iterations between two frames", float(gaps.max(initial=0)), "=", 1.0)]


def starts_well(run: Run) -> list[Claim]:
    """0 < phi_0 < pi, a balanced start, and the population rather than a sample."""
    p = run.problem
    return [
        Claim("log tan(phi_0/2)", p.y0, ">", -math.inf),
        Claim("log tan(phi_0/2)", p.y0, "<", math.inf),
        Claim("the start is balanced", float(p.balanced), "=", 1.0),
        Claim("the loss is the population's", float(run.sample is None), "=", 1.0),
    ]


def layers(run: Run, m: int | None = None) -> list[Claim]:
    """The depth a theorem is about."""
    return [] if m is None else [Claim("outer layers m", run.problem.m, "=", float(m))]
