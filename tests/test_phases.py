"""Phases against the closed forms of two orthogonal points, and on runs that end elsewhere."""

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.support.orthogonal import half_times

import reluflow as rf


def two_points(scale, seed=0):
    init = rf.init.balanced(60, 2, log_scale=np.log(scale / np.sqrt(60)), seed=seed)
    return rf.Problem(rf.data.two_points(), init)


def expected(problem):
    """Handbook 4.2-4.3: (end of alignment, start and end of the plateau, the two half-times, start of convergence)."""
    (t_p, t_m), _ = half_times(problem.data, problem.init)
    d_p, d_m = np.sqrt(5) / 2, np.sqrt(1.25) / 2
    u = lambda t: (1 / (1 + np.exp(-2 * d_p * (t - t_p))), 1 / (1 + np.exp(-2 * d_m * (t - t_m))))
    loss = lambda t: 0.25 * sum((1 - v) ** 2 for v in u(t))
    slope = lambda t: sum(0.25 * 2 * (1 - v) * 2 * d * v * (1 - v) for v, d in zip(u(t), (d_p, d_m)))
    quiet = lambda t: slope(t) / d_m - 0.01 * loss(t)  # the longest growth time is 1/|D_-|
    grid = np.linspace(t_p, t_m, 2000)
    middle = grid[np.argmin([quiet(t) for t in grid])]
    half = np.log((1 - np.sqrt(0.5)) / np.sqrt(0.5))
    align = brentq(lambda t: max(u(t)) - 0.01, 0, t_p)
    start, end = brentq(quiet, t_p, middle), brentq(quiet, middle, t_m)
    fast = brentq(lambda t: loss(t) - 0.01 * loss(end), t_m, t_m + 20)
    return align, start, end, t_p + half / (2 * d_p), t_m + half / (2 * d_m), fast


def measured(sol):
    found = sol.phases()
    assert [p.kind for p in found] == ["alignment", "growth", "plateau", "growth", "convergence"]
    _, one, plateau, two, last = found
    assert abs(plateau.loss - 0.25) < 1e-3
    s = np.sign(sol.problem.init.a)
    x, w = sol.problem.data.x, sol.problem.init.w
    assert set(one.neurons) == set(np.flatnonzero((s > 0) & (w @ x[1] > 0)))
    assert set(two.neurons) == set(np.flatnonzero((s < 0) & (w @ x[0] > 0)))
    return one.start, plateau.start, plateau.end, one.half, two.half, last.start


def errors(scale, method):
    problem = two_points(scale)
    truth = expected(problem)
    sol = rf.solve(problem, method, t1=truth[-1] + 10)
    return np.array(measured(sol)) - truth


@pytest.mark.parametrize("scale", [1e-20, 1e-6])
def test_phases_of_the_flow_are_the_handbooks(scale):
    # dL/dt is a difference over a tenth of a growth time, which moves the plateau's edges by up to 1e-2.
    off = errors(scale, rf.Flow(1e-9))
    assert np.max(np.abs(off[[1, 2]])) < 1e-2
    assert np.max(np.abs(off[[0, 3, 4, 5]])) < 1e-3


def test_phases_of_descent_are_those_of_the_flow_to_the_step():
    # Descent is late by step |D| / 2 of the time passed.
    off = errors(1e-6, rf.Descent(2e-3))
    assert np.all(off > -0.01) and np.max(off) < 0.03


@pytest.mark.exhaustive
def test_phases_against_the_handbook_from_1e_20_to_1e_4():
    print("\nscale: errors of alignment end, plateau start, plateau end, half-times, convergence start")
    for scale in (1e-20, 1e-16, 1e-12, 1e-8, 1e-6, 1e-5, 1e-4):
        off = errors(scale, rf.Flow(1e-10))
        print(
            f"{scale:.0e}:",
            np.array2string(off, precision=2, floatmode="fixed", formatter={"float": lambda v: f"{v:.1e}"}),
        )
        assert np.max(np.abs(off[[1, 2]])) < 2e-2
        assert np.max(np.abs(off[[0, 3, 4, 5]])) < 5e-3


