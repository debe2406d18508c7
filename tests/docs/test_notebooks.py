"""The notebooks of the documentation run from top to bottom, in seconds; `make docs` executes them in a kernel."""

import ast
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.md"))
CELL = re.compile(r"^```\{code-cell\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def cells(path: Path) -> list[str]:
    return CELL.findall(path.read_text(encoding="utf-8"))


def execute(code: str, names: dict) -> object:
    """Runs a cell and returns the value of its last line, as a notebook shows it."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def shown(value: object) -> None:
    """What a notebook does with the value of a cell."""
    if hasattr(value, "_repr_png_"):
        assert value._repr_png_().startswith(b"\x89PNG")
    elif hasattr(value, "_repr_html_"):
        assert value._repr_html_()
    else:
        repr(value)


def test_there_are_five_and_every_one_is_in_the_contents():
    index = (Path(__file__).parents[2] / "docs" / "index.md").read_text()
    assert len(NOTEBOOKS) == 5 and all(f"notebooks/{n.stem}" in index for n in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path, monkeypatch):
    if path.stem == "pytorch":
        pytest.importorskip("torch", reason="watching PyTorch models needs PyTorch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict = {"__name__": "notebook"}
    assert cells(path)
    for code in cells(path):
        value = execute(code, names)
        assert not type(value).__name__ == "Figure", "a notebook shows a bare Figure as text: use pyplot"
        shown(value)
    if "plt" in names:
        names["plt"].close("all")
