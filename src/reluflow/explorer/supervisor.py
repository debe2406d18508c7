"""Runs the worker process: gives it the jobs of the pages in turn, keeps its findings, restarts it when it dies.

Findings are kept by experiment, so that a second visit, or a second page with the same experiment, reads the same
verdicts at once. A page has at most one job; a newer one replaces it, and the jobs of other pages wait instead of being
dropped.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections import OrderedDict

KEPT = 64  # experiments whose findings are kept
SILENCE = 120.0  # seconds without a finding after which the worker is restarted
LINE = 4 * 2**20


class Findings:
    """What is known about one experiment so far."""

    def __init__(self):
        self.lines: list[dict] = []  # in order, `known` once
        self.complete = False

    def add(self, found: dict) -> bool:
        """Keeps a finding; False for one that is there already."""
        (kind,) = found
        if kind == "check":
            if found["check"]["name"] in self.names():
                return False
        elif any(kind in line for line in self.lines):
            return False
        self.lines.append(found)
        return True

    def names(self) -> set[str]:
        return {line["check"]["name"] for line in self.lines if "check" in line}


class Supervisor:
    """One worker process, started when first needed."""

    def __init__(self):
        self.process: asyncio.subprocess.Process | None = None
        self.kept: OrderedDict[str, Findings] = OrderedDict()
        self.jobs: dict[str, int] = {}  # the job of each page
        self.count = 0
        self.running: int | None = None
        self.turn = asyncio.Lock()

    async def ask(self, key: str, experiment: dict, page: str):
        """Findings about an experiment: those known at once, the others as they come; ends early when replaced."""
        await self.drop(page)
        self.count += 1
        mine = self.jobs[page] = self.count
        known = self.kept.setdefault(key, Findings())
        self.kept.move_to_end(key)
        while len(self.kept) > KEPT:
            self.kept.popitem(last=False)
        sent = 0
        for found in known.lines:
            sent += 1
            yield found
        if not known.complete:
            async with self.turn:
                while sent < len(known.lines):  # what another page's job has found meanwhile
                    sent += 1
                    yield known.lines[sent - 1]
                if not known.complete and self.jobs.get(page) == mine:
                    async with contextlib.aclosing(self._work(mine, page, experiment, known)) as found_now:
                        async for found in found_now:
                            yield found
        if known.complete and self.jobs.get(page) == mine:
            yield {"done": True}

    async def _work(self, mine: int, page: str, experiment: dict, known: Findings):
        tries = 0
        self.running = mine
        try:
            while tries < 2:
                process = await self._send(mine, experiment, sorted(known.names()))
                assert process.stdout is not None
                while True:
                    try:
                        line = await asyncio.wait_for(process.stdout.readline(), SILENCE)
                    except (TimeoutError, ValueError):
                        line = b""
                    if self.jobs.get(page) != mine:
                        return
                    if not line:  # it died, or is stuck: once more, then give up
                        await self.stop()
                        tries += 1
                        break
                    found = json.loads(line)
                    if found.pop("job") != mine:
                        continue
                    if "done" in found:
                        known.complete = True
                        return
                    if "failed" in found:
                        yield found
                        return
                    if known.add(found):
                        yield found
            yield {"failed": "The checks stopped unexpectedly: choose the experiment again to go on with them."}
        finally:
            self.running = None

    async def drop(self, page: str) -> None:
        """Ends the job of a page that shows something else now; what was found is kept."""
        mine = self.jobs.pop(page, None)
        if mine is not None and mine == self.running and self.process is not None:
            await self._write({"job": -mine, "experiment": None})

    async def _send(self, number: int, experiment: dict, skip: list[str]) -> asyncio.subprocess.Process:
        if self.process is None or self.process.returncode is not None:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "reluflow.explorer.worker",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=LINE,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
        await self._write({"job": number, "experiment": experiment, "skip": skip})
        return self.process

    async def _write(self, job: dict) -> None:
        if self.process is not None and self.process.stdin is not None:
            with contextlib.suppress(ConnectionError):
                self.process.stdin.write((json.dumps(job) + "\n").encode())
                await self.process.stdin.drain()

    async def stop(self) -> None:
        """Ends the worker; the next job starts another."""
        process, self.process = self.process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
