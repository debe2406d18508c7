"""What is trained: data, initial weights, loss, activation, which layers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from reluflow._checks import by_name, number, one_of
from reluflow.data.core import Data
from reluflow.init import Params
from reluflow.losses import LOSSES


@by_name
@dataclass(frozen=True)
class LeakyReLU:
    """s(z) = z for z > 0 and slope * z below; `at_zero` is the derivative at 0 that descent uses (flows resolve it
    themselves)."""

    slope: float
    at_zero: float | None = None

    def __post_init__(self):
        inside = dict(rule="in [0, 1]", ok=lambda v: 0.0 <= v <= 1.0, hint="0 is ReLU and 1 is linear")
        object.__setattr__(self, "slope", number("slope", self.slope, **inside))
        at_zero = self.slope if self.at_zero is None else number("at_zero", self.at_zero, **inside)
        object.__setattr__(self, "at_zero", at_zero)


@by_name
def ReLU(at_zero: float = 0.0) -> LeakyReLU:
    """max(z, 0), with derivative `at_zero` at 0 in descent (0 by default; Kou et al. use 1)."""
    return LeakyReLU(0.0, at_zero)


@by_name
@dataclass(frozen=True, eq=False)
class Problem:
    """f(x) = sum_j a_j s(<w_j, x>) trained on `data` from `init`.

    `loss` is "square" (1/2)(f-y)^2, "logistic" log(1+e^-yf), "logistic2" twice that, "exponential" e^-yf, or any other
    row of `reluflow.losses`; `reduction` takes their "mean" or "sum"; `train` moves "both" layers or the "first" alone.
    """

    data: Data
    init: Params
    loss: str = "square"
    reduction: str = "mean"
    activation: LeakyReLU = field(default_factory=ReLU)
    train: str = "both"

    def __post_init__(self):
        if not isinstance(self.data, Data):
            raise TypeError(f"`data` must be an rf.Data, got {type(self.data).__name__}: write `rf.Data(x, y)`.")
        if not isinstance(self.init, Params):
            raise TypeError(
                f"`init` must be an rf.Params, got {type(self.init).__name__}: try `rf.init.balanced(...)`."
            )
        if not isinstance(self.activation, LeakyReLU):
            raise TypeError(f"`activation` must be rf.ReLU() or rf.LeakyReLU(slope), got {self.activation!r}.")
        one_of("loss", self.loss, LOSSES)
        one_of("reduction", self.reduction, ("mean", "sum"))
        one_of("train", self.train, ("both", "first"))
        if self.init.dim != self.data.d:
            raise ValueError(
                f"`init` must have the data's dimension, got {self.init.dim} for d = {self.data.d}: use `dim=data.d`."
            )
        if LOSSES[self.loss].labels == "signs" and not np.all(np.abs(self.data.y) == 1.0):
            bad = self.data.y[np.abs(self.data.y) != 1.0][0]
            raise ValueError(
                f'Labels must be +1 or -1 for the {self.loss} loss, got {bad}: relabel, or use `loss="square"`.'
            )
        if self.train == "first":
            low = min(s.min() for s in self.init.log_scales)
            if low < -700.0:
                raise ValueError(
                    f"`log_scale` must be >= -700 when only the first layer is trained, got {low:.6g}: "
                    "there events happen at times of the order of the scale itself."
                )

    @property
    def weight(self) -> float:
        """What multiplies each datum's loss: 1/n for the mean, 1 for the sum."""
        return 1.0 / self.data.n if self.reduction == "mean" else 1.0

    @property
    def tailed(self) -> bool:
        """Whether the loss only vanishes at infinity."""
        return LOSSES[self.loss].tailed

    def __repr__(self) -> str:
        slope = "" if self.activation.slope == 0 else f", slope={self.activation.slope:g}"
        first = "" if self.train == "both" else ", train=first"
        return f"Problem({self.data!r}, {self.init!r}, {self.reduction} {self.loss}{slope}{first})"
