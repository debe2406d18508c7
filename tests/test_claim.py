"""Verdicts: what each word may be said of."""

import math
import re

import numpy as np
import pytest

import reluflow as rf


@pytest.mark.parametrize(
    "measured, relation, bound, slack, verdict",
    [
        (1.0, "<=", 1.0, 0.0, "holds"),
        (1.0, "<", 1.0, 0.0, "violated"),
        (1.0, "<", 1.0, 1e-9, "holds within slack"),
        (2.0, ">", 1.0, 0.0, "holds"),
        (1.0, ">=", 1.0 + 1e-12, 1e-11, "holds within slack"),
        (1.0, ">=", 1.0 + 1e-10, 1e-11, "violated"),
        (1.0, "=", 1.0, 0.0, "holds"),
        (1.0, "=", 1.1, 0.2, "holds within slack"),
        (math.nan, "<=", 1.0, 1.0, "unmeasured"),
        (math.inf, "<=", math.inf, 0.0, "holds"),
        (math.inf, "<=", 1.0, 5.0, "violated"),
    ],
)
def test_a_verdict_says_whether_the_slack_was_needed(measured, relation, bound, slack, verdict):
    assert rf.Claim("c", measured, relation, bound, slack=slack).verdict == verdict


def test_a_limit_and_a_fitted_constant_never_hold():
    assert rf.Claim("c", 1.0, "<=", 2.0, kind="limit").verdict == "consistent so far"
    assert rf.Claim("c", 1.0, "<=", 2.0, kind="fitted").verdict == "constant fitted"
    assert rf.Claim("c", 3.0, "<=", 2.0, kind="limit").verdict == "violated"


def test_claims_are_judged_though_a_hypothesis_fails():
    report = rf.Report("n", [rf.Claim("c", 1.0, "<=", 2.0)], [rf.Claim("h", 1.0, ">", 2.0)])
    assert not report.applies
    assert report.ok
    assert "hypotheses are not all met" in str(report) and "not met            h: 1 > 2" in str(report)


def test_logarithms_are_compared_where_numbers_underflow():
    claim = rf.Claim("norm", -2e5, "<=", -1e5, log=True)
    assert claim.verdict == "holds"
    assert claim.margin == 1e5


def test_a_report_goes_to_json_with_infinities():
    import json

    report = rf.Report("n", [rf.Claim("c", math.inf, "<=", math.inf)], constants={"k": math.nan})
    assert json.loads(json.dumps(report.to_dict()))["claims"][0]["measured"] == "inf"


def test_an_unknown_check_is_named():
    with pytest.raises(ValueError, match="is not a check"):
        rf.check("nobody.lemma0", None)


def test_sides_that_were_not_computed_are_said_in_words():
    assert rf.Claim("c", -20.0, "<=", math.nan, log=True).statement() == "c: e^-20, the bound is not computed"
    assert rf.Claim("c", math.nan, "<=", math.nan).statement() == "c: not computed"
    assert rf.Claim("c", math.nan, "<=", 2.0).statement() == "c: not computed (needs <= 2)"


def test_a_question_is_answered_by_yes_or_no():
    claims = [rf.Claim("both layers are trained (1: yes)", v, "=", 1.0) for v in (0.0, 1.0)]
    assert [c.statement() for c in claims] == ["both layers are trained: no", "both layers are trained: yes"]
    assert [c.verdict for c in claims] == ["violated", "holds"]
    html = rf.Report("mine.lemma", claims)._repr_html_()
    assert "(1: yes)" not in html and ">no<" in html and ">yes<" in html


def test_places_are_words_and_numbers():
    claim = rf.Claim("c", 1.0, "<=", 2.0, at=(52, np.float64(53.665048799762815)))
    assert claim.statement() == "c: 1 <= 2 (at 52, 53.665)"
    sol = rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(6, 2, -3.0, seed=0)), t1=2.0)
    for name in ("boursier2022.lemma1", "boursier2022.lemma6"):
        assert re.search(r"\(at neuron \d+, .*t = [\d.e-]+\)", str(rf.check(name, sol))), name


def test_a_summary_counts_in_the_plural_and_says_what_is_needed():
    sol = rf.solve(rf.Problem(rf.Data([[1.0, 0.0], [0.0, 1.0]], [1.5, -0.5]), rf.init.balanced(6, 2, -3.0, seed=0)))
    said = str(rf.check("min2024", sol))
    assert re.search(r"\b([2-9]|\d\d) hold\b", said + rf.check("boursier2022", sol).line())
    assert not re.search(r"\b([2-9]|\d\d) holds\b", said)
    assert "max ||y_i| - 1|: 0.5 (needs = 0)" in said


def test_a_result_without_decay_does_not_apply_to_a_run_with_it():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(8, 2, -5.0, seed=0), decay=10.0)
    with pytest.raises(ValueError, match=r"^boursier2022.theorem1 does not apply: .* got decay = 10; check a run with"):
        rf.check("boursier2022.theorem1", rf.solve(problem))


def test_distances_below_the_accuracy_of_a_run_are_said_to_be_that():
    sol = rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=-30.0, seed=0)))
    (claim,) = [c for c in rf.check("boursier2022.theorem1", sol).claims if c.text.startswith("|theta - theta*| falls")]
    assert claim.note.endswith("; all below the accuracy of the runs, 1e-06")
