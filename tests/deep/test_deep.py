"""Deep fully connected networks by plain descent."""

import math

import numpy as np
import pytest

import reluflow as rf
from reluflow import deep, single

WIDTHS = (6, 5, 4, 3, 1)


def taught(widths=WIDTHS, n=40, std=0.5, seed=3):
    x = np.random.default_rng([seed, 1]).normal(size=(n, widths[0]))
    return rf.Data(x, deep.init(widths, std=std, seed=seed)(x))


@pytest.mark.parametrize("widths", [(6, 1), (6, 5, 1), WIDTHS])
def test_the_gradient_is_that_of_finite_differences(widths):
    data, net = taught(widths), deep.init(widths, std=0.7, seed=0)
    loss = lambda weights: 0.5 * np.mean((deep.Network(tuple(weights))(data.x) - data.y) ** 2)
    rng, h = np.random.default_rng(0), 1e-6
    for k, g in enumerate(net.gradient(data.x, data.y)):
        direction = rng.normal(size=g.shape)
        ends = []
        for sign in (1, -1):
            weights = list(net.weights)
            weights[k] = weights[k] + sign * h * direction
            ends.append(loss(weights))
        # Second-order differences: h^2 = 1e-12 and rounding 1e-16 / h, relative to a loss of order 1.
        assert np.sum(g * direction) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-9)


def test_depth_two_is_the_two_layer_engine():
    data, net = taught((6, 5, 1)), deep.init((6, 5, 1), std=0.7, seed=0)
    run = deep.train(net, data, step=0.02, iterations=300)
    twin = rf.Problem(data, rf.Params(net.weights[0], net.weights[1][0]))
    sol = rf.solve(twin, rf.Descent(step=0.02), t1=6.0)
    assert run.loss[-1] == pytest.approx(sol.loss[-1], rel=1e-9)
    np.testing.assert_allclose(run.final.weights[0], sol.final.w, rtol=1e-8, atol=1e-12)


def test_one_neuron_a_layer_is_a_single_neuron():
    problem, sample = single.Problem(m=2, norm=1.1, phi=2.0), single.Sample(80, 5, seed=2)
    x = sample.inputs(problem.law)
    w = np.zeros((1, 5))
    w[0, :2] = -1.1 * math.cos(2.0), 1.1 * math.sin(2.0)
    net = deep.Network((w, np.array([[1.1]]), np.array([[1.1]])))
    run = deep.train(net, rf.Data(x, np.maximum(x[:, 0], 0)), step=0.01, iterations=400)
    other = single.solve(problem, rf.Descent(step=0.01), 4.0, sample=sample)
    np.testing.assert_allclose(run.norms[-1], [other.norm[-1], *other.outer[-1][::-1]], rtol=1e-10)
    assert run.loss[-1] == pytest.approx(other.train_loss[-1], rel=1e-6)


def test_squared_norms_of_all_layers_grow_alike_up_to_the_step():
    # Along the flow d|W_l|^2/dt is the same for every layer; descent differs by step^2 |grad|^2 an iteration.
    data, net = taught(), deep.init(WIDTHS, std=0.7, seed=0)
    spread = []
    for step in (0.004, 0.002):
        run = deep.train(net, data, step=step, iterations=round(4 / step))
        growth = run.norms[-1] ** 2 - run.norms[0] ** 2
        spread.append(np.ptp(growth))
        assert np.abs(growth).max() > 0.1
    assert spread[1] < 0.02 and spread[0] / spread[1] == pytest.approx(2.0, rel=0.1)


def test_a_small_start_grows_and_a_large_one_shrinks_slower_for_the_small_one():
    # What Figure 4 of Lee et al. shows: depth 5, equal widths; losses relative to their own start.
    widths = (10, 10, 10, 10, 10, 1)
    data = taught(widths, n=100, std=0.4, seed=1)
    small = deep.train(deep.init(widths, std=0.15, seed=0), data, step=0.02, iterations=1500)
    large = deep.train(deep.init(widths, std=0.7, seed=0), data, step=0.005, iterations=1500)
    assert small.norm[-1] > small.norm[0] and large.norm[-1] < large.norm[0]
    assert large.loss[-1] / large.loss[0] < 0.1 * small.loss[-1] / small.loss[0]


