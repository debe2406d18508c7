"""Where bursts end, and where Ctrl-C falls, must not show in what a run keeps."""

import signal
import time

import numpy as np
import pytest
from support.counted import Clock, counted_calls, press_ctrl_c
from tests.trust.regimes import digest, runs

import reluflow as rf

THINNED = ["jumps", "coupled", "until rest", "late", "windows", "stepped", "leaps until rest", "steps", "batches"]


def solved(name: str, frames: int):
    problem, method, more, _ = runs()[name]
    return rf.solve(problem, method, **more, save=rf.Save(frames=frames))


@pytest.mark.parametrize("name", THINNED)
def test_frames_that_are_thinned_are_the_same_however_long_bursts_are(name, monkeypatch):
    for frames in (20, 31):
        found = set()
        for step in (1.0, 1e-2, 1e-7):  # bursts are as long as the clock says the machine is fast
            monkeypatch.setattr(time, "perf_counter", Clock(step))
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
    monkeypatch.setattr(time, "perf_counter", Clock(at=5, do=press_ctrl_c))
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
    "flow": (rf.Flow(1e-11), dict(width=30, log_scale=-40.0), 3000.0),
    "stepped": (rf.SteppedFlow(1e-3), dict(width=12, log_scale=-1.0), 6.0),
    "descent": (rf.Descent(1e-2, fast_forward=False), dict(width=12, log_scale=-6.0), 200.0),
}


@pytest.mark.parametrize("name", list(LONG))
def test_ctrl_c_at_any_moment_leaves_a_beginning_of_the_run_or_nothing(name, monkeypatch):
    # Moments are counted in function calls, bursts by a clock that gains 50 ms at each reading: no load moves them.
    method, start, t1 = LONG[name]
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(dim=2, seed=1, **start))

    def solve(at=None):
        monkeypatch.setattr(time, "perf_counter", Clock(0.05))
        with counted_calls(at) as count:
            return rf.solve(problem, method, t1, save=rf.Save(frames=100_000, memory="1 GiB")), count

    solve()  # loads the kernels
    whole, (calls,) = solve()
    outcomes = []
    for at in np.linspace(1, calls, 12).astype(int).tolist():
        try:
            sol, _ = solve(at)
        except KeyboardInterrupt:  # before the run began, or after its last step: nothing comes back
            outcomes.append("nothing")
            continue
        outcomes.append(sol.outcome.name)
        assert np.all(np.diff(sol.t) > 0)
        some = np.unique(np.linspace(0, len(sol.t) - 1, 40).astype(int))
        for k, then in zip(some, whole.at(sol.t[some])):
            for mine, its in ((sol.w[k], then.w), (sol.a[k], then.a), (sol.log_scale[k], then.log_scale)):
                np.testing.assert_array_equal(mine, its)
        np.testing.assert_array_equal(sol.bits_at(sol.t[-1]), whole.bits_at(sol.t[-1]))
        np.testing.assert_array_equal(sol.events.log_t, whole.events.log_t[: len(sol.events)])
    assert set(outcomes) <= {"INTERRUPTED", "nothing"} and outcomes[0] == "nothing"
    assert outcomes.count("INTERRUPTED") >= 6, outcomes
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_ends_at_once_with_nothing(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", Clock())
    method, start, _ = LONG["descent"]
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(dim=2, seed=1, **start))

    def twice(now):
        press_ctrl_c()
        press_ctrl_c()

    with pytest.raises(KeyboardInterrupt):
        rf.solve(problem, method, t1=1e6, progress=twice)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
