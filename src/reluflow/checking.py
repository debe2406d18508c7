"""`rf.check` and `rf.checks`: a theorem is a file, its name is its path.

`reluflow/papers/min2024/theorem1.py` is "min2024.theorem1". Such a file has a one-line docstring that says what the
result is, `needs` (what it is about), `check(subject, ...) -> Report`, and, where print and correction differ,
`forms = ("corrected", "printed")` with a `form=` argument to `check`. Papers of other distributions are found by their
entry points (`papers/_found.py`). A function of a notebook is a check too, by itself or registered by `checker`.

Whatever is judged on a Solution also gets the claims of `observe.consistency`: a report on a run whose record
contradicts itself is no evidence.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from reluflow._checks import all_trained, one_of
from reluflow._progress import of_checks, shown
from reluflow.claim import Claim, Report, counted, lacking
from reluflow.data.core import Data
from reluflow.init import Params
from reluflow.methods import Descent
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


@dataclass(frozen=True)
class Judging:
    """What `progress` is told before each check: its `name`, how many are `done`, and how many there are."""

    name: str
    done: int
    total: int


@dataclass(frozen=True)
class Summary(Report):
    """All checks of a paper judged on one subject: `reports`, and `left_out` with the reason for each.

    `claims` are those of the reports whose hypotheses are met, so that `ok`, `violated` and `counts()` are about them.
    An assumption of the paper that the subject does not satisfy (`assumption1` and the like) contradicts nothing: it
    counts as a check that does not apply.
    """

    reports: tuple[Report, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def applying(self) -> tuple[Report, ...]:
        return tuple(r for r in self.reports if _counts(r))

    def line(self) -> str:
        """One sentence: how many checks apply, the verdicts of their claims, and how long the run should be."""
        verdicts = counted(self) or "no claim"
        later = [r.until for r in self.applying if r.unfinished and r.until > 0]
        more = f" A run up to t1 = {max(later):.6g} decides what is unfinished." if later else ""
        total = len(self.reports) + len(self.left_out)
        return f"{len(self.applying)} of {total} checks apply: {verdicts}.{more}"

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        left = [{"name": name, "reason": reason} for name, reason in self.left_out]
        reports = [r.to_dict() for r in self.reports]
        return {"name": self.name, "title": self.title, "reports": reports, "left_out": left, "summary": self.line()}

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.title}" if self.title else self.name]
        for report in self.applying:
            lines.append(f"  {report.name}: {counted(report)}")
            lines += [f"    {claim}" for claim in report.violated]
        because = dict[str, list[str]]()  # checks with the same reason share a line
        for report in self.reports:
            if not _counts(report):
                failing = next(c for c in (*report.hypotheses, *report.claims) if not c.ok)
                because.setdefault(f"not met: {lacking(failing)}", []).append(report.name)
        for name, reason in self.left_out:
            because.setdefault(reason.removeprefix(f"{name} "), []).append(name)
        lines += [f"  not judged: {', '.join(names)}: {reason}" for reason, names in because.items()]
        if not self.consistent:
            lines += ["  the record of the run contradicts itself: nothing above is evidence"]
            lines += [f"    {claim}" for claim in self.record if claim.verdict == "violated"]
        return "\n".join([*lines, self.line()])

    __repr__ = __str__


def _counts(report: Report) -> bool:
    """Whether a report of a Summary says something of the subject: its hypotheses are met, or it is an assumption that
    is satisfied."""
    assumption = report.name.partition(".")[2].startswith("assumption")
    return report.applies and not (assumption and report.violated)


_mine: dict[str, Callable] = {}  # checks that `checker` registered, by name


def checks(paper: str | None = None) -> list[Check]:
    """Every theorem that can be checked, of one paper or of all, and what `checker` registered."""
    if paper is None:
        return [_entry(name) for name in [*names(), *_mine]]
    mine = [name for name in _mine if name.split(".")[0] == paper]
    return [_entry(name) for name in (_of(paper) if paper in _found.names() else []) + mine]


def check(
    name: str | Callable,
    subject=None,
    *,
    form: str | None = None,
    progress: Callable[[Judging], None] | bool | None = None,
    **options,
) -> Report:
    """Judges the named result on `subject`: Data, a Problem, a Solution or a single-neuron run, as the result needs.

    A Solution may stand in for its Problem and a Problem for its Data. `form="printed"` takes the paper's own wording
    where it differs from the corrected one. Other options go to the checker (`seed=` where it samples).

    The name of a paper judges all its results and returns a `Summary`: what does not suit the subject is left out with
    the reason, and nothing aborts the rest. A function of your own, of the subject, may return a Report, a Claim,
    several Claims, or True and False.

    `progress=True` shows which check is being judged, a function is told (`Judging`); left out, it is shown for a whole
    paper after two seconds at a prompt or in a notebook.
    """
    with shown(progress, of_checks) as tell:
        return _check(name, subject, form, options, tell)


def _check(name: str | Callable, subject, form: str | None, options: dict, tell: Callable | None) -> Report:
    if isinstance(name, str) and name not in _mine and _is_paper(name):
        return _summary(name, subject, form, tell)
    if tell is not None:
        tell(Judging(name if isinstance(name, str) else getattr(name, "__name__", "check"), 0, 1))
    if callable(name):
        return _judged(name, subject, options)
    if not isinstance(name, str):
        swap = f'write `rf.check("{subject}", sol)`' if isinstance(subject, str) else "`rf.checks()` lists the names"
        raise TypeError(f"`rf.check` takes the name of a result first, got {type(name).__name__}: {swap}.")
    if name in _mine:
        return _judged(_mine[name], subject, options)
    module = _module(name)
    forms = getattr(module, "forms", ("corrected",))
    if form is not None and form not in forms:
        ways = " or ".join(f'"{f}"' for f in forms)
        raise ValueError(f'`form` must be {ways} for {name}, got "{form}".')
    known = inspect.signature(module.check).parameters
    for option in options:
        if option not in known:
            raise TypeError(f"`{name}` takes no option `{option}`: its options are {', '.join(known) or 'none'}.")
    if "form" in known:
        options["form"] = form or forms[0]
    arguments = () if module.needs == "nothing" else (_reduce(name, module.needs, subject),)
    decayed = _plain_loss(arguments[0] if arguments else None)
    from reluflow.solve import whole_runs

    # What is not defined on a subject becomes NaN, and its claim unmeasured.
    with whole_runs(), np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        try:
            report = module.check(*arguments, **options)
        except ValueError:
            if not decayed:
                raise
            raise ValueError(
                f"{name} does not apply: it is about training without weight decay, got decay = "
                f"{decayed[0].measured:g}; check a run with `decay=0`."
            ) from None
        record = _record(arguments[0]) if arguments else ()
    hypotheses = [*decayed, *report.hypotheses]
    return replace(report, title=report.title or _title(module), record=record, hypotheses=hypotheses)


def _is_paper(name: str) -> bool:
    return name in _found.names() or (bool(_mine) and name in {n.split(".")[0] for n in _mine})


def _plain_loss(subject) -> list[Claim]:
    """What every result of a paper assumes of a problem or run: no weight decay. Listed only where that fails."""
    decay = getattr(getattr(subject, "problem", subject), "decay", 0.0)
    return [Claim("no weight decay", decay, "=", 0.0)] if decay else []


def checker(name: str = "", *, needs: str = "solution") -> Callable[[Callable], Callable]:
    """Registers a function as a check: `@rf.checker("mine.norms", needs="flow")`, then `rf.check("mine.norms", sol)`.

    Without a dot the name is put under "mine". `needs` is what the function is about, as for a theorem's file. The
    function itself is unchanged; registering the same name again replaces it.
    """
    one_of("needs", needs, NEEDS)

    def register(function: Callable) -> Callable:
        full = name or getattr(function, "__name__", "check")
        full = full if "." in full else f"mine.{full}"
        if full.split(".")[0] in _found.names():
            raise ValueError(f'A check of your own must not be named like a paper\'s, got "{full}": try "mine.{full}".')
        function.needs = needs  # type: ignore[attr-defined]
        function.check_name = full  # type: ignore[attr-defined]
        _mine[full] = function
        return function

    return register


def _judged(function: Callable, subject, options: dict) -> Report:
    """The Report of a function of the user's own."""
    name = getattr(function, "check_name", getattr(function, "__name__", "check"))
    needs = getattr(function, "needs", None)
    if needs is not None and needs != "nothing":
        subject = _reduce(name, needs, subject)
    from reluflow.solve import whole_runs

    with whole_runs():
        found = function(**options) if needs == "nothing" else function(subject, **options)
        record = _record(subject)
    title = (inspect.getdoc(function) or "").split("\n")[0]
    if isinstance(found, Report):
        return replace(found, title=found.title or title, record=record)
    if isinstance(found, bool | np.bool_):
        found = Claim(title or name, float(found), "=", 1.0)
    claims = [found] if isinstance(found, Claim) else list(found) if isinstance(found, Iterable) else [found]
    wrong = [c for c in claims if not isinstance(c, Claim)]
    if wrong:
        raise TypeError(f"`{name}` must return a Report, Claims, or True or False, got {type(wrong[0]).__name__}.")
    return Report(name, claims, title=title, record=record)


