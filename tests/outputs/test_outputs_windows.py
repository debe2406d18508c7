"""Stretches with several outputs: every neuron traced alone under a drive found by iteration, against closed forms and
steps of all neurons together."""

import numpy as np
import pytest
from scipy.linalg import expm
from tests.outputs.test_flow import KINDS, KNOWN, random_problem

import reluflow as rf
from reluflow.drive import driver_for, exact
from reluflow.drive import vector as drive
from reluflow.drive.recorder import Tape
from reluflow.engine.layout import COUPLED, WINDOWS

CASES = [
    (loss, slope, balanced) for loss in ("square", "softmax") for slope in (0.0, 0.3) for balanced in (True, False)
]


def draw(seed, loss="square", slope=0.0, balanced=True, size=(6, 4, 10, 3), log_scale=-1.0):
    """Two rows of the data are on one line, on both sides of the origin."""
    n, d, width, k = size
    rng = np.random.default_rng([seed, 77])
    x = rng.normal(size=(n, d)) / np.sqrt(d)
    x[1] = -2.0 * x[0]
    y = rng.normal(size=(n, k)) if loss == "square" else rng.integers(0, k, n)
    make = rf.init.balanced if balanced else rf.init.gaussian
    init = make(width, d, log_scale=log_scale, outputs=k, seed=seed)
    return rf.Problem(rf.Data(x, y), init, loss=loss, activation=rf.LeakyReLU(slope))


def both(problem, t1, rtol, monkeypatch):
    """The run by steps of all neurons, a thousand times as careful, and the run by stretches."""
    monkeypatch.setattr(exact, "REGIME", "coupled")
    steps = rf.solve(problem, rf.Flow(rtol=max(1e-12, rtol / 1000)), t1=t1)
    monkeypatch.setattr(exact, "REGIME", "windows")
    stretches = rf.solve(problem, rf.Flow(rtol=rtol), t1=t1)
    assert steps.stats.regimes["windows"] == 0 < stretches.stats.regimes["windows"]
    return steps, stretches


def listed(sol):
    return sorted(zip(sol.events.neuron.tolist(), sol.events.datum.tolist(), sol.events.code.tolist(), strict=True))


def agree(steps, stretches, t1, rtol):
    """The promise, away from bifurcations: the same events, outputs to 100 rtol."""
    t = np.linspace(0.0, t1, 9)[1:]
    f = steps.outputs_at(t)
    assert np.max(np.abs(f - stretches.outputs_at(t)) / np.maximum(1.0, np.abs(f))) < 100 * rtol
    assert listed(steps) == listed(stretches)
    assert stretches.stats.energy_error < 100 * rtol


@pytest.mark.parametrize("case", KNOWN)
def test_stretches_have_the_losses_and_events_of_an_independent_integrator(case, monkeypatch):
    monkeypatch.setattr(exact, "REGIME", "windows")
    sol = rf.solve(random_problem(*case), rf.Flow(rtol=1e-10), t1=10.0)
    assert sol.stats.regimes["coupled"] == 0
    loss, events = KNOWN[case]
    assert sol.loss[-1] == pytest.approx(loss, abs=1e-9)
    held = np.isin(sol.events.kind, KINDS)
    columns = (sol.events.t[held], sol.events.kind[held], sol.events.neuron[held], sol.events.datum[held])
    for (t, *what), (t0, *what0) in zip(zip(*columns, strict=True), events, strict=False):
        # 100 rtol t1: the force that holds a neuron falls slowly, and its error over that is the error of the release.
        assert what == what0 and t == pytest.approx(t0, abs=1e-7)


def test_a_small_neuron_follows_the_exponential_of_its_matrix(monkeypatch):
    # All bits on and outputs of 1e-11: (w, a) = expm(t [[0, M'], [M, 0]]) (w, a) with M = sum_i y_i x_i' / n.
    monkeypatch.setattr(exact, "REGIME", "windows")
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 1.5, size=(4, 3)), rng.uniform(0.5, 1.5, size=(4, 2))
    w, a = np.array([[1.0, 0.5, 0.7]]), np.array([[1.2, 0.2]])
    sol = rf.solve(rf.Problem(rf.Data(x, y), rf.Params(w, a, log_scale=-13.0)), rf.Flow(rtol=1e-9), t1=0.5)
    assert sol.stats.regimes["windows"] > 0 and len(sol.events) == 0
    M = y.T @ x / 4
    flow = expm(0.5 * np.block([[np.zeros((3, 3)), M.T], [M, np.zeros((2, 2))]])) @ np.r_[w[0], a[0]]
    end = sol.at(0.5)
    found = np.exp(end.log_scale[0] + 13.0) * np.r_[end.w[0], end.a[0]]
    np.testing.assert_allclose(found, flow, rtol=1e-9)


@pytest.mark.parametrize("loss, slope, balanced", CASES)
def test_stretches_and_steps_agree(loss, slope, balanced, monkeypatch):
    agree(*both(draw(1, loss, slope, balanced), 10.0, 1e-7, monkeypatch), 10.0, 1e-7)


def test_a_tighter_tolerance_gives_a_smaller_error(monkeypatch):
    problem, t = draw(3), np.linspace(0.0, 10.0, 6)[1:]
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8):
        steps, stretches = both(problem, 10.0, rtol, monkeypatch)
        errors.append(np.max(np.abs(steps.outputs_at(t) - stretches.outputs_at(t))))
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


