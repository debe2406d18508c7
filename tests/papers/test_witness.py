"""Checks read the weights of a run, not its log; what a run does not reach is unfinished, never violated."""

from functools import cache

import numpy as np
import pytest

import reluflow as rf
from reluflow.observe._witness import Witness
from reluflow.papers.boursier2022 import _standard as boursier
from reluflow.papers.min2024 import _standard as min2024

from . import mutants

FLOWS = [c.name for c in rf.checks("min2024") if c.needs == "flow"]
# What these say holds of any weights whatever their directions; that the run follows the field is its record's claim.
OF_ANY_DIRECTION = {
    "min2024.lemma1": "an error of the vector field at the weights there are",
    "min2024.lemma4": "an error of the vector field at the weights there are",
    "min2024.lemma10": "an error of the vector field at the weights there are",
    "min2024.lemma3": "norms and outputs alone",
}


@pytest.fixture(scope="module")
def six():
    return min2024.SUBJECTS["six"]()


@pytest.fixture(scope="module")
def reversed_run(six):
    return mutants.reverse_all(six)


def noticed(name, good, bad) -> bool:
    """Whether a report on the bad run has a claim or hypothesis that the good one had not: by the result itself."""
    before, after = rf.check(name, good), rf.check(name, bad)
    assert before.applies and before.ok
    return bool(after.violated) or not after.applies or any(c.verdict == "unmeasured" for c in after.claims)


@pytest.mark.parametrize("name", FLOWS)
def test_every_statement_about_directions_notices_reversed_neurons(six, reversed_run, name):
    assert noticed(name, six, reversed_run) == (name not in OF_ANY_DIRECTION)
    assert not rf.check(name, reversed_run).consistent


def test_one_reversed_neuron_is_noticed_by_theorem_1(six):
    one = mutants.reverse_one(six)
    assert rf.check("min2024.theorem1", one).violated
    assert rf.check("min2024.lemma12", one).violated


@pytest.mark.parametrize("make", [m for name, m in mutants.MUTANTS.items() if name != "cut the run"])
@pytest.mark.parametrize("subject", ["six", "two points, 1e-6"])
def test_the_record_of_a_tampered_run_contradicts_itself(subject, make):
    sol = (min2024 if subject == "six" else boursier).SUBJECTS[subject]()
    assert all(c.ok for c in rf.observe.consistency(sol))
    assert any(c.verdict == "violated" for c in rf.observe.consistency(make(sol)))


def test_a_descent_follows_its_own_recursion_and_says_so():
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(12, 2, log_scale=-3.0, seed=0))
    sol = rf.solve(problem, rf.Descent(step=2e-3), t1=10.0)
    assert all(c.ok for c in rf.observe.consistency(sol))
    assert any(c.verdict == "violated" for c in rf.observe.consistency(mutants.scale_norms(sol)))


def test_the_witness_and_the_log_agree_on_an_honest_run_with_slides():
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(30, 2, log_scale=-9.0, seed=0))
    sol = rf.solve(problem, rf.Flow(rtol=1e-8), t1=120.0)
    assert sol.stats.slides > 0
    seen, own = Witness(sol), rf.observe._view.View(sol)
    np.testing.assert_array_equal(seen.bits, own.bits)
    np.testing.assert_allclose(seen.outputs, own.outputs, atol=1e-12)
    np.testing.assert_allclose(seen.log_loss, own.log_loss, atol=1e-9)
    assert all(c.ok for c in rf.observe.consistency(sol))


@cache
def stopped(end):
    return rf.solve(min2024.SUBJECTS["six"]().problem, rf.Flow(rtol=1e-8), t1=end)


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("end", [0.2, pytest.param(3.0, marks=pytest.mark.exhaustive), 30.0])
def test_a_run_that_was_stopped_early_violates_nothing(six, name, end):
    short = stopped(end)
    for form in next(c.forms for c in rf.checks("min2024") if c.name == name):
        report = rf.check(name, short, form=form)
        whole = rf.check(name, six, form=form)
        assert not report.violated or whole.violated
        missing = [c for c in report.claims if c.verdict == "unmeasured"]
        assert len(missing) <= sum(c.verdict == "unmeasured" for c in whole.claims)


