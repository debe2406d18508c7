"""`reluflow explore`: the interactive page."""

from pathlib import Path
from typing import Annotated

import typer

from reluflow.cli import _show

File = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="An experiment (.toml) or a run folder to open with.", show_default=False),
]
Port = Annotated[int, typer.Option("--port", metavar="N", help="The port; 0 takes a free one.")]
Host = Annotated[
    str,
    typer.Option(
        "--host",
        metavar="ADDRESS",
        help="Address to listen on; with any but loopback, other machines can use the page.",
    ),
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--export",
        metavar="FOLDER",
        help="Write a static copy that any web server can host, and stop.",
        show_default=False,
    ),
]
Open = Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")]


def register(app: typer.Typer) -> None:
    app.command(
        "explore",
        help="Watch a network learn in the browser, interactively.\n\n[bold]Example[/bold]\n\n"
        "    reluflow explore\n\n    reluflow explore my.toml\n\n    reluflow explore runs/small --no-open\n\n"
        "    reluflow explore --export site",
    )(explore)


def explore(
    file: File = None, port: Port = 0, host: Host = "127.0.0.1", open_: Open = True, export: Export = None
) -> None:
    from reluflow.explorer.serve import opening, serve

    if export is not None:
        write(export)
        return

    if not 0 <= port < 65536:
        raise ValueError(f"`--port` must lie in 0..65535, got {port}: omit it for a free port.")
    start, recorded = opening(file) if file is not None else (None, None)
    console = _show.console()

    def ready(address: str):
        console.print(f"[bold]reluflow explorer[/bold]  {address}", soft_wrap=True)
        if host not in ("127.0.0.1", "localhost", "::1"):
            console.print(
                "[yellow]Others on this network can reach this page with this address and its token.[/yellow]"
            )
        console.print("[dim]Stop it with Ctrl-C.[/dim]")
        if open_:
            import webbrowser

            webbrowser.open(address)

    serve(start, recorded, host=host, port=port, ready=ready)


def write(folder: Path) -> None:
    """A static copy in a folder, with a line that says how far it is."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from reluflow.explorer.static import export

    console = _show.console()
    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("runs", total=None)
        size = export(folder, progress=lambda done, of: bar.update(task, completed=done, total=of))
    console.print(f"[bold]{folder}[/bold]  {size / 2**20:.1f} MiB; serve it with any web server, for example")
    console.print(f"[dim]python -m http.server --directory {folder}[/dim]")
