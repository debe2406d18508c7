"""The words of reports, from the documentation's glossary (docs/glossary.md), a copy of which is in the wheel."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from reluflow import _html

HERE = Path(__file__).parent
PLACES = (HERE / "glossary.md", HERE.parents[1] / "docs" / "glossary.md")  # of the wheel, of a checkout
NAMED = 6  # words that a line names
PLAIN = {
    "holds",
    "violated",
    "class",
    "converged",
    "dead",
    "flow",
    "half",
    "margin",
}  # understood without a glossary, or in every report


@cache
def glossary() -> dict[str, str]:
    """Explanations by headings, such as "pull, gradient direction"; empty where the file is missing."""
    path = next((p for p in PLACES if p.is_file()), None)
    if path is None:
        return {}
    found = re.findall(r"^(\S.*)\n: (.+(?:\n  .+)*)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {head: re.sub(r"\s+", " ", text) for head, text in found}


def words_of(heading: str) -> list[str]:
    """The words that a heading explains."""
    return heading.split(", ")


def used(text: str) -> dict[str, str]:
    """(word as the text has it: its heading) for the glossary's words in a text, one a heading."""
    found: dict[str, str] = {}
    for heading in glossary():
        for word in words_of(heading):
            if word not in PLAIN and re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.(])", text, flags=re.IGNORECASE):
                found[word] = heading
                break
    return found


def line(text: str) -> str:
    """Which words of a text the glossary explains, and where it is; empty for a text of ordinary words."""
    names = list(used(text))
    if not names:
        return ""
    more = ", ..." if len(names) > NAMED else ""
    return f"words: {', '.join(names[:NAMED])}{more} (explained by `reluflow words`)"


def html(text: str) -> str:
    """The explanations of a text's words, folded."""
    rows = [(heading, glossary()[heading]) for heading in used(text).values()]
    return f"<details><summary>words</summary>{_html.table(rows)}</details>" if rows else ""
