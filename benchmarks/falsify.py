"""Every check attacked on its own space: which printed forms are refuted, how tight the corrected ones are.

    python benchmarks/falsify.py run FOLDER --form corrected --seconds 300 --workers 16
    python benchmarks/falsify.py run FOLDER --form printed --seconds 60 [--search random] [--only min2024]
    python benchmarks/falsify.py table FOLDER             # the results as a Markdown table
    python benchmarks/falsify.py page FOLDER > docs/tightness.md

`run` starts one process a check, `--workers` at a time, each for `--seconds` of one core's processor time, and writes
one JSON file a check. It resumes: what is in the folder is not run again. A process that takes ten times its seconds
(and ten minutes) of wall time is ended and reported as such.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# Not claims that a search could refute. The hypotheses of the first two are met by the data of Figure 2 alone; "need
# not end at the least norm" is a claim about one run, not about all; the claims of assumptions are conditions.
LEFT_OUT = (
    *("boursier2022.loss_scale", "boursier2022.section5", "boursier2022.leaky"),
    *("boursier2022.assumption", "min2024.assumption"),
)


def targets(form: str, only: str) -> list[str]:
    """Checks that are about data, a problem or a run, and have the form."""
    import reluflow as rf

    found = [c for c in rf.checks() if c.needs != "nothing" and form in c.forms and not c.name.startswith(LEFT_OUT)]
    papers = ("boursier2022", "kou2023", "lee2023", "min2024")
    return [c.name for c in found if c.name.split(".")[0] in papers and c.name.startswith(only)]


def one(name: str, options) -> None:
    """One search, in this process; its result goes to the file."""
    import reluflow as rf

    form = None if options.form == "corrected" else options.form
    found = rf.falsify(name, form=form, seconds=options.seconds, seed=options.seed, search=options.search)
    write(
        file_of(options, name),
        found.to_dict() | {"search": options.search, "seed": options.seed, "budget": options.seconds},
    )


def file_of(options, name: str) -> Path:
    return Path(options.folder) / f"{name}.{options.form}.{options.search}.{options.seed}.json"


def write(path: Path, content: dict) -> None:
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(content, indent=1, default=str), encoding="utf-8")
    beside.rename(path)


def run(options) -> None:
    Path(options.folder).mkdir(parents=True, exist_ok=True)
    names = [n for n in targets(options.form, options.only) if not file_of(options, n).exists()]
    print(f"{len(names)} searches to do, {options.workers} at a time, {options.seconds:g} s each", flush=True)
    lock, began = threading.Lock(), time.time()
    stopped = threading.Event()

    def start(name: str) -> None:
        if stopped.is_set() or time.time() - began > options.wall:
            return
        command = [sys.executable, __file__, "one", options.folder, "--check", name, "--form", options.form]
        command += ["--seconds", str(options.seconds), "--search", options.search, "--seed", str(options.seed)]
        said = ""
        try:
            done = subprocess.run(
                command,
                env=os.environ | dict.fromkeys(THREADS, "1"),
                capture_output=True,
                text=True,
                timeout=600 + 10 * options.seconds,
                check=False,
            )
            said = (done.stderr.strip().splitlines() or [""])[-1] if done.returncode else ""
        except subprocess.TimeoutExpired:
            said = "ended: ten times its seconds of wall time"
        path = file_of(options, name)
        if not path.exists() and not stopped.is_set():
            write(path, {"claim": name, "form": options.form, "verdict": "failed", "reason": said, "runs": 0})
        with lock:
            print(line(json.loads(path.read_text())) if path.exists() else f"{name}: not finished", flush=True)

    with ThreadPoolExecutor(options.workers) as pool:
        try:
            list(pool.map(start, names))
        except KeyboardInterrupt:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    table(options)


def line(row: dict) -> str:
    tight = max(row.get("tightness", {}).values(), default=float("nan"))
    took = f"{row['runs']} runs, {row.get('seconds', 0)} s"
    return f"{row['claim']} ({row['form']}): {row['verdict']}, {took}, tightness {tight:.4g}"


def rows(folder: str) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]


def cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def sides(row: dict) -> str:
    """measured relation bound of the worst claim."""
    worst = row.get("worst")
    if not worst:
        return ""
    show = lambda v: f"{v:.4g}" if isinstance(v, float | int) else str(v)
    power = "e^" if worst["log"] else ""
    return f"{worst['text']}: {power}{show(worst['measured'])} {worst['relation']} {power}{show(worst['bound'])}"


def subject(row: dict) -> str:
    """The specification in one line."""
    spec = row.get("spec") or {}
    if row["verdict"] not in ("refuted", "doubtful"):
        return ""
    text = ", ".join(f"{k} = {json.dumps(v)}" for k, v in spec.items())
    return text if len(text) <= 240 else f"{text[:240]}..."


def table(options) -> None:
    found = rows(options.folder)
    print("| check | form | search | verdict | runs | seconds | claim | shrunk subject, or why not |")
    print("| --- | --- | --- | --- | ---: | ---: | --- | --- |")
    for row in found:
        why = subject(row) if row["verdict"] == "refuted" else row.get("reason", "")
        cells = (row["claim"], row["form"], row.get("search", ""), row["verdict"], row["runs"], row.get("seconds", ""))
        print("| " + " | ".join(cell(c) for c in (*cells, sides(row), why)) + " |")
    for form in sorted({r["form"] for r in found}):
        for search in sorted({r.get("search", "") for r in found if r["form"] == form}):
            some = [r for r in found if r["form"] == form and r.get("search", "") == search]
            counts = {v: sum(r["verdict"] == v for r in some) for v in sorted({r["verdict"] for r in some})}
            print(f"\n{form}, {search}: {len(some)} checks, " + ", ".join(f"{n} {v}" for v, n in counts.items()) + ".")


PAGE = """# Tightness

