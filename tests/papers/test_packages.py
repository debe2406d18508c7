"""reluflow knows no paper of another package, and works the same without the packages in plugins/."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = sorted((ROOT / "plugins").glob("*/pyproject.toml"))


def announced() -> dict[str, str]:
    """Papers that the packages in plugins/ announce, with where they are."""
    found: dict[str, str] = {}
    for file in PLUGINS:
        found |= tomllib.loads(file.read_text(encoding="utf-8"))["project"]["entry-points"]["reluflow.papers"]
    return found


def test_nothing_in_reluflow_names_a_paper_of_another_package():
    words = [*announced(), *{value.split(".")[0] for value in announced().values()}]
    words += [file.parent.name.replace("_", "-") for file in PLUGINS]
    for file in sorted((ROOT / "src").rglob("*")):
        if file.is_file() and file.suffix in (".py", ".in", ".js", ".html", ".json", ".css", ".toml", ".md"):
            text = file.read_text(encoding="utf-8")
            assert not [w for w in words if w in text], file


def test_the_packages_use_no_name_of_reluflow_that_starts_with_an_underscore():
    import re

    private = re.compile(r"\brf\._|from reluflow(\.\w+)*\._|from reluflow(\.\w+)* import _|reluflow(\.\w+)*\._")
    for file in sorted((ROOT / "plugins").rglob("*.py")):
        assert not private.search(file.read_text(encoding="utf-8")), file


WITHOUT = """
import importlib.metadata as metadata
import importlib.util
import sys
from pathlib import Path

root, gone = Path(sys.argv[1]), sys.argv[2:]
real = metadata.entry_points


def some(**given):
    found = real(**given)
    return type(found)(p for p in found if p.value.split(".")[0] not in gone)


metadata.entry_points = some
for name in gone:
    sys.modules[name] = None

import reluflow as rf
from reluflow.cli import main

before = {"boursier2022", "min2024", "kou2023", "lee2023", "extra"}
assert before <= set(rf.papers) and {c.name.split(".")[0] for c in rf.checks()} <= set(rf.papers), list(rf.papers)
assert {rf.papers[p].package for p in before} == {"reluflow"}
for command in (["papers"], ["papers", "cite"], ["reproduce", "--list"], ["check"]):
    try:
        main(command)
    except SystemExit as left:
        assert not left.code, command


def script(name):
    spec = importlib.util.spec_from_file_location(name, root / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pages, doc_pages = script("pages"), script("doc_pages")
assert (root / "docs" / "facts.md").read_text() == pages.facts(root / "docs" / "gallery"), "facts"
for paper in doc_pages.others():
    assert paper in rf.papers or "not installed" in doc_pages.paper_page(paper, root / "docs"), paper
assert "min2024early" in doc_pages.references()
print("without:", *sorted(gone))
"""


def test_without_the_packages_lists_commands_and_pages_are_there():
    gone = sorted({value.split(".")[0] for value in announced().values()})
    if not gone:
        pytest.skip("plugins/ is not in this copy")
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(ROOT), *gone], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr[-3000:]
    assert told.stdout.endswith(f"without: {' '.join(gone)}\n")
    assert not [name for name in announced() if name in told.stdout]
