"""What the limit of training is compared with: minimum norm, maximum margin, kernel, extremal directions.

Each is imported when first used, so that the convex solver is loaded only where it is needed.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

_NAMES = {
    "min_norm": "min_norm",
    "max_margin": "max_margin",
    "kernel": "kernel",
    "lazy_rich": "kernel",
    "kernel_path": "kernel",
    "extremal": "extremal",
    "landscape": "landscape",
    "saddles": "landscape",
    "report": "report",
    "patterns": "patterns",
}

__all__ = [*_NAMES]


def __getattr__(name: str):
    if name in _NAMES:
        value = getattr(importlib.import_module(f"reluflow.bias.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'reluflow.bias' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)


class _Package(ModuleType):
    """Importing `reluflow.bias.min_norm` must not put the module where the function is looked for."""

    def __setattr__(self, name, value):
        if not (name in _NAMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


if TYPE_CHECKING:
    from reluflow.bias.extremal import extremal as extremal
    from reluflow.bias.kernel import kernel as kernel
    from reluflow.bias.kernel import kernel_path as kernel_path
    from reluflow.bias.kernel import lazy_rich as lazy_rich
    from reluflow.bias.landscape import landscape as landscape
    from reluflow.bias.landscape import saddles as saddles
    from reluflow.bias.max_margin import max_margin as max_margin
    from reluflow.bias.min_norm import min_norm as min_norm
    from reluflow.bias.patterns import patterns as patterns
    from reluflow.bias.report import report as report
