"""Descent is the textbook loop, at any scale."""

import numpy as np
import pytest
from tests.support import textbook

import reluflow as rf

LOSSES = ("square", "logistic", "logistic2", "exponential")


def random_problem(seed):
    """Scale 1, every loss, activation, reduction and trained layer."""
    rng = np.random.default_rng([seed, 91])
    n, d, width = int(rng.integers(2, 8)), int(rng.integers(1, 6)), int(rng.integers(2, 14))
    loss = LOSSES[seed % 4]
    y = rng.normal(size=n) if loss == "square" else rng.choice([-1.0, 1.0], n)
    x = rng.normal(size=(n, d)) / np.sqrt(d)
    init = rf.init.gaussian(width, d, log_scale=-0.5 * np.log(width), seed=seed, log_scale_a=-0.5 * np.log(width))
    activation = rf.LeakyReLU((0.0, 0.3, 1.0)[seed % 3])
    train, reduction = ("both", "first")[seed // 4 % 2], ("mean", "sum")[seed // 8 % 2]
    return rf.Problem(rf.Data(x, y), init, loss=loss, reduction=reduction, activation=activation, train=train)


def worst(problem, step, iterations, **kwargs):
    """Largest difference of a weight from the textbook loop, relative to the largest weight."""
    batches = kwargs.pop("batches", None)
    sol = rf.solve(problem, rf.Descent(step, fast_forward=False, **kwargs), t1=step * iterations)
    w, a = textbook.descend(problem, step, iterations, batches)
    found = sol.at(min(step * iterations, sol.t[-1])).arrays()
    size = max(np.max(np.abs(w)), np.max(np.abs(a)))
    return max(np.max(np.abs(found[0] - w)), np.max(np.abs(found[1] - a))) / size


@pytest.mark.parametrize("seed", range(8))
def test_descent_is_the_textbook_loop_to_rounding(seed):
    assert worst(random_problem(seed), 0.02, 400) < 1e-13


@pytest.mark.exhaustive
def test_descent_is_the_textbook_loop_on_50_problems():
    # Chatter turns one rounding into one iteration's difference at most; none of the 50 shows it.
    found = [worst(random_problem(seed), 0.02, 400) for seed in range(50)]
    print(f"\nlargest difference from the textbook loop over 50 problems: {max(found):.1e}")
    assert max(found) < 1e-13


def tiny_problem(seed, width=4):
    rng = np.random.default_rng([seed, 92])
    x = rng.normal(size=(3, 2))
    init = rf.init.balanced(width, 2, log_scale=np.log(1e-200), seed=seed)
    return rf.Problem(rf.Data(x, rng.normal(size=3)), init)


def against_many_digits(seed, step=0.25):
    """(largest error of log norms, directions, outputs; whether it learned) of a run from 1e-200 against 50 digits."""
    problem = tiny_problem(seed)
    # As far as a while after the outputs have become visible.
    scout = rf.solve(problem, rf.Descent(step), t1=20_000 * step, save=rf.Save(frames=2000))
    seen = np.flatnonzero(np.max(np.abs(scout.outputs), axis=1) > 0.1)
    iterations = int(scout.t[seen[0]] / step) + 100
    sol = rf.solve(problem, rf.Descent(step), t1=iterations * step)
    assert sol.stats.steps == iterations
    log_w, direction, log_a, sign, f = textbook.descend_exactly(problem, step, iterations)
    p = sol.final
    scale = p.log_scales[0]
    norm = np.linalg.norm(p.w, axis=1)
    errors = (
        np.max(np.abs(scale + np.log(norm) - log_w) / np.maximum(1, np.abs(log_w))),
        np.max(np.abs(p.w / norm[:, None] - direction)),
        np.max(np.abs(scale + np.log(np.abs(p.a)) - log_a) / np.maximum(1, np.abs(log_a))),
        np.max(np.abs(sol.outputs_at(iterations * step) - f)),
    )
    assert np.all(np.sign(p.a) == sign)
    return max(errors), np.max(np.abs(f)) > 1e-3


def test_descent_from_1e_200_is_the_loop_in_50_digits():
    error, learned = against_many_digits(0)
    assert learned and error < 1e-11


@pytest.mark.exhaustive
def test_descent_from_1e_200_is_the_loop_in_50_digits_on_3():
    found = [against_many_digits(seed) for seed in (0, 1, 5)]
    print("\nerrors against 50 digits from 1e-200:", [f"{e:.1e}" for e, _ in found])
    assert all(learned and error < 1e-11 for error, learned in found)


def test_one_neuron_from_e_minus_5000_grows_by_the_exact_factor_each_iteration():
    # n = width = d = 1, x = 1, y = 1, balanced: w + a gains a factor 1 + step as long as the output is nothing.
    step, log_scale = 0.01, -5000.0
    problem = rf.Problem(rf.Data([[1.0]], [1.0]), rf.Params([[1.0]], [1.0], log_scale=log_scale))
    half = (-log_scale + 0.5 * np.log(0.5)) / np.log1p(step)  # iterations until a |w| = 1/2, but for the saturation
    sol = rf.solve(problem, rf.Descent(step), t1=step * int(half + 2000))
    np.testing.assert_allclose(sol.log_norm[:400, 0], log_scale + sol.t[:400] / step * np.log1p(step), rtol=1e-13)
    assert abs(sol.outputs_at(sol.t[-1])[0] - 1.0) < 1e-12
    assert abs(np.interp(0.5, sol.outputs[:, 0], sol.t) / step - half) < 100


def batches_of(n, batch, seed, iterations):
    """The documented stream."""
    rng, found = np.random.default_rng([seed, 2]), []
    while len(found) < iterations:
        order = rng.permuted(np.arange(n))
        found += [order[k : k + batch] for k in range(0, n, batch)]
    return found


@pytest.mark.parametrize(("seed", "batch"), [(0, 1), (1, 2), (4, 3), (7, 2), (10, 4)])
def test_mini_batches_follow_the_documented_stream(seed, batch):
    problem = random_problem(seed)
    batches = batches_of(problem.data.n, batch, 5, 300)
    assert worst(problem, 0.02, 300, batch=batch, seed=5, batches=batches) < 1e-13


@pytest.mark.parametrize("train", ["both", "first"])
def test_large_problems_use_products_and_give_the_same(train):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 40)) / 7
    problem = rf.Problem(
        rf.Data(x, rng.choice([-1.0, 1.0], 80)), rf.init.gaussian(50, 40, -2.0, 0), loss="logistic", train=train
    )
    assert worst(problem, 0.1, 60) < 1e-13
    assert worst(problem, 0.1, 60, batch=64, seed=1, batches=batches_of(80, 64, 1, 60)) < 1e-13
    assert worst(problem, 0.1, 60, dtype="float32") < 1e-5


