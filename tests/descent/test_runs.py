"""What a descent keeps, says, refuses, and how it ends."""

import time

import numpy as np
import pytest
from support.counted import Clock

import reluflow as rf
from reluflow.drive.descent import Orders


def problem(log_scale=-4.0, width=12, seed=0, loss="square"):
    return rf.Problem(rf.data.five_points(), rf.init.balanced(width, 2, log_scale=log_scale, seed=seed), loss=loss)


def stochastic():
    rng = np.random.default_rng(0)
    data = rf.Data(rng.normal(size=(7, 3)), rng.choice([-1.0, 1.0], 7))
    return rf.Problem(data, rf.init.balanced(9, 3, log_scale=-2.0, seed=1), loss="logistic")


@pytest.mark.parametrize("method", [rf.Descent(0.02), rf.Descent(0.02, batch=2, seed=3)])
def test_any_moment_is_replayed_bit_for_bit(method):
    p = problem() if method.batch is None else stochastic()
    every = rf.solve(p, method, t1=40.0, save=rf.Save(frames=3000))
    assert len(every.t) == 2001
    few = rf.solve(p, method, t1=40.0, save=rf.Save(frames=9))
    assert len(few.t) <= 9
    k = np.array([1000, 3, 1999, 17, 3, 0, 2000])
    t = k * 0.02
    for name in ("w", "a", "log_scale"):
        found = np.array([getattr(p, name) for p in few.at(t)])
        assert np.array_equal(found, getattr(every, name)[k])
    assert np.array_equal(few.loss_at(t), every.loss[k])
    assert np.array_equal(few.bits_at(t), every.bits_at(t))
    # Between two iterations the earlier one is shown.
    assert few.loss_at(0.02 * 17.9) == every.loss[17]


def test_initial_bits_and_events_give_the_bits_at_any_time():
    sol = rf.solve(problem(), rf.Descent(0.02), t1=40.0)
    assert sol.stats.unrecorded == 0 and len(sol.events["on"]) > 0
    for t in (0.0, 0.3, 7.77, 21.0, 40.0):
        bits = sol.initial_bits.copy()
        for k in np.flatnonzero(sol.events.t <= t * (1 + 1e-12)):
            if sol.events.datum[k] >= 0:
                bits[sol.events.neuron[k], sol.events.datum[k]] = sol.events.kind[k] == "on"
        assert np.array_equal(bits, sol.bits_at(t))


def test_signs_and_deaths_are_events():
    sol = rf.solve(problem(log_scale=np.log(1e-4 / np.sqrt(60)), width=60), rf.Descent(2e-3), t1=120.0)
    turned = sol.events["sign"]
    start, end = np.sign(sol.a[0]), np.sign(sol.a[-1])
    odd = np.bincount(turned.neuron, minlength=60) % 2 == 1
    assert np.any(odd) and np.array_equal(start != end, odd)
    dead = sol.events["dead"]
    assert len(np.unique(dead.neuron)) == len(dead) > 0
    assert np.all(sol.bits_at(120.0)[dead.neuron] == 0)
    # A dead neuron never moves again.
    for j, t in zip(dead.neuron, dead.t):
        assert np.array_equal(sol.at(t).w[j], sol.at(120.0).w[j])


def test_memory_does_not_depend_on_the_number_of_iterations():
    small, large = (
        rf.solve(
            problem(), rf.Descent(step), t1=30.0, save=rf.Save(frames=50, memory="1 MiB"), limits=rf.Limits(events=100)
        )
        for step in (1e-2, 1e-4)
    )
    kept = [sum(a.nbytes for a in sol.recording.checkpoints) + sol.events.t.nbytes for sol in (small, large)]
    assert large.stats.steps == 300_000 and kept[1] <= 1.1 * kept[0]
    assert large.stats.unrecorded == large.stats.events - len(large.events) > 0
    assert "not listed" in repr(large)


def test_only_the_times_asked_for_are_saved():
    times = (0.0, 1.0, 12.345, 30.0)
    sol = rf.solve(problem(), rf.Descent(1e-2), t1=30.0, save=rf.Save(times=times))
    np.testing.assert_allclose(sol.t, [0.0, 1.0, 12.34, 30.0], rtol=1e-12)
    assert np.array_equal(sol.loss, sol.loss_at(np.array(times)))


