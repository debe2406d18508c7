"""Time and moments that are counted, so that no test depends on how fast or how busy the machine is."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import contextmanager


class Clock:
    """Stands in for `time.perf_counter`: each reading is `step` seconds after the one before.

    Runs size their bursts by the clock, tell their progress every 0.1 s of it and stop at `Limits(seconds=...)` by it;
    all three become counts of readings. `do` is called at reading number `at`, between two bursts.
    """

    def __init__(self, step: float = 0.2, at: int | None = None, do: Callable[[], object] | None = None):
        self.step, self.at, self.do, self.readings = step, at, do, 0

    def __call__(self) -> float:
        self.readings += 1
        if self.readings == self.at and self.do is not None:
            self.do()
        return self.step * self.readings


def press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


@contextmanager
def counted_calls(at: int | None = None, number: int = signal.SIGINT):
    """Yields a list whose one entry is the number of Python function calls so far; this process gets the signal at
    call number `at`. Compiled code makes no such calls: a signal that comes inside it waits for the next one anyway."""
    count = [0]

    def watch(frame, event, argument):
        if event == "call":
            count[0] += 1
            if count[0] == at:
                sys.setprofile(None)
                os.kill(os.getpid(), number) if number == signal.SIGKILL else signal.raise_signal(number)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield count
    finally:
        sys.setprofile(before)


def all_calls(do: Callable[[], object]) -> int:
    """How many functions, of Python or C, a call makes: what it costs, without a clock."""
    count = 0

    def watch(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        do()
    finally:
        sys.setprofile(before)
    return count
