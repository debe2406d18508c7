"""The numbers of the demo: one run with its prediction, as a table and as animation frames."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from reluflow.cli._prediction import Class, Prediction, predict
from reluflow.experiment import Experiment
from reluflow.plot.run import log_norms
from reluflow.solution import Solution


class Fact(NamedTuple):
    """One line of the table: measured value and prediction."""

    phase: str
    what: str
    measured: float
    predicted: float
    digits: int = 6

    @property
    def apart(self) -> float:
        return abs(self.measured - self.predicted)


@dataclass
class Film:
    """A run on two orthogonal points with its prediction."""

    sol: Solution
    theory: Prediction
    log_scale: float

    @property
    def windows(self) -> list[tuple[float, float]]:
        """A window around each saddle exit, wide enough to show the whole curve; never before the end of alignment."""
        last = self.theory.crossings[-1][0]
        return [(max(last, c.half - 4.0 / c.rate), c.half + 6.0 / c.rate) for c in self.theory.classes]

    @property
    def aligned(self) -> float:
        """A time just after the last crossing."""
        return 1.3 * self.theory.crossings[-1][0]

    @property
    def saddle(self) -> float:
        """A frame between the two exits."""
        first, second = self.theory.classes
        return float(self.sol.t[np.searchsorted(self.sol.t, 0.5 * (first.half + second.half))])

    @property
    def end(self) -> float:
        return float(self.sol.t[-1])

    def facts(self) -> list[Fact]:
        sol, (first, second) = self.sol, self.theory.classes
        off = sol.events["off"]
        final = sol.final
        size = np.exp(log_norms([final])[0])
        big = size > 1e-3 * size.max()
        square = float(np.sum(size**2 + np.exp(2 * final.log_scales[1]) * final.a**2))
        return [
            Fact("1 alignment", "crossings", len(off), len(self.theory.crossings), 0),
            Fact("", "last crossing, at t", float(off.t[-1]), self.theory.crossings[-1][0]),
            Fact("2 first point", "leaves the saddle 0, at t", self._half(first, second.loss), first.half),
            Fact("", "loss at the next saddle", float(sol.loss_at(self.saddle)), second.loss),
            Fact("3 second point", "leaves it, at t", self._half(second, 0.0), second.half),
            Fact("4 limit", "neurons left, a > 0", int(np.sum(big & (final.a > 0))), _count(self.theory, 1), 0),
            Fact("", "neurons left, a < 0", int(np.sum(big & (final.a < 0))), _count(self.theory, -1), 0),
            Fact("", "squared norm of weights", square, self.theory.squared_norm, 7),
            Fact("", "loss", float(sol.loss[-1]), 0.0, 6),
        ]

    def _half(self, this: Class, rest: float) -> float:
        """When a class is half fitted: its loss at a quarter. Bracketed by frames, then refined by dense evaluation."""
        target = np.log(rest + 0.25 * this.loss)
        k = int(np.argmax(self.sol.log_loss < target))
        lo, hi = float(self.sol.t[k - 1]), float(self.sol.t[k])
        for _ in range(60):
            if hi - lo <= 4e-16 * hi:
                break
            t = np.linspace(lo, hi, 18)
            below = self.sol.log_loss_at(t) < target
            i = max(1, int(np.argmax(below)))
            if (t[i - 1], t[i]) == (lo, hi):
                break
            lo, hi = float(t[i - 1]), float(t[i])
        return 0.5 * (lo + hi)

    @cached_property
    def t(self) -> np.ndarray:
        """Times of the animation: dense where the state changes; elsewhere the run's own frames."""
        (a, b), (c, d) = self.windows
        dense = [np.linspace(0.0, self.aligned, 150), np.linspace(a, b, 110), np.linspace(c, min(d, self.end), 110)]
        sparse = [self._sparse(self.aligned, a), self._sparse(b, c), self._sparse(d, self.end)]
        return np.unique(np.concatenate([*dense, *sparse, [self.saddle, self.end]]))

    def _sparse(self, lo: float, hi: float, count: int = 40) -> np.ndarray:
        wanted, own = np.linspace(lo, max(lo, hi), count), self.sol.t
        own = own[(own >= lo) & (own <= hi)]
        return wanted if len(own) < count else own[np.searchsorted(own, wanted[:-1])]

    @cached_property
    def states(self) -> list:
        return self.sol.at(self.t)

    @cached_property
    def log_norm(self) -> np.ndarray:
        return log_norms(self.states)

    @cached_property
    def loss(self) -> np.ndarray:
        """The loss at the animation's times, from its states."""
        data = self.sol.problem.data
        f = np.stack([outputs(p, data.x) for p in self.states])
        return np.mean(0.5 * (f - data.y) ** 2, axis=1)

    def inside(self, lo: float, hi: float) -> np.ndarray:
        """The animation frames in [lo, hi]."""
        return np.flatnonzero((self.t >= lo) & (self.t <= hi))


def outputs(params, x: np.ndarray) -> np.ndarray:
    """f(x) of a ReLU network with its log scales; terms that underflow count as 0."""
    log_w, log_a = params.log_scales
    with np.errstate(under="ignore"):
        return np.maximum(x @ params.w.T, 0.0) @ (params.a * np.exp(log_w + log_a))


def _count(theory: Prediction, sign: int) -> int:
    return next(c.neurons for c in theory.classes if c.sign == sign)


def follow(log_scale: float, seed: int = 0, progress=None) -> Film:
    """Two points from e^log_scale until convergence."""
    experiment = two_points(log_scale, seed)
    sol = experiment.run(progress=progress)
    return Film(sol, predict(sol.problem.data, sol.problem.init, log_scale), log_scale)


def two_points(log_scale: float, seed: int = 0):
    """The demo's experiment."""
    return Experiment(
        data={"kind": "two_points"},
        init={"kind": "balanced", "width": 60, "log_scale": log_scale, "seed": seed},
        method={"kind": "flow", "rtol": 1e-8},
    )


def five_points(log_scale: float, seed: int = 0, progress=None):
    """The five points, where neurons slide along activation boundaries and no formula for the limit is known."""
    return Experiment(
        data={"kind": "five_points"},
        init={"kind": "balanced", "width": 60, "log_scale": log_scale, "seed": seed},
        method={"kind": "flow", "rtol": 1e-8},
    ).run(progress=progress)
