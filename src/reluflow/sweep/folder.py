"""A sweep on disk: a folder to which files are only added.

    sweep/
        experiment.json                  the sweep's definition: experiment, over, keep, key, versions; written first
        task-0000096-00032.npz           32 points from point 96 on; written to a temporary file, synced, renamed
        task-0000096-00032.retry1.npz    the failed ones among them, repeated
        lock                             held while a sweep writes here

A point is done, and reported, once a file contains it. Nothing is pickled; the dataset is assembled on load.
"""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from reluflow.store import put, versions
from reluflow.sweep import dataset, point
from reluflow.sweep.design import Design

FORMAT = 1
LEFT = re.compile(r"lock|\.experiment\.json\.[0-9a-f]+\.part")
NAME = re.compile(r"task-\d+-\d+(?:\.retry(\d+))?\.npz")


def describe(experiment, design: Design, keep: list[str]) -> dict:
    """The definition of a sweep, as in `experiment.json`; `key` is a hash of everything that determines the results."""
    tables = {k: v for k, v in experiment.to_dict().items() if k != "sweep"}
    about = {"experiment": tables, **design.to_dict(), "keep": list(keep), "files": _files(experiment, design)}
    canonical = json.dumps(_strict(about), sort_keys=True, separators=(",", ":"), allow_nan=False)
    key = hashlib.sha256(canonical.encode()).hexdigest()[:16]
    return {"reluflow": {"format": FORMAT, "what": "sweep"}, "key": key, **about, "versions": versions()}


def _files(experiment, design: Design) -> dict[str, str]:
    """SHA-256 of the data files read, so that changed data make another sweep."""
    paths = [experiment["data"].get("path"), *design.over.get("data.path", [])]
    found = {}
    for name in paths:
        if isinstance(name, str):
            path = Path(name) if experiment.folder is None else experiment.folder / name
            if path.is_file():
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _strict(value):
    """Non-finite numbers as text, which JSON lacks."""
    if isinstance(value, dict):
        return {k: _strict(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_strict(v) for v in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def load(path):
    """The `xarray.Dataset` of a sweep's folder: points without a file are NaN, with an explanation in `reason`."""
    about, tasks = Folder(path).read()
    return dataset.assemble(about, Design(about["over"], about["design"], about["points"], about["seed"]), tasks)


class Folder:
    """Reading and writing one sweep's folder."""

    def __init__(self, path):
        self.path, self._lock = Path(path), None

    # Writing --------------------------------------------------------------------------------------------------------

    def begin(self, about: dict, *, resume: bool) -> list[dict]:
        """Starts or resumes; returns the tasks already done. A changed experiment is an error."""
        self._may_begin(about, resume)
        self.path.mkdir(parents=True, exist_ok=True)
        self.lock()
        self._may_begin(about, resume)  # another sweep may have started and ended before the lock was taken
        for left in self.path.glob(".*.part"):
            left.unlink(missing_ok=True)
        if not (self.path / "experiment.json").exists():
            self._put("experiment.json", json.dumps(about, indent=1).encode())
        return self._tasks(mend=True)

    def _may_begin(self, about: dict, resume: bool) -> None:
        """The folder holds this sweep, to be resumed, or only what a sweep killed at its start left behind."""
        if (self.path / "experiment.json").exists():
            self._same(self._about(), about)
            if not resume:
                raise FileExistsError(
                    f"`{self.path}` already holds this sweep: add `--resume` (`resume=True`) to continue it, "
                    "or choose another folder."
                )
        elif self.path.exists() and (
            not self.path.is_dir() or any(not LEFT.fullmatch(n) for n in os.listdir(self.path))
        ):
            raise FileExistsError(f"`{self.path}` already exists: choose another folder.")

    def _same(self, old: dict, new: dict) -> None:
        if old["key"] == new["key"]:
            was, now = (a["versions"].get("source") for a in (old, new))
            if was != now:
                raise ValueError(
                    f"`{self.path}` was begun by other source code (reluflow {old['versions'].get('reluflow')}, source "
                    f"{was}, now {now}): resume it with that version, or choose another folder."
                )
            return
        flat = [_flat({k: v for k, v in a.items() if k not in ("key", "versions", "reluflow")}) for a in (old, new)]
        keys = [k for k in {**flat[0], **flat[1]} if flat[0].get(k) != flat[1].get(k)]
        name = keys[0].removeprefix("experiment.") if keys else "key"
        was, now = (_short(f.get(keys[0])) if keys else "another" for f in flat)
        raise ValueError(
            f"`{self.path}` holds another sweep, with `{name}` = {was} instead of {now}: choose "
            "another folder, or undo the change."
        )

    def lock(self) -> None:
        """One writer at a time; the system releases the lock of a killed process."""
        try:
            import fcntl
        except ImportError:
            return
        handle = open(self.path / "lock", "a")  # held while the sweep writes
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            raise BlockingIOError(
                f"`{self.path}` is in use: only one sweep at a time may write to it; wait for the other, or stop it."
            ) from None
        self._lock = handle

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def write(self, indices: list[int], content: bytes, attempt: int = 0) -> None:
        """Stores one finished task: on return it is completely on disk; on error nothing is left behind."""
        retry = f".retry{attempt}" if attempt else ""
        self._put(f"task-{indices[0]:07d}-{len(indices):05d}{retry}.npz", content)

    def _put(self, name: str, content: bytes) -> None:
        put(self.path / name, content)

    # Reading --------------------------------------------------------------------------------------------------------

    def read(self) -> tuple[dict, list[dict]]:
        about = self._about()
        return about, self._tasks()

    def _about(self) -> dict:
        file = self.path / "experiment.json"
        if not file.is_file():
            got = "no `experiment.json` in it" if self.path.is_dir() else "nothing there"
            raise FileNotFoundError(f"`{self.path}` is not the folder of a sweep ({got}): give another.")
        try:
            about = json.loads(file.read_bytes())
            mark = about["reluflow"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"`{file}` is damaged: restore a copy, or start again.") from None
        if mark.get("what") != "sweep" or mark.get("format") != FORMAT:
            raise ValueError(f"`{file}` must have format {FORMAT}, got {mark}: install a newer reluflow to read it.")
        return about

    def _tasks(self, mend: bool = False) -> list[dict[str, Any]]:
        """Every task on disk, first attempts first. A damaged file is an error or, with `mend`, moved aside."""
        found = []
        names = [(int(m[1] or 0), m[0]) for m in map(NAME.fullmatch, os.listdir(self.path)) if m]
        for attempt, name in sorted(names):
            try:
                found.append(point.unpack((self.path / name).read_bytes()) | {"attempt": attempt})
            except ValueError as error:
                if not mend:
                    raise ValueError(
                        f"`{self.path / name}` is {error}: `--resume` computes its points again."
                    ) from None
                os.replace(self.path / name, self.path / f"{name}.damaged")
        return found


def _flat(value, prefix: str = "") -> dict:
    if not isinstance(value, dict):
        return {prefix.rstrip("."): _strict(value)}
    return {k: v for name, inner in value.items() for k, v in _flat(inner, f"{prefix}{name}.").items()}


def _short(value) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
