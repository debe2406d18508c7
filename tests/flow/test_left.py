"""The time left, as a progress bar tells it: from the first seconds on, and right to a factor of 2."""

import numpy as np
import pytest
from support.counted import Clock

import reluflow as rf
from reluflow.drive import exact, loop
from reluflow.drive.estimate import Left

# A flow with n = 3000, m = 1000, d = 20 from e^-3 to clock 40 on one core: processor seconds at the start of every
# attempt at a stretch, its clock, its length, its sweeps. It ended after 55.4 seconds.
LARGE = (
    (0.0, 0.0, 2.571, 1),
    (3.61, 0.0, 1.285, 3),
    (7.83, 0.0, 0.6427, 5),
    (12.23, 0.6427, 0.6427, 4),
    (15.13, 1.285, 0.964, 5),
    (19.23, 2.249, 1.446, 6),
    (24.23, 3.695, 1.603, 6),
    (27.92, 5.299, 2.045, 7),
    (31.67, 7.344, 2.246, 7),
    (34.5, 9.59, 2.917, 7),
    (37.35, 12.51, 3.222, 7),
    (40.13, 15.73, 4.057, 8),
    (43.57, 19.79, 4.529, 7),
    (46.73, 24.31, 4.571, 2),
    (47.56, 24.31, 2.285, 4),
    (48.71, 26.6, 2.285, 4),
    (49.85, 28.88, 3.428, 5),
    (51.59, 32.31, 4.574, 6),
    (54.03, 36.89, 3.113, 5),
)


def test_the_time_left_of_a_large_flow_is_right_to_a_factor_of_2_after_ten_seconds():
    ahead, end, found = Left(), 55.4, {}
    expected, before = exact.USUAL_SWEEPS, 0
    for (begun, clock, length, sweeps), after in zip(LARGE, [*(row[0] for row in LARGE[1:]), end], strict=True):
        expected = expected if clock == 0.0 else max(exact.USUAL_SWEEPS, before)
        before = sweeps
        for seconds in np.arange(begun, after, 0.1):
            share = min(0.95, sweeps / expected * (seconds - begun) / (after - begun))
            found[seconds] = ahead.left(seconds, clock / 40.0, (length / 40.0, share))
    late = {seconds: left for seconds, left in found.items() if seconds > 10.0}
    assert all(0.5 < left / (end - seconds) < 2.0 for seconds, left in late.items() if seconds < end - 1.0)
    assert all(left is not None for seconds, left in found.items() if seconds > 2.2)


def test_a_steady_run_is_told_exactly_what_is_left():
    ahead = Left()
    for seconds in np.arange(1.0, 30.0):
        left = ahead.left(seconds, (seconds - 1.0) / 40.0)
    assert left == pytest.approx(41.0 - seconds, rel=1e-12)


def test_a_speed_that_grows_with_the_clock_is_expected_to_go_on_growing():
    # x = e^(s - 5), 5 - s seconds are left; the mean speed so far, x / s, would leave s (1 / x - 1).
    ahead = Left()
    for seconds in np.arange(0.0, 4.0, 0.01):
        left = ahead.left(seconds, np.exp(seconds - 5.0))
    assert 5.0 - seconds < left < 0.4 * seconds * (np.exp(5.0 - seconds) - 1.0)


def test_attempts_at_the_first_stretch_that_were_refused_do_not_count():
    once, again = Left(), Left()
    for seconds in np.arange(0.0, 3.0, 0.1):
        again.left(seconds, 0.0, (0.5, 0.3 * seconds))
    for seconds in np.arange(0.1, 3.0, 0.1):
        expected = once.left(seconds, 0.0, (0.2, 0.3 * seconds))
        found = again.left(seconds + 3.0, 0.0, (0.2, 0.3 * seconds))
        assert expected is None or found == pytest.approx(expected, rel=1e-12)


def test_nothing_is_told_without_an_end_or_before_there_is_anything_to_go_by():
    ahead = Left()
    assert ahead.left(10.0, None) is None
    assert ahead.left(10.0, 0.0) is None
    assert ahead.left(20.0, 0.0) is None
    assert ahead.left(20.0, 1e-9) is None


def test_a_flow_tells_the_time_left_inside_its_first_stretch(monkeypatch):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(30, 4)) / 2.0
    problem = rf.Problem(rf.Data(x, np.tanh(2 * x[:, 0])), rf.init.balanced(60, 4, log_scale=-4.0, seed=3))
    monkeypatch.setattr(exact, "PAUSE", 0)
    monkeypatch.setattr(loop._time, "perf_counter", Clock(1.0))
    seen = []
    rf.solve(problem, rf.Flow(1e-6), t1=60.0, progress=seen.append)
    assert any(now.steps == 0 and now.left is not None for now in seen)
    assert all(now.left >= 0.0 for now in seen if now.left is not None)
    assert seen[-1].left < 0.1 * seen[-1].seconds
