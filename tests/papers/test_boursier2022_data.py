"""Boursier et al.: what is claimed of data, draws and sampled networks."""

import itertools

import numpy as np
import pytest
from support.boursier import ORTHONORMAL, TWO, check, claim, subject, verdicts

import reluflow as rf
from reluflow.papers.boursier2022 import _standard
from reluflow.papers.boursier2022._constants import Constants, Labels
from reluflow.papers.boursier2022._scale import thresholds
from reluflow.papers.boursier2022.assumption3 import probability


def test_the_constants_of_the_handbook_s_orthonormal_set():
    const = Labels(subject(ORTHONORMAL).problem.data)
    found = (const.plus.size, const.minus.size, const.alpha, const.beta, const.epsilon)
    np.testing.assert_allclose(found, (0.3763, 0.2163, 0.0904, 0.1538, 0.02424), atol=5e-5)
    assert const.min_norm == pytest.approx(5.926308, abs=1e-6)


def test_the_constants_of_figure_2():
    const = Labels(rf.data.two_points())
    found = (const.plus.size, const.minus.size, const.r, const.alpha, const.beta, const.epsilon)
    np.testing.assert_allclose(found, (5**0.5 / 2, 1.25**0.5 / 2, 2.0, 0.5, 0.5, 0.125), rtol=1e-14)
    assert const.min_norm == pytest.approx(2.6832816, abs=1e-7)


def test_the_classes_change_roles_when_the_negative_labels_pull_harder():
    plain, turned = Labels(rf.data.two_points()), Labels(rf.Data(rf.data.two_points().x, [1.0, -1.0]))
    assert turned.flip == -1.0 and turned.epsilon == plain.epsilon and turned.plus.size == plain.plus.size
    np.testing.assert_array_equal(turned.plus.aim, plain.plus.aim)


def test_a_run_and_its_mirror_image_are_judged_alike():
    sol = subject(TWO)
    data, init = sol.problem.data, sol.problem.init
    mirror = rf.solve(rf.Problem(rf.Data(data.x, -data.y), rf.Params(init.w, -init.a, init.log_scale)), sol.method)
    for name in ("lemma3", "lemma7", "fact1"):
        a, b = check(name, TWO), check(name, mirror)
        assert verdicts(a) == verdicts(b)
        np.testing.assert_allclose(
            [c.measured for c in a.claims], [c.measured for c in b.claims], rtol=1e-6, atol=1e-12
        )


def test_assumption_1_holds_on_orthonormal_rows_and_names_the_pair_that_breaks_it():
    assert check("assumption1", ORTHONORMAL).ok
    report = rf.check("boursier2022.assumption1", rf.data.five_points())
    worst = report.claims[0]
    x = rf.data.five_points().x
    i, k = worst.at
    cos = abs(x[i] @ x[k]) / np.linalg.norm(x[i]) / np.linalg.norm(x[k])
    assert worst.verdict == "violated" and worst.measured == pytest.approx(cos, rel=1e-14)
    assert any(f"Rows {i} and {k}" in note and "What remains" in note for note in report.notes)
    assert any("cannot be orthogonal" in note for note in report.notes)


def test_orthogonal_rows_of_other_norms_break_only_the_norm_part_of_assumption_1():
    assert verdicts(check("assumption1", ORTHONORMAL, form="printed")) == ["holds within slack"] * 2
    report = check("assumption1", TWO, form="printed")
    assert verdicts(report) == ["holds within slack", "violated"] and check("assumption1", TWO).ok
    assert any("boursier2022.norms" in note for note in report.notes)


def test_assumption_2_rejects_equal_pulls_and_zero_labels():
    x = np.eye(3)
    assert rf.check("boursier2022.assumption2", rf.Data(x, [1.0, 2.0, -1.0])).ok
    assert (
        claim(rf.check("boursier2022.assumption2", rf.Data(x, [1.0, 1.0, -(2**0.5)])), "differ").verdict == "violated"
    )
    assert claim(rf.check("boursier2022.assumption2", rf.Data(x, [1.0, 0.0, -2.0])), "zero").verdict == "violated"


def test_assumption_2_needs_the_norms_of_the_inputs():
    # Sums of y^2 are 1 and 1: equal in print; the pulls are 2 and 1.
    data = rf.Data(np.diag([2.0, 1.0]), [1.0, -1.0])
    assert rf.check("boursier2022.assumption2", data).ok
    assert not rf.check("boursier2022.assumption2", data, form="printed").ok


