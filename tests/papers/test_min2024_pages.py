"""The pages written from the papers' own files."""

import importlib.util
from pathlib import Path

import reluflow as rf
from reluflow.papers.min2024 import _errata, _standard

spec = importlib.util.spec_from_file_location("pages", Path(__file__).parents[2] / "scripts" / "pages.py")
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)


def test_the_errata_page_has_every_erratum_in_one_row():
    page = pages.errata()
    for e in _errata.ERRATA:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {e.label} | {pages.cell(e.where)} |")]
        assert pages.cell(e.corrected) in row


def test_a_verdict_has_one_row_and_a_failed_hypothesis_is_marked():
    sol = _standard.SUBJECTS["six at e^-14"]()
    report = rf.check("min2024.theorem1", sol)
    rows = pages.table("six", report)
    assert len(rows) == len(report.claims)
    assert all(row.startswith("| six † |") and row.count(" | ") == 5 for row in rows)
    (check,) = [c for c in rf.checks("min2024") if c.name == "min2024.theorem1"]
    assert "| 1 | 0 |" in pages.summary([(check, "six", report)])[-1]


def test_a_vertical_bar_stays_inside_its_cell():
    assert pages.cell("|w| < 1") == "\\|w\\| &lt; 1"
