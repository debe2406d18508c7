"""Phases, norms and theorems of one experiment at a time, in a process of its own.

    python -m reluflow.explorer.judge      reads one JSON job a line, writes one JSON finding a line

Checks may take long: each has its share of the budget, after which an alarm ends it, and the parent ends this process
when even that does not help. A line that arrives meanwhile is a newer job: the old one stops at once.
"""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import sys
import threading
import time

BUDGET = 6.0  # seconds for all checks of one job
EACH = 2.0  # and for one of them
MEMORY = 8 * 2**30  # address space


_timing = threading.Event()


class Late(BaseException):
    """The alarm: not an Exception, so that no checker swallows it."""


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


def _read(jobs: queue.Queue) -> None:
    for line in sys.stdin:
        jobs.put(json.loads(line))
        if _timing.is_set() and hasattr(signal, "SIGALRM"):
            os.kill(os.getpid(), signal.SIGALRM)  # whatever is being measured is no longer wanted
    jobs.put(None)


def findings(job: dict, stop):
    """What there is to say about a job, one finding after the other, until `stop()`."""
    from reluflow.experiment import Experiment

    class Newer(Exception):
        pass

    def progress(*_):
        if stop():
            raise Newer

    if job["experiment"] is None:  # nothing but an end to what went before
        return
    try:
        experiment = Experiment.from_dict(job["experiment"])
        sol = experiment.run(progress=progress)
        if not stop():
            yield {"phases": guarded(lambda: phases(sol), EACH) or []}
        if not stop():
            yield {"norm": guarded(lambda: norms(sol), EACH) or {}}
        yield from checks(sol, stop)
    except Newer:
        pass
    except Exception as error:  # one finding fewer, never a dead judge
        yield {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
    yield {"done": True}


def guarded(work, seconds: float):
    """`work()`, or None when it fails or takes too long."""
    try:
        return timed(work, seconds)
    except (Exception, Late):
        return None


def timed(work, seconds: float):
    """`work()`, ended by an alarm after so many seconds where the system has alarms."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return work()

    def ring(*_):
        raise Late

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    _timing.set()
    try:
        return work()
    finally:
        _timing.clear()
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # an alarm that was already on its way says nothing any more


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
    """|theta|^2 at the end, and the least that fits the data, where it is known."""
    import numpy as np

    log_w, log_a = sol.final.log_scales
    w, a = sol.final.w, sol.final.a
    squared = np.sum(np.exp(2 * log_w) * np.sum(w * w, axis=1)) + np.sum(np.exp(2 * log_a) * a * a)
    found = {"final": number(float(squared)), "least": None}
    if sol.problem.loss == "square":
        found["least"] = guarded(lambda: least(sol.problem), EACH)
    return found


def least(problem) -> float | None:
    """min |theta|^2 over networks that fit the data."""
    import reluflow as rf

    value = rf.bias.min_norm(problem.data).value
    return number(float(value))


def checks(sol, stop):
    """Every theorem that is about such a run, first those of the papers with this loss."""
    import reluflow as rf

    kind = "descent" if type(sol.method).__name__ == "Descent" else "flow"
    takes = ("data", "problem", "solution", kind)
    fits = [c for c in rf.checks() if c.needs in takes]
    first = "boursier2022" if sol.problem.loss == "square" else "min2024"
    fits.sort(key=lambda c: (not c.name.startswith(first), ".theorem" not in c.name, c.name))
    yield {"known": [{"name": c.name, "title": c.title, "needs": c.needs} for c in fits]}
    began = time.monotonic()
    for entry in fits:
        left = BUDGET - (time.monotonic() - began)
        if stop():
            return
        if left <= 0:
            yield {"check": {"name": entry.name, "title": entry.title, "missing": "not reached in the time given"}}
            continue
        yield {"check": judged(entry, sol, min(left, EACH))}


def judged(entry, sol, seconds: float) -> dict:
    """The report of one check as plain values, or why there is none."""
    import reluflow as rf

    try:
        return timed(lambda: plain(rf.check(entry.name, sol)), seconds)
    except Late:
        why = f"more than {seconds:.0f} s"
    except Exception as error:
        why = str(error)[:300]
    return {"name": entry.name, "title": entry.title, "missing": why}


def plain(report) -> dict:
    found = report.to_dict()
    return json.loads(json.dumps(found, default=str))


def number(value: float):
    """JSON has no infinities."""
    return value if math.isfinite(value) else (1.7e308 if value > 0 else -1.7e308 if value < 0 else None)


if __name__ == "__main__":
    main()
