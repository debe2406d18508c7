"""Boursier et al.: the discussion's claims, the experiment of Section 5, the errata, and the standard runs together."""

import numpy as np
import pytest
from support.boursier import TWO, check, claim, subject

import reluflow as rf
from reluflow.papers.boursier2022._errata import ERRATA
from reluflow.papers.boursier2022._standard import ON, SUBJECTS


@pytest.mark.parametrize("on", ["two points, 1e-6", "orthonormal, 1e-6"])
def test_cosines_of_order_lambda_do_no_harm_and_larger_ones_do(on):
    report = check("nearly_orthogonal", on)
    assert report.applies and report.ok
    # Cosines that fall much more slowly than lambda are not "of order lambda".
    assert claim(check("nearly_orthogonal", on, order=0.1), "delta = c lambda").verdict == "violated"


def test_two_norms_in_a_class_are_outside_what_is_said_of_nearly_orthogonal_data():
    data = rf.Data(np.diag([1.114, 1.324, 0.541]), np.array([2.0517, -0.8371, -3.2225]))
    problem = rf.Problem(data, rf.init.balanced(21, 3, log_scale=-15.0, seed=1))
    report = rf.check("boursier2022.nearly_orthogonal", problem)
    assert [h.text.split(",")[0] for h in report.hypotheses if not h.ok] == ["one norm in each class"]


@pytest.mark.parametrize("on", ["two points, as Figure 2", "orthonormal, 1e-6"])
def test_gaussian_output_weights_end_as_balanced_ones(on):
    assert check("gaussian_output", on).ok


def test_gaussian_output_weights_do_not_help_a_network_too_narrow():
    assert not check("gaussian_output", "narrow, covered, 1e-60").ok


def test_leaky_relu_misses_the_least_norm_and_relu_does_not():
    report = check("leaky", "leaky two points, 1e-6")
    assert report.applies and report.ok and claim(report, "|theta|^2").measured > 1.5 * claim(report, "|theta|^2").bound
    relu = check("leaky", TWO)
    assert not relu.applies and claim(relu, "|theta|^2").verdict == "violated"


def test_larger_lambda_has_no_saddle_between_and_small_lambda_has():
    assert check("larger_scale", "two points, 0.03/sqrt(m)").ok
    small = check("larger_scale", "two points, 1e-6")
    assert not small.applies and small.constants["least -L'/L between the fits over |D-|"] < 1e-3


def test_the_least_rate_between_the_fits_goes_with_the_wait_at_the_saddle():  # and no constant serves every lambda
    found = {}
    for log_scale in (-3.0, -5.0, -7.0):
        start = rf.init.balanced(60, 2, log_scale=log_scale, seed=0)
        report = rf.check("boursier2022.larger_scale", rf.solve(rf.Problem(rf.data.two_points(), start)))
        assert report.applies and not report.violated
        found[log_scale] = np.log(report.constants["least -L'/L between the fits over |D-|"])
    assert (found[-5.0] - found[-7.0]) / 2 == pytest.approx(1.0, abs=0.25)  # 2 (1 - 1/r), r = 2


@pytest.mark.parametrize("on", [TWO, "two points, as Figure 2"])
def test_the_function_of_figure_2_has_two_kinks_at_the_data(on):
    report = check("section5", on)
    assert report.ok and report.constants["half |theta|^2"] == pytest.approx(1.341641, abs=1e-5)


def test_a_large_start_leaves_more_than_two_kinks():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-1.0, seed=0))
    report = rf.check("boursier2022.section5", rf.solve(problem))
    assert claim(report, "kinks").verdict == "violated"
    report = check("section5", "orthonormal, 1e-6")
    assert not report.applies and {c.verdict for c in report.claims} == {"unmeasured"}


def test_the_figures_count_iterations_on_the_mean_square():
    assert check("loss_scale", "two points, as Figure 2").ok
    printed = check("loss_scale", "two points, as Figure 2", form="printed")
    assert not printed.ok and printed.claims[0].measured == pytest.approx(9986, abs=20)


def test_another_scale_does_not_have_the_figure_s_iterations():
    assert not check("loss_scale", "two points, 1e-60").ok


