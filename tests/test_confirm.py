"""`rf.confirm`: a second run at rtol / 100 in the other regime, held against the first."""

import dataclasses
import importlib

import numpy as np
import pytest
from reference_comparison import judge

import reluflow as rf
from reluflow.confirm import Scale, compared
from reluflow.drive import driver_for
from reluflow.engine.layout import COUPLED, WINDOWS

confirm_file = importlib.import_module("reluflow.confirm")  # `rf.confirm` is the function of that name


def two_points(**change):
    init = rf.init.balanced(width=8, dim=2, log_scale=-3.0, seed=0)
    return rf.Problem(rf.data.two_points(), init, **change)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_a_small_run_is_confirmed_by_windows_and_says_so_when_printed(loss):
    data = rf.data.two_points()
    data = data if loss == "square" else rf.Data(data.x, np.sign(data.y))
    sol = rf.solve(rf.Problem(data, rf.init.balanced(width=8, dim=2, log_scale=-3.0, seed=0), loss=loss), t1=5.0)
    before = str(sol)
    found = rf.confirm(sol)
    assert found and isinstance(found, rf.Confirmation)
    assert (found.regime, found.finer_rtol, found.promise) == ("windows", 1e-10, 1e-6)
    assert found.events == found.finer_events == found.agreeing == len(sol.events) > 0
    assert found.digits > 6 and found.event_digits > 6
    assert found.first is None and found.reason is None
    assert before == repr(sol) and str(sol) == f"{before}\n{found}"
    assert "Confirmed by a second run with rtol 1e-10 in the windows regime: all" in str(found)


def test_a_converged_run_with_a_neuron_held_by_rounding_is_confirmed_up_to_its_end():
    # Orthogonal data: neuron 3 slides with its bit at 0, a margin of rounding that windows once halved without end.
    sol = rf.solve(two_points())
    found = rf.confirm(sol)
    assert found and sol.outcome is rf.Outcome.STATIONARY and found.regime == "windows"


def test_the_regime_asked_for_is_the_one_that_runs():
    problem = two_points()
    for regime, expected in ((None, COUPLED), ("windows", WINDOWS), ("coupled", COUPLED)):
        run = driver_for(problem, rf.Flow(), 1.0, regime=regime).run
        assert run.regime == expected and run.free == 0  # eight neurons on two points are too few for stretches
    assert len(driver_for(problem, rf.Flow(), 1.0, regime="windows").made_of) == 5  # nothing of it is stored


def test_the_first_layer_alone_is_confirmed_by_its_only_regime():
    found = rf.confirm(rf.solve(two_points(train="first"), t1=2.0))
    assert found and found.regime == "coupled"


def test_labels_that_differ_by_1e_5_are_not_confirmed_and_the_first_event_is_named():
    problem = two_points()
    sol = rf.solve(problem, t1=5.0)
    data = rf.Data(problem.data.x, problem.data.y * (1 + 1e-5))
    other = rf.solve(dataclasses.replace(problem, data=data), rf.Flow(rtol=1e-10), t1=5.0)
    found = compared(sol, other)
    assert not found and found.reason == "beyond the promise"
    assert 4 < found.digits < 6 and found.agreeing < found.events
    # The first event after t = 0 comes 1e-5 earlier.
    k = int(np.argmax(sol.events.t > 0))
    one, two = sol.events[k : k + 1], other.events[k : k + 1]
    assert found.first.log_t == two.log_t[0] < one.log_t[0]
    assert found.first[1:4] == (one.neuron[0], one.datum[0], one.kind[0]) == (two.neuron[0], two.datum[0], two.kind[0])
    assert 0.3e-5 < found.event_times < 3e-5
    named = f"`{found.first.kind}` of neuron {found.first.neuron}, datum {found.first.datum} at t = "
    assert named in str(found) and "no bifurcation near it explains that" in str(found)


def test_a_coarse_second_run_is_not_a_confirmation(monkeypatch):
    sol = rf.solve(two_points(), rf.Flow(rtol=1e-10), t1=5.0)
    assert rf.confirm(sol)
    coarse = lambda problem, method, end, regime: driver_for(problem, rf.Flow(rtol=1e-3), end, regime=regime)
    monkeypatch.setattr(confirm_file, "driver_for", coarse)
    found = rf.confirm(sol)
    assert not found and found.reason == "beyond the promise"
    assert "Not confirmed" in str(sol)


