"""`reluflow run`: runs an experiment file, writes a run folder and prints a summary."""

import dataclasses
import math
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

import reluflow as rf
from reluflow import _text
from reluflow.cli import _show
from reluflow.outcome import Outcome, SolveError

File = Annotated[Path | None, typer.Argument(metavar="FILE", help="The experiment, a TOML file.", show_default=False)]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a dotted key (repeatable).")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="The run folder to write (default runs/NAME-KEY).")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for a program to read.")]
Verify = Annotated[
    Path | None, typer.Option("--verify", metavar="RUN", help="Recompute a saved run and compare, bit for bit.")
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="PNG", help="Draw the run: loss, neurons, directions, function.")
]
Confirm = Annotated[
    bool,
    typer.Option(
        "--confirm", help="Solve again with rtol/100 in the other regime and compare (exit code 1: they differ)."
    ),
]
Resume = Annotated[Path | None, typer.Option("--resume", metavar="RUN", help="Continue a saved run that was stopped.")]
Template = Annotated[bool, typer.Option("--template", help="Print a commented experiment with every default.")]


def register(app: typer.Typer) -> None:
    app.command(
        "run",
        help="Run an experiment file, save the run, and print a summary.\n\n"
        "[bold]Example[/bold]\n\n"
        "    reluflow run --template > my.toml\n\n"
        "    reluflow run my.toml --set init.log_scale=-40 --set init.seed=3 --out runs/small --plot small.png\n\n"
        "    reluflow run --verify runs/small\n\n"
        "A long run is written every ten minutes to a folder beside DIR that ends in .part. After a crash, continue it "
        "with\n\n"
        "    reluflow run --resume runs/small.4711.part --out runs/small",
        no_args_is_help=True,
    )(run)


def run(
    file: File = None,
    set_: Set = None,
    out: Out = None,
    json_: Json = False,
    verify: Verify = None,
    plot: Plot = None,
    confirm: Confirm = False,
    resume: Resume = None,
    template: Template = False,
) -> None:
    if template:
        from reluflow.cli.template import template as text

        typer.echo(text(), nl=False)
    elif verify is not None:
        _verify(verify, json_)
    elif resume is not None:
        _go_on(resume, _Wanted(out, json_, plot, confirm))
    elif file is None:
        raise ValueError("`reluflow run` needs an experiment file: make one with `reluflow run --template > my.toml`.")
    else:
        try:
            _run(file, set_ or [], _Wanted(out, json_, plot, confirm))
        except MemoryError:
            rule = "The run does not fit in memory: lower `init.width` or `solve.save.memory`"
            raise ValueError(f"{rule}. Nothing was written.") from None


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


class _Wanted(NamedTuple):
    """What a run is to write and print."""

    out: Path | None
    json: bool
    plot: Path | None
    confirm: bool


def _run(file: Path, texts: list[str], wanted: _Wanted) -> None:
    if not wanted.json and sys.stderr.isatty():
        typer.echo(f"reading {file}", err=True)  # at once: numpy and numba take a second or two to load

    from reluflow.experiment import Experiment
    from reluflow.solve import keeping

    experiment = Experiment.from_toml(file)
    if texts:
        experiment = experiment.changed(changes(texts))
    wanted = wanted._replace(plot=_show.picture_file(wanted.plot))
    json_, out = wanted.json, wanted.out
    if wanted.confirm and experiment["method.kind"] != "flow":
        kind = experiment["method.kind"]
        raise ValueError(f'`--confirm` is for exact flows, got method.kind = "{kind}": use `--set method.kind=flow`.')
    chosen, out = out is None, _folder(file, experiment.key, out)
    part = out.with_name(f"{out.name}.{os.getpid()}.part")
    console = _show.console(stderr=True)
    if experiment["sweep"] and not json_:
        console.print("[dim]The file has a \\[sweep], which `run` ignores.[/dim]")
    failed = None
    with _show.progress(file.stem, quiet=json_) as tell, keeping(part):
        try:
            sol = experiment.run(progress=tell)
        except SolveError as error:
            failed, sol = error, error.solution
    out = _save(sol, file, experiment.key, out, chosen)
    shutil.rmtree(part, ignore_errors=True)
    _report(sol, out, file.stem, wanted)
    if failed is not None:
        raise failed


