"""Measures what the flow engine claims, full counts, and prints one table row per claim.

python benchmarks/evidence_engine.py            # a few minutes on two cores
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import reluflow as rf

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support import euler, orthogonal, plain
from support.problems import random_balanced, random_unbalanced

RTOL = 1e-8


def gap(a, b):
    return float(np.max(np.abs(a - b) / np.maximum(1.0, np.abs(b))))


def squared_norm(p):
    return float(np.sum(np.exp(2 * p.log_scale) * (p.a**2 + np.sum(p.w**2, axis=1))))


def two_points():
    data, parts = rf.data.two_points(), []
    for scale in (1e-20, 1e-60):
        init = rf.init.balanced(60, 2, log_scale=np.log(scale), seed=0)
        sol = rf.solve(rf.Problem(data, init), rf.Flow(rtol=1e-10))
        halves, groups = orthogonal.half_times(data, init)
        # The moment a class is half fitted, read off the run by bisection on its output.
        seen = []
        for i, guess in ((1, halves[0]), (0, halves[1])):
            lo, hi = guess - 1.0, guess + 1.0
            for _ in range(60):
                mid = 0.5 * (lo + hi)
                lo, hi = (mid, hi) if abs(sol.outputs_at(mid)[i]) < 0.5 else (lo, mid)
            seen.append(mid)
        off = sol.events["off"]
        error = max(abs(a / b - 1) for a, b in zip(seen, halves, strict=True))
        parts.append(
            f"{scale:g}: {len(off)} off, last {off.t[-1]:.4f}, t+ {seen[0]:.5f}, t- {seen[1]:.5f} "
            f"(relative error {error:.1e}), "
            f"norm {squared_norm(sol.final):.7f}, groups {groups[0]} and {groups[1]}"
        )
    return "; ".join(parts)


def five_points():
    problem = lambda s: rf.Problem(
        rf.data.five_points(), rf.init.balanced(60, 2, log_scale=np.log(s / np.sqrt(60)), seed=0)
    )
    losses = rf.solve(problem(1e-4), rf.Flow(rtol=1e-9), t1=600.0).loss_at([150.0, 300.0, 450.0, 600.0])
    text = "losses " + ", ".join(f"{v:.8g}" for v in losses)
    for scale in (1e-6, 1e-8, 1e-12, 1e-20):
        a, b = (rf.solve(problem(scale), rf.Flow(rtol=r)) for r in (1e-8, 1e-10))
        t = np.linspace(0, min(a.t[-1], b.t[-1]), 300)
        text += (
            f"; {scale:g}: {len(a.events)} events, final loss {a.loss[-1]:.0e}, norm {squared_norm(b.final):.6f}, "
            f"tolerances agree to {np.max(np.abs(a.loss_at(t) - b.loss_at(t))) / a.loss[0]:.0e}"
        )
    return text


def random_runs(count=500, against_euler=100):
    half, energy, rise, euler_ratio, unstable = [], [], [], [], 0
    for seed in range(count):
        problem, t1 = random_balanced(seed)
        t = np.linspace(0.0, t1, 9)
        sol = rf.solve(problem, rf.Flow(rtol=RTOL), t1=t1)
        found = sol.outputs_at(t)
        half.append(gap(found, rf.solve(problem, rf.Flow(rtol=RTOL / 2), t1=t1).outputs_at(t)))
        energy.append(sol.stats.energy_error)
        rise.append(float(np.max(np.diff(sol.loss), initial=0.0) / sol.loss[0]))
        if seed % 5 == 0 and seed // 5 < against_euler:
            expected, spread = euler.reference(problem, t1, 8000)
            if not spread < 0.1:
                unstable += 1
                continue
            euler_ratio.append(float(np.max(np.abs(found - expected)) / (spread + 1e-6)))
    return (
        f"{count} runs, all reached or stationary; halving rtol 1e-8: worst {max(half):.1e}, "
        f"median {np.median(half):.1e}; "
        f"energy identity: worst {max(energy):.1e}; loss never rises by more than {max(rise):.0e}; polar Euler: "
        f"{len(euler_ratio)} problems, worst deviation {max(euler_ratio):.2f} of Euler's own spread "
        f"({unstable} where Euler is unstable)"
    )


def unbalanced(count=60):
    text = []
    for train in ("both", "first"):
        ratio, flagged, signs = [], 0, 0
        for seed in range(count):
            problem, t1 = random_unbalanced(seed, train)
            sol = rf.solve(problem, rf.Flow(rtol=RTOL), t1=t1)
            signs += len(sol.events["sign"])
            if sol.stats.non_unique:
                flagged += 1
                continue
            expected, error = plain.reference(problem, t1, 20000)
            found = sol.outputs_at(np.linspace(0.0, t1, 9))
            ratio.append(float(np.max(np.abs(found - expected)) / (error + 1e-6)))
        text.append(
            f"{train}: {len(ratio)} compared, worst deviation {max(ratio):.2f} of descent's own error, {flagged} "
            f"flagged non-unique, {signs} sign changes of a"
        )
    return "; ".join(text)


COLD = """
import time; t = time.perf_counter()
import numpy as np, reluflow as rf
rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-14.0, seed=0)))
print(time.perf_counter() - t)
"""


def compile_times():
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, NUMBA_CACHE_DIR=folder)
        cold, warm = (
            float(
                subprocess.run([sys.executable, "-c", COLD], env=env, capture_output=True, text=True, check=True).stdout
            )
            for _ in range(2)
        )
    began = time.perf_counter()
    subprocess.run([str(Path(sys.executable).parent / "reluflow"), "--help"], capture_output=True, check=True)
    ask = time.perf_counter() - began
    return f"cold compile with first result {cold:.1f} s; second process {warm:.2f} s; `--help` {ask:.2f} s"


CLAIMS = {
    "two points, seed 0": two_points,
    "five points, seed 0": five_points,
    "500 random balanced problems": random_runs,
    "unbalanced and first layer against extrapolated descent": unbalanced,
    "compile and start": compile_times,
}


def main():
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    rows = {}
    for name, measure in CLAIMS.items():
        began = time.perf_counter()
        rows[name] = measure()
        load = os.getloadavg()[0]
        print(
            f"| {name} | {rows[name]} | {time.perf_counter() - began:.0f} s, load {load:.1f} | {commit} |", flush=True
        )
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