def test_a_run_without_end_time_goes_on_until_nothing_moves():
    sol = rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(20, 2, log_scale=-3.0, seed=0)), rf.Descent(0.05))
    assert sol.outcome is rf.Outcome.STATIONARY and sol.loss[-1] < 1e-28
    assert sol.loss_at(1e9) == sol.loss[-1]


def test_a_step_too_large_is_an_outcome():
    with pytest.raises(rf.SolveError, match="smaller `step`"):
        rf.solve(problem(log_scale=1.0), rf.Descent(5.0), t1=1000.0)
    sol = rf.solve(problem(log_scale=1.0), rf.Descent(5.0), t1=1000.0, throw=False)
    assert sol.outcome is rf.Outcome.NOT_FINITE and np.all(np.isfinite(sol.w))


def test_a_loss_beyond_float64_is_shown_by_its_logarithm():
    init = rf.init.balanced(30, 2, log_scale=-2.0)
    steep = rf.Problem(rf.data.toy_plane(), init, loss="exponential", reduction="sum")
    sol = rf.solve(steep, rf.Descent(5.0), t1=100.0, throw=False)
    assert sol.log_loss[-1] > 710.0 and f"loss e^{sol.log_loss[-1]:.6g}" in repr(sol)


def test_limits_hold(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", Clock())
    with pytest.raises(rf.SolveError, match="step limit") as caught:
        rf.solve(problem(), rf.Descent(1e-3), t1=1e4, limits=rf.Limits(steps=5000))
    assert abs(caught.value.solution.stats.steps - 5000) <= 1
    with pytest.raises(rf.SolveError, match="time limit"):
        rf.solve(problem(), rf.Descent(1e-6, fast_forward=False), t1=1e4, limits=rf.Limits(seconds=2.0))


def test_progress_is_told_and_an_interrupt_keeps_what_there_is(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", Clock())
    told = []

    def stop(progress):
        told.append(progress)
        if len(told) == 2:
            raise KeyboardInterrupt

    sol = rf.solve(problem(), rf.Descent(1e-6), t1=100.0, progress=stop)
    assert sol.outcome is rf.Outcome.INTERRUPTED
    assert 0 < told[0].fraction < told[1].fraction < 1
    assert sol.t[-1] == pytest.approx(sol.stats.steps * 1e-6) and sol.stats.steps >= told[1].steps


def test_epoch_orders_can_be_had_from_any_epoch():
    n = 40_000  # one epoch a block
    orders = Orders(n, seed=9)
    rng = np.random.default_rng([9, 2])
    truth = [rng.permuted(np.arange(n)) for _ in range(4)]
    for epoch in (3, 0, 2, 1):
        first, order = orders.block(epoch)
        assert first == epoch and np.array_equal(order, truth[epoch])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: rf.Descent(0.0), "`step` must be positive"),
        (lambda: rf.Descent(0.1, batch=0), "`batch` must be a whole number >= 1"),
        (lambda: rf.Descent(0.1, dtype="float16"), "`dtype` must be one of"),
        (lambda: rf.solve(problem(), rf.Descent(1.0), t1=0.5), "at least one step"),
        (lambda: rf.solve(problem(), rf.Descent(0.1, batch=2)), "must be given for mini-batches"),
        (lambda: rf.solve(problem(), rf.Descent(0.1), log_t1=100.0), "counted in whole numbers"),
        (lambda: rf.solve(problem(), "descent", t1=1.0), "rf.Flow"),
    ],
)
def test_misuse_is_one_sentence(make, text):
    with pytest.raises((ValueError, TypeError), match=text):
        make()


def test_the_energy_identity_holds_to_first_order_in_the_step():
    p = rf.Problem(rf.data.two_points(), rf.init.balanced(20, 2, log_scale=-5.0, seed=0))
    errors = [rf.solve(p, rf.Descent(h), t1=30.0).stats.energy_error for h in (1e-2, 5e-3)]
    assert 1.5 < errors[0] / errors[1] < 3 and errors[0] < 1e-3


def test_one_signature_for_each_kernel():
    from reluflow.engine import descent as kd
    from reluflow.engine import fast_forward as kf

    rf.solve(problem(), rf.Descent(0.02), t1=1.0)
    rf.solve(stochastic(), rf.Descent(0.02, batch=2), t1=1.0)
    rf.solve(problem(), rf.Descent(0.02, fast_forward=False), t1=1.0)
    assert len(kd.burst.signatures) == 1 and len(kd.burst32.signatures) <= 1 and len(kf.forward.signatures) == 1
