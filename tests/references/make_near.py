"""Makes `near_bifurcation.json`: problems a little to either side of a change of their list of events.

    nice python tests/references/make_near.py

A label y_0 of a small random balanced problem is moved until the list of events changes, and the place is found by
bisection to 1e-13. Stored are the problems at 1e-3, 1e-6 and 1e-9 on both sides of it, as in `random_balanced.json`;
`offset` is the distance of the label from the critical one.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from make_random import changed, make, solve

from reluflow.reference import flow

HERE = Path(__file__).parent
OFFSETS = (-1e-3, -1e-6, -1e-9, 1e-9, 1e-6, 1e-3)


def draw(seed: int) -> dict:
    rng = np.random.default_rng([seed, 14])
    w = rng.normal(size=(4, 2))
    return {
        "kind": "near",
        "seed": seed,
        "x": rng.normal(size=(4, 2)).tolist(),
        "y": rng.normal(size=4).tolist(),
        "w": w.tolist(),
        "a": (rng.choice([-1.0, 1.0], size=4) * np.linalg.norm(w, axis=1)).tolist(),
        "log_scale": -1.0,
        "log_scale_a": -1.0,
        "loss": "square",
        "reduction": "sum",
        "slope": (0.0, 0.3)[seed % 2],
        "train": "both",
        "times": [1.0, 3.0, 6.0],
    }


def moved(spec, y0):
    return spec | {"y": [y0, *spec["y"][1:]]}


def story(spec, y0):
    return changed(flow(make(moved(spec, y0)), spec["times"], 15))


def critical(spec) -> float | None:
    """A label y_0 at which the list of events changes, other than by the end of the run or the order of two neurons."""
    low, high = spec["y"][0], spec["y"][0] + 0.5
    first = sorted(story(spec, low))
    if sorted(story(spec, high)) == first:
        return None
    while high - low > 1e-13:
        half = (low + high) / 2
        if sorted(story(spec, half)) == first:
            low = half
        else:
            high = half
    ends = [flow(make(moved(spec, y)), spec["times"], 15).events for y in (low, high)]
    late = any(float(e.t) > 5.999 for events in ends for e in events)
    return None if late else high


def main() -> None:
    problems, seed = [], 0
    while len(problems) < 10 * len(OFFSETS):
        spec = draw(seed)
        place = critical(spec)
        if place is not None:
            for offset in OFFSETS:
                result = solve(moved(spec, place + offset)) | {"offset": offset}
                problems.append(result)
                shown = [result[key] for key in ("agree", "margin", "condition")]
                print(seed, offset, len(result["events"]), *shown, flush=True)
        seed += 1
    about = "made by tests/references/make_near.py; events are [t, neuron, datum, kind, unique, margin]"
    text = json.dumps({"about": about, "problems": problems})
    (HERE / "near_bifurcation.json").write_text(text.replace('{"kind"', '\n{"kind"') + "\n")


if __name__ == "__main__":
    main()
