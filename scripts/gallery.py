"""Writes docs/gallery: every figure with its caption, the command that makes it, and its facts.

    .venv/bin/python scripts/gallery.py                        # all papers, quick sizes; numbers that are there serve
    .venv/bin/python scripts/gallery.py min2024 --full min2024/fig5 --full min2024/fig12
    .venv/bin/python scripts/gallery.py extra/not_minimum_norm # one figure; the others stay as they are
    .venv/bin/python scripts/gallery.py --pages                # the pages alone, from the facts that are kept

Figures named by `--full` are shown at the papers' own sizes. Numbers stay in `--out` (figures/ by default), so that an
interrupted run goes on where it stopped. What the pages say is kept in `docs/gallery/<paper>/facts.json`, from which
`scripts/pages.py` writes the table of all facts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent / "docs" / "gallery"
LARGE = 150_000  # bytes of a picture; above, its colours are reduced
SOURCES = {"paper": "paper", "handbook": "handbook", "": "ours"}
WORDS = {"holds": "✓", "holds within slack": "✓", "consistent so far": "✓", "constant fitted": "✓"}
KEPT = ("title", "command", "size", "note", "caption", "computed_in", "versions", "ok", "facts")


def number(value) -> str:
    return value if isinstance(value, str) else f"{float(value):.5g}"


def fact(said: dict) -> str:
    mark = WORDS.get(said["verdict"], "✗")
    slack = f" ± {number(said['slack'])}" if said["slack"] else ""
    log = " (logarithms)" if said["log"] else ""
    text = said["text"].replace("|", "\\|").replace("<", "&lt;")
    relation = said["relation"].replace("<", "&lt;")
    expected = f"{relation} {number(said['bound'])}{slack}{log}"
    return f"| {mark} | {text} | {SOURCES[said.get('source', '')]} | {number(said['measured'])} | {expected} |"


def with_sources(paper: str, said: dict[str, dict]) -> dict[str, dict]:
    """The same with who states each fact as the figures' files say it now; of packages that are not here, as kept."""
    from reluflow.papers import _figures, _found

    if paper not in _found.names():
        return said
    figures = _figures.paper(paper).figures
    for name, one in said.items():
        if name in figures:
            one["facts"] = [{**f, "source": figures[name].source(f["text"])} for f in one["facts"]]
    return said


def kept(paper: str) -> dict[str, dict]:
    """What the gallery says of each figure of a paper."""
    path = HOME / paper / "facts.json"
    return json.loads(path.read_text()) if path.exists() else {}


def keep(paper: str, said: dict[str, dict]) -> None:
    """Keeps it in the order of the figures, without those that are there no more."""
    from reluflow.papers import _figures

    there = {name: said[name] for name in _figures.names(paper) if name in said}
    (HOME / paper).mkdir(parents=True, exist_ok=True)
    (HOME / paper / "facts.json").write_text(json.dumps(there, indent=1) + "\n")
    wanted = {f"{name}.{end}" for name in there for end in ("png", "gif")}
    for path in (HOME / paper).iterdir():
        if path.suffix in (".png", ".gif") and path.name not in wanted:
            path.unlink()


