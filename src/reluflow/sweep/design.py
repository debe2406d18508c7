"""The points of a sweep. A point assigns values to some dotted keys; points are numbered from 0.

    grid      every combination of the lists, the last key fastest: one dimension per key
    list      the k-th value of every list: one dimension, `point`
    random    `points` independent draws: one dimension, `point`
    latin     the same, stratified: each of `points` equal slices of every range has one draw (Latin hypercube)

In the last two a list gives the range to draw from: `[low, high]` with decimal points is an interval, `[0, 99]` without
them every whole number from 0 to 99, `["log", 1e-4, 1e-1]` an interval on a logarithmic scale, and any other list its
members. Draws come from `default_rng([seed, 4])`, key after key.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from reluflow._checks import one_of, whole
from reluflow._schema import plain, show

DESIGNS = ("grid", "list", "random", "latin")
TAG = 4


@dataclass(frozen=True)
class Design:
    """`over` maps dotted keys to lists; `points` and `seed` are for random and latin designs."""

    over: Mapping[str, list]
    kind: str = "grid"
    points: int | None = None
    seed: int = 0

    def __post_init__(self):
        one_of("design", self.kind, DESIGNS)
        over = {str(k): _values(str(k), v) for k, v in self.over.items()}
        if not over:
            raise ValueError("`over` must name at least one dotted key, got none: as in `{'init.seed': range(20)}`.")
        object.__setattr__(self, "over", over)
        whole("seed", self.seed, least=0, hint="any non-negative seed")
        if self.drawn:
            if self.points is None:
                raise ValueError(f"`points` is required for a {self.kind} design: give the number of points.")
            whole("points", self.points, least=1, hint="the number of points to draw")
        elif self.points is not None:
            raise ValueError(f"`points` must be omitted for a {self.kind} design, got {self.points}.")
        if self.kind == "list" and len({len(v) for v in over.values()}) > 1:
            sizes = ", ".join(f"{len(v)} of `{k}`" for k, v in over.items())
            raise ValueError(f"Lists must be equally long for a list design, got {sizes}: or use a grid.")
        if self.kind == "grid":
            for key, values in over.items():
                texts = [json.dumps(v) for v in values]
                if len(set(texts)) < len(texts):
                    twice = next(t for t in texts if texts.count(t) > 1)
                    raise ValueError(f"`{key}` must have each value once in a grid, got {twice} again: drop it.")

    @property
    def drawn(self) -> bool:
        return self.kind in ("random", "latin")

    @property
    def shape(self) -> tuple[int, ...]:
        if self.kind == "grid":
            return tuple(len(v) for v in self.over.values())
        return (self.points if self.points is not None else len(next(iter(self.over.values()))),)

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(self.over) if self.kind == "grid" else ("point",)

    def __len__(self) -> int:
        return int(np.prod(self.shape))

    def __getitem__(self, index: int) -> dict[str, Any]:
        """The values of one point, kinds first, because they determine which other keys exist."""
        if self.kind == "grid":
            where = np.unravel_index(index, self.shape)
            values = {k: v[int(i)] for (k, v), i in zip(self.over.items(), where)}
        else:
            values = {k: v[index] for k, v in self._columns.items()}
        return dict(sorted(values.items(), key=lambda kv: not kv[0].endswith("kind")))

    @cached_property
    def _columns(self) -> dict[str, list]:
        if self.kind == "list":
            return dict(self.over)
        rng, n = np.random.default_rng([self.seed, TAG]), self.shape[0]
        found = {}
        for key, what in self.over.items():
            u = rng.random(n)
            if self.kind == "latin":
                u = (rng.permutation(n) + u) / n
            found[key] = _drawn(key, what, u)
        return found

    def coordinates(self) -> dict[str, tuple[str, np.ndarray]]:
        """Every key's values along its dimension; non-numeric values as text."""
        columns = self.over if self.kind == "grid" else self._columns
        return {k: (k if self.kind == "grid" else "point", _labels(v)) for k, v in columns.items()}

    def to_dict(self) -> dict:
        return {"design": self.kind, "points": self.points, "seed": self.seed, "over": dict(self.over)}


def _values(key: str, given) -> list:
    values = plain(list(given) if isinstance(given, range | tuple) else given)
    if not isinstance(values, list) or not values:
        raise ValueError(f"`{key}` in `over` must be a list of values, got {show(given)}: put it in [ ].")
    return values


def _drawn(key: str, what: list, u: np.ndarray) -> list:
    """Uniform numbers in [0, 1) as draws from a range or from the members of a list."""
    log = what[0] == "log"
    ends = what[1:] if log else what
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in ends)
    if log and not (numbers and len(ends) == 2 and 0 < ends[0] < ends[1]):
        raise ValueError(f'`{key}` must be ["log", low, high] with 0 < low < high, got {show(what)}: correct the ends.')
    if not numbers or len(ends) != 2:
        return [what[int(k)] for k in np.floor(u * len(what))]
    low, high = ends
    if not low < high:
        raise ValueError(f"`{key}` must be a range [low, high] with low < high, got {show(what)}: swap the ends.")
    if log:
        return np.exp(np.log(low) + u * (np.log(high) - np.log(low))).tolist()
    if isinstance(low, int) and isinstance(high, int):
        return [low + int(k) for k in np.floor(u * (high - low + 1))]
    return (low + u * (high - low)).tolist()


def _labels(values: list) -> np.ndarray:
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return np.array(values)
    return np.array([v if isinstance(v, str) else json.dumps(v) for v in values])
