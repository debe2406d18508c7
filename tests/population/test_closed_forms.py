"""Loss, gradient and Hessian against quadrature, Monte Carlo and differences."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.population import closed_form
from reluflow.population.state import Coordinates

ANGLES = (0.3, 1.0, 1.7, 2.8)


def network(x, w, a, slope):
    z = x @ w.T
    return np.where(z > 0, z, slope * z) @ a


def around(w, a, v, b, slope):
    """Loss and pull in the plane by Gauss-Legendre quadrature over the circle, cut where a neuron has its kink."""
    rows = np.concatenate([w, v])
    kinks = np.concatenate([np.arctan2(rows[:, 1], rows[:, 0]) + s * np.pi / 2 for s in (-1, 1)]) % (2 * np.pi)
    edges = np.unique(np.concatenate([[0.0, 2 * np.pi], kinks]))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half, middle = 0.5 * np.diff(edges)[:, None], 0.5 * (edges[1:] + edges[:-1])[:, None]
    phi, dphi = (middle + half * nodes).ravel(), (half * weights).ravel()
    x = np.column_stack([np.cos(phi), np.sin(phi)])
    gap = network(x, w, a, slope) - network(x, v, b, slope)
    # f is homogeneous: E over x ~ N(0, I_2) is E r^2 = 2 times the mean over the circle.
    mean = lambda values: 2.0 * np.sum(values * dphi) / (2 * np.pi)
    on = np.where(x @ w.T > 0, 1.0, slope)
    pull = np.array([[mean(-gap * on[:, j] * x[:, i]) for i in range(2)] for j in range(len(w))])
    return 0.5 * mean(gap**2), pull


def draw(m, big, d, seed):
    rng = np.random.default_rng([seed, 7])
    return rng.normal(size=(m, d)), rng.normal(size=m), rng.normal(size=(big, d)), rng.normal(size=big)


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_loss_and_gradient_in_the_plane_equal_a_quadrature_over_the_circle(seed, slope):
    w, a, v, b = draw(4, 3, 2, seed)
    loss, pull = around(w, a, v, b, slope)
    assert closed_form.loss(w, a, v, b, slope) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(closed_form.pull(w, w, a, v, b, slope), pull, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("theta", ANGLES)
def test_kernel_and_its_gradient_equal_monte_carlo_means_in_three_dimensions(theta, slope):
    rng = np.random.default_rng([int(10 * theta), 3])
    u, v = np.array([1.3, 0.0, 0.0]), 0.7 * np.array([np.cos(theta), np.sin(theta), 0.0])
    x = rng.normal(size=(200_000, 3))
    act = lambda z: np.where(z > 0, z, slope * z)
    sample = act(x @ u) * act(x @ v)
    error = np.std(sample) / np.sqrt(len(x))
    assert abs(np.mean(sample) - closed_form.kernel(u[None], v[None], slope)[0, 0]) < 5 * error
    sample = np.where(x @ u > 0, 1.0, slope)[:, None] * x * act(x @ v)[:, None]
    error = np.std(sample, axis=0) / np.sqrt(len(x))
    assert np.all(np.abs(sample.mean(axis=0) - closed_form.kernel_gradient(u[None], v[None], slope)[0, 0]) < 5 * error)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_gradient_and_hessian_are_the_central_differences_of_loss_and_gradient(slope):
    w, a, v, b = draw(3, 2, 4, 0)
    flat = np.concatenate([w.ravel(), a])

    def parts(x):
        return x[:12].reshape(3, 4), x[12:]

    def gradient(x):
        return np.concatenate([g.ravel() for g in closed_form.gradient(*parts(x), v, b, slope)])

    steps = 1e-5 * np.eye(len(flat))
    loss = lambda x: closed_form.loss(*parts(x), v, b, slope)
    by_difference = np.array([(loss(flat + h) - loss(flat - h)) / 2e-5 for h in steps])
    np.testing.assert_allclose(gradient(flat), by_difference, atol=1e-9)
    hessian = np.array([(gradient(flat + h) - gradient(flat - h)) / 2e-5 for h in steps])
    np.testing.assert_allclose(closed_form.hessian(w, a, v, b, slope), hessian, atol=1e-9)
    np.testing.assert_allclose(
        closed_form.hessian(w, a, v, b, slope, "first"), closed_form.hessian(w, a, v, b, slope)[:12, :12], atol=0
    )


@pytest.mark.parametrize("end", [0.0, np.pi])
def test_the_pull_is_smooth_at_angles_0_and_pi(end):
    # |G - v/2| at 0 and |G| at pi are th^2 |v| / (2 pi) to leading order (handbook).
    v = np.array([[2.0, 0.0]])
    for small in (1e-3, 1e-4):
        theta = abs(end - small)
        g = closed_form.kernel_gradient(np.array([[np.cos(theta), np.sin(theta)]]), v)[0, 0]
        limit = v[0] / 2 if end == 0.0 else np.zeros(2)
        assert np.linalg.norm(g - limit) / (2.0 * small**2) == pytest.approx(1 / (2 * np.pi), rel=2 * small)
    exact = closed_form.kernel_gradient(np.array([[np.cos(end), 0.0]]), v)[0, 0]
    np.testing.assert_allclose(exact, v[0] / 2 if end == 0.0 else np.zeros(2), atol=1e-15)


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("train", ["both", "first"])
def test_the_field_of_a_run_is_minus_the_gradient(train, slope):
    w, a, v, b = draw(4, 3, 5, 1)
    problem = rf.population.Problem(rf.Params(v, b), rf.Params(w, a), slope=slope, train=train)
    coords = Coordinates(problem)
    state = coords.start()
    eps = 1e-6
    moved = state.copy()
    moved.y += eps * coords.rates(state)
    back = state.copy()
    back.y -= eps * coords.rates(state)
    rate = lambda k: (_true(coords, moved)[k] - _true(coords, back)[k]) / (2 * eps) * coords.time_unit
    grad_w, grad_a = problem.gradient()
    np.testing.assert_allclose(rate(0), -grad_w, atol=2e-8)
    np.testing.assert_allclose(rate(1), -grad_a if train == "both" else np.zeros(4), atol=2e-8)
    assert coords.loss(state) * coords.loss_unit == pytest.approx(problem.loss(), rel=1e-12)


def _true(coords, state):
    w, a, log_w, log_a = coords.weights(state)
    return w * np.exp(log_w)[:, None], a * np.exp(log_a)


@pytest.mark.parametrize("log_gap", [-4.0, -12.0, -25.0, -36.0, -38.0, -60.0, -5000.0])
def test_the_rate_of_a_tiny_difference_of_two_directions_is_right_relative_to_itself(log_gap):
    import mpmath as mp

    rng = np.random.default_rng(5)
    v, b = rng.normal(size=(2, 3)), np.array([1.0, 0.6])
    w = np.array([[0.9, 0.2, -0.3], [0.4, -0.5, 0.7]])
    u = w / np.linalg.norm(w, axis=1, keepdims=True)
    z = np.cross(u[0], [0.3, 0.1, 0.8])
    z /= np.linalg.norm(z)
    coords = Coordinates(rf.population.Problem(rf.Params(v, b), rf.Params(np.concatenate([u, u[:1]]), np.ones(3))))
    state = coords.start()
    state.tree.parent[:], state.tree.ell[:] = [-1, -1, 0], [0.0, 0.0, log_gap]
    rows, _, _ = coords.split(state.y)
    scale = np.exp(log_gap)
    rows[2] = (z - 0.5 * scale * u[0]) @ coords.basis  # on the sphere to second order
    found = coords.split(coords.rates(state))[0][2] @ coords.basis.T

    with mp.workdps(40 + int(-log_gap)):  # an angle from its cosine needs twice the digits of the difference
        base = [mp.mpf(float(x)) for x in coords.units(state)[0] @ coords.basis.T]
        gap = mp.exp(mp.mpf(log_gap))
        child = [p + gap * mp.mpf(float(q)) for p, q in zip(base, rows[2] @ coords.basis.T)]
        other = [mp.mpf(float(x)) for x in coords.units(state)[1] @ coords.basis.T]
        size = mp.mpf(float(np.exp(2 * coords.split(state.y)[2][0])))
        teachers = [
            (mp.mpf(float(s)), [mp.mpf(float(x)) for x in row])
            for s, row in zip(coords.source.size, coords.source.unit @ coords.basis.T)
        ]
        everyone = [*teachers, *((-size, s) for s in (base, other, child))]
        gap_rate = [(p - q) / gap for p, q in zip(_turn(mp, child, everyone), _turn(mp, base, everyone))]
        expected = np.array([float(x) for x in gap_rate])
    # What is left: rounding of the inputs, relative to 1, and |z|^2 - constraint terms of order scale^2.
    np.testing.assert_allclose(found, expected, rtol=0, atol=4e-15 + 3 * scale**2)


def _turn(mp, u, sources):
    """D - <u, D> u by the formula, with angles from inner products in many digits."""
    length = mp.sqrt(sum(x * x for x in u))
    u = [x / length for x in u]
    total = [mp.mpf(0)] * len(u)
    for size, v in sources:
        long = mp.sqrt(sum(x * x for x in v))
        v = [x / long for x in v]
        theta = mp.acos(min(mp.mpf(1), sum(x * y for x, y in zip(u, v))))
        for i in range(len(u)):
            total[i] += size * ((mp.pi - theta) * v[i] + mp.sin(theta) * u[i]) / (2 * mp.pi)
    along = sum(x * y for x, y in zip(u, total))
    return [x - along * y for x, y in zip(total, u)]