@pytest.mark.parametrize("n_plus, n_minus, m", [(1, 1, 3), (2, 1, 3), (1, 2, 4)])
def test_the_probability_of_assumption_3_is_that_of_counting_all_patterns(n_plus, n_minus, m):
    # Orthogonal inputs: signs of coordinates and of outputs are independent fair coins.
    one = list(itertools.product([0, 1], repeat=n_plus + n_minus + 1))
    kinds = [(s and all(p[:n_plus])) + 2 * ((not s) and all(p[n_plus:])) for *p, s in one]
    met = sum(1 in draw and 2 in draw for draw in itertools.product(kinds, repeat=m))
    assert probability(n_plus, n_minus, m) == pytest.approx(met / len(kinds) ** m, rel=1e-12)


def test_tiny_probabilities_of_assumption_3_keep_their_digits():
    # m (m-1) p q to leading order.
    assert probability(40, 30, 10) == pytest.approx(90 * 2.0**-41 * 2.0**-31, rel=1e-6)


def test_assumption_3_counts_the_sets_and_rejects_a_draw_without_them():
    report = check("assumption3", ORTHONORMAL)
    assert report.ok and [c.measured for c in report.claims[:2]] == [6, 4]
    assert claim(check("assumption3", "narrow, covered, 1e-60"), "S_{+,1}").verdict == "violated"


def test_the_probability_of_assumption_3_is_wrong_for_inputs_that_are_not_orthogonal():
    data = rf.Data(np.array([[1.0, 0.0], [0.99, 0.1], [-0.5, 1.0]]), [1.0, 1.0, -1.0])
    problem = rf.Problem(data, rf.init.balanced(6, 2, seed=0))
    assert claim(rf.check("boursier2022.assumption3", problem), "share of draws").verdict == "violated"


@pytest.mark.parametrize("name", [TWO, ORTHONORMAL, "unequal norms, 1e-20"])
def test_alpha_bounds_the_pull_without_one_label_and_the_printed_one_does_not(name):
    assert check("alpha", name).ok and check("alpha", name).applies
    assert not check("alpha", name, form="printed").ok


def test_alpha_does_not_bound_pulls_that_cancel():
    # Two positive inputs at 150 degrees: each alone pulls harder than both.
    angle = np.deg2rad([0.0, 150.0, 270.0])
    data = rf.Data(np.column_stack([np.cos(angle), np.sin(angle)]), [1.0, 1.0, -0.3])
    assert not rf.check("boursier2022.alpha", data).ok


def test_two_equal_labels_give_the_three_values_of_alpha():
    data = rf.Data(np.eye(3), [1.0, 1.0, -0.5])
    report = rf.check("boursier2022.alpha", data)
    assert report.constants["alpha"] == pytest.approx(0.25) and report.claims[0].measured == pytest.approx(0.5**0.5)
    assert rf.check("boursier2022.alpha", data, form="printed").constants["alpha"] == pytest.approx(9 * 0.25)


@pytest.mark.parametrize("name", [TWO, ORTHONORMAL, "unequal norms, 1e-20"])
def test_the_least_norm_of_an_interpolator_is_attained_and_certified(name):
    assert check("proposition1", name).ok


def test_the_printed_least_norm_fails_on_figure_2_and_any_formula_on_other_data():
    printed = check("proposition1", TWO, form="printed")
    assert claim(printed, "its |theta|^2").bound == pytest.approx(6.708204) and not printed.ok
    assert claim(rf.check("boursier2022.proposition1", rf.data.five_points()), "two rays").verdict == "violated"


def test_least_mass_and_least_norm_agree_where_inputs_are_orthogonal_and_not_by_this_formula_elsewhere():
    assert claim(check("equation8", TWO), "least mass").verdict == "consistent so far"
    assert check("equation8", ORTHONORMAL).ok
    report = check("equation8", TWO)
    assert (report.constants["F1"], report.constants["linear"]) == pytest.approx((1.341641, 2.0), abs=1e-6)
    assert not rf.check("boursier2022.equation8", rf.data.five_points()).ok


@pytest.mark.parametrize("name", [TWO, ORTHONORMAL, "unequal norms, 1e-20"])
def test_lemma_14_needs_the_sets_active(name):
    assert check("lemma14", name).ok
    assert not check("lemma14", name, form="printed").ok


