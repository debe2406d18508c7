"""Hostile input, fed to the loaders in a child process with bounded memory while everything they do is watched.

    python tests/trust/hostile.py KIND COUNT SEED        prints one JSON line: how many loaded, were refused, went wrong

A refusal is clean when it is one of the library's own errors, raised by the library's own code, one printable sentence
per mistake. Anything else is wrong: another exception or a warning, a file touched outside the case's folder, an
unpickled object, a started process, a new socket, more than `SECONDS` for one case, more memory than `ROOM`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = 60.0  # of processor time, for what would never end; a file of this size reads in milliseconds
ROOM = 1024 * 2**20  # bytes of address space beyond what the imports take
GROWTH = 320 * 2**20  # resident bytes beyond those of the valid cases: 256 MiB may be unpacked, and a copy is small
LONGEST = 700  # letters of one sentence, paths included
CLEAN = {"ValueError", "TypeError", "FileNotFoundError", "ExperimentError"}
FORBIDDEN = (
    "pickle.find_class",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
)


class Hang(BaseException):
    """The alarm: not an Exception, so that no loader swallows it."""


class Watch:
    """What a case touches, by the interpreter's own audit events."""

    def __init__(self, canary: Path):
        self.canary, self.on, self.seen = str(canary), False, []
        sys.addaudithook(self.hook)

    def hook(self, event: str, args) -> None:
        if not self.on:
            return
        if event == "open" and isinstance(args[0], str | bytes):
            path = os.path.realpath(os.fsdecode(args[0]))
            if path.startswith(self.canary):
                self.seen.append(f"open {path}")
        elif event in FORBIDDEN:
            self.seen.append(event)


def run(kind: str, count: int, seed: int, folder: Path) -> dict:
    """Every case of a kind, judged. Case 0 and every 50th are valid as they stand, and must load."""
    canary = folder / "outside"
    canary.mkdir()
    (canary / "secret.csv").write_text("1,2\n3,4\n")
    (canary / "secret").write_bytes(b"\0" * 64)
    before = _tree(canary)
    cases = importlib.import_module(f"trust.cases_{kind}").Cases(folder, canary)
    warnings.simplefilter("error")
    watch = Watch(canary)
    found: Counter = Counter()
    wrong: list[dict] = []
    slowest = 0.0
    for warm in range(3):  # imports, compiled kernels
        cases.write(random.Random(warm), valid=True)
        cases.load()
    address = _statm() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (address, address))
    resident = _peak()
    signal.signal(signal.SIGPROF, _ring)
    for k in range(count):
        valid = k % 50 == 0
        label = cases.write(random.Random(f"{kind} {seed} {k}"), valid=valid)
        (folder / "last").write_text(ascii(f"{k} {label}"))
        watch.seen, watch.on, began = [], True, time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            cases.load()
            said, kept = "loaded", ""
        except BaseException as error:
            said, kept = _judged(error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            watch.on = False
        slowest = max(slowest, time.process_time() - began)
        if watch.seen and not (hasattr(cases, "asked") and cases.asked()):
            said, kept = "wrong", f"touched {watch.seen[:3]}"
        if valid and said != "loaded":
            said, kept = "wrong", f"valid, yet {kept}"
        found[said] += 1
        if said == "wrong":
            wrong.append({"case": k, "label": label, "why": kept})
    if _tree(canary) != before:
        wrong.append({"case": -1, "label": "canary", "why": "something outside was written"})
    return {
        "kind": kind,
        "count": count,
        **{name: found[name] for name in ("loaded", "refused", "wrong")},
        "slowest_ms": round(1e3 * slowest, 1),
        "growth_mib": round((_peak() - resident) / 2**20, 1),
        "first_wrong": wrong[:40],
    }


def _ring(*_):
    raise Hang


def _judged(error: BaseException) -> tuple[str, str]:
    name, text = type(error).__name__, str(error)
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1].filename if frames else ""
    kept = f"{name} at {'/'.join(last.split('/')[-2:])}:{frames[-1].lineno if frames else 0}: {text[:300]}"
    sentences = text.split("\n") if name == "ExperimentError" else [text]
    own = "/reluflow/" in last and "/tests/" not in last
    good = name in CLEAN and own and all(_sentence(s) for s in sentences)
    return ("refused" if good else "wrong"), kept


RULES = (
    *(" must ", " is not ", " is the folder of a sweep", " is incomplete", " is missing", " is required by "),
    *(" needs ", " is nested ", " not found", "Cannot ", "Give "),
)


def _sentence(text: str) -> bool:
    rule = any(word in text for word in RULES)
    return rule and len(text) <= LONGEST and text.isprintable() and text[-1] in ".?"


def _statm() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _tree(folder: Path) -> str:
    parts = [f"{p.relative_to(folder)} {p.read_bytes()!r}" for p in sorted(folder.rglob("*")) if p.is_file()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def fuzzed(kind: str, count: int, seed: int, timeout: float = 600.0) -> dict:
    """`run` in a child; a child that dies or never ends is wrong too."""
    folder = Path(tempfile.mkdtemp(prefix="reluflow-hostile-"))
    try:
        command = [sys.executable, str(HERE / "hostile.py"), kind, str(count), str(seed), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        if done.returncode != 0:
            at = (folder / "last").read_text() if (folder / "last").exists() else "the start"
            raise AssertionError(f"the child ended with {done.returncode} at case {at}:\n{done.stderr[-3000:]}")
        return json.loads(done.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clean(found: dict) -> None:
    """Asserts what every kind must show."""
    assert found["wrong"] == 0 and not found["first_wrong"], json.dumps(found, indent=1)
    assert found["loaded"] + found["refused"] == found["count"]
    assert found["refused"] > found["count"] // 4, found  # a fuzzer that breaks nothing shows nothing
    assert found["growth_mib"] * 2**20 < GROWTH, found


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if len(sys.argv) > 4:
        print(json.dumps(run(kind, count, seed, Path(sys.argv[4]))))
    else:
        print(json.dumps(fuzzed(kind, count, seed), indent=1))
