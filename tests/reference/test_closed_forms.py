"""The reference against closed forms: nothing here is known from another program."""

import math

import numpy as np
import pytest

flint = pytest.importorskip("flint", reason="the reference needs python-flint")

from flint import arb, ctx

from reluflow.data import Data, two_points
from reluflow.init import Params, balanced
from reluflow.problem import LeakyReLU, Problem
from reluflow.reference import descent, flow


@pytest.fixture(autouse=True)
def digits():
    with ctx.workdps(60):
        yield


@pytest.mark.parametrize("log_scale", [0.5, -7.0, -70.0])
def test_one_aligned_neuron_follows_the_logistic_curve_to_28_digits(log_scale):
    # f' = 2 |x| f (y - f), so y/f - 1 decays like e^{-2 x y t}.
    x, y = 2.0, 3.0
    problem = Problem(Data([[x]], [y]), Params([[1.0]], [1.0], log_scale=log_scale))
    odds = y / (x * (2 * arb(log_scale)).exp()) - 1
    times = [0.125, 1.0, 1.5 + abs(log_scale) / 6, 3.0 + abs(log_scale) / 6]
    ref = flow(problem, times)
    for t, f in zip(times, ref.f, strict=True):
        exact = y / (1 + odds * (-2 * x * y * arb(t)).exp())
        assert abs(f[0] / exact - 1) < 1e-28
    assert ref.events == []


@pytest.mark.parametrize("loss", ["exponential", "logistic", "logistic2"])
def test_one_neuron_on_a_tailed_loss_follows_its_time_integral(loss):
    # x = y = 1: f' = 2 f g(f), so t = int df / (2 f g): exponential [Ei(f)] / 2, logistic [Ei(f) + log f] / 2.
    problem = Problem(Data([[1.0]], [1.0]), Params([[1.0]], [1.0], log_scale=-2.0), loss=loss)
    times = [0.5, 4.0, 100.0, 1e6]
    ref = flow(problem, times)

    def clock(f):
        return f.ei() / 2 if loss == "exponential" else (f.ei() + f.log()) / (4 if loss == "logistic2" else 2)

    start = arb(-4).exp()
    for t, f in zip(times, ref.f, strict=True):
        assert abs((clock(f[0]) - clock(start)) / t - 1) < 1e-27


def test_first_layer_alone_relaxes_exponentially_and_stops_at_its_surface():
    # d = 1, a = 2: u' = a^2 (y - 2 u) / 2 ... with y = -1 the neuron is pushed down, meets u = 0 and is dead.
    problem = Problem(Data([[1.0]], [-1.0]), Params([[0.75]], [2.0]), train="first")
    hit = (arb(2.5)).log() / 4  # f' = 4 (-1 - f) from f = 1.5
    ref = flow(problem, [float(hit) / 2, 1.0])
    assert abs(ref.f[0][0] - (2.5 * (-4 * arb(float(hit) / 2)).exp() - 1)) < 1e-30
    assert [(e.kind, e.datum) for e in ref.events] == [("off", 0), ("dead", -1)]
    assert abs(ref.events[0].t - hit) < 1e-30
    assert ref.f[1][0] == 0


