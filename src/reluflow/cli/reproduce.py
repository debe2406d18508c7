"""`reluflow reproduce`: a paper's figure by one command, with its numbers, its facts and a caption."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FAILED, UNABLE = 1, 2  # a stated fact fails; a figure could not be made

What = Annotated[
    str | None,
    typer.Argument(metavar="PAPER[/FIG]", help="A paper, or one of its figures; left out, a list.", show_default=False),
]
Quick = Annotated[bool, typer.Option("--quick/--full", help="Honest smaller sizes, or the paper's own.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting; may be repeated.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write; a folder for each figure.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute again even where the numbers are there.")]
Film = Annotated[bool, typer.Option("--film/--no-film", help="Write the animation, where there is one.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for a program to read.")]


def register(app: typer.Typer) -> None:
    app.command(
        "reproduce",
        help="Make a paper's figures: PNG, PDF, numbers (zarr, CSV), facts.json and a caption.\n\n"
        "Numbers that are there are not computed again; a figure is redrawn from them.\n\n"
        "[bold]Example[/bold]\n\n"
        "    reluflow reproduce\n\n"
        "    reluflow reproduce boursier2022/fig4 --set seed=1\n\n"
        "    reluflow reproduce min2024 --full --out pictures",
    )(reproduce)


def reproduce(
    what: What = None,
    quick: Quick = True,
    set_: Set = None,
    out: Out = Path("figures"),
    fresh: Fresh = False,
    film: Film = True,
    json_: Json = False,
) -> None:
    from reluflow.papers import _figures

    if what is None or ("/" not in what and set_):
        if what is not None:
            raise ValueError(f"`--set` needs one figure, got the paper {what}: as in `reluflow reproduce {what}/fig4`.")
        return _list(json_)
    from reluflow.cli.run import changes

    size, changed = "quick" if quick else "full", changes(set_ or [])
    paper, _, name = what.partition("/")
    figures = _figures.paper(paper).figures
    chosen = [figures[name]] if name else list(figures.values())
    done, worst = [], 0
    for figure in chosen:
        try:
            made = make(figure, size, changed, out, fresh=fresh, film=film, quiet=json_)
        except (FileNotFoundError, ImportError) as error:
            if name:
                raise
            made = {"figure": f"{figure.paper}/{figure.name}", "error": str(error)}
        done.append(made)
        worst = max(worst, UNABLE if "error" in made else FAILED * (not made["ok"]))
        if not json_:
            _show(made)
    if json_:
        import json

        typer.echo(json.dumps(done[0] if name else done))
    if worst:
        raise typer.Exit(worst)


def make(figure, size: str, changed: dict, out: Path, *, fresh=False, film=True, quiet=True) -> dict:
    """Writes one figure's folder and returns what `facts.json` says, with the folder."""
    import json
    import time

    from reluflow.cli import _show as show
    from reluflow.papers import _figures
    from reluflow.plot import look

    began = time.perf_counter()
    folder = _figures.folder(figure, out, size, changed)
    numbers = folder / "numbers.zarr"
    ds = None if fresh else _saved(figure, numbers, size, changed)
    resumed = ds is not None
    if ds is None:
        with show.progress(f"{figure.paper}/{figure.name}", quiet=quiet) as tell, _figures.watched(tell):
            ds = figure.compute(size, **changed)
        _figures.save_numbers(ds, numbers)
    left = _figures.save_tables(ds, folder / "numbers")
    picture = figure.draw(ds)
    look.write_png(picture, folder / f"{figure.name}.png")
    look.save(picture, folder / f"{figure.name}.pdf")
    caption = figure.caption(ds)
    (folder / "caption.txt").write_text(caption + "\n")
    if film and figure.moves and not (resumed and (folder / f"{figure.name}.gif").exists()):
        write_film(figure.animate(ds), folder / f"{figure.name}.gif")
    facts = figure.facts(ds)
    said = {
        "figure": f"{figure.paper}/{figure.name}",
        "title": figure.title,
        "command": figure.command(size, **changed),
        "size": size,
        "settings": json.loads(ds.attrs["settings"]),
        "versions": json.loads(ds.attrs["versions"]),
        "note": ds.attrs.get("note", ""),
        "ok": all(f.ok for f in facts),
        "facts": [f.to_dict() for f in facts],
        "only_in_zarr": left,
    }
    (folder / "facts.json").write_text(json.dumps(said, indent=1) + "\n")
    found = {"folder": str(folder), "caption": caption, "resumed": resumed, "seconds": time.perf_counter() - began}
    return said | found


