"""Figures found by their path: `papers/<paper>/fig4.py` is `rf.papers["<paper>"].figures["fig4"]`.

A figure's file has SETTINGS = {"quick": {...}, "full": {...}} (keyword arguments of `compute` for each size),
`compute(**settings)` -> numbers as an xarray.Dataset, `facts(ds)` -> Claims, `draw(ds)` -> a matplotlib Figure from the
numbers alone, `caption(ds)` -> text; it may have `animate(ds)`, REQUIRES = ("mnist",) and STATED = {"paper": (...),
"handbook": (...)}, the facts that these state (by how their texts begin; all others are ours). Nothing else is edited
to add one. Figures of no paper are in `papers/extra`, under names that say what they show. A file is a figure when its
module defines `compute` and `draw`; it is parsed and not run, so that listing imports nothing.

A figure's `compute` calls `solve` of this file (`reluflow.papers.solve` for packages of others) rather than `rf.solve`:
the same, but shown as progress where a person is waiting.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import textwrap
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from reluflow.outcome import Outcome
from reluflow.papers import _found

FORMAT = 1
SIZES = ("quick", "full")
MOST = 100_000  # rows of a CSV file; larger tables are in the zarr alone

_watch: ContextVar = ContextVar("watch", default=None)


# Finding --------------------------------------------------------------------------------------------------------------


def papers() -> list[str]:
    """Names of the papers that have figures: ours, `extra` last, then those of other distributions, one by one."""
    return sorted((name for name in _found.names() if names(name)), key=_place)


def _place(paper: str) -> tuple:
    package = _found.distribution(paper)
    return package != _found.OURS, package, paper == "extra", paper


@cache
def names(paper: str) -> list[str]:
    """Names of a paper's figures: files with a `compute` and a `draw`, in the order of their numbers."""
    files = [f for f in _found.folder(paper).glob("*.py") if not f.name.startswith("_")]
    return sorted((f.stem for f in files if {"compute", "draw"} <= _defined(f)), key=_order)


def _defined(file: Path) -> set[str]:
    """The names that a module's top level defines: functions, imports and assignments."""
    found: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8"), str(file)).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def _order(name: str) -> list:
    """fig2 before fig10, and names without a number last."""
    parts = re.split(r"(\d+)", name)
    return [len(parts) == 1, *[(int(p) if k % 2 else 0, "" if k % 2 else p) for k, p in enumerate(parts)]]


def paper(name: str) -> Paper:
    known = _found.names()
    if name not in known:
        from reluflow._schema import near

        raise KeyError(f'"{name}" is not a paper: {near(name, known)}')
    return Paper(name)


class Paper:
    """One paper's `title`, `reference`, `package` and `figures`."""

    def __init__(self, name: str):
        self.name, self.figures = name, Figures(name)

    @property
    def title(self) -> str:
        return _opening(_found.module(self.name)) or self.name

    @property
    def reference(self) -> str:
        """The paper in BibTeX: `REFERENCE` of its package; empty where it has none."""
        return textwrap.dedent(getattr(_found.module(self.name), "REFERENCE", "")).strip()

    @property
    def package(self) -> str:
        """Name of the distribution that it comes with."""
        return _found.distribution(self.name)

    def __repr__(self) -> str:
        return "\n".join([self.title, *(f"  {figure}" for figure in self.figures.values())])


def _opening(module: ModuleType) -> str:
    """The first sentence of a docstring, on one line."""
    return " ".join((module.__doc__ or "").strip().split("\n\n")[0].split())


class Figures(Mapping):
    """A paper's figures by name."""

    def __init__(self, paper: str):
        self.paper = paper

    def __getitem__(self, name: str) -> Figure:
        if name not in names(self.paper):
            from reluflow._schema import near

            raise KeyError(f'"{name}" is not a figure of {self.paper}: {near(name, names(self.paper))}')
        return Figure(self.paper, name)

    def __iter__(self):
        return iter(names(self.paper))

    def __len__(self) -> int:
        return len(names(self.paper))


# One figure -----------------------------------------------------------------------------------------------------------


