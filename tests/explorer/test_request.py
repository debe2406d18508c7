"""From the page's state to an experiment."""

import copy

import numpy as np
import pytest

import reluflow as rf
from reluflow.explorer import request
from reluflow.explorer.presets import PRESETS

NETWORKS = [p for p in PRESETS if p["mode"] != "single"]


@pytest.mark.parametrize("preset", NETWORKS, ids=lambda p: p["name"])
def test_every_preset_is_an_experiment_that_succeeds(preset):
    found = request.experiment(preset["experiment"])
    sol = found.run()
    assert sol.outcome.success
    assert sol.loss[-1] < 1e-2 * sol.loss[0]
    assert rf.Experiment.parse(found.to_toml()) == found


def changed(name, **tables):
    preset = next(p for p in PRESETS if p["name"] == name)["experiment"]
    found = copy.deepcopy(preset)
    for table, values in tables.items():
        found[table] = {**found[table], **values}
    return found


def test_the_end_time_of_a_loss_with_a_tail_grows_with_log_of_the_scale():
    ends = [request.experiment(changed("toy_plane", init={"log_scale": s}))["solve.t1"] for s in (-10.0, -1000.0, -1e5)]
    assert ends[0] < ends[1] < ends[2] and ends[2] / ends[1] == pytest.approx(99.0, rel=0.1)
    for s in (-10.0, -1000.0):
        sol = request.experiment(changed("toy_plane", init={"log_scale": s})).run()
        assert sol.loss[-1] < 0.01


def test_an_end_time_that_is_asked_for_is_kept():
    assert request.experiment(changed("two_points", solve={"t1": 7.5}))["solve.t1"] == 7.5
    assert "t1" not in request.experiment(changed("two_points"))["solve"] or (
        request.experiment(changed("two_points"))["solve.t1"] is None
    )


def test_descent_never_takes_more_iterations_than_there_is_time_for():
    tables = changed("two_points") | {"method": {"kind": "descent", "step": 1e-5}}
    found = request.experiment(tables | {"solve": {"t1": 1e9}})
    assert found["solve.t1"] / 1e-5 <= request.ITERATIONS * (1 + 1e-12)


def test_round_numbers_have_two_digits():
    for t in (1.0, 3.14159, 99.5, 12345.6, 1.7e8):
        up = request.round_up(t)
        assert t <= up * (1 + 1e-12) and up <= 1.11 * t
        assert len(f"{up:.10e}".split("e")[0].rstrip("0").replace(".", "")) <= 2


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"3", b'"x"', b"{", b"[" * 9999, b'{"a": NaN}', b'{"a": Infinity}', b"\xff"]
)
def test_what_is_not_a_json_object_is_refused(body):
    with pytest.raises(request.Refused):
        request.parse(body)


def test_a_nest_is_refused_before_it_is_walked():
    with pytest.raises(request.Refused, match="nested"):
        request.parse(b'{"a":' + b"[" * 40 + b"]" * 40 + b"}")


def test_class_rates_are_the_pulls_of_the_classes():
    data = rf.data.two_points()
    rates = request.class_rates(rf.Problem(data, rf.init.balanced(4, 2)))
    # |D+-| = |y x| / n for one point a class.
    assert rates[1.0] == pytest.approx(np.linalg.norm(data.x[1]) / 2)
    assert rates[-1.0] == pytest.approx(np.linalg.norm(data.x[0]) / 2)
