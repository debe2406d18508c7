r"""A two-layer PyTorch model as rows w_j and output weights a_j, whatever class it is written as.

    second(activation(first(x))):    f(x) = sum_j a_j s(<w_j, x>),   a_j a number, or in R^k for k outputs

The two Linear modules are found by name and the slope of the activation is measured, so that `torch.relu(self.fc1(x))`
in a class of one's own is read like `torch.nn.Sequential`. What was found is compared with the model's own outputs.

A bias of the first Linear is one more entry of w_j, against a last column of ones in x. A bias of the second is the
output weight of a last neuron w = (0, ..., 0, 1) whose w is not trained (`Params.fixed`): a constant that is trained.
"""

from typing import Any, NamedTuple

import numpy as np

from reluflow.data.core import Data
from reluflow.init import Params
from reluflow.problem import Activation, activation_of

PROBES = 64  # random inputs on which a model is compared with its layers


class Layers(NamedTuple):
    """The two Linear modules, their names in the model, and the activation between them."""

    first: Any
    activation: Activation
    second: Any
    names: tuple[str, str]

    @property
    def biased(self) -> bool:
        """Whether inputs get a column of ones."""
        return self.first.bias is not None or self.second.bias is not None

    def __str__(self) -> str:
        slope = self.activation.slope
        s = "relu" if slope == 0.0 else "identity" if slope == 1.0 else f"leaky_relu({slope:g})"
        return f"{self.names[1]}({s}({self.names[0]}(x)))"


def import_torch():
    """PyTorch, or an error that names the extra to install."""
    try:
        import torch
    except ImportError:
        raise ImportError("Watching a PyTorch model needs torch: install `reluflow[torch]`.") from None
    return torch


def layers(model, x=None) -> Layers:
    """The parts of `model`, compared with its outputs for `x` or for random inputs; one sentence if it has others."""
    nn = import_torch().nn
    if not isinstance(model, nn.Module):
        raise TypeError(f"`model` must be a torch.nn.Module, got {type(model).__name__}.")
    parts = [(name, part) for name, part in model.named_modules() if not list(part.children())]
    linear = [(name, part) for name, part in parts if isinstance(part, nn.Linear)]
    silent = (nn.Linear, nn.ReLU, nn.LeakyReLU, nn.Identity, nn.Flatten)
    other = [part for _, part in parts if not isinstance(part, silent) and not _idle(part)]
    if len(linear) != 2 or other:
        kinds = ", ".join(type(part).__name__ for _, part in parts) or "nothing"
        raise ValueError(
            f"`model` must have two Linear layers with ReLU or LeakyReLU between them, got {kinds}: "
            "other layers are not supported."
        )
    ours = {id(p) for _, part in linear for p in part.parameters()}
    extra = [name for name, p in model.named_parameters() if id(p) not in ours]
    if extra:
        raise ValueError(f"`model` must have the weights of its two Linear layers alone, got `{extra[0]}` besides.")
    found = _in_order(linear)
    if found[1][1].out_features > 1 and found[1][1].bias is not None:
        raise ValueError(
            f"`model` must have no output bias with several outputs, got one with {found[1][1].out_features}: use a "
            "last Linear with `bias=False`."
        )
    (one, first), (two, second) = found
    _trained(first, second, (one, two))
    return Layers(first, _activation(model, parts, (first, second), x), second, (one, two))


def _idle(part) -> bool:
    """A Dropout that drops nothing."""
    return hasattr(part, "p") and part.p == 0.0 and type(part).__name__.startswith("Dropout")


def _in_order(linear: list) -> list:
    """First and second layer: the second takes what the first gives; two that fit both ways are in order of
    definition."""
    (_, one), (_, two) = linear
    if one.out_features != two.in_features and two.out_features == one.in_features:
        return linear[::-1]
    if one.out_features != two.in_features:
        raise ValueError(
            f"`model` must have a second Linear that takes what the first gives, got {one.out_features} outputs and "
            f"{two.in_features} inputs."
        )
    return linear


def _trained(first, second, names: tuple[str, str]) -> None:
    """Only the whole output layer may be frozen."""
    grad = lambda p: p is None or p.requires_grad
    for p, name in ((first.weight, "weight"), (first.bias, "bias")):
        if not grad(p):
            raise ValueError(f"`{names[0]}.{name}` must be trained, got requires_grad=False: this is not supported.")
    if second.bias is not None and not (grad(second.weight) and grad(second.bias)):
        raise ValueError(
            f"`{names[1]}` must be trained as a whole or have no bias, got a frozen part: use `bias=False` in it."
        )


