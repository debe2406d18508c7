"""Makes `paper_toys.json`: the small problems of the papers other than the two and the five points, to 25 digits.

    nice python tests/reference_comparison/make_paper_toys.py

Layout as in `tests/references/random_balanced.json`, with a `name`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "references"))

from make_random import solve

import reluflow as rf


def spec(name, data, init, loss, times, *, slope=0.0, train="both") -> dict:
    log_w, log_a = init.log_scales
    return {
        "kind": "unbalanced" if train == "first" else "balanced",
        "seed": 0,
        "name": name,
        "x": data.x.tolist(),
        "y": data.y.tolist(),
        "w": init.w.tolist(),
        "a": init.a.tolist(),
        "log_scale": float(log_w[0]),
        "log_scale_a": float(log_a[0]),
        "loss": loss,
        "reduction": "sum",
        "slope": slope,
        "train": train,
        "times": times,
    }


def problems() -> list[dict]:
    found = []
    for delta in (0.1, 0.001, 0.0):
        init = rf.init.balanced(12, 2, log_scale=-5.0, seed=0)
        data = rf.data.two_angles(delta)
        found.append(spec(f"two_angles({delta})", data, init, "exponential", [1.0, 3.0, 6.0, 20.0]))
    plane = rf.data.toy_plane()
    for loss in ("exponential", "logistic2"):
        init = rf.init.balanced(12, 2, log_scale=-8.0, seed=1)
        found.append(spec(f"toy_plane, {loss}", plane, init, loss, [1.0, 3.0, 6.0, 12.0, 30.0]))
    # The axes themselves: rows of a rotation are orthogonal to rounding only, and to 40 digits that is a bifurcation.
    axes = rf.Data(np.eye(4), np.array([1.0, -1.0, 1.0, -1.0]))
    init = rf.init.balanced(8, 4, log_scale=-6.0, seed=2)
    found.append(spec("orthonormal", axes, init, "logistic", [1.0, 5.0, 10.0, 20.0, 50.0]))
    square = rf.Data(axes.x, np.array([1.0, -0.5, 0.7, -1.2]))
    found.append(spec("orthonormal, square", square, init, "square", [1.0, 4.0, 8.0, 12.0, 20.0]))
    init = rf.init.fixed_output(8, 4, log_scale=-6.0, seed=3)
    leaky = {"slope": 0.2, "train": "first"}
    found.append(spec("orthonormal, first layer, leaky", axes, init, "logistic", [1.0, 10.0, 100.0], **leaky))
    return found


def main() -> None:
    solved = []
    for each in problems():
        solved.append(solve(each))
        shown = [solved[-1][key] for key in ("agree", "margin", "seconds")]
        print(each["name"], len(solved[-1]["events"]), *shown, flush=True)
    about = "made by tests/reference_comparison/make_paper_toys.py; events are [t, neuron, datum, kind, unique, margin]"
    text = json.dumps({"about": about, "problems": solved})
    (HERE / "paper_toys.json").write_text(text.replace('{"kind"', '\n{"kind"') + "\n")


if __name__ == "__main__":
    main()
