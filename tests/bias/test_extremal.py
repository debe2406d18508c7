"""Extremal directions, from faces and from the frozen flow."""

import numpy as np
import pytest

import reluflow as rf


def random_data(seed):
    rng = np.random.default_rng([seed, 15])
    d = 2 + seed % 3
    n = int(rng.integers(3, 8 if d < 4 else 6))
    return rf.Data(rng.normal(size=(n, d)), rng.normal(size=n))


def test_two_points_have_one_direction_per_class_with_the_textbook_rates():
    found = rf.bias.extremal(rf.data.two_points())
    rates = {d.sign: d.rate for d in found.attracting}
    assert rates == pytest.approx({1: np.sqrt(5) / 2, -1: np.sqrt(1.25) / 2})
    assert [d.basin for d in found.attracting] == pytest.approx([0.5, 0.5], abs=2e-3)
    assert found.dead == pytest.approx((0.5, 0.5), abs=2e-3)


@pytest.mark.parametrize("seed", range(9))
def test_faces_list_exactly_the_directions_the_frozen_flow_ends_in(seed):
    # A narrow basin may be missed by chance: what the flow meets must be listed, and what is listed cover all starts.
    data = random_data(seed)
    faces, flow = rf.bias.extremal(data, how="faces"), rf.bias.extremal(data, how="flow", seed=1)
    listed = [(d.sign, d.direction) for d in faces.attracting]
    for d in flow.directions:
        assert any(s == d.sign and np.linalg.norm(v - d.direction) < 1e-6 for s, v in listed)
    for sign, dead in zip((1, -1), faces.dead):
        assert sum(d.basin for d in faces.attracting if d.sign == sign) + dead == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(6))
def test_rest_means_rest_and_only_attracting_directions_stay_put_when_pushed(seed):
    data = random_data(seed)
    rng = np.random.default_rng(seed)
    for d in rf.bias.extremal(data, how="faces", samples=50).directions:
        pushed = d.direction + 1e-6 * rng.normal(size=(8, data.d))
        init = rf.Params(pushed, d.sign * np.linalg.norm(pushed, axis=1), log_scale=-200.0)
        final = rf.solve(rf.Problem(data, init), t1=40.0 / max(abs(d.rate), 0.05)).final
        w = final.w / np.linalg.norm(final.w, axis=1, keepdims=True)
        near = np.linalg.norm(w - d.direction, axis=1) < 1e-4
        assert np.all(near) if d.kind == "attracting" else not np.all(near)


def test_neurons_are_sent_where_the_flow_takes_them():
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=-1000.0, seed=0))
    found = rf.bias.extremal(problem)
    assert found.unsettled == ()
    assert sum(len(d.neurons) for d in found.directions) + len(found.dead_neurons) == 60
    late = rf.solve(problem, t1=1000.0).final
    for d in found.attracting:
        if d.rate > 0:
            w = late.w[list(d.neurons)]
            np.testing.assert_allclose(
                w / np.linalg.norm(w, axis=1, keepdims=True), np.tile(d.direction, (len(w), 1)), atol=1e-6
            )


def test_a_plateaus_drive_gives_the_directions_that_leave_it():
    # With y_+ fitted only the negative point pulls.
    found = rf.bias.extremal(rf.data.two_points(), drive=[-0.5, 0.0])
    assert [(d.sign, d.rate) for d in found.attracting if d.rate > 0] == [(-1, pytest.approx(np.sqrt(1.25) / 2))]


def test_too_many_faces_are_refused_with_a_sentence():
    data = rf.data.random_points(30, 6, seed=0)
    with pytest.raises(ValueError, match=r"must not enumerate more than 20000 faces, .* use `how=\"flow\"`"):
        rf.bias.extremal(data, how="faces")
    assert rf.bias.extremal(data, samples=20).way == "frozen flow"
