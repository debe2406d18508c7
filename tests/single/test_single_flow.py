"""The population flow of a single neuron."""

import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import reluflow as rf
from reluflow import single
from reluflow.papers.lee2023.criterion11 import first_integral
from reluflow.papers.lee2023.proposition3_5 import gradient
from reluflow.single import angle

STARTS = [(m, v, phi) for m in range(4) for v, phi in ((0.01, 1.5), (1.0, 0.1), (1.0, 3.0), (5.0, 1.5))]


def flow(**start):
    rtol, t1 = start.pop("rtol", 1e-10), start.pop("t1", None)
    return single.solve(single.Problem(**start), rf.Flow(rtol=rtol), t1)


@pytest.mark.parametrize("m, v, phi", STARTS)
def test_the_flow_stays_on_the_exact_orbit_to_1e_10(m, v, phi):
    run = flow(m=m, norm=1.3 * v, phi=phi, target=1.3, rtol=1e-12)
    keep = np.flatnonzero((np.diff(run.y, prepend=-np.inf) > 0) & (run.y < 37.0))[1:]
    exact = single.orbit(run.problem, y=run.y[keep])
    np.testing.assert_allclose(run.norm[keep], np.exp(exact.log_norm), rtol=1e-10)
    # While the angle hardly moves, t is a steep function of it: both are compared as far as y itself is right.
    slope = np.abs(np.gradient(exact.log_t, exact.y))
    assert np.all(np.abs(run.log_t[keep] - exact.log_t) < 1e-10 * (1 + slope))


def test_the_orbit_is_that_of_adaptive_quadrature_in_forty_digits():
    problem = single.Problem(m=2, norm=0.4, phi=0.7)
    found = single.orbit(problem, [1.0, 2.0, 3.0])
    with mpmath.workdps(40):
        for phi, log_v in zip(found.phi, found.log_norm):
            phi = mpmath.mpf(float(phi))
            grown = 3 * mpmath.pi * mpmath.quad(lambda a: a**2 / mpmath.sin(a) ** 4, [mpmath.mpf("0.7"), phi])
            q = (mpmath.mpf("0.7") / mpmath.sin(mpmath.mpf("0.7")) / mpmath.mpf("0.4")) ** 3 + grown
            assert abs(float(phi / mpmath.sin(phi) / q ** (mpmath.mpf(1) / 3)) / math.exp(log_v) - 1) < 1e-13


def test_one_layer_keeps_its_first_integral():
    run = flow(norm=2.5, phi=0.8, t1=30.0)
    K = [first_integral(l, y) for l, y in zip(run.log_ratio, run.y) if y < 5]
    # K is a difference of terms of size e^y.
    np.testing.assert_allclose(K, K[0], atol=1e-8 * math.exp(5))


@pytest.mark.parametrize("m", [0, 1, 2, 3])
def test_a_start_at_e_to_the_minus_1000_is_followed_exactly_and_costs_no_more_than_a_few_times_one_at_1(m):
    tiny, one = flow(m=m, log_norm=-1000.0, rtol=1e-11), flow(m=m, norm=1.0, rtol=1e-11)
    assert tiny.steps < 4 * one.steps
    keep = np.flatnonzero((np.diff(tiny.y, prepend=-np.inf) > 0) & (tiny.y < 37.0))[1:]
    exact = single.orbit(tiny.problem, y=tiny.y[keep])
    np.testing.assert_allclose(tiny.log_norm[keep], exact.log_norm, atol=1e-9)
    np.testing.assert_allclose(tiny.log_t[keep], exact.log_t, atol=1e-8)
    if m > 1:
        assert tiny.log_t[-1] > 900 * (m - 1)


def test_the_angle_is_right_relative_to_itself_when_it_is_1e_40():
    run = flow(m=0, norm=1.5, phi=1.0, t1=200.0)
    at = run.at([100.0, 200.0])
    assert at.theta[1] < 1e-40
    # pi - phi = C e^-t/2 once v = v*
    np.testing.assert_allclose(np.diff(at.log_theta), -50.0, rtol=1e-9)
    np.testing.assert_allclose(
        at.log_loss, np.logaddexp(2 * np.log(np.abs(at.log_ratio)), np.log(2) + at.log_eps) - np.log(4)
    )


@pytest.mark.parametrize("outer", [(1.0, 1.0), (0.2, 3.0), (1.0, 0.05)])
def test_unbalanced_layers_follow_the_plain_equations_and_keep_their_differences(outer):
    problem = single.Problem(m=2, norm=0.8, phi=1.2, outer=outer)
    run = single.solve(problem, rf.Flow(rtol=1e-11), 8.0)
    start = np.concatenate([[-0.8 * math.cos(1.2), 0.8 * math.sin(1.2)], 0.8 * np.array(outer)])
    field = lambda t, z: -np.concatenate(gradient(z[:2], z[2:]))
    plain = solve_ivp(field, (0, 8.0), start, method="DOP853", rtol=1e-12, atol=1e-14, t_eval=[1.0, 4.0, 8.0])
    at = run.at([1.0, 4.0, 8.0])
    np.testing.assert_allclose(at.norm, np.hypot(*plain.y[:2]), rtol=1e-9)
    np.testing.assert_allclose(at.outer.T, plain.y[2:], rtol=1e-9)
    np.testing.assert_allclose(at.theta, np.arctan2(plain.y[1], plain.y[0]), rtol=1e-8)
    balance = run.outer**2 - run.norm[:, None] ** 2
    np.testing.assert_allclose(balance, np.broadcast_to(balance[0], balance.shape), atol=1e-9)


