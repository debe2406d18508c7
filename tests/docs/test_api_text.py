"""The interface as text: every public name is in it, with its signature and words."""

import importlib
import re
import sys
from pathlib import Path

import reluflow as rf

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import doc_pages


def test_every_public_name_is_in_the_text_with_its_arguments_and_words():
    text = doc_pages.api()
    lines = text.splitlines()
    for name in rf.__all__:
        if not name.startswith("__"):
            assert any(line.startswith((f"rf.{name}", f"module rf.{name}")) for line in lines), name
    at = next(k for k, line in enumerate(lines) if line.startswith("rf.Solution.predict(x, t=None"))
    assert lines[at + 1].startswith("    f(x) of new inputs")
    assert "rf.data.two_points(" in text and "rf.Outcome" in text


# A choice is shown of these: the rest is for internal use.
CHOSEN = ("Problem", "reluflow.events.Events", "reluflow.init", "reluflow.phases.Phase", "reluflow.plot")


def directives() -> list[tuple[str, object, set[str]]]:
    """The classes and modules of docs/api.md whose members it shows, with the names it gives."""
    found: list[tuple[str, object, set[str]]] = []
    for block in re.split(r"\n\s*\n", (Path(doc_pages.DOCS) / "api.md").read_text(encoding="utf-8")):
        for kind, name, options in re.findall(r"\.\. auto(class|module):: (\S+)((?:\n   .*)*)", block):
            if told := re.search(r":members:((?:[^:]|\n)*)", options):
                path = name if name.startswith("reluflow") else f"reluflow.{name}"
                there = importlib.import_module(path) if kind == "module" else doc_pages.named(path)
                found.append((name, there, set(told[1].replace(",", " ").split())))
    return found


def test_the_reference_names_every_method_in_its_own_file():
    # It is read in a checkout too, where nothing fills in the names.
    assert len(directives()) > 20
    for name, there, given in directives():
        assert given, f"docs/api.md: `:members:` of {name} must name them"
        assert all(hasattr(there, n) for n in given), name
        if name not in CHOSEN:
            left = (
                doc_pages.members(there) - given - ({"Data"} if name == "reluflow.data" else set())
            )  # it has a place of its own
            assert not left, (name, left)
