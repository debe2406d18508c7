"""Verdicts: what each word may be said of."""

import math

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
