"""50 random problems against an integration with 30 digits (`references/make_population.py`)."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf

FOLDER = Path(__file__).parents[1] / "references"
sys.path.insert(0, str(FOLDER))
REFERENCE = json.loads((FOLDER / "population.json").read_text())
FEW = 9
RTOL = 1e-10


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"seed{case['seed']}", marks=[] if case["seed"] < FEW else [pytest.mark.exhaustive])
        for case in REFERENCE["problems"]
    ],
)
def test_the_flow_equals_thirty_digits_to_100_rtol(case):
    from make_population import draw

    v, b, w, a, slope, train = draw(case["seed"])
    problem = rf.population.Problem(rf.Params(v, b), rf.Params(w, a), slope=slope, train=train)
    sol = rf.population.solve(problem, rf.Flow(RTOL), t1=REFERENCE["t1"])
    got_w, got_a = sol.final.arrays()
    size = max(1.0, np.max(np.abs(got_w)), np.max(np.abs(got_a)))
    np.testing.assert_allclose(got_w.ravel(), np.array(case["w"], float), rtol=0, atol=100 * RTOL * size)
    np.testing.assert_allclose(got_a, np.array(case["a"], float), rtol=0, atol=100 * RTOL * size)
    assert sol.stats.energy_error < 100 * RTOL
