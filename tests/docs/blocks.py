"""Runs the code of a page of the documentation, in reading order, as a reader would.

    ```python                            is run, all blocks of a page in one namespace
    ```console                           lines that start with "$ reluflow" are run
    ```text after one of these           is what it prints, or the error it ends in
    ```{code-block} toml                 with a `:caption:` is a file, written where the code runs
    <!-- not run: reason -->             before a block leaves it alone

.venv/bin/python -m tests.docs.blocks docs/faq.md    # puts what is printed today into the page's text blocks
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"(?P<aside><!-- not run: [^\n]+ -->\n)?"
    r"^```(?P<info>[^\n`]*)\n(?P<options>(?::[\w-]+:[^\n]*\n)*)(?P<body>.*?)^```$",
    re.M | re.S,
)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])", re.I)
# Steps are chosen by error estimates, whose last digits differ between processors, and counts with them.
CLOSE = 0.02


@dataclass
class Block:
    kind: str
    body: str
    file: str  # the caption of a file
    skipped: bool
    span: tuple[int, int]


def blocks(text: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(text):
        kind = match["info"].strip().removeprefix("{code-block}").strip()
        body = match["body"].removeprefix("\n") if match["options"] else match["body"]
        caption = re.search(r"^:caption: *(.+)$", match["options"], re.M)
        found.append(
            Block(
                kind,
                body,
                caption[1].strip().replace("\\", "") if caption else "",
                bool(match["aside"]),
                match.span("body"),
            )
        )
    return found


def run(page: Path) -> list[tuple[Block, Block | None, str]]:
    """(block, the text block that shows its output, what it printed) for each block that was run, in a bare folder."""
    found = blocks(page.read_text(encoding="utf-8"))
    space: dict = {"__name__": "__page__"}
    done = []
    for block, after in zip(found, [*found[1:], None]):
        shown = after if after and after.kind == "text" and not after.file and not after.skipped else None
        if block.skipped:
            continue
        if block.file:
            target = Path(block.file)
            assert not target.is_absolute() and ".." not in target.parts, target
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.body, encoding="utf-8")
        elif block.kind == "python":
            done.append((block, shown, _python(block, page, space, bool(shown))))
        elif block.kind == "console":
            done.append((block, shown, _console(block, bool(shown))))
    return done


def _python(block: Block, page: Path, space: dict, may_fail: bool) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(block.body, f"<{page.name}>", "exec"), space)
        except Exception as error:
            if not may_fail:
                raise
            # A KeyError prints its message in quotes.
            message = error.args[0] if isinstance(error, KeyError) else error
            print(f"{type(error).__name__}: {message}")
    return out.getvalue()


def _console(block: Block, may_fail: bool) -> str:
    from reluflow.cli import main

    out = io.StringIO()
    for line in block.body.splitlines():
        if not line.startswith("$ reluflow "):
            continue
        arguments = shlex.split(line.removeprefix("$ reluflow "), comments=True)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                main(arguments)
                code = 0
            except SystemExit as left:
                code = left.code or 0
        assert code == 0 or may_fail, f"`{line}` left with {code}: {out.getvalue()}"
    return out.getvalue()


def differs(printed: str, shown: str) -> str:
    """What does not agree, or nothing. A line "..." stands for any lines."""
    ours, theirs = _lines(printed), _lines(shown)
    at = 0
    loose = False
    for line in theirs:
        if line == "...":
            loose = True
            continue
        while True:
            if at == len(ours):
                return f"not printed: {line}"
            at += 1
            if _same(ours[at - 1], line):
                break
            if not loose:
                return f"printed: {ours[at - 1]}\n  shown: {line}"
        loose = False
    return "" if loose or at == len(ours) else f"not shown: {ours[at]}"


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _same(ours: str, theirs: str) -> bool:
    if " ".join(NUMBER.sub("#", ours).split()) != " ".join(NUMBER.sub("#", theirs).split()):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs))
    return all(_close(float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs)


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= CLOSE * max(abs(a), abs(b)) or max(abs(a), abs(b)) < 1e-12  # rounding has no digits to keep


def refresh(page: Path) -> None:
    """Writes what is printed now into the text blocks of a page; those with a line "..." are left alone."""
    page = page.resolve()
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        done = run(page)
    for _, shown, printed in reversed(done):
        if shown and "\n...\n" not in f"\n{shown.body}":
            new = "\n".join(line.rstrip() for line in printed.splitlines()) + "\n"
            text = text[: shown.span[0]] + new + text[shown.span[1] :]
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    for name in sys.argv[1:]:
        refresh(Path(name))
