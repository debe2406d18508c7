r"""Labels from a random ReLU network, as in Figure 6 of Boursier et al.

y = sum_j a_j max(<w_j, x>, 0),   w_jk ~ N(0, 1/(width d)),  a_j ~ N(0, 1/width),  x ~ N(0, I)
"""

from __future__ import annotations

import numpy as np

from reluflow._checks import whole
from reluflow.data import _draw
from reluflow.data.core import Data


def teacher(
    n: int = 75,
    d: int = 150,
    width: int = 6,
    seed: int = 0,
    torch_seed: int | None = None,
    outputs: int | None = None,
) -> Data:
    """Standard normal rows labelled by a random network of `width` neurons; the default sizes are those of Figure 6.

    With several `outputs` the labels are vectors: a_j has that many entries N(0, 1/width).

    `torch_seed` draws with PyTorch instead, in float32 and in the order of the authors' notebook: 4 gives the rows and
    labels of Figures 6 and 7. Drawn: w, a (`teacher_weights` gives both), then the rows.
    """
    n, (w, a), x = _draws(n, d, width, seed, torch_seed, outputs)
    return Data(x, np.maximum(x @ w.T, 0.0) @ a, name="teacher")


def teacher_weights(
    d: int = 150, width: int = 6, seed: int = 0, torch_seed: int | None = None, outputs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The teacher's (w, a) behind `teacher` with the same arguments."""
    return _draws(1, d, width, seed, torch_seed, outputs)[1]


def _draws(n, d, width, seed, torch_seed, outputs):
    n, d = _draw.rows(n), _draw.columns(d)
    width = whole("width", width, least=1, hint="a teacher needs at least one neuron")
    k = 1 if outputs is None else whole("outputs", outputs, least=1, hint="leave it out for one output")
    if torch_seed is not None and k > 1:
        raise ValueError(f"`torch_seed` is for one output, got `outputs={k}`: use `seed`.")
    if torch_seed is not None:
        return n, *_torch_draws(n, d, width, whole("torch_seed", torch_seed, least=0, hint="Figure 6 used 4"))
    rng = _draw.stream(seed)
    w, a = rng.normal(size=(width, d)) / np.sqrt(width * d), rng.normal(size=(width, k)) / np.sqrt(width)
    a = a if k > 1 else a[:, 0]
    return n, (w, a), rng.normal(size=(n, d))


def _torch_draws(n: int, d: int, width: int, seed: int):
    try:
        import torch
    except ImportError:
        raise ImportError("`torch_seed` needs PyTorch: install `reluflow[torch]`, or use `seed`.") from None
    own = torch.Generator().manual_seed(seed)  # the stream of torch.manual_seed(seed), without changing the global one
    layers = []
    for shape, std in (((width, d), 1 / np.sqrt(width * d)), ((1, width), 1 / np.sqrt(width))):
        torch.empty(shape).uniform_(generator=own)  # the random numbers that creating an nn.Linear consumes
        layers.append(torch.empty(shape).normal_(0.0, std, generator=own).double().numpy())
    x = torch.randn((n, d), generator=own).double().numpy()
    return (layers[0], layers[1][0]), x
