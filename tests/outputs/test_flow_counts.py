"""The flow with several outputs from tiny scales: right to 100 rtol, or said not to be determined, with the place."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import outputs as count
from tests.support.outputs import exit_times, half_times, orthogonal, three_classes

import reluflow as rf
from reluflow.drive.twin import Twin
from reluflow.drive.vector import Machine
from reluflow.reference import flow

KNOWN = json.loads((Path(__file__).parent.parent / "references/outputs.json").read_text())


@pytest.fixture(scope="module")
def aligned():
    problem, t1 = count.case(KNOWN["seed"])
    return rf.solve(problem, rf.Flow(rtol=1e-8), t1=t1)


def test_differences_of_aligned_neurons_are_those_of_the_reference(aligned):
    # Rounding of each neuron alone would make an error of 2e-5 (tests/references/make_outputs.py).
    assert count.determined(aligned)
    assert count.distance(aligned.outputs_at(KNOWN["times"]), np.array(KNOWN["f"])) < 100 * 1e-8


@pytest.mark.parametrize("rotation", [None, 1])
@pytest.mark.parametrize("rtol", [1e-8, 1e-10, 1e-12])
def test_neurons_just_beside_a_boundary_stay_there(rotation, rtol):
    # One of them was switched on by a component of 1e-34, since its own of -1e-13 counted as rounding: off by 1e-5.
    known = KNOWN["three_classes"]
    sol = rf.solve(three_classes(known["log_scale"], rotation), rf.Flow(rtol=rtol), t1=known["times"][-1])
    assert sol.stats.regimes["undetermined"] == 0
    assert count.distance(sol.outputs_at(known["times"]), np.array(known["f"])) < 100 * rtol


def test_a_neuron_at_rest_in_zero_leaves_when_a_way_opens():
    # It was looked at after each step only: t = 5.44 at rtol 1e-8, 4.97 at 1e-12, outputs off by 61 rtol.
    problem, t1 = count.case(156)
    sol, exact = (rf.solve(problem, method, t1=t1) for method in (count.FLOW, count.EXACT))
    assert "origin" in sol.events.counts()
    assert count.distance(sol.outputs_at([t1]), exact.outputs_at([t1])) < 1e-9
    descent = rf.solve(problem, rf.Descent(step=t1 / 200_000), t1=t1)
    assert count.distance(descent.outputs[-1], exact.outputs_at([t1])[0]) < 1e-5


def test_a_run_from_a_tiny_start_is_compared_with_a_rotated_one(aligned):
    assert 0.5 * aligned.stats.steps < aligned.stats.regimes["twin_steps"] < 3 * aligned.stats.steps


def test_a_run_that_parts_from_the_rotated_one_says_when_and_which_neuron(monkeypatch):
    # A rotated run from a start that is e^1e-4 times as large exits earlier: all its outputs are early.
    real = Twin.__init__

    def other(self, machine):
        real(self, machine)
        problem, rtol, end, rest, units = machine.made_of[:5]
        init = rf.Params(problem.init.w, problem.init.a, log_scale=problem.init.log_scales[0] + 1e-4)
        self.machine = Machine(rf.Problem(problem.data, init), rtol, end, rest, units, turned=True)

    monkeypatch.setattr(Twin, "__init__", other)
    x, labels = np.eye(4), np.eye(2)[[0, 0, 0, 1]]
    init = rf.init.balanced(6, 4, log_scale=-30.0, outputs=2, seed=0)
    sol = rf.solve(rf.Problem(rf.Data(x, labels), init), rf.Flow(rtol=1e-8), t1=200.0)
    assert sol.stats.regimes["undetermined"] == 1
    log_t, neuron, datum = sol.stats.nearest_place
    # Outputs e^{2c} part by 1e-6 when e^{2c} 2e-4 = 1e-6, a little before half the first class is learnt.
    half = float(sol.t[np.argmax(sol.outputs[:, 0, 0] > 0.5)])
    assert 0.8 * half < np.exp(log_t) <= half
    assert datum == -1 and 0 <= neuron < 6
    assert "not determined" in str(sol)


def test_what_is_flagged_does_not_depend_on_where_bursts_end(monkeypatch):
    problem, t1 = count.case(96)
    found = []
    for most in (3, 1000):
        monkeypatch.setattr("reluflow.drive.loop.MOST", most)
        sol = rf.solve(problem, rf.Flow(rtol=1e-8), t1=t1)
        found.append((sol.stats.regimes, sol.stats.nearest_place))
    assert found[0] == found[1]


def test_runs_from_larger_scales_are_not_run_twice():
    problem, t1 = count.case(3)
    assert rf.solve(problem, rf.Flow(rtol=1e-8), t1=t1).stats.regimes["twin_steps"] == 0


# Descent comes to the flow irregularly: 128 is 3e-4, 2e-5, 4e-5 away with 0.2, 1.6 and 3.2 million steps.
CHATTER = (128,)

# Long counts ----------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_rotating_the_inputs_at_tiny_scales_changes_nothing_or_is_flagged(seed):
    row = count.rotated(seed)
    assert row["outcome"] == "REACHED/REACHED"
    assert not row["determined"] or row["difference"] < 100 * 1e-10


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(200))
def test_random_problems_keep_the_promise_or_are_flagged(seed):
    row = count.measure(seed)
    assert count.ended(row)
    assert not row["determined"] or row["error_over_rtol"] < 100
    assert count.agrees(row) or seed in CHATTER


@pytest.mark.exhaustive
@pytest.mark.parametrize("rotation", [None, 1])
@pytest.mark.parametrize("log_scale", [-30, -60, -80, -100, -300, -3000, -100000])
def test_three_classes_are_not_flagged_at_any_scale(log_scale, rotation):
    sol = rf.solve(three_classes(log_scale, rotation), rf.Flow(rtol=1e-10), t1=exit_times(log_scale)[-1] + 100.0)
    assert sol.stats.regimes["undetermined"] == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(6))
def test_orthogonal_inputs_are_followed_to_the_digits_of_the_reference_or_flagged(seed):
    problem, times = orthogonal(seed), np.linspace(0.0, 500.0, 26)[1:]
    known = flow(problem, times.tolist(), digits=40).outputs()
    for rtol in (1e-8, 1e-12):
        sol = rf.solve(problem, rf.Flow(rtol=rtol), t1=500.0)
        assert sol.stats.regimes["undetermined"] or count.distance(count.seen(sol, times), known) < 100 * rtol


@pytest.mark.exhaustive
@pytest.mark.parametrize("rotation", [None, 1])
def test_the_cost_of_three_classes_does_not_grow_as_the_scale_goes_to_zero(rotation):
    steps = []
    for log_scale in (-100, -300, -3000, -100000):
        expected = exit_times(log_scale)
        sol = rf.solve(three_classes(log_scale, rotation), rf.Flow(rtol=1e-10), t1=expected[-1] + 100.0)
        assert sol.stats.regimes["undetermined"] == 0
        np.testing.assert_allclose(half_times(sol, expected), expected, rtol=1e-13, atol=1e-8)
        steps.append(sol.stats.steps)
    assert max(steps) < 1.25 * min(steps)
