"""Maximum margin: closed forms, an independent linear programme, runs to t = 1e100."""

import numpy as np
import pytest
from scipy.optimize import linprog

import reluflow as rf

LATE = np.log(10.0) * np.array([3, 6, 10, 30, 60, 100])


def orthonormal():
    return rf.data.orthonormal(8, labels=[1, 1, 1, -1, -1, 1, -1, 1])


def test_orthonormal_rows_have_the_margin_of_one_neuron_per_class():
    found = rf.bias.max_margin(orthonormal())
    assert found.squared_norm == pytest.approx(2 * (np.sqrt(5) + np.sqrt(3)), rel=1e-6)
    assert found.margin <= found.margin_bound * (1 + 1e-9)
    assert found.margin_bound == pytest.approx(found.margin, rel=1e-6)
    assert found.linear == pytest.approx(1 / np.sqrt(8))
    assert np.min(found.data.y * found(found.data.x)) == pytest.approx(1.0)


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_the_margin_equals_a_grid_programme_from_the_right_side(seed, slope):
    rng = np.random.default_rng([seed, 14])
    data = rf.Data(rng.normal(size=(6, 2)), rng.choice([-1.0, 1.0], size=6))
    found = rf.bias.max_margin(data, activation=rf.LeakyReLU(slope))
    unit = data.x / np.linalg.norm(data.x, axis=1, keepdims=True)
    turned = np.column_stack([-unit[:, 1], unit[:, 0]])
    angle = 2 * np.pi * np.arange(4000) / 4000
    u = np.vstack([np.column_stack([np.cos(angle), np.sin(angle)]), turned, -turned]) @ data.x.T
    columns = data.y[:, None] * np.where(u > 0, u, slope * u).T
    both = np.hstack([columns, -columns])
    grid = linprog(np.full(both.shape[1], 2.0), A_ub=-both, b_ub=-np.ones(data.n), method="highs").fun
    assert found.squared_norm <= grid * (1 + 1e-6)
    assert grid <= found.squared_norm * (1 + 1e-3)


def test_a_linear_network_has_half_the_hard_margin_of_a_linear_classifier():
    # |theta|^2 = 2 |u| for f = <u, x>, at margin 1: |u| = 1 / (hard margin).
    data = rf.data.toy_plane()
    found = rf.bias.max_margin(data, activation=rf.LeakyReLU(1.0))
    assert found.margin == pytest.approx(found.linear / 2, rel=1e-8)
    xor = rf.Data([[1.0, 0], [-1.0, 0], [0, 1.0], [0, -1.0]], [1.0, 1, -1, -1])
    assert rf.bias.max_margin(xor).linear is None
    with pytest.raises(ValueError, match="cannot separate these data"):
        rf.bias.max_margin(xor, activation=rf.LeakyReLU(1.0))


def test_orthonormal_classification_comes_within_a_percent_of_the_optimum_with_falling_residuals():
    problem = rf.Problem(orthonormal(), rf.init.balanced(200, 8, log_scale=-30.0, seed=0), loss="exponential")
    sol = rf.solve(problem, rf.Flow(rtol=1e-9), log_t1=LATE[-1])
    path = rf.bias.max_margin(sol, log_t=LATE).path
    assert path.gap[-1] < 0.01
    assert np.all(path.gap > -1e-9)
    for falling in (path.gap, path.stationarity, path.complementarity, path.distance):
        assert np.all(np.diff(falling) < 0)


def test_a_run_may_end_in_a_kkt_point_that_is_not_the_optimum():
    # Two neurons that each see one of two orthogonal points keep to it: |theta|^2 is 4 at margin 1, against 2 sqrt 2.
    w = [[1.0, -0.5], [-0.5, 1.0]]
    problem = rf.Problem(
        rf.Data(np.eye(2), [1.0, 1.0]), rf.Params(w, [np.sqrt(1.25)] * 2, log_scale=-5.0), loss="exponential"
    )
    sol = rf.solve(problem, rf.Flow(rtol=1e-9), log_t1=LATE[-1])
    found = rf.bias.max_margin(sol, log_t=LATE)
    assert found.path.gap[-1] == pytest.approx(1 - 1 / np.sqrt(2), abs=1e-4)
    assert np.all(np.diff(found.path.stationarity) < 0)
    assert found.path.stationarity[-1] < 1e-3
    assert found.path.complementarity[-1] < 1e-12
    assert found.path.distance[-1] > 0.3


def test_a_network_that_is_no_kkt_point_has_large_residuals():
    # Early in the same run margins differ and directions have not settled.
    problem = rf.Problem(orthonormal(), rf.init.balanced(200, 8, log_scale=-3.0, seed=0), loss="exponential")
    path = rf.bias.max_margin(rf.solve(problem, t1=10.0), log_t=[np.log(10.0)]).path
    assert path.stationarity[0] > 0.2


def test_what_has_no_margin_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match=r"Labels must be \+1 or -1 for a margin, got 0.7"):
        rf.bias.max_margin(rf.data.five_points())
    with pytest.raises(ValueError, match="rows 0 and 1: they lie on one ray"):
        rf.bias.max_margin(rf.Data([[1.0, 1.0], [2.0, 2.0]], [1.0, -1.0]))
    with pytest.raises(ValueError, match="got label 1 for the zero row 0"):
        rf.bias.max_margin(rf.Data([[0.0, 0.0], [2.0, 2.0]], [1.0, -1.0]))
    problem = rf.Problem(rf.Data(np.eye(2), [1.0, 1.0]), rf.init.balanced(4, 2))
    with pytest.raises(ValueError, match="needs a loss with an exponential tail, got the square loss"):
        rf.bias.max_margin(rf.solve(problem, t1=30.0))