def test_another_symmetric_law_only_changes_the_clock():
    gauss = flow(m=1, norm=0.5, t1=5.0)
    sphere = single.solve(single.Problem(m=1, norm=0.5, law=single.Sphere(7, radius=2.0)), t1=5.0 * 7 / 4)
    np.testing.assert_allclose(sphere.at(3.0 * 7 / 4).y, gauss.at(3.0).y, rtol=1e-9)


def test_the_population_loss_is_the_mean_over_many_inputs():
    run = flow(m=2, norm=0.9, phi=1.1, target=1.2, t1=1.0)
    x = np.random.default_rng(0).normal(size=(400_000, 2))
    for k in (0, len(run.y) // 2, -1):
        theta, q = run.theta[k], run.norm[k] ** 3
        f = q * np.maximum(x @ [math.cos(theta), math.sin(theta)], 0)
        sample = 0.5 * (f - 1.2**3 * np.maximum(x[:, 0], 0)) ** 2
        assert abs(sample.mean() - run.loss[k]) < 6 * sample.std() / math.sqrt(len(x))


def test_on_the_bad_ray_w_shrinks_to_nothing_and_aligned_it_stays_aligned():
    bad = flow(phi=0.0, t1=40.0)
    np.testing.assert_allclose(bad.at([10.0, 40.0]).log_norm, [-5.0, -20.0], rtol=1e-9)  # v' = -v/2
    assert np.all(bad.phi == 0.0)
    aligned = flow(phi=math.pi, norm=0.3, t1=4.0)
    assert np.all(aligned.theta == 0.0)
    np.testing.assert_allclose(aligned.norm[-1], 1 - 0.7 * math.exp(-2.0), rtol=1e-9)


def test_functions_of_the_angle_lose_no_digits():
    with mpmath.workdps(60):
        for theta in (1e-12, 1e-4, 0.29, 0.31, 1.5, 3.1):
            phi = mpmath.pi - mpmath.mpf(theta)
            s = (mpmath.sin(phi) - phi * mpmath.cos(phi)) / mpmath.pi
            assert abs(float((1 - s) / float(angle.eps(theta)) - 1)) < 1e-14
            phi = mpmath.mpf(theta)
            s = (mpmath.sin(phi) - phi * mpmath.cos(phi)) / mpmath.pi
            assert abs(float(s / float(angle.s(theta)) - 1)) < 1e-14
        for y in (-40.0, -3.0, -0.1, 0.2, 2.0, 30.0):
            phi = 2 * mpmath.atan(mpmath.exp(mpmath.mpf(y)))
            s = (mpmath.sin(phi) - phi * mpmath.cos(phi)) / mpmath.pi
            found = angle.s_and_eps(y)
            np.testing.assert_allclose(found, [float(phi), float(s), float(1 - s)], rtol=1e-14)
            np.testing.assert_allclose(angle.log_eps(y), float(mpmath.log(1 - s)), rtol=1e-13, atol=1e-14)


def test_times_between_frames_are_as_good_as_frames():
    run = flow(m=1, norm=0.2, t1=20.0)
    at = run.at(log_t=run.log_t[1:])
    np.testing.assert_allclose(at.y, run.y[1:], atol=1e-11)
    assert run.at(0.0).norm[0] == pytest.approx(0.2, rel=1e-12)
    with pytest.raises(ValueError, match="must be at most the end of the run"):
        run.at(21.0)


@pytest.mark.parametrize(
    "wrong, text",
    [
        (dict(phi=4.0), "`phi` must be in"),
        (dict(norm=-1.0), "`norm` must be positive"),
        (dict(norm=1.0, log_norm=0.0), "Give `norm` or `log_norm`, not both"),
        (dict(phi=1.0, log_tan=0.0), "Give `phi` or `log_tan`, not both"),
        (dict(m=2, outer=(1.0,)), "one number per outer layer"),
        (dict(m=1, outer=(-1.0,)), "is dead"),
        (dict(m=-1), "`m` must be a whole number"),
    ],
)
def test_wrong_problems_are_one_sentence(wrong, text):
    with pytest.raises(ValueError, match=text):
        single.Problem(**wrong)


def test_a_problem_between_two_vectors_has_their_angle_and_lengths():
    p = single.Problem.between([0.0, 2.0, 0.0], [1.0, 1e-9, 0.0], m=1)
    assert p.v0 == 2.0
    assert p.phi0 == pytest.approx(math.pi / 2 + 1e-9, rel=1e-15)
    with pytest.raises(ValueError, match="non-zero and of one shape"):
        single.Problem.between([0.0, 0.0], [1.0, 0.0])


def test_arguments_of_solve_are_explained():
    p = single.Problem()
    with pytest.raises(TypeError, match=r"rf.single.Problem"):
        single.solve("neuron")
    with pytest.raises(ValueError, match="on a sample, got a flow"):
        single.solve(p, rf.Flow(), 1.0, sample=single.Sample(10, 3))
    with pytest.raises(ValueError, match="`t1` must be given for descent"):
        single.solve(p, rf.Descent(step=0.1))
    with pytest.raises(ValueError, match="full-batch float64"):
        single.solve(p, rf.Descent(step=0.1, batch=3), 1.0)
    with pytest.raises(ValueError, match="balanced start"):
        single.orbit(single.Problem(m=1, outer=(2.0,)), [2.0])
