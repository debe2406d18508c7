r"""A fully connected ReLU network without biases, and the gradient of its loss.

    h_0 = x,   h_l = s(W_l h_{l-1}) for l < L,   f = W_L h_{L-1};   L(W) = (1/2n) sum_i (f(x_i) - y_i)^2

s(z) = max(z, 0) with derivative 0 at 0. Rows of `x` are inputs, so a layer is h W^T.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reluflow._checks import as_finite, number, whole


@dataclass(frozen=True, eq=False)
class Network:
    """The weights W_1, ..., W_L, each of shape (out, in); the last has one row."""

    weights: tuple[np.ndarray, ...]

    def __post_init__(self):
        weights = tuple(as_finite("weights", w, ndim=2, hint="each layer is a matrix (out, in)") for w in self.weights)
        if not weights:
            raise ValueError("`weights` must have at least one layer, got none.")
        for k, (a, b) in enumerate(pairwise(weights)):
            if b.shape[1] != a.shape[0]:
                raise ValueError(
                    f"`weights` must fit together, got shapes {a.shape} and {b.shape} for layers {k + 1} and {k + 2}: "
                    "each layer has as many columns as the one before has rows."
                )
        if weights[-1].shape[0] != 1:
            raise ValueError(f"The last layer must have one row, got {weights[-1].shape[0]}: outputs are numbers.")
        for w in weights:
            w.setflags(write=False)
        object.__setattr__(self, "weights", weights)

    @property
    def widths(self) -> tuple[int, ...]:
        """Input dimension, hidden widths, 1: what `init` takes."""
        return (self.weights[0].shape[1], *(w.shape[0] for w in self.weights))

    @property
    def depth(self) -> int:
        return len(self.weights)

    @property
    def norms(self) -> np.ndarray:
        """|W_l|, Frobenius, first layer first."""
        return np.array([np.linalg.norm(w) for w in self.weights])

    def __call__(self, x) -> np.ndarray:
        """Outputs for the rows of `x`."""
        x = as_finite("x", x, ndim=2, hint="give one row per input")
        return forward(self.weights, x)[-1][:, 0]

    def gradient(self, x, y) -> tuple[np.ndarray, ...]:
        """Of the loss (1/2n) sum_i (f(x_i) - y_i)^2."""
        x, y = as_finite("x", x, ndim=2), as_finite("y", y, ndim=1)
        return tuple(backward(self.weights, x, y)[1])

    def __repr__(self) -> str:
        return f"Network({'-'.join(map(str, self.widths))}, norm={np.linalg.norm(self.norms):.6g})"


def init(widths, std: float | tuple[float, ...], seed: int = 0) -> Network:
    """Gaussian weights with this standard deviation (one number, or one per layer), `widths` = (d, hidden ..., 1).

    Drawn by `numpy.random.default_rng(seed)`, first layer first, as `std * rng.normal(size=(out, in))`.
    """
    widths = tuple(whole("widths", k, least=1, hint="write them like (100, 50, 50, 1)") for k in widths)
    if len(widths) < 2:
        raise ValueError(f"`widths` must have an input and an output, got {widths}: write them like (100, 50, 50, 1).")
    layers = len(widths) - 1
    stds = (std,) * layers if isinstance(std, int | float) else tuple(std)
    if len(stds) != layers:
        raise ValueError(f"`std` must be one number or one per layer, got {len(stds)} for {layers} layers.")
    for k in stds:
        number("std", k, rule=">= 0 and finite", ok=lambda v: 0 <= v < np.inf, hint="it is a standard deviation")
    rng = np.random.default_rng(whole("seed", seed, least=0, hint="any non-negative seed"))
    return Network(tuple(k * rng.normal(size=(b, a)) for k, a, b in zip(stds, widths, widths[1:])))


def forward(weights, x: np.ndarray) -> list[np.ndarray]:
    """h_0, ..., h_{L-1}, f."""
    h = [x]
    for k, w in enumerate(weights):
        z = h[-1] @ w.T
        h.append(z if k + 1 == len(weights) else np.maximum(z, 0, out=z))
    return h


def backward(weights, x: np.ndarray, y: np.ndarray) -> tuple[float, list[np.ndarray]]:
    """The loss and dL/dW_l."""
    h = forward(weights, x)
    gap = h[-1] - y[:, None]
    loss = 0.5 * float(np.mean(np.square(gap, dtype=np.float64)))
    back, grads = gap / len(x), []
    for k in range(len(weights) - 1, -1, -1):
        grads.append(back.T @ h[k])
        if k:
            back = back @ weights[k]
            back *= h[k] > 0  # h > 0 exactly where its ReLU is on
    return loss, grads[::-1]
