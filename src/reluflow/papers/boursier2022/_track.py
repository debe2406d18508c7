r"""A run seen as the paper sees it: spherical coordinates (rho_j, W_j), clusters u+, u-, stopping times.

    w_j = e^{rho_j} W_j,  |W_j| = 1      u+ = sum_{S_{+,1}} |w_j|^2      D+^t = (1/n) sum_{y_k>0} (y_k - h(x_k)) x_k

Sums over all moments are over every frame of the run, the ends of the stretch and 65 moments between. Directions and
outputs of a run are good to `tol` = 100 rtol; a misalignment, half a squared chord, to tol^2. Outputs come from the
weights (`observe._witness`). A claim about moments after the end of the run is unfinished: `Track.ends_before`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.claim import Claim
from reluflow.observe._witness import Witness
from reluflow.outcome import Outcome
from reluflow.papers._unfinished import ends_before
from reluflow.papers.boursier2022._constants import EPS, Class, Constants

BETWEEN = 65
CUTS, ROUNDS = 65, 6  # a stopping time is located to 64^-6 of a step


@dataclass(frozen=True, eq=False)
class State:
    """The network at moments t (T,): `rho` (T, m), `W` (T, m, d), outputs `h` (T, n); signs as in `Constants`."""

    t: np.ndarray
    rho: np.ndarray
    W: np.ndarray
    log_a: np.ndarray
    h: np.ndarray

    def __getitem__(self, which) -> State:
        return State(self.t[which], self.rho[which], self.W[which], self.log_a[which], self.h[which])


class Track:
    """A flow with the paper's constants."""

    def __init__(self, sol, epsilon: float | None = None):
        self.sol = sol
        self.const = Constants(sol.problem, epsilon=epsilon)
        rtol = sol.stats.rtol
        self.tol = 100.0 * (rtol if np.isfinite(rtol) else 1e-8)
        self.end = float(sol.t[-1])

    @cached_property
    def frames(self) -> State:
        seen = Witness(self.sol)
        return self._state(self.sol.t, seen.w, seen.a, seen.log_scale, seen.outputs)

    def at(self, t) -> State:
        """The network at moments t, which must lie within the run."""
        t = np.atleast_1d(np.asarray(t, float))
        seen = self.witness(t)
        return self._state(t, seen.w, seen.a, seen.log_scale, seen.outputs)

    def witness(self, t) -> Witness:
        """The run at moments t as its weights show it, for the functions of `rf.observe`."""
        return Witness(self.sol, t=np.atleast_1d(np.asarray(t, float)))

    def ends_before(self, until: float, what: str) -> str:
        """What is missing where the run ends before `until`, and is not known to stay where it is."""
        if self.sol.outcome is Outcome.STATIONARY:
            return ""
        return ends_before(self.end, until, what)

    @cached_property
    def log_loss(self) -> np.ndarray:
        """log L at the frames, from the weights and the problem's labels."""
        return Witness(self.sol).log_loss

    @property
    def unfit(self) -> str:
        """What is missing where the run ends before both classes are fitted: the loss is still 1e-3 of the first.

        By Section 4.3 of the handbook the last saddle is left by the time of its half fit, and the loss then falls at
        the rate of the smaller class at least.
        """
        if self.log_loss[-1] < self.log_loss[0] + np.log(1e-3):
            return ""
        return self.ends_before(self.fitted, "the time by which both classes are fitted")

    @cached_property
    def fitted(self) -> float:
        """When the loss is rounding, as the limit of small lambda has it: the last exit and log(1/tol^2) over the
        rate of the smaller class; inf where no saddle is left."""
        exits = self.exits
        slowest = min(self.const.plus.rate, self.const.minus.rate)
        return max(exits) - 2 * np.log(self.tol) / slowest if exits else np.inf

    @property
    def exits(self) -> list[float]:
        """When each saddle is left, as the limit of small lambda has it: outputs are half the labels or, where a saddle
        fits inputs of several norms and that has no formula, the loss is midway."""
        halves = [(s, s.half(self.const.ell)) for s in self.const.limit.saddles]
        return [s.exit(self.const.ell) if half is None else half for s, half in halves]

    def _state(self, t, w, a, c, f) -> State:
        size = np.linalg.norm(w, axis=-1)
        with np.errstate(divide="ignore"):
            rho, log_a = c + np.log(size), c + np.log(np.abs(a))
        return State(t, rho, w / np.where(size > 0, size, 1.0)[..., None], log_a, self.const.flip * f)

    def during(self, start: float, stop: float) -> State:
        """Every frame in [start, stop], the two ends, and `BETWEEN` moments between; empty where the run is over."""
        stop = min(stop, self.end)
        if not start <= stop:
            return self.frames[np.zeros(len(self.frames.t), bool)]
        inside = self.frames.t[(self.frames.t > start) & (self.frames.t < stop)]
        return self.at(np.unique(np.r_[inside, np.linspace(start, stop, BETWEEN)]))

    def first(self, met: Callable[[State], np.ndarray], start: float) -> float:
        """The first moment >= start at which `met` >= 0, or inf: bracketed by frames, then cut finer."""
        if not start <= self.end:
            return np.inf
        if met(self.at(start))[0] >= 0:
            return float(start)
        later = self.frames[self.frames.t > start]
        hit = np.flatnonzero(met(later) >= 0) if len(later.t) else np.zeros(0, int)
        if not len(hit):
            return np.inf
        k = int(hit[0])
        a, b = later.t[k - 1] if k else start, later.t[k]
        for _ in range(ROUNDS):
            cuts = np.linspace(a, b, CUTS)
            k = int(np.argmax(met(self.at(cuts)) >= 0))
            if k == 0:
                break
            a, b = cuts[k - 1], cuts[k]
        return float(b)

    # The paper's quantities, each (T,) ------------------------------------------------------------------------------

    def log_u(self, state: State, S: np.ndarray) -> np.ndarray:
        """log of the summed squared norms of a set of neurons."""
        return np.logaddexp.reduce(2.0 * state.rho[:, S], axis=1) if len(S) else np.full(len(state.t), -np.inf)

    def u(self, state: State, S: np.ndarray) -> np.ndarray:
        return np.exp(self.log_u(state, S))

    def apart(self, state: State, S: np.ndarray, cls: Class) -> np.ndarray:
        """Misalignment |D| - min_j <W_j, aim> |D| = |D| max_j |W_j - aim|^2 / 2: nothing cancels."""
        if not len(S):
            return np.full(len(state.t), np.nan)
        return cls.size * 0.5 * np.max(np.sum((state.W[:, S] - cls.aim) ** 2, axis=2), axis=1)

    def largest(self, state: State, S: np.ndarray) -> np.ndarray:
        """log of the largest |w_j| in a set."""
        return np.max(state.rho[:, S], axis=1) if len(S) else np.full(len(state.t), -np.inf)

    def residual(self, state: State, cls: Class) -> np.ndarray:
        """|D+^t| or |D-^t|."""
        const = self.const
        return np.linalg.norm(const.weight * ((const.y - state.h) * cls.members) @ const.data.x, axis=1)

    def class_loss(self, state: State, cls: Class) -> np.ndarray:
        return 0.5 * self.const.weight * np.sum((state.h - self.const.y)[:, cls.members] ** 2, axis=1)

    def distance(self, state: State, theta: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """|theta^t - theta| for given (w, a)."""
        w, a = theta
        const = self.const
        apart = np.sum((np.exp(state.rho)[..., None] * state.W - w) ** 2, axis=(1, 2))
        return np.sqrt(apart + np.sum((const.flip * const.sign * np.exp(state.log_a) - a) ** 2, axis=1))

    # The paper's stopping times -------------------------------------------------------------------------------------

    @cached_property
    def t_2(self) -> tuple[float, str]:
        """(17): end of phase 2, and which of its conditions fired: "others", "norm", "alignment" or "none"."""
        const, e = self.const, self.const.epsilon
        rest = np.setdiff1d(np.arange(const.m), const.S_plus)
        if np.exp(const.power(e / 5)) <= self.tol * max(1.0, const.plus.u):
            return np.nan, "lambda^{eps/5} is below the accuracy of the run"
        return self._stop(
            const.t_plus,
            {
                "others": lambda s: self.largest(s, rest) - np.log(2.0 * const.c) - const.power(e),
                "norm": lambda s: self.u(s, const.S_plus) - const.plus.u + np.exp(const.power(e / 5)),
                "alignment": lambda s: self.apart(s, const.S_plus, const.plus) - np.exp(const.power(e / 2)),
            },
        )

    @property
    def t_2_known(self) -> float:
        """t_2, or its bound (1 + 3 eps) ell/|D+| where lambda^{eps/5} is below the accuracy of the run; inf where the
        run ends before."""
        t = self.t_2[0]
        if not np.isnan(t):
            return t
        latest = (1 + 3 * self.const.epsilon) * self.const.ell / self.const.plus.size
        return latest if latest <= self.end else np.inf

    @cached_property
    def t_3(self) -> tuple[float, str]:
        """(23): end of phase 3, and which condition fired: those of `t_2` or "refit" (|D+^t| large again)."""
        const, e, t_2 = self.const, self.const.epsilon, self.t_2_known
        if np.exp(const.power(e / 29)) <= self.tol * max(1.0, const.minus.u):
            return np.nan, "lambda^{eps/29} is below the accuracy of the run"
        return self._stop(
            const.t_minus,
            {
                "others": lambda s: self.largest(s, const.others) - np.log(3.0 * const.c) - const.power(e),
                "norm": lambda s: self.u(s, const.S_minus) - const.minus.u + np.exp(const.power(e / 29)),
                "alignment": lambda s: self.apart(s, const.S_minus, const.minus) - np.exp(const.power(e / 14)),
                # A residual below the accuracy of the run counts as none.
                "refit": lambda s: np.where(
                    s.t >= t_2, self.residual(s, const.plus) - np.exp(const.power(e / 14)) - self.tol, -np.inf
                ),
            },
        )

    def _stop(self, start: float, conditions: dict[str, Callable[[State], np.ndarray]]) -> tuple[float, str]:
        times = {name: self.first(met, start) for name, met in conditions.items()}
        name = min(times, key=lambda k: times[k])
        return (times[name], name) if np.isfinite(times[name]) else (np.inf, "none")


def track(sol, epsilon: float | None = None) -> Track:
    """The Track of a run, made once: stopping times are found once."""
    return sol.derived(Track, epsilon)


def small(
    text: str, log_measured, log_bound: float, tol: float = 0.0, *, relation="<=", at=None, note="", missing=""
) -> Claim:
    """measured <= bound in logarithms; an absolute error `tol` of the measured becomes log(1 + tol/bound) of slack.

    Where the bound is below `tol`, what is measured as less than a rounding counts as one: a difference that is 0 by
    chance is no evidence for a bound of e^-100.
    """
    if tol > 0 and log_bound < np.log(tol):
        log_measured = max(float(log_measured), float(np.log(min(EPS, tol))))
    if tol == 0 and np.isneginf(log_measured):
        note = note or "there is none"  # a largest of no neurons
    slack = float(np.logaddexp(log_bound, np.log(tol)) - log_bound) if tol > 0 else 0.0
    more = dict(log=True, at=at, note=note, missing=missing)
    return Claim(text, float(log_measured), relation, float(log_bound), slack=slack, **more)


def worst(values: np.ndarray, t: np.ndarray) -> tuple[float, float | None]:
    """The largest value and when; nan where there is none."""
    if not len(values):
        return np.nan, None
    k = int(np.argmax(values))
    return float(values[k]), float(t[k])


def log(values):
    with np.errstate(divide="ignore"):
        return np.log(values)
