"""Kinks and merged neurons, against the function itself."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.observe.kinks import kink_positions, merged


@pytest.fixture(scope="module")
def run():
    return rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-40.0, seed=0)))


def function(params, x):
    w, a = params.w * np.exp(params.log_scales[0])[:, None], params.a * np.exp(params.log_scales[1])
    return np.maximum(np.outer(x, w[:, 0]) + w[:, 1], 0.0) @ a


def test_slopes_change_at_the_kinks_by_their_jumps():
    params = rf.init.balanced(5, 2, log_scale=-0.5, seed=3)
    found = kink_positions(params)
    h = 1e-5
    for k in range(5):
        x = float(found.position[k])
        bend = (function(params, [x + h]) - 2 * function(params, [x]) + function(params, [x - h])) / h
        assert bend[0] == pytest.approx(float(found.jump[k]), rel=1e-6)
        assert float(found.log_size[k]) == pytest.approx(np.log(np.sum(params.w[k] ** 2)) - 1.0, rel=1e-12)


def test_a_neuron_without_slope_has_its_kink_at_infinity():
    assert np.isinf(kink_positions(rf.Params([[0.0, 1.0]], [1.0])).position[0])


def test_the_final_network_on_two_points_is_two_neurons_with_kinks_on_the_data(run):
    plus, minus = sorted(merged(run, angle=1e-6), key=lambda g: -g.sign)
    assert len(plus.neurons) == len(minus.neurons) == 18
    assert (plus.kink, minus.kink) == pytest.approx((-0.5, 2.0), abs=1e-9)
    assert (plus.size, minus.size) == pytest.approx((5**-0.5, 1.25**-0.5), rel=1e-9)


def test_merged_neurons_are_the_whole_function(run):
    groups = merged(run)
    x = np.linspace(-3.0, 4.0, 50)
    found = sum(
        g.sign * g.size * np.maximum(np.outer(x, [1.0, 0.0]) @ g.direction + g.direction[1], 0.0) for g in groups
    )
    np.testing.assert_allclose(found, function(run.final, x), atol=1e-9)


def test_at_the_start_nothing_is_merged(run):
    assert len(merged(run, 0.0, share=1e-300)) == 60


def test_a_moment_may_be_given(run):
    early, late = kink_positions(run, 0.0), kink_positions(run)
    np.testing.assert_allclose(early.position, -run.problem.init.w[:, 1] / run.problem.init.w[:, 0], rtol=1e-9)
    assert float(np.max(early.log_size)) < -70.0 < -10.0 < float(np.max(late.log_size))


def test_kinks_need_one_input_and_a_bias_column():
    with pytest.raises(ValueError, match="one input and a bias column"):
        kink_positions(rf.init.balanced(3, 4))
    assert len(merged(rf.init.balanced(3, 4, seed=0))) == 3
