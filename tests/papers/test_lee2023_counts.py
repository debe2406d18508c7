"""Lee et al. in numbers: grids of population runs, random descents, the hypergeometric function."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest

import reluflow as rf
from reluflow import single
from reluflow.papers.lee2023._bounds import hypergeometric, implicit, log_magnitude
from reluflow.papers.lee2023.criterion11 import first_integral, turning_point

GRID = list(product(range(4), (0.7, 1.0, 2.0), np.geomspace(0.01, 5.0, 9), np.linspace(0.1, 3.0, 8)))


def judge(m, target, ratio, phi):
    """Every corrected bound on one population run."""
    unit = 30.0 + 3.0 * ratio ** (1 - m)
    problem = single.Problem(m=m, norm=ratio * target, phi=phi, target=target)
    run = single.solve(problem, rf.Flow(rtol=1e-10), t1=unit / target ** (2 * m))
    for name in ["theorem3_4", "theorem3_8", "always_valid", "criterion11"] + ["theorem3_3"] * (m == 0):
        report = rf.check(f"lee2023.{name}", run)
        assert report.ok and report.applies, report


@pytest.mark.parametrize("case", GRID[17::48])
def test_no_population_run_violates_a_corrected_bound(case):
    judge(*case)


@pytest.mark.exhaustive
def test_none_of_864_population_runs_violates_a_corrected_bound():
    assert len(GRID) == 864
    for case in GRID:
        judge(*case)


def test_theorem_a1_is_exact_for_every_step_below_2_on_400_trials():
    rng = np.random.default_rng(0)
    for _ in range(400):
        ratio, phi, eta = math.exp(rng.uniform(-5, 2)), rng.uniform(0.02, 3.12), rng.uniform(0.01, 1.99)
        run = single.solve(single.Problem(norm=ratio, phi=phi), rf.Descent(step=eta), eta * 100)
        report = rf.check("lee2023.theorem_a1", run)
        assert report.ok and report.applies, report


def test_theorem_a1_is_false_for_longer_steps():
    run = single.solve(single.Problem(norm=3.0, phi=1.0), rf.Descent(step=3.0), 3.0 * 20)
    report = rf.check("lee2023.theorem_a1", run)
    assert not report.applies and not report.ok


def random_descents(seed, trials, depths=(0, 1, 2)):
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        m, ratio, phi = rng.choice(depths), math.exp(rng.uniform(-3, 1)), rng.uniform(0.1, 3.05)
        eta = math.exp(rng.uniform(math.log(3e-3), math.log(0.3)))
        try:
            yield single.solve(single.Problem(m=int(m), norm=ratio, phi=phi), rf.Descent(step=eta), eta * 300)
        except ValueError:  # the first step carried a v_k past 0
            continue


def angles_are_bounded(seed, trials):
    judged = 0
    for run in random_descents(seed, trials):
        report = rf.check("lee2023.theorem4_2", run)
        if report.applies:
            judged += 1
            assert report.ok, report
            assert rf.check("lee2023.corollary4_3", run).ok
    return judged


def test_the_exact_angle_bounds_of_descent_hold_for_random_steps():
    assert angles_are_bounded(1, 60) > 50


@pytest.mark.exhaustive
def test_the_exact_angle_bounds_of_descent_hold_for_2000_random_steps():
    assert angles_are_bounded(2, 2000) > 1800


@pytest.mark.parametrize("m", [0, 2, 3, 4, 7])
def test_the_hypergeometric_function_is_right_on_both_sides_of_1(m):
    with mpmath.workdps(40):
        for z in (1e-6, 0.1, 0.499, 0.501, 0.9, 0.999, 1 - 1e-9, 1 + 1e-9, 1.001, 1.1, 1.499, 1.501, 2.0, 24.0, 1e6):
            exact = mpmath.re(mpmath.hyp2f1(1, mpmath.mpf(1 - m) / (m + 1), mpmath.mpf(2) / (m + 1), mpmath.mpf(z)))
            # 1 - z is all that the function sees near 1.
            assert abs(float(hypergeometric(m, z)) - float(exact)) < 1e-13 * max(1.0, abs(float(exact)))


def test_three_outer_layers_have_the_elementary_form():
    z = np.array([0.2, 0.7, 1.3, 5.0])
    root = np.sqrt(z)
    exact = 1 - root * np.where(z < 1, np.arctanh(np.minimum(root, 0.99)), np.arctanh(np.minimum(1 / root, 0.99)))
    np.testing.assert_allclose(hypergeometric(3, z), exact, rtol=1e-12)


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("v0", [0.3, 0.99, 1.01, 2.5])
def test_the_implicit_equation_is_solved_by_the_bound(m, v0):
    t = np.array([0.01, 0.1, 0.5, 1.0])
    for eps in (0.0, 0.3):
        u = np.exp(log_magnitude(m, math.log(v0), eps, np.log(t)))
        residual = implicit(m, u, 1 - eps) - implicit(m, v0, 1 - eps) + t / 2
        # u is right to 1e-11, and F changes by du / |u^m (u^(m+1) - A)|.
        steep = 1.0 / np.abs(u**m * (u ** (m + 1) - 1 + eps))
        assert np.all(np.abs(residual) < 1e-9 * (1 + steep))


def test_the_bound_of_two_layers_is_the_explicit_one():
    t, v0, eps = np.array([0.1, 1.0, 5.0]), 0.3, 0.4
    exact = np.sqrt((1 - eps) / (1 - (1 - (1 - eps) / v0**2) * np.exp(-(1 - eps) * t)))
    np.testing.assert_allclose(np.exp(log_magnitude(1, math.log(v0), eps, np.log(t))), exact, rtol=1e-13)


# Minima of v/v* at phi_0 = pi/2 for m = 0..3 [handbook, criterion (11)].
MINIMA = {
    1.0: (0.704, 0.783, 0.826, 0.854),
    math.sqrt(2): (0.782, 0.830, 0.857, 0.876),
    2.0: (0.837, 0.851, 0.867, 0.881),
}


@pytest.mark.parametrize("ratio", MINIMA)
def test_minima_of_the_magnitude_are_those_of_the_handbook(ratio):
    for m, expected in enumerate(MINIMA[ratio]):
        run = single.solve(single.Problem(m=m, norm=ratio), t1=40.0)
        assert math.exp(turning_point(run)[1]) == pytest.approx(expected, abs=6e-4)


def test_one_layer_comes_down_without_dipping_exactly_when_the_first_integral_is_below_minus_1():
    rng, seen = np.random.default_rng(0), set()
    for _ in range(40):
        ratio, phi = math.exp(rng.uniform(0.05, 2.0)), rng.uniform(1.0, 3.1)
        problem = single.Problem(norm=ratio, phi=phi)
        report = rf.check("lee2023.criterion11", single.solve(problem, t1=80.0))
        assert report.ok and any("K" in c.text for c in report.claims), report
        seen.add(first_integral(math.log(ratio), problem.y0) < -1)
    assert seen == {True, False}