# The regime -----------------------------------------------------------------------------------------------------------


def medium(log_scale=-3.0):
    return draw(5, size=(25, 4, 48, 3), log_scale=log_scale)


def test_large_runs_take_stretches_small_ones_and_those_with_followers_do_not():
    for problem, expected in ((medium(), WINDOWS), (draw(1), COUPLED), (medium(log_scale=-20.0), COUPLED)):
        run = driver_for(problem, rf.Flow(), 1.0).run
        assert (run.regime, run.free) == (expected, expected == WINDOWS)
    for regime, expected in (("windows", WINDOWS), ("coupled", COUPLED)):
        assert driver_for(draw(1), rf.Flow(), 1.0, regime=regime).run.regime == expected


@pytest.fixture(scope="module")
def free():
    """A run that begins with stretches and ends with steps."""
    return rf.solve(medium(), rf.Flow(rtol=1e-7), t1=60.0)


def test_a_run_that_changes_its_regime_is_as_exact_as_one_that_does_not(free, monkeypatch):
    assert min(free.stats.regimes["windows"], free.stats.regimes["coupled"]) > 10
    resume = free.recording.resume
    assert resume[1] < 0 < resume[-1]
    monkeypatch.setattr(exact, "REGIME", "coupled")
    agree(rf.solve(medium(), rf.Flow(rtol=1e-10), t1=60.0), free, 60.0, 1e-7)


def test_a_moment_inside_a_stretch_does_not_depend_on_what_else_is_asked(free, tmp_path):
    stretch = np.flatnonzero(free.recording.resume < 0.0)
    t = np.sort(free.t[stretch[5:40:7]] * 1.0001)
    one_by_one = np.concatenate([free.outputs_at([moment]) for moment in t])
    np.testing.assert_array_equal(free.outputs_at(t), one_by_one)
    short = rf.solve(medium(), rf.Flow(rtol=1e-7), t1=float(t[2]))
    np.testing.assert_allclose(short.outputs[-1], one_by_one[2], rtol=0, atol=1e-6)
    free.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(rf.load(tmp_path / "run.npz").outputs_at(t), one_by_one)


def test_pauses_inside_stretches_change_no_bit(free, monkeypatch):
    monkeypatch.setattr(drive, "PAUSE", 0)
    again = rf.solve(medium(), rf.Flow(rtol=1e-7), t1=60.0)
    np.testing.assert_array_equal(again.events.t, free.events.t)
    np.testing.assert_array_equal(again.checkpoints.w, free.checkpoints.w)


def test_a_stop_inside_a_stretch_leaves_a_beginning_of_the_run(monkeypatch):
    monkeypatch.setattr(drive, "PAUSE", 0)

    def driven(bursts):
        driver = driver_for(medium(), rf.Flow(1e-6), 2.0, regime="windows")
        tape, outcome = Tape(10_000), None
        driver.begin(tape, rf.Save(), rf.Limits())
        for _ in range(bursts):
            outcome = outcome or driver.advance(1, tape)
        inside = bool(driver.window.stretch.open)
        driver.finish(tape, outcome or rf.Outcome.INTERRUPTED)
        return inside, tape.checkpoints()[0].clock, np.concatenate([np.empty((0, 5)), *tape.events])

    _, whole, all_events = driven(10_000)
    stopped = [driven(bursts) for bursts in range(1, 12, 2)]
    for _, clock, events in stopped:
        np.testing.assert_array_equal(clock, whole[: len(clock)])
        np.testing.assert_array_equal(events, all_events[all_events[:, 0] <= clock[-1]])
    assert any(inside for inside, _, _ in stopped)


def test_a_run_by_steps_is_confirmed_by_stretches_and_the_other_way_round(free):
    small = rf.confirm(rf.solve(draw(1), t1=10.0))
    assert small and small.regime == "windows" and small.agreeing == small.events > 0
    large = rf.confirm(rf.solve(medium(), rf.Flow(rtol=1e-6), t1=5.0))
    assert large and large.regime == "coupled" and large.agreeing == large.events > 100


# Long counts ----------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_medium_problems_agree_with_steps(seed, monkeypatch):
    rng = np.random.default_rng([seed, 5])
    size = (int(rng.integers(15, 45)), int(rng.integers(2, 9)), int(rng.integers(30, 80)), int(rng.integers(2, 5)))
    loss, slope, balanced = CASES[seed % len(CASES)]
    problem = draw(seed, loss, slope, balanced, size, float(rng.choice([-1.0, -3.0, -8.0])))
    steps, stretches = both(problem, 40.0, 1e-7, monkeypatch)
    if steps.stats.nearest_bifurcation < 1e-5 or steps.stats.non_unique:
        pytest.skip("the run passes a bifurcation")
    agree(steps, stretches, 40.0, 1e-7)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 22))
@pytest.mark.parametrize("loss, slope, balanced", CASES)
def test_small_problems_agree_with_steps(seed, loss, slope, balanced, monkeypatch):
    steps, stretches = both(draw(seed, loss, slope, balanced), 10.0, 1e-7, monkeypatch)
    if steps.stats.nearest_bifurcation < 1e-5 or steps.stats.non_unique:
        pytest.skip("the run passes a bifurcation")
    agree(steps, stretches, 10.0, 1e-7)
