"""Writes what the documentation says about the papers, from the code: theorems with verdicts, figures, errata.

.venv/bin/python scripts/doc_pages.py              # docs/_generated, as every build of the documentation does
.venv/bin/python scripts/doc_pages.py --pictures   # docs/images/learning_*.png, from runs (a few seconds)

Verdicts are read from docs/verdicts.md and pictures from docs/gallery: what is there is shown, what is not is left out.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import textwrap
from functools import cached_property
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAPERS = ("boursier2022", "min2024", "kou2023", "lee2023", "extra")
FORMS = {"printed": 'also `form="printed"`'}


def write(docs: Path = DOCS) -> None:
    """All generated parts; files that would not change are left alone, so that Sphinx need not read them again."""
    out = docs / "_generated"
    out.mkdir(exist_ok=True)
    for paper in (*PAPERS, *others(docs)):
        _put(out / f"{paper}.md", paper_page(paper, docs))
    _put(out / "references.md", references())
    _put(out / "more.md", tree(docs))
    _put(out / "citation.md", citation(docs.parent / "CITATION.cff"))
    _put(out / "api.txt", api())


# The interface as text ------------------------------------------------------------------------------------------------


def api() -> str:
    """Every public name with its signature and its documentation, as plain text."""
    import reluflow as rf

    lines = [f"reluflow {rf.__version__}: every public name. `import reluflow as rf`.", ""]
    for name in sorted(rf.__all__, key=str.lower):
        if not name.startswith("__"):
            lines += _described(f"rf.{name}", getattr(rf, name))
    return "\n".join(lines) + "\n"


def _described(name: str, value) -> list[str]:
    if inspect.ismodule(value):
        inside = getattr(value, "__all__", [n for n, v in vars(value).items() if _own(v, value)])
        found = [n for n in inside if not n.startswith("_")]
        return [f"module {name}", _words(value), ""] + [
            line for n in sorted(found, key=str.lower) for line in _described(f"{name}.{n}", getattr(value, n))
        ]
    lines = [f"{name}{_signature(value)}", _words(value), ""]
    if inspect.isclass(value):
        for n, member in vars(value).items():
            if not n.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                called = _signature(member) if inspect.isfunction(member) else ""
                lines += [f"{name}.{n}{called}", _words(member), ""]
    return lines


def named(path: str):
    """The object of a dotted name."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def members(value) -> set[str]:
    """Names that the reference shows of a class or module: its documented methods, properties and functions."""
    if inspect.ismodule(value):
        inside = getattr(value, "__all__", [n for n, v in vars(value).items() if _own(v, value)])
        return {n for n in inside if not n.startswith("_") and callable(getattr(value, n))}
    kinds = (property, cached_property, classmethod, staticmethod)
    own = {n for n, m in vars(value).items() if inspect.isfunction(m) or isinstance(m, kinds)}
    return {n for n in own if not n.startswith("_") and inspect.getdoc(getattr(value, n))}


def _own(value, module) -> bool:
    return getattr(value, "__module__", "") == module.__name__


def _signature(value) -> str:
    if not callable(value):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    plain = [p.replace(annotation=p.empty) for n, p in found.parameters.items() if n != "self"]
    return str(found.replace(parameters=plain, return_annotation=found.empty))


def _words(value) -> str:
    """Documentation, indented; that of a plain constant is its type's and is left out."""
    told = inspect.getdoc(value) if callable(value) or inspect.ismodule(value) or isinstance(value, property) else None
    return textwrap.indent(told or "", "    ")


def others(docs: Path = DOCS) -> list[str]:
    """Papers of other packages that have a page here."""
    return sorted(p.stem for p in (docs / "papers").glob("*.md") if p.stem not in (*PAPERS, "index"))


def references() -> str:
    """BibTeX of every paper that is installed."""
    import reluflow as rf

    found = [rf.papers[name].reference for name in rf.papers]
    return "\n".join(["```bibtex", "\n\n".join(text for text in found if text), "```", ""])


