"""The internal clock of a run: t for the square loss, log(1 + t) for exponential tails, iterations for descent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.methods import Descent, Method
from reluflow.problem import Problem


class Plain(NamedTuple):
    """t itself."""

    def of(self, t: float | np.ndarray) -> np.ndarray:
        return np.asarray(t, float)

    def of_log(self, log_t: float | np.ndarray) -> np.ndarray:
        return np.exp(log_t)

    def times(self, clock: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(t, log t) of clock values."""
        clock = np.asarray(clock, float)
        with np.errstate(divide="ignore"):
            return clock.copy(), np.log(clock)


class Logarithmic(NamedTuple):
    """log(1 + t)."""

    def of(self, t: float | np.ndarray) -> np.ndarray:
        return np.log1p(t)

    def of_log(self, log_t: float | np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, log_t)

    def times(self, clock: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(t, log t) of clock values."""
        clock = np.asarray(clock, float)
        with np.errstate(divide="ignore", over="ignore"):
            t = np.expm1(clock)
            return t, np.where(clock > 1.0, clock + np.log(-np.expm1(-clock)), np.log(t))


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


def clock_for(problem: Problem, method: Method | None) -> Clock:
    """The clock of a run of `problem` by `method`."""
    if isinstance(method, Descent):
        return Iterations(method)
    return Logarithmic() if problem.tailed else Plain()
