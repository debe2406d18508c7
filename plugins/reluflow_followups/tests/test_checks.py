"""Each check holds on the paper's setting and rejects what it must."""

from types import SimpleNamespace

import numpy as np
import pytest

import reluflow as rf
from reluflow_followups.boursier2025sword import _points
from reluflow_followups.chistikov2023 import _inputs
from reluflow_followups.frei2023 import _late, _orthogonal
from reluflow_followups.lyu2021 import _symmetric


def verdicts(report):
    return [c.verdict for c in report.claims]


def three_points():
    """Data of Assumption 3 with eta = 0.1."""
    x = np.array([[-0.95, 1.05], [0.05, 1.0], [0.95, 1.02]])
    return rf.Data(x, [1.05, 0.08, 1.02])


def run_three(log_scale, data=None, **more):
    data = data or three_points()
    return rf.solve(rf.Problem(data, rf.init.balanced(50, 2, log_scale=log_scale, seed=0)), **more)


def test_theorem_2_holds_where_its_assumption_does_and_at_a_tiny_scale():
    report = rf.check("boursier2025sword.theorem2", run_three(-1000.0))
    assert report.applies and report.ok, str(report)


def test_theorem_2_is_violated_from_a_large_start_and_says_when_its_assumption_fails():
    report = rf.check("boursier2025sword.theorem2", run_three(1.0))
    assert verdicts(report) == ["violated", "violated"]
    section5 = rf.check("boursier2025sword.theorem2", run_three(-1000.0, _points.data()))
    assert not section5.applies and section5.claims[0].ok


def test_theorem_2_is_unfinished_on_a_run_that_has_not_converged():
    assert verdicts(rf.check("boursier2025sword.theorem2", run_three(-10.0, t1=1.0))) == ["unfinished"]


def test_one_teacher_neuron_is_learnt_with_rank_one_and_only_from_small_scale():
    data = _inputs.data(6, 9, 1)
    small = rf.check("chistikov2023.theorem", _inputs.end(data, 50, -20.0, 0, 1e-9))
    assert small.applies and verdicts(small) == ["holds", "consistent so far", "consistent so far"], str(small)
    other = rf.Data(data.x, data.y + 0.1 * np.arange(9))
    sol = rf.solve(rf.Problem(other, rf.init.balanced(50, 6, log_scale=-20.0)), t1=100.0)
    assert not rf.check("chistikov2023.theorem", sol).applies


def test_rank_one_is_refused_where_the_network_has_more():
    # Inputs on both sides of the origin: labels of a linear function need two neurons.
    x = np.vstack([np.eye(3), -np.eye(3)])
    sol = rf.solve(rf.Problem(rf.Data(x, x[:, 0]), rf.init.balanced(50, 3, log_scale=-20.0)))
    report = rf.check("chistikov2023.theorem", sol)
    assert not report.applies and verdicts(report)[2] == "violated", str(report)


def run_margin(data, log_scale, log_t1=200.0):
    init = rf.init.balanced(30, 5, log_scale=log_scale, seed=0)
    return rf.solve(rf.Problem(data, init, loss="logistic", activation=rf.LeakyReLU(0.3)), log_t1=log_t1)


def test_symmetric_data_lead_to_the_linear_classifier_and_other_data_do_not():
    half = _symmetric.half()
    report = rf.check("lyu2021.theorem", run_margin(_symmetric.mirrored(half), -30.0))
    assert report.applies and report.ok, str(report)
    alone = rf.check("lyu2021.theorem", run_margin(half, -30.0))
    assert not alone.applies and verdicts(alone)[2] == "violated"


def test_near_orthogonal_data_lead_to_rank_two_and_the_condition_is_measured():
    data, g = _orthogonal.inside()
    report = rf.check("frei2023.theorem", rf.solve(_orthogonal.problem(data, g, -20.0, 0.5), log_t1=100.0))
    assert report.applies and report.ok, str(report)
    small_slope = rf.check("frei2023.theorem", rf.solve(_orthogonal.problem(data, g, -20.0, 0.1), log_t1=100.0))
    assert not small_slope.applies


def test_rank_two_is_refused_early_from_a_large_start():
    data, g = _orthogonal.inside()
    report = rf.check("frei2023.theorem", rf.solve(_orthogonal.problem(data, g, 3.0, 0.5), t1=2.0))
    assert "violated" in verdicts(report)


@pytest.mark.parametrize("log_scale_a", [-1.0, -4.0, -1000.0])
def test_the_flow_conserves_the_difference_of_the_layers_and_large_steps_do_not(log_scale_a):
    init = rf.init.gaussian(20, 2, log_scale=-1.0, log_scale_a=log_scale_a, seed=0)
    problem = rf.Problem(rf.data.five_points(), init)
    assert rf.check("kunin2024.conserved", rf.solve(problem, t1=20.0)).ok
    if log_scale_a > -100:
        steps = rf.check("kunin2024.conserved", rf.solve(problem, rf.Descent(step=0.2), t1=20.0))
        assert verdicts(steps) == ["violated"]


