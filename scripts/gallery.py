"""Writes docs/gallery: every figure with its caption, the command that makes it, and its facts.

    .venv/bin/python scripts/gallery.py                        # all papers, quick sizes; numbers that are there serve
    .venv/bin/python scripts/gallery.py min2024 --full min2024/fig5 --full min2024/fig12

Figures named by `--full` are shown at the papers' own sizes. Numbers stay in `--out` (figures/ by default), so that an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent / "docs" / "gallery"
LARGE = 150_000  # bytes of a picture; above, its colours are reduced
WORDS = {"holds": "✓", "holds within slack": "✓", "consistent so far": "✓", "constant fitted": "✓"}


def number(value) -> str:
    return value if isinstance(value, str) else f"{float(value):.5g}"


def fact(said: dict) -> str:
    mark = WORDS.get(said["verdict"], "✗")
    slack = f" ± {number(said['slack'])}" if said["slack"] else ""
    log = " (logarithms)" if said["log"] else ""
    text = said["text"].replace("|", "\\|").replace("<", "&lt;")
    relation = said["relation"].replace("<", "&lt;")
    return f"| {mark} | {text} | {number(said['measured'])} | {relation} {number(said['bound'])}{slack}{log} |"


def section(made: dict, picture: str, film: str | None) -> list[str]:
    name = made["figure"].split("/")[1]
    lines = [f"## {name}", "", f"{made['title']}", "", f"![{made['figure']}]({picture})", ""]
    if film:
        lines += [f"![{made['figure']}, moving]({film})", ""]
    return [
        *lines,
        made["caption"],
        "",
        "```",
        made["command"],
        "```",
        "",
        "| | stated | found | |",
        "| --- | --- | ---: | --- |",
        *(fact(f) for f in made["facts"]),
        "",
    ]


def page(paper, full: set[str], out: Path, film: bool) -> tuple[str, list[tuple[str, str, bool]]]:
    """A paper's page, and a line for each figure for the index."""
    from reluflow.cli.reproduce import make
    from reluflow.papers import _figures
    from reluflow.plot import look

    folder = HOME / paper.name
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"# {paper.title}", "", "[All papers](../README.md)", ""]
    rows = []
    for figure in paper.figures.values():
        size = "full" if f"{paper.name}/{figure.name}" in full else "quick"
        try:
            made = make(figure, size, {}, out, film=film)
        except (FileNotFoundError, ImportError) as error:
            print(f"left out: {paper.name}/{figure.name}: {error}", file=sys.stderr)
            continue
        ds = _figures.load_numbers(Path(made["folder"]) / "numbers.zarr")
        picture = folder / f"{figure.name}.png"
        look.write_png(figure.draw(ds), picture, dpi=140)
        if picture.stat().st_size > LARGE:
            look.write_png(figure.draw(ds), picture, dpi=140, colours=256)
        moving = None
        if film and figure.moves:
            moving = f"{figure.name}.gif"
            shutil.copy(Path(made["folder"]) / moving, folder / moving)
        lines += section(made, picture.name, moving)
        rows.append((figure.name, figure.title, made["ok"]))
        print(f"{paper.name}/{figure.name}: {made['seconds']:.1f} s{'' if made['ok'] else ', A FACT FAILS'}")
    (folder / "README.md").write_text("\n".join(lines))
    return paper.title, rows


def index() -> str:
    """The first page, from the papers' pages that are there."""
    from reluflow.papers import _figures

    lines = [
        "# Gallery",
        "",
        "Every figure of the papers, made by the command printed beside it, with the facts it must show. Written by "
        "`scripts/gallery.py`; sizes are those of `--quick` unless a command says `--full`.",
        "",
    ]
    for name in _figures.papers():
        if not (HOME / name / "README.md").exists():
            continue
        paper = _figures.paper(name)
        there = [f for f in paper.figures.values() if (HOME / name / f"{f.name}.png").exists()]
        lines += [f"## [{paper.title}]({name}/README.md)", ""]
        lines += [f"- [{f.name}]({name}/README.md#{f.name}): {f.title.split(': ', 1)[-1]}" for f in there] + [""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes docs/gallery.")
    parser.add_argument("papers", nargs="*", help="papers; left out, all")
    parser.add_argument("--full", action="append", default=[], metavar="PAPER/FIG", help="show this one at full size")
    parser.add_argument("--out", type=Path, default=Path("figures"), help="where numbers are kept")
    parser.add_argument("--no-film", action="store_true", help="leave animations out")
    given = parser.parse_args()
    from reluflow.papers import _figures

    bad = False
    for name in given.papers or _figures.papers():
        shutil.rmtree(HOME / name, ignore_errors=True)
        _, rows = page(_figures.paper(name), set(given.full), given.out, not given.no_film)
        bad = bad or not all(ok for _, _, ok in rows)
    HOME.mkdir(parents=True, exist_ok=True)
    (HOME / "README.md").write_text(index())
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