def _go_on(path: Path, wanted: _Wanted) -> None:
    """Takes a saved run up, and writes the whole to a folder of its own."""
    from reluflow.resume import resume
    from reluflow.store import load

    path = path.parent if path.name == "zarr.json" else path
    old = load(path)
    name = re.sub(r"(\.\d+)?\.part$", "", path.name)
    chosen, out = wanted.out is None, _folder(Path(name), old.key, wanted.out)
    with _show.progress(name, quiet=wanted.json) as tell:
        sol = resume(old, progress=tell)
    out = _save(sol, Path(name), old.key, out, chosen)
    _report(sol, out, name, wanted._replace(plot=_show.picture_file(wanted.plot)))


def _report(sol, out: Path, name: str, wanted: _Wanted) -> None:
    """Prints and draws a run that is on disk; returns the exit code, by how it ended."""
    json_, plot, agrees = wanted.json, wanted.plot, None
    if wanted.confirm and sol.outcome.success:
        from reluflow.confirm import confirm

        with _show.progress("solving again", quiet=json_) as tell:
            agrees = confirm(sol, progress=tell)
    if json_:
        import json

        again = {} if agrees is None else {"confirmation": _confirmed(agrees)}
        typer.echo(json.dumps(facts(sol) | {"run": str(out), "key": sol.key} | again))
    else:
        _summary(sol, out)
        if sol.outcome is Outcome.INTERRUPTED:
            typer.echo(f"continue with: reluflow run --resume {out}")
        if agrees is not None:
            _show.console().print(str(agrees), markup=False, soft_wrap=True)
    if plot is not None:
        from reluflow.plot import picture

        picture(sol, title=name).savefig(plot, dpi=200)
        if not json_:
            typer.echo(f"picture in {plot}")
    if sol.outcome is Outcome.INTERRUPTED:
        raise typer.Exit(130)
    if agrees is not None and not agrees:
        raise typer.Exit(1)


def _folder(file: Path, key: str, out: Path | None) -> Path:
    """The run folder, checked before the computation starts."""
    if out is None:
        base = Path("runs") / f"{file.stem}-{key[:8]}"
        out, count = base, 2
        while out.exists():
            out, count = base.with_name(f"{base.name}-{count}"), count + 1
    elif out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise FileExistsError(f"`{out}` already exists: choose another `--out`, or remove it.")
    home = out.absolute().parent
    while not home.exists():
        home = home.parent
    if not home.is_dir() or not os.access(home, os.W_OK):
        raise PermissionError(f"Cannot write to {out}: `{home}` is not a writable folder; choose another `--out`.")
    return out


def _save(sol, file: Path, key: str, out: Path, chosen: bool) -> Path:
    """The final folder. If a generated name was taken by another process meanwhile, a new one is chosen."""
    while True:
        try:
            return sol.save(out)
        except FileExistsError:
            if not chosen:
                raise
            out = _folder(file, key, None)


def facts(sol) -> dict:
    """The results of a run for `--json`; logarithms where numbers underflow."""
    import numpy as np

    finite = lambda v: float(v) if math.isfinite(v) else None
    s = sol.stats
    log_w, log_a = sol.final.log_scales
    with np.errstate(divide="ignore", over="ignore"):
        square = np.exp(2 * log_w) * np.sum(sol.final.w**2, axis=1)
        square = square + np.exp(2 * log_a) * np.sum(sol.final.a.reshape(len(square), -1) ** 2, axis=1)
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
        "wakeable": getattr(s, "wakeable", 0),
        "energy_error": finite(getattr(s, "energy_error", math.nan)),
        "seconds": s.seconds,
    }


def _confirmed(found) -> dict:
    """A Confirmation for `--json`."""
    fields = dataclasses.asdict(found) | {"outcome": found.outcome.name.lower()}
    first, place = (None if v is None else v._asdict() for v in (found.first, found.place))
    more = {"confirmed": bool(found), "promise": found.promise, "text": str(found)}
    return fields | {"first": first, "place": place} | more


