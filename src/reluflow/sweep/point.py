"""The code of a worker: the points of one task in turn. A failed point records its reason; the others continue.

A task is JSON text and its result the bytes of an `.npz` file, so nothing here is pickled:

    point, failed, outcome, reason, seconds      one entry per point; `seconds` is its wall time
    v:NAME                                       the kept quantity, NaN (or "") where the point failed
    about                                        JSON: dimensions of each quantity, versions

Budgets apply to each point. Time is limited by `solve` (`Limits(seconds=...)`); a point that exceeds PATIENCE times its
limit elsewhere, in a check or a kept quantity, ends its worker, because compiled code cannot be interrupted otherwise.
Memory beyond the worker's limit is refused by the operating system and becomes a MemoryError.
"""

import faulthandler
import hashlib
import io
import json
import os
import time
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

import reluflow as rf
from reluflow.experiment import Experiment
from reluflow.methods import as_bytes
from reluflow.outcome import Outcome, SolveError
from reluflow.store import versions
from reluflow.sweep import keep

SEAL = 64  # hexadecimal digits
PATIENCE = 3.0
GRACE = 10.0  # seconds, on top


def run_task(text: str) -> bytes:
    """Runs the points of a task, given as `driver.Run.text` writes it."""
    task = json.loads(text)
    base = Experiment.from_dict(task["experiment"], folder=task["folder"])
    usual = base["method.kind"]
    for kind in sorted({str(values.get("method.kind", usual)) for _, values in task["points"]}):
        _warm(kind)
    return pack([(index, *run_point(base, task, values)) for index, values in task["points"]])


@lru_cache
def _warm(kind: str) -> None:
    """Loads or compiles the kernels once per process, so that this does not count towards a point's budget."""
    methods: dict[str, Any] = {"flow": rf.Flow(), "descent": rf.Descent(step=0.1)}
    if kind in methods:
        rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(2, 2)), methods[kind], t1=1.0)


def run_point(base: Experiment, task: dict, values: dict) -> tuple[str, str, float, dict]:
    """Outcome, reason ("" if all went well), seconds, and the kept quantities of one point."""
    began = time.perf_counter()
    outcome, reason, kept = "failed", "", {}
    try:
        with _budget(task["patience"] if task["hard"] else None, task["memory"]):
            outcome, reason, kept = _compute(base, task, values)
    except MemoryError:
        reason = f"Out of memory: it needs more than {task['memory'] or 'the machine has'}."
    except Exception as error:
        reason = _sentence(error)
        outcome = _outcome(error) or outcome
    return outcome, reason, time.perf_counter() - began, kept


def _compute(base: Experiment, task: dict, values: dict):
    experiment = base.changed(values)
    if task["seconds"] is not None:
        experiment = experiment.changed(_limit(experiment, task["seconds"]))
    sol = experiment.run()
    if sol.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt  # meant for the sweep: an incomplete point is not a result
    kept = keep.measure(task["keep"], sol)
    reason = "" if sol.outcome.success else sol.outcome.value
    return sol.outcome.name.lower(), reason, kept


def _limit(experiment, seconds: float) -> dict:
    """`solve.limits.seconds`, and no other limit than the experiment has."""
    limits = experiment["solve"].get("limits")
    if limits:
        return {"solve.limits.seconds": min(seconds, limits.get("seconds") or seconds)}
    steps = {"solve.limits.steps": 10**15} if experiment["method.kind"] == "descent" else {}
    return {"solve.limits.seconds": seconds, **steps}


def _sentence(error: BaseException) -> str:
    """An error on one line; expected errors are sentences already."""
    text = " ".join(str(error).split()) or "no message"
    foreseen = isinstance(error, ValueError | SolveError | OSError | TypeError)
    return text if foreseen else f"{type(error).__name__}: {text}"


def _outcome(error: BaseException) -> str:
    solution = getattr(error, "solution", None)
    return "" if solution is None else solution.outcome.name.lower()


# Budgets --------------------------------------------------------------------------------------------------------------


@contextmanager
def _budget(patience: float | None, memory: str | None):
    with _at_most(memory):
        if patience is None:
            yield
            return
        with open(os.devnull, "w") as nowhere:
            faulthandler.dump_traceback_later(patience, exit=True, file=nowhere)
            try:
                yield
            finally:
                faulthandler.cancel_dump_traceback_later()


@contextmanager
def _at_most(memory: str | None):
    """Limits the growth of this process to `memory`, where the system supports it (not on Windows)."""
    if memory is None:
        yield
        return
    try:
        import resource
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _data_bytes() + size(memory)
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data_bytes() -> int:
    """What counts towards RLIMIT_DATA now: private writable memory."""
    try:
        with open("/proc/self/status") as lines:
            for line in lines:
                if line.startswith("VmData:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def size(memory: str) -> int:
    """ "2 GiB" in bytes."""
    return as_bytes(memory)


# Bytes ----------------------------------------------------------------------------------------------------------------


def pack(rows: list[tuple[int, str, str, float, dict]]) -> bytes:
    """Rows (index, outcome, reason, seconds, quantities) as an `.npz`; quantities of unlike shapes padded with NaN."""
    arrays: dict[str, Any] = {
        "point": np.array([r[0] for r in rows], np.int64),
        "failed": np.array([bool(r[2]) for r in rows]),
        "outcome": np.array([r[1] for r in rows]),
        "reason": np.array([r[2] for r in rows]),
        "seconds": np.array([r[3] for r in rows]),
    }
    dims = {}
    for name in dict.fromkeys(name for r in rows for name in r[4]):
        cells = [r[4].get(name) for r in rows]
        first = next(c for c in cells if c is not None)
        dims[name] = list(first[0])
        values = [None if c is None else c[1] for c in cells]
        arrays[f"v:{name}"] = _texts(values) if isinstance(first[1], str) else padded(values)
    arrays["about"] = np.array(json.dumps({"dims": dims, "versions": _versions()}))
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return _sealed(buffer.getvalue())


@lru_cache
def _versions() -> dict[str, str]:
    return versions()


def _sealed(archive: bytes) -> bytes:
    """The archive with the SHA-256 of its content as zip comment: zip's own checksums do not cover its headers."""
    head = archive[:-2]  # an archive without comment ends in the comment's length, 0
    return head + SEAL.to_bytes(2, "little") + hashlib.sha256(head).hexdigest().encode()


def unpack(content: bytes) -> dict[str, Any]:
    """The arrays of a task's result; any damage raises ValueError."""
    try:
        if _sealed(content[: -SEAL - 2] + bytes(2)) != content:
            raise ValueError("checksum")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
        return found | {"about": json.loads(str(found["about"]))}
    except Exception as error:  # whatever is raised, the file is damaged
        raise ValueError(f"damaged ({type(error).__name__})") from None


def _texts(values: list) -> np.ndarray:
    return np.array(["" if v is None else str(v) for v in values])


def padded(values: list) -> np.ndarray:
    """Arrays of equal dimension stacked into one, padded with NaN."""
    arrays = [None if v is None else np.asarray(v, float) for v in values]
    shape = np.max([a.shape for a in arrays if a is not None], axis=0).astype(int)
    full = np.full((len(arrays), *shape), np.nan)
    for k, a in enumerate(arrays):
        if a is not None:
            where: Any = (k, *(slice(0, n) for n in a.shape))
            full[where] = a
    return full
