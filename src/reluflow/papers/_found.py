"""Where a paper is: a folder beside this file, or a package that another distribution announces.

A distribution announces a paper of its own with an entry point of the group "reluflow.papers", whose name is the
paper's and whose value is the package with its files:

    [project.entry-points."reluflow.papers"]
    smith2025 = "smith_paper"

The package has the parts of a folder here: a docstring that names the paper, one file for each result or figure.
"""

import ast
import hashlib
import importlib
import importlib.metadata
import importlib.util
import traceback
from pathlib import Path
from types import ModuleType

GROUP = "reluflow.papers"
HERE = Path(__file__).parent
OURS = "reluflow"
SHOWN = ("facts", "draw", "caption", "animate")  # what a figure makes of its numbers; changing it changes no number


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


def code(paper: str) -> dict[str, str]:
    """A hash of the code that may compute a paper's numbers: its files and those beside the packages around it.

    Without comments, docstrings and what only shows numbers. Nothing for ours: the program's source has a hash.
    """
    if _ours(paper):
        return {}
    here, above = folder(paper), _package(paper)[0].count(".")
    files = [*here.rglob("*.py"), *(file for parent in here.parents[:above] for file in parent.glob("*.py"))]
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(f"{file.name}\0{_computing(file)}\0".encode())
    return {f"code of {distribution(paper)}": total.hexdigest()[:16]}


def _computing(file: Path) -> str:
    """A file's syntax tree without docstrings and the functions named in SHOWN."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [n for n in body if not (_text(n) or (node is tree and getattr(n, "name", "") in SHOWN))]
    return ast.dump(tree)


def _text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def told(error: BaseException) -> str:
    """An error's sentence; from the code of another distribution's paper, with the file and line it came from."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} ({error.filename}, line {error.lineno})"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    packages = {point.value.split(".")[0] for point in _announced()}
    walked = traceback.walk_tb(error.__traceback__)
    steps = [(f.f_globals.get("__name__", ""), f.f_code.co_filename, n) for f, n in walked]
    theirs = [step for step in steps if step[0].split(".")[0] in packages]
    if not theirs:
        return text
    ours = steps[-1][0].split(".")[0] == OURS and isinstance(error, ValueError | TypeError)
    package, file, line = theirs[-1]
    top = package.split(".")[0]
    place = f"{top}/{Path(file).as_posix().rpartition(f'/{top}/')[2]}, line {line}"
    return f"{(text if ours else f'{type(error).__name__}: {error}').rstrip('.')} ({place})"


def folder(paper: str) -> Path:
    """Where a paper's files are; nothing is imported but the parents of a package inside another."""
    if _ours(paper):
        return HERE / paper
    package, by = _package(paper)
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:  # a package around it is missing
        spec = None
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
