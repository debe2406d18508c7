"""The interface as text: every public name is in it, with its signature and words."""

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
