"""Theorem 1 of Min et al. at its own scale, at practical scale, and on what it must reject."""

import copy
import dataclasses

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers._kept import kept
from reluflow.papers.min2024 import _constants, _standard
from reluflow.papers.min2024._run import Run, as_run

OWN = ("six", "seven", "twelve")


def claim(report, words):
    """The one claim whose text has these words."""
    (found,) = [c for c in report.claims if words in c.text]
    return found


def relabelled(sol, *, data=None, init=None, **options):
    """A run that pretends to be of another problem: a trajectory that breaks what the claims say of it."""
    parts = {k: v for k, v in (("data", data), ("init", init)) if v is not None}
    problem = dataclasses.replace(sol.problem, **parts, **options)
    return rf.Solution(dataclasses.replace(sol.recording, problem=problem), sol.replay)


@pytest.mark.parametrize("name", OWN)
def test_at_its_own_scale_all_hypotheses_are_met_and_all_claims_hold(name):
    report = rf.check("min2024.theorem1", _standard.SUBJECTS[name]())
    assert report.applies
    assert all(c.ok for c in report.claims)
    assert report.constants["log_eps"] < -4000
    # The eps is the largest that (28) admits, to a whole number.
    assert 0 <= report.constants["log_eps_b"] - report.constants["log_eps"] < 1
    assert len(report.claims) >= 17


def test_at_practical_scale_the_hypothesis_fails_by_a_stated_amount_and_claims_are_measured():
    report = rf.check("min2024.theorem1", _standard.SUBJECTS["six at e^-14"]())
    assert not report.applies
    (failed,) = [h for h in report.hypotheses if not h.ok]
    assert "eps_B" in failed.text
    np.testing.assert_allclose(failed.margin, -4251.67, atol=0.01)
    assert all(c.verdict != "unmeasured" for c in report.claims)
    assert claim(report, "last arrival of V- (").measured == pytest.approx(0.6378, abs=1e-4)
    assert "ends before the last neuron arrives" in report.notes[0]  # E13


def test_the_mean_and_the_halved_logistic_loss_are_the_same_theorem_at_another_pace():
    data = _standard.data("six")
    init = rf.init.balanced(20, data.d, log_scale=-60.0, seed=0)
    found = {}
    for loss, reduction in (("logistic2", "sum"), ("logistic", "mean"), ("logistic2", "mean")):
        problem = rf.Problem(data, init, loss=loss, reduction=reduction)
        pace = (1 if reduction == "sum" else data.n) * (2 if loss == "logistic" else 1)
        report = rf.check("min2024.theorem1", rf.solve(problem, rf.Flow(rtol=1e-9), t1=1e5 * pace))
        said = [note for note in report.notes if "in the paper's units" in note]
        assert len(said) == (pace != 1) and all(f"{1 / pace:.6g} t and {pace:g} L" in note for note in said)
        found[loss, reduction] = report
    first, *rest = found.values()
    for other in rest:
        for a, b in zip(first.claims, other.claims, strict=True):
            if "largest after t2" not in a.text:  # read at the run's own moments
                np.testing.assert_allclose(b.measured, a.measured, rtol=1e-3, err_msg=a.text)


def test_neurons_that_go_the_other_way_are_noticed():
    sol = _standard.SUBJECTS["six"]()
    init = sol.problem.init
    wrong = relabelled(sol, init=rf.Params(init.w, -init.a, log_scale=init.log_scale))
    report = rf.check("min2024.theorem1", wrong)
    assert claim(report, "last arrival of V+ (").verdict == "violated"
    assert claim(report, "neurons active on their own class").verdict == "violated"


def test_a_loss_that_falls_too_slowly_is_noticed():
    fast = copy.copy(_standard.SUBJECTS["six"]())
    run = Run(fast)
    run.c = dataclasses.replace(run.c, alpha=1e5 * run.c.alpha)
    kept(fast, ("min2024", "corrected"), lambda: run)
    for name in ("theorem1", "final_rate"):
        assert claim(rf.check(f"min2024.{name}", fast), "log of L(t) over").verdict == "violated"


def test_one_datum_shows_that_t1_is_zero_there_in_print():  # E5
    data = rf.Data(np.array([[1.0, 0.0]]), np.ones(1))
    init = rf.Params(np.array([[1.0, 1.0], [1.0, 0.2]]), np.array([-np.sqrt(2.0), np.sqrt(1.04)]), log_scale=-300.0)
    sol = rf.solve(rf.Problem(data, init, loss="exponential", reduction="sum"), rf.Flow(rtol=1e-10), t1=2000.0)
    printed = rf.check("min2024.theorem1", sol, form="printed")
    arrival = claim(printed, "last arrival of V-")
    assert arrival.verdict == "violated"
    assert arrival.bound == 0.0
    assert arrival.measured == pytest.approx(np.arcsinh(1.0), abs=1e-8)
    corrected = rf.check("min2024.theorem1", sol)
    assert not corrected.applies
    assert any("n is at least 2" in h.text and not h.ok for h in corrected.hypotheses)