def _summary(paper: str, subject, form: str | None, tell: Callable | None) -> Summary:
    reports, left = list[Report](), list[tuple[str, str]]()
    record: Any = ()
    entries = checks(paper)
    for done, entry in enumerate(entries):
        if tell is not None:
            tell(Judging(entry.name, done, len(entries)))
        if form is not None and form not in entry.forms:
            left.append((entry.name, f'it has no form "{form}"'))
            continue
        if entry.needs == "nothing" and subject is not None:
            left.append((entry.name, "it is about no run or data: `rf.check(name)`"))
            continue
        try:
            report = _check(entry.name, subject, form, {}, None)
        except Exception as error:  # one check that cannot be judged is no reason to lose the others
            left.append((entry.name, " ".join(_found.told(error).split()) or type(error).__name__))
            continue
        record = report.record or record
        reports.append(report)
    claims = [c for r in reports if _counts(r) for c in r.claims]
    title = (_found.module(paper).__doc__ or "").strip().split("\n")[0] if paper in _found.names() else ""
    form, every, left_out = form or "corrected", tuple(reports), tuple(left)
    return Summary(paper, claims, title=title, form=form, record=record, reports=every, left_out=left_out)


def _record(subject) -> tuple[Claim, ...]:
    """What every result judged on a run takes for granted about it."""
    from reluflow.solution import Solution

    if not isinstance(subject, Solution):
        return ()
    from reluflow.observe.record import consistency

    return tuple(consistency(subject))


