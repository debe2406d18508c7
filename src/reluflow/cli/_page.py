"""The demo's page: one self-contained HTML file, without network access or libraries."""

import base64
import html
import json
from pathlib import Path

import numpy as np

from reluflow import plot
from reluflow.cli._film import Fact, Film, outputs

GRID = np.linspace(-1.5, 3.0, 46)


def write(film: Film, facts: list[Fact], figure: Path, path: Path, seconds: float, toml: str) -> None:
    """Fills the template beside this file."""
    text = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")
    parts = {
        "TITLE": f"From e<sup>{_signed(film.log_scale)}</sup> to the limit",
        "LEAD": _lead(film, seconds),
        "FILM": json.dumps(_film(film), separators=(",", ":")),
        "ROWS": "\n".join(_row(f) for f in facts),
        "FIGURE": base64.b64encode(figure.read_bytes()).decode(),
        "TOML": html.escape(toml.strip()),
        **{name: getattr(plot, name) for name in ("INK", "PAPER", "FAINT", "PLUS", "MINUS", "THEORY")},
    }
    for name, value in parts.items():
        text = text.replace("{{" + name + "}}", value)
    path.write_text(text, encoding="utf-8")


def _signed(value: float) -> str:
    return f"−{abs(value):,.0f}" if value < 0 else f"{value:,.0f}"


def _lead(film: Film, seconds: float) -> str:
    return (
        f"Sixty ReLU neurons start at scale e<sup>{_signed(film.log_scale)}</sup>, turn towards two directions "
        "while the output is still 0, then fit one point, stay near a saddle, and fit the other. Gradient "
        f"flow, followed from t = 0 to t = {film.end:,.0f} in {film.sol.stats.steps:,} steps, {seconds:.2f} s."
    )


def _film(film: Film) -> dict:
    """Frames as numbers rounded for display."""
    rows = film.inside(0.0, film.windows[1][1])
    data, t, states, log_norm = film.sol.problem.data, film.t[rows], [film.states[k] for k in rows], film.log_norm[rows]
    w = np.stack([p.w for p in states])
    f = [outputs(p, np.column_stack([GRID, np.ones_like(GRID)])) for p in states]
    with np.errstate(under="ignore"):
        size = np.exp(log_norm)
    (a, b), (c, d) = film.windows
    chapters = [
        (film.aligned, "alignment"),
        (a, "silent growth"),
        (b, "first point"),
        (max(b, c), "at the saddle"),
        (d, "second point"),
    ]
    low = min(film.log_scale, float(log_norm.min()))
    return {
        "t": [float(f"{v:.10g}") for v in t],
        "loss": _round(film.loss[rows], 5),
        "theory": _round(film.theory.loss(t), 5),
        "angle": _round(np.arctan2(w[..., 1], w[..., 0]), 3),
        "reach": _round(1.0 - log_norm / low, 4),
        "log": [[float(f"{v:.6g}") for v in row] for row in (log_norm.min(axis=1), log_norm.max(axis=1))],
        "size": _round(size, 3),
        "sign": np.sign(states[0].a).astype(int).tolist(),
        "grid": _round(GRID, 3),
        "f": _round(f, 3),
        "x": data.x[:, 0].tolist(),
        "y": data.y.tolist(),
        "rows": data.x.tolist(),
        "chapters": [{"end": int(np.searchsorted(t, min(end, t[-1]))), "name": name} for end, name in chapters],
    }


def _round(values, digits: int):
    return np.round(np.asarray(values, float) + 0.0, digits).tolist()


def text_of(fact: Fact, value: float) -> str:
    """A number of the table with its significant digits."""
    if fact.digits == 0:
        return f"{int(value)}"
    if value == 0:
        return "0"
    return f"{value:.1e}" if abs(value) < 1e-6 else f"{value:,.{fact.digits}f}"


def apart_of(fact: Fact) -> str:
    return "equal" if fact.apart == 0 else f"{fact.apart:.0e}".replace("e-0", "e-")


def _row(fact: Fact) -> str:
    cells = [fact.phase, fact.what, text_of(fact, fact.measured), text_of(fact, fact.predicted), apart_of(fact)]
    first = ' class="first"' if fact.phase else ""
    tags = "".join(f"<td>{html.escape(c)}</td>" for c in cells)
    return f"<tr{first}>{tags}</tr>"
