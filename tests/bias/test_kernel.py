"""The tangent kernel and its interpolant."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.bias._input import outputs
from reluflow.bias.kernel import moved, probe


def five(scale, seed=0):
    init = rf.init.balanced(60, 2, log_scale=float(np.log(scale / np.sqrt(60))), seed=seed)
    return rf.Problem(rf.data.five_points(), init)


def doubled(scale):
    """Every neuron twice with opposite signs: the network starts at 0."""
    g = np.random.default_rng(0).normal(size=(30, 2))
    a = np.linalg.norm(g, axis=1)
    start = rf.Params(np.vstack([g, g]), np.append(a, -a), log_scale=float(np.log(scale / np.sqrt(60))))
    return rf.Problem(rf.data.five_points(), start)


def test_the_kernel_is_the_gram_matrix_of_numerical_gradients():
    problem = five(3.0)
    w, a = problem.init.arrays()
    found = rf.bias.kernel(problem)

    def f(theta):
        return outputs(rf.Params(theta[:120].reshape(60, 2), theta[120:]), problem.data.x)

    theta, h = np.append(w.ravel(), a), 1e-6
    jacobian = np.array([(f(theta + h * e) - f(theta - h * e)) / (2 * h) for e in np.eye(len(theta))]).T
    np.testing.assert_allclose(found.gram * np.exp(found.log_scale), jacobian @ jacobian.T, rtol=1e-6)


def test_the_interpolant_passes_through_the_data_at_any_scale():
    for scale in (10.0, 1e-4):
        assert rf.bias.kernel(five(scale)).residual < 1e-11
    tiny = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=-1e5, seed=0))
    assert rf.bias.kernel(tiny).residual < 1e-11


def test_figure_5_ends_near_the_kernel_interpolant_and_figure_4_nowhere_near():
    # Measured, seeds 0 to 5, as shares of the way from f_0: 0.022, 0.336, 0.074, 0.023, 0.028, 0.031 at scale 10, and
    # 0.95, 0.64, 0.70, 0.64, 0.83, 0.80 at 1e-4. Seed 1 happens to start near its interpolant.
    distances = [
        [rf.bias.kernel(p).distance(rf.solve(p)) for p in (five(10.0, seed), five(1e-4, seed))] for seed in range(6)
    ]
    lazy, rich = np.array(distances).T
    assert np.max(lazy) < np.min(rich)
    assert np.median(lazy) < 0.1 * np.median(rich)


def test_a_network_that_starts_at_zero_gets_lazier_with_its_scale():
    sols = [rf.solve(doubled(s)) for s in (1.0, 10.0, 100.0)]
    kernels = [rf.bias.kernel(s) for s in sols]
    distance = [k.distance(s) for k, s in zip(kernels, sols)]
    assert distance[0] > 1.0 > 0.3 > distance[1] > 1e-5 > distance[2]
    movement = [moved(k, s.final) for k, s in zip(kernels, sols)]
    assert movement[0] > 1.0 > 0.01 > movement[1] > 1e-6 > movement[2]


def test_lazy_rich_tabulates_the_same_numbers():
    table = rf.bias.lazy_rich(five(1.0), [np.log(2.0), -6.0], t1=400.0)
    assert table.distance[0] < 0.2 < 0.5 < table.distance[1]
    assert table.moved[0] < 0.5 < 1e2 < table.moved[1]
    assert "log scale" in str(table)


def test_the_spectrum_and_sharpness_along_a_run_end_where_they_should():
    # Two orthogonal points: at the end K is diagonal, and every class has curvature 4 |D| (handbook 2.8).
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-40.0, seed=0))
    sol = rf.solve(problem)
    path = rf.bias.kernel_path(sol, [1.0, float(sol.t[-1])])
    assert path.spectrum[0, 0] < 1e-20
    np.testing.assert_allclose(path.spectrum[1] / 2, [2 * np.sqrt(5) / 2, 2 * np.sqrt(1.25) / 2], rtol=1e-6)
    assert path.sharpness[1] == pytest.approx(np.sqrt(5), rel=1e-6)


def test_what_cannot_be_a_kernel_is_refused_with_a_sentence():
    data = rf.data.five_points()
    with pytest.raises(TypeError, match=r"`rf.bias.kernel` needs initial weights"):
        rf.bias.kernel(data)
    with pytest.raises(ValueError, match="`init` must have the data's dimension, got 3 for d = 2"):
        rf.bias.kernel(data, rf.init.balanced(4, 3))
    with pytest.raises(ValueError, match="`relative` must be one of 'travel', 'size'"):
        rf.bias.kernel(five(1.0)).distance(five(1.0).init, relative="far")
    assert probe(data).shape == (400, 2)