def names() -> list[str]:
    """Names of all checkers: every public file of every paper that has a `check`."""
    return [name for paper in _found.names() for name in _of(paper)]


def _of(paper: str) -> list[str]:
    """Names of one paper's checkers."""
    files = sorted(f.stem for f in _found.folder(paper).glob("*.py") if not f.name.startswith("_"))
    return [f"{paper}.{file}" for file in files if hasattr(_found.module(paper, file), "check")]


def _entry(name: str) -> Check:
    if name in _mine:
        found = _mine[name]
        return Check(name, (inspect.getdoc(found) or "").split("\n")[0], found.needs, ("corrected",))  # type: ignore[attr-defined]
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

        known = names()
        hint = near(name, [*known, *_found.names()])
        if hint.startswith("there "):
            hint = f"`rf.checks()` and `reluflow check` list all {len(known)}."
        raise ValueError(f'"{name}" is not a check: {hint}')
    return _import(name)


def _reduce(name: str, needs: str, subject):
    """The part of the subject that the checker is about, or one sentence."""
    from reluflow.solution import Solution

    several = getattr(getattr(subject, "problem", subject), "outputs", 1)
    several = several if isinstance(several, int) else 1
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
    init = getattr(getattr(subject, "problem", subject), "init", None)
    if isinstance(init, Params):
        all_trained(init, name)
    if name.split(".")[0] in _found.names() and several > 1:
        raise ValueError(
            f"{name} does not apply: the papers are about networks with one output, got {several}; check a function of "
            "your own with `rf.check(function, sol)`."
        )
    return subject