def _summary(sol, out: Path) -> None:
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
    odd += f", {got['wakeable']} dead neurons could be woken" if got["wakeable"] else ""
    odd += f", {got['unrecorded']:,} more not listed" if got["unrecorded"] else ""
    kinds = ", ".join(f"{k} {name}" for name, k in sol.events.counts().items()) or "none"
    table.add_row("events", f"{kinds}{odd}")
    # The identity does not hold for descent on a boundary, which switches from side to side.
    flow = experiment["method.kind"] == "flow" and got["energy_error"] is not None
    error = f"; energy identity error {got['energy_error']:.1e}" if flow else ""
    table.add_row(
        "work", f"{got['steps']:,} {'steps' if flow else 'iterations'} in {_show.seconds(got['seconds'])}{error}"
    )
    table.add_row("outcome", f"[{'green' if sol.outcome.success else 'yellow'}]{sol.outcome.value}[/]")
    table.add_row("saved", f"{out}  [dim]key {experiment.key}[/dim]")
    _show.console().print(table)


def _loss(sol) -> str:
    return _text.by_log(float(sol.log_loss[-1]))


# Verifying ------------------------------------------------------------------------------------------------------------

# Of the outputs, relative to max(1, |f|): a flow is right to 100 rtol, so two are apart by 200 at most; iterates of
# descent agree to 1e-10 of each neuron wherever training does not magnify rounding (`rf.Descent`).
FLOW, DESCENT = 200.0, 1e-10


def _verify(path: Path, json_: bool) -> None:
    from reluflow.store import read_attributes, versions

    path = path.parent if path.name == "zarr.json" else path
    old = rf.load(path)
    if old.experiment is None and old.call is None:
        raise ValueError(
            f"`{path}` cannot be verified: it was made in Python by reluflow 0.1, which did not save the arguments of "
            "`rf.solve`."
        )
    with _show.progress("recomputing", quiet=json_) as tell:
        if old.experiment is not None:
            new = old.experiment.changed(_again(old)).run(progress=tell)
        else:
            new = _solved_again(old, tell)
    if new.outcome is rf.Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    if _short(old):
        # Where an interrupted run stops depends on its bursts, so compare at the frames of the old one.
        clock = old.frames.clock
        frames = new.replay.at(clock[clock <= new.end.clock[0]])
        new = rf.Solution(dataclasses.replace(new.recording, frames=frames), new.replay)
    then, now = read_attributes(path)["versions"], versions()
    known = [k for k in {**then, **now} if k != "commit"]  # the source is more precise
    changed = [f"{k} {then.get(k)} → {now.get(k)}" for k in known if then.get(k) != now.get(k)]
    rows = compare(old, new)
    same = all(r["same"] for r in rows)
    said = {"run": str(path), "key": old.key, "identical": same, "versions_changed": changed}
    good, said["verdict"] = (True, "The same bits.") if same else _judge(old, new, rows, changed)
    if json_:
        import json

        typer.echo(json.dumps({**said, "agrees": good, "compared": rows}))
    else:
        table = _show.pairs()
        for row in rows:
            verdict = "[green]identical[/green]" if row["same"] else f"[red]differs[/red] {row['difference']}"
            table.add_row(row["what"], verdict)
        _show.console().print(table)
        _show.console().print(said["verdict"], markup=False, soft_wrap=True)
    if not good:
        raise typer.Exit(1)


def _short(sol) -> bool:
    """Whether the end of a run depended on wall time."""
    return sol.outcome in (Outcome.INTERRUPTED, Outcome.TIME_LIMIT)


def _solved_again(old, tell):
    """A run made in Python, recomputed from its own data, weights and arguments of `rf.solve`."""
    call = old.call
    limits = {k: v for k, v in call["limits"].items() if k != "seconds"}
    if _short(old):
        limits["steps"] = old.stats.steps + old.stats.rejected + 1
    times = call["save"].get("times")
    save = rf.Save(**{**call["save"], "times": None if times is None else tuple(times)})
    ends = {k: call[k] for k in ("t1", "log_t1")}
    return rf.solve(old.problem, old.method, **ends, save=save, limits=rf.Limits(**limits), progress=tell, throw=False)


def _again(old) -> dict:
    """Changes for recomputing a run: errors do not raise, and an interrupted run is computed little further."""
    steps = {"solve.limits.steps": old.stats.steps + old.stats.rejected + 1} if _short(old) else {}
    kept = old.experiment["solve"].get("limits") or {}
    no_clock = {"solve.limits.seconds": None} if kept.get("seconds") is not None else {}
    return {"solve.throw": False, **steps, **no_clock}


