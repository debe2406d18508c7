"""Where a property of runs switches, by bisection."""

from __future__ import annotations

from collections.abc import Callable


def switch(low: float, high: float, true_at: Callable[[float], bool], width: float) -> float:
    """A place in [low, high] where `true_at` changes from True (at `low`) to False (at `high`), to `width`.

    NaN where the two ends do not differ in that way: no switch is claimed that was not seen from both sides.
    """
    if not true_at(low) or true_at(high):
        return float("nan")
    while high - low > width:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if true_at(middle) else (low, middle)
    return 0.5 * (low + high)
