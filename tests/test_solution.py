"""What a Solution promises of itself: it does not change, and its answers depend on the question alone."""

import pickle
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from tests.trust.regimes import digest, runs

import reluflow as rf
from reluflow.drive import compile, loop

REGIMES = ["jumps", "coupled", "late", "windows", "stepped", "leaps", "steps", "batches"]


@pytest.fixture(scope="module", params=REGIMES)
def sol(request):
    problem, method, more, _ = runs()[request.param]
    return rf.solve(problem, method, **more)


def test_states_of_a_run_cannot_be_written_to(sol):
    for array in (*sol.recording.checkpoints, *sol.recording.frames, sol.recording.resume, sol.a, sol.checkpoints.q):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    for name in ("problem", "method", "outcome", "stats", "events"):
        with pytest.raises(AttributeError):
            setattr(sol, name, None)


def test_an_answer_does_not_depend_on_what_else_is_asked_or_was(sol):
    clock = sol.checkpoints.clock
    some = np.unique(np.r_[clock[:: max(1, len(clock) // 5)], np.linspace(0.0, clock[-1], 7)])
    together = sol.moments(clock=some)
    for k in np.random.default_rng(0).permutation(len(some)):
        repr(sol)
        alone = sol.moments(clock=some[k])
        np.testing.assert_array_equal(alone.w[0], together.w[k])
        np.testing.assert_array_equal(alone.outputs[0], together.outputs[k])
        np.testing.assert_array_equal(alone.bits[0], together.bits[k])


def test_a_checkpoint_is_answered_by_itself(sol):
    found = sol.moments(clock=sol.checkpoints.clock)
    np.testing.assert_array_equal(found.w, sol.checkpoints.w)
    np.testing.assert_array_equal(found.log_scale, sol.checkpoints.log_scale)


def test_threads_that_ask_at_once_get_what_one_gets(sol):
    times = np.random.default_rng(1).uniform(0.0, min(sol.t_end, 1e3), (4, 5))
    expected = [sol.outputs_at(t) for t in times]
    found = [None] * 4

    def ask(k):
        found[k] = sol.outputs_at(times[k])

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mine, right in zip(found, expected):
        np.testing.assert_array_equal(mine, right)


def test_a_pickled_run_is_the_same_run(sol):
    assert digest(pickle.loads(pickle.dumps(sol))) == digest(sol)


def test_moments_are_what_the_single_questions_give(sol):
    t = np.linspace(0.0, min(sol.t_end, 1e3), 5)
    found = sol.moments(t)
    assert len(found) == 5 and len(found[1:3]) == 2 and len(found[-1]) == 1
    np.testing.assert_array_equal(found.outputs, sol.outputs_at(t))
    np.testing.assert_array_equal(found.log_loss, sol.log_loss_at(t))
    np.testing.assert_array_equal(found.bits, sol.bits_at(t))
    np.testing.assert_array_equal(found.sliding, sol.sliding_at(t))
    np.testing.assert_array_equal(found[3].w[0], sol.at(t[3]).w)
    np.testing.assert_array_equal(found.expand(found.q), found.w)
    np.testing.assert_allclose(found.log_norm, found.log_scale + np.log(np.linalg.norm(found.w, axis=-1)), atol=1e-12)
    np.testing.assert_array_equal(sol.end.w[0], sol.final.w)


def small(**more):
    return rf.Problem(rf.data.five_points(), rf.init.balanced(12, 2, log_scale=-3.0, seed=1), **more)


def test_what_is_derived_is_computed_once_for_each_run():
    sol, made = rf.solve(small(), t1=1.0), []

    def count(run, start):
        made.append(start)
        return start + run.stats.steps

    assert sol.derived(count, 3) == sol.derived(count, 3) == 3 + sol.stats.steps
    sol.derived(count, 4)
    assert made == [3, 4]
    rf.Solution(sol.recording, sol.replay).derived(count, 3)
    assert made == [3, 4, 3]


@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGXCPU", "SIGINT"])
@pytest.mark.parametrize("method", [rf.Flow(1e-10), rf.SteppedFlow(1e-3), rf.Descent(1e-3, fast_forward=False)])
def test_a_request_to_stop_returns_the_beginning_of_the_run(method, number, monkeypatch):
    number = getattr(signal, number)
    monkeypatch.setattr(loop, "TELL_SECONDS", -1.0)
    monkeypatch.setattr(loop, "BURST_SECONDS", 0.0)
    calls = []

    def progress(now):
        calls.append(now)
        if len(calls) == 3:
            signal.raise_signal(number)

    before = signal.getsignal(number)
    cut = rf.solve(small(), method, 5.0, progress=progress)
    assert signal.getsignal(number) is before
    assert cut.outcome is rf.Outcome.INTERRUPTED and 0.0 < cut.t_end < 5.0
    whole = rf.solve(small(), method, 5.0)
    np.testing.assert_array_equal(cut.final.w, whole.moments(cut.t_end).w[0])


def interrupted_compilation(part, monkeypatch):
    """As if another process were compiling `part`, and Ctrl-C came while the run waits for it."""
    stop = SimpleNamespace(poll=lambda: None, wait=lambda: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(compile, "_running", {part: stop})


def test_ctrl_c_while_the_first_kernels_are_compiled_is_heeded_at_once(monkeypatch):
    interrupted_compilation("burst", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        rf.solve(small(), t1=1.0)
    assert "burst" in compile._running and not compile.underway()
    monkeypatch.setattr(compile, "_running", {})
    assert rf.solve(small(), t1=1.0).outcome is rf.Outcome.REACHED


def test_ctrl_c_while_kernels_needed_later_are_compiled_returns_the_beginning_of_the_run(monkeypatch):
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(20, 2, log_scale=-5.0))
    whole = rf.solve(problem)
    assert whole.stats.regimes["stiff"] > 0
    interrupted_compilation("stiff", monkeypatch)
    cut = rf.solve(problem)
    assert cut.outcome is rf.Outcome.INTERRUPTED and 0.0 < cut.t_end < whole.t_end
    np.testing.assert_array_equal(cut.final.w, whole.moments(cut.t_end).w[0])


def test_a_handler_of_the_callers_own_stays(monkeypatch):
    monkeypatch.setattr(loop, "TELL_SECONDS", -1.0)
    heard, before = [], signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        sol = rf.solve(small(), t1=1.0, progress=lambda now: signal.raise_signal(signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert sol.outcome is rf.Outcome.REACHED and heard


def test_a_limit_of_iterations_is_kept():
    for fast_forward in (True, False):
        method = rf.Descent(1e-2, fast_forward=fast_forward)
        cut = rf.solve(small(), method, 5.0, limits=rf.Limits(steps=77), throw=False)
        assert cut.outcome is rf.Outcome.STEP_LIMIT and cut.stats.steps == 77
        assert rf.solve(small(), method, 0.77, limits=rf.Limits(steps=77)).outcome is rf.Outcome.REACHED


# Names of version 0.1 -------------------------------------------------------------------------------------------------


def test_names_of_the_first_version_warn_and_still_work(tmp_path):
    with pytest.warns(DeprecationWarning, match=r"rf.SteppedFlow\(rtol=0.001\)"):
        old = rf.Flow(1e-3, events="stepped")
    sol, new = rf.solve(small(), old, 1.0), rf.solve(small(), rf.SteppedFlow(1e-3), 1.0)
    assert sol.method == rf.SteppedFlow(1e-3) and digest(sol) == digest(new)
    with pytest.warns(DeprecationWarning, match="t_end"):
        assert sol.t_end_text == "1"
    with pytest.warns(DeprecationWarning, match="memory"):
        assert rf.Save(memory="2 KiB").bytes == 2048
    with pytest.warns(DeprecationWarning, match=r"rf.Descent\(0.1\)"):
        by_place = rf.compare(small(), 0.1, 1.0)
    with pytest.warns(DeprecationWarning, match=r"rf.Descent\(0.1\)"):
        by_name = rf.compare(small(), step=0.1, t1=1.0)
    assert repr(by_place) == repr(by_name) == repr(rf.compare(small(), rf.Descent(0.1), 1.0))


OLD = """
format = 1
[data]
kind = "five_points"
[init]
kind = "balanced"
width = 6
[method]
kind = "flow"
rtol = 1e-3
events = "stepped"
[solve]
t1 = 1.0
"""


def test_an_experiment_of_the_first_version_runs(tmp_path):
    (tmp_path / "old.toml").write_text(OLD)
    with pytest.warns(DeprecationWarning, match="SteppedFlow"):
        old = rf.Experiment.from_toml(tmp_path / "old.toml").run()
    (tmp_path / "new.toml").write_text(OLD.replace('"flow"', '"stepped_flow"').replace('events = "stepped"\n', ""))
    new = rf.Experiment.from_toml(tmp_path / "new.toml").run()
    assert old.method == new.method == rf.SteppedFlow(1e-3) and digest(old) == digest(new)
    assert rf.load(new.save(tmp_path / "run")).method == rf.SteppedFlow(1e-3)


def test_an_activation_is_a_value_or_a_name():
    assert rf.ReLU() == rf.ReLU(at_zero=0.0) != rf.ReLU(at_zero=1.0) and isinstance(rf.ReLU(), rf.ReLU)
    assert small(activation="relu").activation == rf.ReLU() == small().activation and rf.ReLU().slope == 0.0
    assert small(activation="linear").activation == rf.LeakyReLU(1.0)
    with pytest.raises(ValueError, match=r"`activation` must be one of 'relu', 'linear', got 'rleu': .*`relu`"):
        small(activation="rleu")
    with pytest.raises(ValueError, match=r"`at_zero` must be in \[0, 1\], got 2.0"):
        rf.ReLU(2.0)
    one, two = (rf.solve(small(activation=s), rf.Descent(0.1), 1.0) for s in (rf.ReLU(), rf.LeakyReLU(0.0)))
    assert digest(one) == digest(two)
