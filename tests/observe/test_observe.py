"""Quantities of a run: against closed forms, plain arithmetic at ordinary scale, and the same run at e^-5000."""

import numpy as np
import pytest

import reluflow as rf
from reluflow import observe


def run(log_scale=-3.0, log_t1=6.0, **more):
    data = rf.data.orthogonally_separable(6, 4, 0.4, norm_max=1.3, seed=3)
    init = rf.init.balanced(12, 4, log_scale=log_scale, seed=3)
    options = dict(loss="exponential", reduction="sum") | more
    return rf.solve(rf.Problem(data, init, **options), rf.Flow(rtol=1e-9), log_t1=log_t1)


@pytest.fixture(scope="module")
def sol():
    return run()


@pytest.fixture(scope="module")
def tiny():
    return run(-5000.0, log_t1=12.0)


def plain(sol, t):
    """True weights, active data and outputs at time t, by plain arithmetic."""
    w, a = sol.at(t).arrays()
    x = sol.problem.data.x
    z = w @ x.T
    # A neuron that died rests on a surface: there <w, x> is 0 up to rounding, whatever sign rounding gives it.
    z[np.abs(z) < 1e-14 * np.linalg.norm(w, axis=1)[:, None] * np.linalg.norm(x, axis=1)] = 0.0
    return w, a, z > 0, a @ np.maximum(z, 0.0)


TIMES = (0.0, 0.31, 1.7, 9.0)