How near runs come to the bounds that the papers prove: for every claim with two positive sides, the largest
measured/bound (bound/measured for a lower bound) that a search over the check's own space found. 1 is attained; 0.5
leaves a factor of 2. All hypotheses are met and no claim is violated unless the table says otherwise; each check had
{seconds:g} seconds of one core. A bound that is met with equality at the start, or by definition, has tightness 1 for
no deeper reason. This page is written by `python benchmarks/falsify.py page FOLDER`.
"""


def page(options) -> None:
    found = [r for r in rows(options.folder) if r["form"] == "corrected" and r.get("search", "cma") == "cma"]
    seconds = max((r.get("budget", 0.0) for r in found), default=0.0)
    print(PAGE.format(seconds=seconds))
    for paper in sorted({r["claim"].split(".")[0] for r in found}):
        print(f"## {paper}\n")
        print("| check | claim | tightness | runs that apply | of |")
        print("| --- | --- | ---: | ---: | ---: |")
        for row in (r for r in found if r["claim"].startswith(paper + ".")):
            tiers = row.get("tiers", {})
            applied = sum(tiers.get(t, 0) for t in ("unmeasured", "holds", "doubtful", "violated"))
            claims = sorted(row.get("tightness", {}).items(), key=lambda item: -item[1])
            if row["verdict"] in ("refuted", "doubtful", "vacuous", "failed"):
                claims = [(f"**{row['verdict']}**: {row.get('reason') or sides(row)}", None), *claims]
            for text, value in claims or [("no claim has two positive sides", None)]:
                shown = "" if value is None else f"{value:.4g}"
                print(f"| `{row['claim']}` | {cell(text)} | {shown} | {applied:,} | {row['runs']:,} |")
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "one", "table", "page"))
    parser.add_argument("folder")
    parser.add_argument("--form", default="corrected", choices=("corrected", "printed"))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--search", default="cma", choices=("cma", "random"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="checks whose names begin with this")
    parser.add_argument("--wall", type=float, default=1e9, help="start no search after so many seconds")
    parser.add_argument("--check", default="")
    options = parser.parse_args()
    {"run": run, "table": table, "page": page, "one": lambda o: one(o.check, o)}[options.what](options)


if __name__ == "__main__":
    main()
