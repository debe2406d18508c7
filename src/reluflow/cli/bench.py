"""`reluflow bench`: run the scripts in benchmarks/, each a ratio against a named peer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Which; left out, all.", show_default=False)
]
Listing = Annotated[bool, typer.Option("--list", help="Only say which there are.")]


def register(app: typer.Typer) -> None:
    app.command(
        "bench",
        help="Measure against named peers, one script at a time.\n\n[bold]Example[/bold]\n\n"
        "    reluflow bench --list\n\n    reluflow bench flow",
    )(bench)


def scripts() -> dict[str, Path]:
    """Scripts by name: in the checkout this package is installed from, or else here."""
    for folder in (Path(__file__).parents[3] / "benchmarks", Path.cwd() / "benchmarks"):
        found = {p.stem: p for p in sorted(folder.glob("*.py")) if not p.name.startswith("_")}
        if found:
            return found
    return {}


def bench(names: Names = None, listing: Listing = False) -> None:
    import subprocess
    import sys

    from reluflow._schema import near

    found = scripts()
    if not found:
        raise ValueError("No benchmarks were found: they are in benchmarks/ of a checkout, run this from there.")
    for name in names or []:
        if name not in found:
            raise ValueError(f"`{name}` is not a benchmark: {near(name, found)}")
    if listing:
        typer.echo("\n".join(found))
        return
    failed = 0
    for name in names or list(found):
        typer.echo(f"== {name}")
        path = found[name]
        failed |= (
            subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=path.parents[1], check=False).returncode
            != 0
        )
    if failed:
        raise typer.Exit(1)