@pytest.mark.parametrize("t", TIMES)
def test_rates_are_those_of_the_loss_computed_plainly(sol, t):
    x, y = sol.problem.data.x, sol.problem.data.y
    w, a, on, f = plain(sol, t)
    pull = (on * (y * np.exp(-y * f))) @ x
    dw, da = a[:, None] * pull, np.sum(pull * w, axis=1)
    size = np.linalg.norm(w, axis=1)
    along = np.sum(dw * w, axis=1)
    turn = np.linalg.norm(dw - (along / size**2)[:, None] * w, axis=1) / size
    at = dict(t=[t])
    close = dict(rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(observe.norm_change(sol, **at).values[0], 2 * along, **close)
    np.testing.assert_allclose(observe.log_norm_rate(sol, **at).values[0], along / size**2, **close)
    np.testing.assert_allclose(observe.direction_rate(sol, **at).values[0], turn, **close)
    total = np.sum(dw**2) + np.sum(da**2)
    np.testing.assert_allclose(observe.log_gradient(sol, **at).values[0], np.log(total), rtol=1e-9)
    np.testing.assert_allclose(observe.pl_ratio(sol, **at).values[0], total / np.sum(np.exp(-y * f)), rtol=1e-9)


@pytest.mark.parametrize("t", TIMES)
def test_cones_ranks_margins_and_cosines_are_those_computed_plainly(sol, t):
    x, y = sol.problem.data.x, sol.problem.data.y
    w, a, on, f = plain(sol, t)
    at = dict(t=[t])
    inside = observe.cones(sol, **at).sel(frame=0)
    np.testing.assert_array_equal(inside.sel(cone="S+"), np.all(on == (y > 0), axis=1))
    np.testing.assert_array_equal(inside.sel(cone="S-"), np.all(on == (y < 0), axis=1))
    np.testing.assert_array_equal(inside.sel(cone="dead"), ~on.any(axis=1))
    path = observe.activation_path(sol, **at).sel(frame=0)
    np.testing.assert_array_equal(path.sel({"class": "k-"}), on[:, y < 0].sum(axis=1))
    for group, rows in ((None, w), ("+", w[a > 0]), ("-", w[a < 0]), ([0, 3], w[[0, 3]])):
        expected = np.sum(rows**2) / np.linalg.norm(rows, 2) ** 2
        np.testing.assert_allclose(observe.stable_rank(sol, group, **at).values[0], expected, rtol=1e-10)
    np.testing.assert_allclose(observe.margins(sol, **at).values[0], y * f, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(observe.log_outputs(sol, **at).values[0], np.log(np.abs(f)), rtol=1e-8)
    np.testing.assert_array_equal(observe.log_outputs(sol, **at).sign.values[0], np.sign(f))
    best = np.min(y * f) / (np.sum(w**2) + np.sum(a**2))
    np.testing.assert_allclose(observe.normalised_margin(sol, **at).values[0], best, rtol=1e-8)
    plus = np.sum(x[y > 0], axis=0)
    cos = w @ plus / np.linalg.norm(plus) / np.linalg.norm(w, axis=1)
    np.testing.assert_allclose(observe.alignment(sol, "x+", **at).values[0], cos, atol=1e-12)
    np.testing.assert_allclose(observe.alignment(sol, plus, **at).values[0], cos, atol=1e-12)
    np.testing.assert_allclose(np.abs(observe.balancedness(sol, **at).values), 0.0, atol=1e-14)


def test_the_early_phase_looks_the_same_at_any_scale(tiny):
    # Directions, patterns and rates do not see the norms while outputs are negligible.
    other = run(-300.0)
    for t in ([0.2], [0.9], [5.0]):
        for measure in (observe.alignment, observe.direction_rate, observe.log_norm_rate, observe.stable_rank):
            np.testing.assert_allclose(measure(tiny, t=t), measure(other, t=t), rtol=1e-6, atol=1e-9)
        shift = 2 * (5000.0 - 300.0)
        np.testing.assert_allclose(observe.log_outputs(tiny, t=t) + shift, observe.log_outputs(other, t=t), atol=1e-6)
    assert np.all(observe.outputs(tiny, t=[5.0]) == 0.0)
    assert np.all(np.isfinite(observe.log_outputs(tiny, t=[5.0])))


def test_patterns_are_the_bits_at_every_moment(sol):
    times = np.linspace(0.0, 3.0, 61)
    bits = sol.bits_at(times) >= 1.0
    for j, visits in enumerate(observe.patterns(sol)):
        assert visits[0].start == 0.0
        assert visits[-1].end == np.inf
        for k, t in enumerate(times):
            (visit,) = [v for v in visits if v.start <= t < v.end]
            np.testing.assert_array_equal(np.flatnonzero(bits[k, j]), visit.on)


def test_groups_name_the_cone_and_bands_span_the_neurons(tiny):
    inside, names = observe.cones(tiny), observe.groups(tiny)
    for cone in ("S+", "S-"):
        np.testing.assert_array_equal(names == cone, inside.sel(cone=cone))
    own = observe.alignment(tiny)
    bands = observe.bands(own)
    np.testing.assert_allclose(bands.sel(quantile=0.0), own.min("neuron"))
    np.testing.assert_allclose(bands.sel(quantile=1.0), own.max("neuron"))
    plus = observe.bands(own, (0.0,), where=observe.signs(tiny) > 0)
    np.testing.assert_allclose(plus[0], np.min(own.values[:, tiny.sign[0] > 0], axis=1))


def test_arrays_are_labelled_with_their_times(sol):
    found = observe.alignment(sol)
    assert found.dims == ("frame", "neuron")
    np.testing.assert_array_equal(found.t, sol.t)
    np.testing.assert_array_equal(found.log_t, sol.log_t)
    assert observe.cosines(sol, t=[1.0]).dims == ("frame", "neuron", "datum")


def test_bare_balancedness_is_conserved_for_unbalanced_neurons():
    data = rf.data.toy_plane()
    problem = rf.Problem(data, rf.init.gaussian(8, 2, log_scale=-1.0, seed=0), loss="exponential")
    gap = observe.balancedness(rf.solve(problem, t1=20.0), relative=False)
    np.testing.assert_allclose(gap, np.broadcast_to(gap[0], gap.shape), rtol=1e-6)


def test_descent_is_observed_too():
    data = rf.data.toy_plane()
    problem = rf.Problem(data, rf.init.gaussian(8, 2, log_scale=-2.0, seed=0), loss="logistic")
    sol = rf.solve(problem, rf.Descent(step=1e-2), t1=20.0)
    w, a = sol.final.arrays()
    on = (w @ data.x.T) > 0
    np.testing.assert_array_equal(observe.cones(sol).sel(cone="dead")[-1], ~on.any(axis=1))
    np.testing.assert_allclose(observe.outputs(sol)[-1], a @ np.maximum(w @ data.x.T, 0), rtol=1e-10)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda s: observe.alignment(s, "x0"), '`direction` must be "x\\+", "x-", "own" or a vector'),
        (lambda s: observe.alignment(s, [1.0]), "must have the data's dimension 4, got 1"),
        (lambda s: observe.stable_rank(s, "0"), '`group` must be "\\+", "-", a list'),
    ],
)
def test_mistakes_are_said(sol, call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(sol)


def test_every_name_offered_is_there():
    for name in observe.__all__:
        assert callable(getattr(observe, name))
    assert set(observe.__all__) <= set(dir(observe))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = observe.nothing
