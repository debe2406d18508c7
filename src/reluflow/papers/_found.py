"""Where a paper is: a folder beside this file, or a package that another distribution announces.

A distribution announces a paper of its own with an entry point of the group "reluflow.papers", whose name is the
paper's and whose value is the package with its files:

    [project.entry-points."reluflow.papers"]
    smith2025 = "smith_paper"

The package has the parts of a folder here: a docstring that names the paper, one file for each result or figure.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from pathlib import Path
from types import ModuleType

GROUP = "reluflow.papers"
HERE = Path(__file__).parent
OURS = "reluflow"


def names() -> list[str]:
    """Names of all papers: ours in alphabetical order, then those of other distributions."""
    ours = sorted(p.name for p in HERE.iterdir() if _ours(p.name))
    return ours + sorted({point.name for point in _announced()} - set(ours))


def distribution(paper: str) -> str:
    """Name of the distribution that a paper comes with."""
    return OURS if _ours(paper) else _package(paper)[1]


def version(paper: str) -> dict[str, str]:
    """That distribution with its version; nothing for ours, whose version is the program's."""
    by = distribution(paper)
    if by == OURS:
        return {}
    try:
        return {by: importlib.metadata.version(by)}
    except importlib.metadata.PackageNotFoundError:
        return {by: "unknown"}


def folder(paper: str) -> Path:
    """Where a paper's files are; nothing is imported but the parents of a package inside another."""
    if _ours(paper):
        return HERE / paper
    package, by = _package(paper)
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise ModuleNotFoundError(
            f'The paper "{paper}" must be a package, got nothing of the kind at `{package}`, which {by} announces: '
            f"install {by} again, or remove it."
        )
    return Path(places[0])


def module(paper: str, part: str = "") -> ModuleType:
    """A paper's package, or one of its files."""
    package = f"reluflow.papers.{paper}" if _ours(paper) else _package(paper)[0]
    return importlib.import_module(f"{package}.{part}" if part else package)


def _ours(paper: str) -> bool:
    return not paper.startswith("_") and (HERE / paper / "__init__.py").is_file()


def _announced() -> list[importlib.metadata.EntryPoint]:
    """Entry points whose names can be part of a dotted name."""
    points = importlib.metadata.entry_points(group=GROUP)
    return [p for p in points if p.name.isidentifier() and not p.name.startswith("_")]


def _package(paper: str) -> tuple[str, str]:
    """The package of another distribution's paper, and the distribution's name."""
    # The same distribution may be found twice on the path; two different packages of one name are a mistake.
    found = {p.value: getattr(p.dist, "name", "a distribution") for p in _announced() if p.name == paper}
    if len(found) > 1:
        ways = " and ".join(f"`{value}` of {by}" for value, by in found.items())
        raise ValueError(f'The paper "{paper}" must be announced once, got {ways}: remove one of the two.')
    if not found:
        raise ModuleNotFoundError(f'"{paper}" is not a paper: they are {", ".join(names())}.')
    return next(iter(found.items()))
