"""`rf.check` and `rf.checks`: a theorem is a file, its name is its path.

`reluflow/papers/min2024/theorem1.py` is "min2024.theorem1". Such a file has a one-line docstring that says what the
result is, `needs` (what it is about), `check(subject, ...) -> Report`, and, where print and correction differ,
`forms = ("corrected", "printed")` with a `form=` argument to `check`. Papers of other distributions are found by their
entry points (`papers/_found.py`).
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from types import ModuleType

from reluflow.claim import Report
from reluflow.data.core import Data
from reluflow.papers import _found
from reluflow.problem import Problem

# What a checker may need, from least to most, and the phrase an error uses.
NEEDS = {
    "nothing": "nothing",
    "data": "an rf.Data",
    "problem": "an rf.Problem",
    "solution": "a Solution of rf.solve",
    "flow": "a Solution of rf.solve with rf.Flow",
    "descent": "a Solution of rf.solve with rf.Descent",
    "single": "a run of rf.single.solve",
}
WAYS = {  # how to come by it
    "nothing": "leave it out",
    "data": "give rf.Data(x, y)",
    "problem": "give rf.Problem(data, init)",
    "solution": "give what `rf.solve` returns",
    "flow": "give what `rf.solve(problem, rf.Flow(), t1)` returns",
    "descent": "give what `rf.solve(problem, rf.Descent(step), t1)` returns",
    "single": "give what `rf.single.solve` returns",
}


@dataclass(frozen=True)
class Check:
    """One entry of `rf.checks()`: `name`, `title`, what it `needs`, and its `forms`."""

    name: str
    title: str
    needs: str
    forms: tuple[str, ...]

    def __repr__(self) -> str:
        return f"{self.name}: {self.title} (needs {NEEDS[self.needs]})"


def checks(paper: str | None = None) -> list[Check]:
    """Every theorem that can be checked, of one paper or of all."""
    return [_entry(name) for name in (names() if paper is None else _of(paper) if paper in _found.names() else [])]


def check(name: str, subject=None, *, form: str | None = None, **options) -> Report:
    """Judges the named result on `subject`: Data, a Problem, a Solution or a single-neuron run, as the result needs.

    A Solution may stand in for its Problem and a Problem for its Data. `form="printed"` takes the paper's own wording
    where it differs from the corrected one. Other options go to the checker (`seed=` where it samples).
    """
    module = _module(name)
    forms = getattr(module, "forms", ("corrected",))
    if form is not None and form not in forms:
        ways = " or ".join(f'"{f}"' for f in forms)
        raise ValueError(f'`form` must be {ways} for {name}, got "{form}".')
    known = inspect.signature(module.check).parameters
    for option in options:
        if option not in known:
            raise TypeError(f"`{name}` takes no option `{option}`: it knows {', '.join(known) or 'none'}.")
    if "form" in known:
        options["form"] = form or forms[0]
    arguments = () if module.needs == "nothing" else (_reduce(name, module.needs, subject),)
    from reluflow.solve import whole_runs

    with whole_runs():
        report = module.check(*arguments, **options)
    return replace(report, title=report.title or _title(module))


def names() -> list[str]:
    """Names of all checkers: every public file of every paper that has a `check`."""
    return [name for paper in _found.names() for name in _of(paper)]


def _of(paper: str) -> list[str]:
    """Names of one paper's checkers."""
    files = sorted(f.stem for f in _found.folder(paper).glob("*.py") if not f.name.startswith("_"))
    return [f"{paper}.{file}" for file in files if hasattr(_found.module(paper, file), "check")]


def _entry(name: str) -> Check:
    module = _import(name)
    return Check(name, _title(module), module.needs, getattr(module, "forms", ("corrected",)))


def _title(module: ModuleType) -> str:
    return (module.__doc__ or "").strip().splitlines()[0]


def _import(name: str) -> ModuleType:
    return _found.module(*name.split(".", 1))


def _module(name: str) -> ModuleType:
    # Only the paper in question is imported: another one that is broken is no reason to fail.
    paper, _, _ = name.partition(".")
    if paper not in _found.names() or name not in _of(paper):
        from reluflow._schema import near

        raise ValueError(f'"{name}" is not a check: {near(name, names())}')
    return _import(name)


def _reduce(name: str, needs: str, subject):
    """The part of the subject that the checker is about, or one sentence."""
    from reluflow.methods import Descent
    from reluflow.solution import Solution

    if needs == "data":
        subject = getattr(getattr(subject, "problem", subject), "data", subject)
        fits = isinstance(subject, Data)
    elif needs == "problem":
        subject = getattr(subject, "problem", subject)
        fits = isinstance(subject, Problem)
    elif needs == "single":
        from reluflow import single

        fits = isinstance(subject, single.Run)
    else:
        by_descent = isinstance(subject, Solution) and isinstance(subject.method, Descent)
        fits = isinstance(subject, Solution) and (needs == "solution" or by_descent == (needs == "descent"))
    if not fits:
        raise TypeError(f"{name} needs {NEEDS[needs]}, got {type(subject).__name__}: {WAYS[needs]}.")
    return subject
