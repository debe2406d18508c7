"""Kernels that are not compiled yet, compiled side by side: each in a process of its own, which stores it on disk.

A first flow needs `burst` and `rare`, 20 seconds each; while one process compiles `rare`, another compiles `burst`. The
implicit steps of `stiff` are compiled when a run first takes one.
"""

import os
import subprocess
import sys
import threading
import time as _time
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

OUTPUTS = ("outputs", "outputs_rare", "outputs_windows", "outputs_implicit")
PARTS = ("burst", "rare", "stiff", "windows", "shares", "descent", *OUTPUTS)

_running: dict[str, subprocess.Popen] = {}
_stored: set[str] = set()  # parts that are known to be loaded or on disk


def beside(*parts: str) -> None:
    """Starts to compile those of `parts` that are missing, where a processor is free for them."""
    missing = [part for part in parts if part not in _running and _missing(part)]
    if not missing or parent_process() is not None or (os.cpu_count() or 1) < 2 or "RELUFLOW_APART" in os.environ:
        return  # nothing to do, a worker among many, or a process started here
    for part in missing:
        environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "RELUFLOW_APART": "1"}
        quiet = subprocess.DEVNULL
        try:
            # In a session of its own, as Ctrl-C in the terminal is meant for the run: the next one finds the kernel.
            _running[part] = subprocess.Popen(
                command(part), env=environ, stdout=quiet, stderr=quiet, stdin=quiet, start_new_session=True
            )
        except OSError:
            return  # no process can be started: everything is compiled here, one after another


def command(part: str) -> list[str]:
    """What compiles one part and stores it, in a process of its own."""
    # Stored is stored: an ordinary exit would take another second to free what numba and LLVM hold.
    code = f"import os; from {__name__} import compile_here; compile_here({part!r}); os._exit(0)"
    return [sys.executable, "-c", code]


def ready(part: str) -> None:
    """Waits for the process that compiles `part`, if there is one. Should it fail, the part is compiled here."""
    if part in _running:
        from reluflow.engine._jit import announce

        process, waiting = _running[part], _waiting()
        if process.poll() is None:
            announce(_kernel(part))
        waiting.on_start()
        try:
            process.wait()
            del _running[part]
        finally:
            waiting.on_end()


def underway() -> bool:
    """Whether this thread is compiling, or waiting for another process that does."""
    return _waiting().own.depth > 0


def spent() -> float:
    """Seconds that this thread has spent on kernels since this was first asked: compiling them, or waiting for another
    process that does."""
    return _waiting().own.seconds


class Spent(threading.local):
    """Time that one thread has spent, and the compilations it is in the middle of."""

    seconds, depth, began = 0.0, 0, 0.0


@cache
def _waiting() -> Any:
    """Counts the time of compilations, of which numba tells; those inside another count once."""
    from numba.core import event

    class Waiting(event.Listener):
        own = Spent()

        def on_start(self, _: object = None) -> None:
            if self.own.depth == 0:
                self.own.began = _time.perf_counter()
            self.own.depth += 1

        def on_end(self, _: object = None) -> None:
            self.own.depth -= 1
            if self.own.depth == 0:
                self.own.seconds += _time.perf_counter() - self.own.began

    found = Waiting()
    event.register("numba:compile", found)
    return found


def _missing(part: str) -> bool:
    """Whether a part is neither loaded nor stored on disk."""
    if part in _stored:
        return False
    kernel = _kernel(part)
    if hasattr(kernel, "stats") and not kernel.overloads:
        folder = Path(kernel.stats.cache_path)
        if not any(folder.glob(f"*.{kernel.py_func.__name__}-*.nbi")):
            return True
    _stored.add(part)
    return False


def _kernel(part: str):
    from reluflow.engine import coupled, rare, stiff, windows
    from reluflow.engine.vector import coupled as outputs
    from reluflow.engine.vector import implicit as outputs_implicit
    from reluflow.engine.vector import rare as outputs_rare
    from reluflow.engine.vector import windows as outputs_windows

    return {
        "burst": coupled.burst,
        "rare": rare.handle,
        "stiff": stiff.attempt,
        "windows": windows.advance,
        "shares": windows.trace_blocks,
        "outputs": outputs.burst,
        "outputs_rare": outputs_rare.handle,
        "outputs_windows": outputs_windows.advance,
        "outputs_implicit": outputs_implicit.attempt,
    }[part]


def compile_here(part: str) -> None:
    """Compiles one part and stores it."""
    import numpy as np

    import reluflow as rf
    from reluflow.drive import descent, descent_outputs, exact, loop, threads
    from reluflow.engine import rare, windows

    small = rf.Problem(rf.data.two_points(), rf.init.balanced(4, 2))
    if part in OUTPUTS:
        _compile_outputs(part)
        return
    if part == "descent":
        ways: tuple[dict, ...] = ({}, {"fast_forward": False}, {"dtype": "float32"})
        for driver in (descent.Machine(small, rf.Descent(step=1e-2, **way), 100) for way in ways):
            loop.run(driver, rf.Save(), rf.Limits(), None, loop.Stops())
        several = rf.Problem(rf.Data(np.eye(2), np.eye(2)), rf.init.balanced(4, 2, outputs=2))
        for way in ways[1:]:
            driver = descent_outputs.Machine(several, rf.Descent(step=1e-2, **way), 100)
            loop.run(driver, rf.Save(), rf.Limits(), None, loop.Stops())
        return
    machine = exact.Machine(small, 1e-6, 1.0, regime="windows" if part in ("windows", "shares") else "coupled")
    machine.mode = None  # this part alone: the others are compiled beside it
    machine.run.step = np.finfo(float).tiny
    if part == "windows":
        machine._advance(windows.Limits(0, 0))
    elif part == "shares":
        kept = threads.room(0, machine.big)
        windows.trace_blocks(machine.packed, machine.state, machine.run, machine.work, machine.window, 0, 0, kept)
    elif part == "burst":
        machine.burst(0)
    elif part == "stiff":
        machine._attempt()
    else:
        machine._rare(rare.RESTORE)


def _compile_outputs(part: str) -> None:
    """One of the kernels of flows with several outputs."""
    import numpy as np

    import reluflow as rf
    from reluflow.drive.vector import Machine
    from reluflow.engine.vector import rare
    from reluflow.engine.windows import Limits

    data = rf.Data(np.eye(2), np.eye(2))
    machine = Machine(rf.Problem(data, rf.init.balanced(4, 2, outputs=2)), 1e-6, 1.0)
    if part == "outputs_rare":
        machine._rare(rare.RESTORE)
        return
    if part == "outputs_windows":
        machine._advance(Limits(0, 0))
        return
    if part == "outputs_implicit":
        machine._attempt()
        return
    machine.mode = None
    machine.run.step = np.finfo(float).tiny
    machine.burst(0)
