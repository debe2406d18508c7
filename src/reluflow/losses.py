r"""The losses: one row of a table for each, read by every part of the library.

    l(y, f): the loss of one datum with label y and output f;     force = -dl/df,     curvature = d^2 l/df^2

Formulas are text, so that one row serves numpy (here), the compiled kernels (`engine.loss`) and JAX (`many`). They may
use y, f, the factor c (the datum's weight times `factor`) and the functions of `NUMPY`: exp(z), softplus(z) =
log(1 + e^z), log_softplus(z) = its logarithm, log(z), log1p(z) and positive(z) = max(z, 0).

A loss with an exponential tail vanishes at infinity only. It is a function of the margin z = y f, and its force and
curvature are also given by their logarithms, which hold where the numbers themselves underflow; the flow then keeps
time by log(1 + t). A loss without a tail has a force of its own size, and its clock is t.

A new loss is a new row. Codes are numbers in compiled kernels: give the next that no row of `TABLE` has, change none.

`LOSSES` are the losses of one output. The square serves several outputs as well, summed over them; `Softmax`, the
cross-entropy of classes, needs at least two. `TABLE` has all of them.
`reluflow.reference`, against which the engine is tested, has formulas of its own on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np


class Formulas(NamedTuple):
    """Three formulas as text."""

    value: str
    force: str
    curvature: str


@dataclass(frozen=True)
class Loss:
    """One row: see the module. The methods are its formulas for numpy arrays, `c` being the weight of a datum."""

    name: str
    code: int
    text: str  # how users read it
    linear: Formulas  # c l, c (-dl/df), c d^2 l/df^2 of y and f
    tail: Formulas | None = None  # logarithms of l, |dl/df|, d^2 l/df^2 of z = y f without c; None: no tail
    factor: float = 1.0  # multiplies all of the above
    labels: str = "signs"  # "signs": labels are +1 and -1; "numbers": any ("classes": see `Softmax`)
    quadratic: bool = False  # l = (f - y)^2 / 2: curvature 1, which the implicit step and least squares rely on
    kink: float = np.inf  # the margin y f at which the curvature jumps; inf: at none

    @property
    def tailed(self) -> bool:
        """Whether the loss only vanishes at infinity."""
        return self.tail is not None

    @property
    def log_factor(self) -> float:
        return float(np.log(self.factor))

    @cached_property
    def _linear(self) -> list[Callable]:
        return [function(text, "c, y, f", NUMPY) for text in self.linear]

    @cached_property
    def _tail(self) -> list[Callable]:
        if self.tail is None:
            raise ValueError(f"The {self.name} loss has no exponential tail: take the logarithm of its value or force.")
        return [function(text, "z", NUMPY) for text in self.tail]

    def value(self, y, f, c=1.0):
        with np.errstate(over="ignore"):
            return self._linear[0](c * self.factor, y, f)

    def force(self, y, f, c=1.0):
        with np.errstate(over="ignore"):
            return self._linear[1](c * self.factor, y, f)

    def curvature(self, y, f, c=1.0):
        with np.errstate(over="ignore"):
            return self._linear[2](c * self.factor, y, f) + np.zeros_like(f)

    def log_value(self, z):
        """Without `log_factor`, as the next two."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return self._tail[0](z)

    def log_force(self, z):
        return self._tail[1](z)

    def log_curvature(self, z):
        with np.errstate(divide="ignore"):
            return self._tail[2](z)

    def log_total(self, y, f, weight: float, constant: float = 0.0):
        """log of the sum over data (the last axis) of weight l, plus `constant`; -inf for a perfect fit."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if not self.tailed:
                return np.log(weight * np.sum(self.value(y, f), axis=-1) + constant)
            total = np.logaddexp.reduce(self.log_value(y * f), axis=-1) + np.log(weight) + self.log_factor
            return np.logaddexp(total, np.log(constant))


def function(text: str, arguments: str, names: Mapping[str, Any]) -> Callable:
    """A formula as a function of `arguments`, the functions in it being those of `names`."""
    return eval(f"lambda {arguments}: {text}", dict(names))


def _log_softplus(z):
    return np.where(z < -30.0, z - 0.5 * np.exp(z), np.log(np.logaddexp(0.0, z)))


NUMPY: dict[str, Callable] = {
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "softplus": lambda z: np.logaddexp(0.0, z),
    "log_softplus": _log_softplus,
    "positive": lambda z: np.maximum(z, 0.0),
}

_LOGISTIC = Loss(
    name="logistic",
    code=1,
    text="log(1+e^-yf)",
    linear=Formulas(
        value="c * softplus(-y * f)",
        force="c * y / (1.0 + exp(y * f))",
        curvature="c / (2.0 + exp(y * f) + exp(-y * f))",
    ),
    tail=Formulas(
        value="log_softplus(-z)",
        force="-softplus(z)",
        curvature="-softplus(z) - softplus(-z)",
    ),
)

_ROWS = (
    Loss(
        name="square",
        code=0,
        text="(1/2)(f-y)^2",
        linear=Formulas(
            value="0.5 * c * (f - y) ** 2",
            force="c * (y - f)",
            curvature="c",
        ),
        labels="numbers",
        quadratic=True,
    ),
    _LOGISTIC,
    replace(_LOGISTIC, name="logistic2", code=2, text="2 log(1+e^-yf)", factor=2.0),
    Loss(
        name="exponential",
        code=3,
        text="e^-yf",
        linear=Formulas(
            value="c * exp(-y * f)",
            force="c * y * exp(-y * f)",
            curvature="c * exp(-y * f)",
        ),
        tail=Formulas(value="-z", force="-z", curvature="-z"),
    ),
    # Its curvature jumps where a margin passes 1: steps and stretches end there.
    Loss(
        name="hinge2",
        code=4,
        text="(1/2)max(0,1-yf)^2",
        linear=Formulas(
            value="0.5 * c * positive(1.0 - y * f) ** 2",
            force="c * y * positive(1.0 - y * f)",
            curvature="c * (y * f < 1.0)",
        ),
        kink=1.0,
    ),
)

LOSSES: dict[str, Loss] = {row.name: row for row in _ROWS}


@dataclass(frozen=True)
class Softmax:
    r"""The cross-entropy of k classes: l = -log p_y = softplus(s), s = log sum_{c != y} e^{f_c - f_y}.

    `y` is one-hot (n, k) and `f` has the shape (..., n, k). As for other losses with a tail, logarithms hold where the
    numbers underflow; 1 - p_y is the sum of the other p.
    """

    name: str = "softmax"
    code: int = 5
    text: str = "-log(e^f_y / sum_c e^f_c)"
    factor: float = 1.0
    labels: str = "classes"
    quadratic: bool = False
    tailed: bool = True

    @property
    def log_factor(self) -> float:
        return float(np.log(self.factor))

    def _lead(self, y, f):
        """s of every datum, minus the margin for two classes."""
        own = np.sum(y * f, axis=-1, keepdims=True)
        return np.logaddexp.reduce(np.where(y > 0.0, -np.inf, f - own), axis=-1)

    def value(self, y, f, c=1.0):
        """c l, (..., n)."""
        return c * self.factor * np.logaddexp(0.0, self._lead(y, f))

    def force(self, y, f, c=1.0):
        """c (e_y - p), (..., n, k)."""
        p = np.exp(f - np.logaddexp.reduce(f, axis=-1, keepdims=True))
        others = np.where(y > 0.0, 0.0, p)
        own = np.sum(others, axis=-1, keepdims=True)
        return c * self.factor * (np.where(y > 0.0, own, 0.0) - others)

    def log_value(self, y, f):
        """log l, (..., n), without `log_factor`."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return _log_softplus(self._lead(y, f))

    def log_total(self, y, f, weight: float, constant: float = 0.0):
        """log of the sum over data (the last axis but one) of weight l, plus `constant`."""
        with np.errstate(divide="ignore"):
            total = np.logaddexp.reduce(self.log_value(y, f), axis=-1) + np.log(weight) + self.log_factor
            return np.logaddexp(total, np.log(constant))


SOFTMAX = Softmax()
TABLE: dict[str, Loss | Softmax] = {**LOSSES, SOFTMAX.name: SOFTMAX}