def _put(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


# A paper --------------------------------------------------------------------------------------------------------------


def paper_page(paper: str, docs: Path) -> str:
    """Results, figures and errata of one paper; links are relative to docs/papers."""
    from reluflow.papers import _found

    if paper not in _found.names():
        return "The package of this paper is not installed here, so that its checks and figures are left out.\n"
    return "\n".join([*results(paper, docs), "", *figures(paper, docs), "", *errata(paper)]) + "\n"


def results(paper: str, docs: Path) -> list[str]:
    """One row for each check: what it says, what it needs, how it fared on the standard runs."""
    import reluflow as rf
    from reluflow.papers import _figures

    fared = verdicts(docs / "verdicts.md")
    found = sorted(rf.checks(paper), key=lambda c: _figures._order(c.name.split(".")[1]))
    if not found:
        return []
    count = f"{len(found)} checks" if len(found) > 1 else "One check"
    judged = any(check.name in fared for check in found)
    lines = [
        "## Results",
        "",
        f'{count}. `rf.check("{found[0].name}", subject)` judges the first; '
        f"`reluflow check {paper} RUN` all that fit a run."
        + " The last column counts verdicts on the standard runs and leads to the claims with both sides."
        * judged,
        "",
        "| check | what it says | about |" + " on the standard runs |" * judged,
        "| --- | --- | --- |" + " --- |" * judged,
    ]
    for check in found:
        more = "".join(f" ({FORMS[f]})" for f in check.forms if f in FORMS)
        said = fared.get(check.name)
        last = f"[{said}](../verdicts.md#{anchor(check.name)})" if said else ""
        row = f"| `{check.name}` | {cell(statement(check.title))}{more} | {check.needs} |"
        lines.append(row + f" {last} |" * judged)
    return lines


def verdicts(page: Path) -> dict[str, str]:
    """The verdicts of each check, from the summary tables of verdicts.md."""
    if not page.exists():
        return {}
    rows = re.findall(r"^\| \[([\w.]+)\]\(#\w+\) \|[^|]*\|[^|]*\| (.*?) \|$", page.read_text(encoding="utf-8"), re.M)
    return dict(rows)


def statement(title: str) -> str:
    """A check's title without the paper's label, which the page gives: "Lemma 3: ..."."""
    return re.sub(r" of \[[A-Z0-9]+\]", "", title, count=1)


def figures(paper: str, docs: Path) -> list[str]:
    """The pictures of the gallery with what to see, each beside its command."""
    from reluflow.papers import _figures

    folder = docs / "gallery" / paper
    there = [n for n in (_figures.names(paper)) if (folder / f"{n}.png").exists()]
    if not there or not (folder / "README.md").exists():
        return []
    made = sections(folder / "README.md")
    lines = ["## Figures", "", f"The facts each figure must show are in the [gallery](../gallery/{paper}/README.md)."]
    for name in there:
        figure = _figures.paper(paper).figures[name]
        caption, command, facts = made.get(name, ("", figure.command(), (0, 0)))
        held = f" {facts[0]} of {facts[1]} facts hold." if facts[1] else ""
        lines += ["", f"### {heading(figure)}", ""]
        lines += [f"[![{paper}/{name}](../gallery/{paper}/{name}.png)](../gallery/{paper}/README.md#{name})", ""]
        lines += [f"{caption}{held}", "", "```console", f"$ {command}", "```"]
    return lines


def heading(figure) -> str:
    """ "Figure 4", or what a figure of no number shows."""
    title = statement(figure.title)
    return title.split(":")[0] if title.startswith("Figure") else cell(figure.title.rstrip("."))


def sections(page: Path) -> dict[str, tuple[str, str, tuple[int, int]]]:
    """Caption, command and (facts that hold, facts) of each figure of a page of the gallery."""
    if not page.exists():
        return {}
    found = {}
    for part in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)[1:]:
        name = part.split("\n", 1)[0].strip()
        blocks = [b.strip() for b in part.split("\n\n")]
        caption = [b for b in blocks[2:] if b and not b.startswith(("![", "|", "```"))]
        command = re.search(r"^```\n(.*?)\n```", part, re.M | re.S)
        marks = re.findall(r"^\| ([✓✗]) \|", part, re.M)
        counts = (marks.count("✓"), len(marks))
        found[name] = (caption[0] if caption else "", command[1] if command else "", counts)
    return found


def errata(paper: str) -> list[str]:
    """What is printed and what is true."""
    from reluflow.papers import _found

    try:
        found = _found.module(paper, "_errata").ERRATA
    except ModuleNotFoundError:
        return []
    lines = [
        "## Errata",
        "",
        "Where a check is named, its printed form fails where the evidence says, and the corrected one holds.",
        "",
        "| | kind | where | printed | corrected | evidence | check |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for e in found:
        check = f"[`{e.check}`](../verdicts.md#{anchor(e.check)})" if e.check else ""
        row = (e.label, e.kind, cell(e.where), cell(e.printed), cell(e.corrected), cell(e.evidence), check)
        lines.append("| " + " | ".join(row) + " |")
    return lines


def cell(text: str) -> str:
    """Plain text inside a table of Markdown."""
    for mark in "\\|*_[]$":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.replace("<", "&lt;").split())


def anchor(name: str) -> str:
    return name.replace(".", "")


# The rest -------------------------------------------------------------------------------------------------------------


def tree(docs: Path) -> str:
    """The contents of what other scripts write."""
    pages = ["verdicts", "errata", "coverage", "mutants", "facts", "gallery/README"]
    pages += sorted(p.relative_to(docs).with_suffix("").as_posix() for p in docs.glob("gallery/*/README.md"))
    there = [p for p in pages if (docs / f"{p}.md").exists()]
    return "\n".join(["```{toctree}", ":caption: Evidence", ":maxdepth: 1", ":hidden:", "", *there, "```", ""])


def citation(path: Path) -> str:
    """BibTeX of the software, from CITATION.cff."""
    fields = dict(re.findall(r"^(\w[\w-]*): *\"?(.+?)\"?$", path.read_text(encoding="utf-8"), re.M))
    author = re.search(r"- name: \"(.+?)\"", path.read_text(encoding="utf-8"))
    lines = [
        "@software{reluflow,",
        f"  author  = {{{{{author[1] if author else ''}}}}},",
        f"  title   = {{{fields['title']}}},",
        f"  version = {{{fields['version']}}},",
        f"  license = {{{fields['license']}}},",
        "}",
    ]
    return "\n".join(["```bibtex", *lines, "```", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", action="store_true", help="run what the pictures show, and draw them")
    if parser.parse_args().pictures:
        import learning_pictures

        learning_pictures.draw(DOCS / "images")
    write()


if __name__ == "__main__":
    main()
