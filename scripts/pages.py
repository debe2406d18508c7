"""Writes docs/errata.md, facts.md, verdicts.md, mutants.md and coverage.md from the papers' folders and the gallery.

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
from collections import Counter
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
BAD = ("violated", "unmeasured", "unfinished")


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


def title(paper: str, gallery: Path | None = None) -> str:
    """A paper's title; of a package that is not installed, as its page of the gallery has it."""
    from reluflow.papers import _found

    page = gallery / paper / "README.md" if gallery else None
    if paper not in _found.names():
        return page.read_text().splitlines()[0].lstrip("# ").rstrip(".") if page and page.exists() else paper
    return " ".join((_found.module(paper).__doc__ or paper).strip().split("\n\n")[0].split()).rstrip(".")


def cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def errata() -> str:
    import reluflow as rf
    from reluflow.papers._erratum import KINDS

    forms = {c.name: c.forms for c in rf.checks()}
    lines = [
        "# Errata",
        "",
        "Where the papers' texts and the truth differ, and what shows it, in three kinds. Where the last column has a "
        'check, its printed form (`rf.check(name, subject, form="printed")`) fails on the subject that the evidence '
        "describes and the corrected one holds; a test holds both. Elsewhere the evidence names what shows it. This "
        "page is written by `scripts/pages.py`.",
        "",
        *(f"- **{kind}**: {meaning}" for kind, meaning in KINDS.items()),
    ]
    for paper in papers():
        found = part(paper, "_errata")
        if found is None:
            continue
        of_kind = Counter(e.kind for e in found.ERRATA)
        lines += ["", f"## {title(paper)}", "", ", ".join(f"{of_kind[k]} {k}" for k in KINDS if of_kind[k]) + "."]
        for kind in KINDS:
            mine = [e for e in found.ERRATA if e.kind == kind]
            if not mine:
                continue
            lines += ["", f"### {kind.capitalize()}", ""]
            lines += ["| | where | printed | corrected | evidence | check |", "|---|---|---|---|---|---|"]
            for e in mine:
                check = f"`{e.check}`" if e.check and "printed" in forms[e.check] else ""
                evidence = e.evidence if check or not e.check else f"{e.evidence} (see `{e.check}`)"
                row = (e.label, cell(e.where), cell(e.printed), cell(e.corrected), cell(evidence), check)
                lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def facts(gallery: Path) -> str:
    """Every fact of every figure in the gallery: found against expected."""
    body, counts, figures, bad, by = [], Counter[str](), 0, [], Counter[str]()
    order = sorted(gallery.glob("*/facts.json"), key=lambda path: (path.parent.name == "extra", path.parent.name))
    for path in order:
        paper, said = path.parent.name, json.loads(path.read_text())
        of_paper = Counter(f["verdict"] for one in said.values() for f in one["facts"])
        counts += of_paper
        figures += len(said)
        body += ["", f"## {title(paper, gallery)}", "", f"{len(said)} figures, {_counted(of_paper)}.", ""]
        body += ["| figure | size | fact | stated by | found | | expected | verdict |"]
        body += ["|---|---|---|---|---:|---|---:|---|"]
        for name, one in said.items():
            link = f"[{name}](gallery/{paper}/README.md#{name})"
            for f in one["facts"]:
                word = f"**{f['verdict']}**" if f["verdict"] in BAD else f["verdict"]
                slack = f" ± {_fact_number(f, 'slack')}" if f["slack"] else ""
                sides = (_fact_number(f, "measured"), cell(f["relation"]), _fact_number(f, "bound") + slack)
                who = f.get("source") or "ours"
                by[who] += 1
                body.append("| " + " | ".join((link, one["size"], cell(f["text"]), who, *sides, word)) + " |")
                if f["verdict"] in BAD:
                    bad.append(f"- {paper}/{name}: {cell(f['text'])}")
    head = [
        "# Facts",
        "",
        f"{figures} figures, {_counted(counts)}. What each figure of the [gallery](gallery/README.md) must show "
        "against what was found, and who states it: the paper (the number that stands for a word such as *good* or "
        "*about* being ours), the handbook (simulations and corrections of ours that were written down before), or "
        f"nobody but us; {_counted_by(by)}. The same numbers are in each figure's `facts.json`. *holds within slack*: "
        "true up to the slack printed after ±, which the figure's file derives; *consistent so far*: a limit, which no "
        "finite run can prove. This page is written by `scripts/pages.py`.",
        "",
        *(["Not as expected:", "", *bad] if bad else ["None is violated or unmeasured."]),
    ]
    return "\n".join(head + body) + "\n"


def _counted(verdicts: Counter) -> str:
    said = ", ".join(f"{n} {v}" for v, n in verdicts.most_common())
    return f"{sum(verdicts.values())} facts: {said}"


