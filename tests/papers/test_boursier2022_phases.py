"""Boursier et al.: the phases of the flow at 1e-60, what fails at 1e-6, and trajectories that are no flow."""

import numpy as np
import pytest
from support.boursier import ORTHONORMAL, TWO, check, claim, five_points_flow, mislabelled, shrunk, subject

import reluflow as rf

FIRST = ("lemma2", "lemma7", "lemma8", "lemma9")


@pytest.mark.parametrize("on", [TWO, ORTHONORMAL])
@pytest.mark.parametrize("name", [*FIRST, "lemma3", "lemma4", "fact1", "lemma12", "lemma13"])
def test_the_phases_are_as_described_at_1e_60(name, on):
    report = check(name, on)
    assert report.ok and all(c.verdict != "unmeasured" for c in report.claims), report


@pytest.mark.parametrize("on", [TWO, ORTHONORMAL])
@pytest.mark.parametrize("name", FIRST)
def test_lambda_is_small_enough_for_the_proof_of_the_first_phase_at_1e_60(name, on):
    assert check(name, on).applies


def test_both_stopping_times_are_set_by_the_norms_at_1e_60():
    for on in (TWO, ORTHONORMAL):
        assert "norm" in claim(check("lemma3", on), "(ii)").note and "norm" in claim(check("lemma4", on), "(ii)").note


@pytest.mark.parametrize("on, distance, bound", [(TWO, 1.7e-7, 0.0316), (ORTHONORMAL, 0.156, 0.512)])
def test_fact_1_at_1e_60_as_in_the_handbook(on, distance, bound):
    found = check("fact1", on).claims[0]
    assert found.verdict == "holds"
    assert np.exp(found.measured) == pytest.approx(distance, rel=0.02) and np.exp(found.bound) == pytest.approx(
        bound, rel=0.01
    )


@pytest.mark.parametrize(
    "on, distance, bound",
    [("two points, 1e-6", 0.780, 0.708), ("orthonormal, 1e-6", 1.404, 0.935), ("orthonormal, 1e-20", 1.039, 0.800)],
)
def test_fact_1_is_violated_at_larger_scales_as_in_the_handbook(on, distance, bound):
    report = check("fact1", on)
    found = report.claims[0]
    assert found.verdict == "violated" and not report.applies
    assert np.exp(found.measured) == pytest.approx(distance, rel=0.01) and np.exp(found.bound) == pytest.approx(
        bound, rel=0.01
    )


@pytest.mark.parametrize("on", [TWO, ORTHONORMAL])
def test_the_saddle_has_the_handbook_s_loss_no_gradient_and_a_way_down(on):
    report = check("fact1", on)
    assert all(c.ok for c in report.claims[1:])
    expected = {TWO: 0.25, ORTHONORMAL: 0.117}[on]
    assert report.claims[1].measured == pytest.approx(expected, rel=1e-12)


def test_deactivation_is_late_on_random_data_at_larger_scales():
    # (iii) holds if and only if C5 does: at 1e-60, not at 1e-20 or 1e-6.
    assert [
        claim(check("lemma7", on), "(iii)").verdict for on in (ORTHONORMAL, "orthonormal, 1e-20", "orthonormal, 1e-6")
    ] == [
        "holds",
        "violated",
        "violated",
    ]


@pytest.mark.parametrize("name", ["lemma7", "lemma8"])
def test_coordinates_of_the_other_class_are_off_and_not_zero(name):
    assert claim(check(name, ORTHONORMAL), "(iii)").verdict == "holds"
    assert claim(check(name, ORTHONORMAL, form="printed"), "(iii)").verdict == "violated"


def test_the_loss_at_t_2_is_the_square_of_what_the_text_says():
    for on in (TWO, ORTHONORMAL):
        assert claim(check("lemma3", on), "exponent").ok
        assert claim(check("lemma3", on, form="printed"), "exponent").verdict == "violated"


def test_the_logarithm_of_lambda_has_the_other_sign_in_lemma_12():
    assert claim(check("lemma12", TWO), "rho~").ok
    assert claim(check("lemma12", TWO, form="printed"), "rho~").verdict == "violated"


