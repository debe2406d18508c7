"""Descent of a single neuron, on the population and on a sample."""

import math

import numpy as np
import pytest

import reluflow as rf
from reluflow import single
from reluflow.papers.lee2023.criterion11 import turning_point


def by_vectors(problem, step, iterations):
    """Plain descent on the population in three dimensions, as the paper writes it."""
    m, v_star = problem.m, problem.target
    star = v_star * np.array([2.0, -1.0, 2.0]) / 3
    across = np.array([1.0, 2.0, 0.0]) / math.sqrt(5)
    w = problem.v0 * (-math.cos(problem.phi0) * star / v_star + math.sin(problem.phi0) * across)
    v = problem.v0 * np.array(problem.outer or (1.0,) * m)
    rows = []
    for _ in range(iterations + 1):
        length = np.linalg.norm(w)
        phi = math.pi - math.acos(np.clip(w @ star / length / v_star, -1, 1))
        rows.append((length, phi, *v))
        P, P_star = math.prod(v), v_star**m
        s = (math.sin(phi) - phi * math.cos(phi)) / math.pi
        gw = 0.5 * P * P * w - P * P_star / (2 * math.pi) * (phi * star + v_star / length * math.sin(phi) * w)
        gv = (0.5 * P * P * length**2 - 0.5 * P * P_star * length * v_star * s) / v
        w, v = w - step * gw, v - step * gv
    return np.array(rows)


@pytest.mark.parametrize("m, outer", [(0, None), (1, None), (2, None), (2, (0.5, 2.0))])
def test_population_descent_is_the_plain_iteration(m, outer):
    problem = single.Problem(m=m, norm=0.8, phi=1.2, target=1.3, outer=outer)
    run = single.solve(problem, rf.Descent(step=0.02), 0.02 * 200)
    plain = by_vectors(problem, 0.02, 200)
    np.testing.assert_allclose(run.norm, plain[:, 0], rtol=1e-12)
    np.testing.assert_allclose(run.phi, plain[:, 1], atol=1e-7)  # what arccos gives near pi
    np.testing.assert_allclose(run.outer, plain[:, 2:], rtol=1e-12)


@pytest.mark.parametrize("m", [0, 1, 2])
def test_descent_tends_to_the_flow_like_its_step(m):
    problem = single.Problem(m=m, norm=0.5, phi=1.0)
    exact = single.solve(problem, rf.Flow(rtol=1e-11), 5.0)
    errors = []
    for step in (0.02, 0.01, 0.005):
        run = single.solve(problem, rf.Descent(step=step), 5.0)
        errors.append([abs(run.y[-1] - exact.y[-1]), abs(run.log_norm[-1] - exact.log_norm[-1])])
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert np.all((ratios > 1.85) & (ratios < 2.2))


def test_descent_starts_from_e_to_the_minus_1000():
    # With phi held by alignment, one step multiplies v by 1 + step/2 until v is of order 1.
    run = single.solve(single.Problem(m=1, log_norm=-1000.0, phi=math.pi), rf.Descent(step=0.5), 0.5 * 4000)
    np.testing.assert_allclose(np.diff(run.log_norm[:4000]), math.log1p(0.25), rtol=1e-9)
    # One layer feels a pull that does not shrink with it: the first step lands at (step/2 pi)(phi w* + sin phi n).
    run = single.solve(single.Problem(m=0, log_norm=-1000.0), rf.Descent(step=0.1), 0.1)
    assert run.norm[1] == pytest.approx(0.1 / (2 * math.pi) * math.hypot(math.pi / 2, 1.0), rel=1e-12)
    assert run.theta[1] == pytest.approx(math.atan2(1.0, math.pi / 2), rel=1e-12)


def test_small_angles_of_descent_keep_their_digits():
    run = single.solve(single.Problem(norm=1.0, phi=3.0), rf.Descent(step=0.1), 0.1 * 2000)
    assert run.theta[-1] < 1e-40
    np.testing.assert_allclose(np.diff(run.log_theta)[-100:], math.log1p(-0.05), rtol=1e-12)


@pytest.mark.parametrize("m", [0, 1])
def test_a_sample_gives_what_the_two_layer_engine_gives(m):
    problem = single.Problem(m=m, norm=0.4, phi=1.0, target=1.1)
    sample = single.Sample(n=60, d=5, seed=1)
    run = single.solve(problem, rf.Descent(step=1e-2), 20.0, sample=sample)
    x = sample.inputs(problem.law)
    w = np.zeros((1, 5))
    w[0, :2] = -0.4 * math.cos(1.0), 0.4 * math.sin(1.0)
    data = rf.Data(x, 1.1 ** (m + 1) * np.maximum(x[:, 0], 0))
    twin = rf.Problem(data, rf.Params(w, [0.4 if m else 1.0]), train="both" if m else "first")
    sol = rf.solve(twin, rf.Descent(step=1e-2), t1=20.0)
    final = sol.final.w[0]
    assert run.norm[-1] == pytest.approx(np.linalg.norm(final), rel=1e-10)
    assert run.theta[-1] == pytest.approx(math.atan2(np.linalg.norm(final[1:]), final[0]), rel=1e-8)
    assert run.train_loss[-1] == pytest.approx(sol.loss[-1], rel=1e-7)


