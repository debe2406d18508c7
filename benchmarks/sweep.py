"""What a sweep costs beside its runs: five-point flows (t1 = 600, rtol 1e-6, width 60) over scales x seeds.

    python -m benchmarks.sweep [POINTS]        10,000 unless told; 1,000 take about half a minute on two cores

Points per second is by the wall clock, start of the workers included. Overhead per point is the time of all workers
from the first task sent to the last file written, less what `solve` itself took, divided by the points. On a machine
that others use, the lines by processor time say what it would be alone: everything spent by the driver, the scheduler
and the workers, against flows of the same points in one process.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import reluflow as rf
from reluflow.sweep import load, sweep
from reluflow.sweep.pool import cores

SCALES = np.round(np.linspace(-10.0, -48.0, 20), 6).tolist()


def _processor() -> float:
    """Processor seconds of this process and of its children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in both)


def _alone(experiment, over, seeds: int = 8) -> float:
    """Processor seconds of one flow in this process, the mean over every scale and the first seeds."""
    problems = [
        experiment.changed({"init.log_scale": scale, "init.seed": seed}).problem()
        for scale in over["init.log_scale"]
        for seed in range(seeds)
    ]
    rf.solve(problems[0], rf.Flow(rtol=1e-6), t1=600.0)
    began = time.process_time()
    for problem in problems:
        rf.solve(problem, rf.Flow(rtol=1e-6), t1=600.0)
    return (time.process_time() - began) / len(problems)


def main(points: int = 10_000) -> None:
    experiment = rf.Experiment(
        data={"kind": "five_points"},
        init={"kind": "balanced", "width": 60},
        method={"kind": "flow", "rtol": 1e-6},
        solve={"t1": 600.0},
    )
    over = {"init.log_scale": SCALES, "init.seed": range(points // len(SCALES))}
    alone = _alone(experiment, over)
    marks: list = []
    spent = _processor()
    with tempfile.TemporaryDirectory() as home:
        store, began = Path(home) / "sweep", time.perf_counter()
        ds = sweep(experiment, over, ["final.log_loss", "stats.seconds"], store=store, progress=marks.append)
        wall = time.perf_counter() - began
        files = sum(1 for _ in store.glob("task-*"))
        began = time.perf_counter()
        again = load(store)
        reading = time.perf_counter() - began
    spent = (_processor() - spent) / ds["failed"].size
    assert again["final.log_loss"].equals(ds["final.log_loss"])
    workers, count = marks[-1].workers, ds["failed"].size
    solving = float(ds["stats.seconds"].sum())
    at_work = marks[-1].seconds - marks[0].seconds
    overhead = (workers * at_work - solving) / count
    print(f"{count:,} flows on {workers} workers ({cores()} cores): {wall:.1f} s, {int(ds['failed'].sum())} failed")
    print(f"  points per second      {count / wall:.1f}   (target > 50)")
    print(f"  overhead per point     {1e3 * overhead:.2f} ms   (target < 5; one flow: {1e3 * solving / count:.1f} ms)")
    print(f"  by processor time      {1e3 * spent:.2f} ms a point, a flow alone {1e3 * alone:.2f} ms: overhead "
          f"{1e3 * (spent - alone):.2f} ms, {workers / spent:.1f} points per second")  # fmt: skip
    print(f"  tasks on disk          {files} files; read back in {reading:.2f} s")
    per = ds["stats.seconds"].mean("init.seed").values
    print("  ms per flow by scale   " + ", ".join(f"e^{s:g}: {1e3 * t:.0f}" for s, t in zip(SCALES[::4], per[::4])))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