def test_at_1e_3_the_two_growths_overlap_and_there_is_no_plateau():
    problem = two_points(1e-3)
    found = rf.solve(problem, rf.Flow(1e-9), t1=30.0).phases()
    assert [p.kind for p in found] == ["alignment", "growth", "convergence"]
    (t_p, _), _ = half_times(problem.data, problem.init)
    assert found[0].end == pytest.approx(t_p + np.log(0.01 / 0.99) / np.sqrt(5), abs=1e-3)
    assert len(found[1].neurons) == 36


def test_a_run_that_learns_nothing_is_alignment():
    found = rf.solve(two_points(1e-20), rf.Flow(), t1=5.0).phases()
    assert [p.kind for p in found] == ["alignment"] and found[0].loss == pytest.approx(0.5)


def test_a_tail_to_1e1000_converges_and_the_table_prints_its_logarithms():
    data = rf.Data(np.eye(4), [1.0, 1.0, -1.0, -1.0])
    problem = rf.Problem(data, rf.init.balanced(30, 4, log_scale=-20.0, seed=0), loss="exponential")
    found = rf.solve(problem, rf.Flow(), log_t1=2300.0).phases()
    assert [p.kind for p in found] == ["alignment", "growth", "convergence"]
    assert found[-1].log_end == 2300.0 and "e^2300" in repr(found) and "e^-23" in repr(found)


def test_a_lazy_start_has_no_alignment():
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=np.log(10 / np.sqrt(60)), seed=0))
    assert rf.solve(problem, rf.Flow(), t1=10.0).phases()[0].kind == "growth"


def test_descent_on_the_five_points_ends_on_a_plateau():
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=np.log(1e-6 / np.sqrt(60)), seed=0))
    found = rf.solve(problem, rf.Descent(4e-3), t1=500.0).phases()
    assert found[-1].kind == "plateau" and found[-1].loss == pytest.approx(0.0318157895, rel=1e-6)
    assert [p.kind for p in found["plateau"]] == ["plateau"] * len(found["plateau"])


def test_the_tolerance_must_be_a_share():
    with pytest.raises(ValueError, match="`tol` must be in"):
        rf.solve(two_points(1e-6), rf.Flow(), t1=1.0).phases(tol=2.0)


def test_a_longer_run_has_the_same_phases_up_to_the_last_of_the_shorter_one_which_says_so():
    whole = rf.solve(two_points(1e-6), rf.Flow()).phases()
    assert whole.note == ""  # it converged
    for end in (0.5, 0.9):
        t1 = whole[-2].start + end * (whole[-2].end - whole[-2].start)
        cut = rf.solve(two_points(1e-6), rf.Flow(), t1=t1).phases()
        assert [p.kind for p in cut] == [p.kind for p in whole[: len(cut)]]
        np.testing.assert_allclose([p.start for p in cut], [p.start for p in whole[: len(cut)]], rtol=1e-6)
        assert "during a growth: a longer run may" in cut.note and repr(cut).endswith(cut.note)
        assert cut["growth"].note == ""


def test_descent_leaves_the_origin_once_as_the_flow_does():
    # Its outputs pass 1% before the loss shows it: that is no plateau, whatever grid the run is seen on.
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 3))
    y = np.where(x[:, 0] + 0.5 * np.abs(x[:, 1]) - 0.3 * x[:, 2] + 0.1 * rng.normal(size=60) > 0.2, 1, -1)
    problem = rf.Problem(rf.Data(x, y), rf.init.balanced(20, 3, log_scale=-5.0), loss="logistic")
    found = rf.compare(problem, rf.Descent(0.05), t1=60.0)
    for phases in found.phases:
        assert [p.kind for p in phases] == ["alignment", "growth"]
    (_, _, late) = found.shifts[1]
    assert 0.0 < late < 0.1 and f"growth {late:.3g} later." in found.summary()
