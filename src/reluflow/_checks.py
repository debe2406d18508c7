"""Turning input into arrays, or into one sentence: the rule, the value, the way out."""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import TypeVar

import numpy as np

T = TypeVar("T")

# What others call our arguments.
ALSO = {
    "step": ("lr", "learning_rate", "eta", "step_size", "dt"),
    "t1": ("t_max", "tmax", "t_end", "time", "steps", "t_final"),
    "width": ("m", "hidden", "neurons", "h"),
    "dim": ("d", "features", "input_dim"),
    "rtol": ("tol", "atol", "eps", "precision"),
    "label": ("target", "y", "labels", "target_column"),
    "init": ("params", "weights", "theta"),
}

MOST = 400  # letters of another's words in a sentence


def shown(value, most: int = 60) -> str:
    """A value as `repr` writes it, on one line and cut short: a file may hold megabytes, or escape codes."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python writes no whole number of more than 4300 digits
        text = f"a whole number of {value.bit_length()} bits" if isinstance(value, int) else "values nested too deeply"
    return plainly(text, most)


def plainly(text: str, most: int = MOST) -> str:
    """The text with unprintable letters escaped, its middle left out where it is long."""
    if len(text) > most:
        text = f"{text[: most * 2 // 3]}...{text[len(text) - most // 4 :]}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def as_finite(name: str, value, *, ndim: int | None = None, hint: str = "") -> np.ndarray:
    """A fresh C-contiguous float64 copy of `value`, all entries finite."""
    way_out = f": {hint}." if hint else "."
    try:
        with np.errstate(over="ignore"):  # a longer float may become inf, which is refused below
            array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"`{name}` must be an array of real numbers, got {type(value).__name__}{way_out}") from None
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"`{name}` must have {ndim} dimension(s), got shape {array.shape}{way_out}")
    if not np.all(np.isfinite(array)):
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(np.atleast_1d(array)))[0])
        bad = np.atleast_1d(array)[where]
        raise ValueError(f"`{name}` must be finite, got {bad} at index {where}: drop or repair that entry.")
    return array


def one_of(name: str, value, allowed) -> str:
    """`value` if it is one of the names allowed, else a sentence with the nearest one."""
    allowed = list(allowed)
    if value in allowed:
        return value
    near = difflib.get_close_matches(shown(value).strip("'"), allowed, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "choose one of these."
    raise ValueError(f"`{name}` must be one of {', '.join(repr(a) for a in allowed)}, got {shown(value)}: {hint}")


def whole(name: str, value, *, least: int, hint: str) -> int:
    """`value` as an int at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"`{name}` must be a whole number >= {least}, got {shown(value)}: {hint}.")
    return int(value)


def number(name: str, value, *, rule: str, ok, hint: str) -> float:
    """`value` as a float for which `ok` is true; `rule` says in words what `ok` tests."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        result = np.nan
    if isinstance(value, bool) or not ok(result):
        raise ValueError(f"`{name}` must be {rule}, got {shown(value)}: {hint}.")
    return result


def by_name(call: T) -> T:
    """The same function or class, which says in a sentence which argument it does not know, or misses."""
    if isinstance(call, type):
        call.__init__ = _named(call.__init__, call.__name__)  # type: ignore[misc]
        return call
    return _named(call, call.__name__)  # type: ignore[attr-defined]


def _named(call, name: str):
    @functools.wraps(call)
    def named(*args, **more):
        try:
            return call(*args, **more)
        except TypeError:
            signature = inspect.signature(call)
            try:
                signature.bind(*args, **more)
            except TypeError:
                raise TypeError(_misfit(name, signature, args, more)) from None
            raise

    return named


def _misfit(name: str, signature: inspect.Signature, args: tuple, more: dict) -> str:
    known = [p for p in signature.parameters if p != "self"]
    takes = f"`{name}` takes {', '.join(f'`{p}`' for p in known)}"
    count = len(args) - ("self" in signature.parameters)
    free = [p for p in known[count:] if p not in more]
    missing = [p for p in free if signature.parameters[p].default is inspect.Parameter.empty]
    for word in more:
        if word not in known:
            other = next((p for p in free if word.lower() in ALSO.get(p, ())), None)
            close = [other] if other else difflib.get_close_matches(word.lower(), free, n=1, cutoff=0.5) or missing
            return f"{takes}, got `{word}`: " + (f"did you mean `{close[0]}`?" if close else "leave it out.")
    if missing:
        return f"`{name}` needs `{missing[0]}`, got nothing for it: write `{name}({missing[0]}=...)`."
    return f"{takes}, got {count} values before the named ones: name each once."
