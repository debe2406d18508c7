"""The start and the target of a single neuron."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reluflow._checks import as_finite, number, whole
from reluflow.init import LOG_MAX, LOG_MIN
from reluflow.single import angle
from reluflow.single.law import Gaussian, Law, Radial, Sphere


@dataclass(frozen=True)
class Problem:
    """An (m+1)-layer neuron f(x) = v_1 ... v_m s(<w, x>) that learns one of the same shape, v_k > 0.

    `phi` = pi - angle(w_0, w*), so that pi is alignment; `norm` = |w_0| (or `log_norm`, for e^-1000); `target` = v* =
    |w*| = v_k*, though only the product v*^(m+1) and the direction of w* matter. `outer` holds v_1..v_m in units of
    |w_0|; None is balanced, all equal to |w_0|. `log_tan` = log tan(phi/2) replaces `phi` close to 0 or pi. The start
    is available as `phi0`, `y0`, `v0`, `log_v0`, however it was given.
    """

    m: int = 0
    phi: float | None = None
    norm: float | None = None
    target: float = 1.0
    outer: tuple[float, ...] | None = None
    law: Law = field(default_factory=Gaussian)
    log_norm: float | None = None
    log_tan: float | None = None

    def __post_init__(self):
        put = lambda name, value: object.__setattr__(self, name, value)
        put("m", whole("m", self.m, least=0, hint="m = 0 is one layer, m = 1 two layers"))
        positive: dict[str, Any] = dict(rule="positive and finite", ok=lambda v: 0.0 < v < math.inf)
        put("target", number("target", self.target, hint="it is the length of w*", **positive))
        if not isinstance(self.law, Gaussian | Sphere | Radial):
            raise TypeError(f"`law` must be a law of rf.single, got {self.law!r}: try `rf.single.Gaussian()`.")
        self._set_angle(put)
        self._set_norm(put, positive)
        self._set_outer(put, positive)

    def _set_angle(self, put):
        if self.log_tan is not None:
            _only_one("phi", self.phi, "log_tan", self.log_tan)
            put("log_tan", number("log_tan", self.log_tan, rule="a number", ok=lambda v: v == v, hint="leave it out"))
        elif self.phi is not None:
            hint = "it is pi minus the angle to w*"
            put("phi", number("phi", self.phi, rule="in [0, pi]", ok=lambda v: 0.0 <= v <= math.pi, hint=hint))

    def _set_norm(self, put, positive):
        if self.log_norm is not None:
            _only_one("norm", self.norm, "log_norm", self.log_norm)
            inside: dict[str, Any] = dict(rule=f"in [{LOG_MIN:g}, {LOG_MAX:g}]", ok=lambda v: LOG_MIN <= v <= LOG_MAX)
            put("log_norm", number("log_norm", self.log_norm, hint="it is the logarithm of |w_0|", **inside))
        elif self.norm is not None:
            put("norm", number("norm", self.norm, hint="it is |w_0|; below 1e-300 use `log_norm`", **positive))

    def _set_outer(self, put, positive):
        if self.outer is None:
            return
        outer = tuple(number("outer", v, hint="a neuron with some v_k <= 0 is dead", **positive) for v in self.outer)
        if len(outer) != self.m:
            raise ValueError(f"`outer` must have one number per outer layer, got {len(outer)} for m = {self.m}.")
        put("outer", None if all(v == 1.0 for v in outer) else outer)

    @classmethod
    def between(cls, w, w_star, *, m: int = 0, outer=None, law: Law | None = None) -> Problem:
        """The problem of a neuron at `w` that learns `w_star`; `outer` in units of |w|, as in `Problem`."""
        w, w_star = (as_finite(k, v, ndim=1, hint="give one vector") for k, v in (("w", w), ("w_star", w_star)))
        lengths = float(np.linalg.norm(w)), float(np.linalg.norm(w_star))
        if w.shape != w_star.shape or min(lengths) == 0.0:
            raise ValueError(f"`w` and `w_star` must be non-zero and of one shape, got {w.shape} and {w_star.shape}.")
        a, b = w / lengths[0], w_star / lengths[1]
        with np.errstate(divide="ignore"):  # 2 atan2(|a-b|, |a+b|) is the angle: no cancellation at either end
            y = np.log(np.linalg.norm(a + b)) - np.log(np.linalg.norm(a - b))
        return cls(m, norm=lengths[0], target=lengths[1], outer=outer, law=law or Gaussian(), log_tan=float(y))

    @property
    def y0(self) -> float:
        """log tan(phi_0 / 2)."""
        return self.log_tan if self.log_tan is not None else angle.log_tan(self.phi0)

    @property
    def phi0(self) -> float:
        if self.log_tan is not None:
            return float(angle.angles(self.log_tan)[0])
        return math.pi / 2 if self.phi is None else self.phi

    @property
    def log_v0(self) -> float:
        """log |w_0|."""
        return self.log_norm if self.log_norm is not None else math.log(self.target if self.norm is None else self.norm)

    @property
    def v0(self) -> float:
        return math.exp(self.log_v0)

    @property
    def balanced(self) -> bool:
        """Whether v_1 = ... = v_m = |w_0|; always so for one layer."""
        return self.outer is None

    @property
    def eps(self) -> float:
        """eps_0 = 1 - s(phi_0)."""
        return angle.s_and_eps(self.y0)[2] if math.isfinite(self.y0) else float(self.y0 < 0)

    @property
    def log_target(self) -> float:
        return math.log(self.target)

    @property
    def log_unit_time(self) -> float:
        """log of kappa v*^2m: in the time kappa v*^2m t the target is 1 and the law is the standard Gaussian."""
        return math.log(self.law.kappa) + 2 * self.m * self.log_target

    def layers(self) -> tuple[np.ndarray, list[int]]:
        """log(v_j / v*) of the distinct layers, that of w first, and how often each occurs."""
        first = self.log_v0 - self.log_target
        if self.outer is None:
            return np.array([first]), [self.m + 1]
        if len(set(self.outer)) == 1:
            return first + np.log([1.0, self.outer[0]]), [1, self.m]
        return first + np.log([1.0, *self.outer]), [1] * (self.m + 1)

    def __repr__(self) -> str:
        kind = "balanced" if self.balanced else f"outer={self.outer}"
        law = "" if self.law == Gaussian() else f", {self.law}"
        size = f"norm={self.v0:.6g}" if self.v0 > 1e-300 else f"log_norm={self.log_v0:.6g}"
        return f"Problem(m={self.m}, {size}, phi={self.phi0:.6g}, target={self.target:.6g}, {kind}{law})"


def _only_one(name: str, value, log_name: str, log_value):
    if value is not None:
        raise ValueError(f"Give `{name}` or `{log_name}`, not both, got {value} and {log_value}.")
