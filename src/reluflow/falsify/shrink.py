"""Smaller counterexamples: fewer neurons, data and columns, round scales, short decimals.

Greedy, to a fixed point. A step is taken if the numbers cost fewer characters, the problem is still a member of the
space (with no fewer data than were asked for), and the same claim is violated by at least half the excess it had:
without these it slips to zero weights, a scale of 1, or a violation of another kind.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from reluflow.falsify.judgement import VIOLATED, Judged
from reluflow.space.spec import SingleSpec, Spec

MOST = 600  # runs
SCALES = (-1.0, -2.0, -5.0, -10.0, -20.0, -50.0, -100.0, -200.0, -500.0, -1000.0, -2000.0, -5000.0, -1e4, -1e5)


def shrink(
    spec,
    first: Judged,
    space,
    evaluate: Callable,
    sound: Callable = lambda spec, found: True,
    most: int = MOST,
    fewest: int = 1,
) -> tuple[list, int]:
    """([(specification, judgement), ...] from the first to the smallest, runs it took); `sound` has the last word on a
    step, and no step leaves fewer than `fewest` data."""
    chain, runs = [(spec, first)], 0
    changed = True
    while changed and runs < most:
        changed = False
        for candidate in candidates(chain[-1][0]):
            if not _less(candidate, chain[-1][0]) or not _member(space, candidate, fewest):
                continue
            found = evaluate(candidate)
            runs += 1
            same = found.tier == VIOLATED and found.text == first.text and found.value >= 0.5 * first.value
            if same and sound(candidate, found):
                chain.append((candidate, found))
                changed = True
                break
            if runs >= most:
                break
    return chain, runs


def _less(spec, than) -> bool:
    """Fewer characters, or as many and a larger scale: that is easier to follow by other means."""
    size = lambda s: (s.characters, -getattr(s, "log_scale", 0.0))
    return size(spec) < size(than)


def _member(space, spec, fewest: int) -> bool:
    if isinstance(spec, Spec) and len(spec.x) < fewest:
        return False
    with np.errstate(all="ignore"):
        return space.holds(spec)


def candidates(spec) -> Iterator:
    """Simpler specifications, the most drastic first."""
    if isinstance(spec, SingleSpec):
        yield from _single(spec)
        return
    yield from _fewer(spec)
    if spec.w is not None:
        for log_scale in (*SCALES, *(_significant(spec.log_scale, digits) for digits in (1, 2, 3))):
            yield replace(spec, log_scale=log_scale)
        if spec.step is not None:
            for digits in (1, 2):
                yield replace(spec, step=_significant(spec.step, digits))
    names = [name for name in ("x", "y", "w", "s") if getattr(spec, name) is not None]
    for decimals in range(4):
        yield replace(spec, **{name: _round(getattr(spec, name), decimals) for name in names})
        for name in names:
            yield replace(spec, **{name: _round(getattr(spec, name), decimals)})
    for name in names:
        yield from _entries(spec, name)


def _fewer(spec: Spec) -> Iterator[Spec]:
    n, d = spec.x.shape
    if spec.w is not None and spec.s is not None:
        for j in range(len(spec.w)):
            if len(spec.w) > 1:
                yield replace(spec, w=np.delete(spec.w, j, 0), s=np.delete(spec.s, j))
        for i in range(len(spec.w)):  # fixed outputs come in pairs of opposite sign
            for j in range(i):
                if len(spec.w) > 2 and spec.s[i] * spec.s[j] < 0:
                    yield replace(spec, w=np.delete(spec.w, (i, j), 0), s=np.delete(spec.s, (i, j)))
    columns = lambda keep: None if spec.w is None else spec.w[:, keep]
    for i in range(n):
        if n > 1:
            x = np.delete(spec.x, i, 0)
            yield replace(spec, x=x, y=np.delete(spec.y, i))
            used = np.any(x != 0, axis=0)
            if not np.all(used):
                yield replace(spec, x=x[:, used], y=np.delete(spec.y, i), w=columns(used))
    for k in range(d):
        if d > 1:
            keep = np.arange(d) != k
            yield replace(spec, x=spec.x[:, keep], w=columns(keep))


def _entries(spec: Spec, name: str) -> Iterator[Spec]:
    """Each entry to 0, 1, -1, halves, tenths, hundredths, the costliest first."""
    array = getattr(spec, name)
    order = sorted(np.ndindex(array.shape), key=lambda at: -len(repr(float(array[at]))))
    for at in order:
        v = float(array[at])
        for to in dict.fromkeys((0.0, float(np.sign(v)), _round(2 * v) / 2, _round(v, 1), _round(v, 2))):
            if to != v:
                changed = array.copy()
                changed[at] = to
                yield replace(spec, **{name: changed})


def _single(spec: SingleSpec) -> Iterator[SingleSpec]:
    for m in range(spec.m):
        yield replace(spec, m=m)
    for digits in (1, 2, 3, 4):
        for name in ("norm", "phi", "step"):
            if getattr(spec, name) is not None:
                shorter: dict[str, Any] = {name: _significant(getattr(spec, name), digits)}
                yield replace(spec, **shorter)


def _round(values, decimals: int = 0):
    """Rounded, with 0 for -0."""
    return np.round(values, decimals) + 0.0


def _significant(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