def test_single_precision_follows_double():
    data, net = taught(), deep.init(WIDTHS, std=0.7, seed=0)
    runs = [deep.train(net, data, step=0.02, iterations=200, dtype=k) for k in ("float64", "float32")]
    np.testing.assert_allclose(runs[1].norms, runs[0].norms, rtol=1e-5)
    assert runs[1].norm[-1] != runs[0].norm[-1]


def test_legs_name_rises_and_falls_and_forget_small_ones():
    run = deep.train(deep.init((6, 1), std=0.5), taught((6, 1)), step=0.1, iterations=3)
    t = np.linspace(0, 1, 200)
    assert run.legs(t) == (1,) and run.legs(-t) == (-1,)
    assert run.legs((t - 0.3) ** 2) == (-1, 1)
    assert run.legs(np.cos(7 * t)) == (-1, 1, -1)
    assert run.legs(t + 2e-4 * np.cos(300 * t)) == (1,)
    assert run.legs(np.ones(5)) == ()


def test_frames_are_kept_as_asked_and_progress_is_told():
    seen = []
    run = deep.train(deep.init(WIDTHS, std=0.5), taught(), step=0.01, iterations=25, every=10, progress=seen.append)
    assert run.iteration.tolist() == [0, 10, 20, 25] == seen
    assert run.norms.shape == (4, 4) and run.loss.shape == (4,)
    np.testing.assert_allclose(run.final.norms, run.norms[-1])


def test_wrong_input_is_one_sentence():
    data, net = taught(), deep.init(WIDTHS, std=0.5)
    with pytest.raises(rf.SolveError, match="smaller `step`") as caught:
        deep.train(deep.init((6, 1), std=1.0), data, step=10.0, iterations=1000)
    assert caught.value.solution.iteration[0] == 0
    with pytest.raises(ValueError, match="must fit together"):
        deep.Network((np.ones((3, 2)), np.ones((1, 4))))
    with pytest.raises(ValueError, match="must have one row"):
        deep.Network((np.ones((3, 2)),))
    with pytest.raises(ValueError, match="must take the data's 6 inputs"):
        deep.train(deep.init((5, 1), std=1.0), data, step=0.1, iterations=1)
    with pytest.raises(ValueError, match="one per layer"):
        deep.init(WIDTHS, std=(1.0, 2.0))
    with pytest.raises(TypeError, match=r"rf\.Data"):
        deep.train(net, (data.x, data.y), step=0.1, iterations=1)


@pytest.mark.parametrize("n", [40, 1000, 997])
def test_steps_compiled_for_a_device_are_the_same_steps(n):
    pytest.importorskip("jax")
    data, net = taught(n=n), deep.init(WIDTHS, std=0.7, seed=0)
    runs = [deep.train(net, data, step=0.02, iterations=25, every=10, device=k) for k in (None, "cpu")]
    assert runs[1].iteration.tolist() == [0, 10, 20, 25]
    # Sums in another order: a rounding an iteration, relative to the layers.
    np.testing.assert_allclose(runs[1].norms, runs[0].norms, rtol=25 * 40 * np.finfo(float).eps)
    np.testing.assert_allclose(runs[1].loss, runs[0].loss, rtol=1e-12)
    for a, b in zip(runs[0].final.weights, runs[1].final.weights, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)


def test_a_device_run_that_overflows_is_one_sentence():
    pytest.importorskip("jax")
    with pytest.raises(rf.SolveError, match="smaller `step`") as caught:
        deep.train(deep.init((6, 1), std=1.0), taught(), step=10.0, iterations=1000, device="cpu")
    assert caught.value.solution.iteration[0] == 0
    with pytest.raises(ValueError, match='must be "cpu", "gpu"'):
        deep.train(deep.init((6, 1), std=1.0), taught(), step=0.1, iterations=1, device="abacus")
