"""Random problems with one to five outputs, square and softmax, at scales from e^0 to e^-300.

    python benchmarks/outputs.py                    100 problems: rtol 1e-8 against 1e-12, descent where it can
    python benchmarks/outputs.py --count 20         fewer
    python benchmarks/outputs.py --first 100        problems 100 to 199
    python benchmarks/outputs.py --rotate           20 problems at e^-100: the same with rotated inputs

Every row is printed and written to benchmarks/outputs.csv (or outputs_rotated.csv). The promise is an error of the
outputs, relative to max(1, |f|), below 100 rtol at nine times. Runs at 1e-8 that are flagged (events that are not
unique, decisions within 1e-6 of a bifurcation, not determined) are counted apart; a flag of the run at 1e-12, which is
asked for 10,000 times more, excuses nothing.

In parts, one process each: part P of 16 takes every 16th problem and adds one JSON object a line to FILE instead; what
FILE has already is left out, so that a part that was cut goes on. The last line puts the parts together.

    python benchmarks/outputs.py --first 100 --part P/16 --lines FILE       P = 0 .. 15
    python benchmarks/outputs.py --from FILE FILE ...
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import reluflow as rf

SCALES = (0.0, -1.0, -3.0, -10.0, -30.0, -100.0, -300.0)
FLOW, EXACT = rf.Flow(rtol=1e-8), rf.Flow(rtol=1e-12)
DESCENT_ABOVE = -3.0  # log scale from which on descent is a reference too


def problem(seed: int, log_scale: float, k: int, loss: str) -> rf.Problem:
    """A random problem: n 3 to 6, d 2 or 3, 4 to 10 neurons, every third one unbalanced."""
    rng = np.random.default_rng([seed, 30])
    n, d, m = rng.integers(3, 7), rng.integers(2, 4), rng.integers(4, 11)
    x = rng.normal(size=(n, d))
    y = np.arange(n) % k if loss == "softmax" else rng.normal(size=(n, k))
    w, a = rng.normal(size=(m, d)), rng.normal(size=(m, k))
    if seed % 3:
        a *= (np.linalg.norm(w, axis=1) / np.linalg.norm(a, axis=1))[:, None]
    return rf.Problem(rf.Data(x, y), rf.Params(w, a, log_scale=log_scale), loss=loss)


def case(seed: int) -> tuple[rf.Problem, float]:
    """The problem of a seed, and until when it is followed."""
    k, log_scale = 1 + seed % 5, SCALES[seed % len(SCALES)]
    loss = "softmax" if seed % 2 and k > 1 else "square"
    return problem(seed, log_scale, k, loss), 12.0 - 6.0 * log_scale


def determined(sol: rf.Solution) -> bool:
    """Whether nothing in a run hangs on what rounding decides."""
    stats = sol.stats
    return stats.non_unique == 0 and stats.nearest_bifurcation > 1e-6 and not stats.regimes.get("undetermined", 0)


def place(sol: rf.Solution) -> str:
    """Where a run is nearest to a bifurcation: time, neuron, datum."""
    found = sol.stats.nearest_place
    return "" if found is None else f"t={np.exp(found[0]):.6g} neuron={found[1]} datum={found[2]}"


def distance(f: np.ndarray, g: np.ndarray) -> float:
    """The largest difference of outputs, relative to max(1, |f|)."""
    return float(np.max(np.abs(f - g) / np.maximum(1.0, np.abs(g))))


def seen(sol: rf.Solution, t: np.ndarray) -> np.ndarray:
    """Outputs at times t; a run that has converged stays where it is."""
    return sol.outputs_at(np.minimum(t, sol.t_end))


def descended(given: rf.Problem, t1: float) -> tuple[np.ndarray, float]:
    """Outputs of descent at t1 extrapolated to step 0, and how far the extrapolation can be trusted."""
    last = [rf.solve(given, rf.Descent(step=t1 / steps), t1=t1).outputs[-1] for steps in (50_000, 100_000, 200_000)]
    best = 2.0 * last[2] - last[1]
    return best, distance(best, 2.0 * last[1] - last[0])


def measure(seed: int) -> dict[str, object]:
    given, t1 = case(seed)
    t = np.linspace(0.0, t1, 10)[1:]
    sol, exact = (
        rf.solve(given, method, t1=t1, limits=rf.Limits(steps=100_000), throw=False) for method in (FLOW, EXACT)
    )
    row: dict[str, object] = {
        "seed": seed,
        "k": given.outputs,
        "loss": given.loss,
        "log_scale": given.init.log_scales[0][0],
        "outcome": f"{sol.outcome.name}/{exact.outcome.name}",
        "events": len(exact.events),
        "slides": exact.stats.slides,
        "releases": sum(exact.events.counts().get(kind, 0) for kind in ("release_on", "release_off")),
        "steps": sol.stats.steps,
        "twin_steps": sol.stats.regimes.get("twin_steps", 0),
        "jumps": exact.stats.regimes.get("jumps", 0),
        "determined": determined(sol),
        "place": place(sol),
        "exact_determined": determined(exact),
        "nearest": exact.stats.nearest_bifurcation,
        "energy": exact.stats.energy_error,
        "error_over_rtol": distance(seen(sol, t), seen(exact, t)) / FLOW.rtol,
        "descent": "",
        "descent_trust": "",
    }
    if given.init.log_scales[0][0] >= DESCENT_ABOVE:
        f, trust = descended(given, t1)
        row |= {"descent": distance(seen(exact, np.array([t1]))[0], f), "descent_trust": trust}
    return row


def rotated(seed: int) -> dict[str, object]:
    """The same problem at e^-100 with rotated inputs."""
    k, loss = 2 + seed % 2, "softmax" if seed % 4 > 1 else "square"
    given, t1 = problem(seed, -100.0, k, loss), 700.0
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(given.data.d, given.data.d)))[0]
    other = rf.Problem(
        rf.Data(given.data.x @ turn, given.data.y),
        rf.Params(given.init.w @ turn, given.init.a, log_scale=-100.0),
        loss=loss,
    )
    one, two = (
        rf.solve(p, rf.Flow(rtol=1e-10), t1=t1, limits=rf.Limits(steps=100_000), throw=False) for p in (given, other)
    )
    t = np.linspace(0.0, t1, 30)[1:]
    return {
        "seed": seed,
        "k": k,
        "loss": loss,
        "outcome": f"{one.outcome.name}/{two.outcome.name}",
        "events": len(one.events),
        "determined": determined(one) and determined(two),
        "nearest": one.stats.nearest_bifurcation,
        "final_loss": float(one.loss[-1]),
        "difference": distance(seen(one, t), seen(two, t)),
        "loss_difference": float(abs(one.loss[-1] - two.loss[-1])),
    }


def printed(row: dict[str, object]) -> None:
    print("  ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()), flush=True)


def add_lines(path: Path, seeds: range, one: Callable[[int], dict[str, object]]) -> None:
    """One JSON object a line for each of the problems that the file does not have yet."""
    done = {row["seed"] for row in read_lines(path)} if path.exists() else set()
    for seed in seeds:
        if seed not in done:
            row = one(seed)
            printed(row)
            with path.open("a") as file:
                file.write(json.dumps(row, default=float) + "\n")


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in path.read_text().splitlines())


def write_csv(path: Path, rows: list[dict[str, Any]], new: bool) -> None:
    with path.open("w" if new else "a", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        if new:
            writer.writeheader()
        writer.writerows(rows)


def summarise(rows: list[dict[str, Any]]) -> None:
    """Counts, and the worst of the rows that are not flagged; those that are flagged, each with its place."""
    sure = [row for row in rows if row["determined"]]
    print(f"{len(rows)} problems, {len(sure)} determined")
    if "difference" in rows[0]:
        print("worst difference of outputs among these:", max(row["difference"] for row in sure))
        return
    print("slides", sum(row["slides"] for row in rows), "events", sum(row["events"] for row in rows))
    errors = np.array([row["error_over_rtol"] for row in sure])
    print(f"error over rtol among the determined: median {np.median(errors):.3g}, worst {np.max(errors):.3g}")
    print("outside the promise:", [row["seed"] for row in sure if not row["error_over_rtol"] <= 100.0])
    print("ended otherwise:", [(row["seed"], row["outcome"]) for row in rows if not ended(row)])
    for row in rows:
        if not row["determined"]:
            print(
                "flagged:", *(f"{name}={row[name]}" for name in ("seed", "k", "log_scale", "error_over_rtol", "place"))
            )
    told = [row for row in rows if row["descent"] != ""]
    apart = [(row["seed"], row["descent"], row["descent_trust"]) for row in told if not agrees(row)]
    print(f"{len(told)} with descent; apart by more than 10 times what two extrapolations are:", apart)


def ended(row: dict[str, Any]) -> bool:
    """Whether both runs came to their end."""
    return set(row["outcome"].split("/")) <= {"REACHED", "STATIONARY"}


def agrees(row: dict[str, Any]) -> bool:
    """Whether extrapolated descent agrees. Its extrapolations are irregular where neurons slide."""
    return row["descent"] == "" or row["descent"] < 10 * row["descent_trust"] + 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rotate", action="store_true")
    parser.add_argument("--part", default="0/1", help="P/N: every N-th problem from the P-th on")
    parser.add_argument("--lines", type=Path, default=None, help="file for one JSON object a line")
    parser.add_argument("--from", dest="files", type=Path, nargs="+", default=None, help="files of --lines to sum up")
    options = parser.parse_args()
    one = rotated if options.rotate else measure
    part, parts = (int(number) for number in options.part.split("/"))
    last = options.first + (options.count or (20 if options.rotate else 100))
    seeds = range(options.first + part, last, parts)
    if options.lines is not None:
        add_lines(options.lines, seeds, one)
        return
    if options.files is not None:
        summarise(sorted((row for path in options.files for row in read_lines(path)), key=lambda row: row["seed"]))
        return
    rows = []
    for seed in seeds:
        rows.append(one(seed))
        printed(rows[-1])
    path = Path(__file__).with_name("outputs_rotated.csv" if options.rotate else "outputs.csv")
    write_csv(path, rows, options.first == 0 or not path.exists())
    summarise(rows)


if __name__ == "__main__":
    main()
