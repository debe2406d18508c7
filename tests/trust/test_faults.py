"""Faults that really happen, at random moments: nothing announced is lost, nothing corrupt loads, nothing piles up.

Every round is a `reluflow` command in a process of its own (`zygote.py`) that meets one fault: SIGKILL or SIGINT, a
full disk, a folder that cannot be written to, another process on the same store, too little memory, clocks that jump.
What the command had announced must load, and be what a command without fault computes, bit for bit; what it had not
announced must be absent, whole, or refused with one sentence; and the next command must go on as if nothing had been.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import cached_property
from pathlib import Path

import numpy as np
import psutil
import pytest
from support.sweeps import assert_same
from tests.test_store import mounted

import reluflow as rf
from reluflow.papers import _figures
from reluflow.sweep import load as load_sweep

RUN = """
[data]
kind = "five_points"
[init]
kind = "balanced"
width = 8
log_scale = -3.0
[method]
kind = "descent"
step = 1e-4
fast_forward = false
[solve]
t1 = {t1}
[sweep]
keep = ["final.log_loss", "events.count", "log_loss"]
[sweep.over]
"init.seed" = [0, 1, 2, 3, 4, 5, 6, 7]
"""
FIGURE = "min2024/fig21"


class Zygote:
    """Forks a command at a time (or several at once), and knows what each said and how it ended."""

    def __init__(self, folder: Path):
        self.folder = folder
        command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("zygote.py"))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        assert self.process.stdout.readline() == "ready\n"
        self.count = 0

    def start(self, *commands: dict) -> list[int]:
        self.outs = []
        for command in commands:
            self.count += 1
            command.setdefault("cwd", str(self.folder))
            command["out"] = str(self.folder / f".said-{self.count}")
            self.outs.append(Path(command["out"]))
            self.outs[-1].touch()  # a process may be killed before it has opened it
        self.process.stdin.write(json.dumps(commands) + "\n")
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[list[int], list[str]]:
        codes = json.loads(self.process.stdout.readline())
        said = [out.read_text() for out in self.outs]
        for out in self.outs:
            out.unlink()
        return codes, said

    def do(self, *argv: str, **more) -> tuple[int, str]:
        """A command without a signal."""
        self.start({"argv": [str(a) for a in argv], **more})
        (code,), (said,) = self.end()
        return code, said

    def calls(self, *argv: str) -> int:
        """How many function calls a command makes without a fault."""
        self.start({"argv": [str(a) for a in argv], "signal": [signal.SIGINT, 0]})
        (out,) = self.outs
        (code,), (said,) = self.end()
        assert code == 0, said
        counted = out.with_name(f"{out.name}.calls")
        found = int(counted.read_text())
        counted.unlink()
        return found

    def hit(self, *argv: str, signal_: int, at: int) -> tuple[int, str]:
        """A command that gets a signal at so many function calls."""
        return self.do(*argv, signal=[signal_, at])

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=300)
        self.process.stdout.close()


def sentence(said: str) -> str:
    """What a refused command says: one line, no traceback."""
    lines = said.strip().split("\n")
    assert len(lines) == 1 and lines[0].startswith("error "), said
    assert "unforeseen" not in said and "Traceback" not in said
    return lines[0]


def announced(said: str) -> dict | None:
    """The JSON object that a command ends with, if it came to that."""
    try:
        return json.loads(said.strip().split("\n")[-1])
    except ValueError:
        return None


def leftovers(folder: Path) -> list[str]:
    return [p.name for p in folder.rglob("*") if p.name.endswith(".part")]


def same_run(found, whole) -> None:
    """Equal, or, of an interrupted one, all there is of it."""
    n = len(found.log_t)
    if found.outcome is rf.Outcome.INTERRUPTED:
        n -= 1  # the last frame is where it was interrupted, the others are those of the whole run
        assert found.log_t[-1] <= whole.log_t[-1]
        np.testing.assert_array_equal(found.final.w, whole.at(log_t=found.log_t[-1]).w)
    else:
        assert found.outcome is whole.outcome and n == len(whole.log_t)
    for name in ("log_t", "log_loss", "outputs", "w", "a", "log_scale"):
        np.testing.assert_array_equal(getattr(found, name)[:n], getattr(whole, name)[:n], err_msg=name)
    events = len(found.events)
    np.testing.assert_array_equal(found.events.log_t, whole.events.log_t[:events])


class Rounds:
    """The faults. Each method is one round, and raises where something is lost or corrupt."""

    def __init__(self, folder: Path, seed: int = 0):
        self.rng, self.folder, self.zygote = random.Random(seed), folder, Zygote(folder)
        self.seen: Counter = Counter()
        self.file = folder / "my.toml"
        self.file.write_text(RUN.format(t1=20.0))
        self.quick = folder / "quick.toml"
        self.quick.write_text(RUN.format(t1=2.0))
        experiment = rf.Experiment.from_toml(self.file)
        self.whole = experiment.run()
        self.run_calls = self.zygote.calls("run", self.file, "--out", folder / "first", "--json")
        same_run(rf.load(folder / "first"), self.whole)
        self.sweep_calls = self.zygote.calls(*self.sweep_argv("once"))
        self.whole_sweep = load_sweep(folder / "once")

    @cached_property
    def figure_calls(self) -> int:
        return self.zygote.calls(*self.reproduce_argv("made"))

    @cached_property
    def numbers(self):
        assert self.figure_calls
        return _figures.load_numbers(self.folder / "made" / FIGURE / "numbers.zarr")

    def sweep_argv(self, name: str) -> list:
        return ["sweep", self.quick, "--workers", "0", "--out", self.folder / name, "--resume", "--json"]

    def sweep(self, name: str, **more):
        return self.zygote.do(*self.sweep_argv(name), **more)

    def reproduce_argv(self, name: str, *more: str) -> list:
        return ["reproduce", FIGURE, "--no-film", "--out", self.folder / name, "--json", *more]

    def reproduce(self, name: str, *more: str):
        return self.zygote.do(*self.reproduce_argv(name, *more))

    def moment(self, calls: int) -> int:
        """A call number; beyond the last one, the command ends before its signal."""
        return 1 + int(self.rng.uniform(0.0, 1.4 * calls))

    def new(self, kind: str) -> str:
        self.seen[kind] += 1
        return f"{kind}{self.seen[kind]}"

    def count(self, what: str) -> None:
        self.seen[f"({what})"] += 1

    # Signals ----------------------------------------------------------------------------------------------------------

    def run_signal(self, kind: str, signal_: int) -> None:
        out = self.folder / "runs" / self.new(kind)
        argv = ("run", self.file, "--out", out, "--json")
        code, said = self.zygote.hit(*argv, signal_=signal_, at=self.moment(self.run_calls))
        assert code in (0, 130, -signal_), said
        if announced(said) is not None:
            self.count("runs announced")
            same_run(rf.load(out), self.whole)
        elif out.exists():
            same_run(rf.load(out), self.whole)
        else:
            self.count("runs absent")
            assert self.zygote.do(*argv)[0] == 0
            same_run(rf.load(out), self.whole)
            assert leftovers(out.parent) == []

    def run_sigkill(self):
        self.run_signal("run SIGKILL", signal.SIGKILL)

    def run_sigint(self):
        self.run_signal("run SIGINT", signal.SIGINT)

    def sweep_signal(self, kind: str, signal_: int) -> None:
        name = self.new(kind)
        code, said = self.zygote.hit(*self.sweep_argv(name), signal_=signal_, at=self.moment(self.sweep_calls))
        assert code in (0, 130, -signal_), said
        if (self.folder / name / "experiment.json").exists():
            found = load_sweep(self.folder / name)  # a point that is there is right, and no other is
            there = ~found["failed"].values
            self.seen["(points there after a signal)"] += int(there.sum())
            known = self.whole_sweep["final.log_loss"].values
            np.testing.assert_array_equal(found["final.log_loss"].values[there], known[there])
            assert set(found["outcome"].values[~there]) <= {"waiting"}
        code, said = self.sweep(name)
        assert code == 0, said
        assert_same(load_sweep(self.folder / name), self.whole_sweep)
        assert leftovers(self.folder / name) == []

    def sweep_sigkill(self):
        self.sweep_signal("sweep SIGKILL", signal.SIGKILL)

    def sweep_sigint(self):
        self.sweep_signal("sweep SIGINT", signal.SIGINT)

    def reproduce_signal(self, kind: str, signal_: int) -> None:
        name = self.new(kind)
        fresh = []
        if self.rng.random() < 0.5:  # into a folder that is there already
            assert self.reproduce(name)[0] == 0
            fresh = ["--fresh"]
        argv = self.reproduce_argv(name, *fresh)
        code, said = self.zygote.hit(*argv, signal_=signal_, at=self.moment(self.figure_calls))
        assert code in (0, 130, -signal_), said
        folder = self.folder / name / FIGURE
        if (folder / "numbers.zarr").exists():
            assert _figures.load_numbers(folder / "numbers.zarr").equals(self.numbers)
        code, said = self.reproduce(name)
        assert code == 0 and announced(said)["ok"]
        assert _figures.load_numbers(folder / "numbers.zarr").equals(self.numbers)
        made = self.folder / "made" / FIGURE
        assert sorted(p.name for p in folder.iterdir() if not p.name.endswith(".part")) == sorted(os.listdir(made))
        facts = [json.loads((where / "facts.json").read_text())["facts"] for where in (folder, made)]
        assert facts[0] == facts[1]
        if not fresh:
            assert self.reproduce(name, "--fresh")[0] == 0  # a save clears what was left
            assert leftovers(folder) == []

    def reproduce_sigkill(self):
        self.reproduce_signal("reproduce SIGKILL", signal.SIGKILL)

    def reproduce_sigint(self):
        self.reproduce_signal("reproduce SIGINT", signal.SIGINT)

    def explore_signal(self, kind: str, signal_: int) -> None:
        """The page's server, in the middle of a run and of its checks: it ends, and so does whatever it has started."""
        self.new(kind)
        (pid,) = self.zygote.start({"argv": ["explore", "--no-open"]})
        began, address = time.monotonic(), ""
        while not address and time.monotonic() - began < 600:
            words = self.zygote.outs[0].read_text().split() if self.zygote.outs[0].exists() else []
            address = next((w for w in words if w.startswith("http://")), "")
            time.sleep(0.02)
        tables = rf.Experiment.from_toml(self.file).to_dict()
        tables = {name: tables[name] for name in ("data", "init", "problem", "method")} | {"solve": {"t1": 20.0}}
        with psutil.Process(pid).oneshot():
            server = psutil.Process(pid)
        asked = [post(address + "api/judge", tables), post(address + "api/solve", tables)]
        time.sleep(self.rng.uniform(0.0, 1.5))
        family = server.children(recursive=True)
        self.seen["(judges at work)"] += len(family)
        os.kill(pid, signal_)
        (code,), (said,) = self.zygote.end()
        for one in asked:
            one.kill()
            one.wait()
        assert code in (0, 130, -signal_), said
        assert "Traceback" not in said
        _, alive = psutil.wait_procs(family, timeout=300)
        assert not alive, "what a server has started ends with it"

    def explore_sigkill(self):
        self.explore_signal("explore SIGKILL", signal.SIGKILL)

    def explore_sigint(self):
        self.explore_signal("explore SIGINT", signal.SIGINT)

    # Disks ------------------------------------------------------------------------------------------------------------

    def full_disk(self):
        name = self.new("full disk")
        disk = self.folder / name
        disk.mkdir()
        size = self.rng.randrange(16, 700)
        with mounted(disk, f"size={size}k"):
            code, said = self.zygote.do("run", self.quick, "--out", disk / "run", "--json")
            if code == 0:
                self.count("disk large enough for the run")
                rf.load(disk / "run")
            else:
                assert code == 2 and "no space left" in sentence(said)
                assert os.listdir(disk) == []
            before = os.listdir(disk)
            code, said = self.sweep(f"{name}/sweep")
            if code == 0:
                assert_same(load_sweep(disk / "sweep"), self.whole_sweep)
            else:
                assert code == 2 and ("could not be" in said or "free disk space" in said), said
                assert "Traceback" not in said
                assert leftovers(disk) == []
                if before:
                    subprocess.run(["rm", "-r", str(disk / "run")], check=True)
                subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
                assert self.sweep(f"{name}/sweep")[0] == 0
                assert_same(load_sweep(disk / "sweep"), self.whole_sweep)

    def read_only(self):
        name = self.new("read-only folder")
        disk = self.folder / name
        disk.mkdir()
        with mounted(disk, "size=1m,ro"):
            for argv in (
                ("run", self.quick, "--out", disk / "run"),
                ("sweep", self.quick, "--workers", "0", "--out", disk / "sweep"),
                ("reproduce", FIGURE, "--out", disk / "figure"),
            ):
                code, said = self.zygote.do(*argv, "--json")
                assert code == 2, (argv, said)
                sentence(said)
            assert os.listdir(disk) == []

    # Company ----------------------------------------------------------------------------------------------------------

    def two_runs(self):
        out = self.folder / "company" / self.new("two processes, one run")
        argv = ["run", str(self.quick), "--out", str(out), "--json"]
        self.zygote.start({"argv": argv}, {"argv": argv})
        codes, said = self.zygote.end()
        assert sorted(codes) == [0, 2], said
        assert "choose another" in sentence(said[codes.index(2)])
        rf.load(out)
        assert leftovers(out.parent) == []

    def two_sweeps(self):
        name = self.new("two processes, one sweep")
        argv = ["sweep", str(self.quick), "--workers", "0", "--out", str(self.folder / name), "--resume", "--json"]
        self.zygote.start({"argv": argv}, {"argv": argv})
        codes, said = self.zygote.end()
        assert 0 in codes and set(codes) <= {0, 2}
        for code, text in zip(codes, said):
            if code == 2:
                assert "must be written by one sweep at a time" in sentence(text)
        assert_same(load_sweep(self.folder / name), self.whole_sweep)

    def two_figures(self):
        name = self.new("two processes, one figure")
        argv = ["reproduce", FIGURE, "--no-film", "--out", str(self.folder / name), "--json"]
        self.zygote.start({"argv": argv}, {"argv": argv})
        codes, said = self.zygote.end()
        assert 0 in codes, said
        assert self.reproduce(name)[0] == 0
        found = _figures.load_numbers(self.folder / name / FIGURE / "numbers.zarr")
        assert found.equals(self.numbers)

    # Budgets and clocks -----------------------------------------------------------------------------------------------

    def memory(self):
        """So much address space, and no more: enough, or refused; never half."""
        out = self.folder / "budgets" / self.new("memory")
        size = int(psutil.Process(self.zygote.process.pid).memory_info().vms + self.rng.uniform(0.0, 400e6))
        code, said = self.zygote.do(
            "run", self.quick, "--out", out, "--json", "--set", "init.width=4000", limit={"RLIMIT_AS": size}
        )
        if code == 0:
            self.count("memory enough")
            assert rf.load(out).problem.init.width == 4000
        else:
            assert code == 2 and "Traceback" not in said and said.count("\n") == 1, said
            assert not out.exists() and (not out.parent.exists() or leftovers(out.parent) == []), said

    def clock(self):
        """Clocks jump: the same bits, in time."""
        name = self.new("clock jumps")
        seed = self.rng.randrange(10**6)
        code, said = self.zygote.do("run", self.file, "--out", self.folder / name, "--json", clock=seed)
        assert code == 0, said
        same_run(rf.load(self.folder / name), self.whole)
        assert self.sweep(f"{name} sweep", clock=seed)[0] == 0
        assert_same(load_sweep(self.folder / f"{name} sweep"), self.whole_sweep)


