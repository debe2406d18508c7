"""The pages run: their code, what it prints, the messages they quote, the names they list, the links between them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.blocks import blocks, differs, run

import reluflow as rf

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OTHERS = ("verdicts.md", "errata.md", "facts.md", "coverage.md", "mutants.md", "tightness.md")  # written by scripts
INSTALLED = ("extend/theorem.md", "extend/figure.md", "extend/paper.md")  # test_worked_examples.py
PAGES = sorted(
    p.relative_to(DOCS).as_posix()
    for p in DOCS.rglob("*.md")
    if not {"_build", "_generated", "gallery"} & set(p.relative_to(DOCS).parts)
)
RUN = [p for p in PAGES if p not in (*OTHERS, *INSTALLED)]


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [p for p in RUN if any(b.kind in ("python", "console") for b in blocks(text(p)))])
def test_the_code_of_a_page_runs_and_prints_what_stands_below_it(page, tmp_path, monkeypatch):
    if page == "pytorch.md":
        pytest.importorskip("torch", reason="watching PyTorch models needs PyTorch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    for _, shown, printed in run(DOCS / page):
        if shown:
            assert not differs(printed, shown.body), f"{page}: {differs(printed, shown.body)}"


def test_a_page_that_is_wrong_is_noticed():
    assert not differs("loss 0.0318\n3 neurons\n", "loss 0.0318\n3 neurons\n")
    assert not differs("took\n7 s\nend\n", "took\n...\nend\n")
    assert differs("loss 0.0318\n", "loss 0.0358\n")
    assert differs("loss 0.0318\n", "loss is 0.0318\n")
    assert differs("one\ntwo\n", "one\n")
    assert differs("one\n", "one\ntwo\n")
    assert differs("one\ntwo\n", "two\n")


def test_the_blocks_of_a_page_are_found():
    found = blocks(
        "```python\nx = 1\n```\n\n```text\n1\n```\n\n<!-- not run: a cluster -->\n```python\ny\n```\n\n"
        "```{code-block} toml\n:caption: a.toml\n\nz = 1\n```\n"
    )
    assert [(b.kind, b.body, b.file, b.skipped) for b in found] == [
        ("python", "x = 1\n", "", False),
        ("text", "1\n", "", False),
        ("python", "y\n", "", True),
        ("toml", "z = 1\n", "a.toml", False),
    ]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    """Files, and headings inside them; what sphinx would find, without building."""
    plain = re.sub(r"^```.*?^```$", "", text(page), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", plain):
        if re.match(r"https?:", target):
            continue
        file, _, part = target.partition("#")
        there = (DOCS / page).parent / file if file else DOCS / page
        assert there.is_file(), f"{page} -> {target}"
        if part:
            assert part in anchors(there.read_text(encoding="utf-8")), f"{page} -> {target}"


def anchors(page: str) -> set[str]:
    heads = re.findall(r"^#{1,4} (.+)$", page, re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in heads}


def test_every_public_name_is_in_the_reference():
    page = text("api.md")
    given = dict(re.findall(r"automodule:: reluflow\.(\w+)\n   :members:([^:`.]+)", page))
    assert {"observe", "bias", "single", "deep", "data", "torch"} <= set(given)
    inside = {name for names in given.values() for name in names.replace(",", " ").split()}
    for name in set(rf.__all__) - inside - {"__version__"}:
        assert re.search(rf"::\s+{name}\b|automodule:: reluflow\.{name}\n", page), name


@pytest.mark.parametrize(
    "missing, call",
    [
        ("jax", lambda: rf.solve_many([problem()], rf.Descent(step=0.1), t1=1.0)),
        ("torch", lambda: rf.from_torch(None)),
        ("torch", lambda: rf.data.teacher(torch_seed=4)),
    ],
)
def test_missing_parts_say_what_the_page_says(missing, call, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError) as told:
        call()
    assert f"| {told.value} |" in text("faq.md")


def test_the_reference_without_flint_says_what_the_page_says():
    code = "import sys; sys.modules['flint'] = None; import reluflow.reference"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert f"| {told.strip().splitlines()[-1].removeprefix('ImportError: ')} |" in text("faq.md")


def problem():
    return rf.Problem(rf.data.two_points(), rf.init.balanced(4, 2))
