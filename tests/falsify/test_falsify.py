"""`rf.falsify`: what it refutes, what it doubts, what it cannot judge, and how it resumes."""

import json

import numpy as np
import pytest

import reluflow as rf
from reluflow.claim import Claim, Report

LINE = rf.space.line(n=2, width=2, log_scale=-20.0, rtol=1e-6)


def norm_never_falls(sol: rf.Solution):
    """log |theta|^2 never falls."""
    total = np.logaddexp.reduce(2 * sol.log_norm, axis=1)
    return Claim("largest fall of log |theta|^2", float(np.max(np.maximum.accumulate(total) - total)), "<=", 1e-3)


def test_a_false_conjecture_is_refuted_by_a_small_run_that_other_means_uphold():
    found = rf.falsify(norm_never_falls, over=LINE, runs=200)
    assert found and found.verdict == "refuted" and found.claim.verdict == "violated"
    assert {t.name: t.upheld for t in found.tests}["confirmation"] is True
    assert not [t for t in found.tests if t.upheld is False]
    assert found.spec.characters < found.first.characters and LINE.holds(found.spec)
    made = {"norm_never_falls": norm_never_falls}
    exec(found.python().replace("print(", "report = (", 1), made)
    assert str(made["report"]) == str(found.report)  # bit for bit
    assert "refuted after" in str(found) and "norm_never_falls" in found.table()


def test_a_misprint_is_found_and_the_corrected_form_is_not_refuted():
    printed = rf.falsify("kou2023.lemma_f2", form="printed", runs=40)
    assert printed.verdict == "refuted" and "lower bound" in printed.claim.text
    assert rf.check("kou2023.lemma_f2", printed.subject).ok  # on the same run the corrected form holds
    again = rf.falsify("kou2023.lemma_f2", runs=12, only="lower bound")
    assert again.verdict == "not refuted" and 0 < again.tightness <= 1.0


def test_a_claim_about_data_is_searched_without_runs():
    def spread(data: rf.Data):
        """Labels differ by less than 2 standard deviations."""
        return 2.0 - float(np.ptp(data.y))

    found = rf.falsify(spread, over=rf.space.line(n=2), runs=100)
    assert found.verdict == "refuted" and found.target.needs == "data" and found.spec.w is None
    assert "rf.solve" not in found.python()


def test_what_depends_on_the_tolerance_is_doubtful():
    def wrong(sol):
        return Claim("rtol", sol.stats.rtol, "<=", 1e-7)

    found = rf.falsify(wrong, over=LINE, runs=20)
    assert found.verdict == "doubtful" and not found and "rtol/100" in found.reason
    assert "doubtful because" in str(found)


def test_a_violation_within_ten_slacks_is_doubtful():
    def nearly(data: rf.Data):
        return Claim("c", 1.0 + 5e-6, "<=", 1.0, slack=1e-6)

    found = rf.falsify(nearly, over=LINE, runs=20)
    assert found.verdict == "doubtful" and "slack: exceeded 5 times" in found.reason


def test_a_limit_that_is_reached_at_smaller_scales_is_not_refuted():
    def gone(problem: rf.Problem):
        return Claim("scale", float(np.exp(problem.init.log_scale)), "<=", 1e-12, kind="limit")

    found = rf.falsify(gone, over=LINE, runs=20)  # e^-20 = 2e-9, e^-40 = 4e-18
    assert found.verdict == "not refuted" and set(found.history.tiers) == {"holds"}


def test_a_claim_that_never_applies_is_named_with_its_hypothesis_after_200_draws():
    def never(data: rf.Data):
        low = Claim("the labels are below -100", float(np.max(data.y)), "<", -100.0)
        odd = Claim("there are points", data.n, ">=", 1)
        return Report("never", [Claim("c", 0.0, "<=", 1.0)], [odd, low])

    notes = []
    found = rf.falsify(never, over=LINE, runs=260, progress=lambda now: notes.append((now.runs, now.note)))
    assert found.verdict == "vacuous" and found.history.applied == 0
    first = next(runs for runs, note in notes if note)
    assert 200 <= first < 230
    assert 'the hypothesis that fails most is "the labels are below -100"' in notes[-1][1]
    assert "fails most" in found.reason


