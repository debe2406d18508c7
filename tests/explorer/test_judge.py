"""Phases, norms and theorems: the same as in Python, within their time, and never the end of the server."""

import asyncio
import json
import time

import pytest

import reluflow as rf
from reluflow.explorer import judge, spec
from reluflow.explorer.court import Court
from reluflow.explorer.presets import PRESETS

TWO = spec.experiment(PRESETS[0]["experiment"])


def test_findings_are_what_python_finds():
    found = list(judge.findings({"experiment": TWO.to_dict()}, lambda: False))
    sol = TWO.run()
    phases = next(f["phases"] for f in found if "phases" in f)
    assert [p["kind"] for p in phases] == [p.kind for p in sol.phases()]
    norm = next(f["norm"] for f in found if "norm" in f)
    assert norm["final"] == pytest.approx(2.6832816, rel=1e-6)
    assert norm["least"] == pytest.approx(rf.bias.min_norm(sol.problem.data).value)
    reports = [f["check"] for f in found if "check" in f and "claims" in f["check"]]
    assert reports and found[-1] == {"done": True}
    for report in reports[:3]:
        assert report == json.loads(json.dumps(rf.check(report["name"], sol).to_dict(), default=str))


def test_a_check_that_takes_too_long_or_fails_is_a_finding(monkeypatch):
    class Entry:
        name, title, needs = "slow.theorem", "Slow.", "solution"

    def slow(name, sol):
        time.sleep(30)

    def broken(name, sol):
        raise ZeroDivisionError("no")

    monkeypatch.setattr(rf, "check", slow)
    began = time.monotonic()
    assert "more than" in judge.judged(Entry, None, 0.2)["missing"]
    assert time.monotonic() - began < 5
    monkeypatch.setattr(rf, "check", broken)
    assert judge.judged(Entry, None, 1.0)["missing"] == "no"


def test_a_newer_job_ends_an_older_one_and_a_killed_judge_is_replaced():
    other = spec.experiment({**PRESETS[0]["experiment"], "init": {"kind": "balanced", "width": 8, "log_scale": -9.0}})

    async def scene():
        court = Court()

        async def take(experiment, into):
            async for finding in court.ask(experiment.to_dict(), "p"):
                into.append(finding)

        try:
            old, new = [], []
            first = asyncio.create_task(take(TWO, old))
            await asyncio.sleep(0.2)
            await take(other, new)
            await first
            assert not any("done" in f for f in old) and any("done" in f for f in new)
            court.process.kill()
            await court.process.wait()
            again = []
            await take(other, again)
            assert any("done" in f for f in again)
        finally:
            await court.stop()

    asyncio.run(scene())


def test_a_page_that_moves_on_ends_its_own_judgement_and_no_other():
    async def tried():
        court, found = Court(), []
        try:
            async for finding in court.ask(TWO.to_dict(), "mine"):
                found.append(finding)
                if len(found) == 1:
                    await court.drop("another")
                    assert court.page == "mine"
                if len(found) == 2:
                    await court.drop("mine")
            after = [finding async for finding in court.ask(TWO.to_dict(), "mine")]
        finally:
            await court.stop()
        return found, after

    found, after = asyncio.run(tried())
    assert len(found) == 2 and "done" not in found[-1]
    assert after[-1] == {"done": True}  # the judge lives, and nothing of the dropped job is in its way
    assert "phases" in after[0]
