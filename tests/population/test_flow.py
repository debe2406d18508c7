"""The population flow against `rf.single`, closed forms, invariants and its own conserved quantities."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import reluflow as rf

TWO = rf.Params([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, 0.6])  # the handbook's orthogonal teachers
BEST_ONE = 0.0447027929  # loss of the best single neuron


def two_teachers(log_scale, width=10, seed=0):
    return rf.population.Problem(TWO, rf.init.balanced(width, 3, log_scale=log_scale, seed=seed))


def crossing(sol, level):
    """When the loss falls through `level`."""
    k = int(np.argmax(sol.loss < level))
    lo, hi = sol.t[k - 1], sol.t[k]
    for _ in range(4):
        grid = np.linspace(lo, hi, 33)
        values = sol.loss_at(grid)
        k = int(np.argmax(values < level))
        lo, hi = grid[k - 1], grid[k]
    return 0.5 * (lo + hi)


@pytest.mark.parametrize("log_norm, phi", [(-3.0, 1.5), (-10.0, 0.3), (-1000.0, 1.5), (0.5, 3.0)])
def test_one_student_and_one_teacher_are_the_single_neuron_of_depth_two(log_norm, phi):
    theta = np.pi - phi
    times = np.linspace(0.3, 1.0, 4) * (2.2 * abs(log_norm) + 20)
    single = rf.single.solve(rf.single.Problem(m=1, phi=phi, log_norm=log_norm), rf.Flow(1e-12), t1=float(times[-1]))
    student = rf.Params([[np.cos(theta), np.sin(theta)]], [1.0], log_scale=log_norm)
    problem = rf.population.Problem(rf.Params([[1.0, 0.0]], [1.0]), student)
    sol = rf.population.solve(problem, rf.Flow(1e-12), t1=float(times[-1]))
    for t, params in zip(times, sol.at(times)):
        there = single.at(float(t))
        log_length = params.log_scales[0][0] + np.log(np.linalg.norm(params.w[0]))
        # log norms of -1000 and times of 2000 are themselves right to 2e-13 and rates times them to 1e-11
        assert log_length == pytest.approx(float(np.ravel(there.log_norm)[0]), abs=1e-10)
        angle = np.arctan2(params.w[0, 1], params.w[0, 0])
        assert angle == pytest.approx(np.pi - float(np.ravel(there.phi)[0]), abs=1e-10)


def test_two_teachers_are_learned_one_saddle_after_the_other_at_the_times_of_the_formula():
    # b = (1, .6): growth after |log scale|/h, exit from the saddle after (1 + mu/lambda)|log scale|/h (handbook).
    theta = brentq(lambda th: (np.pi - th) * np.sin(th) - 0.6 * (np.pi / 2 + th) * np.cos(th), 0.1, 1.0)
    kappa = lambda th: (np.sin(th) + (np.pi - th) * np.cos(th)) / (2 * np.pi)
    h = kappa(theta) + 0.6 * kappa(np.pi / 2 - theta)
    lam = (np.sin(theta) + 0.6 * np.cos(theta)) / np.pi
    assert (theta, h, 1 / h) == pytest.approx((0.410559, 0.625132, 1.59966), abs=1e-6 * np.array([1, 1, 5]).max())
    assert (1 + (h - lam) / lam) / h == pytest.approx(1 / lam)
    grown, left = [], []
    for log_scale in (-1000.0, -3000.0):
        sol = rf.population.solve(two_teachers(log_scale), rf.Flow(1e-8), t1=-3.31 * log_scale + 200)
        assert np.min(np.abs(sol.loss - BEST_ONE)) < 1e-9
        grown.append(crossing(sol, 0.24))
        left.append(crossing(sol, 0.5 * BEST_ONE))
    # Differences leave only the rates, up to the 1e-5 to which the crossings are located.
    assert (grown[1] - grown[0]) / 2000 == pytest.approx(1 / h, abs=1e-8)
    assert (left[1] - left[0]) / 2000 == pytest.approx(1 / lam, abs=1e-8)


def test_cost_does_not_grow_with_the_logarithm_of_the_scale():
    cost = []
    for log_scale in (-100.0, -1000.0, -100_000.0):
        sol = rf.population.solve(two_teachers(log_scale), rf.Flow(1e-8), t1=-3.30948 * log_scale + 200)
        assert sol.loss[-1] < 1e-4  # past both saddles
        cost.append(sol.stats.steps)
    assert max(cost) < 1.3 * min(cost)


@pytest.mark.parametrize("slope, train", [(0.0, "both"), (0.2, "both"), (0.0, "first")])
def test_the_loss_falls_by_the_integral_of_the_squared_gradient(slope, train):
    rng = np.random.default_rng(4)
    teacher = rf.Params(rng.normal(size=(3, 4)), rng.normal(size=3))
    init = rf.init.gaussian(6, 4, log_scale=-1.0, seed=2)
    sol = rf.population.solve(rf.population.Problem(teacher, init, slope=slope, train=train), rf.Flow(1e-9), t1=20.0)
    assert sol.stats.energy_error < 1e-8
    assert np.all(np.diff(sol.loss) <= 1e-15 * sol.loss[0])
    if train == "both":
        delta = np.exp(2 * sol.log_output) - np.exp(2 * sol.log_norm)
        np.testing.assert_allclose(delta, np.broadcast_to(delta[0], delta.shape), atol=1e-8)


def test_rotating_everything_changes_nothing():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    v, w = rng.normal(size=(2, 4)), rng.normal(size=(5, 4))
    a, b = np.linalg.norm(w, axis=1) * [1, 1, -1, 1, -1], [1.0, -0.7]
    sols = [
        rf.population.solve(rf.population.Problem(rf.Params(v @ r, b), rf.Params(w @ r, a, log_scale=-3.0)), t1=30.0)
        for r in (np.eye(4), turn)
    ]
    assert sols[0].loss[-1] == pytest.approx(sols[1].loss[-1], rel=1e-7)
    np.testing.assert_allclose(sols[0].final.w @ turn, sols[1].final.w, atol=1e-6)


def test_order_parameters_alone_give_the_run_of_a_hundred_dimensions():
    rng = np.random.default_rng(3)
    v, w = rng.normal(size=(2, 100)) / 10, rng.normal(size=(3, 100)) / 10
    a, b = np.array([0.5, 0.4, -0.3]), np.array([1.0, 0.6])
    whole = rf.population.solve(rf.population.Problem(rf.Params(v, b), rf.Params(w, a)), t1=15.0)
    few = rf.population.solve(rf.population.from_overlaps(w @ w.T, w @ v.T, v @ v.T, a, b), t1=15.0)
    assert few.problem.dim == 5
    for x, y in zip(whole.overlaps, few.overlaps):
        np.testing.assert_allclose(x[-1], y[-1], atol=1e-7)


def test_units_of_teacher_and_inputs_change_times_and_losses_alone():
    rng = np.random.default_rng(8)
    v, w = rng.normal(size=(2, 3)), rng.normal(size=(4, 3))
    a = np.linalg.norm(w, axis=1)
    plain = rf.population.Problem(rf.Params(v, [1.0, -0.5]), rf.Params(w, a, log_scale=-5.0))
    large = rf.population.Problem(rf.Params(v, [1e6, -5e5]), rf.Params(w, a, log_scale=-5.0 + 0.5 * np.log(1e6)))
    wide = rf.population.Problem(plain.teacher, plain.init, law=rf.single.Gaussian(std=2.0))
    one, two, three = (rf.population.solve(p, t1=t) for p, t in ((plain, 30.0), (large, 30.0e-6), (wide, 30.0 / 4.0)))
    assert two.loss[-1] == pytest.approx(1e12 * one.loss[-1], rel=1e-9)
    assert three.loss[-1] == pytest.approx(4.0 * one.loss[-1], rel=1e-9)
    assert one.stats.steps == two.stats.steps == three.stats.steps


def test_copies_never_part_and_a_neuron_at_0_stays_there():
    w = np.array([[1.0, 0.2], [1.0, 0.2], [0.0, 0.0]])
    init = rf.Params(w, [np.hypot(1, 0.2)] * 2 + [0.7], log_scale=-30.0)
    sol = rf.population.solve(rf.population.Problem(rf.Params(np.eye(2), [1.0, 0.6]), init), t1=300.0)
    np.testing.assert_array_equal(sol.final.w[0], sol.final.w[1])
    assert np.all(sol.log_gap(0, 1) == -np.inf)
    assert np.all(sol.final.w[2] == 0.0)
    assert sol.final.arrays()[1][2] == pytest.approx(0.7 * np.exp(-30.0))
    assert sol.loss[-1] == pytest.approx(BEST_ONE, abs=1e-9)  # two copies are one neuron, at the best single one


def test_a_negative_neuron_turns_away_from_one_teacher_as_1_over_t_and_its_norm_freezes():
    # phi = pi - theta obeys phi' -> phi^2/(2 pi) backwards: phi t/(2 pi) -> 1 (handbook: .998215, .999880, .999989).
    init = rf.Params([[np.cos(1.0), np.sin(1.0)]], [-1.0], log_scale=-20.0)
    sol = rf.population.solve(rf.population.Problem(rf.Params([[1.0, 0.0]], [1.0]), init), rf.Flow(1e-10), t1=1e4)
    times = np.array([1e2, 1e3, 1e4])
    phi = np.array([np.arctan2(p.w[0, 1], -p.w[0, 0]) for p in sol.at(times)])
    np.testing.assert_allclose(phi * times / (2 * np.pi), [0.998215, 0.999880, 0.999989], atol=2e-6)
    assert sol.log_norm[-1, 0] == pytest.approx(-20.934154, abs=2e-6)
    assert sol.stats.steps < 300  # a late time costs its logarithm


@pytest.mark.parametrize("theta", [0.0, np.pi])
def test_a_student_along_the_teacher_or_against_it_stays_on_that_line(theta):
    init = rf.Params([[np.cos(theta), 0.0]], [1.0], log_scale=-50.0)
    sol = rf.population.solve(rf.population.Problem(rf.Params([[2.0, 0.0]], [1.5]), init))
    assert sol.outcome is rf.Outcome.STATIONARY
    assert np.all(sol.final.w[:, 1] == 0.0)
    if theta == 0.0:  # logistic growth to |w||a| = 3, until the loss is (10 rtol)^2 of the first
        assert sol.final.arrays()[0][0, 0] ** 2 == pytest.approx(3.0, rel=1.1e-7)
    else:  # the pull is exactly 0
        assert sol.loss[-1] == pytest.approx(9.0 / 4.0) and sol.log_norm[-1, 0] == pytest.approx(-50.0)


def test_descent_tends_to_the_flow_at_first_order_and_equals_a_plain_loop():
    rng = np.random.default_rng(1)
    v, w = rng.normal(size=(2, 3)), 0.5 * rng.normal(size=(4, 3))
    b, a = np.array([1.0, -0.5]), 0.5 * rng.normal(size=4)
    problem = rf.population.Problem(rf.Params(v, b), rf.Params(w, a))
    flow = rf.population.solve(problem, rf.Flow(1e-10), t1=4.0).final.arrays()[0]
    errors = []
    for step in (0.02, 0.01, 0.005):
        sol = rf.population.solve(problem, rf.Descent(step), t1=4.0)
        errors.append(np.max(np.abs(sol.final.arrays()[0] - flow)))
    assert [errors[0] / errors[1], errors[1] / errors[2]] == pytest.approx([2.0, 2.0], abs=0.1)
    for _ in range(800):
        gw, ga = problem.gradient(rf.Params(w, a))
        w, a = w - 0.005 * gw, a - 0.005 * ga
    np.testing.assert_allclose(sol.final.arrays()[0], w, atol=1e-12)
    half = rf.population.solve(problem, rf.Descent(0.005), t1=2.0)
    np.testing.assert_allclose(sol.at(2.0).arrays()[0], half.final.arrays()[0], atol=1e-13)


def test_any_moment_is_the_same_however_it_is_asked_for():
    problem = two_teachers(-300.0)
    sol = rf.population.solve(problem, t1=1200.0)
    times = (100.0, 480.0, 500.0, 900.0, 1000.0)
    asked = rf.population.solve(problem, t1=1200.0, save=rf.Save(times=times))
    np.testing.assert_allclose(asked.t, times, rtol=1e-14)
    np.testing.assert_allclose(asked.loss, sol.loss_at(np.array(times)), rtol=1e-6)
    short = rf.population.solve(problem, t1=900.0)
    assert short.loss[-1] == pytest.approx(sol.loss_at(900.0), rel=1e-6)


def through_zero(bs):
    """w' = a s (b_s - a|w|)/2, a' = w s (b_s - a|w|)/2 with s the sign of w: one input dimension, by scipy."""
    side = lambda s, b: lambda t, y: [k * s * (b - y[1] * abs(y[0])) / 2 for k in (y[1], y[0])]
    at_zero = lambda t, y: y[0]
    at_zero.terminal, at_zero.direction = True, -1
    first = solve_ivp(side(1.0, bs[0]), (0, 6), [0.1, -1.0], events=at_zero, rtol=1e-12, atol=1e-14)
    return solve_ivp(side(-1.0, bs[1]), (first.t[-1], 6), first.y[:, -1], rtol=1e-12, atol=1e-14).y[:, -1]


def test_an_unbalanced_neuron_goes_through_zero_where_the_other_side_pulls_it_on():
    # Teacher x = s(x) - s(-x): w is pulled from .1 to below 0. The contact is quadratic in b: right to sqrt(rtol).
    problem = rf.population.Problem(rf.Params([[1.0], [-1.0]], [1.0, -1.0]), rf.Params([[0.1]], [-1.0]))
    w, a = rf.population.solve(problem, rf.Flow(1e-10), t1=6.0).final.arrays()
    np.testing.assert_allclose([w[0, 0], a[0]], through_zero([1.0, -1.0]), atol=1e-4)


@pytest.mark.parametrize("dim", [1, 3])
def test_an_unbalanced_neuron_stays_at_zero_where_every_direction_pulls_it_back(dim):
    # A negative neuron and one positive teacher: w shrinks in finite time, a keeps the value it has there.
    w = np.array([[0.1, 0.05, 0.0]])[:, :dim]
    problem = rf.population.Problem(rf.Params(np.eye(3)[:1, :dim], [1.0]), rf.Params(w, [-1.0]))
    sol = rf.population.solve(problem, rf.Flow(1e-10), t1=50.0)
    left, a = sol.final.arrays()
    if dim == 1:
        assert np.all(left == 0.0)
    assert np.linalg.norm(left) < 0.2 * np.linalg.norm(w)
    assert a[0] ** 2 - np.sum(left**2) == pytest.approx(1.0 - np.sum(w**2), abs=1e-8)
