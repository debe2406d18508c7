"""`SteppedFlow`: against the exact engine, against descent, and what it says when it must not be used."""

import os
import time

import numpy as np
import pytest
from support.counted import Clock
from support.problems import random_balanced, random_unbalanced

import reluflow as rf
from reluflow.drive import stepped

RTOLS = (1e-3, 1e-4, 1e-5)


def steps(rtol):
    return rf.SteppedFlow(rtol=rtol)


def gap(found, exact):
    return float(np.max(np.abs(found - exact) / np.maximum(1.0, np.abs(exact))))


def errors(problem, t1, rtols=RTOLS):
    t = np.linspace(0.0, t1, 9)
    exact = rf.solve(problem, rf.Flow(rtol=1e-11), t1=t1).outputs_at(t)
    return np.array([gap(rf.solve(problem, steps(r), t1=t1).outputs_at(t), exact) for r in rtols])


def draws():
    # Crossings, none at all, slides (balanced 0, unbalanced 0), four losses, both layers and the first alone.
    for seed in (0, 1, 2, 3, 4, 6, 7):
        yield random_balanced(seed)
    for seed, train in ((0, "first"), (1, "both"), (3, "both"), (3, "first"), (4, "both"), (5, "both"), (5, "first")):
        yield random_unbalanced(seed, train)


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_the_error_falls_with_rtol_and_keeps_the_promise_on_random_problems(step):
    found = np.array([errors(*draw) for draw in list(draws())[::step]])
    assert np.all(found < 100 * np.array(RTOLS))
    assert np.all(found[:, -1] < found[:, 0])
    assert np.median(np.polyfit(np.log(RTOLS), np.log(found).T, 1)[0]) > 0.8


def test_crossings_are_part_of_the_estimate():
    # Twelve neurons, six data, many crossings: without the term for crossings the pair's own difference misses them.
    problems = [
        rf.Problem(rf.data.random_points(6, 3, seed=k), rf.init.balanced(12, 3, log_scale=-0.5, seed=k))
        for k in (1, 3, 4)
    ]
    with_kicks = max(errors(p, 3.0, (1e-3,))[0] for p in problems)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stepped, "KICK", 0.0)
        without = max(errors(p, 3.0, (1e-3,))[0] for p in problems)
    assert without > 3 * with_kicks


def test_a_kick_is_the_worst_case_over_where_in_the_step_a_crossing_lies():
    theta = np.linspace(0.0, 1.0, 10_001)[:-1]
    after = (stepped.NODES[:, None] > theta).T @ stepped.WEIGHTS
    assert np.max(np.abs(after - (1 - theta))) == pytest.approx(stepped.KICK, abs=theta[1])
    assert np.mean(after - (1 - theta)) == pytest.approx(0.0, abs=theta[1])


def test_smooth_steps_are_of_order_five():
    # One aligned neuron, no crossing: df/dt = 2 |x| f (y - f).
    problem = rf.Problem(rf.Data([[1.0]], [1.0]), rf.Params([[1.0]], [1.0], log_scale=-1.0))
    machine, counts, found = stepped.Machine(problem, 1e-3, 2.0), np.array([16, 32, 64]), []
    for count in counts:
        y, h = machine.y, 2.0 / count
        for k in range(count):
            y = machine.stages(k * h, y, machine._end(k * h, y), h)[0]
        found.append(machine.outputs(y)[0][0])
    exact = 1 / (1 + (np.exp(2.0) - 1) * np.exp(-4.0))
    assert np.polyfit(np.log(counts), np.log(np.abs(np.array(found) - exact)), 1)[0] == pytest.approx(-5.0, abs=0.5)


def test_a_sliding_neuron_chatters_within_the_tolerance():
    # Read off the ends of steps alone, chatter would go unseen: the stages on the other side turn the neuron back.
    problem, t1 = random_balanced(5)
    assert rf.solve(problem, t1=t1).stats.slides > 0
    rtols = np.array([1e-3, 1e-4])
    assert np.all(errors(problem, t1, rtols) < 10 * rtols)


