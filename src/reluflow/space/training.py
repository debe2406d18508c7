"""The network and its training: what every member of a space has in common, and how its start is drawn."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from reluflow._checks import number, one_of
from reluflow._schema import near
from reluflow.init import LOG_MIN
from reluflow.problem import LeakyReLU

STARTS = ("balanced", "covering", "fixed_output", "free")
LOG_T1 = 18.0  # log of the end time of losses with a tail, at least; 8 more than log |log scale|


@dataclass(frozen=True)
class Training:
    """`width` neurons (a number, or several from small to large), started as `init` says at e^`log_scale`.

    `init`: "balanced", a_j = s_j |w_j|; "covering", the same with a neuron of each sign that is active on its whole
    class (orthonormal data); "fixed_output", a_j = +-1/width; "free", any a_j. `log_scale`: a number; (low, high), a
    range searched; or "min2024", "boursier2022:2", for scales that a paper's conditions (up to a phase) admit. `step`
    makes it descent. The rest are arguments of `rf.Problem`, `rf.Flow` and `rf.solve`.
    """

    width: Any = (2, 4)
    init: str = "balanced"
    log_scale: Any = -20.0
    loss: str = "square"
    reduction: str = "mean"
    slope: float = 0.0
    train: str = "both"
    rtol: float = 1e-8
    step: Any = None
    t1: float | None = None
    log_t1: float | None = None

    def __post_init__(self):
        from reluflow.space.core import sizes

        put = lambda name, value: object.__setattr__(self, name, value)
        put("width", sizes("width", self.width))
        one_of("init", self.init, STARTS)
        put("log_scale", _scale(self.log_scale))
        put("step", _step(self.step))
        LeakyReLU(self.slope)
        number("rtol", self.rtol, rule="in [1e-13, 1e-2]", ok=lambda v: 1e-13 <= v <= 1e-2, hint="1e-8 suits most uses")

    # The start --------------------------------------------------------------------------------------------------------

    def count(self, width: int, d: int) -> int:
        """How many entries of u the start takes: weights, signs or output weights, scale, step."""
        return width * d + width + 2

    def start(self, u: np.ndarray, x: np.ndarray, y: np.ndarray, width: int):
        """(w, s): mantissas and signs (or output weights) of `width` neurons."""
        d = x.shape[1]
        w, s = u[: width * d].reshape(width, d).copy(), u[width * d : width * (d + 1)].copy()
        if self.init == "free":
            return w, s
        if self.init == "fixed_output":
            return w, np.where(np.arange(width) < (width + 1) // 2, 1.0, -1.0)
        s = np.where(s >= 0, 1.0, -1.0)
        if self.init == "covering":
            for j, sign in enumerate((1.0, -1.0)[:width]):
                s[j] = sign
                on = np.sign(y) == sign
                w[j, : len(y)][on] = np.abs(w[j, : len(y)][on])
        return w, s

    def covers(self, x: np.ndarray, y: np.ndarray, w: np.ndarray, s: np.ndarray) -> bool:
        """Whether a start is of the kind: for "covering", each class has a neuron of its sign active on all of it."""
        if self.init == "fixed_output":
            return len(s) % 2 == 0 and bool(np.sum(s) == 0)
        if self.init != "covering":
            return True
        active = w @ x.T > 0
        return all(
            np.any((s == sign) & np.all(active[:, np.sign(y) == sign], axis=1)) for sign in np.unique(np.sign(y))
        )

    def scale(self, v: float, problem) -> float:
        """log of the scale from one normal number; `problem(log_scale)` is used where a paper sets the scale."""
        if isinstance(self.log_scale, float):
            return self.log_scale
        if isinstance(self.log_scale, tuple):
            low, high = self.log_scale
            a, b = np.log(-high), np.log(-low)
            return -float(np.exp(np.clip(0.5 * (a + b) + 0.3 * (b - a) * v, a, b)))
        from reluflow.papers import _found

        paper, _, stage = self.log_scale.partition(":")
        most = _found.module(paper, "_standard").admitted(problem(-1.0), stage)
        return max(float(most - np.exp(v)), LOG_MIN)

    def step_size(self, v: float) -> float | None:
        if isinstance(self.step, tuple):
            low, high = np.log(self.step)
            return float(np.exp(np.clip(0.5 * (low + high) + 0.3 * (high - low) * v, low, high)))
        return self.step


def training(family: str, options: dict) -> Training:
    """The record of the keywords that a function of `rf.space` was given."""
    known = [f.name for f in fields(Training)]
    for name in options:
        if name not in known:
            raise TypeError(f"`rf.space.{family}` takes no argument `{name}`: {near(name, known)}")
    return Training(**options)


def _step(value) -> float | tuple[float, float] | None:
    if isinstance(value, list | tuple):
        if len(value) != 2 or not 0 < value[0] < value[1]:
            raise ValueError(f"`step` must be a range 0 < low < high, got {value!r}: for instance (0.001, 0.1).")
        return float(value[0]), float(value[1])
    positive = lambda v: 0 < v < np.inf
    return (
        None if value is None else number("step", value, rule="positive", ok=positive, hint="left out, it is the flow")
    )


def _scale(value) -> float | tuple[float, float] | str:
    if isinstance(value, str):
        from reluflow.papers import _found

        known = [p for p in _found.names() if (_found.folder(p) / "_standard.py").is_file()]
        paper = value.partition(":")[0]
        if paper not in known or not hasattr(_found.module(paper, "_standard"), "admitted"):
            raise ValueError(
                f'`log_scale` must be a number, a range (low, high) or a paper with a largest scale, got "{value}": '
                'try -100.0, or "min2024".'
            )
        return value
    if isinstance(value, list | tuple):
        if len(value) != 2 or not value[0] < value[1] < 0:
            raise ValueError(
                f"`log_scale` must be a range low < high < 0, got {value!r}: for instance (-1000.0, -5.0)."
            )
        return float(value[0]), float(value[1])
    hint = "it is a natural logarithm: -100.0 is e^-100"
    return number("log_scale", value, rule="a finite number", ok=np.isfinite, hint=hint)