def test_two_rates_are_one_flow_of_rescaled_weights():
    from reluflow_followups.kunin2024 import _rates

    init = rf.init.gaussian(10, 2, log_scale=-1.0, seed=2)
    problem = rf.Problem(rf.data.two_points(), init)
    flow = rf.solve(_rates.rescaled(problem, 4.0, 0.5), rf.Flow(rtol=1e-10), t1=1.0).outputs_at(1.0)
    gap = [np.max(np.abs(_rates.two_rates(problem, 4.0, 0.5, step, 1.0) - flow)) for step in (2e-3, 1e-3)]
    assert gap[1] < 0.6 * gap[0] < 1e-2
    wrong = rf.solve(_rates.rescaled(problem, 0.5, 4.0), rf.Flow(rtol=1e-10), t1=1.0).outputs_at(1.0)
    assert np.max(np.abs(wrong - flow)) > 10 * gap[0]


def test_neurons_are_quantised_from_a_tiny_scale_and_not_yet_after_a_short_time(monkeypatch):
    from reluflow_followups.maennel2018 import _line

    data = _line.data()
    problem = rf.Problem(data, rf.init.balanced(100, 2, log_scale=-1000.0, seed=0))
    whole = rf.solve(problem, t1=1500.0)
    assert rf.check("maennel2018.quantised", whole).ok
    short = rf.check("maennel2018.quantised", rf.solve(problem, t1=1.0))
    assert verdicts(short) == ["unfinished"]
    found = rf.bias.extremal(problem)
    crowded = max(found.directions, key=lambda d: len(d.neurons))
    fewer = SimpleNamespace(directions=[d for d in found.directions if d is not crowded])
    monkeypatch.setattr(rf.bias, "extremal", lambda problem: fewer)
    assert verdicts(rf.check("maennel2018.quantised", whole)) == ["violated"]


@pytest.mark.parametrize("log_scale", [-14.0, -40.0, -200.0, -20000.0])
def test_neurons_that_died_on_a_boundary_are_not_counted_as_alive_by_their_rounding(log_scale):
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=log_scale))
    report = rf.check("maennel2018.quantised", rf.solve(problem))
    assert verdicts(report) == ["unfinished" if log_scale == -14.0 else "consistent so far"]


def test_neurons_drawn_from_one_side_of_a_boundary_are_quantised_too_and_slow_ones_are_waited_for():
    # Orthogonal data: a neuron active on one point of its class stays so, at a saddle of G that attracts a quarter.
    data = rf.data.orthonormal(4, labels=[1.0, 1.5, -1.0, -0.6])
    report = rf.check("maennel2018.quantised", rf.solve(rf.Problem(data, rf.init.balanced(40, 4, log_scale=-200.0))))
    assert verdicts(report) == ["consistent so far"]
    # Two points a little closer than orthogonal: the second is met at a rate of a thousandth.
    slow = rf.Problem(rf.data.two_angles(delta=0.003), rf.init.balanced(60, 2, log_scale=-14.0), loss="exponential")
    assert verdicts(rf.check("maennel2018.quantised", rf.solve(slow, t1=650.0))) == ["unfinished"]


def test_the_error_over_gaussian_inputs_is_that_of_a_sample():
    from reluflow_followups.boursier2025threshold import _setting

    rng = np.random.default_rng(0)
    neurons, signs = rng.normal(size=(4, 3)), np.array([1.0, -1.0, 1.0, -1.0])
    x = rng.normal(size=(400_000, 3))
    sampled = np.mean((np.maximum(x @ neurons.T, 0.0) @ signs - x[:, 0]) ** 2)
    assert abs(_setting.excess(neurons, signs) / sampled - 1) < 0.02  # a few standard errors of 400,000 draws
    exact = _setting.excess(np.array([[1.0, 0, 0], [-1.0, 0, 0]]), np.array([1.0, -1.0]))
    assert abs(exact) < 1e-15


def test_the_hard_margin_is_that_of_the_cone_programme():
    from reluflow_followups._margin import hard_margin

    for seed in range(5):
        data = _symmetric.half(rng=seed)
        b = hard_margin(data)
        margin = np.min(data.y * (data.x @ b))
        assert abs(margin / rf.bias.max_margin(data, activation=rf.LeakyReLU(0.3)).linear - 1) < 1e-6


def test_a_switch_is_bracketed_from_both_sides_or_not_claimed():
    from reluflow_followups._bisect import switch

    assert abs(switch(-4.0, 1.0, lambda s: s < 0.3, 1e-6) - 0.3) < 1e-6
    assert np.isnan(switch(-4.0, 1.0, lambda s: True, 1e-6)) and np.isnan(switch(-4.0, 1.0, lambda s: s > 0.3, 1e-6))


@pytest.mark.parametrize("log_scale", [0.0, 2.0])
def test_late_weights_and_margins_are_the_closed_form_on_orthogonal_data(log_scale):
    rng = np.random.default_rng(3)
    data = rf.Data(np.diag(rng.uniform(0.7, 1.4, size=6)), np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0]))
    problem = _orthogonal.problem(data, rng.normal(size=(8, 6)), log_scale, 0.3)
    log_t = np.array([60.0, 200.0])
    sol = rf.solve(problem, rf.Flow(rtol=1e-10), log_t1=200.0)
    found, moments = _late.late(problem, log_t), sol.moments(log_t=log_t)
    assert found.settled.all()
    np.testing.assert_allclose(np.exp(moments.log_scale)[..., None] * moments.w, found.w, rtol=0, atol=1e-8)
    np.testing.assert_allclose(data.y * moments.outputs, found.margins, rtol=1e-10)
    before = _late.late(problem, np.array([0.0]))
    assert not before.settled.any()  # patterns of the start are still changing