def _judge(old, new, rows: list[dict], changed: list[str]) -> tuple[bool, str]:
    """Whether a run that is not bit-identical agrees, and a sentence: where it differs, or by how much."""
    import numpy as np

    from reluflow.methods import Descent

    given = next((r["what"] for r in rows[:2] if not r["same"]), None)
    if given is not None:
        return False, f"The recomputed run differs from the start: its {given} are not those saved."
    if not changed:
        names = ", ".join(r["what"] for r in rows if not r["same"])
        return False, f"The recomputed run differs {_where(old, new)}, in {names}, and nothing recorded has changed."
    descent = isinstance(old.method, Descent)
    allowed = DESCENT if descent else FLOW * old.method.rtol
    times = old.log_t[old.log_t <= new.log_t[-1]]
    f, g = old.outputs[: len(times)], new.outputs_at(log_t=times)
    apart = float(np.max(np.abs(f - g) / np.maximum(1.0, np.abs(f)), initial=0.0))
    good = bool(apart <= allowed) and old.outcome is new.outcome
    whose = "1e-10" if descent else f"200 rtol = {allowed:.2g}"
    found = f"its outputs are within {apart:.2g} of those saved, of {whose} allowed"
    ends = "" if old.outcome is new.outcome else f"; then: {old.outcome.value} now: {new.outcome.value}"
    return good, f"Computed by other versions ({'; '.join(changed)}), to the tolerance stated: {found}{ends}."


def _where(old, new) -> str:
    """Description of the first frame that differs."""
    import numpy as np

    n = min(len(old.log_t), len(new.log_t))
    states = [
        (s.log_t[:n, None], s.log_loss[:n, None], s.w[:n].reshape(n, -1), s.a[:n].reshape(n, -1)) for s in (old, new)
    ]
    off = np.any(np.hstack(states[0]) != np.hstack(states[1]), axis=1)
    k = int(np.argmax(off)) if np.any(off) else n
    return f"from frame {k} on (t = {old.t[k]:.6g})" if k < len(old.t) else f"after its {n} frames"


def compare(old, new) -> list[dict]:
    """Bit-for-bit comparison of two runs of one experiment, with the size of each difference.

    For an interrupted run the new one may have more events, and has another outcome.
    """
    import numpy as np

    short = _short(old)
    events = len(old.events) if short else None

    def row(what, a, b):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return {"what": what, "same": False, "difference": f"{a.shape} then, {b.shape} now"}
        same = bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))
        if same:
            return {"what": what, "same": True, "difference": ""}
        if a.dtype.kind == "U":
            return {"what": what, "same": False, "difference": f"{a[0]} then, {b[0]} now"}
        with np.errstate(invalid="ignore"):
            gap = np.abs(a.astype(float) - b.astype(float))
            return {"what": what, "same": False, "difference": f"by up to {float(np.nanmax(gap)):.2g}"}

    column = lambda a, b: b if b.ndim == a.ndim else b[..., None]  # several outputs have an axis of their own
    joined = lambda a, b: np.concatenate([a, column(np.asarray(a), np.asarray(b))], axis=-1)
    before, after = old.problem, new.problem
    scales = lambda init: np.concatenate(init.log_scales)
    found = [
        row("data", joined(before.data.x, before.data.y), joined(after.data.x, after.data.y)),
        row(
            "initial weights",
            np.append(joined(before.init.w, before.init.a), scales(before.init)),
            np.append(joined(after.init.w, after.init.a), scales(after.init)),
        ),
        row("frame times", old.log_t, new.log_t),
        row("loss", old.log_loss, new.log_loss),
        row("outputs", old.outputs, new.outputs),
        row("weights", joined(old.w, old.a), joined(new.w, new.a)),
        row("log scales", old.log_scale, new.log_scale),
    ]
    for what, name in (("event times", "log_t"), ("event kinds", "code"), ("event neurons", "neuron")):
        found.append(row(what, getattr(old.events, name), getattr(new.events, name)[:events]))
    found.append(row("event data", old.events.datum, new.events.datum[:events]))
    return found if short else [*found, row("outcome", [old.outcome.name], [new.outcome.name])]