def _counted_by(by: Counter) -> str:
    return f"{by['paper']} by the papers, {by['handbook']} by the handbooks, {by['ours']} ours"


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
    body, counts, checks, serious = [], Counter[str](), 0, 0
    every, met = list[Any](), list[Any]()
    for paper in papers():
        rows = list(judged(paper))
        if not rows:
            continue
        of_paper = Counter(c.verdict for *_, r in rows for c in r.claims)
        counts += of_paper
        said = ", ".join(f"{n} {v}" for v, n in of_paper.most_common())
        body += ["", f"## {title(paper)}", "", f"{sum(of_paper.values())} claims: {said}.", ""]
        body += summary(rows)
        every += [check for check, *_ in rows]
        met += [check for check, _, report in rows if report.applies]
        serious += sum(c.verdict == "violated" for *_, r in rows if r.applies for c in r.claims)
        last = None
        for check, name, report in rows:
            if check.name != last:
                checks += 1
                body += ["", f"### {check.name}", "", cell(check.title), ""]
                body += ["| subject | claim | measured | | bound | verdict |", "|---|---|---:|---|---:|---|"]
                last = check.name
            body += table(name, report)
    total = sum(counts.values())
    said = ", ".join(f"{n} {v}" for v, n in counts.most_common())
    line = f"{checks} checks, {total} claims on the standard runs: {said}"
    unmet = sorted({c.name for c in every} - {c.name for c in met})
    left = f" ({', '.join(unmet)})" if unmet else ""
    head = [
        "# Verdicts",
        "",
        f"{line}. Violated although all hypotheses are met: {serious}. Checks whose hypotheses no "
        f"subject meets: {len(unmet)}{left}. Unfinished (the run ends before the claim can be decided): "
        f"{counts['unfinished']}.",
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


SIGNS = {"claim": "C", "hypothesis": "H", "unfinished": "F", "unmeasured": "M", "record": "r", "nothing": "·"}


def mutants() -> str:
    """Every check against every tampering of a run, with the reasons for what a result does not notice."""
    sys.path.insert(0, str(DOCS.parent))
    from tests.papers import mutants as made

    counts, body = Counter[str](), []
    for paper in papers():
        names = [name for name in made.SUBJECT if name.startswith(f"{paper}.")]
        if not names:
            continue
        kinds = list(made.SINGLE if paper == "lee2023" else made.MUTANTS)
        body += ["", f"## {title(paper)}", "", "| check | subject | " + " | ".join(kinds) + " | not spoken of |"]
        body += ["|---|---|" + "---|" * len(kinds) + "---|"]
        for name in names:
            row = made.row(name)
            counts.update(row.values())
            silent = [k for k in kinds if row[k] in ("record", "nothing") and k not in ("drop events", "cut the run")]
            why = list(dict.fromkeys(made.reason(name, k) for k in silent))
            cells = " | ".join(SIGNS[row[k]] for k in kinds)
            body.append(f"| {name} | {cell(made.SUBJECT[name])} | {cells} | {cell('; '.join(why))} |")
    own = sum(counts[k] for k in ("claim", "hypothesis", "unfinished", "unmeasured"))
    head = [
        "# Checks against tampered runs",
        "",
        "What a check is worth is what it would notice. Each check of a run is judged on a subject that meets its "
        "hypotheses, and again on that run tampered with. C: a claim is violated; H: a hypothesis fails; F: a claim is "
        "unfinished, M: unmeasured, which was decided before; r: the result itself says nothing of what was changed, "
        "and only the claims about the run's own record (`report.record`: log, weights, outputs and motion agree) are "
        "violated; ·: nothing (for *cut the run* that is right: what is left decides every claim; runs of single "
        "neurons have no record). The last column says why a result does not speak of what it does not notice. "
        "Patterns and arrivals are read off the weights; times or numbers of switches come from the log of events in "
        f"{', '.join(made.LISTED)}, where the record's claim that log and weights agree vouches for them. This page is "
        "written by `scripts/pages.py --mutants`.",
        "",
        f"{sum(counts.values())} pairs: {own} noticed by the result itself, {counts['record']} by the run's record "
        f"alone, {counts['nothing']} not at all.",
    ]
    return "\n".join(head + body) + "\n"


def coverage() -> str:
    """Every statement of every paper: the checks and figures that look at it, or why none does."""
    head = [
        "# Coverage",
        "",
        "Every numbered or named statement of the papers' texts, and what looks at it: checks (`rf.check`), figures "
        "(`reluflow reproduce`), or the reason why nothing does. This page is written by `scripts/pages.py`.",
    ]
    counts, body = [], []
    for paper in papers():
        found = part(paper, "_coverage")
        if found is None:
            continue
        with_ = sum(bool(s.by) for s in found.COVERAGE)
        counts.append(f"{paper}: {with_} of {len(found.COVERAGE)} statements, the rest with a reason")
        body += ["", f"## {title(paper)}", "", "| statement | checks and figures | remark |", "|---|---|---|"]
        for s in found.COVERAGE:
            body.append(f"| {cell(s.name)} | {', '.join(f'`{name}`' for name in s.by)} | {cell(s.reason)} |")
    return "\n".join([*head, "", *(f"- {line}." for line in counts), *body]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--errata", action="store_true", help="write the errata alone")
    parser.add_argument("--facts", action="store_true", help="write the facts alone")
    parser.add_argument("--mutants", action="store_true", help="write the table of tampered runs alone")
    parser.add_argument("--verdicts", action="store_true", help="write the verdicts alone (a minute or two)")
    parser.add_argument("--coverage", action="store_true", help="write the coverage page alone")
    parser.add_argument("--out", type=Path, default=DOCS, help="the folder to write to")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    every = not (given.errata or given.facts or given.mutants or given.coverage or given.verdicts)
    if every or given.errata:
        (given.out / "errata.md").write_text(errata())
    if every or given.mutants:
        (given.out / "mutants.md").write_text(mutants())
    if every or given.coverage:
        (given.out / "coverage.md").write_text(coverage())
    if every or given.facts:
        (given.out / "facts.md").write_text(facts(DOCS / "gallery"))
    if every or given.verdicts:
        page, line = verdicts()
        (given.out / "verdicts.md").write_text(page)
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
