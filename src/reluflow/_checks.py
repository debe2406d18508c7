"""Input validation: arrays out, or an error in one sentence with the rule, the value and the way out."""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import TypeVar

import numpy as np

T = TypeVar("T")

# Names that other libraries use for these arguments.
ALSO = {
    "step": ("lr", "learning_rate", "eta", "step_size", "dt"),
    "t1": ("t_max", "tmax", "t_end", "time", "t_final"),
    "width": ("m", "hidden", "neurons", "h"),
    "dim": ("d", "features", "input_dim"),
    "rtol": ("tol", "atol", "eps", "precision"),
    "label": ("target", "y", "labels", "target_column"),
    "init": ("params", "weights", "theta"),
    "x": ("rows", "points", "data"),
    "y": ("labels", "targets", "label"),
}

# Quantities given elsewhere, or in other units.
ELSEWHERE = {
    "scale": "give its logarithm, `log_scale=np.log(...)`",
    **dict.fromkeys(("rtol", "tol", "atol"), "it belongs to the method, `rf.Flow(rtol=...)`"),
    **dict.fromkeys(("step", "lr", "learning_rate", "eta"), "it belongs to the method, `rf.Descent(step=...)`"),
    **dict.fromkeys(("steps", "iterations", "epochs"), "give a time `t1`; for descent it is iterations times step"),
    "slope": "it belongs to the activation, `activation=rf.LeakyReLU(slope)`",
    "seconds": "it belongs to the limits, `limits=rf.Limits(seconds=...)`",
    "seed": "it belongs to the initialisation, `rf.init.balanced(..., seed=...)`",
}

MOST = 400  # most characters of a user's text in a message


def shown(value, most: int = 60) -> str:
    """`repr` of a value on one line, shortened: a file may hold megabytes, or escape codes."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python refuses to print whole numbers of more than 4300 digits
        text = f"a whole number of {value.bit_length()} bits" if isinstance(value, int) else "values nested too deeply"
    return plainly(text, most)


def plainly(text: str, most: int = MOST) -> str:
    """The text with unprintable characters escaped and its middle omitted if it is long."""
    if len(text) > most:
        text = f"{text[: most * 2 // 3]}...{text[len(text) - most // 4 :]}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def as_finite(name: str, value, *, ndim: int | None = None, hint: str = "") -> np.ndarray:
    """A fresh C-contiguous float64 copy of `value`, all entries finite."""
    way_out = f": {hint}." if hint else "."
    try:
        with np.errstate(over="ignore"):  # an extended-precision number may become inf, which is rejected below
            if np.iscomplexobj(value if hasattr(value, "dtype") else np.asarray(value)):
                raise TypeError
            array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        got = type(value).__name__
        if isinstance(value, list | tuple) and any(isinstance(v, str) for v in value):
            got = f"the word {shown(next(v for v in value if isinstance(v, str)))}"
        raise ValueError(f"`{name}` must be an array of real numbers, got {got}{way_out}") from None
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"`{name}` must have {ndim} dimension(s), got shape {array.shape}{way_out}")
    if not np.all(np.isfinite(array)):
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(np.atleast_1d(array)))[0])
        bad = np.atleast_1d(array)[where]
        if array.ndim == 0:
            raise ValueError(f"`{name}` must be finite, got {bad}{way_out}")
        raise ValueError(f"`{name}` must be finite, got {bad} at index {where}: drop or repair that entry.")
    return array


def one_or_several(name: str, value, hint: str) -> np.ndarray:
    """A number per row, (rows,), or k of them, (rows, k); one column is a number per row."""
    value = as_finite(name, value, hint=hint)
    if value.ndim not in (1, 2) or (value.ndim == 2 and value.shape[1] == 0):
        raise ValueError(f"`{name}` must have 1 or 2 dimensions, got shape {value.shape}: {hint}.")
    return np.ascontiguousarray(value[:, 0]) if value.ndim == 2 and value.shape[1] == 1 else value


def one_of(name: str, value, allowed) -> str:
    """`value` if it is allowed; otherwise an error that suggests the nearest allowed name."""
    allowed = list(allowed)
    if value in allowed:
        return value
    near = difflib.get_close_matches(shown(value).strip("'"), allowed, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "choose one of these."
    raise ValueError(f"`{name}` must be one of {', '.join(repr(a) for a in allowed)}, got {shown(value)}: {hint}")


def whole(name: str, value, *, least: int, hint: str) -> int:
    """`value` as an int at least `least`."""
    if isinstance(value, float) and value.is_integer() and value >= least:
        hint = f"write {value:.0f}"
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"`{name}` must be a whole number >= {least}, got {shown(value)}: {hint}.")
    return int(value)


def number(name: str, value, *, rule: str, ok, hint: str) -> float:
    """`value` as a float for which `ok` is true; `rule` says in words what `ok` tests."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        result = np.nan
    if isinstance(value, str) and ok(result):
        hint = "write the number without quotes"
    if isinstance(value, bool | str) or not ok(result):
        raise ValueError(f"`{name}` must be {rule}, got {shown(value)}: {hint}.")
    return result


def all_trained(init, what: str) -> None:
    """Raises one sentence if some weights of `init` are fixed, where `what` is not made for that."""
    if init.fixed is not None:
        raise ValueError(
            f"{what} needs weights that are all trained, got {np.count_nonzero(init.fixed)} fixed (an output bias, for "
            "instance): use a last Linear with `bias=False`, or omit `fixed`."
        )


def one_output(subject, what: str, way_out: str = "") -> None:
    """Raises one sentence if a network or labels have several outputs, where `what` is made for one.

    `subject` is anything with `outputs`: Data, Params, a Problem.
    """
    if subject.outputs > 1:
        way_out = way_out or "train one output at a time, as in `rf.Data(x, y[:, 0])`"
        raise ValueError(f"{what} is for networks with one output, got {subject.outputs}: {way_out}.")


def by_name(call: T) -> T:
    """The same function or class, with a one-sentence error for unknown or missing arguments."""
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
    params = {key: p for key, p in signature.parameters.items() if key != "self"}
    names = ", ".join(f"`{key}`" for key in params)
    unnamed = [key for key, p in params.items() if p.kind is not p.KEYWORD_ONLY]
    count = len(args) - ("self" in signature.parameters)
    free = [key for key in params if key not in unnamed[:count] and key not in more]
    missing = [key for key in free if params[key].default is inspect.Parameter.empty]
    for word in more:
        if word not in params:
            return f"`{name}` takes {names}, got `{word}`: {_way_out(word, free, missing)}"
    if count > len(unnamed):
        given = f"{count} value{'s' if count > 1 else ''}"
        return f"`{name}` takes {len(unnamed)} positional, got {given}: pass the others by name, of {names}."
    twice = [key for key in unnamed[:count] if key in more]
    if twice:
        return f"`{name}` takes `{twice[0]}` once, got it twice, by position and by name: remove one."
    return f"`{name}` is missing the argument `{missing[0]}`: add `{missing[0]}=...`."


def _way_out(word: str, free: list[str], missing: list[str]) -> str:
    word = word.lower()
    ours = [key for key in free if word in ALSO.get(key, ())]
    if not ours and word in ELSEWHERE and (word != "scale" or "log_scale" in free):
        return f"{ELSEWHERE[word]}."
    close = ours or difflib.get_close_matches(word, free, n=1, cutoff=0.65) or missing
    return f"did you mean `{close[0]}`?" if close else "it is not supported; leave it out."
