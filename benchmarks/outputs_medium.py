"""Flows of medium size with several outputs: processor seconds by steps of all neurons and by stretches, and how far
both are from steps at rtol 1e-10.

python -m benchmarks.outputs_medium               the table of docs/outputs.md, about six minutes of one core
python -m benchmarks.outputs_medium --random 20   random sizes instead: n 15-60, m 30-100, d 2-10, k 2-5

Random inputs and labels, t1 = 200, rtol 1e-6. Lines are JSON.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

import reluflow as rf
from reluflow.confirm import _size
from reluflow.drive import exact

SIZES = ((50, 100, 10, 3), (100, 200, 5, 3))
RTOL, T1 = 1e-6, 200.0


def problem(size: tuple[int, int, int, int], loss: str, log_scale: float, seed: int = 42) -> rf.Problem:
    n, m, d, k = size
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) / np.sqrt(d)
    y = rng.normal(size=(n, k)) if loss == "square" else rng.integers(0, k, n)
    init = rf.init.balanced(width=m, dim=d, log_scale=log_scale, outputs=k, seed=seed)
    return rf.Problem(rf.Data(x, y), init, loss=loss)


def solved(given: rf.Problem, regime: str | None, rtol: float, t1: float) -> tuple[rf.Solution, float]:
    """The run in one regime (None: as by default), and the processor seconds it took."""
    exact.REGIME = regime
    began = time.process_time()
    sol = rf.solve(given, rf.Flow(rtol=rtol), t1=t1)
    return sol, time.process_time() - began


def listed(sol: rf.Solution) -> list[tuple[int, int, int]]:
    return sorted(zip(sol.events.neuron.tolist(), sol.events.datum.tolist(), sol.events.code.tolist(), strict=True))


def measure(given: rf.Problem, t1: float) -> dict[str, object]:
    """Events, seconds and distances of the regimes."""
    sharp, _ = solved(given, "coupled", 1e-10, t1)
    t = np.linspace(0.0, t1, 41)[1:]
    f = sharp.outputs_at(t)
    found: dict[str, object] = {
        "events": len(sharp.events),
        "slides": sharp.events.counts().get("slide", 0),
        "nearest": sharp.stats.nearest_bifurcation,
    }
    for name, regime in (("steps", "coupled"), ("stretches", "windows"), ("free", None)):
        sol, spent = solved(given, regime, RTOL, t1)
        found[name] = {
            "seconds": round(spent, 2),
            "same_events": listed(sol) == listed(sharp),
            "events": len(sol.events),
            "error_over_rtol": float(np.max(np.abs(sol.outputs_at(t) - f) / _size(given, f))) / RTOL,
            "regimes": [sol.stats.regimes["coupled"], sol.stats.regimes["windows"]],
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=0)
    count = parser.parse_args().random
    for regime in ("coupled", "windows"):  # kernels are loaded before anything is measured
        solved(problem((5, 5, 2, 2), "square", -3.0), regime, RTOL, 1.0)
    cases = [(size, loss, scale, 42, T1) for size in SIZES for loss in ("square", "softmax") for scale in (-3.0, -10.0)]
    if count:
        cases = []
        for seed in range(count):
            rng = np.random.default_rng([seed, 9])
            size = tuple(int(rng.integers(lo, hi)) for lo, hi in ((15, 61), (30, 101), (2, 11), (2, 6)))
            cases.append((size, ("square", "softmax")[seed % 2], float(rng.choice([-1.0, -3.0, -10.0])), seed, 60.0))
    for size, loss, scale, seed, t1 in cases:
        row = {"n,m,d,k": size, "loss": loss, "log_scale": scale} | measure(problem(size, loss, scale, seed), t1)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
