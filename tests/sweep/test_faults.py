"""Killed workers, a killed driver, points that kill their worker: the sweep goes on, and ends in the same dataset."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from support.sweeps import KEEP, assert_same, experiment

from reluflow.sweep import load, sweep


@pytest.fixture(scope="module")
def scheduler():
    """A Dask scheduler and two workers in other processes, on loopback."""
    command = [sys.executable, "-m", "reluflow.sweep.cluster", "2"]
    where = os.pathsep.join(p or os.getcwd() for p in sys.path)
    env = os.environ | {"PYTHONPATH": where}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    yield json.loads(process.stdout.readline())["address"]
    process.stdin.close()
    process.wait(timeout=300)
    process.stdout.close()


def test_a_scheduler_in_another_process_serves_the_same_sweep_by_address(scheduler, tmp_path):
    over = {"init.log_scale": [-4.0, -9.0], "init.seed": range(20)}
    here = sweep(experiment(), over, KEEP, workers=0)
    seen = []
    there = sweep(experiment(), over, KEEP, scheduler=scheduler, store=tmp_path / "s", progress=seen.append)
    assert_same(there, here)
    assert_same(load(tmp_path / "s"), here)
    assert seen[-1].done == seen[-1].total == 40
    assert seen[-1].workers == 2
    assert seen[-1].rate > 0 and seen[-1].left == 0.0


def test_a_hundredth_of_poisoned_points_are_named_and_cost_nothing_else(scheduler):
    # NaN data, an impossible tolerance, a run of 6e13 iterations: 3 of 300 points. Seed 0 switches at a boundary all
    # the time, so descent cannot leap, and meets its limit of steps.
    n, step = 300, 0.5
    over = {
        "init.seed": [0 if k == 141 else k for k in range(n)],
        "data.y3": [np.nan if k == 40 else -0.3 for k in range(n)],
        "method.kind": ["flow" if k == 222 else "descent" for k in range(n)],
        "method.rtol": [1e-30 if k == 222 else None for k in range(n)],
        "method.step": [None if k == 222 else 1e-12 if k == 141 else step for k in range(n)],
    }
    run = experiment(method__kind="descent", method__step=step, init__log_scale=-1.0, solve__limits__steps=100_000)
    ds = sweep(run, over, ["final.log_loss"], design="list", scheduler=scheduler)
    assert np.flatnonzero(ds["failed"]).tolist() == [40, 141, 222]
    assert "`data.y3` must hold finite numbers, got nan" in str(ds["reason"].values[40])
    assert "step limit" in str(ds["reason"].values[141])
    assert "`rtol` must be in [1e-13, 1e-2], got 1e-30" in str(ds["reason"].values[222])
    good = ds.isel(point=~ds["failed"].values)
    assert set(good["outcome"].values) <= {"reached", "stationary"}
    assert np.isfinite(good["final.log_loss"]).all()


def test_a_point_that_kills_its_worker_is_found_and_the_rest_goes_on(tmp_path, monkeypatch):
    # As the kernel's out-of-memory killer would, or a crash in compiled code: no exception, no goodbye.
    (tmp_path / "deadly.py").write_text(
        "import os, signal\n\n"
        "def quantity(sol):\n"
        "    if sol.experiment['init.seed'] == 3:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return 1.0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    ds = sweep(experiment(), {"init.seed": range(6)}, ["deadly:quantity"], workers=2, progress=seen.append)
    assert ds["failed"].values.tolist() == [False] * 3 + [True] + [False] * 2
    assert "Its worker died each time it was tried" in str(ds["reason"].values[3])
    assert ds["outcome"].values[3] == "lost"
    assert seen[-1].failed == 1


HUNG = """
import re
from reluflow.sweep import point
with point._budget(0.3, None):
    re.findall("(a+)+b", "a" * 64)