def test_an_unfinished_theorem_says_until_when_it_needs_the_run_and_that_is_enough(six):
    short = rf.solve(six.problem, rf.Flow(rtol=1e-8), t1=0.2)
    report = rf.check("min2024.theorem1", short)
    assert report.unfinished and report.until > 0.2
    longer = rf.solve(six.problem, rf.Flow(rtol=1e-8), t1=1.01 * report.until)
    assert not rf.check("min2024.theorem1", longer).unfinished


# Whole papers, functions ----------------------------------------------------------------------------------------------


def test_a_whole_paper_is_judged_without_stopping_at_what_does_not_fit():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(12, 2, log_scale=-8.0, seed=0))
    sol = rf.solve(problem, rf.Flow(rtol=1e-8), t1=30.0)
    for paper in ("min2024", "kou2023"):
        found = rf.check(paper, sol)
        names = {r.name for r in found.reports} | {name for name, _ in found.left_out}
        assert names == {c.name for c in rf.checks(paper)}
        assert all(reason and "\n" not in reason for _, reason in found.left_out)
        assert found.line().startswith(f"{len(found.applying)} of {len(names)} checks apply")
        assert str(found).endswith(found.line())
    assert any('`loss` must be "logistic" for Kou et al., got "square"' in why for _, why in found.left_out)


def test_a_function_of_ones_own_is_a_check(six):
    def never_falls(sol):
        """The loss never rises."""
        rise = float(np.max(np.diff(sol.log_loss)))
        return rf.Claim("largest rise of log L between frames", rise, "<=", 0.0, slack=1e-12)

    report = rf.check(never_falls, six)
    assert report.name == "never_falls" and report.title == "The loss never rises."
    assert report.ok and len(report.record) == 4
    assert rf.check(lambda sol: sol.loss[-1] > 1.0, six).violated
    with pytest.raises(TypeError, match="must return a Report, Claims, or True or False, got int"):
        rf.check(lambda sol: 3, six)


def test_a_registered_function_has_a_name_and_is_listed(six):
    @rf.checker("norms", needs="flow")
    def norms(sol):
        """Every neuron is larger at the end."""
        return bool(np.all(sol.log_norm[-1] >= sol.log_norm[0]))

    try:
        assert "mine.norms" in [c.name for c in rf.checks("mine")]
        assert rf.check("mine.norms", six).title == "Every neuron is larger at the end."
        assert rf.check("mine", six).left_out == ()
        with pytest.raises(TypeError, match=r"mine.norms needs a Solution of rf.solve with rf.Flow, got Data"):
            rf.check("mine.norms", six.problem.data)
        with pytest.raises(ValueError, match=r'must not be named like a paper\'s, got "min2024.norms"'):
            rf.checker("min2024.norms")(norms)
    finally:
        from reluflow import checking

        checking._mine.clear()


def test_data_along_one_line_leave_no_wider_cap_and_no_division_by_zero():
    one = rf.solve(rf.Problem(rf.Data([[1.0]], [1.0]), rf.Params([[1.0]], [1.0], log_scale=-3.0)), rf.Flow(), t1=5.0)
    found = rf.check("min2024", one)
    assert not found.violated and not any("division" in why for _, why in found.left_out)
    text = [c.text for c in rf.check("min2024.lemma8", rf.data.toy_plane()).claims]
    assert any("leaves its cone" in t for t in text)  # where there is one it is tried
    assert not any("leaves its cone" in c.text for c in rf.check("min2024.lemma8", one).claims)


def test_a_summary_says_each_reason_once_and_an_assumption_that_fails_contradicts_nothing():
    sol = rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(8, 2, log_scale=-30.0)), rf.Flow(), t1=60.0)
    found = rf.check("min2024", sol)
    assert any(r.name == "min2024.assumption1" and r.violated for r in found.reports)
    assert found.ok and "violated" not in str(found)
    reasons = [line for line in str(found).splitlines() if "not judged" in line]
    assert len(reasons) < 12 and any("min2024.assumption1" in line for line in reasons)
    # Nothing is lost by the grouping.
    assert all(c.name in str(found) for c in rf.checks("min2024"))
