"""Rows that share a hyperplane, rows that are orthogonal only to rounding, rows of zeros."""

import numpy as np
import pytest
from support import euler

import reluflow as rf

FULL = 40


def parallel_problem(seed, kind):
    """Random data in which some rows repeat others, up to a factor (negative for "opposites"), labels drawn anew."""
    rng = np.random.default_rng([seed, 79])
    base = rng.normal(size=(int(rng.integers(2, 4)), int(rng.integers(2, 4))))
    back = np.r_[np.arange(len(base)), rng.integers(0, len(base), size=3)]
    factor = np.r_[
        np.ones(len(base)),
        {"duplicates": np.ones(3), "multiples": rng.uniform(0.3, 3.0, 3)}.get(kind, -rng.uniform(0.3, 3.0, 3)),
    ]
    x, y = base[back] * factor[:, None], rng.normal(size=len(back))
    init = rf.init.balanced(8, base.shape[1], log_scale=-1.0, seed=seed)
    return x, y, init, back, factor, base


@pytest.mark.parametrize("kind", ["duplicates", "multiples"])
@pytest.mark.parametrize("seed", [pytest.param(s, marks=() if s < 4 else pytest.mark.exhaustive) for s in range(FULL)])
def test_parallel_rows_equal_the_data_merged_by_hand(kind, seed):
    x, y, init, back, factor, base = parallel_problem(seed, kind)
    # sum_i (f_i alpha - y_i)^2 over a direction is A f^2 - 2 B f + const: one row sqrt(A) x with label B / sqrt(A).
    A = np.bincount(back, factor**2)
    B = np.bincount(back, factor * y)
    merged = rf.Data(base * np.sqrt(A)[:, None], B / np.sqrt(A))
    t = np.linspace(0.0, 6.0, 13)
    whole = rf.solve(rf.Problem(rf.Data(x, y), init, reduction="sum"), rf.Flow(rtol=1e-9), t1=6.0)
    hand = rf.solve(rf.Problem(merged, init, reduction="sum"), rf.Flow(rtol=1e-9), t1=6.0)
    np.testing.assert_allclose(whole.outputs_at(t)[:, : len(base)], hand.outputs_at(t) / np.sqrt(A), atol=1e-7)
    # An event that the tolerance itself moves is not determined (a slid neuron whose push decays to nothing lets go
    # when rounding says so): the lists are compared up to the first such one.
    tight = rf.solve(rf.Problem(rf.Data(x, y), init, reduction="sum"), rf.Flow(rtol=1e-10), t1=6.0)
    mine, again, theirs = (s.events[s.events.datum < len(base)] for s in (whole, tight, hand))
    n = min(len(mine), len(again))
    sure = (mine.code[:n] == again.code[:n]) & (np.abs(mine.t[:n] - again.t[:n]) < 1e-6)
    n = int(np.argmin(np.r_[sure, False]))
    assert n >= 0.6 * len(mine)
    np.testing.assert_array_equal(mine.kind[:n], theirs.kind[:n])
    np.testing.assert_allclose(mine.t[:n], theirs.t[:n], atol=1e-5)


@pytest.mark.parametrize("loss", ["square", "logistic", "exponential"])
@pytest.mark.parametrize("seed", [pytest.param(s, marks=() if s < 3 else pytest.mark.exhaustive) for s in range(FULL)])
def test_opposite_rows_agree_with_polar_euler(seed, loss):
    x, y, init, *_ = parallel_problem(seed, "opposites")
    problem = rf.Problem(rf.Data(x, y if loss == "square" else np.sign(y)), init, loss=loss)
    expected, spread = euler.reference(problem, 10.0, 8000)
    sol = rf.solve(problem, rf.Flow(rtol=1e-8), t1=10.0)
    assert np.all(np.abs(sol.outputs_at(np.linspace(0.0, 10.0, 9)) - expected) <= spread + 1e-6)