def test_lemma_14_rejects_inputs_that_are_not_orthogonal():
    # Two inputs of each class at 160 degrees pull against each other: |x_1 + x_2|^2 = 0.12 instead of 2.
    angle = np.deg2rad([0.0, 160.0, 190.0, 350.0])
    data = rf.Data(np.column_stack([np.cos(angle), np.sin(angle)]), [1.0, 1.0, -1.2, -1.2])
    problem = rf.Problem(data, rf.init.balanced(120, 2, seed=0))
    assert not rf.check("boursier2022.lemma14", problem).ok


def test_lemma_14_says_nothing_of_empty_sets():
    assert check("lemma14", "narrow, covered, 1e-60").claims[0].verdict == "unmeasured"


def test_lemma_16_holds_corrected_and_fails_as_printed():
    assert rf.check("boursier2022.lemma16").ok
    assert rf.check("boursier2022.lemma16", form="printed", samples=0).claims[0].measured == pytest.approx(
        np.log(50.0), abs=1e-3
    )


def test_lemma_16_notices_a_function_that_grows_faster(monkeypatch):
    from reluflow.papers.boursier2022 import lemma16

    true = lemma16._log_largest
    monkeypatch.setattr(lemma16, "_log_largest", lambda a, b, c, f0, t: true(a, b, c, f0, t) + 0.01)
    assert not rf.check("boursier2022.lemma16").ok


def test_the_conditions_of_the_printed_proof_have_the_handbook_s_sizes():
    found = thresholds(Constants(subject(ORTHONORMAL).problem))
    expected = {"C7": -774, "C11": -27401, "C13": -14114}
    assert {k: round(found[k]) for k in expected} == expected
    data = rf.data.orthonormal(2, 2, labels=[-1.0, 1.5], seed=0)
    found = thresholds(Constants(rf.Problem(data, rf.init.balanced(60, 2, seed=0))))
    expected = {"C7": -124, "C11": -4400, "C13": -3221}
    assert {k: round(found[k]) for k in expected} == expected


def test_at_the_threshold_of_c5_the_last_crossing_is_the_end_of_the_alignment_phase():
    found = thresholds(Constants(_standard.two_points()))
    const = Constants(_standard.two_points(log_scale=found["C5"] * _standard.LN10))
    last = const.limit.early.last
    late = [np.max(last[S]) / t for S, t in ((const.S_plus, const.t_plus), (const.S_minus, const.t_minus))]
    assert max(late) == pytest.approx(1.0, rel=1e-9)
    assert min(found, key=lambda name: found[name]) == "C11"


@pytest.mark.parametrize("on", ["two points, 1e-6", "orthonormal, 1e-6"])
def test_lambda_star_depends_on_the_draw_and_its_law_in_width_and_labels_is_measured(on):
    assert all(c.ok for c in check("scale", on).claims)
    assert verdicts(check("scale", on, form="printed")) == ["violated"]


PROVED = {  # results that assume the conditions of the printed proof, and where these are met
    **dict.fromkeys(("fact1", "lemma3", "lemma10"), "small labels, 1e-70"),
    **dict.fromkeys(("lemma4", "lemma11"), "small labels, 1e-560"),
    **dict.fromkeys(("lemma12", "lemma13", "lemma15", "theorem2"), "two neurons, 1e-2220"),
    "scale": "two points, 1e-6",
}


@pytest.mark.parametrize("name, on", PROVED.items())
def test_the_proof_s_own_conditions_are_met_somewhere_and_every_claim_is_measured_and_holds(name, on):
    report = check(name, on)
    assert report.applies
    assert all(c.ok for c in report.claims)


LATE = (
    "theorem1",
    "limit_alignment",
    "limit_fitting",
    "limit_groups",
    "limit_network",
    "norms",
    "larger_scale",
    "rates",
)


@pytest.mark.parametrize("name", LATE)
def test_a_run_that_was_stopped_early_violates_nothing(name):
    data = rf.Data(np.eye(4), np.array([1.0, 0.8, -0.6, -0.5]))
    problem = rf.Problem(data, rf.init.balanced(40, 4, log_scale=-20.0, seed=0))
    report = rf.check(f"boursier2022.{name}", rf.solve(problem, rf.Flow(rtol=1e-8), t1=5.0))
    assert not report.violated
    assert report.unfinished


def test_results_about_one_figure_or_a_range_of_scales_say_so():
    data = rf.Data(np.eye(4), np.array([1.0, 0.8, -0.6, -0.5]))
    sol = rf.solve(rf.Problem(data, rf.init.balanced(40, 4, log_scale=-69.0, seed=0)), rf.Flow(rtol=1e-8))
    assert not rf.check("boursier2022.loss_scale", sol).applies
    assert not rf.check("boursier2022.larger_scale", sol).applies
