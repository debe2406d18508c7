"""The result of a single-neuron run: magnitude, angle and outer weights over time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from reluflow.methods import Descent, Flow
from reluflow.outcome import Outcome
from reluflow.single import angle
from reluflow.single.problem import Problem
from reluflow.single.sample import Sample


@dataclass(frozen=True, eq=False)
class Run:
    """One trained neuron. Each array has one entry per frame; `log_*` are authoritative, the rest their exp.

    `y` = log tan(phi/2); `gap` = log(|w| v_1 ... v_m / v*^(m+1)), which tends to 0 and is accurate relative to itself;
    `log_outer` has one column per outer layer. `at(t)` gives the run at other times: a flow is dense in time, descent
    shows the last iteration kept at or before t.
    """

    problem: Problem
    method: Flow | Descent
    log_t: np.ndarray
    log_norm: np.ndarray
    y: np.ndarray
    gap: np.ndarray
    log_outer: np.ndarray
    outcome: Outcome
    steps: int
    sample: Sample | None = None
    train_loss: np.ndarray | None = None
    curve: Callable[[np.ndarray], dict] | None = field(default=None, repr=False)

    @property
    def t(self) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.exp(self.log_t)

    @property
    def iteration(self) -> np.ndarray:
        """The iterations that the frames of a descent run show."""
        if not isinstance(self.method, Descent):
            raise TypeError("`iteration` belongs to descent, and this run is a flow: read `t`.")
        return np.rint(np.exp(self.log_t) / self.method.step).astype(np.int64)

    @property
    def norm(self) -> np.ndarray:
        """v = |w|."""
        return np.exp(self.log_norm)

    @property
    def log_ratio(self) -> np.ndarray:
        """log(|w| / v*), relative to itself where the layers are balanced."""
        by_layers = self.log_norm - self.problem.log_target
        return self.gap / (self.problem.m + 1) if self.balanced else by_layers

    @property
    def balanced(self) -> bool:
        """Whether |w| = v_1 = ... = v_m throughout, as a flow from a balanced start keeps it."""
        return self.problem.m == 0 or (self.problem.balanced and isinstance(self.method, Flow))

    @property
    def outer(self) -> np.ndarray:
        """v_1 .. v_m, one column each."""
        return np.exp(self.log_outer)

    @property
    def phi(self) -> np.ndarray:
        return angle.angles(self.y)[0]

    @property
    def theta(self) -> np.ndarray:
        """pi - phi, the angle between w and w*, relative to itself."""
        return angle.angles(self.y)[1]

    @property
    def log_theta(self) -> np.ndarray:
        return angle.log_theta(self.y)

    @property
    def eps(self) -> np.ndarray:
        """1 - s(phi)."""
        return angle.eps(self.theta)

    @property
    def log_eps(self) -> np.ndarray:
        return angle.log_eps(self.y)

    @property
    def log_loss(self) -> np.ndarray:
        """Of the population loss (kappa/4) [(Q - Q*)^2 + 2 Q Q* eps], Q = |w| v_1 ... v_m."""
        lam, p = self.gap, self.problem
        with np.errstate(divide="ignore"):
            parts = np.logaddexp(2.0 * np.log(np.abs(np.expm1(lam))), math.log(2.0) + lam + self.log_eps)
        return parts + math.log(0.25 * p.law.kappa) + 2.0 * (p.m + 1) * p.log_target

    @property
    def loss(self) -> np.ndarray:
        return np.exp(self.log_loss)

    def at(self, t=None, *, log_t=None) -> Run:
        """The run at times `t` (or e^`log_t`), as a Run whose frames those are."""
        if (t is None) == (log_t is None):
            raise ValueError(f"Give `t` or `log_t`, got t = {t} and log_t = {log_t}.")
        if log_t is None:
            t = np.atleast_1d(np.asarray(t, dtype=float))
            if not np.all(t >= 0):
                raise ValueError(f"`t` must be >= 0, got {t[~(t >= 0)][0]}: time starts at 0.")
            with np.errstate(divide="ignore"):
                log_t = np.log(t)
        log_t = np.atleast_1d(np.asarray(log_t, dtype=float))
        if np.any(log_t > self.log_t[-1] + 1e-12) and self.outcome is not Outcome.STATIONARY:
            raise ValueError(
                f"`t` must be at most the end of the run, e^{self.log_t[-1]:.6g}, got e^{log_t.max():.6g}: solve "
                "further."
            )
        if self.curve is not None:
            return replace(self, **self.curve(log_t), train_loss=None)
        # The time of an iteration must find it despite the rounding of exp and log.
        k = np.maximum(np.searchsorted(self.log_t, log_t + 1e-12, side="right") - 1, 0)
        names = ("log_t", "log_norm", "y", "gap", "log_outer")
        loss = None if self.train_loss is None else self.train_loss[k]
        return replace(self, **{n: getattr(self, n)[k] for n in names}, train_loss=loss)

    def __repr__(self) -> str:
        where = "the population" if self.sample is None else repr(self.sample)
        last = f"v/v* = {math.exp(self.log_norm[-1] - self.problem.log_target):.6g}, phi = {self.phi[-1]:.6g}"
        return f"Run({self.problem!r} on {where}, {self.steps} steps to t = e^{self.log_t[-1]:.6g}: {last})"
