"""The flow against formulas."""

import numpy as np
import pytest
from support import orthogonal

import reluflow as rf


@pytest.mark.parametrize("log_scale", [-7.0, -70.0, -700.0])
def test_one_aligned_neuron_follows_the_logistic_curve(log_scale):
    # n = width = d = 1, balanced: the output solves df/dt = 2 |x| f (y - f), whatever the scale it starts from.
    x, y = 2.0, 3.0
    problem = rf.Problem(rf.Data([[x]], [y]), rf.Params([[1.0]], [1.0], log_scale=log_scale))
    # When the output is y / 2: log(y / f(0) - 1) over the rate, f(0) = x e^{2 log_scale}.
    half = (np.log(y / x - np.exp(2 * log_scale)) - 2 * log_scale) / (2 * x * y)
    sol = rf.solve(problem, rf.Flow(rtol=1e-10), t1=half + 4.0)
    t = half + np.linspace(-0.5, 4.0, 50)
    np.testing.assert_allclose(sol.outputs_at(t)[:, 0], y / (1 + np.exp(-2 * x * y * (t - half))), rtol=1e-8)


def test_one_neuron_moves_on_a_straight_line_with_sinh_time():
    # One point, tiny scale: w stays on the line w(0) + span(x), and cos(w, x) = tanh(tau0 + |D| t).
    x, y = np.array([0.6, -0.8]), 1.5
    g = np.array([0.5, 0.3])
    init = rf.Params([g], [np.linalg.norm(g)], log_scale=-200.0)
    sol = rf.solve(rf.Problem(rf.Data([x], [y]), init), rf.Flow(rtol=1e-10), t1=20.0)
    p, q = g @ x, g @ np.array([0.8, 0.6])
    tau = np.arcsinh(p / abs(q)) + y * np.linspace(0, 20, 11)
    found = sol.at(np.linspace(0, 20, 11))
    cosine = [f.w[0] @ x / np.linalg.norm(f.w[0]) for f in found]
    np.testing.assert_allclose(cosine, np.tanh(tau), atol=1e-9)
    log_norm = [f.log_scale[0] + np.log(np.linalg.norm(f.w[0])) for f in found]
    np.testing.assert_allclose(log_norm, -200.0 + np.log(abs(q) * np.cosh(tau)), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "scale, last, halves", [(1e-20, 3.8603, (39.35440, 79.88257)), (1e-60, 3.8603, (121.73419, 244.64215))]
)
def test_two_points_cross_and_fit_when_the_formulas_say(scale, last, halves):
    data = rf.data.two_points()
    init = rf.init.balanced(60, 2, log_scale=np.log(scale), seed=0)
    sol = rf.solve(rf.Problem(data, init), rf.Flow(rtol=1e-10))
    off = sol.events["off"]
    assert len(off) == 32 and sol.events.counts().keys() <= {"off", "dead"}
    assert off.t[-1] == pytest.approx(last, abs=1e-4)
    predicted = sorted(t for j in range(60) for t, _ in orthogonal.alignment(data, init.w[j], np.sign(init.a[j]))[0])
    np.testing.assert_allclose(off.t, predicted, rtol=1e-7)

    computed, groups = orthogonal.half_times(data, init)
    assert groups == (18, 18)
    np.testing.assert_allclose(computed, halves, atol=1e-5)
    t = np.concatenate([np.linspace(h - 4, h + 8, 40) for h in computed])
    found = sol.outputs_at(t)
    # Outputs of the two classes, handbook 4.2: y u / u_inf with u logistic in time at rate 2 |D|.
    for i, which in ((1, 0), (0, 1)):
        D = np.linalg.norm(data.x[i] * data.y[i]) / 2
        u = 1 / (1 + np.exp(-2 * D * (t - computed[which])))
        np.testing.assert_allclose(found[:, i], data.y[i] * u, rtol=1e-6, atol=1e-6)
    final = sol.final
    squared = np.sum(np.exp(2 * final.log_scale) * (final.a**2 + np.sum(final.w**2, axis=1)))
    assert squared == pytest.approx(2.6832816, abs=1e-7)


def test_error_falls_with_the_tolerance():
    # Fitted over tolerances: the error is proportional to a power of rtol close to 1.
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(20, 2, log_scale=-3.0, seed=1))
    t = np.linspace(5.0, 60.0, 12)
    exact = rf.solve(problem, rf.Flow(rtol=1e-13), t1=60.0).outputs_at(t)
    rtols = np.array([1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
    errors = [np.max(np.abs(rf.solve(problem, rf.Flow(rtol=r), t1=60.0).outputs_at(t) - exact)) for r in rtols]
    order = np.polyfit(np.log(rtols), np.log(errors), 1)[0]
    assert 0.7 < order < 1.4
    assert np.all(np.array(errors) < 100 * rtols)


def test_steps_are_of_order_eight():
    # One smooth logistic curve: the number of steps grows like rtol^(-1/8), with the method's order in the exponent.
    problem = rf.Problem(rf.Data([[1.0]], [1.0]), rf.Params([[1.0]], [1.0], log_scale=-1.0))
    rtols = np.array([1e-7, 1e-9, 1e-11, 1e-13])
    steps = [rf.solve(problem, rf.Flow(rtol=r), t1=3.0).stats.steps for r in rtols]
    assert np.polyfit(np.log(rtols), np.log(steps), 1)[0] == pytest.approx(-1 / 8, abs=0.04)
