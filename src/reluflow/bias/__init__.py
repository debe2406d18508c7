"""Implicit bias: minimum norm, maximum margin, kernel and extremal directions, to compare with the limit of training.

Each is imported when first used, so that the convex solver is loaded only where it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reluflow._lazy import by_file, lazily

_NAMES = by_file(
    min_norm="min_norm",
    optimal="optimal",
    max_margin="max_margin",
    kernel="kernel lazy_rich kernel_path",
    extremal="extremal",
    landscape="landscape saddles",
    report="report",
    patterns="patterns",
)

__all__ = [*_NAMES]

lazily(__name__, _NAMES)

if TYPE_CHECKING:
    from reluflow.bias.extremal import extremal as extremal
    from reluflow.bias.kernel import kernel as kernel
    from reluflow.bias.kernel import kernel_path as kernel_path
    from reluflow.bias.kernel import lazy_rich as lazy_rich
    from reluflow.bias.landscape import landscape as landscape
    from reluflow.bias.landscape import saddles as saddles
    from reluflow.bias.max_margin import max_margin as max_margin
    from reluflow.bias.min_norm import min_norm as min_norm
    from reluflow.bias.optimal import optimal as optimal
    from reluflow.bias.patterns import patterns as patterns
    from reluflow.bias.report import report as report
