"""The command line. Each command is one file; heavy imports happen inside the commands, so that `--help` is fast."""

import sys
from typing import Annotated

import typer

from reluflow.cli import bench, certify, check, data, demo, explore, falsify, papers, reproduce, run, sweep, words

ERROR = 2  # the command could not be carried out; 1 means that it was and a comparison failed

app = typer.Typer(
    name="reluflow",
    help="Gradient flow and gradient descent of ReLU networks, at any scale.",
    epilog="Start with `reluflow demo`, then `reluflow run --template > my.toml`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
demo.register(app)
run.register(app)
check.register(app)
falsify.register(app)
certify.register(app)
reproduce.register(app)
papers.register(app)
sweep.register(app)
data.register(app)
bench.register(app)
explore.register(app)
words.register(app)


def _version(value: bool):
    if value:
        from reluflow import __version__

        typer.echo(f"reluflow {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks; may also follow a command.")] = False,
):
    pass


def main(arguments: list[str] | None = None) -> None:
    """The console script: errors are one sentence, with a traceback only under `--debug`."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    try:
        app([a for a in arguments if a != "--debug"], prog_name="reluflow")
    except Exception as error:
        if debug:
            raise
        from reluflow.cli import _show

        _show.error(error)
        sys.exit(ERROR)
    except KeyboardInterrupt:
        sys.exit(130)
