"""Makes `outputs.json`: networks with several outputs from e^-30, by the reference at 50 and 40 digits.

    nice python tests/references/make_outputs.py

Problem 88 of `benchmarks/outputs.py`. Three neurons of one cell align to 1e-9 of each other, stay at a saddle together
and leave it along their differences: what rounding does to each of them alone grows as fast.

Three classes on orthonormal inputs: neurons come to lie 1e-13 of their size beside boundaries that they never reach.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from benchmarks.outputs import case
from tests.support.outputs import three_classes

from reluflow.reference import flow

HERE = Path(__file__).parent


def stairs() -> dict:
    times = [100.0, 110.0, 150.0, 160.0, 175.0, 205.0, 240.0]
    found = flow(three_classes(-30), times, digits=40)
    return {"log_scale": -30, "digits": 40, "steps": found.steps, "times": times, "f": found.outputs().tolist()}


def main() -> None:
    problem, t1 = case(88)
    times = np.linspace(0.0, t1, 25)[1:].tolist()
    found = flow(problem, times, digits=50)
    rows = {"seed": 88, "digits": 50, "steps": found.steps, "times": times, "f": found.outputs().tolist()}
    rows["three_classes"] = stairs()
    (HERE / "outputs.json").write_text(json.dumps(rows) + "\n")


if __name__ == "__main__":
    main()
