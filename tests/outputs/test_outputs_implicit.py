"""Implicit steps with several outputs: where stability bounds explicit ones, fewer steps and the same outputs."""

import numpy as np
import pytest
from tests.outputs.test_flow import random_problem
from tests.outputs.test_lopsided import layers

import reluflow as rf
from reluflow.drive import vector

CASES = [(0, 2, "square"), (10, 3, "square"), (7, 3, "softmax")]


def explicit(problem, rtol, t1, monkeypatch):
    """The run without implicit steps."""
    packed = vector.pack

    def never(*given):
        found, *rest = packed(*given)
        return found._replace(stiff=0), *rest

    with monkeypatch.context() as patch:
        patch.setattr(vector, "pack", never)
        return rf.solve(problem, rf.Flow(rtol=rtol), t1=t1)


@pytest.mark.parametrize("case", CASES)
def test_fewer_steps_lead_to_the_same_outputs_and_the_energy_is_the_loss_lost(case, monkeypatch):
    problem, t1 = random_problem(*case), 1000.0
    sol = rf.solve(problem, rf.Flow(rtol=1e-7), t1=t1)
    same = explicit(problem, 1e-7, t1, monkeypatch)
    assert sol.stats.regimes["stiff"] > 3 and same.stats.regimes["stiff"] == 0
    assert sol.stats.steps < 0.7 * same.stats.steps
    assert sol.stats.energy_error < 1e-7
    sharp, t = explicit(problem, 1e-11, t1, monkeypatch), np.geomspace(1.0, t1, 13)
    t = t[t < min(run.t[-1] for run in (sol, sharp))]
    assert np.max(np.abs(sol.outputs_at(t) - sharp.outputs_at(t))) < 100 * 1e-7


def test_a_moment_inside_an_implicit_step_is_that_of_a_run_that_ends_there():
    problem = random_problem(7, 3, "softmax")
    sol = rf.solve(problem, rf.Flow(rtol=1e-8), t1=1000.0)
    gap = np.argmax(np.diff(sol.log_t[2:])) + 2
    t = float(np.exp(0.5 * (sol.log_t[gap] + sol.log_t[gap + 1])))
    alone = rf.solve(problem, rf.Flow(rtol=1e-8), t1=t)
    np.testing.assert_allclose(sol.outputs_at([t])[0], alone.outputs[-1], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(sol.outputs_at([t]), sol.outputs_at([0.5 * t, t])[1:])


def test_neurons_whose_rounding_would_be_seen_in_the_outputs_take_explicit_steps():
    # |w| = e^20 |a|: what Newton leaves of b, 1e-3 rtol, would be multiplied by e^{2c} |x| = 1e8.
    x, y, w, a = layers(-20.0, 2)
    sol = rf.solve(rf.Problem(rf.Data(x, y), rf.Params(w, a)), rf.Flow(rtol=1e-9), t1=1e3 * np.exp(-20.0))
    assert sol.stats.regimes["stiff"] == 0
