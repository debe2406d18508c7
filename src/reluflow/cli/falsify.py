"""`reluflow falsify`: a search for a counterexample to a theorem or to a conjecture of your own."""

import importlib.util
import json
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from reluflow.cli import _show
from reluflow.cli.run import changes

What = Annotated[
    str,
    typer.Argument(
        metavar="CLAIM",
        help="A check (min2024.dwell), a function (conjectures.py:my_claim), or a TOML file.",
        show_default=False,
    ),
]
Form = Annotated[str | None, typer.Option("--form", metavar="FORM", help="`printed` for the paper's own wording.")]
Only = Annotated[str | None, typer.Option("--claim", metavar="TEXT", help="Only claims whose text contains this.")]
Space = Annotated[
    str | None,
    typer.Option(
        "--space",
        metavar="KIND",
        help="line, free, orthonormal, separable, nearly_orthogonal or single (default: the check's own).",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a dotted key, as in space.n=3 (repeatable)."),
]
Seconds = Annotated[float | None, typer.Option("--seconds", metavar="S", help="Search time on each core (default 60).")]
Runs = Annotated[int | None, typer.Option("--runs", metavar="N", help="Stop after N runs instead.")]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of the search (default 0).")]
Workers = Annotated[int | None, typer.Option("--workers", metavar="N", help="Processes (default 1).")]
Scheduler = Annotated[str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A running Dask scheduler.")]
Strategy = Annotated[str | None, typer.Option("--search", metavar="NAME", help="cma (default) or random.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="PATH", help="Write the finding: a .toml or .py file, or a folder for both and a picture."
    ),
]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="PNG", help="Draw the run and the search.")]
Store = Annotated[Path | None, typer.Option("--store", metavar="FILE", help="Write every run to this file.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the search in --store.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for a program to read.")]

TABLES = ("claim", "form", "only", "space", "search")
OPTIONS = ("seconds", "runs", "seed", "workers", "scheduler", "search", "store", "resume")


def register(app: typer.Typer) -> None:
    app.command(
        "falsify",
        help="Search for a small run that meets the hypotheses of a claim and violates it.\n\n"
        "A violation is tested again at a smaller tolerance in the other regime, on nearby problems and by an "
        "independent solver, then made small: fewer neurons, shorter numbers, and no fewer data than the smallest n of "
        "a space that is given. Ctrl-C keeps the best so far; `--store` and "
        "`--resume` continue a search.\n\n"
        "[bold]Example[/bold]\n\n"
        '    reluflow falsify min2024.dwell --form printed --claim "stay" --out dwell.toml\n\n'
        "    reluflow falsify conjectures.py:minimum_norm --space line --set space.n=3 --set space.width=6\n\n"
        "    reluflow falsify my_search.toml --seconds 300 --workers 8 --plot found.png",
        no_args_is_help=True,
    )(falsify)


def falsify(
    what: What,
    form: Form = None,
    only: Only = None,
    space: Space = None,
    set_: Set = None,
    seconds: Seconds = None,
    runs: Runs = None,
    seed: Seed = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    search: Strategy = None,
    out: Out = None,
    plot: Plot = None,
    store: Store = None,
    resume: Resume = False,
    json_: Json = False,
) -> None:
    from reluflow.falsify import falsify as run

    plot = _show.picture_file(plot)
    given = {
        "seconds": seconds,
        "runs": runs,
        "seed": seed,
        "workers": workers,
        "scheduler": scheduler,
        "search": search,
    }
    tables = _tables(what, form, only, space, set_ or [])
    options = tables["search"] | {k: v for k, v in given.items() if v is not None}
    options |= {"store": store, "resume": resume} if store is not None else {}
    claim = _claim(tables["claim"])
    _spaced(claim, tables["space"])
    with _progress(tables["claim"], quiet=json_) as tell:
        found = run(claim, tables["space"] or None, form=tables["form"], only=tables["only"], progress=tell, **options)
    if json_:
        typer.echo(json.dumps(found.to_dict(), default=str))
    else:
        _print(found)
    if out is not None:
        _write(found, out, quiet=json_)
    if plot is not None and found.spec is not None:
        found.plot().savefig(plot, dpi=200)
        if not json_:
            typer.echo(f"picture in {plot}")
    if found.note == "interrupted":
        raise typer.Exit(130)


def _tables(what: str, form, only, space, texts: list[str]) -> dict:
    """The search as tables: a file's, or a claim's with its own space, changed by the options."""
    if what.endswith(".toml"):
        tables = _file(Path(what))
    else:
        tables = {"claim": what, "space": {}, "search": {}}
    tables = {"form": None, "only": ""} | tables
    tables |= {k: v for k, v in (("form", form), ("only", only)) if v is not None}
    if space is not None and tables["space"].get("kind") != space:
        tables["space"] = {"kind": space}
    for key, value in changes(texts).items():
        table, dot, name = key.partition(".")
        if table not in ("space", "search") or not dot:
            raise ValueError(f"`{key}` is not a key of a search: write `space.{key}` or `search.{key}`.")
        if table == "space" and not tables["space"] and ":" not in tables["claim"]:
            tables["space"] = _own(tables)
        tables[table][name] = value
    return tables


