"""Boursier et al.: the last phase, the theorems, rates, and the limit formulas."""

import numpy as np
import pytest
from support.boursier import ORTHONORMAL, TWO, check, claim, mislabelled, subject

import reluflow as rf
from reluflow.papers.boursier2022._constants import Constants
from reluflow.papers.boursier2022._landscape import loss_and_gradient
from reluflow.papers.boursier2022.norms import effective_overshoot

SCALES = (TWO, ORTHONORMAL, "orthonormal, 1e-20", "two points, 1e-6", "orthonormal, 1e-6")


@pytest.mark.parametrize("on", SCALES)
def test_theorem_1_is_consistent_at_every_scale(on):
    report = check("theorem1", on)
    assert report.applies and report.ok
    assert {c.verdict for c in report.claims} <= {"consistent so far", "unmeasured"}


def test_the_distance_to_theta_star_falls_by_the_exponent_of_the_fastest_stray_neuron():
    report = check("theorem1", "orthonormal, 1e-20")
    assert report.constants["1 - rho_max"] == pytest.approx(1 - (1.3**2 + 1.1**2) ** 0.5 / 3.54**0.5, abs=1e-9)
    assert claim(report, "slope").measured == pytest.approx(report.constants["1 - rho_max"], abs=1e-5)


def test_theorem_1_rejects_a_draw_without_assumption_3():
    report = check("theorem1", "narrow, a label uncovered, 1e-60")
    assert not report.applies and claim(report, "loss at the end").verdict == "violated"
    report = check("theorem1", "narrow, covered, 1e-60")
    assert claim(report, "loss at the end").ok and claim(report, "|theta - theta*| falls").verdict == "violated"


def test_theorem_2_holds_deep_and_its_printed_radius_is_too_small():
    assert check("theorem2", "two points, e^-4200").ok and check("theorem2", TWO).ok
    # At 1e-6 the flow passes t_3 at 1.12 from theta*, between the printed radius 0.9986 and the proof's.
    for form, verdict in (("corrected", "holds"), ("printed", "violated")):
        assert claim(check("theorem2", "orthonormal, 1e-6", form=form), "from t_3 on").verdict == verdict
    assert not check("theorem2", mislabelled()).ok


@pytest.mark.parametrize("on", [TWO, ORTHONORMAL])
def test_the_pl_constant_at_theta_star_is_two_or_four_times_the_paper_s(on):
    report = check("lemma5", on)
    factor = {TWO: 4.0, ORTHONORMAL: 2.0}[on]
    assert claim(report, "against").measured == pytest.approx(factor * report.constants["|D-|"], rel=1e-12)
    assert claim(report, "random").verdict == "holds"


def test_lemma_5_holds_in_its_ball_once_lambda_is_small_enough_and_not_before():
    deep = check("lemma5", "two points, e^-4200")
    assert deep.applies and deep.ok
    shallow = check("lemma5", TWO)
    assert not shallow.applies and claim(shallow, "shrunk").verdict == "violated"


def test_lemma_15_holds_deep_and_rejects_a_run_under_other_labels():
    assert check("lemma15", "two points, e^-4200").ok
    assert claim(check("lemma15", TWO), "on the run").verdict == "holds"
    assert claim(check("lemma15", mislabelled()), "on the run").verdict == "violated"


def test_the_gradient_of_sampled_networks_is_that_of_finite_differences():
    const = Constants(subject(ORTHONORMAL).problem)
    rng = np.random.default_rng(0)
    w, a = rng.normal(size=(7, 8)), rng.normal(size=7)
    _, square = loss_and_gradient(const, w, a)
    h, total = 1e-6, 0.0
    for part in (w, a):
        for i in np.ndindex(part.shape):
            old = part[i]
            values = []
            for s in (h, -h):
                part[i] = old + s
                values.append(loss_and_gradient(const, w, a)[0])
            part[i] = old
            total += ((values[0] - values[1]) / (2 * h)) ** 2
    assert square == pytest.approx(total, rel=1e-7)


@pytest.mark.parametrize("on, last", [(TWO, 4.0), (ORTHONORMAL, 4.0), ("orthonormal, 1e-6", 2.0)])
def test_the_rate_at_the_end_is_two_to_four_times_the_paper_s(on, last):
    report = check("rates", on)
    assert report.ok and report.constants["last"] == pytest.approx(last, abs=0.05)
    assert not check("rates", on, form="printed").ok
    assert not check("rates", mislabelled()).ok


@pytest.mark.parametrize("on", SCALES)
def test_the_flow_moves_at_most_twice_the_root_of_loss_over_ratio_and_nearly_that(on):
    assert check("remark1", on).ok
    assert not check("remark1", on, form="printed").ok


def test_the_factor_in_the_criterion_is_attained():
    assert check("remark1", TWO).claims[0].measured > 0.99
    assert not check("remark1", mislabelled()).ok


@pytest.mark.parametrize("on", [*SCALES, "unequal norms, 1e-20"])
def test_clusters_end_on_the_rays_that_the_norms_of_the_inputs_set(on):
    assert check("norms", on).ok


def test_directions_are_constant_only_with_one_norm_in_each_class():
    assert check("norms", TWO, form="printed").ok and check("norms", ORTHONORMAL, form="printed").ok
    assert not check("norms", "unequal norms, 1e-20", form="printed").ok
    assert not check("norms", mislabelled()).ok


def test_the_handbook_s_unequal_class_overshoots_by_eight_percent():
    # nu = (2, 0.7); the labels that give cos(D, E) = 0.63 and |theta|^2 = 4.77328 are not in the handbook.
    data = rf.Data(np.diag([2.0, 0.7, 1.0]), [1.0, 1.0, -0.5])
    const = Constants(rf.Problem(data, rf.init.balanced(40, 3, log_scale=-46.0, seed=0)))
    cos = float(const.plus.aim @ const.plus.goal)
    assert cos == pytest.approx(2.0 / (4.49**0.5 * (0.25 + 1 / 0.49) ** 0.5), rel=1e-12)
    assert 0.05 < effective_overshoot(const, const.plus) < 0.1


@pytest.mark.parametrize("on", [TWO, ORTHONORMAL, "orthonormal, 1e-6"])
@pytest.mark.parametrize("name", ["limit_alignment", "limit_fitting", "limit_network"])
def test_the_limit_formulas_agree_with_the_flow(name, on):
    assert check(name, on).ok


@pytest.mark.parametrize("name", ["limit_alignment", "limit_fitting", "limit_network", "limit_groups"])
def test_the_limit_formulas_reject_a_run_under_other_labels(name):
    assert not check(name, mislabelled()).ok


def test_crossings_of_figure_2_agree_to_rounding():
    report = check("limit_alignment", TWO)
    assert claim(report, "crossings").measured == 32 and claim(report, "crossing times").measured < 1e-12
    assert report.constants["last crossing"] == pytest.approx(3.8603, abs=1e-4)


@pytest.mark.parametrize("on", [TWO, ORTHONORMAL, "narrow, covered, 1e-60", "narrow, a label uncovered, 1e-60"])
def test_groups_are_fitted_one_by_one_with_or_without_assumption_3(on):
    assert check("limit_groups", on).ok


def test_the_loss_of_a_label_without_a_neuron_stays():
    report = check("limit_groups", "narrow, a label uncovered, 1e-60")
    assert claim(report, "loss").measured == pytest.approx(0.6**2 / 10, rel=1e-9)
    assert not check("limit_groups", "narrow, a label uncovered, 1e-60", form="printed").ok
    assert check("limit_groups", "narrow, covered, 1e-60", form="printed").ok
