"""The parent's side of `judge`: starts it, hands it the newest job, ends it when it does not come back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys

from reluflow.explorer.judge import BUDGET

PATIENCE = BUDGET + 8.0  # seconds for one job, its own run included
START = 30.0  # seconds more for a process that has still to start
LINE = 4 * 2**20


class Court:
    """One judge process, started when first needed; a new job makes it drop the old one."""

    def __init__(self):
        self.process: asyncio.subprocess.Process | None = None
        self.job = 0
        self.page: str | None = None  # whose job is being judged
        self.turn = asyncio.Lock()

    async def ask(self, experiment: dict, page: str):
        """Findings about an experiment as they come; ends early when a newer job has been asked."""
        self.job += 1
        mine, self.page = self.job, page
        fresh = self.process is None or self.process.returncode is not None
        process = await self._send(mine, experiment)
        async with self.turn:
            if mine != self.job or process is not self.process:
                return
            assert process.stdout is not None
            ends = asyncio.get_running_loop().time() + PATIENCE + (START if fresh else 0.0)
            while True:
                left = ends - asyncio.get_running_loop().time()
                try:
                    line = await asyncio.wait_for(process.stdout.readline(), max(left, 0.01))
                except (TimeoutError, ValueError):
                    await self.stop()
                    yield {"failed": "The checks took too long."}
                    return
                if not line:
                    self.process = None
                    yield {"failed": "The checks stopped unexpectedly."}
                    return
                found = json.loads(line)
                if mine != self.job:
                    return
                if found.pop("job") != mine:
                    continue
                yield found
                if "done" in found:
                    self.page = None
                    return

    async def drop(self, page: str) -> None:
        """Ends the job of a page that has moved on: while a slider moves, no core is spent on theorems."""
        if page == self.page:
            self.page, self.job = None, self.job + 1
            await self._send(self.job, None)

    async def _send(self, number: int, experiment: dict | None) -> asyncio.subprocess.Process:
        if self.process is None or self.process.returncode is not None:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "reluflow.explorer.judge",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=LINE,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
        text = json.dumps({"job": number, "experiment": experiment}) + "\n"
        assert self.process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self.process.stdin.write(text.encode())
            await self.process.stdin.drain()
        return self.process

    async def stop(self):
        """Ends the judge; the next job starts another."""
        process, self.process = self.process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