def test_descent_leaves_the_saddle_at_the_iteration_the_formula_gives():
    # 4.3 predicts the loss drops of descent within 7 iterations: step 1e-3 on 2L is 2e-3 on L.
    problem = subject("two points, as Figure 2").problem
    report = check("loss_scale", "two points, as Figure 2")
    sol = rf.solve(problem, rf.Descent(step=2e-3), t1=24.0)
    t = np.arange(4000, 12000) * 2e-3
    outputs = sol.outputs_at(t)
    for k, c in zip((1, 0), report.claims, strict=True):
        left = 0.25 * (outputs[:, k] - problem.data.y[k]) ** 2
        assert 4000 + int(np.argmax(left < 0.99 * 0.25)) == pytest.approx(c.measured, abs=7)


@pytest.mark.exhaustive
def test_small_scale_descent_never_leaves_the_plateau_of_the_five_points_and_the_flow_does():
    # E15. Mean square 0.06363, so L = 0.0318.
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=np.log(1e-8 / 60**0.5), seed=0))
    assert rf.solve(problem, rf.Descent(step=2e-3), t1=900.0).loss[-1] == pytest.approx(0.06363 / 2, rel=1e-3)
    assert rf.solve(problem).loss[-1] < 1e-15


def test_every_erratum_names_a_check_with_a_printed_form_or_a_run_that_shows_it():
    names = {c.name: c for c in rf.checks("boursier2022")}
    assert [e.label for e in ERRATA[:15]] == [f"E{k}" for k in range(1, 16)]
    without = {e.label for e in ERRATA if e.check is None or "printed" not in names[e.check].forms}
    # Scales and descent, tested by name above and in test_boursier2022_phases; steps of proofs, with their numbers.
    assert without == {"E12", "E14", "E15", "F4", "F5", "F6", "F7"}
    assert {e.kind for e in ERRATA} == {"misprint", "false", "caution"}


def test_every_check_has_a_standard_run_that_exists():
    names = {c.name for c in rf.checks("boursier2022") if c.needs != "nothing"}
    assert names == set(ON) and {s for v in ON.values() for s in v} <= set(SUBJECTS)


def test_lemmas_facts_theorems_and_propositions_are_all_there():
    names = {c.name.split(".")[1] for c in rf.checks("boursier2022")}
    numbered = {f"lemma{k}" for k in range(1, 17)} | {"fact1", "theorem1", "theorem2", "proposition1", "proposition2"}
    assert numbered | {"assumption1", "assumption2", "assumption3", "equation8", "remark1"} <= names


def test_other_losses_and_one_sided_labels_are_refused_in_a_sentence():
    data = rf.Data(np.eye(2), [1.0, -1.0])
    problem = rf.Problem(data, rf.init.balanced(4, 2, log_scale=-3.0), loss="logistic")
    with pytest.raises(ValueError, match='`loss` must be "square"'):
        rf.check("boursier2022.scale", problem)
    with pytest.raises(ValueError, match="both signs"):
        rf.check("boursier2022.alpha", rf.Data(np.eye(2), [1.0, 2.0]))


def test_a_start_that_is_not_small_leaves_the_phases_unmeasured():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=1.0, seed=0))
    sol = rf.solve(problem)
    for name in ("lemma2", "lemma3", "lemma4", "lemma10", "lemma11"):
        report = rf.check(f"boursier2022.{name}", sol)
        assert not report.applies and {c.verdict for c in report.claims} == {"unmeasured"}


def test_a_zero_input_is_refused_by_its_row():
    with pytest.raises(ValueError, match="row 1 = 0"):
        rf.check("boursier2022.alpha", rf.Data([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [1.0, 1.0, -2.0]))


def test_the_sum_reduction_is_judged_as_the_mean_on_its_own_clock():
    # One label a class: D is n times larger, so that everything happens n times faster.
    mean = check("lemma3", TWO)
    problem = subject(TWO).problem
    total = rf.Problem(problem.data, problem.init, reduction="sum")
    report = rf.check("boursier2022.lemma3", rf.solve(total, rf.Flow(rtol=1e-10)))
    assert report.ok and report.claims[0].measured == pytest.approx(mean.claims[0].measured / 2, rel=1e-9)