def _spaced(claim, table: dict) -> None:
    """A function needs a kind of space; a key or value of `--set` that no kind takes is said first."""
    if isinstance(claim, str) or "kind" in table:
        return
    from reluflow.falsify.defaults import made
    from reluflow.space import __all__ as kinds

    wrong = []
    for kind in sorted(kinds, key="line".__ne__):
        try:
            made({"kind": kind, **table})
        except (ValueError, TypeError) as error:
            wrong.append(error)
    if len(wrong) == len(kinds):
        raise wrong[0]
    raise ValueError(
        f"`{getattr(claim, '__name__', 'claim')}` has no space of its own: add `--space KIND`, for instance "
        "`--space line --set space.n=3 --set space.width=6`."
    )


def _own(tables: dict) -> dict:
    """The table of the check's own space, to be changed."""
    from reluflow.falsify.defaults import own
    from reluflow.falsify.target import target

    return own(target(_claim(tables["claim"]), tables["form"], tables["only"], None))


def _file(path: Path) -> dict:
    import tomllib

    from reluflow._schema import near

    if not path.is_file():
        raise FileNotFoundError(
            f"File not found: {path}. Give a check, `file.py:function`, or a TOML file with `claim =`."
        )
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(
            f'{path} must be TOML, got an error there ({error}): write `claim = "min2024.dwell"`.'
        ) from None
    for name in found:
        if name not in TABLES:
            raise ValueError(f"{path}: `{name}` is not a key of a search: {near(name, TABLES)}")
    if "claim" not in found:
        raise ValueError(f'{path}: `claim` is missing: add `claim = "min2024.dwell"`, or `claim = "my.py:my_claim"`.')
    for name in ("space", "search"):
        if not isinstance(found.setdefault(name, {}), dict):
            raise ValueError(
                f"{path}: `{name}` must be a table, got {found[name]!r}: write `[{name}]` and its keys below."
            )
    for name in found["search"]:
        if name not in OPTIONS:
            raise ValueError(f"{path}: `search.{name}` is not an option of a search: {near(name, OPTIONS)}")
    if ":" in found["claim"] and not Path(found["claim"].partition(":")[0]).is_absolute():
        found["claim"] = str(path.parent / found["claim"])
    return found


def _claim(text: str):
    """A check's name, or the function that `file.py:function` names."""
    file, colon, name = text.partition(":")
    if not colon and not text.endswith(".py"):
        return text
    path = Path(file)
    if not path.is_file():
        raise FileNotFoundError(f"File not found: {path}. Write `conjectures.py:my_claim`.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name, None) if name else None
    if not callable(found):
        of_file = lambda v: callable(v) and getattr(v, "__module__", None) == module.__name__
        own = ", ".join(n for n, v in vars(module).items() if of_file(v) and not n.startswith("_")) or "none"
        if not name:
            raise ValueError(
                f"{path} is a file, and a claim is one of its functions: write `{file}:FUNCTION`; it has {own}."
            )
        raise ValueError(f"{path} has no function `{name}`: it has {own}.")
    return found


def _print(found) -> None:
    from rich.markup import escape

    colour = {"refuted": "red", "not refuted": "green"}.get(found.verdict, "yellow")
    console = _show.console()
    for k, line in enumerate(found.sentences()):
        text = escape(line)
        console.print(text.replace(found.verdict, f"[{colour}]{found.verdict}[/]", 1) if k == 0 else text)
    if found.spec is not None:
        console.print("\n" + escape(found.spec.toml(found.target.needs)).rstrip())


def _write(found, out: Path, quiet: bool) -> None:
    """The counterexample as TOML or Python, by the suffix; everything into a folder otherwise."""
    if out.suffix == ".toml":
        out.write_text(found.toml(), encoding="utf-8")
    elif out.suffix == ".py":
        out.write_text(found.python(), encoding="utf-8")
    else:
        found.save(out)
    if not quiet:
        typer.echo(f"written to {out}")


def _progress(what: str, quiet: bool):
    """Yields a callback that shows runs, time and the best so far, and says once why a claim never applies."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    @contextmanager
    def bar():
        console = _show.console(stderr=True)
        columns = (
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=28),
            TextColumn("{task.fields[runs]} runs"), TextColumn("[dim]{task.fields[best]}"), TimeElapsedColumn(),
        )  # fmt: skip
        with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as shown:
            task, said = shown.add_task(what, total=1.0, runs="0", best=""), ""

            def tell(now):
                nonlocal said
                if now.note and not said:
                    said = now.note
                    if not quiet:
                        console.print(f"[yellow]{said}[/yellow]")
                b = now.best
                best = "" if b is None else f"{_TIERS[b.tier]} {b.value:.3g}: {b.text[:60]}"
                shown.update(task, completed=min(1.0, now.seconds / now.budget), runs=f"{now.runs:,}", best=best)

            yield tell

    return bar()


_TIERS = ("failed", "hypotheses", "unmeasured", "excess", "violated by")
