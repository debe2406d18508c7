"""Makes `two_points.json` and `five_points.json`: the toy problems of the papers to 25 digits.

    nice python tests/references/make_toys.py two|five

Both: balanced, width 60, seed 0 of `rf.init.balanced`, square loss, mean. Five points at scales 1e-4/sqrt(60) and
1e-12/sqrt(60) (one to two minutes each for 30 digits, more for 40); two points at log scales -14 and log(1e-20), whose
closed form (`theory/orthogonal_square_loss.md` 4.1-4.3) the flow meets up to terms of the order of the squared scale.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path

from flint import ctx
from make_random import agreement

from reluflow.data import five_points, two_points
from reluflow.init import balanced
from reluflow.problem import Problem
from reluflow.reference import flow

HERE = Path(__file__).parent


def solve(data, log_scale, times, digits=(30, 40)) -> dict:
    problem = Problem(data, balanced(width=60, dim=2, log_scale=log_scale, seed=0))
    start = time.process_time()
    runs = [flow(problem, times, k) for k in digits]
    ref = runs[-1]
    kinds = [e.kind for e in ref.events]
    print(log_scale, ref.losses(), agreement(*runs), ref.steps, time.process_time() - start, flush=True)
    with ctx.workdps(50):
        norm2 = [sum(c * c for w in ref.w[k] for c in w) + sum(a * a for a in ref.a[k]) for k in range(len(times))]
    return {
        "log_scale": log_scale,
        "seed": 0,
        "width": 60,
        **ref.record(25),
        "times": times,
        "norm_squared": [v.mid().str(25, radius=False) for v in norm2],
        "counts": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "agree": agreement(*runs),
        "steps": ref.steps,
    }


def main(which: str) -> None:
    if which == "two":
        times = {-14.0: [2.0, 5.0, 10.686490333, 15.0, 22.546744882, 30.0]}
        times[math.log(1e-20)] = [10.0, 39.35440399476634, 45.0, 60.0, 79.88257220435571, 90.0]
        runs = [solve(two_points(), scale, t) for scale, t in times.items()]
    else:
        scales = [math.log(s / math.sqrt(60)) for s in (1e-4, 1e-12)]
        runs = [solve(five_points(), scale, [150.0, 300.0, 450.0, 600.0, 900.0]) for scale in scales]
    about = "made by tests/references/make_toys.py; events are [t, neuron, datum, kind, unique, margin]"
    text = json.dumps({"about": about, "runs": runs})
    (HERE / f"{which}_points.json").write_text(text.replace('{"log_scale"', '\n{"log_scale"') + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
