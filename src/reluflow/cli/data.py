"""`reluflow data`: describe or make a data set, download MNIST."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from reluflow.cli.run import changes

Source = Annotated[str, typer.Argument(metavar="DATA", help="A generator's name, a .csv, .npz or .toml file.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="An argument of the generator (repeatable).")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for a program to read.")]
To = Annotated[Path | None, typer.Option("--to", metavar="DIR", help="Target folder (default $RELUFLOW_DATA/mnist).")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="Describe, make or download data.\n\n[bold]Example[/bold]\n\n"
        "    reluflow data describe orthonormal --set n=5",
        no_args_is_help=True,
    )
    group.command(
        "describe",
        help="Show sizes, angles, norms, and which assumptions of the papers hold.\n\n[bold]Example[/bold]\n\n"
        "    reluflow data describe five_points\n\n    reluflow data describe points.csv",
    )(describe)
    group.command(
        "make",
        help="Generate data and write them as .csv or .npz.\n\n[bold]Example[/bold]\n\n"
        "    reluflow data make orthonormal --set n=5 --set seed=3 --out points.csv\n\n"
        "    reluflow data make line.csv --bias --out line_and_ones.csv",
    )(make)
    group.command(
        "get",
        help="Download the MNIST files (11 MB) and verify them; files already present are kept.\n\n"
        "[bold]Example[/bold]\n\n    RELUFLOW_DATA=~/data reluflow data get mnist",
    )(get)
    app.add_typer(group, name="data")


def _data(source: str, texts: list[str] | None):
    from reluflow import _schema
    from reluflow.experiment import Experiment

    given = {key.removeprefix("data."): value for key, value in changes(texts or []).items()}
    if source.endswith(".toml"):
        return Experiment.from_toml(source).changed({f"data.{k}": v for k, v in given.items()}).data
    if source.endswith((".csv", ".npz")):
        given = {"path": source, **given}
        source = "from_csv" if source.endswith(".csv") else "from_npz"
    mistakes: list = []
    table = _schema.tables()["data"]
    if source not in table.kinds:
        raise ValueError(
            f"`{source}` is not a generator, nor a .csv, .npz or .toml file: {_schema.near(source, table.kinds)}"
        )
    filled = _schema.complete(table, {"kind": source, **given}, mistakes)
    if mistakes:
        raise ValueError("\n".join(m.sentence.replace("`data.", "`") + "." for m in mistakes).replace("?.", "?"))
    return _schema.build(table, filled)


def describe(data: Source, set_: Set = None, json_: Json = False) -> None:
    found = _data(data, set_).describe()
    if json_:
        import json

        typer.echo(json.dumps(_plain(found), default=str))
    else:
        typer.echo(str(found))


def _plain(found) -> dict:
    from reluflow._schema import plain

    return plain(asdict(found))


def make(
    data: Source,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The .csv or .npz file to write.")],
    set_: Set = None,
    bias: Annotated[bool, typer.Option("--bias", help="Append a column of ones, so that neurons have a bias.")] = False,
) -> None:
    if out.suffix not in (".csv", ".npz"):
        raise ValueError(f"`--out` must end in .csv or .npz, got `{out}`: as in `--out points.csv`.")
    if out.exists():
        from reluflow._checks import plainly

        raise ValueError(f"`{plainly(str(out))}` already exists: choose another `--out`, or move it away.")
    made = _data(data, set_)
    made = made.with_bias() if bias else made
    made.to_csv(out) if out.suffix == ".csv" else made.to_npz(out)
    typer.echo(f"{made!r} written to {out}")


def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="mnist")],
    to: To = None,
) -> None:
    from reluflow.cli import _fetch

    if name != "mnist":
        raise ValueError(f"`reluflow data get` downloads mnist only, got {name!r}: use `reluflow data make`.")
    root = os.environ.get("RELUFLOW_DATA")
    if to is None and not root:
        raise ValueError("`RELUFLOW_DATA` is not set: run `export RELUFLOW_DATA=~/data`, or give `--to DIR`.")
    folder = to if to is not None else Path(root or "") / "mnist"
    for line in _fetch.mnist(folder):
        typer.echo(line)
