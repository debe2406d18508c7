"""Symmetries of the flow, as properties of runs: what must not change when the problem is written differently.

Both runs are right to 100 rtol (relative to max(1, |f|), times to max(1, t)), so they may differ by 200 rtol and not
more. A run that passed within 1e-5 of a bifurcation is no evidence for or against a symmetry and is set aside, as is
one with an event that is not unique; `test_few_runs_are_set_aside` says how many.
"""

import numpy as np
import pytest
from support.problems import random_balanced, random_unbalanced

import reluflow as rf

RTOL = 1e-9
GAP = 200 * RTOL
NEAR = 1e-5


def seeds(light: int, full: int):
    return [pytest.param(k, marks=() if k < light else pytest.mark.exhaustive) for k in range(full)]


def draw(seed, loss=None):
    """A random problem and a time: balanced, unbalanced, or of the first layer alone, by turns; `loss` as given."""
    problem, t1 = (
        random_balanced(97 * seed + 5, scales=(0.0, -1.0, -3.0, -10.0)),
        random_unbalanced(seed, "both"),
        random_balanced(61 * seed + 2, scales=(-1.0, -25.0)),
        random_unbalanced(seed, "first"),
    )[seed % 4]
    if loss == "square" and problem.loss != "square":
        labels = problem.data.y * np.linspace(0.3, 1.4, problem.data.n)
        problem = changed(problem, y=labels, loss="square")
    return problem, t1


def changed(problem, *, x=None, y=None, w=None, a=None, log_scale=None, log_scale_a=None, **other):
    """The problem with some of its parts replaced."""
    data, init = problem.data, problem.init
    scales = init.log_scales
    init = rf.Params(
        init.w if w is None else w,
        init.a if a is None else a,
        log_scale=scales[0] if log_scale is None else log_scale,
        log_scale_a=scales[1] if log_scale_a is None else log_scale_a,
    )
    keep = {k: getattr(problem, k) for k in ("loss", "reduction", "activation", "train")}
    return rf.Problem(rf.Data(data.x if x is None else x, data.y if y is None else y), init, **(keep | other))


def run(problem, t1):
    return rf.solve(problem, rf.Flow(rtol=RTOL), t1=t1)


def usable(*runs):
    """Skips a test whose runs passed a bifurcation."""
    for sol in runs:
        distance = 0.0 if sol.stats.non_unique else sol.stats.nearest_bifurcation
        if distance < NEAR:
            pytest.skip(f"a bifurcation at distance {distance:.1e}")


def story(sol, t1, neuron=None, datum=None, time=1.0):
    """Times of each (neuron, datum, kind) up to the promise before t1, renamed and rescaled."""
    e, found = sol.events, {}
    for t, j, i, kind in zip(e.t * time, e.neuron.tolist(), e.datum.tolist(), e.kind.tolist(), strict=True):
        j = j if neuron is None else neuron[j]
        i = i if datum is None or i < 0 else datum[i]
        if j is not None and t < t1 * (1 - GAP):
            found.setdefault((j, i, kind), []).append(float(t))
    return found


def same_story(one, two):
    assert one.keys() == two.keys()
    for key, times in one.items():
        np.testing.assert_allclose(times, two[key], rtol=GAP, atol=GAP, err_msg=str(key))


def same_outputs(found, expected, unit=1.0):
    """`unit` is the size that counts as 1 in the problem whose outputs are `expected`."""
    assert np.all(np.abs(found - expected) <= GAP * np.maximum(max(1.0, unit), np.abs(expected)))


def times(t1):
    return np.linspace(0.0, t1, 9)[1:]


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_a_rotation_of_the_inputs_changes_nothing(seed):
    problem, t1 = draw(seed)
    R = np.linalg.qr(np.random.default_rng([seed, 1]).normal(size=(problem.data.d,) * 2))[0]
    turned = changed(problem, x=problem.data.x @ R, w=problem.init.w @ R)
    one, two = run(problem, t1), run(turned, t1)
    usable(one, two)
    same_outputs(two.outputs_at(times(t1)), one.outputs_at(times(t1)))
    same_story(story(one, t1), story(two, t1))


