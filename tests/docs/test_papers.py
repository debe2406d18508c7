"""The papers' pages follow the code: what there is, is shown, and what is not, is left out."""

import importlib.util
import re
from pathlib import Path

import pytest

import reluflow as rf

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

spec = importlib.util.spec_from_file_location("doc_pages", ROOT / "scripts" / "doc_pages.py")
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)


@pytest.mark.parametrize("paper", pages.PAPERS)
def test_a_page_has_every_result_with_its_verdicts_and_every_picture(paper):
    text = pages.paper_page(paper, DOCS)
    verdicts = (DOCS / "verdicts.md").read_text(encoding="utf-8")
    for check in rf.checks(paper):
        assert f"| `{check.name}` |" in text
        if f"### {check.name}\n" in verdicts:
            assert f"(../verdicts.md#{check.name.replace('.', '')})" in text
    gallery = DOCS / "gallery" / paper
    for picture in gallery.glob("*.png") if (gallery / "README.md").exists() else ():
        assert f"](../gallery/{paper}/{picture.name})" in text
    assert (DOCS / "papers" / f"{paper}.md").is_file()


def test_every_paper_of_ours_has_a_page():
    from reluflow.papers import _found

    ours = {name for name in _found.names() if (ROOT / "src" / "reluflow" / "papers" / name).is_dir()}
    assert ours == set(pages.PAPERS)


def test_links_of_the_pages_lead_somewhere():
    for paper in pages.PAPERS:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", pages.paper_page(paper, DOCS)):
            assert (DOCS / "papers" / target).is_file(), target


def test_a_page_without_gallery_and_verdicts_has_its_results_alone(tmp_path):
    text = pages.paper_page("min2024", tmp_path)
    assert "## Results" in text and "## Errata" in text
    assert "## Figures" not in text and "verdicts.md#min2024theorem1" not in text.split("## Errata")[0]


def test_a_figure_of_the_gallery_is_read_with_its_caption_command_and_facts(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(
        "# Paper\n\n## fig1\n\nFigure 1: a title.\n\n![p/fig1](fig1.png)\n\nWhat to see.\n\n"
        "```\nreluflow reproduce p/fig1\n```\n\n"
        "| | fact | stated by | found | expected |\n| --- | --- | --- | ---: | --- |\n"
        "| ✓ | a | paper | 1 | = 1 |\n| ✗ | b | ours | 2 | = 1 |\n"
    )
    assert pages.sections(page) == {"fig1": ("What to see.", "reluflow reproduce p/fig1", (1, 2))}


def test_the_citation_is_that_of_the_cff_file():
    text = pages.citation(ROOT / "CITATION.cff")
    assert f"version = {{{rf.__version__}}}" in text and "The reluflow authors" in text
