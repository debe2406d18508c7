"""`rf.DecayLimit`: the slow motion along fitted networks, against small decay, the minimum norm and its own laws."""

import numpy as np
import pytest

import reluflow as rf


def fitting(k, scale=1.0):
    """Problems of regularised.md: sizes from default_rng(2000 + k), n 2-5, d 2-3, m 5-10, balanced."""
    sizes = np.random.default_rng(2000 + k)
    n, d, m = int(sizes.integers(2, 6)), int(sizes.integers(2, 4)), int(sizes.integers(5, 11))
    return drawn(k, n, d, m, scale)


def drawn(k, n, d, m, scale, ones=False):
    rng = np.random.default_rng(k)
    x, y, w = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=(m, d))
    signs = rng.choice([-1.0, 1.0], m)
    a = signs if ones else scale * signs * np.linalg.norm(w, axis=1)
    return rf.Problem(rf.Data(x, y), rf.Params(scale * w, a), train="first" if ones else "both")


def misfitting(k):
    """Problems that rest without fitting: sizes from default_rng(3000 + k), n 3-6, m 2-5, d = 2."""
    sizes = np.random.default_rng(3000 + k)
    n, m = int(sizes.integers(3, 7)), int(sizes.integers(2, 6))
    return drawn(k, n, 2, m, 0.7)


def full(cases):
    """The first in the ordinary run, all of them in the exhaustive one."""
    return [pytest.param(*case, marks=() if k < 1 else pytest.mark.exhaustive) for k, case in enumerate(cases)]


def apart(p, q):
    return float(np.sqrt(sum(np.sum((u - v) ** 2) for u, v in zip(p.arrays(), q.arrays(), strict=True))))


def norm(params):
    w, a = params.arrays()
    return float(np.sum(w**2) + np.sum(a**2))


def finite(problem, decay, tau):
    """The fitted network after the time tau / decay with decay."""
    fit = rf.solve(problem, rf.Flow(rtol=1e-11), t1=3000.0).final
    slow = rf.Problem(problem.data, fit, train=problem.train, decay=decay)
    return rf.solve(slow, rf.Flow(rtol=1e-9), t1=tau / decay)


@pytest.mark.parametrize(("k", "tau", "factor"), [(1, 1.0, 2.2), (4, 3.0, 4.0)])
def test_small_decay_tends_to_the_limit_like_decay_through_events_and_slides(k, tau, factor):
    problem = fitting(k)
    limit = rf.solve(problem, rf.DecayLimit(rtol=1e-9), t1=tau)
    assert limit.stats.slides >= 1 and limit.stats.steps < 60
    for decay in (1e-3, 1e-5):
        np.testing.assert_allclose(apart(finite(problem, decay, tau).final, limit.final) / decay, factor, rtol=0.05)


def test_the_first_layer_alone_tends_to_its_limit_like_decay():
    problem = drawn(26, 3, 2, 10, 1.0, ones=True)
    limit = rf.solve(problem, rf.DecayLimit(rtol=1e-9), t1=1.0)
    gaps = [apart(finite(problem, decay, 1.0).final, limit.final) for decay in (1e-2, 1e-3)]
    assert gaps[1] < 0.15 * gaps[0] < 0.01


@pytest.mark.parametrize(("k", "value"), full([(1, 2.695503), (13, 3.906791), (14, 4.207203), (15, 3.753573)]))
def test_the_end_has_the_minimum_norm(k, value):
    problem = fitting(k)
    sol = rf.solve(problem, rf.DecayLimit(), t1=30.0)
    np.testing.assert_allclose(norm(sol.final), value, rtol=1e-6)
    np.testing.assert_allclose(rf.bias.min_norm(problem.data).value, value, rtol=1e-6)


@pytest.mark.parametrize(("k", "ratio"), [(6, 1.0698), (23, 1.0626)])
def test_some_runs_rest_above_the_minimum_norm(k, ratio):
    problem = fitting(k)
    sol = rf.solve(problem, rf.DecayLimit(), t1=30.0)
    np.testing.assert_allclose(norm(sol.final) / rf.bias.min_norm(problem.data).value, ratio, atol=1e-4)


