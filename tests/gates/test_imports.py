"""Imports point one way: every module may use those below it and none above.

Read from the source, so that imports inside functions count too, and so do names taken off the package (`rf.bias`) and
modules named in a text (`import_module(f"reluflow.papers.{name}")`). Imports for types alone (`if TYPE_CHECKING`) never
run and do not count.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import reluflow

SOURCE = Path(reluflow.__file__).parent

# Bottom first. Files of one layer may use each other; packages of one layer stand side by side and may not. `plot` is
# as low as it is because it draws arrays and knows neither runs nor papers: figures of papers and of `bias` use it.
LAYERS = (
    ("_lazy", "_checks", "_text", "_progress", "_html", "_words", "_vet", "_toml", "outcome", "events", "claim"),
    ("plot",),
    ("data",),
    ("losses",),
    ("init", "problem", "methods"),
    ("engine", "reference"),
    ("drive",),
    ("clock", "replay", "solution", "store", "phases", "solve", "experiment", "_schema"),
    ("_early", "_saddles", "limit", "compare", "confirm", "resume"),
    ("observe", "single", "many"),
    ("deep", "torch", "population"),
    ("bias", "certify_check"),
    ("certify",),
    ("papers",),
    ("checking", "space"),
    ("sweep",),
    ("falsify",),
    ("explorer",),
    ("cli",),
    ("__main__",),
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

# (who, whom): why. A breach that is meant; one that no longer happens must be taken out.
MEANT: dict[tuple[str, str], str] = {}
# Modules named by a text that is only known when it runs: who does it, and what of this package it can name. (`sweep`
# and `papers` load what users add: quantities of their own, papers of other distributions.)
NAMED_LATER = {"_lazy": (), "_schema": ("data", "init"), "sweep": (), "papers": ()}


def imports(source: str) -> Iterator[tuple[str, int]]:
    """(what of reluflow, line) for everything a file takes from the package; "?" for a name only known when it runs."""
    tree = ast.parse(source)
    for node in ast.walk(tree):  # types alone
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    package = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name == "reluflow":
                    package.add(name.asname or name.name)
                elif name.name.startswith("reluflow."):
                    yield name.name.split(".")[1], node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            if node.module == "reluflow":
                yield from ((name.name, node.lineno) for name in node.names)
            elif node.module and node.module.startswith("reluflow."):
                yield node.module.split(".")[1], node.lineno
        elif isinstance(node, ast.Call) and "import_module" in (getattr(node.func, k, "") for k in ("attr", "id")):
            what = node.args[0]
            text = what.values[0] if isinstance(what, ast.JoinedStr) else what
            if not isinstance(text, ast.Constant):
                yield "?", node.lineno
            elif str(text.value).startswith("reluflow."):
                yield str(text.value).split(".")[1] or "?", node.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in package:
            yield node.attr, node.lineno


def home(name: str) -> str:
    """The file or folder a public name lives in; a module is its own."""
    return reluflow._NAMES.get(name, name) if name not in RANK else name


def breaches(who: str, source: str) -> list[tuple[str, str, int]]:
    """Every import of one file that does not point down: (who, whom, line)."""
    found = []
    for name, line in imports(source):
        if name.startswith("__"):
            continue
        whoms = NAMED_LATER.get(who, ("?",)) if name == "?" else (home(name),)
        for whom in whoms:
            beside = whom in RANK and RANK[whom] == RANK[who] and not is_package(who) and not is_package(whom)
            if whom != who and not beside and not RANK.get(whom, len(LAYERS)) < RANK[who]:
                found.append((who, whom, line))
    return found


def is_package(name: str) -> bool:
    return (SOURCE / name).is_dir()


def files() -> list[tuple[str, Path]]:
    """(layer name, path) of every source file but the package's own, whose names are all imported when asked for."""
    paths = sorted(set(SOURCE.rglob("*.py")) - {SOURCE / "__init__.py"})
    return [(path.relative_to(SOURCE).parts[0].removesuffix(".py"), path) for path in paths]


def test_every_module_has_its_layer():
    assert {who for who, _ in files()} == set(RANK)


def test_imports_point_one_way():
    found = {}
    for who, path in files():
        for _, whom, line in breaches(who, path.read_text()):
            found.setdefault((who, whom), []).append(f"{path.relative_to(SOURCE)}:{line} uses `{whom}`")
    unmeant = [line for pair, lines in found.items() if pair not in MEANT for line in lines]
    assert not unmeant, "These imports point up; move the code down, or list them in MEANT:\n" + "\n".join(unmeant)
    assert not set(MEANT) - set(found), "listed in MEANT and no longer there"


def test_the_package_itself_imports_nothing_but_its_laziness():
    assert {name for name, _ in imports((SOURCE / "__init__.py").read_text())} == {"_lazy"}


@pytest.mark.parametrize(
    "line",
    [
        "from reluflow.cli import run",
        "import reluflow.cli.run",
        "from reluflow import sweep",
        "def f():\n    from reluflow.explorer import app",
        "import reluflow as rf\ndef f():\n    return rf.check('min2024.lemma1', None)",
        "import importlib\nimportlib.import_module('reluflow.checking')",
        "import importlib\nimportlib.import_module(f'reluflow.sweep.{name}')",
        "import importlib\nimportlib.import_module(name)",
        "from reluflow.single import solve",
    ],
)
def test_an_import_that_points_up_is_found(line):
    assert breaches("observe", line)
    assert not breaches("observe", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import reluflow.cli")
    assert not breaches("observe", "import reluflow as rf\nfrom reluflow.observe import x\nrf.solve(rf.limit)")
