"""Sharpness, layer-wise rates and noisy labels."""

import numpy as np
import pytest

import reluflow as rf


def gradient(theta, problem, m):
    """Gradient of L + (decay/2) |theta|^2 by the chain rule, written down anew."""
    x, y, d = problem.data.x, problem.data.y, problem.data.d
    w, a = theta[: m * d].reshape(m, d), theta[m * d :]
    u = x @ w.T
    s, bits = np.maximum(u, problem.activation.slope * u), np.where(u > 0, 1.0, problem.activation.slope)
    f = s @ a
    g = (f - y) / len(y) if problem.loss == "square" else -y / (1 + np.exp(y * f)) / len(y)
    of_w = ((g[:, None] * bits) * a).T @ x
    return np.concatenate([of_w.ravel(), s.T @ g]) + problem.decay * theta


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_sharpness_is_the_largest_eigenvalue_of_differences_of_the_gradient(loss):
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    data = rf.Data(x, y if loss == "square" else np.sign(y))
    start = rf.Params(rng.normal(size=(5, 3)), rng.normal(size=5))
    problem = rf.Problem(data, start, loss=loss, decay=0.07, activation=rf.LeakyReLU(0.2))
    sol = rf.solve(problem, rf.Flow(rtol=1e-10), t1=0.5)
    for t in (0.0, 0.4):
        assert not np.any(sol.sliding_at(t))
        w, a = sol.at(t).arrays()
        theta, h = np.concatenate([w.ravel(), a]), 1e-6
        steps = h * np.eye(len(theta))
        H = np.array([gradient(theta + e, problem, 5) - gradient(theta - e, problem, 5) for e in steps]) / (2 * h)
        expected = np.linalg.eigvalsh((H + H.T) / 2)[-1]
        found = rf.observe.sharpness(sol, t=[t])
        np.testing.assert_allclose(found.values, [expected], rtol=1e-7)
        both = rf.observe.sharpness(sol, t=[t], sides=True)
        np.testing.assert_allclose(both.values[0], expected, rtol=1e-7)  # no kink: both sides agree


def test_lanczos_agrees_with_all_eigenvalues(monkeypatch):
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(30, 2, -1.0, seed=0), decay=0.01)
    sol = rf.solve(problem, rf.Flow(rtol=1e-8), t1=100.0)
    dense = rf.observe.sharpness(sol, t=[0.0, 30.0, 100.0])
    from reluflow.observe import curvature

    monkeypatch.setattr(curvature, "DENSE", 0)
    np.testing.assert_allclose(rf.observe.sharpness(sol, t=[0.0, 30.0, 100.0]).values, dense.values, rtol=1e-9)


def test_a_sliding_neuron_has_two_one_sided_values():
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, -2.0, seed=0))
    sol = rf.solve(problem, rf.Flow(rtol=1e-8), t1=100.0)
    t = float(sol.events["slide"].t[0]) + 0.5
    both = rf.observe.sharpness(sol, t=[t], sides=True)
    assert np.any(sol.sliding_at(t)) and both.dims == ("frame", "side") and both.values[0, 0] != both.values[0, 1]


# Five points, width 60, seed 0, log scale l - log(60)/2: where the flow ends (regularised.md, slid data off). At l = -1
# the two sides are 8.9226 and 8.9489, the handbook has 8.9162.
@pytest.mark.parametrize(("log_scale", "value", "rtol"), [(-1.0, 8.9162, 1e-3), (-5.0, 13.3789, 5e-6)])
def test_the_flow_on_five_points_ends_at_the_handbooks_sharpness(log_scale, value, rtol):
    start = rf.init.balanced(60, 2, log_scale - np.log(60) / 2, seed=0)
    sol = rf.solve(rf.Problem(rf.data.five_points(), start), rf.Flow(rtol=1e-8), t1=5000.0)
    found = rf.observe.sharpness(sol, t=[5000.0], sides=True).sel(side="off")
    np.testing.assert_allclose(found.values[0], value, rtol=rtol)