def test_one_positive_against_many_negative_data_takes_longer_than_theta_of_one_over_n():  # E9
    labels = [1.0] + 19 * [-1.0]
    data = rf.data.orthogonally_separable(20, 8, 0.9, labels=labels, seed=0)
    init = rf.init.balanced(12, 8, log_scale=-3e4, seed=0)
    sol = rf.solve(rf.Problem(data, init, loss="exponential", reduction="sum"), rf.Flow(rtol=1e-7), log_t1=14.0)
    assert claim(rf.check("min2024.equation36", sol, form="printed"), "t2+").verdict == "violated"
    report = rf.check("min2024.equation36", sol)
    assert claim(report, "t2+ against (39) with the observed").verdict == "holds"
    assert report.ok


def test_the_printed_limit_of_the_stable_rank_and_of_f_fails():  # E8
    sol = _standard.SUBJECTS["six"]()
    printed, corrected = (rf.check("min2024.low_rank", sol, form=f) for f in ("printed", "corrected"))
    assert claim(printed, "limsup").verdict == "violated"
    assert claim(printed, "f(x_i) grows").verdict == "violated"
    assert claim(corrected, "limsup").verdict == "consistent so far"
    assert claim(corrected, "y_i f(x_i) grows").verdict == "consistent so far"


def test_a_matrix_of_high_rank_is_noticed():
    data = _standard.data("twelve")
    init = rf.init.balanced(20, data.d, log_scale=0.7, seed=0)
    sol = rf.solve(rf.Problem(data, init, loss="exponential", reduction="sum"), log_t1=2.0)
    tiny = relabelled(sol, init=rf.Params(init.w, init.a, log_scale=-300.0))
    assert rf.check("min2024.low_rank", tiny).violated


@pytest.mark.parametrize("name", OWN)
def test_constants_are_those_of_a_direct_search(name):
    data = _standard.data(name)
    geo = _constants.geometry(data)
    u = np.sign(data.y)[:, None] * data.x / np.linalg.norm(data.x, axis=1)[:, None]
    pairs = [(float(u[i] @ u[k]), (i, k)) for i in range(data.n) for k in range(i + 1, data.n)]
    assert geo.mu == pytest.approx(min(pairs)[0], abs=1e-15)
    assert geo.pair == min(pairs)[1]
    assert geo.mu == pytest.approx(data.describe().mu, abs=1e-15)
    sums = [np.sum(data.x[data.y == s], axis=0) for s in (1, -1)]
    cosines = [x @ s / np.linalg.norm(x) / np.linalg.norm(s) for x in data.x for s in sums]
    assert geo.zeta1 == pytest.approx(min(c**2 for c in cosines), abs=1e-14)
    assert geo.zeta1 >= geo.xi


def test_the_sizes_of_constants_are_the_handbooks():
    # n = 6, mu = .64, unit norms: log eps_B = -log(h)/2 - 64 n log n/(m sqrt(mu)), m = min(zeta_2, mu^2).
    problem = _standard.SUBJECTS["seven"]().problem
    c = _constants.constants(problem)
    n, mu = 7, c.geo.mu
    m = min(c.zeta2, mu**2)
    assert c.m == pytest.approx(m)
    assert c.t1 == pytest.approx(16 * np.log(n) / (m * np.sqrt(mu)))
    assert c.log_eps_b == pytest.approx(-0.5 * np.log(20) - 64 * n * np.log(n) / (m * np.sqrt(mu)))
    assert c.alpha == pytest.approx(mu**2 / 32)
    assert c.T == pytest.approx((-c.log_eps - 0.5 * np.log(20)) / 28)


def test_scale_split_over_mantissas_and_log_scales_gives_the_same_run_of_constants():
    data = _standard.data("six")
    g = rf.init.balanced(5, 5, log_scale=0.0, seed=1)
    plain = _constants.scale(rf.Params(1e-3 * g.w, 1e-3 * g.a))
    each = _constants.scale(rf.Params(g.w, g.a, log_scale=np.full(5, np.log(1e-3))))
    assert plain[0] == pytest.approx(each[0])
    np.testing.assert_allclose(plain[1], each[1])
    assert np.max(plain[1]) == 0.0
    assert as_run(_standard.SUBJECTS["six"]()).c.log_eps == -4266.0
    assert data.d == 5
