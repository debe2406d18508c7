"""Stationary points, spurious minima and plateaus: the numbers of the handbook."""

import numpy as np
import pytest

import reluflow as rf

PAIR = rf.Params(np.eye(3)[:2], [1.0, 1.0])


@pytest.mark.parametrize(
    "k, loss, least",
    [
        (5, 0.026970470, -0.0077015),
        (6, 0.025080581, 0.0047004),
        (7, 0.023202715, 0.0140590),
        (10, 0.018702195, 0.0319640),
        pytest.param(8, 0.021508037, 0.0213466, marks=pytest.mark.exhaustive),
        pytest.param(15, 0.014063882, 0.0470274, marks=pytest.mark.exhaustive),
        pytest.param(20, 0.011275582, 0.0550926, marks=pytest.mark.exhaustive),
        pytest.param(30, 0.008089344, 0.0637357, marks=pytest.mark.exhaustive),
    ],
)
def test_the_symmetric_point_of_k_students_is_a_saddle_at_5_and_a_spurious_minimum_from_6_on(k, loss, least):
    point = rf.population.spurious(k)
    assert point.gradient < 1e-13
    assert point.loss == pytest.approx(loss, abs=6e-10)
    assert point.eigenvalues[0] == pytest.approx(least, abs=6e-8)
    assert point.kind == ("saddle" if k == 5 else "minimum")


def test_a_spurious_minimum_holds_the_flow_and_the_saddle_at_5_lets_it_go():
    ends = {}
    for k in (5, 6):
        point = rf.population.spurious(k)
        rng = np.random.default_rng(0)
        near = rf.Params(point.params.w + 1e-3 * rng.normal(size=(k, k)), np.ones(k))
        problem = rf.population.Problem(point.problem.teacher, near, train="first")
        ends[k] = rf.population.solve(problem, t1=4000.0).loss[-1] / point.loss
    assert ends[6] == pytest.approx(1.0, abs=1e-9)
    assert ends[5] < 1e-9


def test_coincident_students_sit_on_the_symmetric_saddle_of_the_formula():
    c = np.sqrt(2) * (3 * np.pi + 4) / (8 * np.pi)
    near = rf.Params(0.7 * c * np.array([[1.0, 1.0, 0.0]] * 2), [1.0, 1.0])
    point = rf.population.stationary(rf.population.Problem(PAIR, near, train="first"))
    np.testing.assert_allclose(np.linalg.norm(point.params.w, axis=1), c, rtol=1e-10)
    assert point.loss == pytest.approx(0.0885119366, abs=1e-10)
    assert point.eigenvalues[0] == pytest.approx(-8 / (3 * np.pi + 4), rel=1e-9)
    assert point.kind == "saddle"


def test_the_plateau_of_orthogonal_starts_is_a_saddle_with_one_way_down():
    problem = rf.population.from_overlaps(0.25 * np.eye(2), np.zeros((2, 2)), np.eye(2), [1, 1], [1, 1], train="first")
    sol = rf.population.solve(problem)
    assert sol.outcome is rf.Outcome.STATIONARY  # with no overlap at all, as in infinite dimension, it never leaves
    assert sol.loss[-1] == pytest.approx(0.0736129, abs=6e-8)
    point = rf.population.stationary(problem, sol.final)
    assert point.index == 1 and point.eigenvalues[0] == pytest.approx(-0.239237, abs=6e-7)
    rate, w, _ = point.escape[0]
    assert rate == pytest.approx(0.239237, abs=6e-7)
    # The way down breaks the symmetry between the teachers: one student turns to each.
    np.testing.assert_allclose(np.abs(w[:, :2]), 0.5, atol=1e-6)
    assert w[0, 0] * w[1, 0] < 0 and w[0, 0] * w[0, 1] < 0


def test_the_exit_from_the_plateau_is_later_by_1_over_2_lambda_for_each_log_of_the_dimension():
    exits = []
    for d in (1e6, 1e8):
        R = np.zeros((2, 2))
        R[0, 0] = 0.5 / np.sqrt(d)
        problem = rf.population.from_overlaps(0.25 * np.eye(2), R, np.eye(2), [1, 1], [1, 1], train="first")
        sol = rf.population.solve(problem, rf.Flow(1e-10), t1=60.0)
        k = int(np.argmax(sol.loss < 0.0368))
        grid = np.linspace(sol.t[k - 1], sol.t[k], 400)
        exits.append(np.interp(-0.0368, -sol.loss_at(grid), grid))
    # Overlaps of 1e-3 are small but not 0: the slope tends to 1/(2 lambda) with them.
    assert (exits[1] - exits[0]) / np.log(100.0) == pytest.approx(1 / (2 * 0.2392367), abs=2e-3)


def test_a_fit_is_a_global_minimum_with_one_flat_direction_for_each_neuron():
    rng = np.random.default_rng(0)
    teacher = rf.Params(rng.normal(size=(3, 4)), [1.0, -0.5, 2.0])
    point = rf.population.stationary(rf.population.Problem(teacher, teacher))
    assert point.kind == "global minimum" and point.flat == 3 and point.index == 0
    assert "global minimum" in repr(point)


def test_newton_says_where_it_cannot_go(monkeypatch):
    monkeypatch.setattr("reluflow.population.landscape.TURNS", 1)
    near = rf.Params(np.random.default_rng(0).normal(size=(2, 3)), [1.0, 1.0])
    with pytest.raises(ValueError, match="near a stationary point"):
        rf.population.stationary(rf.population.Problem(PAIR, near, train="first"))
