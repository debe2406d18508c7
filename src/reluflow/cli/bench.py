"""`reluflow bench`: the table of speed claims, each a ratio against a named peer, or scripts of benchmarks/."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Scripts to run instead of the table.", show_default=False),
]
Listing = Annotated[bool, typer.Option("--list", help="Only list the scripts.")]
Json = Annotated[bool, typer.Option("--json", help="The table as one JSON object.")]
Rows = Annotated[list[str] | None, typer.Option("--rows", metavar="NAME", help="Only this row (repeatable).")]
Short = Annotated[bool, typer.Option("--short", help="Reduce every row to a quick test.")]


def register(app: typer.Typer) -> None:
    app.command(
        "bench",
        help="Measure against named peers: the whole table (ten minutes to half an hour), some rows, or a script.\n\n"
        "[bold]Example[/bold]\n\n    reluflow bench --rows late --rows scale\n\n    reluflow bench --json\n\n"
        "    reluflow bench accuracy",
    )(bench)


def scripts() -> dict[str, Path]:
    """Scripts by name: in the checkout this package is installed from, or else here."""
    for folder in (Path(__file__).parents[3] / "benchmarks", Path.cwd() / "benchmarks"):
        found = {p.stem: p for p in sorted(folder.glob("*.py")) if not p.name.startswith("_")}
        if found:
            return found
    return {}


def bench(
    names: Names = None, listing: Listing = False, as_json: Json = False, rows: Rows = None, short: Short = False
) -> None:
    from reluflow._schema import near

    found = scripts()
    if not found:
        raise ValueError("Benchmarks not found: run this command in a checkout, where they are in benchmarks/.")
    for name in names or []:
        if name not in found:
            raise ValueError(f"`{name}` is not a benchmark: {near(name, found)}")
    if names and (rows or as_json or short):
        raise ValueError(
            f"`--rows`, `--json` and `--short` apply to the table only, got them with `{names[0]}`: omit the name."
        )
    if listing:
        typer.echo("\n".join(found))
        return
    options = [*(["--rows", *rows] if rows else []), *["--json"] * as_json, *["--short"] * short]
    worst = 0
    for name in names or ["table"]:
        if names:
            typer.echo(f"== {name}")
        worst = max(worst, abs(_run(found[name], options)))
    if worst:
        raise typer.Exit(2 if worst == 2 else 1)


def _run(script: Path, options: list[str]) -> int:
    command = [sys.executable, "-m", f"benchmarks.{script.stem}", *options]
    return subprocess.run(command, cwd=script.parents[1], check=False).returncode