class Figure:
    """`compute` numbers, judge `facts`, `draw`; `caption` says what to see."""

    def __init__(self, paper: str, name: str):
        self.paper, self.name = paper, name

    @property
    def module(self) -> ModuleType:
        return _found.module(self.paper, self.name)

    @property
    def title(self) -> str:
        return _opening(self.module)

    @property
    def requires(self) -> tuple[str, ...]:
        return tuple(getattr(self.module, "REQUIRES", ()))

    @property
    def moves(self) -> bool:
        """Whether it has an animation."""
        return hasattr(self.module, "animate")

    def settings(self, size: str = "quick", **changes) -> dict:
        """The arguments of `compute` for a size, with `changes`."""
        from reluflow._checks import one_of

        one_of("size", size, SIZES)
        chosen = dict(self.module.SETTINGS[size])
        for key, value in changes.items():
            if key not in chosen:
                from reluflow._schema import near

                raise ValueError(f"`{key}` is not a setting of {self.paper}/{self.name}: {near(key, list(chosen))}")
            chosen[key] = value
        return chosen

    def compute(self, size: str = "quick", **changes):
        """The numbers, as an xarray.Dataset that also says how they were made."""
        from reluflow.store import versions

        chosen = self.settings(size, **changes)
        for need in self.requires:
            NEEDS[need]()
        ds = self.module.compute(**chosen)
        ds.attrs |= {
            "format": FORMAT,
            "figure": f"{self.paper}/{self.name}",
            "size": size,
            "settings": json.dumps(chosen),
            "versions": json.dumps(versions() | _found.version(self.paper) | _found.code(self.paper)),
        }
        return ds

    def facts(self, ds) -> list:
        return list(self.module.facts(ds))

    def source(self, text: str) -> str:
        """Who states a fact: "paper", "handbook" (its simulations and corrections), or nobody but us ("").

        `STATED` of the figure's file has for each source how the texts begin; of two that fit the longer one counts.
        """
        stated: dict[str, tuple[str, ...]] = getattr(self.module, "STATED", {})
        fits = [(len(start), source) for source, starts in stated.items() for start in starts if text.startswith(start)]
        return max(fits)[1] if fits else ""

    def draw(self, ds):
        """A matplotlib Figure; what is smaller than in the paper is said on it (`ds.attrs["note"]`)."""
        from reluflow.plot import look

        with look.setting():
            figure = self.module.draw(ds)
            look.stamp(figure, ds.attrs.get("note", ""))
        return figure

    def animate(self, ds):
        from reluflow.plot import look

        with look.setting():
            return self.module.animate(ds)

    def caption(self, ds) -> str:
        return " ".join(self.module.caption(ds).split())

    def command(self, size: str = "quick", **changes) -> str:
        """What to type to make it."""
        texts = [f"--set {k}={json.dumps(v) if not isinstance(v, str) else v}" for k, v in changes.items()]
        return " ".join(["reluflow reproduce", f"{self.paper}/{self.name}", *(["--full"] * (size == "full")), *texts])

    def __repr__(self) -> str:
        return f"{self.paper}/{self.name}: {self.title}"


def _mnist():
    from reluflow.data.digits import mnist_arrays

    mnist_arrays("train")  # says in one sentence how to get it


NEEDS: dict[str, Any] = {"mnist": _mnist}


# Progress -------------------------------------------------------------------------------------------------------------


def solve(problem, method=None, t1=None, **more):
    """`rf.solve` that tells whoever is watching; Ctrl-C ends the figure, whose numbers would be those of half a run."""
    from reluflow.solve import solve as plain

    sol = plain(problem, method, t1, progress=_watch.get(), **more)
    if sol.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    return sol


@contextmanager
def watched(tell):
    """Inside, `solve` calls `tell` with its Progress."""
    token = _watch.set(tell)
    try:
        yield
    finally:
        _watch.reset(token)


# On disk --------------------------------------------------------------------------------------------------------------


def folder(figure: Figure, out: Path, size: str, changes: dict) -> Path:
    """Where a figure goes: other sizes and other settings have folders of their own, so that nothing is overwritten."""
    tail = "-full" if size == "full" else ""
    if changes:
        tail += "-" + hashlib.sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()[:8]
    return Path(out) / figure.paper / (figure.name + tail)


def save_numbers(ds, path: Path) -> None:
    """Writes a Dataset as a zarr folder, whole or not at all; texts become numbers with a legend in the attributes."""
    from reluflow.store import beside, clear, seal_group

    legends = {}
    coded = ds.copy()
    for name, array in ds.variables.items():
        if array.dtype.kind in "UOT":
            words = sorted({str(v) for v in array.values.ravel()})
            legends[str(name)] = words
            coded[name] = (array.dims, [words.index(str(v)) for v in array.values.ravel()])
            if array.ndim != 1:
                raise ValueError(f"Texts must be one row of labels, got {array.ndim} dimensions for `{name}`.")
    coded.attrs["legends"] = json.dumps(legends)
    path.parent.mkdir(parents=True, exist_ok=True)
    clear(path.parent)
    with beside(path) as part:
        coded.to_zarr(part / "new", mode="w", zarr_format=3, consolidated=False)
        seal_group(part / "new")
        if path.exists():  # moved away first: numbers that are half removed would be read as whole
            os.rename(path, part / "old")
        os.rename(part / "new", path)


def load_numbers(path: Path):
    """The Dataset of `save_numbers`, in memory; an error if a file of it is missing or was changed."""
    import numpy as np
    import xarray as xr

    from reluflow.store import is_whole

    if not is_whole(path):
        raise ValueError(f"`{path}` must be complete, got files that are missing or changed: use `--fresh`.")
    with xr.open_zarr(path, consolidated=False) as stored:
        ds = stored.load()
    for name in ("checksums", "seal"):
        ds.attrs.pop(name)
    for name, words in json.loads(ds.attrs.pop("legends", "{}")).items():
        ds[name] = (ds[name].dims, np.array(words)[ds[name].values])
    return ds


def save_tables(ds, path: Path) -> list[str]:
    """One CSV for each set of dimensions, long form; returns the names of arrays too large for that."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    tables: dict[tuple, list] = {}
    left = []
    for name, array in ds.data_vars.items():
        if array.size > MOST:
            left.append(str(name))
        else:
            tables.setdefault(tuple(map(str, array.dims)), []).append(name)
    for dims, members in tables.items():
        if dims:
            ds[members].to_dataframe().to_csv(path / f"{'_'.join(dims)}.csv")
        else:
            lines = [f"{name},{ds[name].item()!r}\n" for name in members]
            (path / "numbers.csv").write_text("name,value\n" + "".join(lines))
    return left
