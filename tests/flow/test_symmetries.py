"""Problems written in other units, another order or other pieces, and runs cut in two: nothing may change.

Units are powers of 2 inside the engine, so that other powers of 2 round nothing; powers of 10 are good to 1e-9 of the
outputs. Runs that passed a bifurcation are set aside, as in `test_invariances`, which has mirrored and linear cases.
"""

import numpy as np
import pytest
from support.problems import random_balanced, random_unbalanced

import reluflow as rf

RTOL = 1e-9
GAP = 200 * RTOL
NEAR = 1e-5
SEEDS = [pytest.param(k, marks=() if k < 10 else pytest.mark.exhaustive) for k in range(100)]
every_problem = pytest.mark.parametrize("seed", SEEDS)


def draw(seed):
    """A problem with the square loss and a time to learn it in: balanced, unbalanced, first layer alone, by turns."""
    problem, t1 = (
        random_balanced(89 * seed + 4, scales=(-1.0, -3.0, -10.0)),
        random_unbalanced(seed + 1, "both"),
        random_unbalanced(seed + 2, "first"),
    )[seed % 3]
    labels = problem.data.y * np.linspace(0.4, 1.3, problem.data.n)
    return changed(problem, y=labels, loss="square"), t1


def changed(problem, *, x=None, y=None, init=None, loss=None):
    data = rf.Data(problem.data.x if x is None else x, problem.data.y if y is None else y)
    keep = {k: getattr(problem, k) for k in ("loss", "reduction", "activation", "train")}
    return rf.Problem(data, init or problem.init, **(keep | ({"loss": loss} if loss else {})))


def resized(init, k):
    """Weights times k, in their mantissas: a power of 2 rounds nothing."""
    log_w, log_a = init.log_scales
    return rf.Params(k * init.w, k * init.a, log_scale=log_w, log_scale_a=log_a)


def run(problem, t1):
    return rf.solve(problem, rf.Flow(rtol=RTOL), t1=t1)


def usable(*runs):
    for sol in runs:
        if sol.stats.non_unique or sol.stats.nearest_bifurcation < NEAR:
            pytest.skip(f"a bifurcation at distance {sol.stats.nearest_bifurcation:.1e}")


def times(t1):
    return np.linspace(0.0, t1, 9)[1:]


def close(found, expected):
    assert np.all(np.abs(found - expected) <= GAP * np.maximum(1.0, np.abs(expected)))


def in_units(problem, t1, kx, ky):
    """(problem, end time) in units in which inputs are kx and labels ky times as large.

    Both layers: (w, a) times sqrt(ky / kx), t over kx ky. First layer alone: w times ky / kx, t over kx^2.
    """
    init = problem.init
    if problem.train == "first":
        log_w, log_a = init.log_scales
        init, slower = rf.Params(ky / kx * init.w, init.a, log_scale=log_w, log_scale_a=log_a), kx * kx
    else:
        init, slower = resized(init, np.sqrt(ky / kx)), kx * ky
    return changed(problem, x=kx * problem.data.x, y=ky * problem.data.y, init=init), t1 / slower


UNITS = {"labels": (0, 1), "inputs": (1, 0), "time": (1, 1)}
every_unit = pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)


@every_unit
@every_problem
def test_units_that_are_powers_of_2_take_the_same_steps_to_the_same_outputs(seed, unit):
    problem, t1 = draw(seed)
    k = 4.0 ** np.random.default_rng([seed, 1]).integers(-60, 60)
    kx, ky = k ** unit[0], k ** unit[1]
    other, end = in_units(problem, t1, kx, ky)
    one, two = run(problem, t1), run(other, end)
    found, expected = two.outputs_at(times(end)) / ky, one.outputs_at(times(t1))
    assert (two.stats.steps, two.stats.events) == (one.stats.steps, one.stats.events)
    if problem.train == "first":
        # No logarithm is taken: the same bits.
        assert np.array_equal(found, expected) and np.array_equal(two.events.t * (t1 / end), one.events.t)
    else:
        # log |w| and log k are rounded, to 1e-14 of a size.
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1.0, np.max(np.abs(expected))))


@every_unit
@every_problem
def test_units_that_are_powers_of_10_change_outputs_by_less_than_1e_9(seed, unit):
    problem, t1 = draw(seed)
    k = 10.0 ** np.random.default_rng([seed, 2]).integers(-30, 30)
    kx, ky = k ** unit[0], k ** unit[1]
    other, end = in_units(problem, t1, kx, ky)
    one, two = run(problem, t1), run(other, end)
    usable(one, two)
    found, expected = two.outputs_at(times(end)) / ky, one.outputs_at(times(t1))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * max(1.0, np.max(np.abs(expected))))
    assert two.stats.events == one.stats.events