def test_an_opposite_row_sees_every_event_the_other_way_round():
    x, y, init, back, _, base = parallel_problem(3, "opposites")
    sol = rf.solve(rf.Problem(rf.Data(x, y), init), rf.Flow(rtol=1e-8), t1=10.0)
    mirror = {"on": "off", "off": "on", "release_on": "release_off", "release_off": "release_on", "slide": "slide"}
    seen = 0
    for i in range(len(base), len(x)):
        mine = sol.events[sol.events.datum == i]
        theirs = sol.events[sol.events.datum == back[i]]
        assert [mirror[k] for k in mine.kind] == list(theirs.kind)
        np.testing.assert_array_equal(mine.t, theirs.t)
        seen += len(mine)
    assert seen > 0


@pytest.mark.parametrize("seed", range(5))
def test_orthonormal_up_to_rounding_gives_the_events_of_the_exact_data(seed):
    rng = np.random.default_rng(seed)
    n, d = 5, 9
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    y = np.array([1.3, 0.8, -0.6, -0.9, 1.1])
    init = rf.init.balanced(30, d, log_scale=-300.0, seed=seed)
    exact = rf.solve(rf.Problem(rf.Data(np.eye(n, d), y), init), rf.Flow(rtol=1e-8))
    turned = rf.Params(init.w @ Q.T, init.a, log_scale=-300.0)
    rounded = rf.solve(rf.Problem(rf.Data((Q @ np.eye(d, n)).T, y), turned), rf.Flow(rtol=1e-8))
    assert set(exact.events.kind) <= {"off", "dead"}
    order_a, order_b = (np.lexsort((s.events.datum, s.events.neuron)) for s in (exact, rounded))
    for column in ("neuron", "datum", "kind"):
        np.testing.assert_array_equal(getattr(rounded.events, column)[order_b], getattr(exact.events, column)[order_a])
    np.testing.assert_allclose(rounded.events.t[order_b], exact.events.t[order_a], rtol=1e-6)


def test_zero_rows_change_nothing_but_the_mean():
    x, y = np.array([[1.0, 0.3], [0.2, -1.0]]), np.array([1.0, -0.5])
    init = rf.init.balanced(6, 2, log_scale=-2.0, seed=4)
    plain = rf.solve(rf.Problem(rf.Data(x, y), init, reduction="sum"), t1=5.0)
    padded = rf.Data(np.vstack([x, np.zeros(2)]), np.r_[y, 7.0])
    sol = rf.solve(rf.Problem(padded, init, reduction="sum"), t1=5.0)
    np.testing.assert_allclose(sol.outputs_at(5.0), np.r_[plain.outputs_at(5.0), 0.0], atol=1e-8)
    assert sol.loss_at(5.0) == pytest.approx(plain.loss_at(5.0) + 0.5 * 49.0, rel=1e-9)
    assert not np.any(sol.events.datum == 2)


def test_a_neuron_that_starts_on_a_repelling_surface_stays_off_and_says_so():
    # E.4 of Min et al.: x = (1, 0), y = +1, w = (0, 1): the constant curve is the regular solution.
    problem = rf.Problem(
        rf.Data([[1.0, 0.0]], [1.0]), rf.Params([[0.0, 1.0]], [1.0]), loss="exponential", reduction="sum"
    )
    sol = rf.solve(problem, t1=3.0)
    assert sol.stats.non_unique == 1 and not sol.events.unique[0]
    np.testing.assert_array_equal(sol.final.w, [[0.0, 1.0]])


def test_symmetric_data_make_one_instant_of_many_events():
    # Four neurons that are mirror images meet the same surface at once.
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    y = np.array([1.0, 1.0, -1.0])
    w = np.array([[0.3, 1.0], [-0.3, 1.0], [0.3, 1.0], [-0.3, 1.0]])
    init = rf.Params(w, np.linalg.norm(w, axis=1) * np.array([1.0, 1.0, -1.0, -1.0]), log_scale=-1.0)
    sol = rf.solve(rf.Problem(rf.Data(x, y), init), rf.Flow(rtol=1e-9), t1=30.0)
    assert sol.outcome.success
    f = sol.outputs_at(np.linspace(0, min(30.0, sol.t[-1]), 20))
    np.testing.assert_allclose(f[:, 0], f[:, 1], atol=1e-9)
    times = sol.events.t[sol.events.datum >= 0]
    assert len(times) > len(np.unique(times))
