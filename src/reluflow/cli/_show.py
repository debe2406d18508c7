"""Shared output of the commands: progress bars, number formats, error messages."""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reluflow._progress import duration, time_left

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
    if quiet or not console(stderr=True).is_terminal:  # no bars in log files
        yield lambda now: None
        return
    bar = _bar()
    task = bar.add_task(what, total=None, rate="", place="preparing", left="")
    # By a timer: a large run may work for seconds before it first tells where it is.
    timer = threading.Timer(1.0, bar.start)
    timer.daemon = True
    timer.start()

    def tell(now):
        done = {} if now.fraction is None else {"completed": now.fraction, "total": 1.0}
        rate = f"{now.steps / max(now.seconds, 1e-9):,.0f} steps/s"
        bar.update(task, rate=rate, place=f"t = {_time(now.log_t)}", left=_left(now), **done)

    try:
        yield tell
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def _left(now) -> str:
    """The time left, as far as it is known."""
    seconds = time_left(now.fraction, now.seconds, getattr(now, "left", None))
    return "" if seconds is None else f"{duration(seconds)} left"


def _time(log_t: float) -> str:
    return f"{math.exp(log_t):,.4g}" if log_t < 30 else f"e^{log_t:,.4g}"


def _bar():
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        TextColumn("{task.fields[place]}"),
        TextColumn("[dim]{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[left]}"),
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