def test_condition_iv_with_the_printed_sign_is_met_by_no_aligned_network():
    meets = {
        form: [h for h in check("lemma13", TWO, form=form).hypotheses if "(iv)" in h.text]
        for form in ("corrected", "printed")
    }
    assert all(h.ok for h in meets["corrected"])
    assert [h.verdict for h in meets["printed"]] == ["holds", "violated"]


def test_steps_of_the_proof_that_need_a_smaller_lambda_say_so():
    report = check("lemma11", TWO)
    assert claim(report, "t_3 - tau").verdict == "holds" and claim(report, "t_3 - t_u").verdict == "violated"
    # By the logistic law: (eps ell/29 + log(6 u))/(2|D-|) <= eps ell/(57 |D-|).
    needed = 57 * 29 * np.log(6 * 1.25**-0.5) / 0.125
    assert any(f"{needed:.4g}" in note for note in report.notes)
    assert claim(check("lemma10", TWO), "t_2 - t_u").verdict == "holds"


@pytest.mark.parametrize(
    "name", ["lemma2", "lemma3", "lemma4", "lemma7", "lemma8", "lemma10", "lemma11", "lemma12", "lemma13", "fact1"]
)
def test_a_run_under_other_labels_is_rejected(name):
    assert not check(name, mislabelled()).ok


def test_neurons_that_shrink_too_far_are_rejected():
    assert check("lemma9", TWO).ok and not check("lemma9", shrunk()).ok


def test_claims_whose_level_is_below_the_accuracy_of_the_run_are_unmeasured():
    report = check("lemma3", "two points, e^-4200")
    assert {c.verdict for c in report.claims} == {"unmeasured"}


@pytest.mark.parametrize("name", [TWO, ORTHONORMAL, "unequal norms, 1e-20", "leaky two points, 1e-6"])
def test_balance_and_signs_are_kept_by_the_flow(name):
    assert check("lemma1", name).ok


def test_unbalanced_starts_keep_their_difference():
    problem = rf.Problem(rf.data.two_points(), rf.init.gaussian(12, 2, log_scale=-3.0, seed=0))
    report = rf.check("boursier2022.lemma1", rf.solve(problem, rf.Flow(rtol=1e-10), t1=40.0))
    assert report.ok and "among 0 balanced" in report.claims[1].text


def test_descent_on_the_five_points_loses_balance_and_signs():
    # E14: what Lemma 1 forbids to the flow.
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=np.log(1e-6 / 60**0.5), seed=0))
    report = rf.check("boursier2022.lemma1", rf.solve(problem, rf.Descent(step=2e-3), t1=150.0))
    assert [c.verdict for c in report.claims] == ["violated", "violated"]


@pytest.mark.parametrize("name", ["lemma6", "proposition2"])
def test_what_is_off_stays_off_on_orthogonal_inputs_and_comes_back_on_others(name):
    for on in (TWO, ORTHONORMAL, "orthonormal, 1e-6"):
        assert check(name, on).ok
    assert not check(name, five_points_flow()).ok


def test_where_no_coordinate_reaches_zero_a_flow_exists_for_every_subgradient():
    # E10: every neuron is active on labels of its own sign alone, so that no coordinate falls.
    init = rf.Params([[1.0, -0.5], [-0.5, 1.0]], [1.25**0.5, -(1.25**0.5)], log_scale=-5.0)
    sol = rf.solve(rf.Problem(rf.Data(np.diag([1.0, 2.0]), [1.0, -1.0]), init), t1=10.0)
    assert not rf.check("boursier2022.proposition2", sol).applies
    assert not rf.check("boursier2022.proposition2", sol, form="printed").ok
    assert check("proposition2", TWO, form="printed").ok


def test_the_same_run_is_judged_with_another_epsilon():
    report = check("fact1", TWO, epsilon=0.05)
    assert report.constants["epsilon"] == 0.05 and report.applies is False and report.ok
    too_large = check("fact1", TWO, epsilon=0.2)
    assert [h.verdict for h in too_large.hypotheses if "epsilon" in h.text] == ["violated"]
    assert subject(TWO).problem.data.n == 2
