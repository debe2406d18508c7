"""Runs on disk: a zarr v3 folder, written to a temporary folder, synced and renamed, so that it is complete or absent.

    run/
        zarr.json        attributes: reluflow (format), experiment, versions, problem, method, outcome, stats, manifest
        data/            x (datum, feature), y
        init/            w, a and their log scales, as given
        coordinates/     the orthonormal basis in which the state is kept
        checkpoints/     clock, step, way (descent), q, b, c, energy, code: every moment is replayed from these
        frames/          the same at the times asked for, where they are not the checkpoints; log_t, log_loss, outputs
        events/          t, log_t, neuron, datum, code, unique

Every array is listed in the manifest with its SHA-256, because zarr reads a missing chunk as zeros, and `seal` is
that of the attributes. Old formats stay readable: one reader per format in `READERS`, and a stored run of each under
tests/golden/.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import reluflow
from reluflow import _schema, _vet
from reluflow._checks import plainly, shown
from reluflow.clock import clock_for
from reluflow.data import Data
from reluflow.drive import driver_for
from reluflow.drive.recorder import States
from reluflow.engine.layout import parts
from reluflow.engine.pack import Units
from reluflow.events import KINDS, Events
from reluflow.experiment import Experiment
from reluflow.init import Params
from reluflow.methods import DecayLimit, Descent, Flow, Method, SteppedFlow
from reluflow.outcome import Outcome
from reluflow.problem import Problem, activation_of
from reluflow.replay import Replay

if TYPE_CHECKING:
    import xarray as xr

    from reluflow.engine.pack import Coordinates
    from reluflow.solution import Solution, Stats

FORMAT = 1
KIND_OF: dict[type, str] = {
    Flow: "flow",
    SteppedFlow: "stepped_flow",
    DecayLimit: "decay_limit",
    Descent: "descent",
}
CHUNK = 2**25  # bytes


# Writing --------------------------------------------------------------------------------------------------------------


def save(sol: Solution, path: str | Path) -> Path:
    """Write a run; on return it is completely on disk. `path` must not exist yet."""
    path = Path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FileExistsError(f"`{path}` already exists: choose another path, or remove it.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        clear(path.parent)
        with beside(path) as part:
            _write(part, *_parts(sol))
            os.rename(part, path)
        _sync(path.parent)
    except OSError as error:
        kind = FileExistsError if error.errno in TAKEN else type(error)
        raise kind(_refusal(path, error)) from error
    return path


def replace_run(sol: Solution, path: str | Path) -> Path:
    """Writes a run in the place of the one that is there; whatever happens meanwhile, one of both is on disk."""
    path = Path(path)
    if path.exists():
        read_attributes(path)  # not a folder of something else
    fresh = path.with_name(f"{path.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    save(sol, fresh)
    shutil.rmtree(path, ignore_errors=True)
    os.rename(fresh, path)
    _sync(path.parent)
    return path


TAKEN = (errno.ENOTEMPTY, errno.EEXIST)


def _refusal(path: Path, error: OSError) -> str:
    why = os.strerror(error.errno).lower() if error.errno else str(error)
    out = {
        errno.ENOSPC: "free disk space, or choose another disk",
        errno.EDQUOT: "free disk space, or choose another disk",
        errno.EFBIG: "free disk space, or choose another disk",
        **dict.fromkeys(TAKEN, "another run was saved there meanwhile; choose another path"),
    }.get(error.errno or 0, "choose a writable folder")
    return f"Cannot write to {path} ({why}): {out}. Nothing was written."


# What is being written ------------------------------------------------------------------------------------------------

PART = re.compile(r"\..+\.\d+-[0-9a-f]{8}\.part")


def _discard(part: Path) -> None:
    """Removes an unfinished folder. Writes that were under way when one of them failed may still add a file to it."""
    for _ in range(100):
        shutil.rmtree(part, ignore_errors=True)
        if not part.exists():
            return
        time.sleep(0.01)


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path` to write and rename; it is removed in any case.

    It is locked by its writer, and the system releases the lock of a killed process, so that `clear` recognises
    leftovers."""
    while True:
        part = path.with_name(f".{path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.part")
        part.mkdir()
        with suppress(FileNotFoundError):
            handle = _locked(part, wait=True)
            if part.exists():
                break
            _let_go(handle)  # another took it for a leftover before it was locked
    try:
        yield part
    finally:
        _discard(part)
        _let_go(handle)


