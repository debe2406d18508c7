"""`reluflow papers`: what is installed, references, and a package of one's own from a template."""

import re
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

import reluflow as rf
from reluflow.cli import _show

TEMPLATE = Path(__file__).parent / "pack"

Names = Annotated[list[str] | None, typer.Argument(metavar="PAPER...", help="Papers; omit for all.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The paper's name: one word, as in smith2025.")]
Title = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Authors, title and place, on one line.")]
To = Annotated[Path | None, typer.Option("--to", metavar="DIR", help="The new folder (default: NAME).")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for a program to read.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="List the installed papers, print their references, make a package of your own.\n\n"
        "[bold]Example[/bold]\n\n    reluflow papers\n\n    reluflow papers cite min2024\n\n"
        "    reluflow papers new smith2025",
        invoke_without_command=True,
    )
    group.callback()(papers)
    group.command(
        "cite",
        help="Print references in BibTeX.\n\n[bold]Example[/bold]\n\n    reluflow papers cite min2024 > references.bib",
    )(cite)
    group.command(
        "new",
        help="Make a package for a paper: one check, one figure and tests, which pass as they are.\n\n"
        '[bold]Example[/bold]\n\n    reluflow papers new smith2025 --title "Smith: Neurons (2025)."\n\n'
        "    pip install -e smith2025\n\n    reluflow reproduce smith2025/fig1",
    )(new)
    app.add_typer(group, name="papers")


def papers(context: typer.Context, json_: Json = False) -> None:
    if context.invoked_subcommand is not None:
        return
    from rich.markup import escape
    from rich.table import Table

    from reluflow.papers import _figures, _found

    found = [_figures.paper(name) for name in sorted(_found.names(), key=_figures._place)]
    counts = {p.name: (len(rf.checks(p.name)), len(p.figures)) for p in found}
    if json_:
        import json

        rows = [
            dict(name=p.name, title=p.title, package=p.package, checks=counts[p.name][0], figures=list(p.figures))
            for p in found
        ]
        typer.echo(json.dumps(rows))
        return
    console = _show.console()
    for package, members in groupby(found, key=lambda p: p.package):
        console.print(f"[bold underline]{package}[/bold underline]")
        table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
        for _ in range(4):
            table.add_column()
        for p in members:
            checks, figures = counts[p.name]
            table.add_row(p.name, escape(p.title), _count(checks, "check"), _count(figures, "figure"))
        console.print(table)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + "s" * (number != 1)


def cite(names: Names = None) -> None:
    from reluflow.papers import _figures, _found

    found = [_figures.paper(name) for name in names or sorted(_found.names(), key=_figures._place)]
    texts = [p.reference for p in found if p.reference]
    without = [p.name for p in found if not p.reference]
    if names and without:
        raise ValueError(f"`{without[0]}` has no reference: its package defines no `REFERENCE`.")
    typer.echo("\n\n".join(texts))


def new(name: Name, title: Title = None, to: To = None) -> None:
    from reluflow.papers import _found

    if not name.isidentifier() or name.startswith("_") or not name.isascii():
        raise ValueError(f"A paper's name must be one word of letters and digits, got `{name}`: as in smith2025.")
    if name in _found.names():
        raise ValueError(f"`{name}` is already the name of a paper, of {_found.distribution(name)}: choose another.")
    folder = to or Path(name)
    if folder.exists():
        raise ValueError(f"`{folder}` must be a new folder, and it exists: name another with `--to`.")
    one_line = " ".join((title or f"{name}: authors, title (where it appeared).").replace('"', "'").split())
    filled = {"NAME": name, "PACKAGE": f"{name}_pack", "DIST": f"{name.replace('_', '-')}-pack", "TITLE": one_line}
    filled["REFERENCE"] = _reference(name, one_line if title else "The authors: The title.")
    written = _fill(folder, filled)
    console = _show.console()
    console.print("\n".join([f"Made {folder}/", *(f"  {path}" for path in written)]))
    console.print(f"Next: `pip install -e {folder}`, then `reluflow reproduce {name}/fig1`.", soft_wrap=True)


def _reference(name: str, line: str) -> str:
    """BibTeX of "Authors: Title (place year).", the parts that are there; the year of the name where there is none."""
    told = re.fullmatch(r"(?:(?P<by>[^:]+): )?(?P<title>.*?)(?: \((?P<place>[^()]*)\))?\.?", line)
    by, words, place = told.group("by", "title", "place") if told else (None, line, None)
    years = re.findall(r"\d{4}", place or "") or re.findall(r"\d{4}", name)
    where = re.sub(r"[\s,]*\b\d{4}\b", "", place or "").strip(" ,")
    rows = {"author": " and ".join(re.split(r",? and |, ", by)) if by else "The authors", "title": words}
    rows |= {"note": where} if where else {}
    rows |= {"year": years[0]} if years else {}
    return "\n".join([f"@misc{{{name},", *(f"  {key:<6} = {{{value}}}," for key, value in rows.items()), "}"])


def _fill(folder: Path, values: dict[str, str]) -> list[str]:
    """Writes every file of the template with its marks replaced; returns their paths inside the folder."""
    written = []
    for source in sorted(TEMPLATE.rglob("*.in")):
        path = source.relative_to(TEMPLATE).as_posix().removesuffix(".in").replace("package/", values["PACKAGE"] + "/")
        text = source.read_text(encoding="utf-8")
        for mark, value in values.items():
            text = text.replace(f"@{mark}@", value)
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        written.append(path)
    return written