@pytest.mark.parametrize("k", [0.25, 3.0])
@pytest.mark.parametrize("seed", seeds(6, 40))
def test_data_k_times_as_large_are_learnt_k_squared_times_as_fast(seed, k):
    # Square loss: f(k x) = k f(x) for the same weights, residuals are k times as large, and D = sum g x is k^2 times D.
    problem, t1 = draw(seed, loss="square")
    scaled = changed(problem, x=k * problem.data.x, y=k * problem.data.y)
    one, two = run(problem, t1), run(scaled, t1 / k**2)
    usable(one, two)
    same_outputs(two.outputs_at(times(t1 / k**2)), k * one.outputs_at(times(t1)), unit=k)
    same_story(story(one, t1), story(two, t1, time=k**2))


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_the_order_of_neurons_and_of_data_does_not_matter(seed):
    problem, t1 = draw(seed)
    rng = np.random.default_rng([seed, 2])
    neurons, rows = rng.permutation(problem.init.width), rng.permutation(problem.data.n)
    log_w, log_a = problem.init.log_scales
    shuffled = changed(
        problem, x=problem.data.x[rows], y=problem.data.y[rows], w=problem.init.w[neurons], a=problem.init.a[neurons],
        log_scale=log_w[neurons], log_scale_a=log_a[neurons],
    )  # fmt: skip
    one, two = run(problem, t1), run(shuffled, t1)
    usable(one, two)
    same_outputs(two.outputs_at(times(t1)), one.outputs_at(times(t1))[:, rows])
    same_story(story(one, t1), story(two, t1, neuron=neurons.tolist(), datum=rows.tolist()))


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_a_neuron_split_in_two_is_the_same_neuron(seed):
    # (w, a) and two copies of (w, a) / sqrt 2 have the same output, and w' = a D, a' = <w, D> are linear in (w, a).
    problem, t1 = draw(seed)
    init = problem.init
    j = seed % init.width
    log_w, log_a = (np.append(s, s[j]) for s in init.log_scales)
    for s in (log_w, log_a):
        s[[j, -1]] -= np.log(2.0) / 2
    split = changed(
        problem, w=np.vstack([init.w, init.w[j]]), a=np.append(init.a, init.a[j]), log_scale=log_w, log_scale_a=log_a
    )
    one, two = run(problem, t1), run(split, t1)
    usable(one, two)
    same_outputs(two.outputs_at(times(t1)), one.outputs_at(times(t1)))
    kept = list(range(init.width))
    same_story(story(one, t1), story(two, t1, neuron=[*kept, None]))
    twin = [None] * (init.width + 1)
    twin[-1] = j
    only = [j if k == j else None for k in kept]
    same_story(story(one, t1, neuron=only), story(two, t1, neuron=twin))


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_turning_labels_and_output_weights_round_turns_the_outputs_round(seed):
    problem, t1 = draw(seed)
    mirrored = changed(problem, y=-problem.data.y, a=-problem.init.a)
    one, two = run(problem, t1), run(mirrored, t1)
    if problem.train == "first" or np.all(np.abs(one.a) == 1.0):
        # The same steps, to the last bit.
        np.testing.assert_array_equal(two.outputs_at(times(t1)), -one.outputs_at(times(t1)))
        np.testing.assert_array_equal(two.events.t, one.events.t)
        np.testing.assert_array_equal(two.events.code, one.events.code)
        return
    usable(one, two)  # unbalanced: 1 - b and 1 + b change places
    same_outputs(two.outputs_at(times(t1)), -one.outputs_at(times(t1)))
    same_story(story(one, t1), story(two, t1))


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_the_mean_is_the_sum_n_times_as_slow(seed):
    problem, t1 = draw(seed)
    n = problem.data.n
    t1 = t1 if problem.reduction == "mean" else n * t1
    one = run(changed(problem, reduction="mean"), t1)
    two = run(changed(problem, reduction="sum"), t1 / n)
    usable(one, two)
    same_outputs(two.outputs_at(times(t1 / n)), one.outputs_at(times(t1)))
    same_story(story(one, t1), story(two, t1, time=n))


