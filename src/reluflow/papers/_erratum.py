"""A place where a paper's text and the truth differ, with what shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Erratum:
    """`check`, where given, is the result whose `form="printed"` fails on the subject that `evidence` names."""

    label: str  # "E7"
    where: str  # "Lemma 16"
    printed: str
    corrected: str
    evidence: str
    check: str | None = None