def test_a_second_run_that_stops_early_says_where_and_why():
    found = rf.confirm(rf.solve(two_points(), t1=5.0), limits=rf.Limits(steps=3))
    assert not found and found.reason == "stopped early" and found.outcome is rf.Outcome.STEP_LIMIT
    assert "The second run stopped at t = " in str(found) and "step limit" in str(found)


def test_a_start_with_several_solutions_is_called_not_unique():
    # Neuron 0 starts on the boundary of a datum that repels it on both sides: it stays or grows, and one run does each.
    data = rf.Data([[1.0, 0.0]], [1.0])
    start = lambda w: rf.Problem(data, rf.Params([[w, 1.0], [0.3, 0.1]], [1.0, 0.3]), reduction="sum")
    sol, other = rf.solve(start(0.0), t1=3.0), rf.solve(start(1e-12), rf.Flow(rtol=1e-10), t1=3.0)
    found = compared(sol, other)
    assert not found and found.reason == "not unique" and found.place == (0.0, -np.inf, 0, 0)
    assert "the flow is not unique: it may go on in several ways from neuron 0, datum 0 at t = 0." in str(found)


@pytest.mark.parametrize("seed", [2, 15, 16])
def test_runs_on_two_sides_of_a_bifurcation_differ_by_it_and_its_place_is_named(seed):
    # Crossing or sliding, decided by a label 1e-9 from the change.
    specs = {s["offset"]: s for s in judge.stored("near_bifurcation") if s["seed"] == seed}
    sol, other = judge.solve(specs[-1e-9], 1e-8), judge.solve(specs[1e-9], 1e-10)
    found = compared(sol, other)
    assert not found and found.reason == "near a bifurcation"
    assert found.place.distance < 1e-6 and found.place.distance in {s.stats.nearest_bifurcation for s in (sol, other)}
    assert f"the runs pass a bifurcation at a distance of {found.place.distance:.2g}, neuron " in str(found)


def test_other_methods_and_other_values_are_refused_in_a_sentence():
    problem = two_points()
    with pytest.raises(ValueError, match=r"is for exact flows, got a run by rf.Descent: solve with `rf.Flow"):
        rf.confirm(rf.solve(problem, rf.Descent(0.1), t1=1.0))
    with pytest.raises(ValueError, match=r"is for exact flows, got a run by rf.SteppedFlow"):
        rf.confirm(rf.solve(problem, rf.SteppedFlow(), t1=1.0))
    with pytest.raises(TypeError, match=r"`sol` must be an rf.Solution, got 3"):
        rf.confirm(3)


def events(rows):
    """Events from (t, neuron, datum, kind)."""
    from reluflow.events import KINDS, Events

    t, neuron, datum, kind = (np.array(c) for c in zip(*rows))
    return Events(t, np.log(t), neuron, datum, [KINDS.index(k) for k in kind], np.ones(len(t), bool))


def test_events_are_paired_by_neuron_datum_and_kind_whatever_the_order_of_simultaneous_ones():
    one = events([(1.0, 0, 0, "on"), (1.0, 1, 0, "off"), (2.0, 0, 0, "off"), (3.0, 0, 0, "on")])
    two = events([(1.0 + 1e-9, 1, 0, "off"), (1.0 + 2e-9, 0, 0, "on"), (2.0, 0, 0, "off"), (3.0, 0, 0, "on")])
    found = confirm_file._paired(one, two, Scale(np.log(4.0), 0.0, 1e-6))
    assert found[:3] == (4, 4, 4) and found.worst == pytest.approx(2e-9, rel=1e-6) and found.first is None


def test_a_graze_that_one_run_misses_does_not_shift_the_events_after_it():
    one = events([(1.0, 0, 0, "on"), (2.0, 0, 0, "off"), (3.0, 0, 0, "on"), (3.1, 0, 0, "off")])
    two = events([(1.0, 0, 0, "on"), (1.5, 0, 0, "off"), (1.501, 0, 0, "on"), (2.0, 0, 0, "off")])
    found = confirm_file._paired(one, two, Scale(np.log(3.1), 0.0, 1e-6))
    # `off` at 3.1 is at the end: it may as well lie beyond it, and is not counted.
    assert (found.ours, found.theirs, found.agreeing) == (3, 4, 2)
    assert (found.first.kind, found.first.what) == ("off", "which only the second run has")
    assert found.first.log_t == pytest.approx(np.log(1.5))