@pytest.mark.parametrize("opposite", [False, True])
@pytest.mark.parametrize("seed", seeds(6, 40))
def test_parallel_rows_are_one_row(seed, opposite):
    # Rows alpha_i e with labels y_i, square loss, summed: 1/2 sum (alpha_i u - y_i)^2 = 1/2 A (u - B/A)^2 + const with
    # A = sum alpha_i^2, B = sum alpha_i y_i: they pull like one row sqrt(A) e with label B / sqrt(A). Rows of the other
    # sign of alpha see the other side of the same surface: for them only slope 1, where f(-x) = -f(x), merges so.
    problem, t1 = draw(seed, loss="square")
    rng = np.random.default_rng([seed, 3])
    alpha = np.array([1.0, 1.0, rng.uniform(0.3, 2.0)])
    if opposite:
        alpha[2] *= -1.0
        problem = changed(problem, activation=rf.LeakyReLU(1.0))
    labels = np.append(problem.data.y[0], rng.normal(size=2))
    e, rest = problem.data.x[0], problem.data.x[1:]
    others = problem.data.y[1:]
    many = changed(problem, x=np.vstack([np.outer(alpha, e), rest]), y=np.append(labels, others), reduction="sum")
    A, B = alpha @ alpha, alpha @ labels
    x = np.vstack([np.sqrt(A) * e, rest])
    merged = changed(problem, x=x, y=np.append(B / np.sqrt(A), others), reduction="sum")
    one, two = run(many, t1), run(merged, t1)
    usable(one, two)
    found = two.outputs_at(times(t1))
    expected = np.column_stack([np.outer(found[:, 0], alpha / np.sqrt(A)), found[:, 1:]])
    same_outputs(one.outputs_at(times(t1)), expected, unit=2.0)
    if not opposite:
        rename = [0, None, None, *range(1, problem.data.n)]
        e1 = story(one, t1, datum=rename)
        same_story({k: v for k, v in e1.items() if k[1] is not None}, story(two, t1))


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_a_dead_neuron_changes_nothing_and_stays_as_it_is(seed):
    problem, t1 = draw(seed)
    x = np.array(problem.data.x)
    x[:, 0] = 0.2 + np.abs(x[:, 0])  # all rows in one half-space, so that -e_1 sees none of them
    problem = changed(problem, x=x, activation=rf.ReLU())
    init = problem.init
    w = np.append(-np.ones(1), np.zeros(init.dim - 1))
    log_w, log_a = (np.append(s, -1.0) for s in init.log_scales)
    extra = changed(problem, w=np.vstack([init.w, w]), a=np.append(init.a, 1.0), log_scale=log_w, log_scale_a=log_a)
    one, two = run(problem, t1), run(extra, t1)
    usable(one, two)
    same_outputs(two.outputs_at(times(t1)), one.outputs_at(times(t1)))
    same_story(story(one, t1), story(two, t1, neuron=[*range(init.width), None]))
    own = two.events[two.events.neuron == init.width]
    assert own.kind.tolist() == ["dead"] and own.t.tolist() == [0.0]
    final = two.final
    size = np.exp(np.broadcast_to(final.log_scale, final.a.shape)[-1])
    np.testing.assert_allclose(size * final.w[-1], np.exp(-1.0) * w, rtol=0, atol=1e-15)
    np.testing.assert_allclose(size * final.a[-1], np.exp(-1.0), rtol=1e-15)


def test_few_runs_are_set_aside():
    runs = [run(*draw(seed)) for seed in range(60)]
    aside = [s.stats.non_unique > 0 or s.stats.nearest_bifurcation < NEAR for s in runs]
    assert np.mean(aside) < 0.25
