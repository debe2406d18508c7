"""The schema of an experiment, derived from the signatures of the public constructors.

A table of an experiment is a call: `[init] kind = "balanced", width = 60` is `rf.init.balanced(width=60)`. A new
generator is therefore reachable from a file as soon as it exists; nothing is registered here.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import reluflow as rf
from reluflow import _toml
from reluflow._checks import plainly, shown
from reluflow.losses import TABLE

REQUIRED = inspect.Parameter.empty
TYPES = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false", "tuple": "a list"}
# Arguments that an experiment fills in itself, or that only Python code can give.
NOT_IN_FILES = ("problem", "method", "progress", "data", "init")

# Meanings and units that a signature does not state; the template prints them next to the defaults.
NOTES = {
    "a": "output weights, one or a list of k per neuron (times e^log_scale)",
    "at_zero": "derivative at 0 used by descent; flows decide it by the dynamics",
    "batch": "rows at a time; left out, all of them",
    "columns": "names of the columns of x, for pictures and tables; left out, none",
    "classes": "names of the classes, or how many there are",
    "centre": 'true: minus the mean of these rows; "train": minus that of the training images',
    "d": "columns of x",
    "decay": "weight decay: adds (decay / 2) |theta|^2 to the loss; left out, 0",
    "delimiter": "cell separator",
    "delta": "radians",
    "depth": "number of layers of the target neuron",
    "digits": '"all" or a list of digits, for loss = "softmax"; y is the place in the list',
    "dim": "columns of x; left out, the data's own",
    "dtype": '"float64" or "float32"',
    "fast_forward": "false takes every iteration, one by one",
    "fixed": "one list per neuron, true where an entry of w is not trained; left out, none",
    "folder": "where the files are; left out, $RELUFLOW_DATA/mnist",
    "kappa": "n max|<x_i, x_k>| / |x|^2",
    "keep": "quantities kept of every run",
    "label": "the label's column: its header, or its number from 0; left out, y, or the last",
    "label_flip": "share of labels turned; left out, none",
    "label_noise": "standard deviation of noise in labels; left out, none",
    "label_seed": "seed of both",
    "labels": 'a list of numbers, or "signs", "balanced", "gaussian", "positive"',
    "log_scale": "natural logarithm of the scale: -16.0 is e^-16",
    "log_scale_a": "the same for the output layer; left out, equal to log_scale",
    "log_t1": "natural logarithm of the end time: 230.0 is about 1e100",
    "loss": "one of " + ", ".join(f'"{name}"' for name in TABLE),
    "mean_std": "standard deviation of the centre's entries",
    "method.events": '"exact"; for thousands of data write kind = "stepped_flow"',
    "mu": "smallest label-signed cosine",
    "n": "rows of x",
    "name": "name of the data",
    "noise_std": "standard deviation of the noise",
    "norm": "length of every row",
    "norm_max": "longest row",
    "norm_min": "shortest row",
    "norms": "length of each row",
    "outputs": "number of outputs; by default that of the labels",
    "pair": "two digits, or two lists of digits: +1 against -1",
    "parity": "even digits +1, odd ones -1",
    "path": "a file, relative to this file's folder",
    "radius": "distance of the centres from 0",
    "reduction": '"mean" or "sum" over the data',
    "rtol": "relative tolerance, 1e-13 to 1e-2",
    "scale": "standard deviation of the entries",
    "seed": "any whole number from 0",
    "signs": "+1 or -1 per neuron; left out, drawn",
    "size": "rows to keep; left out, all",
    "slope": "s(z) = slope z below 0; 0 is ReLU, 1 is linear",
    "solve.limits.events": "most events",
    "solve.limits.seconds": "most wall time, in seconds; left out, no limit",
    "solve.limits.steps": "most steps tried",
    "solve.limits.threads": "threads of a large flow; results do not depend on it",
    "solve.save.frames": "most frames kept, where `times` does not name them",
    "solve.save.memory": "most memory for checkpoints",
    "solve.save.times": "times of the frames, increasing",
    "split": '"train" or "test"',
    "std": "standard deviation: of the target's entries, or of a cloud",
    "step": "step size; iteration k is at t = k step",
    "t1": "end time; left out, until convergence (square loss only)",
    "throw": "whether a run that fails raises",
    "torch_seed": "draw with PyTorch as the authors did; 4 is Figure 6",
    "train": '"both" layers or the "first" alone',
    "w": "weights, one row per neuron (mantissas: times e^log_scale)",
    "width": "number of neurons",
    "x": "one row per data point",
    "y": 'one label per row, or a list of k; for loss = "softmax" classes 0, 1, ...',
    "y3": "label of the third point",
}
# Example values for arguments without a default.
EXAMPLES: dict[str, Any] = {
    "a": [1.0], "d": 5, "kappa": 0.5, "mu": 0.3, "n": 4, "norms": [1.0, 2.0], "over": {}, "path": "points.csv",
    "from_npz.path": "points.npz",
    "slope": 0.1, "step": 2e-3, "w": [[1.0, 0.0]], "width": 60, "x": [[-0.5, 1.0], [2.0, 1.0]], "y": [-1.0, 1.0],
}  # fmt: skip


class Param(NamedTuple):
    """One argument: its annotation, its default, and its own table if it is an object."""

    name: str
    annotation: str
    default: Any
    table: Table | None = None

    @property
    def types(self) -> list[str]:
        parts = [part.strip().split("[")[0] for part in self.annotation.split("|")]
        return [part for part in parts if part in TYPES]

    @property
    def required(self) -> bool:
        return self.default is REQUIRED and self.table is None and self.name != "dim"

    @property
    def means(self) -> str:
        """The required type in words; empty if any value is accepted."""
        return " or ".join(TYPES[t] for t in self.types)


class Kind(NamedTuple):
    """One constructor and its arguments."""

    make: Callable
    text: str
    params: dict[str, Param]

    @property
    def summary(self) -> str:
        doc = inspect.getdoc(self.make) or ""
        return " ".join(doc.split("\n\n")[0].split())


class Table(NamedTuple):
    """A table of an experiment: constructors by `kind`, or a single one under None."""

    path: str
    kinds: dict[str | None, Kind]
    default: str | None = None
    optional: bool = False  # an omitted value stays omitted: its meaning is the constructor's

    @property
    def single(self) -> bool:
        return None in self.kinds

    def inner(self, name: str) -> Any:
        """The table of an argument that has one, or None."""
        params = self.kinds[None].params if self.single else {}
        return params[name].table if name in params else None


def note(table: Table, param: Param) -> str:
    """The meaning of an argument, with its unit; its type if no meaning is recorded."""
    return NOTES.get(f"{table.path}.{param.name}") or NOTES.get(param.name) or param.means


class Mistake(NamedTuple):
    """A mistake: a sentence about a dotted key."""

    key: str
    sentence: str


def _kind(make: Callable, text: str, tables: Mapping[str, Table] | None = None, drop=NOT_IN_FILES) -> Kind:
    params = {}
    for name, p in inspect.signature(make).parameters.items():
        if name in drop or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        annotation = p.annotation if isinstance(p.annotation, str) else getattr(p.annotation, "__name__", "")
        params[name] = Param(name, "" if p.annotation is REQUIRED else annotation, p.default, (tables or {}).get(name))
    return Kind(make, text, params)


def _with_label_noise(kind: Kind) -> Kind:
    """A kind of data that also takes `label_flip`, `label_noise` and `label_seed`: `Data.noisy` of what it makes."""

    @functools.wraps(kind.make)
    def make(*, label_flip=None, label_noise=None, label_seed=None, **given):
        data = kind.make(**given)
        if label_flip is None and label_noise is None:
            return data
        return data.noisy(flip=label_flip or 0.0, std=label_noise or 0.0, seed=label_seed or 0)

    more = {"label_flip": "float | None", "label_noise": "float | None", "label_seed": "int | None"}
    return kind._replace(make=make, params=kind.params | {k: Param(k, v, None, None) for k, v in more.items()})


def _makers(module: str, result: str) -> dict[str | None, Kind]:
    """Public functions of a module annotated as returning `result`."""
    home = importlib.import_module(f"reluflow.{module}")
    names = getattr(home, "__all__", None) or [name for name in vars(home) if not name.startswith("_")]
    found: dict[str | None, Kind] = {}
    for name in sorted(names):
        make = getattr(home, name)
        if inspect.isfunction(make) and str(make.__annotations__.get("return")) == result:
            found[name] = _kind(make, f"rf.{module}.{name}")
    return found


@lru_cache(maxsize=1)
def tables() -> dict[str, Table]:
    """Every table of an experiment, by name."""
    from reluflow.solve import solve

    data = _makers("data", "Data") | {"arrays": _kind(rf.Data, "rf.Data")}
    data = {name: _with_label_noise(kind) for name, kind in data.items()}
    init = _makers("init", "Params") | {"arrays": _kind(rf.Params, "rf.Params")}
    activations: dict[str | None, Kind] = {
        "relu": _kind(rf.ReLU, "rf.ReLU"),
        "leaky_relu": _kind(rf.LeakyReLU, "rf.LeakyReLU"),
    }
    methods: dict[str | None, Kind] = {
        "flow": _kind(rf.Flow, "rf.Flow"),
        "stepped_flow": _kind(rf.SteppedFlow, "rf.SteppedFlow"),
        "decay_limit": _kind(rf.DecayLimit, "rf.DecayLimit"),
        "descent": _kind(rf.Descent, "rf.Descent"),
    }
    of_problem = {"activation": Table("problem.activation", activations, "relu")}
    of_solve = {
        "save": Table("solve.save", {None: _kind(rf.Save, "rf.Save", drop=("to",))}),
        "limits": Table("solve.limits", {None: _kind(rf.Limits, "rf.Limits")}, optional=True),
    }
    return {
        "data": Table("data", data),
        "init": Table("init", init),
        "problem": Table("problem", {None: _kind(rf.Problem, "rf.Problem", of_problem)}),
        "method": Table("method", methods, "flow"),
        "solve": Table("solve", {None: _kind(solve, "rf.solve", of_solve)}),
        "sweep": Table("sweep", {None: _kind(_sweep, "rf.sweep")}),
    }


def _sweep(over, keep=(), design: str = "grid", points: int | None = None, seed: int = 0):
    """Runs over the points that `design` makes from the lists in `over`, keeping the named quantities."""


LARGEST = 2**256  # digits of a whole number: seeds may be long


def unfit(value, path: str = "", deep: int = 24) -> Mistake | None:
    """The first value not allowed in an experiment: not finite, too long, nested too deeply, or a date."""
    if type(value) is str or (type(value) is float and isfinite(value)):
        return None
    if deep == 0:
        return Mistake(path, f"`{path}` is nested more than 24 levels deep: use a plain list or table")
    if isinstance(value, Mapping | list | tuple):
        items = value.items() if isinstance(value, Mapping) else ((None, v) for v in value)
        for key, inner in items:
            found = unfit(inner, path if key is None else f"{path}.{key}" if path else str(key), deep - 1)
            if found is not None:
                return found
        return None
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        return Mistake(path, f"`{path}` must hold finite numbers, got {value}: drop or repair it")
    if isinstance(value, int) and abs(value) > LARGEST:
        return Mistake(path, f"`{path}` must hold numbers below 2^256, got {shown(value)}: give a smaller one")
    if not isinstance(value, str | int | float | np.generic | np.ndarray | range | Path | None):
        return Mistake(
            path, f"`{path}` must hold numbers, texts, lists or tables, got {shown(value)}: put it in quotes"
        )
    return None


MANY = 24  # most names listed in a message


def near(name: str, names) -> str:
    """Advice for an unknown name: the nearest known name, or all of them where they are few."""
    name = plainly(name, 60)
    names = [n for n in names if n is not None]
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if found:
        return f"did you mean `{found[0]}`?"
    if not names:
        return "it is not supported; leave it out."
    some = ", ".join(f"`{n}`" for n in names[:MANY])
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return f"there {'is' if len(names) == 1 else 'are'} {some}{more}."


def plain(value):
    """Numpy values, tuples, ranges and paths as types that TOML and JSON have."""
    if type(value) in (str, int, float, bool):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(v) for v in value]
    return str(value) if isinstance(value, Path) else value


def fitted(param: Param, value) -> tuple[Any, str]:
    """The value converted to the argument's type, and its mistake ("" if none)."""
    types = param.types
    if value is None or not types or param.annotation.endswith("ndarray"):
        return value, ""
    if isinstance(value, bool):
        return value, "" if "bool" in types else f"must be {param.means}, got {show(value)}: {_way_out(param)}"
    if isinstance(value, int) and "float" in types and "int" not in types:
        return float(value), ""
    holds = {"int": int, "float": float, "str": str, "bool": bool, "tuple": list}
    if any(isinstance(value, holds[t]) for t in types) or ("ndarray" in param.annotation and isinstance(value, list)):
        return value, ""
    got = f"got {show(value)}"
    if isinstance(value, float) and value.is_integer() and "int" in types:
        return value, f"must be {param.means}, {got}: write {int(value)}"
    if isinstance(value, str) and ("float" in types or "int" in types):
        return value, f"must be {param.means}, {got}: {'drop the quotes' if _is_number(value) else _way_out(param)}"
    return value, f"must be {param.means}, {got}: {_way_out(param)}"


