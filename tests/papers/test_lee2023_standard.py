"""Lee et al.: every result on its standard runs, and on something that breaks it."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import reluflow as rf
from reluflow import single
from reluflow.papers.lee2023 import theorem4_1
from reluflow.papers.lee2023._standard import ON, SUBJECTS, descent, flow
from reluflow.papers.lee2023.corollary4_3 import stopping_time

CHECKS = {c.name: c for c in rf.checks("lee2023")}
ALONE = [name for name, c in CHECKS.items() if c.needs == "nothing"]


def violated(name, subject=None, **options):
    return [c.text for c in rf.check(f"lee2023.{name}", subject, **options).violated]


def test_every_check_has_a_standard_subject_or_needs_none():
    assert {name for name, c in CHECKS.items() if c.needs != "nothing"} == set(ON)


@pytest.mark.parametrize("name", sorted(ON))
def test_a_result_holds_on_its_standard_runs(name):
    for subject in ON[name]:
        report = rf.check(name, SUBJECTS[subject]())
        assert report.applies and report.ok, (subject, report)
        assert not any(c.verdict == "unmeasured" for c in report.claims) or name == "lee2023.corollary4_3", report


@pytest.mark.parametrize("name", ALONE)
def test_a_result_about_nothing_in_particular_holds(name):
    report = rf.check(name)
    assert report.applies and report.ok, report


def test_claims_are_judged_also_far_below_rounding():
    # At the end of this run v and its bounds agree with v* to the last digit.
    run = flow(3, 1.0)
    assert abs(run.log_ratio[-1]) < 1e-16
    assert rf.check("lee2023.theorem3_8", run).ok
    # v* itself instead of what is left to it: a change of 1e-14 at most, and noticed.
    broken = replace(run, gap=np.where(run.y > 15, 0.0, run.gap))
    assert violated("theorem3_8", broken)


# What a broken run looks like. Frames are arrays, times between frames a function, and both can be replaced.


def told_as(run, **problem):
    """The same run, with another problem on its label."""
    return replace(run, problem=replace(run.problem, **problem))


def shifted(run, by):
    """Another magnitude on every frame after the first."""
    gap, log_norm = run.gap.copy(), run.log_norm.copy()
    gap[1:] += by * (run.problem.m + 1)
    log_norm[1:] += by
    return replace(run, gap=gap, log_norm=log_norm)


def turned(run, by):
    y = run.y.copy()
    y[1:] += by
    return replace(run, y=y)


def test_propositions_3_1_and_3_6_notice_another_depth_or_an_unbalanced_start():
    assert len(violated("proposition3_1", told_as(flow(1, 1.0), m=2))) == 2
    uneven = single.solve(single.Problem(m=1, norm=1.0, outer=(3.0,)), t1=10.0)
    report = rf.check("lee2023.proposition3_1", uneven)
    assert not report.applies and not report.ok


def test_theorem_3_2_notices_the_bad_ray_and_an_angle_that_goes_back():
    bad = single.solve(single.Problem(phi=0.0), t1=5.0)
    report = rf.check("lee2023.theorem3_2", bad)
    assert not report.applies and len(report.violated) >= 1
    run = flow(0, 1.0)
    y = run.y.copy()
    y[40] = y[38]
    assert violated("theorem3_2", replace(run, y=y)) == ["increase of log tan(phi/2) between frames"]
    assert len(violated("theorem3_2", replace(run, y=run.y[::-1], gap=run.gap[::-1]))) == 3


@pytest.mark.parametrize("by, which", [(0.3, "under"), (-0.3, "over")])
def test_theorems_3_3_and_3_8_notice_a_magnitude_that_is_off(by, which):
    for name, m in (("theorem3_3", 0), ("theorem3_8", 0), ("theorem3_8", 1), ("theorem3_8", 2)):
        found = violated(name, shifted(flow(m, 1.0), by))
        assert len(found) == 1 and which in found[0]


def test_the_implicit_form_of_theorem_3_8_is_noticed_when_its_parameter_is_wrong(monkeypatch):
    from reluflow.papers.lee2023 import theorem3_8

    wrong = lambda m, u, a: 1.01 * np.asarray(u) ** (1 - m) / a
    monkeypatch.setattr(theorem3_8, "implicit", wrong)
    assert len(violated("theorem3_8", flow(2, 2.0))) == 2


def test_theorems_3_4_and_3_9_notice_an_angle_or_constants_that_are_off():
    for m in (0, 1, 2):
        run = flow(m, 1.0)
        assert len(violated("theorem3_4", turned(run, -2.0))) >= 1
        assert len(violated("theorem3_4", turned(run, 2.0))) >= 1
    # r overstated: v does go below it, the hypothesis says so, and a_lo is too fast.
    report = rf.check("lee2023.theorem3_4", flow(3, 0.1), r=0.9)
    assert not report.applies and not report.ok


def test_the_always_valid_range_notices_a_magnitude_outside():
    assert violated("always_valid", shifted(flow(0, 1.0), 0.01))
    assert violated("always_valid", shifted(flow(0, 0.1), -0.01))


def test_criterion_11_notices_a_second_turn_and_a_fall_below_h():
    run = flow(0, 2.0)
    gap = run.gap.copy()
    k = len(gap) // 2
    gap[k] += 1e-3
    assert "turning points" in violated("criterion11", replace(run, gap=gap))
    assert "change of log v while below h" in violated("criterion11", shifted(run, -1.0))


def test_rates_notice_a_wrong_clock():
    assert len(violated("rates", told_as(flow(2, 1.0), target=1.1))) == 2


def test_restarts_notice_a_run_that_leaves_its_band():
    run = flow(1, 2.0)
    late = run.t > 0.5 * run.t[-1]
    assert violated("restarts", replace(run, gap=np.where(late, run.gap + 0.1, run.gap)))


def test_the_orbit_notices_a_millionth():
    found = violated("orbit", shifted(flow(1, 1.0), 1e-6))
    assert found == ["|log v - that of the exact orbit|"]
    run = flow(1, 1.0)
    assert violated("orbit", replace(run, log_t=run.log_t + 1e-6)) == ["|log t - that of the exact orbit|"]


def test_theorem_4_2_notices_angles_that_are_off_and_steps_that_are_too_long():
    run = descent(1, 1.0)
    assert violated("theorem4_2", turned(run, -1.0)) and violated("theorem4_2", turned(run, 1.0))
    long = single.solve(single.Problem(norm=0.05), rf.Descent(step=1.0), 30.0)
    assert not rf.check("lee2023.theorem4_2", long).applies


def test_theorem_a1_notices_a_magnitude_that_is_off_and_a_step_of_two():
    assert violated("theorem_a1", shifted(descent(0, 0.1), 0.5)) and violated(
        "theorem_a1", shifted(descent(0, 1.0), -0.5)
    )
    assert not rf.check("lee2023.theorem_a1", told_as(descent(0, 1.0), law=single.Gaussian(std=7.0))).applies


def test_theorem_a3_notices_a_magnitude_that_is_off():
    run = descent(1, 1.0)
    assert violated("theorem_a3", replace(run, log_outer=run.log_outer - 0.5 * (run.y > 0.1)[:, None]))
    assert violated("theorem_a3", replace(run, log_outer=run.log_outer + 0.5))


def test_corollary_4_3_gives_a_time_that_is_kept_and_notices_when_it_is_not():
    run = descent(1, 1.0)
    report = rf.check("lee2023.corollary4_3", run, epsilon=0.05)
    assert report.ok and report.constants["first iteration within epsilon"] <= report.constants["T"]
    assert violated("corollary4_3", turned(run, -9.0), epsilon=0.05)
    short = rf.check("lee2023.corollary4_3", run, epsilon=1e-30)
    assert {c.verdict for c in short.claims} == {"unmeasured"}


def test_the_stopping_time_is_the_formula_of_the_paper():
    a = math.pi / 2 / (2 * math.pi) * 0.5 * 2.0**3
    expected = math.log(0.05 * math.tan(math.pi / 4)) / math.log(1 - a * 1e-3)
    assert stopping_time(0.1, 2, math.pi / 2, 0.5, 2.0, 1e-3) == pytest.approx(expected, rel=1e-12)
    assert stopping_time(0.1, 0, math.pi / 2, 2.0, 1.0, 1e-3) == pytest.approx(
        math.log(0.05) / math.log(1 - 0.25 * 0.5 * 1e-3), rel=1e-12
    )
    assert stopping_time(3.0, 1, 3.0, 1.0, 1.0, 1e-3) == 0.0  # within epsilon already
    with pytest.raises(ValueError, match="1 - a_lo step must be positive"):
        stopping_time(0.1, 1, math.pi / 2, 1.0, 1.0, 10.0)
    with pytest.raises(ValueError, match="`phi0` must be in"):
        stopping_time(0.1, 1, 4.0, 1.0, 1.0, 0.1)


@dataclass(frozen=True)
class Skew:
    """A Gaussian longer in one direction: not spherically symmetric."""

    kappa: float = 1.0

    def draw(self, rng, n, d):
        x = rng.normal(size=(n, d))
        return x * np.r_[1.3, np.ones(d - 1)]


def test_lemma_2_1_and_proposition_b1_notice_a_law_that_is_not_round():
    assert len(violated("lemma2_1", law=Skew())) >= 3
    assert violated("proposition_b1", laws=(Skew(),))
    # The right law at the wrong scale is noticed too.
    assert violated("proposition_b1", laws=(single.Radial(4, lambda rng, n: np.ones(n), 1.1),))


def test_proposition_b2_is_about_what_the_target_sees():
    assert not rf.check("lee2023.proposition_b2", x=[[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]]).applies
    assert violated("proposition_b2", x=[[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])


def test_proposition_c1_notices_a_law_with_a_heavier_tail():
    assert violated("proposition_c1", law=lambda d, e: math.exp(-0.4 * d * e * e))


def test_lemma_c2_notices_a_smaller_right_hand_side():
    report = rf.check("lee2023.lemma_c2", gap=-1.0, trials=6)
    assert not report.applies and not report.ok


def test_proposition_3_5_notices_activations_that_let_negative_weights_through():
    assert len(violated("proposition3_5", relu=False)) >= 1


def test_theorem_4_1_notices_a_flow_that_is_not_of_its_form():
    # The derivative of another curve: descent then follows nothing that g knows of.
    wrong = replace(theorem4_1.CURVES[2], d1=lambda x: -1.0 + 0 * x)
    assert violated("theorem4_1", curves=(wrong,))


def test_scale_and_speed_notice_scales_in_the_wrong_order():
    assert len(violated("scale_speed", scales=(-1.0, 0.0))) == 3


def test_appendix_d1_and_d3_notice_other_settings(monkeypatch):
    from reluflow.papers.lee2023 import appendix_d1

    honest = appendix_d1.log_magnitude
    monkeypatch.setattr(appendix_d1, "log_magnitude", lambda m, l, e, t: honest(m, l, 0.5 * e, t))
    assert violated("appendix_d1")
    assert violated("appendix_d3", d=3)


def test_descent_results_say_so_when_given_a_flow_and_the_reverse():
    with pytest.raises(TypeError, match="about gradient descent"):
        rf.check("lee2023.theorem_a1", flow(0, 1.0))
    assert not rf.check("lee2023.theorem3_3", descent(0, 1.0)).applies
    with pytest.raises(TypeError, match=r"a run of rf\.single\.solve"):
        rf.check("lee2023.theorem3_3", 3)


def stalled(run, **columns):
    """A run whose columns, and what it shows at other times, are changed."""
    return replace(run, **{name: change(getattr(run, name)) for name, change in columns.items()}, curve=None)


def test_a_magnitude_or_an_angle_that_stops_short_is_noticed_by_theorem_3_2():
    run = flow(0, 1.0)
    assert rf.check("lee2023.theorem3_2", run).ok
    short = stalled(run, gap=lambda g: np.where(np.arange(len(g)) > len(g) // 3, np.log(0.9), g))
    assert any("v/v*" in c.text for c in rf.check("lee2023.theorem3_2", short).violated)
    stop = np.log(np.tan(2.5 / 2))
    turned = stalled(run, y=lambda y: np.minimum(y, stop + 1e-9 * np.arange(len(y))))
    assert any("pi - phi" in c.text for c in rf.check("lee2023.theorem3_2", turned).violated)


def test_a_run_stopped_at_once_is_unfinished_and_not_converged():
    run = single.solve(single.Problem(m=1, norm=0.5), rf.Flow(rtol=1e-10), t1=0.01)
    report = rf.check("lee2023.theorem3_2", run)
    assert not report.violated and len(report.unfinished) == 2 and report.until > 0.01


@pytest.mark.parametrize("norm, step", [(4.0, 0.005), (8.0, 0.002), (2.0, 0.05)])
def test_the_excess_of_theorem_a3_grows_with_the_cube_of_the_start(norm, step):
    run = single.solve(single.Problem(m=1, norm=norm, phi=1.0), rf.Descent(step=step), t1=30.0)
    report = rf.check("lee2023.theorem_a3", run)
    assert report.applies and report.ok


def test_a_step_too_long_for_the_start_is_a_hypothesis_of_theorem_a3():
    run = single.solve(single.Problem(m=1, norm=3.0, phi=1.0), rf.Descent(step=0.1), t1=30.0)
    assert not rf.check("lee2023.theorem_a3", run).applies


def test_the_gradient_of_the_loss_is_that_of_a_sample():
    from reluflow.papers.lee2023.proposition3_1 import gradient

    rng = np.random.default_rng(0)
    m, v, phi = 2, 0.8, 1.1
    theta = np.pi - phi
    w, star = v * np.array([1.0, 0.0]), np.array([np.cos(theta), np.sin(theta)])
    x = rng.normal(size=(400_000, 2))
    on = x @ w > 0
    force = (np.maximum(x @ star, 0.0) - v**m * np.maximum(x @ w, 0.0)) * v**m
    sampled = np.mean((force * on)[:, None] * x, axis=0) / v
    np.testing.assert_allclose(gradient(m, np.log(v), phi), sampled, atol=6e-3)


def test_the_conjecture_of_section_5_2_is_false_for_one_layer():
    assert all(c.ok for c in rf.check("lee2023.conjecture5_2").claims)
    assert rf.check("lee2023.conjecture5_2", form="printed").violated