def clear(folder: Path) -> None:
    """Removes leftovers of killed writers from a folder."""
    for part in [p for p in folder.iterdir() if PART.fullmatch(p.name)]:
        try:
            handle = _locked(part, wait=False)
        except OSError:  # at work, or gone by now
            continue
        if handle is not None:
            _discard(part)
            _let_go(handle)


def _locked(folder: Path, wait: bool) -> int | None:
    """A folder's lock, as an open handle; None where the system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(handle)
        if not wait:
            raise
        return None  # a disk without locks
    return handle


def _let_go(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def _write(part: Path, attributes: dict, arrays: dict[str, tuple[tuple[str, ...], np.ndarray]]) -> None:
    import zarr

    root = zarr.open_group(str(part), mode="w-", zarr_format=3)
    manifest = {}
    for name, (dims, value) in arrays.items():
        value = np.ascontiguousarray(value)
        rows = max(1, int(CHUNK // max(1, value.nbytes // max(1, len(value)))))
        chunks = tuple(max(1, k) for k in (min(rows, value.shape[0]), *value.shape[1:]))
        array = root.create_array(name, shape=value.shape, dtype=value.dtype, chunks=chunks, dimension_names=dims)
        if value.size:
            array[...] = value
        manifest[name] = {"shape": list(value.shape), "dtype": value.dtype.str, "sha256": _digest(value)}
    for folder, _, files in os.walk(part):
        for file in files:
            _sync(Path(folder) / file)
        _sync(Path(folder))
    # The attributes come last: a folder without them is not a run, whatever its name.
    whole = attributes | {"manifest": manifest}
    root.attrs.put(whole | {"seal": _seal(whole)})
    _sync(part / "zarr.json")
    _sync(part)


def _seal(attributes: dict) -> str:
    """A checksum of the attributes, without the checksum itself."""
    told = {name: value for name, value in attributes.items() if name != "seal"}
    return hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def seal_group(group: Path) -> None:
    """Adds the SHA-256 of every file of a zarr group to its attributes, with a checksum of those; syncs all of it."""
    meta = _vet.text(group / "zarr.json")
    meta["attributes"]["checksums"] = _checksums(group)
    meta["attributes"]["seal"] = _seal(meta["attributes"])
    (group / "zarr.json").write_text(json.dumps(meta))
    for where, _, files in os.walk(group):
        for file in files:
            _sync(Path(where) / file)
        _sync(Path(where))


def is_whole(group: Path) -> bool:
    """Whether a zarr group has all the files and attributes that `seal_group` saw, unchanged."""
    try:
        attributes = _vet.text(group / "zarr.json")["attributes"]
        return attributes["seal"] == _seal(attributes) and attributes["checksums"] == _checksums(group)
    except (OSError, _vet.Unfit, KeyError, TypeError, AttributeError):
        return False


def _checksums(group: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder, but its own zarr.json."""
    files = (p for p in sorted(group.rglob("*")) if p.is_file() and p != group / "zarr.json")
    return {p.relative_to(group).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def put(path: Path, content: bytes) -> None:
    """Writes a file as a whole: beside, synced, renamed. On an error nothing is left behind."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        with open(part, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        _sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _digest(value: np.ndarray) -> str:
    return hashlib.sha256(value.tobytes()).hexdigest()


def _parts(sol: Solution) -> tuple[dict, dict]:
    """A solution as JSON attributes and named arrays."""
    problem, experiment = sol.problem, getattr(sol, "experiment", None)
    attributes: dict[str, Any] = {
        "reluflow": {"format": FORMAT, "what": "run"},
        "experiment": None if experiment is None else experiment.to_dict(),
        "folder": None if experiment is None or experiment.folder is None else str(experiment.folder),
        "versions": versions(),
        "problem": {
            "loss": problem.loss,
            "reduction": problem.reduction,
            "train": problem.train,
            "decay": problem.decay,
            "slope": problem.activation.slope,
            "at_zero": problem.activation.at_zero,
            "data": problem.data.name,
        },
        "method": {"kind": KIND_OF[type(sol.method)], **_jsonable(asdict(sol.method))},
        "call": _jsonable(sol.call),
        "outcome": sol.outcome.name,
        "stats": _jsonable({f.name: getattr(sol.stats, f.name) for f in fields(sol.stats)}),
        "event_kinds": list(KINDS),
    }
    data, init, events = problem.data, problem.init, sol.events
    arrays: dict[str, Any] = {
        "data/x": (("datum", "feature"), data.x),
        "data/y": (("datum", "output")[: data.y.ndim], data.y),
        "init/w": (("neuron", "feature"), init.w),
        "init/a": (("neuron", "output")[: init.a.ndim], init.a),
        "init/log_scale": (("scale",), np.atleast_1d(np.asarray(init.log_scale, float))),
        "events/t": (("event",), events.t),
        "events/log_t": (("event",), events.log_t),
        "events/neuron": (("event",), events.neuron),
        "events/datum": (("event",), events.datum),
        "events/code": (("event",), events.code),
        "events/unique": (("event",), events.unique),
    }
    if data.classes is not None:
        attributes["problem"]["classes"] = list(data.classes)
    if data.columns is not None:  # names of columns are no part of what determines a run
        attributes["columns"] = list(data.columns)
    if init.fixed is not None:
        arrays["init/fixed"] = (("neuron", "feature"), init.fixed)
    if init.log_scale_a is not None:
        arrays["init/log_scale_a"] = (("scale",), np.atleast_1d(np.asarray(init.log_scale_a, float)))
    for name, value in _record(sol).items():
        dims = DIMS.get(name) or DIMS.get("*/" + name.split("/")[-1])
        value = np.asarray(value)
        arrays[name] = (
            dims
            if dims and len(dims) == value.ndim
            else tuple(f"{name.split('/')[-1]}_{k}" for k in range(value.ndim)),
            value,
        )
    return attributes, arrays


DIMS = {
    "coordinates/basis": ("coordinate", "feature"),
    "coordinates/perp": ("neuron", "feature"),
    "*/clock": ("frame",),
    "*/step": ("frame",),
    "*/way": ("frame",),
    "*/q": ("frame", "neuron", "coordinate"),
    "*/b": ("frame", "neuron"),
    "*/c": ("frame", "neuron"),
    "*/energy": ("frame",),
    "*/code": ("frame", "neuron", "surface"),
    "*/log_t": ("frame",),
    "*/log_loss": ("frame",),
    "*/outputs": ("frame", "datum"),
    "*/y": ("frame", "entry"),
    "*/codes": ("frame", "place"),
}


def _jsonable(value: Any) -> Any:
    """Non-finite numbers become text that `float` reads."""
    if isinstance(value, dict):
        return {k: _jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def key_of(sol: Solution) -> str:
    """A hash of what determines a run made in Python: data, initial weights, problem, method and the call."""
    attributes, arrays = _parts(sol)
    given = {
        name: _digest(np.ascontiguousarray(v)) for name, (_, v) in arrays.items() if name[:5] in ("data/", "init/")
    }
    told = {name: attributes[name] for name in ("problem", "method", "call")}
    if told["call"] is not None:  # threads and wall time do not change a complete run
        bounds = {k: v for k, v in told["call"]["limits"].items() if k not in ("threads", "seconds")}
        told["call"] = told["call"] | {"limits": bounds}
    canonical = json.dumps({**told, "arrays": given}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def source() -> dict[str, str]:
    """A hash of this package's source files and, in a checkout, the commit."""
    home = Path(reluflow.__file__).parent
    total = hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        total.update(path.relative_to(home).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    found = {"source": total.hexdigest()[:16]}
    commit = _commit(home.parent.parent)
    return found | ({"commit": commit} if commit else {})


def _commit(checkout: Path) -> str:
    """The commit checked out in a folder, read from git's files; "" where there is none."""
    with suppress(OSError, IndexError):
        git = checkout / ".git"
        if git.is_file():
            git = (checkout / git.read_text().split(": ", 1)[1].strip()).resolve()
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head[:40]
        name = head[5:]
        common = git / "commondir"
        homes = [git, (git / common.read_text().strip()).resolve()] if common.is_file() else [git]
        for home in homes:
            if (home / name).is_file():
                return (home / name).read_text().strip()[:40]
        for home in homes:
            if (home / "packed-refs").is_file():
                rows = (line.split() for line in (home / "packed-refs").read_text().splitlines())
                return next((row[0][:40] for row in rows if row[1:] == [name]), "")
    return ""


def versions() -> dict[str, str]:
    """What computed a run: this package and its source, Python, the libraries, the machine."""
    found = {"reluflow": reluflow.__version__, **source(), "python": platform.python_version()}
    found |= {name: version(name) for name in ("numpy", "scipy", "numba")}
    return found | {"machine": platform.machine(), "system": platform.system()}


# The state of a run ---------------------------------------------------------------------------------------------------


def _record(sol: Solution) -> dict[str, np.ndarray]:
    """What replay needs, by name: coordinates, checkpoints, and the frames where they are others."""
    marks, frames = sol.recording.checkpoints, sol.recording.frames
    step = sol.recording.resume
    if isinstance(sol.method, Descent):
        step = np.full(len(marks.clock), sol.method.step)
    found = {
        **sol.replay.stored(),
        "checkpoints/clock": marks.clock,
        "checkpoints/step": step,
        **_named("checkpoints", sol, marks),
        "frames/log_t": sol.log_t,
        "frames/log_loss": sol.log_loss,
        "frames/outputs": sol.outputs,
    }
    if not np.array_equal(frames.clock, marks.clock):
        found |= {"frames/clock": frames.clock, **_named("frames", sol, frames)}
    return found


def _named(where: str, sol: Solution, states: States) -> dict[str, np.ndarray]:
    if sol.problem.outputs > 1:  # states as they are: their layout is the driver's
        return {f"{where}/y": states.y, f"{where}/codes": states.code.astype(np.int8)}
    q, b, c, _ = parts(states.y, sol.replay.surfaces[0])  # in the run's own units
    code = states.code.reshape(-1, *sol.replay.surfaces).astype(np.int8)
    names = {"q": q, "b": b, "c": c, "energy": states.y[:, -1], "code": code}
    return {f"{where}/{name}": value for name, value in names.items()}


def _solution(
    problem: Problem, method: Method, outcome: Outcome, stats: Stats, events: Events, arrays: dict[str, np.ndarray]
) -> Solution:
    """A solution that replays from stored checkpoints."""
    from reluflow.solution import Recording, Solution

    several = problem.outputs > 1
    width, n, cells = problem.init.width, problem.data.n, arrays["checkpoints/codes" if several else "checkpoints/code"]
    if width * n > max(_vet.UNPACKED, 64 * cells[:1].size) or not len(cells):
        raise _vet.Unfit("states of another size")
    descent = isinstance(method, Descent)
    end, rest = (np.inf, None) if descent else arrays["control/end"].tolist()
    if not (end > 0.0 and (rest is None or rest >= 0.0)):
        raise _vet.Unfit("an invalid end")
    # Runs of version 0.1 were made in the user's own units.
    x0, y0, b0 = arrays.get("control/units", np.ones(3)).tolist()
    units = Units(x0, y0, b0, problem.train == "first")
    driver = driver_for(problem, method, end, rest, units)
    turn = (lambda q: q) if descent else _turn(driver.coords, arrays["coordinates/basis"])

    def states(where: str) -> States:
        if several:
            _vet.plain_states(arrays, where, (driver.size, driver.m * driver.big))  # type: ignore[attr-defined]
            if not descent and not np.array_equal(arrays["coordinates/basis"], driver.coords.basis):
                raise _vet.Unfit("another basis")
            return States(*(np.ascontiguousarray(arrays[f"{where}/{name}"]) for name in ("clock", "y", "codes")))
        _vet.states(arrays, where, driver.m, driver.big, driver.r, 4 if descent else 8)
        q, b, c, energy, code = (arrays[f"{where}/{name}"] for name in ("q", "b", "c", "energy", "code"))
        y = np.hstack([turn(q).reshape(len(q), -1), b, c, energy[:, None]])
        return States(arrays[f"{where}/clock"], np.ascontiguousarray(y), code.reshape(len(code), -1))

    marks = states("checkpoints")
    resume = arrays["checkpoints/step"]
    if descent:
        # Runs that were saved without it go on from any of them, right to the tolerance of a leap.
        resume = arrays.get("checkpoints/way", np.ones(len(marks.clock)))
        if resume.shape != marks.clock.shape or resume.dtype != float or not (np.all(resume >= 0) and resume[0] > 0):
            raise _vet.Unfit("an odd way on")
    frames = states("frames") if "frames/clock" in arrays else marks
    recording = Recording(problem, method, outcome, stats, events, marks, resume, frames)
    return Solution(recording, Replay(driver, clock_for(problem, method, units), marks, resume))


def _turn(coords: Coordinates, basis: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """From the stored basis to the one computed here.

    The two agree, and no number changes, unless the linear algebra underneath has changed.
    """
    if np.array_equal(basis, coords.basis):
        return lambda q: q
    r = basis.shape[0]
    if basis.shape != coords.basis.shape:
        raise _vet.Unfit("another basis")
    across = basis @ coords.basis.T
    return lambda q: np.concatenate([q[..., :r] @ across, q[..., r:]], axis=-1)


# Reading --------------------------------------------------------------------------------------------------------------


def load(path: str | Path) -> Solution:
    """The `rf.Solution` saved at `path`, with all its methods."""
    path = Path(path)
    attributes = read_attributes(path)
    return READERS[attributes["reluflow"]["format"]](path, attributes)


def read_attributes(path: str | Path) -> dict:
    """The attributes of a run: experiment, versions, outcome, stats; an error if `path` is not a run."""
    path = Path(path)
    if not path.is_dir():
        what = f"`{path}` is a file, not a run folder" if path.exists() else f"Run folder not found: {path}"
        raise FileNotFoundError(f"{what}. Save a run with `sol.save(path)` or `reluflow run`.")
    if path.name.endswith(".part"):
        raise ValueError(f"`{path}` is incomplete, because saving it was interrupted: remove it and run again.")
    meta = path / "zarr.json"
    if not meta.is_file():
        if (path / "experiment.json").is_file():
            raise ValueError(
                f"`{path}` is the folder of a sweep, not of a run: open it with `load` from `reluflow.sweep`."
            )
        raise ValueError(f"`{path}` is not a run folder, it has no `zarr.json`: give the folder that `sol.save` wrote.")
    try:
        attributes = _vet.text(meta)["attributes"]
        mark = attributes.get("reluflow")
    except (_vet.Unfit, OSError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"`{path}` must be a complete run, got a damaged `zarr.json`: restore a copy, or run again."
        ) from None
    if not isinstance(mark, dict) or "format" not in mark:
        raise ValueError(f"`{path}` is not a reluflow run, but other zarr data: open it with `xarray.open_zarr`.")
    if type(mark["format"]) is not int or mark["format"] not in READERS:
        versions = attributes.get("versions")
        wrote = versions.get("reluflow") if isinstance(versions, dict) else None
        raise ValueError(
            f"`{path}` must have a format up to {FORMAT}, got {shown(mark['format'])} (reluflow "
            f"{plainly(str(wrote or '?'), 20)}): install a newer reluflow to read it."
        )
    if ("seal" in attributes or "call" in attributes) and attributes.get("seal") != _seal(attributes):
        raise ValueError(
            f"`{path}` must be a complete run, got attributes that were changed after it was saved: restore a copy, or "
            "run again."
        )
    return attributes


def _arrays(path: Path, manifest: dict) -> dict[str, np.ndarray]:
    """Every array of the manifest, checked against its checksum."""
    import zarr

    found = {}
    _vet.folder(path, manifest)
    for name, entry in manifest.items():
        try:
            _vet.array(path / name, entry)
            value = zarr.open_array(str(path / name), mode="r", zarr_format=3)[...]
            value = np.asarray(value)
            good = (
                list(value.shape) == entry["shape"]
                and value.dtype.str == entry["dtype"]
                and _digest(value) == entry["sha256"]
            )
        except Exception:  # whatever is raised, the array is damaged
            good = False
        if not good:
            raise ValueError(
                f"`{path}` must be a complete run, got `{name}` damaged or cut short: restore a copy, or run again."
            )
        found[name] = value
    return found


def _problem(arrays: dict[str, np.ndarray], about: dict, columns) -> Problem:
    """The problem of a stored run."""
    data = Data(arrays["data/x"], arrays["data/y"], name=about["data"], classes=about.get("classes"), columns=columns)
    scales = {k: arrays[f"init/{k}"] for k in ("log_scale", "log_scale_a") if f"init/{k}" in arrays}
    init = Params(
        arrays["init/w"],
        arrays["init/a"],
        **{k: v if len(v) > 1 else float(v[0]) for k, v in scales.items()},
        fixed=arrays.get("init/fixed"),
    )
    return Problem(
        data,
        init,
        loss=about["loss"],
        reduction=about["reduction"],
        activation=activation_of(about["slope"], about["at_zero"]),
        train=about["train"],
        decay=about.get("decay", 0.0),
    )


def _read_1(path: Path, attributes: dict) -> Solution:
    from reluflow.solution import Stats

    try:
        arrays = _arrays(path, attributes["manifest"])
        problem = _problem(arrays, attributes["problem"], attributes.get("columns"))
        table, told = _schema.tables()["method"], attributes["method"]
        if told.get("events") == "stepped":  # as version 0.1 wrote it
            told = {"kind": "stepped_flow", "rtol": told["rtol"]}
        method = _schema.build(table, _schema.complete(table, told, []))
        kinds = attributes["event_kinds"]
        _vet.columns(arrays, len(kinds), problem.init.width, problem.data.n)
        code = np.array([KINDS.index(name) for name in kinds], np.int64)[arrays["events/code"]]
        t, log_t, neuron, datum, unique = (arrays[f"events/{k}"] for k in ("t", "log_t", "neuron", "datum", "unique"))
        events = Events(t, log_t, neuron, datum, code, unique)
        known = {f.name: f.type for f in fields(Stats)}
        stats = Stats(**{k: _number(v, known[k]) for k, v in attributes["stats"].items() if k in known})
        with np.errstate(over="ignore", invalid="ignore"):  # overflow of weights of 1e300 is reported by the solution
            sol = _solution(problem, method, Outcome[attributes["outcome"]], stats, events, arrays)
        if attributes["experiment"] is not None:
            sol.experiment = Experiment.from_dict(attributes["experiment"], folder=attributes.get("folder"))
        sol.call = attributes.get("call")
        return sol
    except KeyError as error:
        lost = plainly(str(error), 60)
        raise ValueError(f"`{path}` must be a complete run, got no {lost}: restore a copy, or run again.") from None
    except _vet.Unfit as error:
        raise ValueError(f"`{path}` must be a complete run, got {error}: restore a copy, or run again.") from None
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, MemoryError) as error:
        if str(error).startswith(f"`{path}`"):
            raise
        raise ValueError(
            f"`{path}` must be a complete run, got parts that do not fit ({plainly(str(error), 200)}): "
            "restore a copy, or run again."
        ) from error


def _number(value: Any, annotation: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return float(value) if str(annotation) == "float" and value is not None else value


READERS = {1: _read_1}


# Labelled arrays ------------------------------------------------------------------------------------------------------


def to_xarray(sol: Solution) -> xr.Dataset:
    """Frames and events as one `xarray.Dataset` with dims frame, neuron, datum, feature, event; times are `log_t`."""
    import xarray as xr

    data, events = sol.problem.data, sol.events
    experiment = getattr(sol, "experiment", None)
    several = sol.problem.outputs > 1
    more = ("output",) if several else ()
    found = xr.Dataset(
        {
            "log_loss": ("frame", sol.log_loss),
            "outputs": (("frame", "datum", *more), sol.outputs),
            "log_norm": (("frame", "neuron"), sol.log_norm),
            "sign": (("frame", "neuron"), np.zeros(sol.log_norm.shape) if several else sol.sign),
            "w": (("frame", "neuron", "feature"), sol.w, {"about": "mantissas: true weights are w e^log_scale"}),
            "a": (("frame", "neuron", *more), sol.a, {"about": "mantissas: true weights are a e^log_scale"}),
            "log_scale": (("frame", "neuron"), sol.log_scale),
            "x": (("datum", "feature"), data.x),
            "y": (("datum", "output")[: data.y.ndim], data.y),
            "event_log_t": ("event", events.log_t),
            "event_neuron": ("event", events.neuron),
            "event_datum": ("event", events.datum),
            "event_kind": (
                "event",
                events.code.astype(np.int8),
                {"flag_values": list(range(len(KINDS))), "flag_meanings": " ".join(KINDS)},
            ),
            "event_unique": ("event", events.unique),
        },
        coords={
            "log_t": ("frame", sol.log_t),
            "t": ("frame", sol.t),
            "frame": np.arange(len(sol.log_t)),
            "neuron": np.arange(sol.problem.init.width),
            "datum": np.arange(data.n),
            "feature": np.arange(data.d),
        },
        attrs={
            "problem": repr(sol.problem),
            "method": repr(sol.method),
            "outcome": sol.outcome.value,
            "experiment": "" if experiment is None else json.dumps(experiment.to_dict()),
        },
    )
    # With several outputs a_j has a direction and no sign.
    return found.drop_vars("sign").assign_coords(output=np.arange(sol.problem.outputs)) if several else found
