"""`reluflow sweep`: runs an experiment file with a [sweep], writes a folder of results and prints a summary."""

import csv
import json
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from reluflow.cli import _show
from reluflow.cli.run import changes

File = Annotated[Path | None, typer.Argument(metavar="FILE", help="The experiment, a TOML file.", show_default=False)]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a dotted key (repeatable).")]
Over = Annotated[
    list[str] | None,
    typer.Option("--over", metavar="KEY=LIST", help="Values of a dotted key, replacing the file's (repeatable)."),
]
Keep = Annotated[list[str] | None, typer.Option("--keep", metavar="NAME", help="A quantity to keep (repeatable).")]
Kind = Annotated[str | None, typer.Option("--design", help="grid, list, random or latin.")]
Points = Annotated[int | None, typer.Option("--points", metavar="N", help="Points of a random or latin design.")]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of random and latin designs.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="The folder to write (default runs/NAME-KEY).")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the sweep in the folder.")]
Retry = Annotated[bool, typer.Option("--retry", help="Continue, and repeat failed points.")]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A running Dask scheduler: tcp://host:8786.")
]
Workers = Annotated[int | None, typer.Option("--workers", metavar="N", help="Processes (default: one per core).")]
Seconds = Annotated[float | None, typer.Option("--seconds", metavar="S", help="Wall time limit of one point.")]
Memory = Annotated[str | None, typer.Option("--memory", metavar="SIZE", help='Memory limit of one point: "2 GiB".')]
Table = Annotated[Path | None, typer.Option("--table", metavar="CSV", help="Also write the results as a table.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="PNG", help="Draw the first quantity kept, or --show.")]
Show = Annotated[list[str] | None, typer.Option("--show", metavar="NAME", help="Quantity to draw (repeatable).")]
Title = Annotated[str | None, typer.Option("--title", help="Title of the picture (default: the file's first comment).")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for a program to read.")]
Trust = Annotated[bool, typer.Option("--trust", help="Run `module:function` quantities that the file itself names.")]
Listing = Annotated[bool, typer.Option("--quantities", help="List what can be kept, and stop.")]


def register(app: typer.Typer) -> None:
    app.command(
        "sweep",
        help="Run an experiment over lists of values, on all cores or a cluster.\n\n"
        "Interrupted sweeps keep completed runs; `--resume` continues them.\n\n"
        "[bold]Example[/bold]\n\n"
        "    reluflow sweep examples/sweep_exit.toml --plot exit.png\n\n"
        "    reluflow sweep my.toml --over 'init.seed=[0, 1, 2]' --keep final.log_loss --out runs/mine\n\n"
        "    reluflow sweep my.toml --out runs/mine --resume --scheduler tcp://127.0.0.1:8786",
        no_args_is_help=True,
    )(sweep)


def sweep(
    file: File = None,
    set_: Set = None,
    over: Over = None,
    keep: Keep = None,
    design: Kind = None,
    points: Points = None,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = False,
    retry: Retry = False,
    scheduler: Scheduler = None,
    workers: Workers = None,
    seconds: Seconds = None,
    memory: Memory = None,
    table: Table = None,
    plot: Plot = None,
    show: Show = None,
    title: Title = None,
    json_: Json = False,
    trust: Trust = False,
    listing: Listing = False,
) -> None:
    if listing:
        return _quantities()
    if file is None:
        raise ValueError("`reluflow sweep` needs an experiment file: see `reluflow sweep --help`.")
    from reluflow.experiment import Experiment
    from reluflow.sweep.driver import sweep as run

    plot = _show.picture_file(plot)
    experiment = Experiment.from_toml(file)
    if set_:
        experiment = experiment.changed(changes(set_))
    ranges = {**experiment["sweep"].get("over", {}), **changes(over or [])} if over else None
    out = out or _folder(file, experiment, ranges, keep, (design, points, seed, trust))
    began = time.perf_counter()
    with _progress(file.stem, quiet=json_) as tell:
        ds = run(
            experiment, ranges, keep or None, design=design, points=points, seed=seed, store=out, resume=resume,
            retry=retry, scheduler=scheduler, workers=workers, seconds=seconds, memory=memory, progress=tell,
            trust=trust,
        )  # fmt: skip
    took = time.perf_counter() - began
    said = facts(ds) | {"sweep": str(out), "wall_seconds": took}
    if json_:
        typer.echo(json.dumps(said))
    else:
        _summary(ds, said)
    if table is not None:
        write_table(ds, table)
        _wrote("table", table, quiet=json_)
    if plot is not None:
        from reluflow.plot.sweep import picture

        picture(ds, show or None, title=_title(file) if title is None else title).savefig(plot, dpi=200)
        _wrote("picture", plot, quiet=json_)
    if "unsaved" in ds.attrs:
        raise OSError(f"`{out}` is incomplete: {ds.attrs['unsaved']}")
    if "interrupted" in ds.attrs:
        raise typer.Exit(130)
    if said["failed"] == said["points"]:
        raise ValueError(f"All {said['points']:,} points failed, for instance: {said['reasons'][0]['reason']}")


def _wrote(what: str, path: Path, quiet: bool) -> None:
    if not quiet:
        typer.echo(f"{what} in {path}")


def _title(file: Path) -> str:
    """The first comment of a file, without its full stop; not the template's header."""
    from reluflow.cli.template import HEADER

    with open(file, encoding="utf-8") as lines:
        first = next(lines, "").strip()
    return first.lstrip("# ").removesuffix(".") if first.startswith("#") and not first.startswith(HEADER) else ""


def _folder(file: Path, experiment, over, keep, plan) -> Path:
    """runs/NAME-KEY with the key of this sweep, so that `--resume` finds it."""
    from reluflow.sweep.driver import described

    return Path("runs") / f"{file.stem}-{described(experiment, over, keep or None, *plan)['key'][:8]}"


def facts(ds) -> dict:
    """The results of a sweep for `--json`."""
    import numpy as np

    outcome, counts = np.unique(ds["outcome"].values, return_counts=True)
    bad = ds["failed"].values.ravel()
    where = np.flatnonzero(bad)
    reasons, first, times = np.unique(ds["reason"].values.ravel()[bad], return_index=True, return_counts=True)
    return {
        "key": ds.attrs["key"],
        "points": int(ds["failed"].size),
        "failed": int(bad.sum()),
        "outcomes": {str(k): int(n) for k, n in zip(outcome, counts)},
        "reasons": [
            {"reason": str(r), "points": int(n), "first": point_text(ds, int(where[k]))}
            for r, k, n in zip(reasons, first, times)
        ],
        "compute_seconds": float(np.nansum(ds["seconds"].values)),
    }


def point_text(ds, index: int) -> str:
    """The values of a point: `init.log_scale = -4, init.seed = 3`."""
    import numpy as np

    dims, sizes = ds["failed"].dims, ds["failed"].shape
    where = dict(zip(dims, (int(i) for i in np.unravel_index(index, sizes))))
    names = [k for k, c in ds.coords.items() if k != "point" and set(c.dims) <= set(dims)]
    shown = {k: ds[k].isel({d: where[d] for d in ds[k].dims}).item() for k in names}
    return ", ".join(f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in shown.items())


def _summary(ds, said: dict) -> None:
    import numpy as np
    from rich.markup import escape

    table = _show.pairs()
    shape = " x ".join(f"{n} {d}" for d, n in zip(ds["failed"].dims, ds["failed"].shape))
    table.add_row("points", f"{said['points']:,} ({shape})")
    per = said["wall_seconds"]
    table.add_row("work", f"{_show.seconds(said['compute_seconds'])} of computing in {_show.seconds(per)}")
    table.add_row("outcomes", ", ".join(f"{n:,} {k.replace('_', ' ')}" for k, n in said["outcomes"].items()))
    header = "[dim]least … [bold]median[/bold] … largest[/dim]"
    for name, values in ds.data_vars.items():
        if name in ("seconds", "failed") or values.dtype.kind != "f" or values.dims != ds["failed"].dims:
            continue
        some = values.values[np.isfinite(values.values)]
        why = f": {values.attrs['nan']}" if "nan" in values.attrs else ""
        missing = f"  [dim]{values.size - some.size:,} missing{escape(why)}[/dim]" if some.size < values.size else ""
        if some.size:
            low, middle, high = np.quantile(some, [0.0, 0.5, 1.0])
            if header:
                table.add_row("", header)
                header = ""
            table.add_row(str(name), f"{low:.6g} … [bold]{middle:.6g}[/bold] … {high:.6g}{missing}")
        else:
            table.add_row(str(name), missing.strip())
    for reason in said["reasons"][:8]:
        text = f"{reason['points']:,} × {escape(reason['reason'])} [dim]first at {escape(reason['first'])}[/dim]"
        table.add_row("[yellow]failed[/yellow]", text)
    if len(said["reasons"]) > 8:
        table.add_row("", f"[dim]and {len(said['reasons']) - 8} more reasons, all in `reason`[/dim]")
    table.add_row("saved", f"{said['sweep']}  [dim]key {said['key']}[/dim]")
    table.add_row("", "[dim]`from reluflow.sweep import load` reads it[/dim]")
    _show.console().print(table)


def write_table(ds, path: Path) -> None:
    """One row per point: the values of its keys, then every number or text kept."""
    import numpy as np

    dims, sizes = ds["failed"].dims, ds["failed"].shape
    keys = [k for k, c in ds.coords.items() if k != "point" and set(c.dims) <= set(dims)]
    names = [k for k, v in ds.data_vars.items() if v.dims == dims]
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([*keys, *names])
        for at in np.ndindex(*sizes):
            where = dict(zip(dims, at))
            values = [ds[k].values[tuple(where[d] for d in ds[k].dims)] for k in keys]
            rows.writerow([v.item() for v in [*values, *(ds[k].values[at] for k in names)]])


def _quantities() -> None:
    from reluflow.sweep.keep import QUANTITIES

    table = _show.pairs()
    for name, meaning in QUANTITIES.items():
        table.add_row(f"[bold not dim]{name}[/]", meaning)
    _show.console().print(table)


def _progress(what: str, quiet: bool):
    """Yields a callback that shows the dashboard's address once, then a bar with rate, failures and remaining time."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    @contextmanager
    def bar():
        console = _show.console(stderr=True)
        columns = (
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=28), MofNCompleteColumn(),
            TextColumn("[dim]{task.fields[rate]}"), TextColumn("[yellow]{task.fields[failed]}"), TimeElapsedColumn(),
            TextColumn("[dim]left {task.fields[left]}"),
        )  # fmt: skip
        with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as shown:
            task, page = shown.add_task(what, total=None, rate="", failed="", left="?"), ""

            def tell(now):
                nonlocal page
                if now.dashboard and now.dashboard != page and not quiet:
                    page = now.dashboard
                    console.print(f"[dim]{now.workers} worker{'s' * (now.workers != 1)}; watch them at {page}[/dim]")
                bad = f"{now.failed:,} failed" if now.failed else ""
                bad += f" {now.unsaved:,} not on disk" if now.unsaved else ""
                left = "?" if now.left is None else _show.seconds(now.left)
                rate = f"{now.rate:,.1f}/s"
                shown.update(task, completed=now.done, total=now.total, rate=rate, failed=bad, left=left)

            yield tell

    return bar()