@every_problem
def test_data_and_neurons_in_another_order_give_the_same_outputs(seed):
    problem, t1 = draw(seed)
    rng, init = np.random.default_rng([seed, 3]), problem.init
    rows, neurons = rng.permutation(problem.data.n), rng.permutation(init.width)
    log_w, log_a = (scale[neurons] for scale in init.log_scales)
    shuffled = rf.Params(init.w[neurons], init.a[neurons], log_scale=log_w, log_scale_a=log_a)
    other = changed(problem, x=problem.data.x[rows], y=problem.data.y[rows], init=shuffled)
    one, two = run(problem, t1), run(other, t1)
    usable(one, two)
    close(two.outputs_at(times(t1)), one.outputs_at(times(t1))[:, rows])
    assert two.stats.events == one.stats.events


@every_problem
def test_a_run_goes_on_from_where_another_ended(seed):
    problem, t1 = draw(seed)
    cut = float(np.random.default_rng([seed, 4]).uniform(0.2, 0.8)) * t1
    whole, before = run(problem, t1), run(problem, cut)
    after = run(changed(problem, init=before.final), t1 - cut)
    usable(whole, after)
    t = np.linspace(cut, t1, 7)
    close(after.outputs_at(t - cut), whole.outputs_at(t))
    # A neuron that slides or has died starts anew on its surface, which is an event of the second run at its start.
    kinds = ("on", "off")
    later = whole.events[(whole.events.t > cut + GAP * t1) & np.isin(whole.events.kind, kinds)]
    again = after.events[(after.events.t > GAP * t1) & np.isin(after.events.kind, kinds)]
    np.testing.assert_allclose(again.t + cut, later.t, rtol=GAP, atol=GAP)


@every_problem
def test_the_same_datum_twice_is_one_with_the_mean_of_the_labels(seed):
    # (f - y)^2 + (f - z)^2 = 2 (f - (y + z) / 2)^2 + const: a row sqrt(2) x with label (y + z) / sqrt(2), summed.
    problem, t1 = draw(seed)
    x, y = problem.data.x, problem.data.y
    z = float(np.random.default_rng([seed, 5]).normal())
    keep = dict(activation=problem.activation, train=problem.train, reduction="sum")
    twice = rf.Problem(rf.Data(np.vstack([x, x[:1]]), np.append(y, z)), problem.init, **keep)
    root = np.sqrt(2.0)
    once = rf.Problem(
        rf.Data(np.vstack([root * x[:1], x[1:]]), np.append((y[0] + z) / root, y[1:])), problem.init, **keep
    )
    one, two = run(once, t1 / problem.data.n), run(twice, t1 / problem.data.n)
    usable(one, two)
    found, expected = two.outputs_at(times(two.t_end)), one.outputs_at(times(one.t_end))
    close(found[:, :-1], expected / np.where(np.arange(problem.data.n) == 0, root, 1.0))
    close(found[:, -1], found[:, 0])


@every_problem
def test_copies_of_a_neuron_are_one_neuron(seed):
    # With k = 3 copies, (w, a) / sqrt(k) each: f is the same, and w' = a D, a' = <w, D> are linear in (w, a). When a is
    # fixed it is divided too, and w' = a D keeps w / sqrt(k).
    problem, t1 = draw(seed)
    init, j = problem.init, seed % problem.init.width
    rows = np.append(np.arange(init.width), [j, j])
    shrink = np.sqrt(np.where(rows == j, 3.0, 1.0))
    log_w, log_a = (scale[rows] for scale in init.log_scales)
    copies = rf.Params(init.w[rows] / shrink[:, None], init.a[rows] / shrink, log_scale=log_w, log_scale_a=log_a)
    one, two = run(problem, t1), run(changed(problem, init=copies), t1)
    usable(one, two)
    close(two.outputs_at(times(t1)), one.outputs_at(times(t1)))


@every_problem
def test_turned_inputs_and_weights_give_the_same_outputs(seed):
    problem, t1 = draw(seed)
    turn = np.linalg.qr(np.random.default_rng([seed, 6]).normal(size=(problem.data.d,) * 2))[0]
    log_w, log_a = problem.init.log_scales
    init = rf.Params(problem.init.w @ turn, problem.init.a, log_scale=log_w, log_scale_a=log_a)
    one, two = run(problem, t1), run(changed(problem, x=problem.data.x @ turn, init=init), t1)
    usable(one, two)
    close(two.outputs_at(times(t1)), one.outputs_at(times(t1)))
    assert two.stats.events == one.stats.events