def _activation(model, parts: list, linear: tuple, x) -> Activation:
    """The activation between the layers: its slope is measured, and the rest of `forward` must be those layers."""
    torch, (first, second) = import_torch(), linear
    weight = first.weight
    named = [p for _, p in parts if isinstance(p, torch.nn.ReLU | torch.nn.LeakyReLU)]
    slopes = [float(getattr(p, "negative_slope", 0.0)) for p in named]
    if x is None:
        x = np.random.default_rng([0, 3]).normal(size=(PROBES, first.in_features))
    x = torch.as_tensor(array(x)).to(weight)
    with torch.no_grad():
        try:
            own = array(model(x)).reshape(len(x), -1)
        except (RuntimeError, ValueError, TypeError, IndexError, AssertionError):
            if len(slopes) == 1 and isinstance(model, torch.nn.Sequential):  # made for inputs of another shape
                return activation_of(slopes[0])
            raise ValueError(
                f"`model` must take rows of {first.in_features} numbers, but its forward failed on them: give `x` as "
                "the model takes it to `rf.torch.Probe`."
            ) from None
        flat = x.reshape(len(x), -1)
        if flat.shape[1] != first.in_features:
            raise ValueError(f"`x` must have the model's {first.in_features} columns, got {flat.shape[1]}.")
        z = array(first(flat))
    a, c = array(second.weight).T, 0.0 if second.bias is None else float(array(second.bias)[0])
    on, off = np.maximum(z, 0.0) @ a + c, np.minimum(z, 0.0) @ a
    reach = np.abs(z) @ np.abs(a) + abs(c)
    rest = own - on if own.shape == on.shape else np.full(on.shape, np.inf)
    size = float(np.sum(off * off))
    fitted = float(np.sum(rest * off) / size) if size > 0 and np.all(np.isfinite(rest)) else 0.0
    eps = float(torch.finfo(weight.dtype).eps) * (sum(first.weight.shape) + 4)
    for slope in [*slopes, 0.0, 0.01, fitted]:
        if np.all(np.abs(rest - slope * off) <= eps * np.maximum(reach, 1e-300)) and 0.0 <= slope <= 1.0:
            return activation_of(slope)
    raise ValueError(
        "`model` must compute second(activation(first(x))), got other outputs: its forward does more than its two "
        "Linear layers with ReLU or LeakyReLU between them, which is not supported."
    )


def weights(found: Layers) -> tuple[np.ndarray, np.ndarray]:
    """The current (w, a), copied as float64; a is (width,), or (width, k) with k outputs."""
    w, a = array(found.first.weight), _output_weights(array(found.second.weight))
    if found.biased:
        w = np.column_stack([w, np.zeros(len(w)) if found.first.bias is None else array(found.first.bias)])
    if found.second.bias is not None:
        w = np.vstack([w, np.eye(w.shape[1])[-1]])
        a = np.append(a, array(found.second.bias))
    return w, a


def gradients(found: Layers) -> tuple[np.ndarray, np.ndarray] | None:
    """The gradients the model holds, shaped like `weights`; None where it has none."""
    used = [p for part in (found.first, found.second) for p in part.parameters() if p.requires_grad]
    if any(p.grad is None for p in used):
        return None
    grad = lambda p: np.zeros(tuple(p.shape)) if p.grad is None else array(p.grad)
    w, a = grad(found.first.weight), _output_weights(grad(found.second.weight))
    if found.biased:
        w = np.column_stack([w, np.zeros(len(w)) if found.first.bias is None else grad(found.first.bias)])
    if found.second.bias is not None:
        w, a = np.vstack([w, np.zeros(w.shape[1])]), np.append(a, grad(found.second.bias))
    return w, a


def _output_weights(weight: np.ndarray) -> np.ndarray:
    return weight[0] if len(weight) == 1 else np.ascontiguousarray(weight.T)


def fixed(found: Layers) -> np.ndarray | None:
    """Entries of w that the model does not train: the constant's neuron, and a column of ones the first layer lacks."""
    if found.second.bias is None:
        return None
    mask = np.zeros((found.first.out_features + 1, found.first.in_features + 1), bool)
    mask[-1] = True
    mask[:, -1] |= found.first.bias is None
    return mask


def array(value) -> np.ndarray:
    """A tensor or array-like as a float64 copy."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()
    return np.array(value, dtype=float)


def params_of(found: Layers) -> Params:
    """The current weights as `Params`."""
    return Params(*weights(found), fixed=fixed(found))


def from_torch(model) -> Params:
    """The weights of a two-layer PyTorch model (two Linear with ReLU or LeakyReLU between them) as `rf.Params`. The
    model may be of any class, and have several outputs.

    With biases, data need a last column of ones: `data.with_bias()`. A bias of the second Linear becomes a last neuron
    (0, ..., 0, 1) of which only the output weight is trained; such problems run by `rf.Descent` or `rf.SteppedFlow`.
    """
    return params_of(layers(model))


def as_data(found: Layers, x, y) -> Data:
    """x, y as data for this model, with a column of ones if it has biases."""
    x, y = array(x), array(y)
    x = x.reshape(len(x), -1) if x.ndim > 2 else x
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    data = Data(x, y, name="watched")
    if data.d != found.first.in_features:
        raise ValueError(f"`x` must have the model's {found.first.in_features} columns, got {data.d}.")
    return data.with_bias() if found.biased else data
