"""A progress bar for long calls from Python, in terminals and in notebooks.

`progress=True` shows it, `progress=False` never; left out, it appears after two seconds where a person is at work: at
Python's prompt, in IPython or in a notebook. Scripts, tests and worker processes get none, and nothing is printed to a
file.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

WAIT = 2.0  # seconds before a bar that was not asked for appears
WIDTH = 28  # characters


class Place(NamedTuple):
    """What a bar shows: the fraction done (None: unknown), a few words, and the seconds left where these were estimated
    (None: by the fraction done)."""

    fraction: float | None
    words: str
    left: float | None = None


class _Screen(Protocol):
    def show(self, line: str, fraction: float | None) -> None:
        """Replaces what was shown before."""

    def close(self) -> None:
        """Removes the bar."""


@contextmanager
def shown(
    progress: Callable[[Any], None] | bool | None, place: Callable[[Any], Place]
) -> Iterator[Callable[[Any], None] | None]:
    """The callback for a loop: the caller's own, one that draws a bar, or None."""
    if progress is not None and not isinstance(progress, bool):
        yield progress
        return
    screen = None if progress is False else _screen(asked=progress is True)
    if screen is None:
        yield None
        return
    bar = _Bar(screen, place, 0.0 if progress else WAIT)
    if progress:
        bar.prepare()
    try:
        yield bar.tell
    finally:
        bar.close()


class _Bar:
    def __init__(self, screen: _Screen, place: Callable[[Any], Place], wait: float):
        self.screen, self.place, self.wait = screen, place, wait
        self.began, self.drawn = time.perf_counter(), False

    def prepare(self) -> None:
        """A first line: a large run may work for seconds before its loop begins."""
        self.drawn = True
        self.screen.show("preparing", None)

    def tell(self, now: Any) -> None:
        seconds = time.perf_counter() - self.began
        if seconds < self.wait:
            return
        self.drawn = True
        fraction, words, left = self.place(now)
        self.screen.show(line(fraction, words, seconds, left), fraction)

    def close(self) -> None:
        if self.drawn:
            self.screen.close()


def line(fraction: float | None, words: str, seconds: float, left: float | None = None) -> str:
    """One line: bar, percentage, words, seconds so far and, once it can be estimated, seconds left."""
    if fraction is None:
        return f"{words}  {duration(seconds)}"
    done = min(max(fraction, 0.0), 1.0)
    full = round(WIDTH * done)
    left = time_left(done, seconds, left)
    ahead = "" if left is None else f", about {duration(left)} left"
    return f"[{'#' * full}{'.' * (WIDTH - full)}] {100 * done:3.0f}%  {words}  {duration(seconds)}{ahead}"


def time_left(fraction: float | None, seconds: float, left: float | None) -> float | None:
    """`left`, or what the fraction done gives."""
    if left is None and fraction is not None and fraction > 0.01:
        return seconds * max(0.0, 1.0 - fraction) / fraction
    return left


def duration(seconds: float) -> str:
    """Seconds as 5 s, 3:20 or 2:05:00."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"


def of_run(now: Any) -> Place:
    """Where a run is: its time and its steps."""
    log_t = float(now.log_t)
    t = f"t = {math.exp(log_t):.4g}, " if log_t < 700 else "" if math.isnan(log_t) else f"t = e^{log_t:.6g}, "
    return Place(now.fraction, f"{t}{now.steps:,} steps", getattr(now, "left", None))


def of_points(now: Any) -> Place:
    """Where a sweep is: its points."""
    bad = f", {now.failed:,} failed" if now.failed else ""
    return Place(now.done / now.total, f"{now.done:,} of {now.total:,} points{bad}")


def of_checks(now: Any) -> Place:
    """Which check of a paper is being judged."""
    return Place(now.done / now.total, f"{now.name} ({now.done + 1} of {now.total})")


def of_proof(now: Any) -> Place:
    """How far a proof is: the time reached, the events proved, and the digits where they were doubled."""
    to = "" if now.end is None else f" of {now.end:g}"
    more = f", {now.digits} digits" if now.attempt else ""
    return Place(None, f"t = {now.t:.4g}{to}, {now.events:,} event{'s' * (now.events != 1)} proved{more}")


# Where it is drawn ----------------------------------------------------------------------------------------------------


def _screen(asked: bool) -> _Screen | None:
    shell = _shell()
    if shell == "notebook":
        return _Notebook()
    interactive = shell == "terminal" or hasattr(sys, "ps1")
    if (asked or interactive) and sys.stderr is not None and sys.stderr.isatty():
        return _Terminal()
    return None


def _shell() -> str:
    """ "notebook", "terminal" or "": the IPython this runs in, without importing it."""
    ipython = sys.modules.get("IPython")
    running = None if ipython is None else ipython.get_ipython()
    if running is None:
        return ""
    return "notebook" if getattr(running, "kernel", None) is not None else "terminal"


class _Terminal:
    """The last line of a terminal, rewritten in place. The cursor waits at its start, so that a logged message replaces
    it instead of being appended."""

    def show(self, line: str, fraction: float | None) -> None:
        sys.stderr.write(f"\r\x1b[2K{line}\r")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()


class _Notebook:
    """An output of the cell, updated in place and emptied at the end."""

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, line: str, fraction: float | None) -> None:
        from IPython.display import HTML, display

        words = line.partition("] ")[2] or line
        done = "" if fraction is None else f' value="{fraction:.4f}"'
        bar = HTML(f'<progress max="1"{done}></progress> <code>{words}</code>')
        if self.handle is None:
            self.handle = display(bar, display_id=True)
        else:
            self.handle.update(bar)

    def close(self) -> None:
        from IPython.display import HTML

        if self.handle is not None:
            self.handle.update(HTML(""))
