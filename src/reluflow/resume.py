"""`rf.resume`: a run that was stopped, or ended earlier than wanted, goes on from where it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reluflow import _progress
from reluflow.drive import driver_for, loop
from reluflow.drive.recorder import Tape
from reluflow.events import Events
from reluflow.methods import Descent, Limits, Save
from reluflow.outcome import Outcome
from reluflow.solution import Recording, Solution, Stats, recorded
from reluflow.solve import end_clock
from reluflow.store import load

if TYPE_CHECKING:
    from reluflow.drive.loop import Progress


def resume(
    run: Solution | str | Path,
    *,
    t1: float | None = None,
    log_t1: float | None = None,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Solution:
    """A run, or the folder of one, taken up at its last state and followed to `t1` or e^`log_t1` (left out: its own).

    What comes back is one run from t = 0. It agrees with a run in one piece as two runs of the same tolerance do, not
    bit for bit: a flow chooses its steps anew where it is taken up.
    """
    old = run if isinstance(run, Solution) else _loaded(run)
    call = old.call or {"t1": None, "log_t1": None}
    asked = t1 is not None or log_t1 is not None
    ends = {"t1": t1, "log_t1": log_t1} if asked else {key: call[key] for key in ("t1", "log_t1")}
    end = end_clock(old.problem, ends["t1"], ends["log_t1"], old.method)
    _refuse_what_has_ended(old, end)
    # Descent leaps over iterations that it cannot be taken up at.
    last = int(np.flatnonzero(old.recording.resume != 0.0)[-1])
    marks = old.recording.checkpoints
    given = call.get("save") or {}
    times = None if given.get("times") is None else tuple(given["times"])
    save = Save(times=times, frames=given.get("frames", 1000), memory=given.get("memory", "64 MiB"))
    limits = limits or (Limits(steps=10**15) if isinstance(old.method, Descent) else Limits())
    driver = driver_for(old.problem, old.method, end, units=old.replay.units)
    start = loop.Start(float(marks.clock[last]), float(old.recording.resume[last]), marks.y[last], marks.code[last])
    with loop.stops() as stop, _progress.shown(progress, _progress.of_run) as tell:
        later = loop.run(driver, save, limits, tell, stop, loop.Extra(start=start))
    sol = _joined(old, last, later, times)
    sol.experiment = None if asked else old.experiment
    sol.call = call | ends
    return sol


def _loaded(path: str | Path) -> Solution:
    return load(path)


def _refuse_what_has_ended(old: Solution, end: float) -> None:
    if old.outcome is Outcome.STATIONARY:
        raise ValueError(
            f"`rf.resume` needs a run that can go on, got one that converged at t = {old.t_end:g}: its state is the "
            "same at every later time, so read it with `sol.at(t)`."
        )
    if old.recording.checkpoints.clock[-1] >= end:
        raise ValueError(
            f"`rf.resume` needs a `t1` later than the end of the run, which has reached t = {old.t_end:g}: give one, "
            "on the command line by `--set solve.t1=...`."
        )


def _joined(old: Solution, last: int, later: loop.Run, times: tuple | None) -> Solution:
    """The run up to its checkpoint `last`, and the later piece, as one."""
    before = old.recording
    first, (marks, resume) = before.checkpoints.rows(slice(last + 1)), later.tape.checkpoints()
    new = marks.clock > first.clock[-1]
    whole = Tape(later.tape.limit)
    whole.marks, whole.resume = [first, marks.rows(new)], [before.resume[: last + 1], resume[new]]
    whole.events = later.tape.events
    if times:
        whole.asked = [before.frames.rows(before.frames.clock <= first.clock[-1]), *later.tape.asked]
    both = recorded(old.problem, old.method, later._replace(tape=whole), times)
    until = old.replay.clock.times(first.clock[-1])[1]
    events = _both(before.events[before.events.log_t <= until], both.events)
    stats = _sum(before.stats, both.stats, events)
    made: Recording = replace(both.recording, events=events, stats=stats)
    return Solution(made, both.replay)


def _both(first: Events, second: Events) -> Events:
    names = ("t", "log_t", "neuron", "datum", "code", "unique")
    columns = [np.concatenate([getattr(first, name), getattr(second, name)]) for name in names]
    order = np.argsort(columns[1], kind="stable")
    return Events(*(column[order] for column in columns))


def _sum(first: Stats, second: Stats, events: Events) -> Stats:
    """What both pieces took; errors are those of the whole."""
    added = ("steps", "rejected", "events", "slides", "non_unique", "fields", "seconds", "unrecorded")
    total = {name: getattr(first, name) + getattr(second, name) for name in added}
    regimes = {k: first.regimes.get(k, 0) + v for k, v in second.regimes.items() if k != "leap_tolerance"}
    if "descent" in regimes:  # whose steps are its iterations, counted from 0
        total["steps"] = second.steps
        regimes["descent"] = second.steps - regimes.get("leapt", 0) - regimes.get("jumped", 0)
    total["wakeable"] = len(np.unique(events.neuron[events.wakes]))
    if first.nearest_bifurcation < second.nearest_bifurcation:
        near = {name: getattr(first, name) for name in ("nearest_bifurcation", "nearest_place")}
    else:
        near = {}
    return replace(second, **total, **near, regimes=regimes)
