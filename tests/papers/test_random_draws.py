"""Random data, starts and methods: where a check's hypotheses are met none of its claims is violated.

The standard subjects are chosen; these are not. Claims about limits and with constants of our own count as well.
"""

import numpy as np
import pytest

import reluflow as rf

LIMITS = rf.Limits(steps=50_000)


def orthogonal(rng, seed):
    n, m = int(rng.integers(2, 5)), int(rng.integers(2, 40))
    y = rng.normal(size=n) * np.exp(rng.normal())
    y[:2] = abs(y[0]) + 0.02, -abs(y[1]) - 0.02
    norms = np.ones(n) if rng.uniform() < 0.7 else rng.uniform(0.5, 2.0, n)
    start = rf.init.balanced(m, n, log_scale=-float(np.exp(rng.uniform(0.0, np.log(600.0)))), seed=seed)
    return rf.solve(rf.Problem(rf.Data(np.diag(norms), y), start), rf.Flow(rtol=1e-8), limits=LIMITS, throw=False)


def separable(rng, seed):
    n, d, m = int(rng.integers(2, 7)), int(rng.integers(1, 5)), int(rng.integers(2, 20))
    y = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    axis = rng.normal(size=d)
    noise = rng.uniform(0.0, 0.5) * rng.normal(size=(n, d)) / np.sqrt(d)
    x = y[:, None] * (axis / np.linalg.norm(axis) + noise) * rng.uniform(0.5, 2.0, size=(n, 1))
    scale = -float(np.exp(rng.uniform(0.0, np.log(9000.0))))
    loss = ("exponential", "logistic2", "logistic")[int(rng.integers(3))]
    problem = rf.Problem(rf.Data(x, y), rf.init.balanced(m, d, log_scale=scale, seed=seed), loss=loss)
    return rf.solve(problem, rf.Flow(rtol=1e-9), t1=40.0 - 20.0 * scale, limits=LIMITS, throw=False)


def nearly_orthogonal(rng, seed):
    n, m = 2 * int(rng.integers(1, 7)), int(rng.integers(1, 30))
    d = n + int(rng.integers(0, 20))
    norms = np.ones((n, 1)) if rng.uniform() < 0.6 else rng.uniform(0.7, 1.4, size=(n, 1))
    x = np.eye(n, d) * norms + (rng.uniform() < 0.5) * rng.uniform(0.0, 0.01) * rng.normal(size=(n, d))
    leaky = rf.LeakyReLU(float(rng.uniform(0.1, 0.9)), at_zero=1.0)
    start = rf.init.fixed_output(m, d, log_scale=-float(rng.uniform(1.0, 8.0)), seed=seed)
    how = dict(loss="logistic", activation=rf.ReLU(at_zero=1.0) if rng.uniform() < 0.5 else leaky, train="first")
    problem = rf.Problem(rf.Data(x, np.where(np.arange(n) % 2, 1.0, -1.0)), start, **how)
    if rng.uniform() < 0.5:
        end = float(np.exp(rng.uniform(np.log(5.0), np.log(230.0))))
        return rf.solve(problem, rf.Flow(rtol=1e-9), log_t1=end, limits=LIMITS, throw=False)
    step = float(np.exp(rng.uniform(-4.0, 1.0)))
    return rf.solve(problem, rf.Descent(step=step), t1=float(np.exp(rng.uniform(2.0, 9.0))), throw=False)


DRAWN = {"boursier2022": orthogonal, "min2024": separable, "kou2023": nearly_orthogonal}
COUNT = {"boursier2022": 40, "min2024": 60, "kou2023": 120}


def every():
    return [(paper, seed) for paper, count in COUNT.items() for seed in range(count)]


def drawn(paper, seed):
    return DRAWN[paper](np.random.default_rng([seed, 24]), seed)


def judged(paper, seed):
    """Checks that apply to a draw, and what is violated; that an assumption fails contradicts nothing."""
    sol = drawn(paper, seed)
    applied, bad = [], []
    for check in rf.checks(paper):
        of = {"data": sol.problem.data, "problem": sol.problem}.get(check.needs, sol)
        if check.needs in ("nothing", "single") or "assumption" in check.name:
            continue
        try:
            report = rf.check(check.name, of)
        except (ValueError, TypeError):  # not a subject of this check: a sentence says so
            continue
        if report.applies:
            applied.append(check.name)
            bad += [f"{check.name}: {c}" for c in report.violated]
    return applied, bad


@pytest.mark.parametrize(("paper", "count"), [("boursier2022", 1), ("min2024", 2), ("kou2023", 2)])
def test_random_draws_that_meet_the_hypotheses_violate_nothing(paper, count):
    found = [judged(paper, seed) for seed in range(count)]
    assert any(applied for applied, _ in found)
    assert not [text for _, bad in found for text in bad]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("paper", "seed"), every())
def test_no_random_draw_that_meets_the_hypotheses_violates_anything(paper, seed):
    assert not judged(paper, seed)[1]


def test_directions_that_are_off_by_rtol_do_not_violate_the_low_rank_bias():
    # A group of e^-25 follows its class at steps of e^22 each, and is rank one up to 1e-9, which is rtol.
    report = rf.check("min2024.low_rank", drawn("min2024", 28))
    excess = next(c for c in report.claims if "|W+|_F^2 afterwards" in c.text)
    assert report.applies and report.ok and 1e-20 < excess.measured < 1e-14
