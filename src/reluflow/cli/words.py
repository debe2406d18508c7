"""`reluflow words`: the glossary of reports and messages."""

from typing import Annotated

import typer

from reluflow import _words
from reluflow.cli import _show

Words = Annotated[list[str] | None, typer.Argument(metavar="WORD...", help="A word, or part of one; omit for all.")]


def register(app: typer.Typer) -> None:
    app.command(
        "words",
        help="Explain the words of reports and messages.\n\n[bold]Example[/bold]\n\n    reluflow words\n\n"
        "    reluflow words basin",
    )(words)


def words(names: Words = None) -> None:
    from rich.markup import escape
    from rich.table import Table

    from reluflow._schema import near

    found, wanted = _words.glossary(), " ".join(names or []).lower()
    rows = {head: text for head, text in found.items() if wanted in head.lower()}
    if not rows:
        known = [word for head in found for word in _words.words_of(head)]
        raise ValueError(f'"{wanted}" is not in the glossary: {near(wanted, known)}')
    table = Table(box=None, padding=(0, 2, 1, 0), show_header=False)
    table.add_column(style="bold", max_width=28)
    table.add_column()
    for head, text in rows.items():
        table.add_row(escape(head), escape(text))
    _show.console().print(table)
