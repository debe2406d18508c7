"""`reluflow run`: an experiment file in, a run folder and a summary out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path | None, typer.Argument(metavar="FILE", help="The experiment, a TOML file.", show_default=False)]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a dotted key; may be repeated.")
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="The run folder to write; left out, runs/NAME-KEY.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for a program to read.")]
Verify = Annotated[Path | None, typer.Option("--verify", metavar="RUN", help="Recompute a saved run and compare.")]
Template = Annotated[bool, typer.Option("--template", help="Print a commented experiment with every default.")]


def register(app: typer.Typer) -> None:
    app.command(
        "run",
        help="Run an experiment file, save the run, and say what happened.\n\n"
        "[bold]Example[/bold]\n\n"
        "    reluflow run --template > my.toml\n\n"
        "    reluflow run my.toml --set init.log_scale=-40 --set init.seed=3 --out runs/small\n\n"
        "    reluflow run --verify runs/small",
        no_args_is_help=True,
    )(run)


def run(
    file: File = None,
    set_: Set = None,
    out: Out = None,
    json_: Json = False,
    verify: Verify = None,
    template: Template = False,
) -> None:
    if template:
        from reluflow.cli.template import template as text

        typer.echo(text(), nl=False)
    elif verify is not None:
        _verify(verify, json_)
    elif file is None:
        raise ValueError("`reluflow run` needs an experiment file: make one with `reluflow run --template > my.toml`.")
    else:
        _run(file, set_ or [], out, json_)


def changes(texts: list[str]) -> dict:
    """`init.seed=3` as {"init.seed": 3}: values as TOML writes them, and bare words as text."""
    import tomllib

    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"`--set` must look like key=value, got {text!r}: as in `--set init.seed=3`.")
        try:
            found[key.strip()] = tomllib.loads(f"v = {value}")["v"]
        except tomllib.TOMLDecodeError:
            found[key.strip()] = value.strip()
    return found


def _run(file: Path, texts: list[str], out: Path | None, json_: bool) -> None:
    from reluflow.cli import _show
    from reluflow.experiment import Experiment
    from reluflow.outcome import Outcome, SolveError

    experiment = Experiment.from_toml(file)
    if texts:
        experiment = experiment.changed(changes(texts))
    out = _folder(file, experiment.key, out)
    console = _show.console(stderr=True)
    if experiment["sweep"] and not json_:
        console.print("[dim]The file has a \\[sweep]; `run` follows its own values only.[/dim]")
    failed = None
    with _show.progress(file.stem, quiet=json_) as tell:
        try:
            sol = experiment.run(progress=tell)
        except SolveError as error:
            failed, sol = error, error.solution
    sol.save(out)
    if json_:
        import json

        typer.echo(json.dumps(facts(sol) | {"run": str(out), "key": experiment.key}))
    else:
        _summary(sol, out)
    if failed is not None:
        raise failed
    if sol.outcome is Outcome.INTERRUPTED:
        raise typer.Exit(130)


def _folder(file: Path, key: str, out: Path | None) -> Path:
    """Where the run goes, refused before hours are spent on it."""
    import os

    if out is None:
        base = Path("runs") / f"{file.stem}-{key[:8]}"
        out, count = base, 2
        while out.exists():
            out, count = base.with_name(f"{base.name}-{count}"), count + 1
    elif out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise FileExistsError(f"`{out}` must not exist yet, got something there: choose another `--out`, or remove it.")
    home = out.absolute().parent
    while not home.exists():
        home = home.parent
    if not home.is_dir() or not os.access(home, os.W_OK):
        raise PermissionError(
            f"`{out}` must be in a folder that you may write to, got `{home}`: choose another `--out`."
        )
    return out


def facts(sol) -> dict:
    """What a run found, as numbers a program may read; logarithms where numbers underflow."""
    import math

    import numpy as np

    finite = lambda v: float(v) if math.isfinite(v) else None
    s = sol.stats
    log_w, log_a = sol.final.log_scales
    with np.errstate(divide="ignore", over="ignore"):
        square = np.exp(2 * log_w) * np.sum(sol.final.w**2, axis=1) + np.exp(2 * log_a) * sol.final.a**2
    return {
        "outcome": sol.outcome.name.lower(),
        "t_end": finite(sol.t[-1]),
        "log_t_end": finite(sol.log_t[-1]),
        "loss_start": finite(sol.loss[0]),
        "loss_end": finite(sol.loss[-1]),
        "log_loss_end": finite(sol.log_loss[-1]),
        "squared_norm": finite(float(np.sum(square))),
        "steps": s.steps,
        "events": s.events,
        "slides": getattr(s, "slides", 0),
        "non_unique": getattr(s, "non_unique", 0),
        "unrecorded": getattr(s, "unrecorded", 0),
        "energy_error": finite(getattr(s, "energy_error", math.nan)),
        "seconds": s.seconds,
    }


def _summary(sol, out: Path) -> None:
    from reluflow.cli import _show

    got, problem, experiment = facts(sol), sol.problem, sol.experiment
    log_w, _ = problem.init.log_scales
    slope = problem.activation.slope
    table = _show.pairs()
    table.add_row("data", f"{problem.data.name or 'arrays'}: {problem.data.n} points in R^{problem.data.d}")
    table.add_row(
        "network",
        f"{problem.init.width} {'ReLU' if slope == 0 else f'leaky ReLU ({slope:g})'} neurons from e^{log_w.max():,.6g}",
    )
    table.add_row("loss", f"{problem.reduction} {problem.loss}: {sol.loss[0]:.6g} → [bold]{_loss(sol)}[/bold]")
    table.add_row("time", f"0 … {_show.number(sol.t[-1], sol.log_t[-1])}")
    if got["squared_norm"] is not None:
        table.add_row("‖θ‖²", f"{got['squared_norm']:.8g}")
    odd = f", {got['non_unique']} not unique" if got["non_unique"] else ""
    odd += f", {got['unrecorded']:,} more not listed" if got["unrecorded"] else ""
    kinds = ", ".join(f"{k} {name}" for name, k in sol.events.counts().items()) or "none"
    table.add_row("events", f"{kinds}{odd}")
    # For descent on a boundary the identity says nothing: it switches from side to side.
    flow = experiment["method.kind"] == "flow" and got["energy_error"] is not None
    error = f"; energy identity off by {got['energy_error']:.1e}" if flow else ""
    table.add_row(
        "work", f"{got['steps']:,} {'steps' if flow else 'iterations'} in {_show.seconds(got['seconds'])}{error}"
    )
    table.add_row("outcome", f"[{'green' if sol.outcome.success else 'yellow'}]{sol.outcome.value}[/]")
    table.add_row("saved", f"{out}  [dim]key {experiment.key}[/dim]")
    _show.console().print(table)


def _loss(sol) -> str:
    return f"{sol.loss[-1]:.6g}" if sol.log_loss[-1] > -700 or sol.loss[-1] == 0 else f"e^{sol.log_loss[-1]:.6g}"


def _verify(path: Path, json_: bool) -> None:
    import reluflow as rf
    from reluflow.cli import _show
    from reluflow.store import versions

    old = rf.load(path)
    if old.experiment is None:
        raise ValueError(
            f"`{path}` must hold an experiment to be verified, got a run made in Python: rerun it from a file."
        )
    with _show.progress("recomputing", quiet=json_) as tell:
        new = old.experiment.changed({"solve.throw": False}).run(progress=tell)
    rows = compare(old, new)
    same = all(r["same"] for r in rows)
    if json_:
        import json

        typer.echo(json.dumps({"run": str(path), "key": old.experiment.key, "identical": same, "compared": rows}))
    else:
        table = _show.pairs()
        for row in rows:
            verdict = "[green]identical[/green]" if row["same"] else f"[red]differs[/red] {row['difference']}"
            table.add_row(row["what"], verdict)
        _show.console().print(table)
        if not same:
            from reluflow.store import read_attributes

            then, now = read_attributes(path)["versions"], versions()
            changed = [f"{k} {then[k]} → {now.get(k)}" for k in then if then[k] != now.get(k)]
            why = "; ".join(changed) if changed else "nothing that is recorded"
            _show.console().print(f"[dim]Changed since then: {why}.[/dim]")
    if not same:
        raise typer.Exit(1)


def compare(old, new) -> list[dict]:
    """What two runs of one experiment have in common, bit for bit, and how far apart the rest is."""
    import numpy as np

    def row(what, a, b):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return {"what": what, "same": False, "difference": f"{a.shape} then, {b.shape} now"}
        same = bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
        if same:
            return {"what": what, "same": True, "difference": ""}
        with np.errstate(invalid="ignore"):
            return {"what": what, "same": False, "difference": f"by up to {float(np.nanmax(np.abs(a - b))):.2g}"}

    joined = lambda a, b: np.concatenate([a, np.asarray(b)[..., None]], axis=-1)
    before, after = old.problem, new.problem
    return [
        row("data", joined(before.data.x, before.data.y), joined(after.data.x, after.data.y)),
        row("initial weights", joined(before.init.w, before.init.a), joined(after.init.w, after.init.a)),
        row("frame times", old.log_t, new.log_t),
        row("loss", old.log_loss, new.log_loss),
        row("weights", joined(old.w, old.a), joined(new.w, new.a)),
        row("log scales", old.log_scale, new.log_scale),
        row("event times", old.events.log_t, new.events.log_t),
        row("event kinds", old.events.code, new.events.code),
    ]
