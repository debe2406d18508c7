"""Numbers and lists as short text."""

from __future__ import annotations

import math
from collections.abc import Iterable

MOST = 8  # members of a list that are shown


def by_log(log: float) -> str:
    """A positive number given by its logarithm; e^... outside the range of float64."""
    return f"{math.exp(log):.6g}" if -700 < log < 700 or log == -math.inf else f"e^{log:.6g}"


def time(t: float, log_t: float) -> str:
    """A time; e^... where it exceeds the range of float64."""
    return f"{t:.6g}" if math.isfinite(t) else f"e^{log_t:.6g}"


def listed(items: Iterable[int]) -> str:
    """A list, shortened."""
    items = list(items)
    shown = ", ".join(map(str, items[:MOST]))
    return (f"{shown}, ... ({len(items)})" if len(items) > MOST else shown) or "none"
