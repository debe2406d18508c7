"""Phases, norms and theorem checks of one experiment at a time, in a process of its own.

    python -m reluflow.explorer.worker      reads one JSON job a line, writes one JSON finding a line

A job is {"job": number, "experiment": tables, "skip": names of checks already known}; an experiment of None ends the
job before it. Every check has a limit of processor time, not of wall time, so that the verdicts do not depend on what
else the machine is doing; a check that meets the limit is reported as unfinished, with the limit.
"""

import json
import math
import os
import queue
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator

import reluflow as rf

EACH = 20.0  # seconds of processor time for one check
MEMORY = 8 * 2**30  # address space


_timing = threading.Event()


class OutOfTime(BaseException):
    """Raised by the timer; not an Exception, so that no checker catches it."""


def main() -> None:
    _limit()
    jobs: queue.Queue = queue.Queue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()
    while True:
        job = jobs.get()
        if job is None:
            return
        while not jobs.empty():
            later = jobs.get()
            if later is None:
                return
            job = later
        for finding in findings(job, lambda: not jobs.empty()):
            sys.stdout.write(json.dumps({"job": job["job"], **finding}, allow_nan=False) + "\n")
            sys.stdout.flush()


def _limit() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, ValueError, OSError):  # no such limit on this system
        pass
    os.environ.setdefault("MPLBACKEND", "Agg")
    if hasattr(signal, "SIGPROF"):
        signal.signal(signal.SIGPROF, signal.SIG_IGN)


def _read(jobs: queue.Queue) -> None:
    for line in sys.stdin:
        jobs.put(json.loads(line))
        if _timing.is_set() and hasattr(signal, "SIGPROF"):
            os.kill(os.getpid(), signal.SIGPROF)  # the check that is running belongs to an older job
    jobs.put(None)


def findings(job: dict, stop: Callable[[], bool]) -> Iterator[dict]:
    """Everything known about the experiment of a job, one finding after the other, until `stop()`."""
    from reluflow.experiment import Experiment

    class Newer(Exception):
        pass

    def progress(*_):
        if stop():
            raise Newer

    if job["experiment"] is None:
        yield {"dropped": True}
        return
    try:
        sol = Experiment.from_dict(job["experiment"]).run(progress=progress)
        if not stop():
            yield {"phases": optional(lambda: phases(sol), EACH) or []}
        if not stop():
            yield {"norm": optional(lambda: norms(sol), EACH) or {}}
        yield from checks(sol, stop, frozenset(job.get("skip", ())))
    except Newer:
        return
    except Exception as error:  # reported like any other finding; the process goes on
        yield {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
    if not stop():
        yield {"done": True}


def optional(work: Callable, seconds: float):
    """`work()`, or None when it fails or takes too long."""
    try:
        return limited(work, seconds)
    except (Exception, OutOfTime):
        return None


def limited(work: Callable, seconds: float):
    """`work()`, ended after so many seconds of processor time where the system has such timers."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return work()

    def expired(*_):
        raise OutOfTime

    previous = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.01))
    _timing.set()
    try:
        return work()
    finally:
        _timing.clear()
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, previous if callable(previous) else signal.SIG_IGN)


def phases(sol) -> list[dict]:
    return [
        {
            "kind": p.kind,
            "log_start": number(p.log_start),
            "log_end": number(p.log_end),
            "log_loss": number(p.log_loss),
            "neurons": list(p.neurons),
        }
        for p in sol.phases()
    ]


def norms(sol) -> dict:
    """|theta|^2 at the end, and the smallest that fits the data (the largest margin for classification)."""
    import numpy as np

    log_w, log_a = sol.final.log_scales
    w, a = sol.final.w, sol.final.a.reshape(len(log_a), -1)
    with np.errstate(over="ignore"):
        squared = np.sum(np.exp(2 * log_w) * np.sum(w * w, axis=1)) + np.sum(np.exp(2 * log_a) * np.sum(a * a, axis=1))
    found = {"final": number(float(squared)), "least": None, "margin": None}
    if sol.problem.loss == "square":
        found["least"] = optional(lambda: least(sol.problem), EACH)
    elif sol.problem.train == "both":
        found["margin"] = optional(lambda: margin(sol.problem), EACH)
    return found


def least(problem) -> float | None:
    """min |theta|^2 over networks that fit the data."""
    return number(float(rf.bias.min_norm(problem.data).value))


def margin(problem) -> float | None:
    """max over networks of min_i y_i f(x_i) / |theta|^2; with classes a bound on it, exact in the plane."""
    if problem.outputs > 1:
        return number(float(rf.bias.max_margin(problem).margin_bound))
    return number(float(rf.bias.max_margin(problem.data).margin))


def fitting(sol) -> list:
    """The checks about such a run, first those of the paper with this loss; none with classes, as the papers are about
    one output."""
    if sol.problem.outputs > 1:
        return []
    kind = "descent" if isinstance(sol.method, rf.Descent) else "flow"
    fits = [c for c in rf.checks() if c.needs in ("data", "problem", "solution", kind)]
    first = "boursier2022" if sol.problem.loss == "square" else "min2024"
    fits.sort(key=lambda c: (not c.name.startswith(first), ".theorem" not in c.name, c.name))
    return fits


def checks(sol, stop: Callable[[], bool], skip: frozenset = frozenset(), seconds: float = EACH) -> Iterator[dict]:
    """The report of every check about such a run, after a list of their names."""
    fits = fitting(sol)
    yield {"known": [{"name": c.name, "title": c.title, "needs": c.needs} for c in fits]}
    for entry in fits:
        if stop():
            return
        if entry.name not in skip:
            found = checked(entry, sol, seconds)
            if stop():  # perhaps ended by the newer job
                return
            yield {"check": found}


def checked(entry, sol, seconds: float) -> dict:
    """The report of one check as plain values; or `missing`, why it is not about this run; or `unfinished`."""
    named = {"name": entry.name, "title": entry.title}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return limited(lambda: plain(rf.check(entry.name, sol)), seconds)
    except OutOfTime:
        return {**named, "unfinished": f"stopped after {seconds:g} seconds of processor time"}
    except Exception as error:
        return {**named, "missing": str(error)[:300]}


def plain(report) -> dict:
    found = report.to_dict()
    return json.loads(json.dumps(found, default=str))


def number(value: float):
    """JSON has no infinities."""
    return value if math.isfinite(value) else (1.7e308 if value > 0 else -1.7e308 if value < 0 else None)


if __name__ == "__main__":
    main()
