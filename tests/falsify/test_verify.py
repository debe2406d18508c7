"""Finds in stiff runs, where the other regime takes too many steps: the reference decides in its place."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import reluflow as rf
from reluflow.falsify import verify
from reluflow.falsify.target import target
from reluflow.space.spec import Spec

SPACE = rf.space.line(n=4, width=6, log_scale=-10.0)


def beyond_two(**training):
    """Four points on a line at which the flow ends at 2.10136 times the least norm; its last phase is stiff."""
    x = np.array([[-11.0, 1.0], [-10.0, 1.0], [2.0, 1.0], [12.0, 1.0]])
    w, s = np.array([[-6.0, 0.0], [2.0, 4.0], [1.0, 0.0]]), np.array([-1.0, 1.0, -1.0])
    made = replace(SPACE.training, **training)
    return Spec(x, np.array([-3.0, 5.0, 2.0, -1.0]), w, s, -10.0, made)


def case(spec):
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
    try:
        from conjectures import twice_the_norm
    finally:
        sys.path.pop(0)
    at = target(twice_the_norm, None, "", SPACE)
    return verify.Case(at, spec, at.evaluate(spec))


def upheld(tests):
    return {t.name: t.upheld for t in tests}


def test_a_stiff_run_is_confirmed_in_its_own_regime_where_the_other_takes_too_many_steps(monkeypatch):
    monkeypatch.setattr(verify, "STEPS", 1500)
    monkeypatch.setattr(verify, "AGREE", 1e-4)  # 100 rtol of the first run
    finer, tests = verify._second(beyond_two(rtol=1e-6).solve())
    assert upheld(tests) == {"other regime": None, "confirmation": True}
    assert "windows takes more than 1,500 steps" in tests[0].said
    assert finer.stats.regimes["windows"] == 0 and finer.stats.rtol == 1e-8


def test_a_second_run_that_differs_before_it_stops_counts_against_a_find(monkeypatch):
    monkeypatch.setattr(verify, "STEPS", 1500)
    monkeypatch.setattr(verify, "AGREE", 1e-15)
    assert upheld(verify._second(beyond_two(rtol=1e-6).solve())[1])["other regime"] is False


def test_a_reference_that_decides_must_be_there():
    far = SimpleNamespace(spec=replace(beyond_two(), log_scale=-400.0))
    for decides, found in ((False, None), (True, False)):
        (test,) = verify._reference(far, decides=decides)
        assert test.upheld is found and "hundreds of digits" in test.said


def test_a_reference_with_another_event_is_noticed():
    sol = beyond_two(rtol=1e-6).solve()
    events = [
        SimpleNamespace(t=t, neuron=j, datum=k, kind=kind)
        for t, j, k, kind in zip(sol.events.t, sol.events.neuron, sol.events.datum, sol.events.kind)
    ]
    end = 1.0001 * sol.events.t[-1]
    assert verify._same_events(sol, SimpleNamespace(events=events), end) == (True, 18)
    assert not verify._same_events(sol, SimpleNamespace(events=events[1:]), end)[0]
    events[5].t *= 1.001
    assert not verify._same_events(sol, SimpleNamespace(events=events), end)[0]


@pytest.mark.exhaustive
def test_four_points_end_beyond_twice_the_least_norm_and_no_test_doubts_it():
    pytest.importorskip("flint")
    find = case(beyond_two())
    tests = verify.verify(find)
    assert not verify.doubts(tests) and verify.steady(find)
    found = upheld(tests)
    assert found.pop("other regime") is None and all(found.values())
    assert {"confirmation", "rtol/100, coupled regime", "rtol/10000", "bifurcation", "neighbours", "reference"} == set(
        found
    )
    assert "all events do (18 up to t = 148.343)" in tests[-1].said
