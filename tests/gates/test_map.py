"""The map of the source in CONTRIBUTING.md names files and functions that are there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "reluflow"


def rows(text):
    """Second columns of the table under "Map of the source"."""
    table = text.split("## Map of the source")[1].split("\n## ")[0]
    found = [line.split(" | ")[1] for line in table.splitlines() if line.startswith("| ") and " | " in line]
    return [row for row in found if "`" in row]


def defined(file):
    """Names that a file defines: functions, classes, methods, constants, attributes."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def missing(text):
    """What the map names and the source does not have: a path, or a name in the file named last before it."""
    out = []
    for row in rows(text):
        here = None
        for word in re.findall(r"`([^`]+)`", row):
            if word.startswith("rf.") or "<" in word:
                continue
            if "/" in word or word.endswith(".py"):
                base = ROOT if word.startswith(("docs/", "tests/")) else SOURCE
                if not list(base.glob(word.rstrip("/"))):
                    out.append(word)
                here = base / word
                continue
            module, _, name = word.rpartition(".")
            file = next(SOURCE.rglob(f"{module}.py"), here) if module else here
            if file is None or not file.is_file() or name not in defined(file):
                out.append(word)
    return out


def test_the_map_of_the_source_names_what_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(rows(text)) > 30
    assert missing(text) == []


def test_a_map_that_names_what_is_gone_is_refused():
    table = "## Map of the source\n| to change | go to |\n"
    table += "| a step | `engine/coupled.py`: `propose`, `gone`; `locate.gone` |\n"
    table += "| a room | `engine/gone.py`, `solve.py` |\n"
    assert missing(table) == ["gone", "locate.gone", "engine/gone.py"]
