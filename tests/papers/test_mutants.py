"""Every check against every tampering of a run: noticed, or a reason why the statement does not speak of it.

For each check one subject where its hypotheses are met (`SUBJECT`), and for each mutant of that subject what the report
does: "claim" (a claim is violated), "hypothesis" (one fails), "unmeasured" or "unfinished" (a claim that was decided no
longer is), "record" (only the run's own record contradicts itself), "nothing". What the result itself does not notice
needs a reason in `REASONS`. The table of all is `docs/mutants.md`, written by `scripts/pages.py`.
"""

import pytest

import reluflow as rf
from reluflow.papers import _found

from .mutants import SUBJECT, reason, row

OURS = [p for p in _found.names() if _found.distribution(p) == _found.OURS]
CHECKS = [c.name for p in OURS for c in rf.checks(p) if c.needs in ("flow", "solution", "descent", "single")]
# One check of each kind in the ordinary tests; all of them in the exhaustive ones.
SOME = (
    "min2024.theorem1",
    "min2024.lemma4",
    "boursier2022.theorem2",
    "boursier2022.lemma6",
    "kou2023.lemma5_5",
    "kou2023.lemma5_8",
    "lee2023.theorem3_4",
)


def test_every_check_of_a_run_has_a_subject_in_the_table():
    assert set(SUBJECT) == set(CHECKS)


def judged(name):
    found = row(name)
    assert found, f"{name} does not apply on {SUBJECT[name]}"
    unexplained = [m for m, seen in found.items() if seen in ("record", "nothing") and not reason(name, m)]
    assert not unexplained, f"{name} notices neither {' nor '.join(unexplained)}"
    if rf.checks(name.split(".")[0]) and name.split(".")[0] != "lee2023":
        assert all(seen != "nothing" for m, seen in found.items() if m != "cut the run")
    assert found.get("cut the run", "unfinished") != "claim"


@pytest.mark.parametrize("name", SOME)
def test_a_tampered_run_is_noticed_or_the_statement_does_not_speak_of_it(name):
    judged(name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(set(CHECKS) - set(SOME)))
def test_every_tampered_run_is_noticed_or_the_statement_does_not_speak_of_it(name):
    judged(name)
