"""Linear networks (slope 1) whose residuals have rates decades apart, against a closed form and scipy's Radau."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import reluflow as rf
from reluflow.drive import exact


def plain(problem, t):
    """Outputs at t by scipy's Radau on w' = a D, a' = <w, D>, D = sum_i g_i x_i; scale e^0."""
    x, y, init = problem.data.x, problem.data.y, problem.init
    m, d = init.w.shape

    def residuals(f):
        return y / (1 + np.exp(y * f)) if problem.loss == "logistic" else (y - f) / len(y)

    def outputs(z):
        return x @ (z[: m * d].reshape(m, d).T @ z[m * d :])

    def rates(_, z):
        w, a, D = z[: m * d].reshape(m, d), z[m * d :], residuals(outputs(z)) @ x
        return np.concatenate([np.outer(a, D).ravel(), w @ D])

    start = np.concatenate([init.w.ravel(), init.a])
    found = solve_ivp(rates, (0.0, t[-1]), start, method="Radau", t_eval=t, rtol=1e-9, atol=1e-12)
    return np.array([outputs(z) for z in found.y.T])


def logistic():
    data = rf.Data([[1.0, 0.0], [1.0, 0.0], [0.0, 1e-2]], [1.0, -1.0, 1.0])
    return rf.Problem(data, rf.Params([[1.0, 0.5]], [1.0]), loss="logistic", reduction="sum", activation="linear")


def diagonal():
    # Two neurons of each sign, balanced: the slow output grows to 1 with weights of size 30.
    w = np.array([[0.3, 0.2], [0.1, -0.3], [0.25, 0.1], [-0.2, 0.3]])
    data = rf.Data(np.diag([1.0, 1e-3]), [1.0, 1.0])
    return rf.Problem(data, rf.Params(w, np.linalg.norm(w, axis=1)), activation="linear")


@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
@pytest.mark.parametrize("make, t1", [(logistic, 1e5), (diagonal, 1e5)])
def test_a_stiff_linear_network_is_followed_to_late_times_in_some_thousand_steps(make, t1, rtol):
    # In stretches alone: 407,730 to t = 4,339, and 174,846 to t = 7,836.
    problem, t = make(), np.geomspace(0.1, t1, 60)
    sol = rf.solve(problem, rf.Flow(rtol), t1=t1, limits=rf.Limits(steps=6_000))
    assert sol.stats.regimes["stiff"] > 20
    np.testing.assert_allclose(sol.outputs_at(t), plain(problem, t), atol=max(100 * rtol, 1e-6), rtol=0)


@pytest.mark.parametrize("eps", [1e-8, 1e-12])
@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_a_stiff_linear_network_leaves_its_saddle_at_the_right_time(eps, rtol):
    """Two neurons (1, 0) and (-1, 0) with output weights eps: the first output, label 0, stays 0 and has the rate 1. In
    the second, x = (0, r), a = eps cosh(u/2), w_2 = eps sinh(u/2) and f = k sinh u, k = r eps^2, so u' = 2 r (1 - f),
    and v = e^u obeys a Riccati equation. Implicit steps near the saddle lose eps: by 137 rtol at 1e-4 from 1e-12."""
    r, t1 = 1e-2, 6_000.0
    data, init = rf.Data(np.diag([1.0, r]), [0.0, 1.0]), rf.Params([[1.0, 0.0], [-1.0, 0.0]], [eps, eps])
    problem = rf.Problem(data, init, activation="linear", reduction="sum")
    k = r * eps**2
    s = np.sqrt(1 + k**2)
    high, low = (1 + s) / k, -k / (1 + s)
    t = np.linspace(0.0, t1, 400)[1:]
    gone = (high - 1) / (1 - low) * np.exp(-2 * r * s * t)
    v = (high + low * gone) / (1 + gone)
    sol = rf.solve(problem, rf.Flow(rtol), t1=t1, limits=rf.Limits(steps=4_000))
    assert sol.stats.regimes["stiff"] > 20
    expected = np.stack([np.zeros_like(t), k * (v - 1 / v) / 2], axis=1)
    np.testing.assert_allclose(sol.outputs_at(t), expected, atol=rtol, rtol=0)


def drawn(seed, loss):
    rng = np.random.default_rng([seed, 77])
    n, d, m = int(rng.integers(3, 8)), int(rng.integers(2, 8)), int(rng.integers(2, 12))
    u, s, v = np.linalg.svd(rng.normal(size=(n, d)), full_matrices=False)
    x = (u * np.logspace(0, -1.5, len(s))) @ v
    y = np.tanh(2 * x[:, 0]) + 0.3 * rng.normal(size=n)
    init = rf.init.balanced(m, d, log_scale=(-1.0, -10.0, -100.0)[seed % 3], seed=seed)
    return rf.Problem(rf.Data(x, np.sign(y) if loss == "logistic" else y), init, loss=loss, activation="linear")


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(k, marks=pytest.mark.exhaustive) for k in range(3, 12))])
def test_implicit_steps_and_stretches_agree_on_linear_networks(seed, loss, monkeypatch):
    problem, t1 = drawn(seed, loss), 2_000.0
    t = np.concatenate([np.geomspace(0.1, t1, 40), np.linspace(0.0, t1, 40)[1:]])
    found = {rtol: rf.solve(problem, rf.Flow(rtol), t1=t1).outputs_at(t) for rtol in (1e-4, 1e-6, 1e-8)}
    monkeypatch.setattr(exact, "WATCHED", 10**9)
    fine = rf.solve(problem, rf.Flow(1e-10), t1=t1).outputs_at(t)
    for rtol, outputs in found.items():
        assert np.max(np.abs(outputs - fine)) <= 100 * rtol * max(1.0, np.max(np.abs(problem.data.y)))


def test_what_is_read_from_a_stiff_linear_run_does_not_depend_on_what_was_read_before():
    sol = rf.solve(logistic(), t1=1e4)
    t = np.geomspace(1.0, 1e4, 30)
    together = sol.outputs_at(t)
    alone = np.concatenate([rf.solve(logistic(), t1=1e4).outputs_at([s]) for s in t[::7]])
    np.testing.assert_allclose(alone, together[::7], rtol=0, atol=1e-7)


def test_a_stiff_linear_run_confirms_itself():
    assert rf.confirm(rf.solve(logistic(), t1=1e4))
