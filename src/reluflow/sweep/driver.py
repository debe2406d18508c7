"""`rf.sweep`: groups points into tasks, sends them to workers, writes results to disk, assembles one dataset."""

import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reluflow import _progress
from reluflow._checks import by_name, number, whole
from reluflow.experiment import Experiment, ExperimentError
from reluflow.sweep import dataset, folder, keep, point, pool
from reluflow.sweep.design import Design

TASK_SECONDS = 1.5
WRITES = 20.0  # most tasks per second that the driver writes
MOST = 1000  # points in a task
RESTARTS = 10  # of a local cluster
TRIES = 2  # times that a point, running alone, may kill its worker


@dataclass(frozen=True)
class Progress:
    """Points `done` of `total`, of them `failed`; `rate` in points a second; `left` in seconds (None: unknown)."""

    done: int
    total: int
    failed: int
    seconds: float
    rate: float
    left: float | None
    workers: int
    dashboard: str
    unsaved: int = 0


@by_name
def sweep(
    experiment: Experiment,
    over: Mapping[str, Any] | None = None,
    keep: Sequence[str] | None = None,
    *,
    design: str | None = None,
    points: int | None = None,
    seed: int | None = None,
    store=None,
    resume: bool = False,
    retry: bool = False,
    scheduler: str | None = None,
    workers: int | None = None,
    seconds: float | None = None,
    memory: str | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
    trust: bool = False,
):
    """Runs `experiment` at every point of `over` and returns the quantities `keep` as one `xarray.Dataset`.

    `over` maps dotted keys to lists: their grid, or the points of a `design` "list", "random" or "latin"
    (`sweep/design.py`); `over`, `keep` and `design` default to those of the experiment's `[sweep]`. A point that fails,
    exceeds `seconds` or needs more than `memory` is NaN, with the reason in `reason`; the other points continue.

    `store` is a folder that gets one file per finished task; `resume=True` continues a sweep found there,
    with bit-identical results, and `retry=True` also repeats its failed points. The points are computed by `workers`
    processes (default: one per core; 0: in this process) or by those of the Dask `scheduler` at an address. `progress`
    is as for `rf.solve`, a function being called with a `Progress`. Ctrl-C returns the points computed so far.
    An experiment whose own `[sweep]` names a `module:function` runs that code only with `trust=True`.
    """
    about, plan = _plan(experiment, over, keep, design, points, seed, trust)
    if workers is not None:
        whole("workers", workers, least=0, hint="0 computes in this process")
    budgets = _budgets(seconds, memory)
    disk = None if store is None else folder.Folder(store)
    if disk is None and (resume or retry):
        raise ValueError("Resuming needs `store`: give the folder of the sweep.")
    with _progress.shown(progress, _progress.of_points) as tell:
        run = Run(about, plan, disk, budgets, experiment.folder, tell)
        try:
            run.begin(resume=resume or retry, retry=retry)
            if run.waiting:
                run.go(lambda: _pool(scheduler, workers), restarts=RESTARTS if scheduler is None else 0)
        finally:
            if disk is not None:
                disk.close()
    return run.dataset()


def described(experiment, over=None, keep=None, design=None, points=None, seed=None, trust=False) -> dict:
    """Description of the sweep with these arguments, with its `key`."""
    return _plan(experiment, over, keep, design, points, seed, trust)[0]


def _plan(experiment, over, kept, design, points, seed, trust) -> tuple[dict, Design]:
    if not isinstance(experiment, Experiment):
        way = "try `rf.Experiment.from_toml(path)`"
        raise TypeError(f"`experiment` must be an rf.Experiment, got {type(experiment).__name__}: {way}.")
    table = experiment["sweep"]
    over = table.get("over") if over is None else over
    if not over:
        raise ValueError("`over` is missing: give dotted keys and their values, or add `[sweep.over]`.")
    foreign = [name for name in table.get("keep") or () if ":" in str(name)]
    if kept is None and foreign and not trust:
        raise ValueError(
            f"The experiment names the function `{foreign[0]}` in `sweep.keep`, which runs code of its own: add "
            "`--trust` (`trust=True`) if you know where the file comes from."
        )
    kept = keep.checked(kept if kept is not None else table.get("keep") or keep.DEFAULT)
    kind = design or table.get("design") or "grid"
    count = points if points is not None else table.get("points")
    plan = Design(over, kind, count, int(seed if seed is not None else table.get("seed") or 0))
    _possible(experiment, plan)
    return folder.describe(experiment, plan, kept), plan


