"""Same inputs, same bits: again, in another process, after a save, at any speed, on one worker or several."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.counted import Clock
from support.sweeps import assert_same
from tests.trust.regimes import digest, runs, solved

import reluflow as rf
from reluflow.sweep import sweep

NAMES = list(runs())


@pytest.fixture(scope="module")
def digests():
    """Of runs in another process, with another hash seed."""
    folder = Path(__file__).parents[2]
    env = os.environ | {
        "PYTHONHASHSEED": "12345",
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.trust.regimes"], env=env, cwd=folder, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_a_run_has_the_same_bits_in_another_process_again_and_after_a_save(name, digests, tmp_path):
    sol = solved(name)
    regime = runs()[name][-1]
    assert sol.outcome.success and sol.stats.regimes[regime] > 0, "the run is in the regime it stands for"
    assert digest(sol) == digests[name]
    assert digest(rf.load(sol.save(tmp_path / "run"))) == digests[name]
    assert digest(sol) == digests[name], "looking at a run does not change it"


def test_a_digest_notices_a_tolerance_changed_in_its_last_digit():
    before = digest(solved("coupled"))
    assert digest(solved("coupled")) == before
    problem, method, more, _ = runs()["coupled"]
    assert digest(rf.solve(problem, rf.Flow(method.rtol * (1 + 1e-15)), **more)) != before


class Uneven(Clock):
    """Leaps of up to two minutes, and none at all."""

    def __call__(self) -> float:
        now = super().__call__()
        return now + 120.0 * (self.readings - 1 / (1 + self.readings * 7919 % 13))


CLOCKS = {"fast": Clock(1e-9), "medium": Clock(1e-3), "slow": Clock(1.0), "uneven": Uneven()}


@pytest.mark.parametrize("speed", CLOCKS)
def test_how_fast_the_machine_is_does_not_show_in_a_run(speed, digests, monkeypatch):
    # Bursts are sized by the clock; where they end must make no difference.
    monkeypatch.setattr(time, "perf_counter", CLOCKS[speed])
    for name in NAMES:
        assert digest(solved(name)) == digests[name], name


# Flow at two scales, stepped flow; descent leaping, stepping and in batches.
POINTS = {
    "method": [
        {"kind": "flow", "rtol": 1e-7}, {"kind": "flow", "rtol": 1e-7},
        {"kind": "flow", "rtol": 1e-3, "events": "stepped"},
        {"kind": "descent", "step": 0.01}, {"kind": "descent", "step": 0.01, "fast_forward": False},
        {"kind": "descent", "step": 0.01, "batch": 2},
    ],
    "init.log_scale": [-1.0, -30.0, -1.0, -5.0, -5.0, -1.0],
}  # fmt: skip
KEEP = ["final.log_loss", "final.outputs", "events.count", "stats.steps", "log_loss"]


def points() -> rf.Experiment:
    return rf.Experiment(data={"kind": "five_points"}, init={"kind": "balanced", "width": 8}, solve={"t1": 20.0})


def drawn(workers: int):
    return sweep(points(), POINTS, KEEP, design="list", workers=workers)


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_sweep_has_the_same_bits_here_and_on_any_number_of_workers(workers):
    here = drawn(0)
    assert not here["failed"].any(), here["reason"].values
    assert_same(drawn(workers), here)


def test_whatever_is_kept_says_which_versions_made_it(tmp_path):
    from reluflow.papers import _figures
    from reluflow.store import read_attributes, versions

    now = versions()
    assert {"reluflow", "python", "numpy", "scipy", "numba", "machine", "system"} <= set(now)
    assert read_attributes(solved("coupled").save(tmp_path / "run"))["versions"] == now
    ds = sweep(points(), {"init.seed": [0]}, ["final.log_loss"], workers=0)
    assert json.loads(ds.attrs["versions"]) == [now]
    assert json.loads(_figures.paper("min2024").figures["fig21"].compute().attrs["versions"]) == now
