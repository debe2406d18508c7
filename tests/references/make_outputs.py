"""Makes `outputs.json`: a network with four outputs from e^-30, by the reference at 50 digits.

    nice python tests/references/make_outputs.py

Problem 88 of `benchmarks/outputs.py`. Three neurons of one cell align to 1e-9 of each other, stay at a saddle together
and leave it along their differences: what rounding does to each of them alone grows as fast.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from benchmarks.outputs import case

from reluflow.reference import flow

HERE = Path(__file__).parent


def main() -> None:
    problem, t1 = case(88)
    times = np.linspace(0.0, t1, 25)[1:].tolist()
    found = flow(problem, times, digits=50)
    rows = {"seed": 88, "digits": 50, "steps": found.steps, "times": times, "f": found.outputs().tolist()}
    (HERE / "outputs.json").write_text(json.dumps(rows) + "\n")


if __name__ == "__main__":
    main()