def test_a_neuron_that_crosses_the_origin_goes_on():
    # |w| and a^2 + |w|^2 = 2 e^{2c}: |w| is not to be found from a, whose rounding is larger than |w|^2.
    data = rf.Data([[0.670803813700693], [0.7228996425338464], [-0.8087396526328904]], [1.0, 1.0, -1.0])
    init = rf.Params([[0.0011043055987168659], [0.0022358986393522283]], [-1.34462063, -0.13632325])
    problem = rf.Problem(data, init, reduction="sum")
    euler_w, euler_a, h = np.array(init.w)[:, 0], np.array(init.a), 1e-5
    for _ in range(50_000):
        u = np.outer(euler_w, data.x[:, 0])
        r = data.y - euler_a @ np.maximum(u, 0.0)
        D = ((u > 0.0) * r) @ data.x[:, 0]
        euler_w, euler_a = euler_w + h * euler_a * D, euler_a + h * euler_w * D
    expected = euler_a @ np.maximum(np.outer(euler_w, data.x[:, 0]), 0.0)
    for rtol in RTOLS:
        np.testing.assert_allclose(rf.solve(problem, steps(rtol), t1=0.5).outputs[-1], expected, atol=10 * rtol + 1e-5)


def test_rows_and_columns_of_zeros_change_nothing():
    problem, t1 = random_balanced(6)
    x, w = (np.array(v) for v in (problem.data.x, problem.init.w))
    where = [0, *range(2, x.shape[1] + 1)]
    wide, rows = np.zeros((len(x) + 1, x.shape[1] + 2)), np.zeros((len(w), x.shape[1] + 2))
    wide[:-1, where], rows[:, where] = x, w
    init = rf.Params(rows, problem.init.a, log_scale=problem.init.log_scale)
    same = dict(loss="square", reduction="sum", activation=problem.activation)
    plain = rf.solve(rf.Problem(problem.data, problem.init, **same), steps(1e-3), t1=t1)
    padded = rf.Problem(rf.Data(wide, np.append(problem.data.y, 1.0)), init, **same)
    sol = rf.solve(padded, steps(1e-3), t1=t1)
    t = np.linspace(0.0, t1, 5)
    np.testing.assert_allclose(sol.outputs_at(t)[:, :-1], plain.outputs_at(t), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sol.loss_at(t), plain.loss_at(t) + 0.5, rtol=1e-9)
    np.testing.assert_allclose(sol.at(t1).w[:, where], plain.at(t1).w, rtol=1e-9, atol=1e-12)
    # Weights on a column of zeros count in |w| and stay where they are.
    rows[:, 1] = 0.3
    with_perp = rf.Problem(padded.data, rf.Params(rows, problem.init.a, log_scale=problem.init.log_scale), **same)
    exact, found = rf.solve(with_perp, rf.Flow(1e-10), t1=t1), rf.solve(with_perp, steps(1e-5), t1=t1)
    assert gap(found.outputs_at(t), exact.outputs_at(t)) < 100 * 1e-5


def test_any_moment_is_replayed_by_the_steps_of_the_run():
    problem, t1 = random_balanced(5)
    full = rf.solve(problem, steps(1e-4), t1=t1)
    np.testing.assert_allclose(full.outputs_at(full.t), full.outputs, rtol=1e-13)
    thin = rf.solve(problem, steps(1e-4), t1=t1, save=rf.Save(frames=5))
    assert len(thin.t) <= 8 < len(full.t)
    t = np.random.default_rng(0).uniform(0.0, t1, 20)
    np.testing.assert_array_equal(thin.outputs_at(t), full.outputs_at(t))
    asked = rf.solve(problem, steps(1e-4), t1=t1, save=rf.Save(times=np.sort(t)))
    np.testing.assert_array_equal(asked.outputs, full.outputs_at(np.sort(t)))


def test_a_stepped_solution_answers_like_any_other():
    problem, t1 = random_balanced(1)
    sol, exact = rf.solve(problem, steps(1e-5), t1=t1), rf.solve(problem, t1=t1)
    assert sol.outcome is rf.Outcome.REACHED and len(sol.events) == 0
    assert sol.stats.events == sol.stats.unrecorded >= 1 and sol.stats.regimes == {"stepped": sol.stats.steps}
    assert sol.stats.energy_error < 1e-3
    np.testing.assert_allclose(sol.log_norm[-1], exact.log_norm[-1], atol=1e-3)
    np.testing.assert_array_equal(sol.sign[-1], exact.sign[-1])
    np.testing.assert_array_equal(sol.bits_at(0.0), exact.bits_at(0.0))
    np.testing.assert_array_equal(sol.bits_at(t1), exact.bits_at(t1))
    assert not sol.sliding_at(t1).any()
    assert sol.to_xarray().sizes["frame"] == len(sol.t)
    assert "not listed" in repr(sol)


