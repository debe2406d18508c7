"""Writes docs/errata.md, docs/facts.md and docs/verdicts.md from what the papers' folders and the gallery say.

.venv/bin/python scripts/pages.py            # all pages; the verdicts run every check on its standard subjects
.venv/bin/python scripts/pages.py --errata   # the errata alone, at once
.venv/bin/python scripts/pages.py --facts    # the facts alone, at once, from docs/gallery/*/facts.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
BAD = ("violated", "unmeasured")


def papers() -> list[str]:
    from reluflow import papers as package

    return [p.name for p in pkgutil.iter_modules(package.__path__) if p.ispkg and not p.name.startswith("_")]


def part(paper: str, name: str):
    """`_errata` or `_standard` of a paper, or None where it has none."""
    try:
        return importlib.import_module(f"reluflow.papers.{paper}.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.endswith(name):
            raise
        return None


def title(paper: str) -> str:
    return (importlib.import_module(f"reluflow.papers.{paper}").__doc__ or paper).strip().splitlines()[0].rstrip(".")


def cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def errata() -> str:
    lines = [
        "# Errata",
        "",
        "Where the papers' texts and the truth differ, and what shows it. Where a check is named, its printed form "
        '(`rf.check(name, subject, form="printed")`) fails on the subject that the evidence describes and the '
        "corrected one holds; a test holds both. This page is written by `scripts/pages.py`.",
    ]
    for paper in papers():
        found = part(paper, "_errata")
        if found is None:
            continue
        lines += [
            "",
            f"## {title(paper)}",
            "",
            "| | where | printed | corrected | evidence | check |",
            "|---|---|---|---|---|---|",
        ]
        for e in found.ERRATA:
            check = f"`{e.check}`" if e.check else ""
            row = (e.label, cell(e.where), cell(e.printed), cell(e.corrected), cell(e.evidence), check)
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def facts(gallery: Path) -> str:
    """Every fact of every figure in the gallery: found against expected."""
    body, counts, figures, bad = [], Counter[str](), 0, []
    order = sorted(gallery.glob("*/facts.json"), key=lambda path: (path.parent.name == "extra", path.parent.name))
    for path in order:
        paper, said = path.parent.name, json.loads(path.read_text())
        of_paper = Counter(f["verdict"] for one in said.values() for f in one["facts"])
        counts += of_paper
        figures += len(said)
        body += ["", f"## {title(paper)}", "", f"{len(said)} figures, {_counted(of_paper)}.", ""]
        body += ["| figure | size | fact | found | | expected | verdict |", "|---|---|---|---:|---|---:|---|"]
        for name, one in said.items():
            link = f"[{name}](gallery/{paper}/README.md#{name})"
            for f in one["facts"]:
                word = f"**{f['verdict']}**" if f["verdict"] in BAD else f["verdict"]
                slack = f" ± {_fact_number(f, 'slack')}" if f["slack"] else ""
                sides = (_fact_number(f, "measured"), cell(f["relation"]), _fact_number(f, "bound") + slack)
                body.append("| " + " | ".join((link, one["size"], cell(f["text"]), *sides, word)) + " |")
                if f["verdict"] in BAD:
                    bad.append(f"- {paper}/{name}: {cell(f['text'])}")
    head = [
        "# Facts",
        "",
        f"{figures} figures, {_counted(counts)}. What each figure of the [gallery](gallery/README.md) must show, as "
        "its paper states it and the handbooks correct it, against what was found; the same numbers are in each "
        "figure's `facts.json`. *holds within slack*: true up to the slack printed after ±, which the figure's file "
        "derives; "
        "*consistent so far*: a limit, which no finite run can prove. This page is written by `scripts/pages.py`.",
        "",
        *(["Not as expected:", "", *bad] if bad else ["None is violated or unmeasured."]),
    ]
    return "\n".join(head + body) + "\n"


def _counted(verdicts: Counter) -> str:
    said = ", ".join(f"{n} {v}" for v, n in verdicts.most_common())
    return f"{sum(verdicts.values())} facts: {said}"


def _fact_number(fact: dict, side: str) -> str:
    value = float(fact[side])
    return number(value, fact["log"] and side != "slack")


def judged(paper: str):
    """(check, subject's name, report) for every check of a paper on its standard subjects."""
    import reluflow as rf

    standard = part(paper, "_standard")
    for check in rf.checks(paper):
        names = ("",) if check.needs == "nothing" else getattr(standard, "ON", {}).get(check.name, ())
        for name in names:
            yield check, name, rf.check(check.name, standard.SUBJECTS[name]() if name else None)


def number(value: float, log: bool) -> str:
    return f"e^{value:.5g}" if log else f"{value:.5g}"


def verdicts() -> tuple[str, str]:
    """The page, and a line about it."""
    began = time.perf_counter()
    body, counts, checks, serious = [], Counter[str](), 0, 0
    for paper in papers():
        since, rows = time.perf_counter(), list(judged(paper))
        if not rows:
            continue
        took, of_paper = time.perf_counter() - since, Counter(c.verdict for *_, r in rows for c in r.claims)
        counts += of_paper
        said = ", ".join(f"{n} {v}" for v, n in of_paper.most_common())
        body += ["", f"## {title(paper)}", "", f"{sum(of_paper.values())} claims: {said}; {took:.0f} s.", ""]
        body += summary(rows)
        serious += sum(c.verdict == "violated" for *_, r in rows if r.applies for c in r.claims)
        last = None
        for check, name, report in rows:
            if check.name != last:
                checks += 1
                body += ["", f"### {check.name}", "", cell(check.title), ""]
                body += ["| subject | claim | measured | | bound | verdict |", "|---|---|---:|---|---:|---|"]
                last = check.name
            body += table(name, report)
    took = time.perf_counter() - began
    total = sum(counts.values())
    said = ", ".join(f"{n} {v}" for v, n in counts.most_common())
    line = f"{checks} checks, {total} claims on the standard runs: {said}; {took:.0f} s"
    head = [
        "# Verdicts",
        "",
        f"{line}, the runs included. Violated although all hypotheses are met: {serious}.",
        "",
        "Every check on its standard subjects, corrected form. † marks a subject on which some hypothesis fails: its "
        "claims are measured anyway. *holds within slack*: true up to the rounding that the check's docstring derives; "
        "*consistent so far*: a limit, which no finite run can prove; *constant fitted*: the paper names no constant. "
        "This page is written by `scripts/pages.py`.",
    ]
    return "\n".join(head + body) + "\n", line


def summary(rows) -> list[str]:
    """One line a check: subjects, those that meet its hypotheses, verdicts."""
    out = ["| check | subjects | hypotheses met on | verdicts |", "|---|---:|---:|---|"]
    for name in dict.fromkeys(check.name for check, *_ in rows):
        mine = [report for check, _, report in rows if check.name == name]
        words = Counter(c.verdict for r in mine for c in r.claims)
        said = ", ".join(f"{n} {v}" for v, n in words.most_common())
        anchor = name.replace(".", "")
        out.append(f"| [{name}](#{anchor}) | {len(mine)} | {sum(r.applies for r in mine)} | {said} |")
    return out


def table(name: str, report) -> list[str]:
    mark = "" if report.applies else " †"
    out = []
    for c in report.claims:
        word = f"**{c.verdict}**" if c.verdict in BAD else c.verdict
        row = (
            cell(name) + mark,
            cell(c.text),
            number(c.measured, c.log),
            cell(c.relation),
            number(c.bound, c.log),
            word,
        )
        out.append("| " + " | ".join(row) + " |")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errata", action="store_true", help="write the errata alone")
    parser.add_argument("--facts", action="store_true", help="write the facts alone")
    parser.add_argument("--out", type=Path, default=DOCS, help="the folder to write to")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    every = not (given.errata or given.facts)
    if every or given.errata:
        (given.out / "errata.md").write_text(errata())
    if every or given.facts:
        (given.out / "facts.md").write_text(facts(DOCS / "gallery"))
    if every:
        page, line = verdicts()
        (given.out / "verdicts.md").write_text(page)
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
