"""Quantities derived from a run, found once and kept while the run is one of the last few judged.

What is derived from a run holds the run, so a cache that lives as long as the run would never be freed. This one has
`MOST` runs, and its keys are weak: a number of memory that is used again by another run is never taken for the first.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

T = TypeVar("T")

MOST = 8  # runs

_of: OrderedDict[int, tuple[weakref.ref, dict]] = OrderedDict()


def kept(run: object, key: Hashable, make: Callable[[], T]) -> T:
    """What `make` returned for this run and key the first time."""
    known = _of.pop(id(run), None)
    found = known[1] if known is not None and known[0]() is run else {}
    _of[id(run)] = (weakref.ref(run), found)
    while len(_of) > MOST:
        _of.popitem(last=False)
    if key not in found:
        found[key] = make()
    return found[key]
