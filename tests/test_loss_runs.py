"""Every row of the table of losses, run: flow, windows, stepped flow, descent, fast-forward, JAX, the reference."""

import numpy as np
import pytest
from support import euler, textbook

import reluflow as rf
from reluflow.drive import exact
from reluflow.losses import LOSSES

RTOL = 1e-8
PROMISE = 100 * RTOL
every_loss = pytest.mark.parametrize("loss", LOSSES)


def problem_of(loss, seed=1, log_scale=-1.0, n=6, d=4, width=10, **more):
    """A balanced problem in which neurons cross data and, where labels are signs, margins pass 1."""
    rng = np.random.default_rng([seed, 77])
    x, y = rng.normal(size=(n, d)), rng.normal(size=n)
    data = rf.Data(x, y if LOSSES[loss].labels == "numbers" else np.where(y > 0, 1.0, -1.0))
    return rf.Problem(data, rf.init.balanced(width, d, log_scale=log_scale, seed=seed), loss=loss, **more)


def gap(found, expected):
    return float(np.max(np.abs(found - expected) / np.maximum(1.0, np.abs(expected))))


@every_loss
def test_the_flow_keeps_its_promise_and_its_energy_and_agrees_with_euler(loss):
    problem, t1 = problem_of(loss), 10.0
    t = np.linspace(0.0, t1, 9)
    sol = rf.solve(problem, rf.Flow(rtol=RTOL), t1=t1)
    close = rf.solve(problem, rf.Flow(rtol=1e-11), t1=t1)
    assert gap(sol.outputs_at(t), close.outputs_at(t)) <= PROMISE
    assert np.max(np.diff(sol.loss)) <= PROMISE * sol.loss[0]
    assert sol.stats.energy_error <= PROMISE and len(sol.events) > 5
    expected, spread = euler.reference(problem, t1, 8000)
    assert spread < 0.01
    assert np.all(np.abs(sol.outputs_at(t) - expected) <= spread + PROMISE * np.maximum(1.0, np.abs(expected)))


@every_loss
def test_windows_and_steps_agree(loss, monkeypatch):
    problem, t1, rtol = problem_of(loss), 10.0, 1e-7
    monkeypatch.setattr(exact, "REGIME", "windows")
    windows = rf.solve(problem, rf.Flow(rtol=rtol), t1=t1)
    monkeypatch.setattr(exact, "REGIME", "coupled")
    steps = rf.solve(problem, rf.Flow(rtol=1e-9), t1=t1)
    assert windows.stats.regimes["windows"] > 0
    t = np.linspace(0.0, t1, 9)
    assert gap(windows.outputs_at(t), steps.outputs_at(t)) <= 100 * rtol
    assert windows.stats.energy_error <= 100 * rtol


@every_loss
def test_the_stepped_flow_agrees_with_the_exact_one(loss):
    problem, t1, rtol = problem_of(loss), 10.0, 1e-4
    stepped = rf.solve(problem, rf.SteppedFlow(rtol=rtol), t1=t1)
    t = np.linspace(0.0, t1, 9)
    assert gap(stepped.outputs_at(t), rf.solve(problem, rf.Flow(rtol=1e-10), t1=t1).outputs_at(t)) <= 100 * rtol
    np.testing.assert_allclose(
        stepped.loss_at(t), np.exp(LOSSES[loss].log_total(problem.data.y, stepped.outputs_at(t), problem.weight))
    )


@every_loss
@pytest.mark.parametrize("train", ["both", "first"])
def test_descent_is_the_textbook_loop(loss, train):
    problem, step, iterations = problem_of(loss, train=train, reduction="sum"), 0.01, 400
    w, a = textbook.descend(problem, step, iterations)
    for ahead in (False, True):
        sol = rf.solve(problem, rf.Descent(step, fast_forward=ahead), t1=step * iterations)
        found = sol.at(sol.t[-1]).arrays()
        size = max(np.max(np.abs(w)), np.max(np.abs(a)))
        # Stepping to rounding; a leap is allowed 1e-13 of each neuron, and training magnifies it.
        assert max(np.max(np.abs(found[0] - w)), np.max(np.abs(found[1] - a))) < (1e-10 if ahead else 1e-13) * size


@every_loss
def test_descent_from_a_small_scale_jumps_and_leaps_to_the_iterates_of_stepping(loss):
    # Three neurons that stay on both data and grow: no rounding is magnified.
    y = [1.0, 0.7] if LOSSES[loss].labels == "numbers" else [1.0, 1.0]
    w = np.array([[0.9, 0.2], [0.3, 0.8], [0.5, 0.6]])
    init = rf.Params(w, np.linalg.norm(w, axis=1), log_scale=-40.0)
    problem, step, t1 = rf.Problem(rf.Data([[1.0, 0.1], [0.2, 0.8]], y), init, loss=loss), 0.01, 150.0
    forward, stepped = (rf.solve(problem, rf.Descent(step, fast_forward=how), t1=t1) for how in (True, False))
    assert forward.stats.regimes["jumped"] > 0 and forward.stats.regimes["leapt"] > 0
    t = np.linspace(0.0, t1, 9)
    assert gap(forward.outputs_at(t), stepped.outputs_at(t)) < 1e-10
    # The energy identity of descent holds to first order in the step.
    assert forward.stats.energy_error < 100 * step