def show(figure, made: dict, film: bool) -> None:
    """Draws a figure that was made for the gallery and keeps what is said of it."""
    from reluflow.papers import _figures
    from reluflow.plot import look

    folder, numbers = HOME / figure.paper, Path(made["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    ds = _figures.load_numbers(numbers / "numbers.zarr")
    picture = folder / f"{figure.name}.png"
    look.write_png(figure.draw(ds), picture, dpi=140)
    if picture.stat().st_size > LARGE:
        look.write_png(figure.draw(ds), picture, dpi=140, colours=256)
    moving = numbers / f"{figure.name}.gif"
    if film and moving.exists():
        shutil.copy(moving, folder / moving.name)
    keep(figure.paper, kept(figure.paper) | {figure.name: {name: made[name] for name in KEPT}})


def section(name: str, said: dict, folder: Path) -> list[str]:
    figure = f"{folder.name}/{name}"
    lines = [f"## {name}", "", said["title"], "", f"![{figure}]({name}.png)", ""]
    if (folder / f"{name}.gif").exists():
        lines += [f"![{figure}, moving]({name}.gif)", ""]
    head = ["| | fact | stated by | found | expected |", "| --- | --- | --- | ---: | --- |"]
    facts = [*head, *(fact(f) for f in said["facts"]), ""]
    return [*lines, said["caption"], "", "```", said["command"], "```", "", *facts]


def titled(paper: str) -> str:
    """A paper's title; of a package that is not installed, as its page has it."""
    from reluflow.papers import _figures, _found

    page = HOME / paper / "README.md"
    if paper in _found.names():
        return _figures.paper(paper).title
    return page.read_text().splitlines()[0].lstrip("# ") if page.exists() else paper


def pages() -> None:
    """All pages, from what is kept."""
    from reluflow.papers import _figures

    lines = [
        "# Gallery",
        "",
        "Every figure of the papers and some of none, made by the command printed beside it, with the facts it must "
        "show and who states them: the paper (the number that stands for a word such as *good* or *about* being ours), "
        "the handbook (simulations and corrections of ours that were written down before), or nobody but us; all facts "
        "in one table: [facts](../facts.md). Written by `scripts/gallery.py`; sizes are those of `--quick` unless a "
        "command says `--full`.",
        "",
    ]
    ours = [name for name in _figures.papers() if _figures._found.distribution(name) == _figures._found.OURS]
    others = sorted({path.parent.name for path in HOME.glob("*/facts.json")} - set(ours))
    for name in [*ours, *others]:
        said = with_sources(name, kept(name))
        if not said:
            continue
        (HOME / name / "facts.json").write_text(json.dumps(said, indent=1) + "\n")
        title = titled(name)
        if others and name == others[0]:
            lines += ["# Papers of other packages", "", "Found by their entry points: [how](../extend/paper.md).", ""]
        page = [f"# {title}", "", "[All papers](../README.md)", ""]
        for figure, one in said.items():
            page += section(figure, one, HOME / name)
        (HOME / name / "README.md").write_text("\n".join(page))
        lines += [f"## [{title}]({name}/README.md)", ""]
        lines += [f"- [{f}]({name}/README.md#{f}): {one['title'].split(': ', 1)[-1]}" for f, one in said.items()] + [""]
    (HOME / "README.md").write_text("\n".join(lines))


def chosen(names: list[str]) -> list:
    """Figures named as PAPER or PAPER/FIG; none named, all."""
    from reluflow.papers import _figures

    found = []
    for what in names or _figures.papers():
        paper, _, name = what.partition("/")
        figures = _figures.paper(paper).figures
        found += [figures[name]] if name else list(figures.values())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="PAPER[/FIG]", help="papers or figures; left out, all")
    parser.add_argument("--full", action="append", default=[], metavar="PAPER/FIG", help="show this one at full size")
    parser.add_argument("--out", type=Path, default=Path("figures"), help="where numbers are kept")
    parser.add_argument("--no-film", action="store_true", help="leave animations out")
    parser.add_argument("--jobs", type=int, default=0, help="figures made at a time; 0 for one on each core")
    parser.add_argument("--pages", action="store_true", help="write the pages alone")
    given = parser.parse_args()
    from reluflow.cli.reproduce import many

    bad, film = False, not given.no_film
    figures = [] if given.pages else chosen(given.figures)
    for size in ("quick", "full"):
        mine = [f for f in figures if (f"{f.paper}/{f.name}" in given.full) == (size == "full")]
        by_name = {f"{f.paper}/{f.name}": f for f in mine}
        for made in many(mine, size, given.out, film=film, jobs=given.jobs) if mine else ():
            if "error" in made:
                print(f"left as it was: {made['figure']}: {made['error']}", file=sys.stderr)
                continue
            show(by_name[made["figure"]], made, film)
            bad = bad or not made["ok"]
            print(f"{made['figure']}: {made['seconds']:.1f} s{'' if made['ok'] else ', A FACT FAILS'}", flush=True)
    pages()
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
