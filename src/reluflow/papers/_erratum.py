"""A place where a paper's text and the truth differ, with what shows it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

# Three kinds, in the order of the page.
KINDS = {
    "misprint": "A sign, factor, name or unit that the paper itself contradicts or corrects elsewhere.",
    "false": "A statement or a step of a proof that does not hold as it stands.",
    "caution": "True, or not claimed, but easily read as more than it is: constants, scales and readings.",
}


@dataclass(frozen=True)
class Erratum:
    """`check`, where given, is the result whose `form="printed"` fails on the subject that `evidence` names.

    Where it has no such form, `evidence` names a run or a test that shows the difference.
    """

    label: str  # "E7"
    where: str  # "Lemma 16"
    printed: str
    corrected: str
    evidence: str
    check: str | None = None
    kind: str = "misprint"


def sorted_out(errata: Iterable[Erratum], *, false: str, caution: str) -> tuple[Erratum, ...]:
    """The errata with their kinds, from the labels of those that are false and of cautions; the rest are misprints."""
    kind = {**dict.fromkeys(false.split(), "false"), **dict.fromkeys(caution.split(), "caution")}
    return tuple(replace(e, kind=kind.get(e.label, e.kind)) for e in errata)