def write_film(film, path: Path, dpi: int = 90) -> None:
    """A GIF, and an MP4 beside it where ffmpeg is there."""
    import shutil

    from matplotlib.animation import FFMpegWriter, PillowWriter

    from reluflow.plot import look

    with look.setting():  # frames may make ticks, which take the style of their time
        film.save(path, writer=PillowWriter(fps=12), dpi=dpi)
        if shutil.which("ffmpeg"):
            film.save(path.with_suffix(".mp4"), writer=FFMpegWriter(fps=12), dpi=2 * dpi)


def _saved(figure, path: Path, size: str, changed: dict):
    """Numbers that an earlier command left, where they are of the same settings and version."""
    import json

    from reluflow import __version__
    from reluflow.papers import _figures

    if not path.exists():
        return None
    ds = _figures.load_numbers(path)
    same = json.loads(ds.attrs["settings"]) == json.loads(json.dumps(figure.settings(size, **changed)))
    mine = ds.attrs["format"] == _figures.FORMAT and json.loads(ds.attrs["versions"])["reluflow"] == __version__
    return ds if same and mine else None


def _show(made: dict) -> None:
    from rich.markup import escape

    from reluflow.cli import _show as show
    from reluflow.cli.check import COLOURS

    console = show.console()
    if "error" in made:
        console.print(f"[yellow]not made[/yellow]   [bold]{made['figure']}[/bold]  {escape(made['error'])}")
        return
    how = "redrawn from saved numbers" if made["resumed"] else f"made in {show.seconds(made['seconds'])}"
    console.print(f"[bold]{made['figure']}[/bold]  {escape(made['title'])}")
    console.print(f"[dim]{how}: {escape(made['folder'])}/[/dim]", soft_wrap=True)
    for fact in made["facts"]:
        colour = COLOURS[fact["verdict"]]
        sides = f"{_value(fact['measured'])} {fact['relation']} {_value(fact['bound'])}"
        slack = f" ± {_value(fact['slack'])}" if fact["slack"] else ""
        log = " (logs)" if fact["log"] else ""
        console.print(f"  [{colour}]{fact['verdict']:<18}[/{colour}] {escape(fact['text'])}: {sides}{slack}{log}")
    if made["only_in_zarr"]:
        console.print(f"  [dim]too large for CSV, in numbers.zarr alone: {', '.join(made['only_in_zarr'])}[/dim]")
    console.print()


def _value(value) -> str:
    from reluflow.cli import _show as show

    return value if isinstance(value, str) else show.number(float(value))


def _list(json_: bool) -> None:
    from rich.table import Table

    from reluflow.cli import _show as show
    from reluflow.papers import _figures

    found = [_figures.paper(p) for p in _figures.papers()]
    if json_:
        import json

        rows = [dict(figure=f"{p.name}/{f.name}", title=f.title) for p in found for f in p.figures.values()]
        typer.echo(json.dumps(rows))
        return
    console = show.console()
    for p in found:
        console.print(f"[bold]{p.name}[/bold]  [dim]{p.title}[/dim]")
        table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for f in p.figures.values():
            marks = [*(f"needs {r.upper()}" for r in f.requires), *(["animated"] if f.moves else [])]
            table.add_row(f.name, f.title + (f" [dim]({', '.join(marks)})[/dim]" if marks else ""))
        console.print(table)
    console.print("\nMake one with `reluflow reproduce PAPER/FIG`, a paper's all with `reluflow reproduce PAPER`.")
