"""Losses by class and ways out of saddles, against closed forms and finite differences."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.observe.saddles import class_losses, escape


@pytest.fixture(scope="module")
def run():
    return rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-30.0, seed=0)))


def test_the_two_classes_share_the_loss(run):
    found = class_losses(run)
    assert found.dims == ("frame", "label") and found.label.values.tolist() == [1, -1]
    np.testing.assert_allclose(found.sum("label"), run.loss, rtol=1e-9, atol=1e-30)


def test_on_the_plateau_only_the_negative_label_is_left(run):
    saddle = rf.limit(run.problem).saddles[1]
    t = 0.5 * (rf.limit(run.problem).saddles[0].exit(30.0) + saddle.exit(30.0))
    plus, minus = class_losses(run, t).values[0]
    assert minus == pytest.approx(saddle.loss, rel=1e-4) and plus < 1e-5


def test_class_losses_are_for_the_square_loss():
    data = rf.Data(np.eye(2), [1.0, -1.0])
    sol = rf.solve(rf.Problem(data, rf.init.balanced(4, 2, seed=0), loss="logistic"), t1=1.0)
    with pytest.raises(ValueError, match='needs the "square" loss'):
        class_losses(sol)


def loss_with(problem, direction, sign, size):
    """The loss at the origin with one neuron of norm `size` put there."""
    f = sign * size**2 * np.maximum(problem.data.x @ direction, 0.0)
    return 0.5 * problem.weight * float(np.sum((f - problem.data.y) ** 2))


@pytest.mark.parametrize("data", [rf.data.two_points(), rf.data.five_points(), rf.data.orthonormal(4, 6, seed=1)])
def test_the_curvature_is_what_a_small_neuron_makes_of_the_loss(data):
    problem = rf.Problem(data, rf.Params(np.zeros((1, data.d)), np.zeros(1)))
    way = escape(problem)
    d = 1e-3
    change = loss_with(problem, way.direction, way.sign, d) - loss_with(problem, way.direction, way.sign, 0.0)
    assert change == pytest.approx(0.5 * way.curvature * 2 * d**2, rel=1e-4) and way.curvature < 0


@pytest.mark.parametrize("data", [rf.data.two_points(), rf.data.five_points(), rf.data.orthonormal(4, 6, seed=1)])
def test_no_direction_leads_down_more_steeply(data):
    problem = rf.Problem(data, rf.Params(np.zeros((1, data.d)), np.zeros(1)))
    way = escape(problem)
    v = np.random.default_rng(0).normal(size=(20_000, data.d))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    slopes = problem.weight * np.maximum(v @ data.x.T, 0.0) @ data.y
    assert -way.curvature >= np.max(np.abs(slopes))


def test_the_origin_of_two_points_is_left_along_the_stronger_pull():
    problem = rf.Problem(rf.data.two_points(), rf.Params(np.zeros((1, 2)), np.zeros(1)))
    way = escape(problem)
    assert way.exact and way.sign == 1.0 and way.curvature == pytest.approx(-(5**0.5) / 2)
    np.testing.assert_allclose(way.direction, np.array([2.0, 1.0]) / 5**0.5, atol=1e-15)


def test_an_interpolator_has_no_way_down(run):
    limit = rf.limit(run.problem)
    assert escape(run.problem, limit.params).curvature == pytest.approx(0.0, abs=1e-14)


def test_leaky_networks_are_refused():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(3, 2), activation=rf.LeakyReLU(0.1))
    with pytest.raises(ValueError, match="ReLU"):
        escape(problem)
