"""What is trained: data, initial weights, loss, activation, which layers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from reluflow._checks import by_name, number, one_of
from reluflow.data.core import Data, class_count, one_hot
from reluflow.init import Params
from reluflow.losses import TABLE, Softmax


def _share(name: str, value: float) -> float:
    return number(name, value, rule="in [0, 1]", ok=lambda v: 0.0 <= v <= 1.0, hint="0 is ReLU and 1 is linear")


@by_name
@dataclass(frozen=True)
class LeakyReLU:
    """s(z) = z for z > 0 and slope * z below; `at_zero` is the derivative at 0 used by descent (flows decide
    it by the dynamics)."""

    slope: float
    at_zero: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "slope", _share("slope", self.slope))
        object.__setattr__(self, "at_zero", self.slope if self.at_zero is None else _share("at_zero", self.at_zero))


@by_name
@dataclass(frozen=True)
class ReLU:
    """max(z, 0), with derivative `at_zero` at 0 in descent (0 by default; Kou et al. use 1)."""

    at_zero: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "at_zero", _share("at_zero", self.at_zero))

    @property
    def slope(self) -> float:
        """The slope below 0."""
        return 0.0


Activation = ReLU | LeakyReLU
BY_NAME: dict[str, Activation] = {"relu": ReLU(), "linear": LeakyReLU(1.0)}


def as_activation(value: Activation | str) -> Activation:
    """An activation as it is, or the one of that name."""
    if isinstance(value, str):
        return BY_NAME[one_of("activation", value, BY_NAME)]
    if not isinstance(value, Activation):
        raise TypeError(f"`activation` must be rf.ReLU() or rf.LeakyReLU(slope), got {value!r}.")
    return value


def activation_of(slope: float, at_zero: float | None = None) -> Activation:
    """The activation with this slope below 0."""
    return LeakyReLU(slope, at_zero) if slope else ReLU(at_zero or 0.0)


@by_name
@dataclass(frozen=True, eq=False)
class Problem:
    """f(x) = sum_j a_j s(<w_j, x>) trained on `data` from `init`.

    `loss` is "square" (1/2)(f-y)^2, "logistic" log(1+e^-yf), "logistic2" twice that, "exponential" e^-yf, or any other
    row of `reluflow.losses`; `reduction` is the "mean" or the "sum" over the data; `activation` is `rf.ReLU()`,
    `rf.LeakyReLU(slope)`, "relu" or "linear"; `train` is "both" layers or the "first" alone.

    A network with k outputs (`rf.init.balanced(..., outputs=k)`) has the loss "square" with labels of shape (n, k),
    (1/2)|f-y|^2, or "softmax", the cross-entropy of classes 0 to k - 1.

    `decay` > 0 adds (decay / 2) |theta|^2 to what is minimised, theta being the weights that are trained; `loss` and
    `log_loss` of a run stay those of the data.
    """

    data: Data
    init: Params
    loss: str = "square"
    reduction: str = "mean"
    activation: Activation = field(default_factory=ReLU)
    train: str = "both"
    # Left out it is 0; None leaves the keys of experiments as they were without it.
    decay: float = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.data, Data):
            raise TypeError(f"`data` must be an rf.Data, got {type(self.data).__name__}: write `rf.Data(x, y)`.")
        if not isinstance(self.init, Params):
            raise TypeError(
                f"`init` must be an rf.Params, got {type(self.init).__name__}: try `rf.init.balanced(...)`."
            )
        object.__setattr__(self, "activation", as_activation(self.activation))
        one_of("loss", self.loss, TABLE)
        one_of("reduction", self.reduction, ("mean", "sum"))
        one_of("train", self.train, ("both", "first"))
        decay = number(
            "decay",
            0.0 if self.decay is None else self.decay,
            rule="finite and >= 0",
            ok=lambda v: 0.0 <= v < np.inf,
            hint="it multiplies |theta|^2 / 2; 1e-3 is a usual value",
        )
        object.__setattr__(self, "decay", decay)
        if self.init.dim != self.data.d:
            biases = "if the network has biases, use `data.with_bias()`, otherwise " * (
                self.init.dim == self.data.d + 1
            )
            raise ValueError(
                f"`init` must have the data's dimension, got {self.init.dim} for d = {self.data.d}: {biases}draw it "
                "with `rf.init.balanced(..., dim=data.d)`."
            )
        self._fits_outputs()
        if TABLE[self.loss].labels == "signs" and not np.all(np.abs(self.data.y) == 1.0):
            bad = self.data.y[np.abs(self.data.y) != 1.0][0]
            way_out = 'relabel, or use `loss="square"`'
            if self.data.classes is not None:
                way_out = 'use `loss="softmax"` for classes, or relabel'
            raise ValueError(f"Labels must be +1 or -1 for the {self.loss} loss, got {bad}: {way_out}.")
        if self.train == "first":
            low = min(s.min() for s in self.init.log_scales)
            if low < -700.0:
                raise ValueError(
                    f"`log_scale` must be >= -700 when only the first layer is trained, got {low:.6g}: "
                    "there events happen at times of the order of the scale itself."
                )

    def _fits_outputs(self) -> None:
        """Refuses a network whose number of outputs is not that of the labels."""
        have, want, labels = self.init.outputs, self.data.outputs, TABLE[self.loss].labels
        if labels == "signs" and (have > 1 or want > 1):
            raise ValueError(
                f"The {self.loss} loss is for one output, got {max(have, want)}: with several outputs use "
                '`loss="square"` or, for classes, `loss="softmax"`.'
            )
        if labels == "classes":
            if want > 1:
                raise ValueError(
                    f"Labels must be classes, whole numbers of shape (n,), for the softmax loss, got shape "
                    f"{self.data.y.shape}: use `y.argmax(axis=1)` if they are one-hot."
                )
            want = max(2, class_count(self.data.y), len(self.data.classes or ()))
            if have < want:
                raise ValueError(
                    f"`init` must have an output for each of the {want} classes of the softmax loss, got {have}: use "
                    f"`rf.init.balanced(..., outputs={want})`."
                )
        elif have != want:
            classes = ' (or `loss="softmax"`, if the labels are classes)' if want == 1 else ""
            raise ValueError(
                f"`init` must have as many outputs as the labels, got {have} for {want}: use `outputs={want}`{classes}."
            )
        if have > 1 and self.init.fixed is not None:
            raise ValueError(
                f"Fixed weights, such as an output bias, are for one output, got {have}: use a last Linear with "
                "`bias=False`, or omit `fixed`."
            )

    @property
    def outputs(self) -> int:
        """The number of outputs of the network."""
        return self.init.outputs

    @property
    def targets(self) -> np.ndarray:
        """Labels as the loss compares them with the outputs, (n, k): as given, or one-hot for classes."""
        y = self.data.y
        if TABLE[self.loss].labels == "classes":
            return one_hot(y, self.outputs)
        return y.reshape(self.data.n, self.outputs)

    def log_loss(self, f: np.ndarray) -> np.ndarray:
        """log of the loss for outputs `f` (..., n), or (..., n, k) with several outputs."""
        row = TABLE[self.loss]
        if isinstance(row, Softmax):
            return row.log_total(self.targets, f, self.weight)
        f = np.asarray(f)
        if self.outputs > 1:
            f = f.reshape(*f.shape[:-2], -1)
        return row.log_total(self.data.y.ravel(), f, self.weight)

    def with_rates(self, w: float = 1.0, a: float = 1.0) -> Problem:
        """The problem whose flow (and descent) is this one's with the layers learning at rates `w` and `a`.

        w_j' = rate_w a_j D_j, a_j' = rate_a <D_j, w_j> is the plain flow of inputs times sqrt(rate_w rate_a), weights
        w_j / sqrt(rate_w) and a_j / sqrt(rate_a): outputs are the same, weights are read off in these units. With
        `train="first"` only `w` counts. With decay the two rates must be equal: each layer would decay at its own.
        """
        rates = {"w": w, "a": a if self.train == "both" else 1.0}
        for name, value in rates.items():
            hint = 'to leave the output weights where they are use `train="first"`'
            rates[name] = number(name, value, rule="positive and finite", ok=lambda v: 0.0 < v < np.inf, hint=hint)
        w, a = rates["w"], rates["a"]
        if self.decay > 0.0 and self.train == "both" and w != a:
            raise ValueError(
                f"`with_rates` needs equal rates when `decay` > 0, got {w:g} and {a:g}: the layers would decay at "
                "different rates, which is not supported."
            )
        data = Data(self.data.x * np.sqrt(w * a), self.data.y, name=self.data.name, classes=self.data.classes)
        log_w, log_a = self.init.log_scales
        init = Params(self.init.w, self.init.a, log_scale=log_w - 0.5 * np.log(w), log_scale_a=log_a - 0.5 * np.log(a))
        return replace(self, data=data, init=init, decay=self.decay * w)

    @property
    def weight(self) -> float:
        """What multiplies each datum's loss: 1/n for the mean, 1 for the sum."""
        return 1.0 / self.data.n if self.reduction == "mean" else 1.0

    @property
    def tailed(self) -> bool:
        """Whether the loss reaches its minimum only at infinity."""
        return TABLE[self.loss].tailed

    @property
    def endless(self) -> bool:
        """Whether the flow goes on for ever: an exponential tail without decay. Its clock is then log(1 + t)."""
        return self.tailed and self.decay == 0.0

    def __repr__(self) -> str:
        slope = "" if self.activation.slope == 0 else f", slope={self.activation.slope:g}"
        first = "" if self.train == "both" else ", train=first"
        decay = "" if self.decay == 0 else f", decay={self.decay:g}"
        return f"Problem({self.data!r}, {self.init!r}, {self.reduction} {self.loss}{slope}{first}{decay})"