@every_loss
def test_many_runs_at_once_are_the_descent_of_solve(loss):
    pytest.importorskip("jax")
    problem, method = problem_of(loss), rf.Descent(0.02, fast_forward=False)
    many = rf.solve_many([problem], method, t1=4.0, device="cpu")
    one = rf.solve(problem, method, t1=4.0)
    np.testing.assert_allclose(many[0].outputs_at(4.0), one.outputs_at(4.0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(many.log_loss[0, -1], one.log_loss[-1], rtol=0, atol=1e-11)


@every_loss
def test_the_flow_agrees_with_the_reference_which_has_formulas_of_its_own(loss):
    pytest.importorskip("flint")
    from reluflow import reference
    from reluflow.reference.network import KNOWN

    problem = problem_of(loss, n=3, d=2, width=3)
    if loss not in KNOWN:
        with pytest.raises(ValueError, match="The reference has its own formulas"):
            reference.flow(problem, [1.0])
        return
    judged = reference.flow(problem, [1.0, 2.0])
    found = rf.solve(problem, rf.Flow(rtol=RTOL), t1=2.0).outputs_at([1.0, 2.0])
    assert gap(found, judged.outputs()) <= PROMISE


@every_loss
def test_observed_rates_and_the_landscape_know_the_loss(loss):
    problem = problem_of(loss)
    sol = rf.solve(problem, rf.Flow(rtol=RTOL), t1=1.0)
    # d L/dt = -|grad L|^2, by differences of the loss.
    t, h = 0.5, 1e-4
    slope = (sol.loss_at(t + h) - sol.loss_at(t - h)) / (2 * h)
    assert -slope == pytest.approx(rf.bias.landscape(sol, t=t, samples=0).pl * sol.loss_at(t), rel=1e-5)


def test_hinge2_is_the_square_loss_until_a_margin_passes_1():
    hinge = problem_of("hinge2", log_scale=-3.0)
    square = rf.Problem(hinge.data, hinge.init, loss="square")
    run = rf.solve(hinge, rf.Flow(rtol=1e-10), t1=10.0)
    margins = run.outputs * hinge.data.y
    first = float(run.t[np.argmax(np.any(margins > 1.0, axis=1))])
    t = np.linspace(0.0, 1.0, 5) * first
    other = rf.solve(square, rf.Flow(rtol=1e-10), t1=10.0)
    assert 0.0 < first < 10.0
    assert gap(run.outputs_at(0.98 * t), other.outputs_at(0.98 * t)) < 1e-8
    assert gap(run.outputs_at(10.0), other.outputs_at(10.0)) > 1e-3


@pytest.mark.parametrize("method", [rf.Flow(rtol=1e-10), rf.SteppedFlow(rtol=1e-5)])
def test_hinge2_follows_the_closed_form_across_a_margin_of_1(method):
    # One neuron on two points of a line, x = 1 and 2: with r the output at 1, r' = r (3 - 5 r) until the margin 2 r of
    # the second passes 1, and r' = r (1 - r) from then on.
    start = rf.Params([[1.0]], [1.0], log_scale=-5.0)
    problem = rf.Problem(rf.Data([[1.0], [2.0]], [1.0, 1.0]), start, loss="hinge2")
    r0 = np.exp(-10.0)
    turn = (np.log(0.5 / (3 - 2.5)) - np.log(r0 / (3 - 5 * r0))) / 3
    sol = rf.solve(problem, method, t1=turn + 12.0)
    t = turn + np.linspace(-3.0, 12.0, 61)
    early = 3 / (5 + (3 / r0 - 5) * np.exp(-3 * np.minimum(t, turn)))
    late = 1 / (1 + np.exp(-(t - turn)))
    r = np.where(t < turn, early, late)
    np.testing.assert_allclose(sol.outputs_at(t), np.outer(r, [1.0, 2.0]), rtol=0, atol=100 * method.rtol)
    assert sol.stats.energy_error <= 100 * method.rtol


def test_hinge2_comes_to_rest_with_all_margins_at_least_1_and_needs_no_end_time():
    problem = problem_of("hinge2", n=4, d=4)
    for method in (rf.Flow(rtol=RTOL), rf.Descent(0.01)):
        sol = rf.solve(problem, method)
        assert sol.outcome is rf.Outcome.STATIONARY
        assert np.min(sol.outputs[-1] * problem.data.y) > 1.0 - PROMISE


def test_a_network_with_all_margins_above_1_is_at_rest_at_once():
    start = rf.Params([[3.0, 0.0], [0.0, 3.0]], [3.0, -3.0])
    problem = rf.Problem(rf.Data([[1.0, 0.1], [0.1, 1.0]], [1.0, -1.0]), start, loss="hinge2")
    for method in (rf.Flow(), rf.Descent(0.01)):
        sol = rf.solve(problem, method)
        assert sol.outcome is rf.Outcome.STATIONARY and sol.log_loss[-1] == -np.inf and sol.loss[0] == 0.0
        np.testing.assert_allclose(sol.at(sol.t[-1]).arrays()[0], start.w, rtol=1e-15)


def test_hinge2_is_never_given_to_the_implicit_step():
    from reluflow.drive.exact import Machine

    assert Machine(problem_of("square"), RTOL, 1.0).run.implicit == 1
    assert Machine(problem_of("hinge2"), RTOL, 1.0).run.implicit == 0
