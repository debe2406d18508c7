"""Shared output of the commands: progress bars, number formats, error messages."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

EXPECTED = ("ValueError", "TypeError", "OSError", "ImportError", "SolveError", "KeyError")


def console(stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=stderr)


def error(problem: Exception) -> None:
    """Prints an error as one sentence on stderr; an unexpected error is labelled as such."""
    from rich.text import Text

    from reluflow.papers import _found

    names = {c.__name__ for c in type(problem).__mro__}
    text = str(problem.args[0]) if isinstance(problem, KeyError) and problem.args else str(problem)
    located = _found.told(problem)
    if located != text:
        text, names = f"{located}. `--debug` shows the traceback.", set(EXPECTED)
    elif isinstance(problem, OSError) and problem.errno is not None:
        text = f"`{problem.filename}` cannot be used: {(problem.strerror or 'unknown error').lower()}."
    if not names & set(EXPECTED) or not text:
        text = f"Unexpected error ({type(problem).__name__}: {text}): please run again with `--debug` and report it."
    for line in text.split("\n"):
        console(stderr=True).print(Text.assemble(("error ", "bold red"), line))


def number(value: float, log: float | None = None) -> str:
    """A number in readable form; e^... outside the range of float64."""
    import math

    if log is not None and (not math.isfinite(value) or value == 0) and math.isfinite(log):
        return f"e^{log:,.6g}"
    return f"{value:,.6g}" if abs(value) < 1e7 else f"{value:.4g}"


def seconds(value: float) -> str:
    return f"{value * 1e3:.0f} ms" if value < 1 else f"{value:.1f} s" if value < 60 else f"{value / 60:.1f} min"


def pairs() -> Table:
    """A table of names and values without lines."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", justify="right", no_wrap=True)
    table.add_column()
    return table


@contextmanager
def progress(what: str, quiet: bool = False):
    """Yields a callback for `rf.solve`; a bar with rate and remaining time appears after one second."""
    began, bar = time.perf_counter(), None
    quiet = quiet or not console(stderr=True).is_terminal  # no bars in log files

    def tell(now):
        nonlocal bar
        if quiet or time.perf_counter() - began < 1.0:
            return
        if bar is None:
            bar = _bar()
            bar.start()
            bar.add_task(what, total=1.0 if now.fraction is not None else None, rate="", place="")
        done = {} if now.fraction is None else {"completed": now.fraction}
        place = f"t = {_time(now.log_t)}"
        bar.update(bar.task_ids[0], rate=f"{now.steps / max(now.seconds, 1e-9):,.0f} steps/s", place=place, **done)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


def _time(log_t: float) -> str:
    import math

    return f"{math.exp(log_t):,.4g}" if log_t < 30 else f"e^{log_t:,.4g}"


def _bar():
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        TextColumn("{task.fields[place]}"),
        TextColumn("[dim]{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("[dim]left"),
        TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
    )


def picture_file(path: Path | None) -> Path | None:
    """Checks the file for a picture before the computation starts."""
    if path is not None and path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"`--plot` must name a PNG, PDF or SVG file, got `{path}`: write `{path.stem}.png`.")
    if path is not None and not path.absolute().parent.is_dir():
        raise ValueError(f"Folder not found: {path.parent}. Create it before `--plot {path}`.")
    return path