def two_point_theory(problem):
    """Crossing times, half-times [orthogonal_square_loss 4.1-4.3], from the frozen residuals of f = 0."""
    x = [[arb(v) for v in row] for row in problem.data.x]
    y, norm2 = [-1, 1], [arb(1.25), arb(5)]
    crossings, V = {}, {1: arb(0), -1: arb(0)}
    for j, (row, s) in enumerate(zip(problem.init.w, np.sign(problem.init.a).astype(int), strict=True)):
        w = [arb(float(v)) for v in row]
        c = [w[0] * p[0] + w[1] * p[1] for p in x]
        active = [k for k in (0, 1) if c[k] > 0]
        t = arb(0)
        for k in [k for k in active if s * y[k] < 0]:
            D = [sum(int(s) * y[i] * x[i][q] / 2 for i in active) for q in (0, 1)]
            speed = (D[0] ** 2 + D[1] ** 2).sqrt()
            p = (w[0] * D[0] + w[1] * D[1]) / speed
            q = (w[0] ** 2 + w[1] ** 2 - p * p).sqrt()
            eta = 2 * c[k] / norm2[k]
            t += (((p + speed * eta) / q).asinh() - (p / q).asinh()) / speed
            w = [w[0] + eta * D[0], w[1] + eta * D[1]]
            crossings[j, k] = t
            active.remove(k)
        if active:
            k = active[0]
            speed = norm2[k].sqrt() / 2
            p = int(s) * y[k] * (w[0] * x[k][0] + w[1] * x[k][1]) / norm2[k].sqrt()
            V[int(s)] += ((p + (w[0] ** 2 + w[1] ** 2).sqrt()) / 2 * (-speed * t).exp()) ** 2
    limit = {1: 1 / arb(5).sqrt(), -1: 1 / arb(1.25).sqrt()}
    rate = {1: arb(5).sqrt() / 2, -1: arb(1.25).sqrt() / 2}
    ell = -arb(problem.init.log_scale)
    half = {s: (ell + (limit[s] / V[s]).log() / 2) / rate[s] for s in (1, -1)}
    return crossings, half, rate


def test_two_points_meet_the_closed_forms_to_35_digits():
    # The closed form neglects the square of the scale, 1e-40; numbers of orthogonal_square_loss section 7, test 1.
    problem = Problem(two_points(), balanced(60, 2, math.log(1e-20), seed=0))
    crossings, half, rate = two_point_theory(problem)
    assert len(crossings) == 32
    assert float(max(crossings.values(), key=float)) == pytest.approx(3.8603, abs=5e-5)
    assert float(half[1]) == pytest.approx(39.35440, abs=5e-6)
    assert float(half[-1]) == pytest.approx(79.88257, abs=5e-6)
    times = [30.0, 39.0, 41.0, 79.0, 82.0]
    ref = flow(problem, times)
    off = {(e.neuron, e.datum): e.t for e in ref.events if e.kind == "off"}
    assert off.keys() == crossings.keys()
    assert all(abs(off[k] - crossings[k]) < 1e-35 for k in off)
    assert {e.kind for e in ref.events} == {"off", "dead"}
    for t, f in zip(times, ref.f, strict=True):
        for s, i in ((1, 1), (-1, 0)):
            assert abs(s * f[i] - 1 / (1 + (-2 * rate[s] * (t - half[s])).exp())) < 1e-35


def test_a_slope_of_one_is_a_linear_network():
    # f = <v, x> for v = sum a w; a linear network never notices its kinks: same outputs with all rows on one side.
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(3, 2)), rng.normal(size=3)
    init = balanced(4, 2, -0.5, seed=1)
    linear = flow(Problem(Data(x, y), init, activation=LeakyReLU(1.0)), [3.0])
    mirrored = flow(Problem(Data(-x, -y), init, activation=LeakyReLU(1.0)), [3.0])
    assert max(abs(u + v) for u, v in zip(linear.f[0], mirrored.f[0], strict=True)) < 1e-30


def test_descent_multiplies_an_aligned_frozen_neuron_by_one_plus_eta():
    # y huge against f: D = y x is constant to 1e-40, and w, a grow by 1 + eta |D| per iteration.
    problem = Problem(Data([[1.0]], [1.0]), Params([[1.0]], [1.0], log_scale=-60.0))
    ref = descent(problem, 0.5, [0, 1, 10])
    growth = [(w[0][0] / ref.w[0][0][0]) for w in ref.w]
    assert abs(growth[1] - 1.5) < 1e-40
    assert abs(growth[2] / arb(1.5) ** 10 - 1) < 1e-40
    assert abs(ref.a[2][0] / ref.w[2][0][0] - 1) < 1e-40
