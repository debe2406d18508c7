"""`reluflow check`: a theorem checked on a run, an experiment or a data file, as a table."""

from __future__ import annotations

import copy
import json
import math
import operator
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

import reluflow as rf
from reluflow import _words
from reluflow.cli import _show
from reluflow.cli.data import _data
from reluflow.cli.run import changes

Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="A result, as in min2024.theorem1, or a paper.", show_default=False)
]
Run = Annotated[
    Path | None, typer.Argument(metavar="RUN", help="A saved run folder or an experiment TOML.", show_default=False)
]
DataFile = Annotated[str | None, typer.Option("--data", metavar="DATA", help="A .csv or .npz file, or a generator.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a dotted key (repeatable).")]
Form = Annotated[str | None, typer.Option("--form", metavar="FORM", help="`printed` for the paper's own wording.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for a program to read.")]

COLOURS = {
    "holds": "green",
    "holds within slack": "green",
    "consistent so far": "cyan",
    "constant fitted": "cyan",
    "violated": "red",
    "not met": "yellow",
    "unfinished": "yellow",
    "unmeasured": "yellow",
}
NARROW = 110


def register(app: typer.Typer) -> None:
    app.command(
        "check",
        help="Check a theorem on a saved run, an experiment, or your own data; without arguments, list all checks.\n\n"
        "[bold]Example[/bold]\n\n"
        "    reluflow check min2024.theorem1 runs/small\n\n"
        "    reluflow check min2024.theorem1 --data points.csv --set init.log_scale=-4300\n\n"
        "    reluflow check min2024.lemma4 my.toml --form printed --json\n\n"
        "    reluflow check bias runs/small          (norm, margin, kernel, directions, saddles)",
    )(check)


def _bias(subject: Subject, json_: bool) -> None:
    """The implicit-bias report of a run, as one table."""
    sol = subject.solution
    with working("bias: norm or margin, kernel, directions, saddles", quiet=subject.quiet):
        found = rf.bias.report(sol)
    typer.echo(json.dumps(found.to_dict()) if json_ else str(found))


def check(
    name: Name = None,
    run: Run = None,
    data: DataFile = None,
    set_: Set = None,
    form: Form = None,
    json_: Json = False,
) -> None:
    if name is None:
        return _list(_all(json_), json_)
    if name == "bias":
        return _bias(Subject(run, data, changes(set_ or []), name, quiet=json_), json_)
    known = {c.name: c for c in _all(json_)}
    papers = {n.split(".")[0] for n in known}
    if name in papers and run is None and data is None:
        return _list(rf.checks(name), json_)
    if name not in papers and name not in known:
        from reluflow._schema import near

        raise ValueError(f'"{name}" is not a check: {near(name, [*known, *papers])}')
    if run is not None and data is not None:
        raise ValueError("`reluflow check` takes RUN or `--data`, got both: omit one.")
    subject = Subject(run, data, changes(set_ or []), name.split(".")[0], quiet=json_)
    whole = name in papers
    about = subject.solution if whole else subject.get(known[name])
    with working(name, quiet=json_) as say:
        report = rf.check(name, about, form=form, progress=lambda now: say(*_place(now)))
    if json_:
        typer.echo(json.dumps(report.to_dict()))
    elif whole:
        _whole(report)
    else:
        show(report)
        _offer(report)


def _all(quiet: bool) -> list:
    """Every check: all papers are imported, which takes more than a second on a busy machine."""
    with working("reading the papers", quiet=quiet):
        return rf.checks()


def _place(now) -> tuple[str, float | None]:
    """The check that is being judged, and the share done where there are several."""
    if now.total == 1:
        return "", None
    return f"{now.name.partition('.')[2]} ({now.done + 1} of {now.total})", now.done / now.total


@contextmanager
def working(what: str, quiet: bool = False):
    """Yields `say(words, fraction)`; on a terminal a line with both and the time appears after one second.

    Ctrl-C ends the command with a sentence that names where it was.
    """
    at = [""]
    console = _show.console(stderr=True)
    bar = None if quiet or not console.is_terminal else _show._bar()
    task = None if bar is None else bar.add_task(_escape(what), total=None, rate="", place="", left="")
    # By a timer: one check may work for a minute before the next is named.
    timer = None if bar is None else threading.Timer(1.0, bar.start)
    if timer is not None:
        timer.daemon = True
        timer.start()

    def say(words: str, fraction: float | None = None) -> None:
        at[0] = words
        if bar is not None and task is not None:
            done = {} if fraction is None else {"completed": fraction, "total": 1.0}
            bar.update(task, place=_escape(words), **done)

    def end() -> None:
        if timer is not None and bar is not None:
            timer.cancel()
            timer.join()
            bar.stop()

    try:
        yield say
    except KeyboardInterrupt:
        end()
        where = f", at {at[0]}" if at[0] else ""
        console.print(_escape(f"Interrupted before the end of {what}{where}: nothing is reported."))
        raise typer.Exit(130) from None
    finally:
        end()