@pytest.mark.parametrize("train", ["both", "first"])
def test_layer_rates_are_a_rescaling(train):
    rng = np.random.default_rng(3)
    x, y, w, a = rng.normal(size=(4, 3)), rng.normal(size=4), rng.normal(size=(5, 3)), rng.normal(size=5)
    rate_w, rate_a, step = 0.3, 2.0, 0.01
    problem = rf.Problem(rf.Data(x, y), rf.Params(w, a), train=train)
    sol = rf.solve(problem.with_rates(w=rate_w, a=rate_a), rf.Descent(step=step), t1=2.0)
    for _ in range(200):
        u = x @ w.T
        D = ((u > 0) * ((y - np.maximum(u, 0.0) @ a) / 4)[:, None]).T @ x
        new_a = a + step * rate_a * np.sum(w * D, axis=1) if train == "both" else a
        w, a = w + step * rate_w * a[:, None] * D, new_a
    np.testing.assert_allclose(sol.end.outputs[0], np.maximum(x @ w.T, 0.0) @ a, rtol=1e-10)
    found = sol.final.arrays()
    np.testing.assert_allclose(found[0] * np.sqrt(rate_w), w, rtol=1e-9)


def test_rates_that_are_no_rates_are_refused():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(4, 2, -1.0, seed=0), decay=0.1)
    for bad in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="`w` must be positive and finite, got"):
            problem.with_rates(w=bad)
    with pytest.raises(ValueError, match="`with_rates` needs equal rates when `decay` > 0, got 1 and 2"):
        problem.with_rates(a=2.0)
    assert problem.with_rates(w=3.0, a=3.0).decay == pytest.approx(0.3)


def test_noise_and_flips_keep_the_clean_labels():
    data = rf.data.two_points()
    noisy = rf.data.add_noise(data, 0.5, seed=2)
    expected = data.y + 0.5 * np.random.default_rng([2, 4]).normal(size=data.n)
    np.testing.assert_array_equal(noisy.data.y, expected)
    np.testing.assert_array_equal(noisy.clean, data.y)
    many = rf.Data(np.eye(10), np.ones(10))
    flipped = rf.data.flip_labels(many, 0.3, seed=1)
    assert len(flipped.rows) == 3 and np.sum(flipped.data.y < 0) == 3
    np.testing.assert_array_equal(np.flatnonzero(flipped.data.y < 0), flipped.rows)
    with pytest.raises(ValueError, match=r"`share` must be in \[0, 1\], got 1\.5"):
        rf.data.flip_labels(many, 1.5)


def test_many_runs_at_once_decay_as_one_does():
    pytest.importorskip("jax")
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(6, 2, -1.0, seed=0), decay=0.05)
    method = rf.Descent(step=0.02, fast_forward=False)
    many = rf.solve_many([problem], method, 4.0, device="cpu")
    one = rf.solve(problem, method, t1=4.0)
    np.testing.assert_allclose(many[0].end.outputs, one.end.outputs, rtol=1e-11)
    np.testing.assert_allclose(many[0].stats.energy_error, one.stats.energy_error, rtol=1e-6)


def test_a_probe_reads_the_weight_decay_of_its_optimiser():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    data = rf.data.five_points()
    x, y = torch.tensor(data.x), torch.tensor(data.y)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 8, bias=False), torch.nn.ReLU(), torch.nn.Linear(8, 1, bias=False)
    ).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=0.02)
    # MSELoss is twice the loss here: steps of 2 lr, and half the decay.
    probe = rf.torch.Probe(model, x, y, every=10, optimizer=optimizer, step=0.1)
    assert probe.problem.decay == pytest.approx(0.01)
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x)[:, 0], y).backward()
        optimizer.step()
    watched = probe.solution()
    own = rf.solve(probe.problem, rf.Descent(step=0.1), t1=20.0)
    np.testing.assert_allclose(watched.end.outputs[0], own.end.outputs[0], rtol=1e-9)
