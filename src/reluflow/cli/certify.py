"""`reluflow certify`: a theorem about the flow of an experiment, and the check of one."""

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path | None, typer.Argument(metavar="FILE", help="An experiment TOML, or a certificate with --check.")]
Check = Annotated[bool, typer.Option("--check", help="Verify a certificate with the independent checker.")]
Until = Annotated[str | None, typer.Option("--t1", metavar="T", help="Prove events and outputs up to this time.")]
Digits = Annotated[int, typer.Option("--digits", help="Working digits to begin with.")]
Below = Annotated[bool, typer.Option("--every-scale-below", help="Prove it for every scale up to the experiment's.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="CERT", help="Where to write the certificate.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a dotted key (repeatable).")]
Json = Annotated[bool, typer.Option("--json", help="Print the certificate, or the verdict, as JSON.")]

LARGE = 150  # pairs of neuron and datum from which the time is estimated first
EACH, POWER = 0.07, 0.72  # an event takes EACH (pairs / 60)^POWER seconds: fitted to 60, 240, 1,200 and 4,800 pairs
LONG = 10.0  # seconds from which they are spoken of
COUNTING = 20.0  # seconds for the run that counts them


def register(app: typer.Typer) -> None:
    app.command(
        "certify",
        help="Prove a run: all events, and the limit or the outputs at a time, as a theorem in ball arithmetic.\n\n"
        "Without --t1 the statement is about all time: convergence, and bounds on the limit. "
        "What cannot be proved is refused, with place and reason (exit code 1).\n\n"
        "For small problems, some 10 neurons and 6 data: an event takes about 0.1 s there, and 2 s at 80 neurons and "
        "60 data, where a run has thousands. The expected time is said first where it is long.\n\n"
        "[bold]Example[/bold]\n\n"
        "    reluflow certify small.toml --out small.cert.json\n\n"
        "    reluflow certify small.toml --t1 30 --set init.log_scale=-7\n\n"
        "    reluflow certify --check small.cert.json",
    )(certify)


def certify(
    file: File = None,
    check: Check = False,
    t1: Until = None,
    digits: Digits = 40,
    every_scale_below: Below = False,
    out: Out = None,
    set_: Set = None,
    json_: Json = False,
) -> None:
    if file is None:
        raise ValueError("`reluflow certify` needs a file: an experiment TOML, or a certificate with `--check`.")
    if not file.exists():
        raise FileNotFoundError(f"File not found: {file}.")
    if check:
        return _check(file, json_)
    from reluflow._progress import of_proof
    from reluflow.certify import Refused, certify
    from reluflow.cli.check import working
    from reluflow.cli.run import changes
    from reluflow.experiment import Experiment

    problem = Experiment.from_toml(file).changed(changes(set_ or [])).problem()
    try:
        with working(f"certify {file.name}", quiet=json_) as say:
            _estimate(problem, t1, say, quiet=json_)
            found = certify(
                problem,
                t1,
                digits=digits,
                every_scale_below=every_scale_below,
                progress=lambda now: say(of_proof(now).words, None if now.end is None else now.t / now.end),
            )
    except Refused as refusal:
        _say({"proved": False, "reason": str(refusal)}, f"Refused. {refusal}", json_)
        raise typer.Exit(1) from None
    if out is not None:
        found.save(out)
    typer.echo(found.to_json() if json_ else str(found))


def _estimate(problem, t1: str | None, say, quiet: bool) -> None:
    """Says on stderr how long a large proof takes, by the events of a run in floating point."""
    pairs = problem.init.width * problem.data.n
    if quiet or pairs < LARGE or (t1 is None and problem.loss != "square"):
        return
    import reluflow as rf
    from reluflow._progress import duration
    from reluflow.certify.exact import Exact
    from reluflow.certify.prove import moment
    from reluflow.cli._show import console

    Exact.of(problem)  # what the theorems do not cover is refused first
    say("counting the events")
    run = rf.solve(
        problem, t1=None if t1 is None else float(moment(t1)), limits=rf.Limits(seconds=COUNTING), throw=False
    )
    if run.outcome is rf.Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    events, each = sum(run.events.counts().values()), EACH * (pairs / 60) ** POWER
    if events * each < LONG:
        return
    said = (
        f"{problem.init.width} neurons on {problem.data.n} data: about {events:,} events, some {each:.1g} s each to "
        f"prove, {duration(events * each)} in all, more if digits must be doubled. Ctrl-C stops; some 10 neurons and 6 "
        "data take seconds, and an earlier `--t1` has fewer events."
    )
    console(stderr=True).print(said)


def _check(file: Path, json_: bool) -> None:
    from reluflow.certify import Certificate
    from reluflow.certify_check import Wrong
    from reluflow.cli.check import working

    found = Certificate.load(file)
    try:
        with working(f"certify --check {file.name}", quiet=json_):
            lines = found.check()
    except (Wrong, ValueError) as wrong:
        _say({"proved": False, "reason": str(wrong)}, f"Refused. {wrong}", json_)
        raise typer.Exit(1) from None
    _say({"proved": True, "verified": lines}, "\n".join([*(f"  {v}" for v in lines), "Proved."]), json_)


def _say(record: dict, text: str, json_: bool) -> None:
    import json

    typer.echo(json.dumps(record) if json_ else text)
