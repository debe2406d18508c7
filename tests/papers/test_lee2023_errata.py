"""Errata of Lee et al.: the printed form fails where the corrected one holds."""

import math

import numpy as np
import pytest

import reluflow as rf
from reluflow import single
from reluflow.papers.lee2023._errata import ERRATA
from reluflow.papers.lee2023._standard import descent, flow


def fails_as_printed(name, subject=None, **options):
    report = rf.check(f"lee2023.{name}", subject, **options)
    printed = rf.check(f"lee2023.{name}", subject, form="printed")
    assert report.ok, report
    assert printed.form == "printed" and not printed.ok, printed
    return printed


def test_errata_are_labelled_once_and_name_checks_that_exist():
    labels = [e.label for e in ERRATA]
    assert labels == [f"E{k + 1}" for k in range(len(ERRATA))]
    known = {c.name: c.forms for c in rf.checks("lee2023")}
    assert all("printed" in known[e.check] for e in ERRATA if e.check)


@pytest.mark.parametrize("m, start", [(0, 2.0), (2, 2.0), (3, 0.1), (2, 1.0)])
def test_e1_and_e2_theorem_3_8_as_printed(m, start):
    printed = fails_as_printed("theorem3_8", flow(m, start))
    assert len(printed.violated) == 2  # the second term of the implicit form, and the sign in (15)
    residual = next(c for c in printed.claims if "residual" in c.text)
    assert residual.measured > 1e-3


def test_e4_proposition_b2_as_printed():
    printed = fails_as_printed("proposition_b2")
    assert printed.applies  # zero mean, full-rank covariance


def test_e5_theorem_4_1_with_the_constant_of_its_proof():
    printed = fails_as_printed("theorem4_1")
    bad = printed.violated[0]
    assert bad.measured / 0.01 == pytest.approx(0.508, abs=1e-3) and bad.bound / 0.01 == pytest.approx(0.25, rel=0.01)


@pytest.mark.parametrize("start", [0.1, 1.0, 2.0])
def test_e6_theorem_a3_as_printed(start):
    fails_as_printed("theorem_a3", descent(1, start))


def test_e7_the_last_term_of_a2_as_printed():
    problem = single.Problem(norm=0.426, phi=0.449)
    r = min(0.426, 1 - problem.eps)
    run = single.solve(problem, rf.Descent(step=0.98 * 2 * r / 3), 5.0)
    printed = rf.check("lee2023.theorem4_2", run, form="printed", r=r)
    assert [c.text for c in printed.violated] == ["log(pi - phi), upper bound on phi"]
    corrected = rf.check("lee2023.theorem4_2", run, r=r)
    assert corrected.ok and corrected.claims[3].measured == 0.0  # (1 - a eta)^3T is not left at all


def test_e8_convexity_as_printed():
    fails_as_printed("appendix_d1")


@pytest.mark.parametrize("m, start", [(1, 1.0), (2, 1.0), (3, 1.0), (3, 2.0)])
def test_e9_deep_neurons_are_not_monotone(m, start):
    fails_as_printed("criterion11", flow(m, start))


@pytest.mark.parametrize("m", [2, 3])
def test_e10_the_rate_of_the_bound_is_not_the_rate_of_the_magnitude(m):
    fails_as_printed("rates", flow(m, 1.0))


def test_e12_the_step_in_the_proof_of_c1():
    fails_as_printed("proposition_c1")
    from reluflow.papers.lee2023.proposition_c1 import tail

    assert tail(2, 0.99) == pytest.approx(0.045, abs=5e-4) and (1 - 0.99**2) == pytest.approx(0.020, abs=5e-4)


def test_e13_the_equations_do_not_hold_for_unbalanced_starts():
    run = single.solve(single.Problem(m=2, norm=1.0, outer=(0.5, 2.0)), t1=10.0)
    assert not rf.check("lee2023.proposition3_1", run).ok


def test_e14_a_sample_is_not_the_population():
    problem = single.draw(0, 20, 1.0, 1.0, seed=0)
    run = single.solve(problem, rf.Descent(step=0.01), 3.0, sample=single.Sample(400, 20))
    exact = single.solve(problem, rf.Descent(step=0.01), 3.0)
    gap = abs(run.norm[-1] / exact.norm[-1] - 1)
    assert 1e-3 < gap < 3 * math.sqrt(20 / 400)
    assert not rf.check("lee2023.theorem_a1", run).applies


def test_e15_lemma_c2_without_uniqueness():
    fails_as_printed("lemma_c2")


@pytest.mark.parametrize("start", [0.1, 1.0, 2.0])
def test_e16_theorem_3_3_without_its_start(start):
    printed = fails_as_printed("theorem3_3", flow(0, start))
    assert len(printed.violated) == 1 and "upper" in printed.violated[0].text


def test_e17_half_the_small_starts_do_not_allow_r_to_be_their_length():
    printed = fails_as_printed("appendix_d3")
    assert printed.claims[0].measured == pytest.approx(0.51, abs=0.02)
    assert np.all([c.ok for c in printed.claims[1:]])