def test_margins_that_are_nan_are_said_to_be_unmeasured():
    found = rf.falsify(lambda sol: np.nan, over=LINE, runs=5)
    assert found.verdict == "vacuous" and "Nothing was measured in" in found.reason


def test_a_claim_that_raises_is_reported_with_its_error():
    def broken(data: rf.Data):
        raise ZeroDivisionError("by zero")

    found = rf.falsify(broken, over=LINE, runs=5)
    assert found.verdict == "vacuous" and "ZeroDivisionError: by zero" in found.reason


def test_a_search_resumes_where_it_was_and_ends_like_one_without_a_pause(tmp_path):
    def tight(data: rf.Data):
        return Claim("c", float(np.sum(data.y**2)), "<=", 1e9)

    store = tmp_path / "search.jsonl"
    whole = rf.falsify(tight, over=LINE, runs=120)
    rf.falsify(tight, over=LINE, runs=50, store=store)
    count = len(store.read_text().splitlines())
    with open(store, "a") as file:  # a write that was cut off
        file.write('{"run": "abc')
    resumed = rf.falsify(tight, over=LINE, runs=120, store=store, resume=True)
    assert resumed.spec.digest == whole.spec.digest and resumed.history.tiers == whole.history.tiers
    assert count > 50 and json.loads(store.read_text().splitlines()[0])["search"]["claim"] == "tight"
    with pytest.raises(FileExistsError, match="`resume=True` to continue"):
        rf.falsify(tight, over=LINE, runs=50, store=store)
    with pytest.raises(ValueError, match="holds another search"):
        rf.falsify(tight, over=LINE, runs=50, seed=1, store=store, resume=True)


def test_ctrl_c_returns_what_there_is():
    def stop(now):
        if now.runs >= 30:
            raise KeyboardInterrupt

    found = rf.falsify(lambda data: 1.0, over=rf.space.line(n=2), runs=1000, progress=stop)
    assert found.note == "interrupted" and 30 <= found.history.runs < 100


@pytest.mark.exhaustive
def test_two_workers_find_what_one_does():
    one, two = (rf.falsify(norm_never_falls, over=LINE, runs=60, workers=k) for k in (1, 2))
    assert one.spec.digest == two.spec.digest and one.history.runs == two.history.runs


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: rf.falsify("min2024.dwel"), ValueError, "did you mean `min2024.dwell`"),
        (lambda: rf.falsify("min2024.lemma2"), ValueError, "is about no data and no run"),
        (lambda: rf.falsify("min2024.lemma3", form="printed"), ValueError, '`form` must be "corrected"'),
        (lambda: rf.falsify(norm_never_falls), ValueError, "has no space of its own: give `over=`"),
        (lambda: rf.falsify(norm_never_falls, over=3), TypeError, "`over` must be a space, got int"),
        (lambda: rf.falsify(3, over=LINE), TypeError, "`claim` must be the name of a check or a function, got int"),
        (lambda: rf.falsify("min2024.dwell", seconds=-1), ValueError, "`seconds` must be positive, got -1"),
        (lambda: rf.falsify("min2024.dwell", search="grid"), ValueError, "`search` must be one of 'cma', 'random'"),
        (lambda: rf.falsify("min2024.dwell", over={"kind": "lin"}), ValueError, "did you mean `line`"),
    ],
)
def test_bad_input_is_one_sentence(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_every_check_about_data_or_a_run_has_a_space_of_its_own(every):
    from reluflow.falsify.defaults import space_of
    from reluflow.falsify.target import target

    for entry in rf.checks()[::every]:
        if entry.needs != "nothing" and entry.name.split(".")[0] in ("boursier2022", "kou2023", "lee2023", "min2024"):
            assert space_of(target(entry.name, None, "", None), None).ladder()


def test_the_picture_shows_the_run_and_the_search():
    found = rf.falsify(norm_never_falls, over=LINE, runs=40)
    assert len(rf.falsify("min2024.equation37", runs=5).plot().axes) == 2  # no run, no panel of one
    titles = [ax.get_title(loc="left") for ax in found.plot().axes]
    assert titles[:3] == [
        "Function at the end",
        "Norms and loss",
        "Search",
    ]