@pytest.mark.parametrize("k", [1, 4, 13])
def test_outputs_stay_the_norm_falls_and_accounts_for_the_motion(k):
    problem = fitting(k)
    sol = rf.solve(problem, rf.DecayLimit(), t1=6.0)
    assert np.max(np.abs(sol.outputs - problem.data.y)) < 1e-6
    size = np.array([norm(p) for p in sol.at(np.linspace(0.0, 6.0, 25))])
    assert np.max(np.diff(size)) <= 1e-7 * size[0]
    assert sol.stats.energy_error < 1e-6


# Predicted times of the jumps, regularised.md.
@pytest.mark.parametrize(("k", "tau"), full([(24, 1.4806574), (3, 0.1045618), (13, 0.9536364), (15, 0.0463849)]))
def test_a_network_that_does_not_fit_jumps_at_the_predicted_time(k, tau):
    problem = misfitting(k)
    sol = rf.solve(problem, rf.DecayLimit(), t1=1.01 * tau)
    loss = np.exp(sol.log_loss_at([0.0, 0.999 * tau, 1.005 * tau]))
    np.testing.assert_allclose(sol.events.t[-1] if k != 15 else sol.events.t[0], tau, rtol=1e-6)
    np.testing.assert_allclose(loss[1], loss[0], rtol=1e-6)
    # The same with a decay of 1e-6, long enough after the jump for its flow to rest again.
    fit = rf.solve(problem, rf.Flow(rtol=1e-11)).final
    slow = rf.solve(rf.Problem(problem.data, fit, decay=1e-6), rf.Flow(rtol=1e-8), t1=1.006 * tau / 1e-6)
    after = np.exp(slow.log_loss_at([0.999 * tau / 1e-6, 1.005 * tau / 1e-6]))
    np.testing.assert_allclose(after / loss[0], loss[1:] / loss[0], atol=2e-3)
    assert loss[2] < 0.95 * loss[0]


def test_the_slow_motion_has_no_phases_made_of_rounding():
    x = np.random.default_rng(0).normal(size=(6, 3))
    sol = rf.solve(rf.Problem(rf.Data(x, np.sign(x[:, 0])), rf.init.balanced(10, 3, -5.0)), rf.DecayLimit(), t1=20.0)
    phases = sol.phases()
    assert [p.kind for p in phases] == ["plateau"] and "rf.DecayLimit" in phases.note


def test_a_moment_inside_is_the_end_of_a_shorter_run_and_survives_the_disk(tmp_path):
    problem = fitting(4)
    sol = rf.solve(problem, rf.DecayLimit(), t1=3.0)
    short = rf.solve(problem, rf.DecayLimit(), t1=1.2)
    assert apart(sol.at(1.2), short.final) < 1e-6
    back = rf.load(sol.save(tmp_path / "slow"))
    assert isinstance(back.method, rf.DecayLimit)
    assert apart(back.at(1.2), sol.at(1.2)) < 1e-12


def test_what_the_limit_does_not_cover_is_refused():
    data = rf.Data([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    start = rf.init.balanced(4, 2, -1.0, seed=0)
    with pytest.raises(ValueError, match=r'`rf\.DecayLimit` with the logistic loss needs `train="both"`, got "first"'):
        rf.solve(rf.Problem(data, start, loss="logistic", train="first"), rf.DecayLimit(), t1=1.0)
    with pytest.raises(ValueError, match=r"`rf\.DecayLimit` needs `decay=0`, got 0\.1"):
        rf.solve(rf.Problem(data, start, decay=0.1), rf.DecayLimit(), t1=1.0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("k", range(30))
def test_every_fit_with_nothing_slid_is_approached_like_decay(k):
    problem = fitting(k)
    fit = rf.solve(problem, rf.Flow(rtol=1e-11), t1=3000.0)
    if fit.loss[-1] > 1e-16 or np.any(fit.sliding_at(3000.0)):
        pytest.skip("the flow rests without fitting, or with a neuron held on a boundary")
    limit = rf.solve(problem, rf.DecayLimit(rtol=1e-9), t1=1.0)
    if limit.stats.non_unique:
        pytest.skip("the limit passes a point from which it may go on in several ways")
    far, near = (apart(finite(problem, decay, 1.0).final, limit.final) for decay in (1e-3, 1e-4))
    assert 0.05 < near / far < 0.2 and near < 0.01
