"""Conjectures and theorems under attack: a search for a run that meets every hypothesis and violates a claim."""

from typing import TYPE_CHECKING

from reluflow._lazy import lazily

_NAMES = {"falsify": "driver", "Finding": "finding"}

__all__ = ["Finding", "falsify"]

lazily(__name__, _NAMES)

if TYPE_CHECKING:
    from reluflow.falsify.driver import falsify as falsify
    from reluflow.falsify.finding import Finding as Finding
