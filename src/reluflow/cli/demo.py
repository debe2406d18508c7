"""`reluflow demo`: a one-minute introduction."""

import time
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from reluflow import _toml
from reluflow.cli import _show

LOG_SCALE = -100_000.0
FIVE = -15.86  # 1e-6 / sqrt(60)

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the figure and the page.")]
Scale = Annotated[float, typer.Option("--log-scale", metavar="X", help="Start from e^X.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for a program to read.")]


def register(app: typer.Typer) -> None:
    app.command(
        "demo",
        help="Train one network from a tiny scale to its limit, compare it with theory, and draw it.\n\n"
        "[bold]Example[/bold]\n\n    reluflow demo\n\n    reluflow demo --log-scale=-14 --out demo-14",
    )(demo)


def demo(out: Out = Path("demo"), log_scale: Scale = LOG_SCALE, json_: Json = False) -> None:
    console = _show.console()
    began = time.perf_counter()
    if not -1e6 <= log_scale <= -10:
        raise ValueError(
            f"`--log-scale` must lie in [-1e6, -10], got {log_scale:g}: try -100000, or -14 for the scale of the paper."
        )
    if not json_:
        console.print()
        console.print(f"[bold]One network from e^{log_scale:,.0f} to its limit[/bold]")
        console.print("[dim]60 ReLU neurons, two points, gradient flow until convergence[/dim]")
        console.print()
    film, five, facts, files, seconds = _make(out, log_scale, quiet=json_)
    if json_:
        import json

        rows = [f._asdict() for f in facts]
        typer.echo(
            json.dumps({"facts": rows, "seconds": time.perf_counter() - began, "files": [str(f) for f in files]})
        )
        return
    console.print(_table(facts))
    stats, odd = film.sol.stats, len(five.events["slide"])
    console.print()
    console.print(
        f"t = 0 … {film.end:,.0f} in [bold]{stats.steps:,} steps, {_show.seconds(seconds)}[/bold]; "
        f"energy identity error {stats.energy_error:.0e}.",
        soft_wrap=True,
    )
    console.print(
        f"Five points, not orthogonal: {odd} slides along activation boundaries, past a saddle, to loss "
        f"{five.loss[-1]:.0e} in {five.stats.steps:,} steps.",
        soft_wrap=True,
    )
    console.print()
    for path, what in zip(
        files,
        ("figure", "animated page: open it in a browser", "experiment file, to vary"),
        strict=True,
    ):
        console.print(f"  [bold]{path}[/bold]  [dim]{what}[/dim]", soft_wrap=True)
    console.print(f"\n[dim]{time.perf_counter() - began:.1f} s in total.[/dim]")


def _make(out: Path, log_scale: float, quiet: bool):
    if out.exists() and not out.is_dir():
        raise ValueError(f"`--out` must be a folder, got the file `{out}`: choose another name.")
    with _stages(
        ["loading", "following two points", "following five points", "drawing", "writing the page"], quiet
    ) as stage:
        from reluflow.cli import _figure, _film, _page

        stage()
        _film.follow(log_scale)  # compile here, so that the time below is that of the run
        began = time.perf_counter()
        film = _film.follow(log_scale)
        seconds = time.perf_counter() - began
        facts = film.facts()
        stage()
        five = _film.five_points(FIVE)
        stage()
        try:
            out.mkdir(parents=True, exist_ok=True)
            figure, page, file = out / "figure.png", out / "index.html", out / "two_points.toml"
            _figure.draw(film, five, figure)
            stage()
            toml = short(film.sol.experiment)
            file.write_text(toml, encoding="utf-8")
            _page.write(film, facts, figure, page, seconds, toml)
        except OSError as error:
            why = (error.strerror or "an error").lower()
            raise OSError(f"Cannot write to {out} ({why}): choose another `--out`.") from error
        stage()
    return film, five, facts, (figure, page, file), seconds


def short(experiment) -> str:
    """The experiment without its default values."""
    init = experiment["init"]
    tables = {
        "format": 1,
        "data": experiment["data"],
        "init": {k: init[k] for k in ("kind", "width", "log_scale", "seed")},
        "method": {k: experiment["method"][k] for k in ("kind", "rtol")},
    }
    return _toml.write(tables) + "\n"


def _stages(names: list[str], quiet: bool):
    """A progress bar over the stages; call the yielded function when one is done."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    shown_on = _show.console(stderr=True)

    @contextmanager
    def bar():
        columns = (SpinnerColumn(), TextColumn("{task.description:<22}"), BarColumn(bar_width=28), MofNCompleteColumn(),
                   TimeElapsedColumn(), TextColumn("[dim]left"), TimeRemainingColumn())  # fmt: skip
        with Progress(*columns, console=shown_on, transient=True, disable=quiet or not shown_on.is_terminal) as shown:
            task = shown.add_task(names[0], total=len(names))
            done = 0

            def stage():
                nonlocal done
                done += 1
                shown.update(task, completed=done, description=names[min(done, len(names) - 1)])

            yield stage

    return bar()


def _table(facts):
    from rich import box
    from rich.table import Table

    from reluflow.cli._page import apart_of, text_of

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False, header_style="dim")
    table.add_column("phase", style="bold", no_wrap=True)
    table.add_column("what happens", no_wrap=True)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("theory", justify="right", style="yellow", no_wrap=True)
    table.add_column("apart", justify="right", style="dim", no_wrap=True)
    for f in facts:
        table.add_row(f.phase, f.what, text_of(f, f.measured), text_of(f, f.predicted), apart_of(f))
    return table
