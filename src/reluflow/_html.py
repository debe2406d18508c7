"""Results in a notebook: text, tables and figures as small pieces of HTML."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def text(words: str) -> str:
    """A paragraph."""
    return f"<p>{html.escape(words)}</p>"


def lines(words: str) -> str:
    """Text whose lines and columns are kept."""
    return f"<pre>{html.escape(words)}</pre>"


def table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """Rows of cells; with a `head`, the first row of names."""
    top = "<tr>" + "".join(f"<th>{html.escape(str(c))}</th>" for c in head) + "</tr>" if head else ""
    cell = '<td style="text-align:left">{}</td>'
    body = "".join("<tr>" + "".join(cell.format(html.escape(str(c))) for c in row) + "</tr>" for row in rows)
    return f"<table>{top}{body}</table>"


def figure(drawn: Figure, dpi: int = 100) -> str:
    """A matplotlib figure as an image."""
    out = io.BytesIO()
    drawn.savefig(out, format="png", dpi=dpi)
    data = base64.b64encode(out.getvalue()).decode()
    width = round(drawn.get_figwidth() * dpi)
    return f'<img alt="" style="max-width:100%" width="{width}" src="data:image/png;base64,{data}">'