def test_float32_keeps_its_digits_and_its_scales():
    # Orthogonal data: nothing chatters, so single roundings stay single.
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-500.0, seed=0))
    one, two = (rf.solve(problem, rf.Descent(0.02, dtype=name), t1=400.0).final for name in ("float64", "float32"))
    logs = [p.log_scales[0] + np.log(np.abs(p.a)) for p in (one, two)]
    assert np.max(logs[0] - one.log_scales[0][0]) > 300 or np.max(logs[0]) > -100  # it grew by hundreds of e-folds
    assert np.max(np.abs(logs[0] - logs[1])) < 2e-3


def test_the_derivative_at_zero_is_what_was_asked_for():
    # From w = 0 nothing moves with s'(0) = 0; with s'(0) = 1 every datum pulls (Kou et al.).
    data = rf.Data([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 1.0])
    init = rf.Params(np.zeros((2, 2)), [0.5, -0.5])
    for at_zero in (0.0, 0.5, 1.0):
        problem = rf.Problem(data, init, loss="logistic", activation=rf.ReLU(at_zero=at_zero), train="first")
        assert worst(problem, 0.1, 50) < 1e-14
        assert np.all(rf.solve(problem, rf.Descent(0.1), t1=1.0).bits_at(0.0) == at_zero)
    still = rf.Problem(data, init, loss="logistic", train="first")
    assert rf.solve(still, rf.Descent(0.1), t1=1.0).outcome is rf.Outcome.STATIONARY


def test_zero_rows_count_in_the_loss_and_nowhere_else():
    x = np.array([[1.0, 0.5], [0.0, 0.0], [-0.3, 1.0]])
    problem = rf.Problem(rf.Data(x, [1.0, 2.0, -1.0]), rf.init.gaussian(6, 2, 0.0, 3), activation=rf.ReLU(at_zero=1.0))
    assert worst(problem, 0.05, 100) < 1e-13
    w, a = problem.init.arrays()
    f = a @ np.maximum(w @ x.T, 0)
    sol = rf.solve(problem, rf.Descent(0.05), t1=1.0)
    assert np.isclose(sol.loss[0], np.mean((f - problem.data.y) ** 2) / 2, rtol=1e-14)
    assert 1 not in sol.events.datum
