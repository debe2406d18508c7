"""Each paper is found with its reference, and has its pages in the documentation and the gallery."""

import importlib.util
from pathlib import Path

import pytest

import reluflow as rf

ROOT = Path(__file__).parents[3]
PAPERS = [p for p in rf.papers if rf.papers[p].package == "reluflow-followups"]


def script(name):
    path = ROOT / "scripts" / f"{name}.py"
    if not path.exists():
        pytest.skip("scripts/ is not in this copy")
    spec = importlib.util.spec_from_file_location(f"script_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_seven_papers_are_found_through_their_entry_points():
    assert len(PAPERS) == 7


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_has_a_reference_with_its_year_and_a_title_that_names_its_authors(paper):
    found = rf.papers[paper]
    year = paper.removesuffix("sword").removesuffix("threshold")[-4:]
    assert found.reference.startswith("@") and f"= {{{year}}}" in found.reference and "arXiv:" in found.reference
    assert found.title.lower().startswith(paper.rstrip("abcdefghijklmnopqrstuvwxyz").rstrip("0123456789"))


@pytest.mark.parametrize("paper", PAPERS)
def test_a_figure_has_all_its_parts_and_a_page_with_its_facts(paper):
    gallery, pages = script("gallery"), script("doc_pages")
    said = gallery.kept(paper)
    assert list(said) == list(rf.papers[paper].figures)
    text = pages.paper_page(paper, ROOT / "docs")
    for name, figure in rf.papers[paper].figures.items():
        module = figure.module
        assert all(hasattr(module, part) for part in ("SETTINGS", "compute", "facts", "draw", "caption"))
        assert set(module.SETTINGS["quick"]) == set(module.SETTINGS["full"])
        assert said[name]["ok"] and len(said[name]["caption"]) > 300
        assert said[name]["command"].startswith(f"reluflow reproduce {paper}/{name}")
        assert (gallery.HOME / paper / f"{name}.png").stat().st_size < gallery.LARGE
        assert f"](../gallery/{paper}/{name}.png)" in text
    for check in rf.checks(paper):
        assert f"| `{check.name}` |" in text
    assert (ROOT / "docs" / "papers" / f"{paper}.md").is_file()