def _whole(summary) -> None:
    """A paper on one run: a line for each check, the claims that are violated, and the summary."""
    from rich.table import Table

    from reluflow.claim import lacking, plural

    console = _show.console()
    console.print(f"[bold]{summary.name}[/bold]  {_escape(summary.title)}\n")
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for report in summary.applying:
        verdicts = ", ".join(f"{n} [{COLOURS[v]}]{plural(v, n)}[/]" for v, n in report.counts().items())
        table.add_row(report.name, verdicts)
        for claim in report.violated:
            table.add_row("", f"[red]violated[/red] {_sentence(claim)}")
    for report in summary.reports:
        if report not in summary.applying:
            failing = next(c for c in (*report.hypotheses, *report.claims) if not c.ok)
            table.add_row(f"[dim]{report.name}[/dim]", f"[dim]does not apply: {_escape(lacking(failing, 5))}[/dim]")
    for name, reason in summary.left_out:
        table.add_row(f"[dim]{name}[/dim]", f"[dim]left out: {_escape(reason)}[/dim]")
    console.print(table)
    _contradictions(summary)
    console.print(f"\n{_escape(summary.line())}")


def _contradictions(report) -> None:
    """What of a run's own record contradicts itself."""
    wrong = [c for c in report.record if c.verdict == "violated"]
    if wrong:
        console = _show.console()
        console.print("\n[red]The record of the run contradicts itself: nothing above is evidence.[/red]")
        console.print(_table(wrong, console.width))


def _offer(report) -> None:
    """The end time with which nothing would be unfinished."""
    if report.unfinished and report.until > 0:
        _show.console().print(
            f"{len(report.unfinished)} unfinished: a run up to t1 = {report.until:.6g} decides them; try "
            f"`--set solve.t1={report.until:.4g}`."
        )


class Subject:
    """The user's input, converted as far as a check needs: data, then a problem, then a run, each computed once."""

    def __init__(self, run, data, changed, paper, quiet):
        self.run, self.data, self.changed, self.paper, self.quiet = run, data, changed, paper, quiet
        self._made: dict = {}
        if run is not None and not run.exists():
            raise FileNotFoundError(
                f"File not found: {run}. Give a run folder or an experiment TOML; `reluflow run` makes both."
            )
        if run is not None and run.is_dir() and changed:
            raise ValueError("`--set` changes an experiment or `--data`, got a saved run, which cannot be changed.")

    def get(self, check):
        if check.needs == "nothing":
            return None
        if self.run is None and self.data is None:
            raise ValueError(
                f"{check.name} needs an input: give a run folder, an experiment TOML, or `--data points.csv`."
            )
        if check.needs == "single":
            raise ValueError(f'{check.name} is about single neurons: call `rf.check("{check.name}", run)` from Python.')
        if self.run is not None and self.run.is_dir():
            return self.solution
        if check.needs == "data":
            return self.experiment.data if self.data is None else self.points
        if check.needs == "problem":
            return self.experiment.problem()
        return self.solution

    def _once(self, key, make):
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    @property
    def points(self):
        """The data alone, even if a run on them would be invalid."""
        only = [f"{k}={v}" for k, v in self.changed.items() if k.startswith("data.")]
        return self._once("points", lambda: _data(self.data, only))

    @property
    def experiment(self):
        return self._once("experiment", self._experiment)

    def _experiment(self):
        from reluflow.experiment import Experiment

        if self.data is None:
            return Experiment.from_toml(self.run).changed(self.changed)
        if self.data.endswith((".csv", ".npz")):
            source = {"kind": "from_csv" if self.data.endswith(".csv") else "from_npz", "path": self.data}
        else:
            source = {"kind": self.data}
        tables = {"data": source, **_defaults(self.paper)}
        for key, value in self.changed.items():
            where = tables
            *path, last = key.split(".")
            for part in path:
                where = where.setdefault(part, {})
            where[last] = value
        self.given = tables
        return Experiment.from_dict(tables)

    @property
    def solution(self):
        return self._once("solution", self._solution)

    def _solution(self):
        if self.run is not None and self.run.is_dir():
            with working(f"reading {self.run}", quiet=self.quiet):
                return rf.load(self.run)
        experiment = self.experiment
        if self.data is not None and not self.quiet:
            said = ", ".join(f"{k} = {v}" for k, v in _flat(self.given).items() if k != "data.path")
            _show.console().print(f"[dim]run with {_escape(said)}; change with `--set`[/dim]\n")
        with _show.progress(self.paper, quiet=self.quiet) as tell:
            sol = experiment.run(progress=tell)
        if sol.outcome is rf.Outcome.INTERRUPTED:
            _show.console(stderr=True).print("Interrupted before the end of the run: nothing is reported.")
            raise typer.Exit(130)
        return sol


