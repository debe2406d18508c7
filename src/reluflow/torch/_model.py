r"""A two-layer PyTorch model as rows w_j and output weights a_j.

    Linear, ReLU or LeakyReLU, Linear to one output:    f(x) = sum_j a_j s(<w_j, x>)

A bias of the first Linear is one more entry of w_j, against a last column of ones in x. A bias of the second is a last
neuron w = (0, ..., 0, 1), a = bias: it reproduces the outputs, although in the model its w is not trained.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from reluflow.data.core import Data
from reluflow.init import Params
from reluflow.problem import Activation, activation_of


class Layers(NamedTuple):
    """The two Linear modules and the activation between them."""

    first: Any
    activation: Activation
    second: Any

    @property
    def biased(self) -> bool:
        """Whether inputs get a column of ones."""
        return self.first.bias is not None or self.second.bias is not None


def import_torch():
    """PyTorch, or an error that names the extra to install."""
    try:
        import torch
    except ImportError:
        raise ImportError("Watching a PyTorch model needs torch: install `reluflow[torch]`.") from None
    return torch


def layers(model) -> Layers:
    """The parts of `model`; raises a one-sentence error for other architectures."""
    nn = import_torch().nn
    if not isinstance(model, nn.Module):
        raise TypeError(f"`model` must be a torch.nn.Module, got {type(model).__name__}.")
    still = (nn.Identity, nn.Flatten)
    parts = [p for p in model.modules() if not list(p.children()) and not isinstance(p, still)]
    kinds = ", ".join(type(p).__name__ for p in parts) or "nothing"
    fits = (
        len(parts) == 3
        and isinstance(parts[0], nn.Linear)
        and isinstance(parts[1], nn.ReLU | nn.LeakyReLU)
        and isinstance(parts[2], nn.Linear)
    )
    if not fits:
        raise ValueError(
            f"`model` must be Linear, ReLU or LeakyReLU, Linear, got {kinds}: write it as torch.nn.Sequential(...) of "
            "those three."
        )
    if parts[2].out_features != 1:
        raise ValueError(
            f"`model` must have one output, got {parts[2].out_features}: multiple outputs are not supported here; "
            "watch each output on its own."
        )
    slope = float(getattr(parts[1], "negative_slope", 0.0))
    return Layers(parts[0], activation_of(slope), parts[2])


def weights(found: Layers) -> tuple[np.ndarray, np.ndarray]:
    """The current (w, a), copied as float64."""
    w, a = array(found.first.weight), array(found.second.weight)[0]
    if found.biased:
        w = np.column_stack([w, np.zeros(len(w)) if found.first.bias is None else array(found.first.bias)])
    if found.second.bias is not None:
        w = np.vstack([w, np.eye(w.shape[1])[-1]])
        a = np.append(a, array(found.second.bias))
    return w, a


def array(value) -> np.ndarray:
    """A tensor or array-like as a float64 copy."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()
    return np.array(value, dtype=float)


def from_torch(model) -> Params:
    """The weights of a two-layer PyTorch model (Linear, ReLU or LeakyReLU, Linear to one output) as `rf.Params`.

    With biases, data need a last column of ones: `data.with_bias()`. A bias of the second Linear becomes a last neuron
    (0, ..., 0, 1); in a run of this library that neuron moves like any other.
    """
    return Params(*weights(layers(model)))


def as_data(found: Layers, x, y) -> Data:
    """x, y as data for this model, with a column of ones if it has biases."""
    x, y = array(x), array(y)
    x = x.reshape(len(x), -1) if x.ndim > 2 else x
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    data = Data(x, y, name="watched")
    if data.d != found.first.in_features:
        raise ValueError(f"`x` must have the model's {found.first.in_features} columns, got {data.d}.")
    return data.with_bias() if found.biased else data