def show(value) -> str:
    return shown(value)


def _way_out(param: Param) -> str:
    example = EXAMPLES.get(param.name, param.default)
    if example is REQUIRED or example is None:
        return "leave it out for the default" if example is None else "give one"
    return f"try `{param.name} = {_toml.value(plain(example))}`"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _no_kind(table: Table, name) -> Mistake:
    """The mistake of a table whose kind is missing or not known."""
    first = table.default or ("balanced" if table.path == "init" else "two_points")
    sentence = f"`{table.path}.kind` is not known, got {show(name)}: {near(str(name), table.kinds)}"
    if name is None:
        sentence = f'`{table.path}` needs a `kind`: add `kind = "{first}"`'
    return Mistake(f"{table.path}.kind", sentence)


def complete(table: Table, given: Mapping, mistakes: list[Mistake]) -> dict:
    """`given` with defaults filled in and numbers converted; mistakes are appended to `mistakes`."""
    given = {k: v for k, v in given.items() if v is not None}
    name = None if table.single else given.pop("kind", table.default)
    if not table.single and (not isinstance(name, str) or name not in table.kinds):
        mistakes.append(_no_kind(table, name))
        return {}
    kind, filled = table.kinds[name], {} if table.single else {"kind": name}
    meant = set()
    for key in given:
        if key not in kind.params:
            meant.update(difflib.get_close_matches(key, kind.params, n=1, cutoff=0.5))
            mistakes.append(
                Mistake(
                    f"{table.path}.{key}",
                    f"`{table.path}.{key}` is not an argument of `{kind.text}`: {near(key, kind.params)}",
                )
            )
    for name, param in kind.params.items():
        path = f"{table.path}.{name}"
        if param.table is not None:
            if param.table.optional and not given.get(name):
                continue
            inner = given.get(name, {})
            if isinstance(inner, str) and not param.table.single:
                inner = {"kind": inner}
            if not isinstance(inner, Mapping):
                mistakes.append(
                    Mistake(path, f"`{path}` must be a table, got {show(inner)}: write `[{path}]` and its keys below")
                )
                continue
            filled[name] = complete(param.table, inner, mistakes)
        elif name in given:
            value, wrong = fitted(param, plain(given[name]))
            if wrong:
                mistakes.append(Mistake(path, f"`{path}` {wrong}"))
            filled[name] = value
        elif param.required and name not in meant:
            example = _toml.value(EXAMPLES[name]) if name in EXAMPLES else "..."
            mistakes.append(Mistake(path, f"`{path}` is required by `{kind.text}`: add `{name} = {example}`"))
        elif param.default is not None and param.default is not REQUIRED:  # None is expressed by omission
            filled[name] = plain(param.default)
    return filled


def build(table: Table, filled: Mapping, **more):
    """Calls the constructor of a completed table."""
    kind = table.kinds[None] if table.single else table.kinds[filled["kind"]]
    return kind.make(**arguments(table, filled), **more)


def arguments(table: Table, filled: Mapping) -> dict:
    """The keyword arguments of a completed table, sub-tables built."""
    kind = table.kinds[None] if table.single else table.kinds[filled["kind"]]
    keywords = {}
    for name, value in filled.items():
        if name in kind.params:
            inner = kind.params[name].table
            keywords[name] = value if inner is None else build(inner, value)
    return keywords
