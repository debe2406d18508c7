"""Where tasks run: in this process, on a local cluster, or on any Dask scheduler by its address.

A pool has `slots` (tasks at one time), `submit(tag, text)` and `finished(timeout)`, which gives (tag, bytes) of tasks
that are done and (tag, Lost) of those that failed to run. The driver writes the files, so workers need no shared
disk.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import Any

from reluflow.sweep.point import run_task

CONNECT = 10.0  # seconds to wait for a scheduler
GONE = "The scheduler is no longer reachable: finished points are kept; start a scheduler and resume."


class Lost:
    """A task that failed to run, and why ("": its workers died); `again` if the task itself is not to blame."""

    def __init__(self, reason: str = "", *, again: bool = False):
        self.reason, self.again = reason, again


class Here:
    """This process, one task after another."""

    slots, dashboard, hard = 1, "", False

    def __init__(self):
        self._waiting: list[tuple[Any, str]] = []

    def submit(self, tag, text: str) -> None:
        self._waiting.append((tag, text))

    def finished(self, timeout: float) -> list[tuple[Any, bytes | Lost]]:
        tag, text = self._waiting.pop(0)
        return [(tag, run_task(text))]

    def close(self) -> None:
        self._waiting.clear()


class Cluster:
    """Workers of a Dask scheduler: one at `address`, or a local one with `workers` processes of one thread each.

    `task` makes bytes of the text of a task."""

    hard = True  # workers may be killed

    def __init__(self, address: str | None = None, workers: int | None = None, task: Callable = run_task):
        try:
            import distributed
        except ImportError:
            raise ImportError(
                "Sweeps on several cores need distributed: install `reluflow[sweep]`, or use `workers=0`."
            ) from None

        self._distributed, self._task = distributed, task
        self._done: queue.Queue = queue.Queue()
        self._futures: dict[Any, Any] = {}
        self._process: Any = None
        self._count, self._seen = 0, (0.0, 1)
        page = ""
        if address is None:
            self._process, said = _local(workers or cores())
            address, page = said["address"], said["dashboard"]
        try:
            self._client = distributed.Client(address, timeout=CONNECT, set_as_default=False)
        except Exception as error:  # any error of the connection or of the address
            self._end()
            why = " ".join(str(error).split()) or type(error).__name__
            raise ConnectionError(
                f"No Dask scheduler answers at `{address}` ({why}): start one with `dask scheduler`."
            ) from None
        self.dashboard = page or _page(self._client)

    @property
    def slots(self) -> int:
        """Number of worker threads now; at least 1, so that a task is ready when the first worker connects."""
        now = time.monotonic()
        if now - self._seen[0] > 1.0:
            with suppress(Exception):  # refreshed every second; a lost scheduler is detected elsewhere
                self._seen = (now, max(1, sum(self._client.nthreads().values())))
        return self._seen[1]

    def submit(self, tag, text: str) -> None:
        self._count += 1
        key = f"reluflow-{os.getpid()}-{id(self):x}-{self._count}"
        with self._or_gone():
            future = self._client.submit(self._task, text, key=key, pure=False)
            self._futures[key] = (future, tag)
            future.add_done_callback(lambda f, key=key: self._done.put(key))

    def finished(self, timeout: float) -> list[tuple[Any, bytes | Lost]]:
        keys = []
        with suppress(queue.Empty):
            keys.append(self._done.get(timeout=timeout))
            while True:
                keys.append(self._done.get_nowait())
        if not keys and not self._there():
            raise ConnectionError(GONE)
        with self._or_gone():
            return [self._result(*self._futures.pop(key)) for key in keys]

    def _there(self) -> bool:
        alive = self._process is None or self._process.poll() is None
        return alive and self._client.status in ("running", "connecting")

    @contextmanager
    def _or_gone(self):
        """Turns any error of a client that lost its scheduler into one kind."""
        try:
            yield
        except ConnectionError:
            raise
        except Exception:
            for _ in range(20):
                if not self._there():
                    raise ConnectionError(GONE) from None
                time.sleep(0.1)
            raise

    def _result(self, future, tag) -> tuple[Any, bytes | Lost]:
        try:
            if future.status == "finished":
                return tag, future.result(timeout=60)
            if future.status == "error":
                return tag, self._lost(future.exception(timeout=60))
        except (OSError, TimeoutError, self._distributed.CancelledError):
            pass  # the worker died between finishing and delivering
        if not self._there():
            raise ConnectionError(GONE)
        return tag, Lost(again=True)

    def _lost(self, error) -> Lost:
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        if isinstance(error, ImportError):
            raise RuntimeError(f"Workers need this version of reluflow ({text}): install it there, then resume.")
        return Lost("" if isinstance(error, self._distributed.KilledWorker) else text)

    def close(self) -> None:
        futures = [future for future, _ in self._futures.values()]
        self._futures.clear()
        if self._process is None:
            with suppress(OSError, TimeoutError):
                if futures and self._client.status == "running":
                    self._client.cancel(futures, force=True)
        with suppress(Exception):  # nothing is left to deliver
            self._client.close(timeout=5)
        self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.stdin.close()
            try:
                self._process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _page(client) -> str:
    """The address of Dask's dashboard, with every worker and task (its plots need bokeh)."""
    try:
        return client.dashboard_link or ""
    except (KeyError, ValueError, OSError, TypeError):
        return ""


def _local(workers: int) -> tuple[subprocess.Popen, dict]:
    """Starts `cluster.py`, which ignores Ctrl-C (the driver handles it) and uses the driver's module path."""
    where = os.pathsep.join([p or os.getcwd() for p in sys.path])
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "reluflow.sweep.cluster", str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=os.environ | {"PYTHONPATH": where, "PYTHONWARNINGS": "ignore"},
            start_new_session=True,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.wait()
            said.seek(0)
            why = said.read().decode(errors="replace").strip().split("\n")[-1]
            raise ConnectionError(f"Workers could not be started here ({why!r}): try `workers=0`, in this process.")
    return process, json.loads(line)
