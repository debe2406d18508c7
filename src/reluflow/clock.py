"""The internal clock of a run: t, log(1 + t) for exponential tails without decay, iterations for descent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.engine.pack import Units, units_of
from reluflow.methods import DecayLimit, Descent, Method, SteppedFlow
from reluflow.problem import Problem


class Plain(NamedTuple):
    """t itself, in the units of the run."""

    units: Units = Units()

    def of(self, t: float | np.ndarray) -> np.ndarray:
        return self.units.to_clock(np.asarray(t, float))

    def of_log(self, log_t: float | np.ndarray) -> np.ndarray:
        return self.units.to_clock(np.exp(log_t))

    def times(self, clock: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(t, log t) of clock values."""
        clock = np.asarray(clock, float)
        with np.errstate(divide="ignore"):
            return self.units.to_time(clock), np.log(clock) - self.units.log_time


class Logarithmic(NamedTuple):
    """log(1 + t), t in the units of the run."""

    units: Units = Units()

    def of(self, t: float | np.ndarray) -> np.ndarray:
        return np.log1p(self.units.to_clock(np.asarray(t, float)))

    def of_log(self, log_t: float | np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, np.asarray(log_t, float) + self.units.log_time)

    def times(self, clock: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(t, log t) of clock values."""
        clock = np.asarray(clock, float)
        with np.errstate(divide="ignore", over="ignore"):
            t = np.expm1(clock)
            log_t = np.where(clock > 1.0, clock + np.log(-np.expm1(-clock)), np.log(t))
            return self.units.to_time(t), log_t - self.units.log_time


class Iterations(NamedTuple):
    """The number of the last iteration at or before t."""

    method: Descent

    def of(self, t: float | np.ndarray) -> np.ndarray:
        return self.method.iteration(t)

    def of_log(self, log_t: float | np.ndarray) -> np.ndarray:
        return self.method.iteration(np.exp(log_t))

    def times(self, clock: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(t, log t) of clock values."""
        t = np.asarray(clock, float) * self.method.step
        with np.errstate(divide="ignore"):
            return t, np.log(t)


Clock = Plain | Logarithmic | Iterations


def clock_for(problem: Problem, method: Method | None, units: Units | None = None) -> Clock:
    """The clock of a run of `problem` by `method`."""
    if isinstance(method, Descent):
        return Iterations(method)
    if isinstance(method, DecayLimit):
        return Plain()
    if units is None:
        units = Units() if isinstance(method, SteppedFlow) else units_of(problem)
    return Logarithmic(units) if problem.endless else Plain(units)
