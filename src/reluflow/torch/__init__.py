"""Watching a PyTorch model: `Probe(model, x, y)` in one's own loop, and `from_torch(model)` for its weights.

`import torch` is always PyTorch, also inside this package; this package is `reluflow.torch`.
"""

from reluflow.torch._model import from_torch
from reluflow.torch._probe import Probe

__all__ = ["Probe", "from_torch"]
