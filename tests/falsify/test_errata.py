"""The errata as a benchmark: printed forms that are false are found within 60 seconds of one core."""

import pytest

import reluflow as rf

# Of Figure 2 alone; conditions on the subject; not false where their hypotheses are met (E6 is about steps of the
# proofs, and what Theorem 4.1 prints as O(1/log t) is implied by the corrected rate).
LEFT_OUT = (
    *("boursier2022.loss_scale", "boursier2022.assumption1", "boursier2022.assumption2", "min2024.assumption2"),
    *("boursier2022.lemma13", "boursier2022.theorem2", "kou2023.theorem4_1"),
)
PRINTED = [c.name for c in rf.checks() if "printed" in c.forms and c.needs != "nothing" and c.name not in LEFT_OUT]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PRINTED)
def test_a_printed_form_is_refuted_within_a_minute_and_the_corrected_one_holds_there(name):
    found = rf.falsify(name, form="printed", seconds=60)
    assert found.verdict == "refuted", str(found)
    assert found.spec.characters <= 50 and found.history.seconds <= 60
    again = rf.check(name, found.subject)
    assert not again.applies or not [c for c in again.violated if c.kind == "exact"], again