def _flat(tables: dict, start: str = "") -> dict:
    """Nested tables as dotted keys."""
    found: dict = {}
    for key, value in tables.items():
        found |= _flat(value, f"{start}{key}.") if isinstance(value, dict) else {f"{start}{key}": value}
    return found


def _defaults(paper: str) -> dict:
    """The default experiment of a paper's checks for bare data: `EXPERIMENT` of its `_standard.py`."""
    from reluflow.papers import _found

    try:
        standard = _found.module(paper, "_standard")
    except ModuleNotFoundError:
        standard = None
    plain = {"init": {"kind": "balanced", "width": 20, "log_scale": -10.0}}
    return copy.deepcopy(getattr(standard, "EXPERIMENT", plain))


def _list(found, json_: bool) -> None:
    from rich.table import Table

    if json_:
        typer.echo(json.dumps([dict(name=c.name, title=c.title, needs=c.needs, forms=list(c.forms)) for c in found]))
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("check", "needs", "what it says"):
        table.add_column(column, no_wrap=column != "what it says")
    for c in found:
        printed = " [dim](also --form printed)[/dim]" if "printed" in c.forms else ""
        table.add_row(c.name, c.needs, _escape(c.title) + printed)
    _show.console().print(table)


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def show(report) -> None:
    """One report as tables: hypotheses, constants, claims, notes."""
    from reluflow.claim import met, plural

    console = _show.console()
    form = f" [dim]({report.form})[/dim]" if report.form != "corrected" else ""
    console.print(f"[bold]{report.name}[/bold]{form}  {_escape(report.title)}")
    if report.hypotheses:
        so = "[green]all satisfied[/green]" if report.applies else "[red]not all satisfied (claims are measured)[/red]"
        console.print(f"\nhypotheses: {so}")
        console.print(_table(report.hypotheses, console.width, met))
    if report.constants:
        said = ", ".join(f"{k} = {_show.number(float(v))}" for k, v in report.constants.items())
        console.print(f"\n[dim]constants: {_escape(said)}[/dim]")
    console.print("\nclaims")
    console.print(_table(report.claims, console.width))
    console.print("\n" + ", ".join(f"{n} [{COLOURS[v]}]{plural(v, n)}[/]" for v, n in report.counts().items()))
    _contradictions(report)
    for note in report.notes:
        console.print(f"[yellow]•[/yellow] {_escape(note)}")
    words = _words.line(report._text())
    console.print(f"[dim]{_escape(words)}[/dim]\n" if words else "")


def _table(claims, width: int, word=operator.attrgetter("verdict")):
    """One column per number; on terminals narrower than `NARROW`, one sentence per claim. `word` gives the verdict."""
    from rich.table import Table

    from reluflow.claim import place, said

    if width < NARROW:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for c in claims:
            table.add_row(f"[{COLOURS[word(c)]}]{word(c)}[/]", _sentence(c))
        return table
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=True, header_style="dim")
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim")
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("bound", justify="right", no_wrap=True)
    table.add_column("margin", justify="right", no_wrap=True)
    table.add_column("where")
    for c in claims:
        where = "" if c.at is None else place(c.at)
        more = "; ".join(text for text in (c.missing, c.note) if text)
        note = f" [dim]{_escape(more)}[/dim]" if more else ""
        colour = COLOURS[word(c)]
        table.add_row(
            f"[{colour}]{word(c)}[/{colour}]",
            _escape(said(c)) + note,
            *_sides(c),
            _value(c.margin, False) if _decided(c) else "",
            f"[dim]{_escape(where)}[/dim]",
        )
    return table


def _sentence(c) -> str:
    from reluflow.claim import YES, place, said, sides

    margin = f"margin {_value(c.margin, False)}" if _decided(c) and not c.text.endswith(YES) else ""
    where = "" if c.at is None else f"at {place(c.at)}"
    more = ", ".join(_escape(part) for part in (margin, where, c.missing, c.note) if part)
    return f"{_escape(said(c))}: [bold]{_escape(sides(c, 5))}[/bold]" + (f" [dim]({more})[/dim]" if more else "")


def _sides(c) -> tuple[str, str, str]:
    """What was measured, the relation and the bound, as cells."""
    from reluflow.claim import NOT_COMPUTED, YES, sides

    if c.text.endswith(YES):
        return sides(c), "", ""
    cells = [NOT_COMPUTED if math.isnan(v) else _value(v, c.log) for v in (c.measured, c.bound)]
    return cells[0], _escape(c.relation), cells[1]


def _decided(c) -> bool:
    return c.verdict not in ("unmeasured", "unfinished")


def _value(value: float, log: bool) -> str:
    return f"e^{value:.5g}" if log else f"{value:.5g}"
