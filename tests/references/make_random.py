"""Makes `random_balanced.json` (200 problems) and `unbalanced_first.json` (25 unbalanced, 25 first-layer).

    nice python tests/references/make_random.py balanced|unbalanced_first [count]

Every problem is stored with explicit numbers, so that no reader needs this file. Each is solved with 30 and 40 digits;
`agree` is the number of digits in which the two agree (outputs relative to max(1, |f|), event times to max(1, t)).
`margin` is the distance to the nearest bifurcation met (smallest normalised rate across a surface at a crossing,
smallest distance of a slid bit from its bounds; 0 if an event was not unique), and `condition` how much a relative
change of 1e-10 of the weights is amplified in the outputs, null when it changes the list of events.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

import numpy as np

from reluflow.data import Data
from reluflow.init import Params
from reluflow.problem import LeakyReLU, Problem
from reluflow.reference import flow

HERE = Path(__file__).parent
LOSSES = ("square", "logistic", "logistic2", "exponential")
SLOPES = (0.0, 0.3, 1.0)
STORED = 25  # digits


def draw(kind: str, seed: int) -> dict:
    """One random problem of kind "balanced", "unbalanced" or "first"."""
    rng = np.random.default_rng([seed, {"balanced": 11, "unbalanced": 12, "first": 13}[kind]])
    n, d, width = int(rng.integers(2, 7)), int(rng.integers(2, 4)), int(rng.integers(3, 9))
    loss = LOSSES[seed % 4]
    slope = SLOPES[int(rng.choice(3, p=[0.6, 0.3, 0.1]))]
    x = rng.normal(size=(n, d))
    y = rng.normal(size=n) if loss == "square" else rng.choice([-1.0, 1.0], size=n)
    w = rng.normal(size=(width, d))
    if kind == "balanced":
        a = rng.choice([-1.0, 1.0], size=width) * np.linalg.norm(w, axis=1)
        log_scale = log_scale_a = float(rng.choice([0.0, -1.0, -3.0, -10.0, -30.0]))
    elif kind == "unbalanced":
        a = rng.normal(size=width) * rng.choice([0.3, 1.0, 2.0])
        log_scale = log_scale_a = float(rng.choice([0.0, -1.0, -3.0, -10.0]))
    else:
        a = rng.choice([-1.0, 1.0], size=width) * 2 / width
        log_scale, log_scale_a = float(rng.choice([0.0, -1.0, -3.0, -10.0])), 0.0
    spec = {
        "kind": kind,
        "seed": seed,
        "x": x.tolist(),
        "y": y.tolist(),
        "w": w.tolist(),
        "a": a.tolist(),
        "log_scale": log_scale,
        "log_scale_a": log_scale_a,
        "loss": loss,
        "reduction": ("mean", "sum")[int(rng.integers(2))],
        "slope": slope,
        "train": "first" if kind == "first" else "both",
    }
    spec["times"] = [float(t) for t in np.round(span(spec, rng) * np.array([0.1, 0.3, 0.5, 0.75, 1.0]), 3)]
    return spec


def span(spec, rng) -> float:
    """A time by which the neurons have aligned and grown to order 1 (from the fastest growth rate at f = 0)."""
    problem = make(spec)
    x, y = problem.data.x, problem.data.y
    g = problem.weight * (y if spec["loss"] != "logistic" else y / 2)
    v = rng.normal(size=(400, x.shape[1]))
    v /= np.linalg.norm(v, axis=1)[:, None]
    u = v @ x.T
    pull = np.where(u > 0, 1.0, spec["slope"]) * u @ g
    rate = float(np.max(np.abs(pull)))
    if spec["train"] == "first":
        return 6.0 / rate
    return min(200.0, (4.0 + 1.4 * abs(spec["log_scale"])) / rate)


def make(spec, w=None) -> Problem:
    w = spec["w"] if w is None else w
    init = Params(w, spec["a"], log_scale=spec["log_scale"], log_scale_a=spec["log_scale_a"])
    return Problem(
        Data(spec["x"], spec["y"]),
        init,
        loss=spec["loss"],
        reduction=spec["reduction"],
        activation=LeakyReLU(spec["slope"]),
        train=spec["train"],
    )


def changed(ref):
    return [(e.neuron, e.datum, e.kind, e.unique) for e in ref.events]


def agreement(one, two) -> float:
    """Digits in which two references agree; 0 when their events differ."""
    if changed(one) != changed(two):
        return 0.0
    pairs = [(u, v) for p, q in zip(one.f, two.f, strict=True) for u, v in zip(p, q, strict=True)]
    gap = max(abs(float(u - v)) / max(1.0, abs(float(u))) for u, v in pairs)
    for e, k in zip(one.events, two.events, strict=True):
        gap = max(gap, abs(float(e.t - k.t)) / max(1.0, float(e.t)))
    return round(-math.log10(max(gap, 1e-99)), 1)


def condition(spec, ref):
    rng = np.random.default_rng([spec["seed"], 99])
    w = np.array(spec["w"])
    moved = dict(spec)
    if spec["kind"] == "balanced":
        w = w * (1 + 1e-10 * rng.normal(size=w.shape))
        moved["a"] = (np.sign(spec["a"]) * np.linalg.norm(w, axis=1)).tolist()
    else:
        w = w * (1 + 1e-10 * rng.normal(size=w.shape))
    other = flow(make(moved, w), spec["times"], 20)
    if changed(other) != changed(ref):
        return None
    gaps = np.abs(other.outputs() - ref.outputs()) / np.maximum(1.0, np.abs(ref.outputs()))
    return float(f"{gaps.max() / 1e-10:.3g}")


def solve(spec) -> dict:
    start = time.process_time()
    problem = make(spec)
    ref = flow(problem, spec["times"], 40)
    seconds = time.process_time() - start
    low = flow(problem, spec["times"], 30)
    result = ref.record(STORED)
    del result["times"]
    amplified = condition(spec, ref) if ref.unique else None
    checks = {"agree": agreement(low, ref), "condition": amplified, "steps": ref.steps, "seconds": round(seconds, 2)}
    return spec | result | checks


def main(which: str, count: int | None = None) -> None:
    problems, started = [], time.time()
    wanted = {"balanced": {"balanced": 200}, "unbalanced_first": {"unbalanced": 25, "first": 25}}[which]
    skipped = []
    for kind, total in wanted.items():
        total, seed, kept = count or total, 0, 0
        while kept < total:
            spec = solve(draw(kind, seed))
            if kind == "balanced" or spec["unique"]:
                problems.append(spec)
                kept += 1
            else:
                skipped.append([kind, seed])
            shown = [spec[key] for key in ("agree", "margin", "condition", "seconds")]
            print(kind, seed, len(spec["events"]), *shown, flush=True)
            seed += 1
    name = "random_balanced" if which == "balanced" else which
    about = "made by tests/references/make_random.py; events are [t, neuron, datum, kind, unique, margin]"
    text = json.dumps({"about": about, "skipped_not_unique": skipped, "problems": problems})
    (HERE / f"{name}.json").write_text(text.replace('{"kind"', '\n{"kind"') + "\n")
    print(f"{name}: {len(problems)} problems, {time.time() - started:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
