"""Phases, norms and theorems: the same as in Python, complete whatever the load, and never the end of the server."""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import reluflow as rf
from reluflow.explorer import request, worker
from reluflow.explorer.presets import PRESETS
from reluflow.explorer.supervisor import Supervisor

TWO = request.experiment(PRESETS[0]["experiment"])


def finished(scene):
    """The result of a coroutine, in a thread of its own: the browser's tests keep a loop running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, scene).result()


def small(seed):
    init = {"kind": "balanced", "width": 8, "log_scale": -9.0, "seed": seed}
    return request.experiment({**PRESETS[0]["experiment"], "init": init})


def test_findings_are_what_python_finds():
    found = list(worker.findings({"experiment": TWO.to_dict()}, lambda: False))
    sol = TWO.run()
    phases = next(f["phases"] for f in found if "phases" in f)
    assert [p["kind"] for p in phases] == [p.kind for p in sol.phases()]
    norm = next(f["norm"] for f in found if "norm" in f)
    assert norm["final"] == pytest.approx(2.6832816, rel=1e-6)
    assert norm["least"] == pytest.approx(rf.bias.min_norm(sol.problem.data).value)
    checks = [f["check"] for f in found if "check" in f]
    known = next(f["known"] for f in found if "known" in f)
    assert [c["name"] for c in checks] == [k["name"] for k in known] and found[-1] == {"done": True}
    assert not any("unfinished" in c for c in checks)
    for report in [c for c in checks if "claims" in c][:3]:
        assert report == json.loads(json.dumps(rf.check(report["name"], sol).to_dict(), default=str))
    # Checks that are known already are left out.
    again = list(worker.checks(sol, lambda: False, frozenset(c["name"] for c in checks[3:])))
    assert [f["check"]["name"] for f in again if "check" in f] == [c["name"] for c in checks[:3]]


def test_the_limit_of_a_check_is_processor_time_and_meeting_it_is_not_called_irrelevant(monkeypatch):
    class Entry:
        name, title, needs = "slow.theorem", "Slow.", "solution"

    def busy(name, sol):
        while True:
            pass

    def waiting(name, sol):
        time.sleep(0.6)  # another process has the machine: no processor time passes
        raise ZeroDivisionError("no")

    monkeypatch.setattr(rf, "check", busy)
    found = worker.checked(Entry, None, 0.2)
    assert "0.2 seconds of processor time" in found["unfinished"] and "missing" not in found
    monkeypatch.setattr(rf, "check", waiting)
    assert worker.checked(Entry, None, 0.2)["missing"] == "no"


def test_pages_wait_for_each_other_and_findings_are_kept():
    async def scene():
        supervisor = Supervisor()

        async def take(experiment, page, into):
            async for finding in supervisor.ask(experiment.key, experiment.to_dict(), page):
                into.append(finding)

        try:
            one, two, again = [], [], []
            await asyncio.gather(take(small(0), "one", one), take(small(1), "two", two))
            assert one[-1] == two[-1] == {"done": True} and len(one) > 50
            assert [next(iter(f)) for f in one] == [next(iter(f)) for f in two]
            supervisor.process.kill()
            await supervisor.process.wait()
            await take(small(0), "three", again)  # complete without a worker
            assert again == one
            # A worker that has died is replaced, and goes on with what is missing.
            supervisor.kept[small(0).key].complete = False
            del supervisor.kept[small(0).key].lines[-2:]
            again.clear()
            await take(small(0), "three", again)
            assert sorted(map(json.dumps, again)) == sorted(map(json.dumps, one))
        finally:
            await supervisor.stop()

    finished(scene())


@pytest.mark.exhaustive
def test_a_page_that_moves_on_ends_its_own_checks_and_no_others():
    async def scene():
        supervisor, found = Supervisor(), []
        try:
            async for finding in supervisor.ask(TWO.key, TWO.to_dict(), "mine"):
                found.append(finding)
                if len(found) == 1:
                    await supervisor.drop("another")
                    assert "mine" in supervisor.jobs
                if len(found) == 4:
                    await supervisor.drop("mine")
            after = [finding async for finding in supervisor.ask(TWO.key, TWO.to_dict(), "mine")]
        finally:
            await supervisor.stop()
        return found, after

    found, after = finished(scene())
    assert len(found) <= 6 and "done" not in found[-1]
    assert after[: len(found)] == found  # what was found is kept
    assert after[-1] == {"done": True} and "known" in after[2]
