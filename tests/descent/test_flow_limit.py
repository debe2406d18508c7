"""As the step goes to 0 descent tends to the flow, at first order."""

import numpy as np
import pytest
from tests.support.problems import random_balanced

import reluflow as rf


def exponent(seed, parts=(1600, 3200, 6400, 12800)):
    """Fitted power of the step in the mean square output error over 16 times; None when an output weight flips."""
    problem, t1 = random_balanced(seed, scales=(0.0, -1.0, -3.0))
    t = np.linspace(0.0, t1, 17)[1:]
    truth = rf.solve(problem, rf.Flow(1e-10), t1=t1).outputs_at(t)
    errors = []
    for k in parts:
        sol = rf.solve(problem, rf.Descent(t1 / k), t1=t1)
        if len(sol.events["sign"]):
            return None
        errors.append(np.sqrt(np.mean((sol.outputs_at(t) - truth) ** 2)))
    return float(np.polyfit(-np.log(parts), np.log(errors), 1)[0])


@pytest.mark.parametrize("seed", [0, 2, 6, 12])
def test_descent_tends_to_the_flow_at_first_order(seed):
    assert abs(exponent(seed) - 1) < 0.1


@pytest.mark.exhaustive
def test_descent_tends_to_the_flow_at_first_order_on_20_problems():
    found = {seed: exponent(seed, parts=(2000, 4000, 8000, 16000, 32000)) for seed in range(20)}
    found = {seed: e for seed, e in found.items() if e is not None}
    print("\nfitted exponents:", {seed: round(e, 3) for seed, e in found.items()})
    assert len(found) == 20 and all(abs(e - 1) < 0.1 for e in found.values())
