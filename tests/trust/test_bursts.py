"""Where bursts end, and where Ctrl-C falls, must not show in what a run keeps."""

import random
import signal
import time

import numpy as np
import pytest
from tests.trust.regimes import digest, runs

import reluflow as rf
from reluflow.drive import exact, loop

THINNED = ["jumps", "coupled", "until rest", "late", "windows", "stepped", "leaps until rest", "steps", "batches"]


def solved(name: str, frames: int):
    problem, method, more, _ = runs()[name]
    return rf.solve(problem, method, **more, save=rf.Save(frames=frames))


@pytest.mark.parametrize("name", THINNED)
def test_frames_that_are_thinned_are_the_same_however_long_bursts_are(name, monkeypatch):
    for frames in (20, 31):
        found = set()
        for seconds in (1e-5, 1e-3, 10.0):
            monkeypatch.setattr(loop, "BURST_SECONDS", seconds)
            found.add(digest(solved(name, frames), dense=False))
        assert len(found) == 1


@pytest.mark.parametrize("name", ["coupled", "late", "stepped", "steps", "leaps until rest"])
def test_the_end_of_a_run_is_kept_whatever_the_number_of_frames(name):
    whole = solved(name, 100_000)
    for frames in range(8, 40):
        sol = solved(name, frames)
        assert sol.log_t[-1] == whole.log_t[-1] and len(sol.log_t) <= frames
        np.testing.assert_array_equal(sol.final.w, whole.final.w)


@pytest.mark.parametrize("of", ["check", "compare", "limit"])
def test_no_conclusion_is_drawn_from_half_a_run(of, monkeypatch):
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(20, 2, log_scale=-8.0))
    whole = rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(8, 2, log_scale=-40.0)))
    kept, left = exact.Machine.burst, [3]

    def burst(self, budget):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return kept(self, budget)

    monkeypatch.setattr(exact.Machine, "burst", burst)
    monkeypatch.setattr(loop, "BURST_SECONDS", 1e-9)
    calls = {
        "check": lambda: rf.check("boursier2022.theorem1", whole),
        "compare": lambda: rf.compare(problem, rf.Descent(1e-2), 5.0),
        "limit": lambda: rf.limit(problem),
    }
    with pytest.raises(KeyboardInterrupt):
        calls[of]()


def test_a_clock_that_stands_still_is_no_obstacle(monkeypatch):
    expected = {name: digest(solved(name, 1000)) for name in ("coupled", "steps", "stepped")}
    monkeypatch.setattr(time, "perf_counter", lambda: 12.0)
    assert {name: digest(solved(name, 1000)) for name in expected} == expected


LONG = {
    "flow": (rf.Flow(1e-13), dict(width=70, log_scale=-40.0), 6000.0),
    "stepped": (rf.SteppedFlow(1e-4), dict(width=12, log_scale=-1.0), 6.0),
    "descent": (rf.Descent(1e-4, fast_forward=False), dict(width=12, log_scale=-6.0), 60.0),
}


@pytest.mark.parametrize("name", list(LONG))
def test_ctrl_c_at_any_moment_leaves_a_beginning_of_the_run_or_nothing(name):
    method, start, t1 = LONG[name]
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(dim=2, seed=1, **start))
    save = rf.Save(frames=100_000, memory="1 GiB")
    solve = lambda: rf.solve(problem, method, t1, save=save)
    solve()  # loads the kernels
    whole = solve()
    takes = max(0.05, min(whole.stats.seconds, 0.6))
    rng, cut = random.Random(0), 0
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        for _ in range(8):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, takes))
                sol = solve()
            except KeyboardInterrupt:
                continue  # too late, or twice: nothing comes back
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            cut += sol.outcome is rf.Outcome.INTERRUPTED
            clock, y, code = sol.recording.checkpoints
            assert np.all(np.diff(clock) > 0)
            _, ys, codes = whole.replay.at(clock)
            np.testing.assert_array_equal(y, ys)
            np.testing.assert_array_equal(code, codes)
            np.testing.assert_array_equal(sol.events.log_t, whole.events.log_t[: len(sol.events)])
    finally:
        signal.signal(signal.SIGALRM, before)
    assert cut > 0 or takes < 0.3, "none of them came while the run could still tell"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_ends_at_once_with_nothing():
    method, start, _ = LONG["descent"]
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(dim=2, seed=1, **start))

    def twice(now):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        rf.solve(problem, method, t1=1e6, progress=twice)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
