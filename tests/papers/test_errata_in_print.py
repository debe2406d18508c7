"""The header of docs/errata.md: a check in the last column fails in print where it holds as corrected."""

import importlib

import pytest

import reluflow as rf

PAPERS = ("boursier2022", "kou2023", "lee2023", "min2024")
# No standard subject tells print from correction here; a test of its own has one that does.
ELSEWHERE = {
    ("boursier2022", "E10"): "test_boursier2022_phases.py",
    ("kou2023", "E3"): "test_kou2023_errata.py",
    ("kou2023", "E5"): "test_kou2023_errata.py",
    ("min2024", "E2"): "test_min2024_lemmas.py",
    ("min2024", "E9"): "test_min2024_theorem.py",
    ("min2024", "E10"): "test_min2024_lemmas.py",
    ("min2024", "E11"): "test_min2024_lemmas.py",
}


def part(paper, name):
    return importlib.import_module(f"reluflow.papers.{paper}.{name}")


FORMS = {c.name: c for paper in PAPERS for c in rf.checks(paper)}
SHOWN = [
    (paper, e.label, e.check)
    for paper in PAPERS
    for e in part(paper, "_errata").ERRATA
    if e.check and "printed" in FORMS[e.check].forms
]


def tells(name, subject) -> bool:
    """Whether the corrected form applies and holds where the printed one is violated or does not apply."""
    corrected = rf.check(name, subject)
    if not corrected.applies or corrected.violated:
        return False
    printed = rf.check(name, subject, form="printed")
    return bool(printed.violated) or not printed.applies


@pytest.mark.exhaustive
@pytest.mark.parametrize(("paper", "label", "name"), SHOWN)
def test_an_erratum_s_check_fails_in_print_where_it_holds_as_corrected(paper, label, name):
    standard = part(paper, "_standard")
    names = standard.ON.get(name, ()) if FORMS[name].needs != "nothing" else (None,)
    found = any(tells(name, standard.SUBJECTS[n]() if n else None) for n in names)
    assert found == ((paper, label) not in ELSEWHERE)


def test_errata_that_no_standard_subject_shows_are_shown_by_a_test_of_their_own():
    from pathlib import Path

    named = {(paper, label): name for paper, label, name in SHOWN}
    for key, file in ELSEWHERE.items():
        text = (Path(__file__).parent / file).read_text()
        assert named[key].split(".")[1] in text and 'printed"' in text, key