def _possible(experiment: Experiment, plan: Design) -> None:
    """Rejects a sweep in which no point is a valid experiment (a misspelt key, for instance). Single invalid points are
    recorded as failed."""
    first = None
    for index in np.unique(np.linspace(0, len(plan) - 1, 20).astype(int)):
        try:
            experiment.changed(plan[int(index)])
            return
        except ExperimentError as error:
            first = first or error
    if first is not None:
        raise first


def _budgets(seconds, memory) -> dict:
    if seconds is not None:
        seconds = number("seconds", seconds, rule="positive", ok=lambda v: v > 0, hint="leave it out for no limit")
    if memory is not None:
        point.size(memory)
    patience = None if seconds is None else point.PATIENCE * seconds + point.GRACE
    return {"seconds": seconds, "patience": patience, "memory": memory}


def _pool(scheduler: str | None, workers: int | None):
    if scheduler is None and workers == 0:
        return pool.Here()
    return pool.Cluster(scheduler, workers)


class Run:
    """One running sweep: points waiting, submitted and done."""

    def __init__(self, about: dict, plan: Design, disk, budgets: dict, home, progress):
        self.about, self.plan, self.disk, self.progress = about, plan, disk, progress
        self.base = {
            "experiment": about["experiment"],
            "folder": None if home is None else str(home.resolve()),
            "keep": about["keep"],
            **budgets,
        }
        self.tasks: list[dict] = []
        self.waiting: deque[int] = deque()
        self.alone: deque[int] = deque()  # points whose task died: each becomes a task of its own
        self.suspects: deque[int] = deque()  # points that died again: each runs alone, at the end
        self.deaths: dict[int, int] = {}
        self.unsaved: list[tuple[list[int], bytes]] = []
        self.trouble, self.interrupted = "", False
        self.attempt, self.done, self.failed = 0, 0, 0
        self.costs: deque[float] = deque(maxlen=64)
        self.marks: deque[tuple[float, int]] = deque(maxlen=200)
        self.began = self.told = time.perf_counter()

    def begin(self, *, resume: bool, retry: bool) -> None:
        """Points on disk are done; the others wait."""
        done = np.zeros(len(self.plan), bool)
        bad = np.zeros(len(self.plan), bool)
        if self.disk is not None:
            self.tasks = self.disk.begin(self.about, resume=resume)
            for task in self.tasks:
                done[task["point"]], bad[task["point"]] = True, task["failed"]
        if retry:
            self.attempt = 1 + max((task["attempt"] for task in self.tasks), default=0)
            done &= ~bad
        self.waiting.extend(np.flatnonzero(~done).tolist())
        self.done, self.failed = int(np.sum(done)), int(np.sum(bad & done))

    def go(self, start: Callable, *, restarts: int) -> None:
        """Keeps every worker busy until no point waits. A lost pool is restarted up to `restarts` times."""
        while True:
            out: dict[int, list[int]] = {}
            workers = None
            try:
                workers = start()
                self.work(workers, out)
                return
            except KeyboardInterrupt:
                self.interrupted = True
                return
            except ConnectionError:
                if restarts == 0:
                    raise
                restarts -= 1
                self.waiting.extendleft(i for indices in reversed(out.values()) for i in reversed(indices))
            finally:
                if workers is not None:
                    workers.close()

    def work(self, workers, out: dict[int, list[int]]) -> None:
        self.tell(workers, force=True)
        while self.waiting or self.alone or self.suspects or out:
            slots = workers.slots
            while len(out) < 2 * slots and (indices := self.next(slots, quiet=not out)):
                out[indices[0]] = indices
                workers.submit(indices, self.text(indices, workers.hard))
            for indices, result in workers.finished(timeout=0.5):
                del out[indices[0]]
                self.take(indices, result)
            self.tell(workers)
        self.save([])
        self.tell(workers, force=True)

    def next(self, slots: int, quiet: bool) -> list[int]:
        """The points of the next task: about TASK_SECONDS of work, fewer near the end so that all end together.

        Dask blames every task of a dead worker; only a point that ran alone is known to have killed it.
        """
        if self.alone:
            return [self.alone.popleft()]
        if not self.waiting:
            return [self.suspects.popleft()] if quiet and self.suspects else []
        aim = max(TASK_SECONDS, slots / WRITES)
        cost = float(np.median(self.costs)) if self.costs else np.inf
        size = int(np.clip(aim / max(cost, 1e-6), 1, MOST))
        size = min(size, max(1, len(self.waiting) // (2 * slots)))
        return [self.waiting.popleft() for _ in range(min(size, len(self.waiting)))]

    def text(self, indices: list[int], hard: bool) -> str:
        return json.dumps(self.base | {"hard": hard, "points": [[i, self.plan[i]] for i in indices]})

    def take(self, indices: list[int], result) -> None:
        """A finished task is written, then counted; the points of a task that died are repeated one by one."""
        if isinstance(result, pool.Lost):
            if result.again:
                self.waiting.extendleft(reversed(indices))
                return
            if len(indices) > 1:
                self.alone.extend(indices)
                return
            (index,) = indices
            self.deaths[index] = self.deaths.get(index, 0) + 1
            if self.deaths[index] <= TRIES:
                self.suspects.append(index)
                return
            result = point.pack([(index, "lost", result.reason or _death(self.base), np.nan, {})])
        task = point.unpack(result)
        self.save([(indices, result)])
        self.tasks.append(task)
        self.done += len(indices)
        self.failed += int(np.sum(task["failed"]))
        self.costs.extend(task["seconds"][np.isfinite(task["seconds"])].tolist())

    def save(self, new: list[tuple[list[int], bytes]]) -> None:
        """Writes new results, and those that could not be written before; a full disk does not stop the sweep."""
        if self.disk is None:
            return
        queue, self.unsaved = [*self.unsaved, *new], []
        while queue:
            try:
                self.disk.write(*queue[0], attempt=self.attempt)
            except OSError as error:
                self.trouble = error.strerror or str(error)
                self.unsaved = queue
                return
            queue.pop(0)

    def tell(self, workers, force: bool = False) -> None:
        now = time.perf_counter()
        if self.progress is None or (now - self.told < 0.2 and not force):
            return
        self.told = now
        self.marks.append((now, self.done))
        then, before = self.marks[0]
        rate = (self.done - before) / (now - then) if now > then else 0.0
        left = (len(self.plan) - self.done) / rate if rate > 0 else None
        seen = Progress(
            self.done, len(self.plan), self.failed, now - self.began, rate, left, workers.slots, workers.dashboard,
            sum(len(indices) for indices, _ in self.unsaved),
        )  # fmt: skip
        self.progress(seen)

    def dataset(self):
        ds = dataset.assemble(self.about, self.plan, self.tasks)
        if self.unsaved:
            points = sum(len(indices) for indices, _ in self.unsaved)
            ds.attrs["unsaved"] = (
                f"{points} points could not be written ({self.trouble.lower()}): free disk space, then resume."
            )
        if self.interrupted:
            ds.attrs["interrupted"] = "Ctrl-C: points without a result are marked in `reason`; resume to compute them."
        return ds


def _death(base: dict) -> str:
    over = "killed, crashed or out of memory"
    if base["seconds"] is not None:
        over = f"{over}, or not finished long after its limit of {base['seconds']:g} s"
    return f"Its worker died each time it was tried ({over}): compute it alone with `rf.Experiment` to see why."
