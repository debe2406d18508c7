"""`reluflow reproduce`: a paper's figure by one command, with its numbers, its facts and a caption."""

import json
import os
import shutil
import time
from collections import Counter
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from reluflow.cli import _show as show
from reluflow.cli.check import COLOURS

FAILED, UNABLE = 1, 2  # a stated fact fails; a figure could not be made

What = Annotated[
    str | None,
    typer.Argument(metavar="PAPER[/FIG]", help="A paper or one of its figures; omit for a list.", show_default=False),
]
All = Annotated[bool, typer.Option("--all", help="Every figure of every paper.")]
List = Annotated[bool, typer.Option("--list", help="List the figures, of one paper or of all, by package.")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", help="Figures made in parallel; 0 for one per core.")]
Quick = Annotated[bool, typer.Option("--quick/--full", help="Reduced or full problem size.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting (repeatable).")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Output folder; each figure gets a subfolder.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Recompute even if saved numbers exist.")]
Film = Annotated[bool, typer.Option("--film/--no-film", help="Write the animation, if there is one.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for a program to read.")]


def register(app: typer.Typer) -> None:
    app.command(
        "reproduce",
        help="Make a paper's figures: PNG, PDF, numbers (zarr, CSV), facts.json and a caption.\n\n"
        "Saved numbers are not recomputed; a figure is redrawn from them.\n\n"
        "[bold]Example[/bold]\n\n"
        "    reluflow reproduce\n\n"
        "    reluflow reproduce boursier2022/fig4 --set seed=1\n\n"
        "    reluflow reproduce min2024 --full --out pictures\n\n"
        "    reluflow reproduce --all",
    )(reproduce)


def reproduce(
    what: What = None,
    all_: All = False,
    list_: List = False,
    quick: Quick = True,
    set_: Set = None,
    out: Out = Path("figures"),
    fresh: Fresh = False,
    film: Film = True,
    jobs: Jobs = 0,
    json_: Json = False,
) -> None:
    from reluflow.papers import _figures

    if what is not None and all_:
        raise ValueError(f"`--all` makes every figure of every paper, got {what} as well: omit one of them.")
    if set_ and (what is None or "/" not in what):
        got = "--all" if all_ else f"the paper {what}" if what else "no figure"
        raise ValueError(f"`--set` needs one figure, got {got}: as in `reluflow reproduce {what or 'min2024'}/fig4`.")
    if list_ or (what is None and not all_):
        if what is not None and "/" in what:
            raise ValueError(f"`--list` takes a paper or nothing, got the figure {what}: omit what follows the slash.")
        return _list(json_, [what] if what else _figures.papers())
    size = "quick" if quick else "full"
    if what is not None and "/" in what:
        from reluflow.cli.run import changes

        paper, _, name = what.partition("/")
        made = make(
            _figures.paper(paper).figures[name], size, changes(set_ or []), out, fresh=fresh, film=film, quiet=json_
        )
        done, worst = [made], FAILED * (not made["ok"])
        if not json_:
            _show(made, settings=True)
    else:
        chosen = [f for p in ([what] if what else _figures.papers()) for f in _figures.paper(p).figures.values()]
        if not chosen:
            raise ValueError(f"The paper {what} has no figure: `reluflow check {what}` lists its checks.")
        done, worst = _several(chosen, size, out, fresh=fresh, film=film, jobs=jobs, quiet=json_)
    if json_:
        typer.echo(json.dumps(done[0] if what is not None and "/" in what else done))
    if worst:
        raise typer.Exit(worst)


def _several(chosen, size: str, out: Path, *, fresh: bool, film: bool, jobs: int, quiet: bool) -> tuple[list, int]:
    """Makes many figures and shows each as it is done; returns what was made, in order, and the exit status."""
    began, done = time.perf_counter(), {}
    for made in many(chosen, size, out, fresh=fresh, film=film, jobs=jobs, quiet=quiet):
        done[made["figure"]] = made
        if not quiet:
            _show(made)
    found = [done[f"{f.paper}/{f.name}"] for f in chosen]
    if not quiet:
        _summary(found, time.perf_counter() - began)
    return found, max(UNABLE if "error" in m else FAILED * (not m["ok"]) for m in found)


def many(chosen, size: str, out: Path, *, fresh=False, film=True, jobs=0, quiet=True):
    """Yields the result of `make` for each figure as it finishes, `jobs` at a time in separate processes.

    A figure that cannot be made is reported (`error`) and the others continue. Finished numbers are reused next time.
    """
    from reluflow._checks import whole
    from reluflow.sweep.pool import cores

    jobs = min(whole("jobs", jobs, least=0, hint="0 makes one figure per core") or cores(), len(chosen))
    given = dict(fresh=fresh, film=film)
    if jobs == 1:
        for figure in chosen:
            yield _one(figure.paper, figure.name, size, out, given | {"quiet": quiet})
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    with _single_threads(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        work = [pool.submit(_one, f.paper, f.name, size, out, given) for f in chosen]
        try:
            yield from (w.result() for w in as_completed(work))
        finally:
            pool.shutdown(cancel_futures=True)


def _one(paper: str, name: str, size: str, out: Path, given: dict) -> dict:
    from reluflow.papers import _figures, _found

    try:
        return make(_figures.paper(paper).figures[name], size, {}, out, **given)
    except (FileNotFoundError, ImportError) as error:
        return {"figure": f"{paper}/{name}", "error": _found.told(error)}
    except Exception as error:  # an error in one figure is reported; the others are made
        text, kind = _found.told(error), type(error).__name__
        return {"figure": f"{paper}/{name}", "error": text if text.startswith(kind) else f"{kind}: {text}"}


@contextmanager
def _single_threads():
    """Processes started inside use one thread each: there is one process per core."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: value or "1" for name, value in before.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]


def make(figure, size: str, changed: dict, out: Path, *, fresh=False, film=True, quiet=True) -> dict:
    """Writes one figure's folder and returns the content of `facts.json`, with the folder."""
    from reluflow.papers import _figures
    from reluflow.plot import look
    from reluflow.store import put

    began, busy = time.perf_counter(), time.process_time()
    folder = _figures.folder(figure, out, size, changed)
    numbers = folder / "numbers.zarr"
    ds = None if fresh else _saved(figure, numbers, size, changed)
    resumed, outdated = ds is not None, ds is None and not fresh and numbers.exists()
    if ds is None:
        with show.progress(f"{figure.paper}/{figure.name}", quiet=quiet) as tell, _figures.watched(tell):
            ds = figure.compute(size, **changed)
        ds.attrs |= {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - busy}
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
        "computed_in": {k: round(float(ds.attrs[k]), 2) for k in ("seconds", "cpu_seconds") if k in ds.attrs},
        "ok": all(f.ok for f in facts),
        "facts": [{**f.to_dict(), "source": figure.source(f.text)} for f in facts],
        "only_in_zarr": left,
    }
    put(folder / "facts.json", (json.dumps(said, indent=1) + "\n").encode())
    took = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - busy}
    return said | {"folder": str(folder), "caption": caption, "resumed": resumed, "outdated": outdated} | took


def write_film(film, path: Path, dpi: int = 90) -> None:
    """Writes a GIF, and an MP4 if ffmpeg is installed; the GIF last, so that its presence means both are complete."""
    from matplotlib.animation import FFMpegWriter, PillowWriter

    from reluflow.plot import look

    ways = [(path.with_suffix(".mp4"), FFMpegWriter, 2 * dpi)] if shutil.which("ffmpeg") else []
    for whole, writer, dots in [*ways, (path, PillowWriter, dpi)]:
        part = whole.with_name(f".part-{whole.name}")
        try:
            with look.setting():  # frames may make ticks, which take the style of their time
                film.save(part, writer=writer(fps=12), dpi=dots)
            part.replace(whole)
        finally:
            part.unlink(missing_ok=True)


def _saved(figure, path: Path, size: str, changed: dict):
    """Numbers saved earlier with the same settings, source, and version and code of the paper's package; unchanged."""
    from reluflow.papers import _figures, _found
    from reluflow.store import is_whole, source

    if not path.exists() or not is_whole(path):
        return None
    ds = _figures.load_numbers(path)
    same = json.loads(ds.attrs["settings"]) == json.loads(json.dumps(figure.settings(size, **changed)))
    versions = json.loads(ds.attrs["versions"])
    mine = ds.attrs["format"] == _figures.FORMAT and versions.get("source") == source()["source"]
    mine = mine and (_found.version(figure.paper) | _found.code(figure.paper)).items() <= versions.items()
    return ds if same and mine else None


def _show(made: dict, settings: bool = False) -> None:
    from rich.markup import escape
    from rich.table import Table

    console = show.console()
    if "error" in made:
        console.print(f"[yellow]not made[/yellow]   [bold]{made['figure']}[/bold]  {escape(made['error'])}")
        return
    how = "redrawn from saved numbers" if made["resumed"] else f"made in {show.seconds(made['seconds'])}"
    how += ", the saved numbers being of other code, settings or versions" * made["outdated"]
    console.print(f"[bold]{made['figure']}[/bold]  {escape(made['title'])}")
    console.print(f"[dim]{how}: {escape(made['folder'])}/[/dim]", soft_wrap=True)
    table = Table(box=None, padding=(0, 1, 0, 2), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for fact in made["facts"]:
        colour = COLOURS[fact["verdict"]]
        sides = f"{_value(fact['measured'])} {fact['relation']} {_value(fact['bound'])}"
        slack = f" ± {_value(fact['slack'])}" if fact["slack"] else ""
        log = " (logs)" if fact["log"] else ""
        table.add_row(f"[{colour}]{fact['verdict']}[/{colour}]", f"{escape(fact['text'])}: {escape(sides)}{slack}{log}")
    console.print(table)
    if settings and made["settings"]:
        said = ", ".join(f"{k} = {v}" for k, v in made["settings"].items())
        console.print(f"  [dim]settings, changed with `--set`: {escape(said)}[/dim]")
    if made["only_in_zarr"]:
        console.print(f"  [dim]too large for CSV, in numbers.zarr alone: {', '.join(made['only_in_zarr'])}[/dim]")
    console.print()


def _summary(made: list[dict], seconds: float) -> None:
    """One line for each figure, and one for all."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("figure", "facts", "wall", "processor", ""):
        table.add_column(name, justify="left" if name in ("figure", "") else "right", no_wrap=bool(name))
    verdicts: Counter[str] = Counter()
    for m in made:
        if "error" in m:
            table.add_row(m["figure"], "", "", "", f"[yellow]not made[/yellow] {escape(m['error'])}")
            continue
        verdicts.update(f["verdict"] for f in m["facts"])
        bad = [f"{f['verdict']}: {f['text']}" for f in m["facts"] if f["verdict"] in ("violated", "unmeasured")]
        last = "[red]" + escape("; ".join(bad)) + "[/red]" if bad else "[dim]from saved numbers[/dim]" * m["resumed"]
        times = (show.seconds(m[k]) for k in ("seconds", "cpu_seconds"))
        table.add_row(m["figure"], f"{len(m['facts']) - len(bad)}/{len(m['facts'])}", *times, last)
    console = show.console()
    console.print(table)
    able = [m for m in made if "error" not in m]
    said = ", ".join(f"{n} {v}" for v, n in verdicts.most_common()) or "none"
    missing = f" ({len(made) - len(able)} not made)" if len(able) < len(made) else ""
    busy = show.seconds(sum(m["cpu_seconds"] for m in able))
    console.print(
        f"\n{len(able)} figures{missing}, {sum(verdicts.values())} facts: {said}; {show.seconds(seconds)}, "
        f"{busy} of processor."
    )


def _value(value) -> str:
    return value if isinstance(value, str) else show.number(float(value))


def _list(json_: bool, papers: list[str]) -> None:
    from reluflow.papers import _figures

    found = [_figures.paper(p) for p in papers]
    if json_:
        rows = [
            dict(figure=f"{p.name}/{f.name}", title=f.title, package=p.package)
            for p in found
            for f in p.figures.values()
        ]
        typer.echo(json.dumps(rows))
        return
    console = show.console()
    for package, members in groupby(found, key=lambda p: p.package):
        console.print(f"[bold underline]{package}[/bold underline]")
        for p in members:
            _of_paper(console, p)
        console.print()
    console.print(
        "One: `reluflow reproduce PAPER/FIG`; a paper's: `reluflow reproduce PAPER`; all: `--all`.\n"
        "References: `reluflow papers cite PAPER`; a package of your own: `reluflow papers new NAME`."
    )


def _of_paper(console, paper) -> None:
    """A paper's name and title, and a line for each figure."""
    from rich.markup import escape
    from rich.table import Table

    console.print(f"[bold]{paper.name}[/bold]  [dim]{escape(paper.title)}[/dim]")
    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for f in paper.figures.values():
        marks = [*(f"needs {r.upper()}" for r in f.requires), *(["animated"] if f.moves else [])]
        table.add_row(f.name, escape(f.title) + (f" [dim]({', '.join(marks)})[/dim]" if marks else ""))
    console.print(table)