POST = """
import json, sys, urllib.request
body = json.dumps({"page": "p", "number": 1, "experiment": json.loads(sys.argv[2])}).encode()
head = {"Content-Type": "application/json", "Origin": sys.argv[1].split("/api")[0]}
urllib.request.urlopen(urllib.request.Request(sys.argv[1], body, head), timeout=30).read()
"""


def post(address: str, tables: dict) -> subprocess.Popen:
    """A page's request, in a process of its own, its answer thrown away."""
    command = [sys.executable, "-c", POST, address, json.dumps(tables)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def rounds(tmp_path_factory):
    made = Rounds(tmp_path_factory.mktemp("faults"))
    yield made
    made.zygote.close()


EACH = {
    "run_sigkill": 40, "run_sigint": 30, "sweep_sigkill": 25, "sweep_sigint": 25, "reproduce_sigkill": 15,
    "reproduce_sigint": 10, "explore_sigkill": 8, "explore_sigint": 8, "full_disk": 20, "read_only": 2, "two_runs": 6,
    "two_sweeps": 6, "two_figures": 4, "memory": 10, "clock": 6,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["run_sigkill", "run_sigint", "sweep_sigkill", "full_disk", "two_runs", "clock"])
def test_a_fault_loses_nothing_announced_and_nothing_corrupt_loads(rounds, kind):
    getattr(rounds, kind)()


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", list(EACH))
def test_two_hundred_faults_lose_nothing_announced_and_nothing_corrupt_loads(rounds, kind):
    before = Counter(rounds.seen)
    for _ in range(EACH[kind]):
        getattr(rounds, kind)()
    found = dict(rounds.seen - before)
    print(found)
    if kind == "run_sigkill":
        assert found["(runs absent)"] > 0 and found["(runs announced)"] > 0, "the kills all fell beside"


def test_there_are_two_hundred_rounds():
    assert sum(EACH.values()) >= 200
