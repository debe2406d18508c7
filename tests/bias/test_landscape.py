"""Hessians, saddles and escapes."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.bias._state import loss_of, state_of


def figure_2(log_scale):
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=log_scale, seed=0))
    return rf.solve(problem, rf.Flow(rtol=1e-10))


def test_the_spectrum_is_that_of_a_numerical_hessian():
    rng = np.random.default_rng(3)
    data = rf.Data(rng.normal(size=(4, 3)), rng.normal(size=4))
    w, a = rng.normal(size=(3, 3)), rng.normal(size=3)
    problem = rf.Problem(data, rf.Params(w, a))

    def loss(theta):
        params = rf.Params(theta[:9].reshape(3, 3), theta[9:])
        return loss_of(problem, state_of(problem, params).f)

    theta, h, E = np.append(w.ravel(), a), 1e-4, np.eye(12)
    H = np.array(
        [
            [
                (
                    loss(theta + h * (u + v))
                    - loss(theta + h * (u - v))
                    - loss(theta - h * (u - v))
                    + loss(theta - h * (u + v))
                )
                / (4 * h * h)
                for u in E
            ]
            for v in E
        ]
    )
    expected = np.linalg.eigvalsh(H)
    found = rf.bias.landscape((problem, problem.init)).eigenvalues
    # Eigenvalues of directions on which nothing acts are left out: match the others, the rest must be 0.
    away = [min(abs(e - f) for f in np.append(found, 0.0)) for e in expected]
    assert max(away) < 1e-6
    assert found[[0, -1]] == pytest.approx(expected[[0, -1]], abs=1e-6)


def test_figure_2_passes_two_strict_saddles_with_curvature_minus_the_pull():
    origin, middle, end = rf.bias.saddles(figure_2(-1000.0))
    plus, minus = np.sqrt(5) / 2, np.sqrt(1.25) / 2
    assert (origin.kind, middle.kind, end.kind) == ("strict saddle", "strict saddle", "minimum")
    assert origin.bottom == pytest.approx(-plus, rel=1e-9)
    assert middle.bottom == pytest.approx(-minus, rel=1e-9)
    assert middle.escapes[0][1] == pytest.approx(minus, rel=1e-9)
    assert len(middle.escapes) == 18
    assert [(p.sign, p.rate) for p in middle.places] == [(-1, pytest.approx(minus))]
    assert middle.settled == pytest.approx(0.25, rel=1e-9)
    assert end.bottom > -1e-9
    assert end.escapes == ()


def test_at_figure_2s_own_scale_the_curvature_is_that_up_to_the_unfinished_fit():
    sol = figure_2(float(np.log(1e-6 / np.sqrt(60))))
    middle = rf.bias.saddles(sol)[1]
    assert middle.kind == "strict saddle"
    assert middle.bottom == pytest.approx(-np.sqrt(1.25) / 2, abs=2e-4)  # what is left of the residual of y = +1


def test_putting_delta_on_a_zero_neuron_changes_the_loss_by_minus_the_pull_times_delta_squared():
    # Handbook 2.6, at the middle saddle of the two points: y = +1 fitted, and D- = -x_0/2.
    data, delta = rf.data.two_points(), 1e-3
    problem = rf.Problem(data, rf.init.balanced(2, 2))
    u = data.x[1] / 5.0 / np.sqrt(np.linalg.norm(data.x[1] / 5.0))
    along = delta * data.x[0] / np.linalg.norm(data.x[0])

    def loss(w, a):
        return loss_of(problem, state_of(problem, rf.Params(w, a)).f)

    base = loss([u], [np.linalg.norm(u)])
    change = loss([u, along], [np.linalg.norm(u), -delta]) - base
    assert base == pytest.approx(0.25)
    assert change == pytest.approx(-np.sqrt(1.25) / 2 * delta**2, rel=1e-5)


def test_figure_4_passes_strict_saddles_and_a_slow_passage_is_told_apart():
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=-1000.0, seed=0))
    found = rf.bias.saddles(rf.solve(problem, rf.Flow(rtol=1e-9)))
    kinds = [(s.kind, round(s.loss, 4)) for s in found]
    assert kinds == [
        ("strict saddle", 0.087),
        ("slow passage", 0.0744),
        ("strict saddle", 0.038),
        ("strict saddle", 0.0318),
        ("minimum", 0.0),
    ]
    for s in found:
        if s.kind == "strict saddle":
            # In its own cell no neuron leaves faster than the Hessian allows, and an aligned one just so.
            assert s.escapes[0][1] == pytest.approx(-s.bottom, rel=1e-6)
            assert s.escapes[0][1] <= s.places[0].rate * (1 + 1e-9)


def test_figure_4_at_its_own_scale_has_one_plateau_a_strict_saddle_with_sliding_neurons():
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=float(np.log(1e-4 / np.sqrt(60)))))
    origin, plateau, end = rf.bias.saddles(rf.solve(problem))
    assert (origin.kind, plateau.kind, end.kind) == ("strict saddle", "strict saddle", "minimum")
    assert plateau.loss == pytest.approx(0.0318158, abs=2e-6)
    assert plateau.escapes[0][1] == pytest.approx(0.0934, abs=1e-3)


def test_a_saddle_no_neuron_of_the_network_can_leave_is_called_closed():
    # Only positive neurons: the negative label of the two points stays unfitted for ever.
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(20, 2, log_scale=-20.0, signs=np.ones(20)))
    sol = rf.solve(problem)
    end = rf.bias.landscape(sol, log_t=float(sol.log_t[-1]))
    assert end.kind == "closed saddle"
    assert end.loss == pytest.approx(0.25)
    assert end.escapes == ()
    assert end.places[0].sign == -1


def test_a_network_that_moves_is_not_called_a_saddle():
    sol = figure_2(-20.0)
    growth = next(p for p in sol.phases() if p.kind == "growth")
    here = rf.bias.landscape(sol, growth.half)
    assert here.kind == "moving"
    assert here.pl > 0.1


def test_the_pl_ratio_at_the_end_is_the_handbooks_sharp_constant():
    # 4 |D| for one-point classes (2.9), the smaller class last to be fitted.
    sol = figure_2(-46.0)
    late = rf.bias.landscape(sol, float(sol.t[-1]) - 5.0)
    assert late.pl == pytest.approx(4 * np.sqrt(1.25) / 2, rel=1e-3)


@pytest.mark.exhaustive
def test_figure_6_origin_middle_and_last_plateau_are_strict_saddles():
    # Descent, not the flow, takes the run there; the middle saddle is reached by its positive neurons alone, because at
    # 1e-20 the negative ones grow before it is settled.
    pytest.importorskip("torch")
    data = rf.data.teacher(75, 150, 6, torch_seed=4)
    problem = rf.Problem(data, rf.init.balanced(200, 150, log_scale=float(np.log(1e-20 / np.sqrt(200 * 150))), seed=0))
    sol = rf.solve(problem, rf.Descent(step=8e-3), 400.0)
    assert rf.bias.landscape(sol, 60.0, samples=0).kind == "strict saddle"
    last = rf.bias.landscape(sol, 400.0)
    assert last.kind == "strict saddle"
    assert 2 * last.loss == pytest.approx(2.3e-5, abs=1e-6)  # one sample of 75 is still unfitted
    assert last.places[0].rate == pytest.approx(-last.bottom, rel=1e-2)
    now = sol.at(150.0)
    size = now.log_scales[0]
    plus, minus = np.flatnonzero((now.a > 0) & (size > np.log(1e-3))), np.flatnonzero(now.a < 0)
    alone = rf.Params(now.w[plus], now.a[plus], log_scale=size[plus])
    rest = rf.solve(rf.Problem(data, alone), rf.Descent(step=8e-3), 400.0).final
    both = rf.Params(
        np.vstack([rest.w, now.w[minus]]),
        np.append(rest.a, now.a[minus]),
        log_scale=np.append(rest.log_scales[0], np.full(len(minus), -50.0)),
    )
    middle = rf.bias.landscape((problem, both))
    assert middle.kind == "strict saddle"
    assert 2 * middle.loss == pytest.approx(0.0370, abs=1e-4)  # the negative labels' part of the mean square
    assert middle.escapes[0][1] == pytest.approx(0.283, abs=0.01)  # |D-|
    assert all(p.sign == -1 for p in middle.places[:4])


def test_a_moment_must_be_named():
    with pytest.raises(ValueError, match="Give a time `t` or `log_t="):
        rf.bias.landscape(figure_2(-20.0))