"""


def test_compiled_code_that_holds_the_interpreter_is_ended_with_its_process():
    done = subprocess.run([sys.executable, "-c", HUNG], check=False, timeout=600)
    assert done.returncode == 1
    quick = HUNG.replace("64", "4").replace("0.3", "300")
    assert subprocess.run([sys.executable, "-c", quick], check=False, timeout=600).returncode == 0


@pytest.mark.exhaustive
def test_a_point_that_no_limit_can_stop_is_ended_with_its_worker(tmp_path, monkeypatch):
    (tmp_path / "endless.py").write_text(
        "import re\n\n"
        "def quantity(sol):\n"
        "    return 0.0 if sol.experiment['init.seed'] else len(re.findall('(a+)+b', 'a' * 64))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    ds = sweep(experiment(), {"init.seed": range(3)}, ["endless:quantity"], workers=2, seconds=1.0)
    assert ds["failed"].values.tolist() == [True, False, False]
    assert "not finished long after its limit of 1 s" in str(ds["reason"].values[0])


# Signals --------------------------------------------------------------------------------------------------------------

TOML = """
[data]
kind = "five_points"
[init]
kind = "balanced"
width = 12
[method]
rtol = 1e-6
[solve]
t1 = 200.0
[sweep]
keep = ["final.log_loss", "final.log_moved", "events.count", "phases.count", "log_loss"]
[sweep.over]
"init.log_scale" = [-5.0, -7.0, -9.0, -11.0]
"init.seed" = {seeds}
"""


def start(file, out) -> subprocess.Popen:
    command = [sys.executable, "-m", "reluflow", "sweep", str(file), "--out", str(out), "--resume", "--workers", "2"]
    with open(f"{out}.log", "a") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def family(process: subprocess.Popen) -> list[psutil.Process]:
    """The scheduler, the workers and their helpers: everything the driver has started."""
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def kill(process: psutil.Process) -> None:
    try:
        process.send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        pass


def punish(file, out, rng, *, workers: int, drivers: int) -> int:
    """SIGKILL at random moments to random workers (or their scheduler), and to the driver; then a run to the end."""
    kills = 0
    for last in [False] * drivers + [True]:
        process = start(file, out)
        try:
            began, hits = time.monotonic(), 0
            while len(family(process)) < 3 and process.poll() is None and time.monotonic() - began < 30:
                time.sleep(0.05)
            while process.poll() is None and (hits < workers or last):
                if hits < workers:
                    time.sleep(rng.uniform(0.3, 2.0))
                    victims = family(process)
                    if victims:
                        kill(victims[rng.integers(len(victims))])
                        hits += 1
                else:
                    process.wait(timeout=300)
            if not last:
                time.sleep(rng.uniform(0.0, 1.5))
            kills += hits
        finally:
            orphans = family(process)
            if process.poll() is None:
                process.kill()
                kills += 1
            code = process.wait()
            _, alive = psutil.wait_procs(orphans, timeout=90)
        assert not alive, "the scheduler and its workers end with the driver, however it ends"
        with open(f"{out}.log") as log:
            assert code == 0 or not last, log.read()
    return kills


def survive(tmp_path, rounds: int, seeds: int, workers: int, drivers: int):
    from reluflow.experiment import Experiment

    file = tmp_path / "kill.toml"
    file.write_text(TOML.format(seeds=list(range(seeds))))
    reference = sweep(Experiment.from_toml(file), workers=0)
    rng = np.random.default_rng(20)
    for k in range(rounds):
        kills = punish(file, tmp_path / f"round{k}", rng, workers=workers, drivers=drivers)
        assert kills >= 1
        found = load(tmp_path / f"round{k}")
        assert not found["failed"].any(), set(found["reason"].values.ravel().tolist())
        assert_same(found, reference)


# One round of every fault apart is in the default tier: a killed driver in tests/trust, a killed worker above.
@pytest.mark.exhaustive
def test_sigkill_of_workers_and_driver_costs_no_point_and_no_bit(tmp_path):
    survive(tmp_path, rounds=1, seeds=12, workers=1, drivers=1)


@pytest.mark.exhaustive
def test_ten_rounds_of_sigkill_cost_no_point_and_no_bit(tmp_path):
    survive(tmp_path, rounds=10, seeds=60, workers=3, drivers=2)