def test_balance_and_signs_hold_to_the_last_bit():
    problem, t1 = random_balanced(4)
    sol = rf.solve(problem, steps(1e-3), t1=t1)
    np.testing.assert_array_equal(sol.a, np.broadcast_to(np.sign(problem.init.a), sol.a.shape))


def test_an_unbalanced_row_keeps_its_invariant():
    problem, t1 = random_unbalanced(5, "both")
    sol = rf.solve(problem, steps(1e-3), t1=t1)
    first, last = ((p.a**2 - np.sum(p.w**2, axis=1)) * np.exp(2 * p.log_scale) for p in (sol.at(0.0), sol.final))
    np.testing.assert_allclose(last, first, rtol=1e-10)


def test_stepping_is_never_chosen_silently(monkeypatch):
    problem = rf.Problem(rf.data.random_points(30, 4, seed=0), rf.init.balanced(5, 4, seed=0))
    monkeypatch.setattr("reluflow.drive.exact.EXACT_MOST", 29)
    with pytest.raises(ValueError, match=r"at most 29 data, got 30: .*rf.SteppedFlow"):
        rf.solve(problem, t1=1.0)
    assert rf.solve(problem, steps(1e-3), t1=1.0).outcome.success


def test_what_a_stepped_run_cannot_do_is_a_sentence():
    problem, _ = random_balanced(0)
    with pytest.raises(ValueError, match="`t1` must be given"):
        rf.solve(problem, steps(1e-3))
    with pytest.raises(ValueError, match="`events` must be one of 'exact', 'stepped'"):
        rf.Flow(events="steped")


def test_limits_progress_and_interruption(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", Clock())
    problem = rf.Problem(rf.data.random_points(40, 5, seed=0), rf.init.balanced(20, 5, log_scale=-2.0, seed=0))
    limited = rf.solve(problem, steps(1e-5), t1=50.0, limits=rf.Limits(steps=30), throw=False)
    assert limited.outcome is rf.Outcome.STEP_LIMIT and 0 < limited.t[-1] < 50.0
    with pytest.raises(rf.SolveError, match="time limit"):
        rf.solve(problem, steps(1e-5), t1=1e6, limits=rf.Limits(seconds=5.0))
    seen = []

    def stop(progress):
        seen.append(progress)
        if len(seen) == 20:
            raise KeyboardInterrupt

    sol = rf.solve(problem, steps(1e-5), t1=1e6, progress=stop)
    assert sol.outcome is rf.Outcome.INTERRUPTED and len(sol.t) > 1 and np.all(np.isfinite(sol.loss))
    assert 0 < seen[-1].fraction < 1 and seen[-1].steps > 0


@pytest.mark.skipif(not os.environ.get("RELUFLOW_DATA"), reason="MNIST is not here")
def test_a_draw_of_mnist_follows_the_curve_of_descent():
    # Centred zeros and ones, mean exponential loss. Descent errs like its step: halving it halves the difference.
    data = rf.data.mnist(pair=(0, 1), size=60, centre=True)
    init = rf.init.gaussian(10, data.d, log_scale=np.log(1e-2), seed=0)
    problem = rf.Problem(data, init, loss="exponential")
    t = np.linspace(0.1, 3.0, 16)
    flow = rf.solve(problem, steps(1e-4), t1=3.0)
    apart = [
        np.max(np.abs(rf.solve(problem, rf.Descent(step=h), t1=3.0).loss_at(t) - flow.loss_at(t))) for h in (8e-3, 4e-3)
    ]
    assert flow.loss[0] == pytest.approx(1.0, abs=0.1) and flow.loss[-1] < 0.5
    assert apart[1] < 0.05 and apart[0] / apart[1] == pytest.approx(2.0, abs=0.4)
