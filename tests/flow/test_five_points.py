"""The five points of Figure 4: saddles, slides, and digits known from two other integrators."""

import numpy as np
import pytest

import reluflow as rf


def problem(scale, seed=0):
    return rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=np.log(scale / np.sqrt(60)), seed=seed))


def squared_norm(params):
    return float(np.sum(np.exp(2 * params.log_scale) * (params.a**2 + np.sum(params.w**2, axis=1))))


def test_losses_at_four_times_agree_with_the_known_digits():
    sol = rf.solve(problem(1e-4), rf.Flow(rtol=1e-9), t1=600.0)
    known = [0.031928212, 0.02244407, 0.0049688047, 7.8833501e-5]
    np.testing.assert_allclose(sol.loss_at([150.0, 300.0, 450.0, 600.0]), known, rtol=3e-8)
    counts = sol.events.counts()
    assert counts["slide"] == 49
    assert len(sol.events) - counts["dead"] == 189
    alive = np.any(sol.bits_at(600.0) > 0, axis=1) & (sol.final.a < 0)
    assert np.sum(alive) == 14


@pytest.mark.parametrize(
    "scale", [1e-12, 1e-20, *(pytest.param(s, marks=pytest.mark.exhaustive) for s in (1e-6, 1e-8))]
)
def test_the_flow_passes_the_saddle_at_every_scale(scale):
    runs = [rf.solve(problem(scale), rf.Flow(rtol=r)) for r in (1e-8, 1e-9)]
    for sol in runs:
        assert sol.outcome is rf.Outcome.STATIONARY
        assert sol.loss[-1] < 1e-12
        assert len(sol.events) < 1000
        # The loss lingers at the saddle's value on its way to 0: for more than a tenth of the time it takes.
        loss = sol.loss_at(np.linspace(0.0, sol.t[np.argmax(sol.loss < 1e-3)], 1000))
        assert np.mean(np.abs(loss - 0.0318158) < 1e-6) > 0.1
    t = np.linspace(0.0, min(s.t[-1] for s in runs), 200)
    a, b = (s.loss_at(t) for s in runs)
    np.testing.assert_allclose(a, b, atol=1e-6 * a[0])
    assert squared_norm(runs[0].final) == pytest.approx(squared_norm(runs[1].final), rel=1e-6)
    if scale == 1e-12:
        assert squared_norm(runs[1].final) == pytest.approx(17.29505, abs=1e-5)


def test_frames_asked_for_do_not_change_the_run():
    times = (150.0, 300.0, 450.0)
    plain = rf.solve(problem(1e-4), rf.Flow(rtol=1e-6), t1=500.0)
    asked = rf.solve(problem(1e-4), rf.Flow(rtol=1e-6), t1=500.0, save=rf.Save(times=times))
    np.testing.assert_array_equal(asked.t, times)
    np.testing.assert_array_equal(asked.loss, plain.loss_at(times))
    thin = rf.solve(problem(1e-4), rf.Flow(rtol=1e-6), t1=500.0, save=rf.Save(frames=16))
    assert len(thin.t) <= 17 and thin.t[0] == 0.0 and thin.t[-1] == 500.0
    # From checkpoints farther back the steps may differ, within the tolerance.
    np.testing.assert_allclose(thin.loss_at(times), plain.loss_at(times), rtol=1e-8)
