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


def register(app: typer.Typer) -> None:
    app.command(
        "certify",
        help="Prove a run: all events, and the limit or the outputs at a time, as a theorem in ball arithmetic.\n\n"
        "Without --t1 the statement is about all time: convergence, and bounds on the limit. What cannot be proved is\n"
        "refused, with place and reason (exit code 1).\n\n"
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
    from reluflow.certify import Refused, certify
    from reluflow.cli.run import changes
    from reluflow.experiment import Experiment

    problem = Experiment.from_toml(file).changed(changes(set_ or [])).problem()
    try:
        found = certify(problem, t1, digits=digits, every_scale_below=every_scale_below)
    except Refused as refusal:
        _say({"proved": False, "reason": str(refusal)}, f"Refused. {refusal}", json_)
        raise typer.Exit(1) from None
    if out is not None:
        found.save(out)
    typer.echo(found.to_json() if json_ else str(found))


def _check(file: Path, json_: bool) -> None:
    from reluflow.certify import Certificate
    from reluflow.certify_check import Wrong

    try:
        lines = Certificate.load(file).check()
    except (Wrong, ValueError) as wrong:
        _say({"proved": False, "reason": str(wrong)}, f"Refused. {wrong}", json_)
        raise typer.Exit(1) from None
    _say({"proved": True, "verified": lines}, "\n".join([*(f"  {v}" for v in lines), "Proved."]), json_)


def _say(record: dict, text: str, json_: bool) -> None:
    import json

    typer.echo(json.dumps(record) if json_ else text)