def test_a_sample_gives_plain_descent_for_three_layers():
    problem, sample = single.Problem(m=2, norm=1.4, phi=2.0), single.Sample(n=300, d=6, seed=4)
    run = single.solve(problem, rf.Descent(step=0.01), 0.01 * 500, sample=sample)
    x = sample.inputs(problem.law)
    w, v = np.array([-1.4 * math.cos(2.0), 1.4 * math.sin(2.0), 0, 0, 0, 0]), np.array([1.4, 1.4])
    y = np.maximum(x[:, 0], 0)
    for _ in range(500):
        z, p = x @ w, math.prod(v)
        gap = p * np.maximum(z, 0) - y
        gw, gv = p * ((gap * (z > 0)) @ x) / 300, np.mean(gap * np.maximum(z, 0)) * p / v
        w, v = w - 0.01 * gw, v - 0.01 * gv
    assert run.norm[-1] == pytest.approx(np.linalg.norm(w), rel=1e-10)
    np.testing.assert_allclose(run.outer[-1], v, rtol=1e-10)
    gap = math.prod(v) * np.maximum(x @ w, 0) - y
    assert run.train_loss[-1] == pytest.approx(0.5 * np.mean(gap**2), rel=1e-6)


def test_a_large_sample_is_within_a_tenth_of_the_population():
    # O(sqrt(d/n)) = 10% [handbook, section 3]; here the angle that is left half way.
    problem = single.draw(1, 100, 0.5, 2.0, seed=3)
    step = 8e-5
    run = single.solve(problem, rf.Descent(step=step), step * 1000, sample=single.Sample(10_000, 100))
    exact = single.solve(problem, rf.Flow(), step * 1000)
    assert abs(run.y[-1] - exact.y[-1]) < 0.1 * abs(exact.y[-1] - problem.y0) + 0.1
    assert run.norm[-1] == pytest.approx(exact.norm[-1], rel=0.1)


def test_steps_that_kill_the_neuron_or_blow_up_are_reported():
    with pytest.raises(ValueError, match="must keep every v_k positive"):
        single.solve(single.Problem(m=2, norm=3.0), rf.Descent(step=0.5), 5.0)
    with pytest.raises(ValueError, match="must keep every v_k positive"):
        single.solve(single.Problem(m=2, norm=3.0), rf.Descent(step=0.5), 5.0, sample=single.Sample(50, 4))
    with pytest.raises(rf.SolveError, match="smaller `step`"):
        single.solve(single.Problem(norm=1.0), rf.Descent(step=50.0), 50.0 * 500)
    with pytest.raises(ValueError, match="would underflow"):
        single.solve(single.Problem(m=1, log_norm=-400.0), rf.Descent(step=0.1), 1.0, sample=single.Sample(50, 4))


# |w*| = k* sqrt(100), k read as std; iterations at which phi = 3 (small, middle, large start), and the minimum of v/v*
# with its place (middle, large) [handbook, section 3].
TABLE = [
    (0, 10.0, 3e-4, (5850, 18100, 22500), (0.704, 6500), (0.837, 12550)),
    (1, 5.0, 8e-6, (34350, 34350, 34350), (0.783, 9550), (0.851, 13050)),
    (2, 3.0, 2e-6, (None, 46800, 44450), (0.826, 11450), (0.867, 13350)),
]


@pytest.mark.parametrize("m, target, step, arrive, middle, large", TABLE)
def test_population_predictions_of_the_handbook_table(m, target, step, arrive, middle, large):
    runs = [single.solve(single.Problem(m=m, norm=r * target, target=target), t1=step * 1e5) for r in (0.1, 1.0, 2.0)]
    for run, iteration in zip(runs, arrive):
        if iteration is None:
            assert run.phi[-1] == pytest.approx(2.12, rel=0.01)
            assert run.norm[-1] / target == pytest.approx(0.157, rel=0.01)
        else:
            assert np.interp(3.0, run.phi, run.t) / step == pytest.approx(iteration, rel=0.01)
    for run, (ratio, iteration) in zip(runs[1:], (middle, large)):
        log_t, log_v = turning_point(run)
        assert math.exp(log_v) / target == pytest.approx(ratio, abs=1e-3)
        assert math.exp(log_t) / step == pytest.approx(iteration, rel=0.01)
    assert turning_point(runs[0]) is None
