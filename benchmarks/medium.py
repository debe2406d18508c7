"""The map of medium sizes: cost of a flow against n, m and d, beside descent and a PyTorch loop, measured in one run.

python -m benchmarks.medium                     the eight sizes of the table, about three minutes on one core
python -m benchmarks.medium --grow              how the cost grows with n, m, d, each from 10 to 3000 (d to 300)
python -m benchmarks.medium --large             n = m = 1000 and n = 3000, m = 1000
python -m benchmarks.medium --grow --plot FILE  the same with a picture

Random inputs, labels tanh(2 x_1) with noise 0.3, weights from e^-10 (large: e^-3), rtol 1e-6. Descent takes steps of
2e-3. A peer that would take minutes runs a stated part of its iterations and is scaled up by it. Lines are JSON.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import sys
import time

import numpy as np
from benchmarks.descent import STEP, torch_loop

import reluflow as rf

SIZES = (
    (10, 20, 2),
    (20, 50, 5),
    (20, 100, 10),
    (50, 50, 2),
    (50, 100, 10),
    (100, 100, 20),
    (100, 200, 2),
    (200, 200, 10),
)
RANGE = (10, 30, 100, 300, 1000, 3000)
RTOL = 1e-6


def problem(n: int, m: int, d: int, log_scale: float = -10.0, seed: int = 42) -> rf.Problem:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) / np.sqrt(d)
    y = np.tanh(2 * x[:, 0]) + 0.3 * rng.normal(size=n)
    return rf.Problem(rf.Data(x, y), rf.init.balanced(m, d, log_scale=log_scale, seed=seed))


def best(call, rounds: int = 3, enough: float = 3.0) -> tuple[float, object]:
    """Shortest wall time of a few calls, and what the last returned."""
    found, spent = np.inf, 0.0
    for _ in range(rounds):
        began = time.perf_counter()
        made = call()
        now = time.perf_counter() - began
        found, spent = min(found, now), spent + now
        if spent > enough:
            break
    return found, made


def descent_seconds(p: rf.Problem, t1: float, most: float) -> tuple[float, int]:
    """Seconds of stepped descent to t1, from as many iterations as fit into about `most` seconds, and how many."""
    its, run = round(t1 / STEP), 100
    method = rf.Descent(STEP, fast_forward=False)
    rf.solve(p, method, t1=run * STEP)
    while True:
        spent, _ = best(lambda t=run * STEP: rf.solve(p, method, t1=t), rounds=2)
        if run == its or spent * 4 > most:
            return spent * its / run, run
        run = min(its, 4 * run)


def torch_seconds(p: rf.Problem, t1: float, run: int = 500) -> float | None:
    loop = torch_loop(p, run)
    if loop is None:
        return None
    loop()
    return best(loop, rounds=2)[0] * round(t1 / STEP) / run


def measured(size, t1: float, log_scale: float = -10.0, most: float = 4.0) -> dict:
    """One size: seconds of the flow with one and two threads, and of its peers."""
    p = problem(*size, log_scale=log_scale)
    row: dict = dict(zip("nmd", size, strict=True))
    for threads in (1, 2):
        limits = rf.Limits(threads=threads, seconds=300.0)
        rf.solve(p, rf.Flow(RTOL), t1=1e-3 * t1, limits=limits)
        seconds, sol = best(lambda limits=limits: rf.solve(p, rf.Flow(RTOL), t1=t1, limits=limits, throw=False))
        row["flow" if threads == 1 else "two threads"] = seconds
    row |= dict(events=sol.stats.events, steps=sol.stats.steps, outcome=sol.outcome.name, t=float(sol.t_end))
    row["descent"], row["iterations run"] = descent_seconds(p, t1, most)
    row["torch"] = torch_seconds(p, t1, max(20, int(5e8 / (size[0] * size[1] * size[2] + 1e6))))
    row["over descent"] = row["descent"] / row["flow"]
    row["two over descent"] = row["descent"] / row["two threads"]
    row["over torch"] = None if row["torch"] is None else row["torch"] / row["flow"]
    return row


def cells(grow: bool, large: bool) -> list[tuple]:
    """(what varies, size, t1, log scale) of everything to be measured."""
    if large:
        return [("large", (1000, 1000, 20), 20.0, -3.0), ("large", (3000, 1000, 20), 1.0, -3.0)]
    if grow:
        found = [("n", (n, 50, 5), 20.0, -5.0) for n in RANGE] + [("m", (50, m, 5), 20.0, -5.0) for m in RANGE]
        return found + [("d", (50, 50, d), 20.0, -5.0) for d in (3, 10, 30, 100, 300)]
    return [("table", size, 200.0, -10.0) for size in SIZES]


def exponent(rows: list[dict], of: str, what: str = "flow") -> float:
    """p of cost ~ size^p, fitted where events are many (from 30 on)."""
    there = [r for r in rows if r[of] >= 30]
    return float(np.polyfit(np.log([r[of] for r in there]), np.log([r[what] for r in there]), 1)[0])


def picture(rows: list[dict], path: str) -> None:
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
    fixed = {"n": "m = 50, d = 5", "m": "n = 50, d = 5", "d": "n = 50, m = 50"}
    names = {"flow": "exact flow", "descent": "descent, step 2e-3", "torch": "PyTorch loop"}
    for ax, of in zip(axes, "nmd", strict=True):
        mine = [r for r in rows if r["varies"] == of]
        for key, colour in (("flow", "#c28f0e"), ("descent", "#3b6ea8"), ("torch", "#777777")):
            there = [(r[of], r[key]) for r in mine if r[key] is not None]
            if there:
                ax.loglog(*zip(*there, strict=True), "o-", ms=4, color=colour, label=names[key])
        ax.set_xlabel({"n": "data n", "m": "neurons m", "d": "dimension d"}[of])
        ax.set_title(fixed[of], fontsize=10)
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("seconds to t = 20, one thread")
    axes[0].legend(fontsize=8)
    fig.savefig(path, dpi=160)


def main() -> None:
    parser = argparse.ArgumentParser(description="Medium sizes against named peers.")
    parser.add_argument("--grow", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--short", action="store_true", help="the two smallest only")
    given = parser.parse_args()
    rows = []
    for varies, size, t1, log_scale in cells(given.grow, given.large)[: 2 if given.short else None]:
        row = dict(varies=varies, **measured(size, t1, log_scale))
        rows.append(row)
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()
    if given.grow and not given.short:
        found = {of: exponent([r for r in rows if r["varies"] == of], of) for of in "nmd"}
        found["events"] = exponent(rows, "events")  # of all rows together
        sys.stdout.write(json.dumps(dict(exponents=found)) + "\n")
    if given.plot:
        picture(rows, given.plot)


if __name__ == "__main__":
    main()
