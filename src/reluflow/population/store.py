"""A run on the population as one file: arrays alone, no pickle, written beside and renamed."""

import json
import os
from pathlib import Path

import numpy as np

from reluflow import init
from reluflow.methods import Descent, Flow
from reluflow.outcome import Outcome
from reluflow.population._field import Tree
from reluflow.population.problem import Problem
from reluflow.population.solution import Recording, Solution, Stats
from reluflow.population.state import Coordinates, State
from reluflow.single.law import Gaussian

FORMAT = 1


def save(sol: Solution, path) -> Path:
    """Writes the run; `path` must not exist. A law other than the Gaussian is kept as the Gaussian of its kappa."""
    path = Path(path)
    if path.exists():
        raise FileExistsError(f"`path` must be free, got {path}: choose another name or remove the old file.")
    p, states = sol.problem, sol._checkpoints
    meta = dict(
        format=FORMAT,
        slope=p.slope,
        train=p.train,
        kappa=p.law.kappa,
        outcome=sol.outcome.name,
        stats={k: float(v) for k, v in vars(sol.stats).items()},
        step=sol.method.step if isinstance(sol.method, Descent) else None,
        rtol=getattr(sol.method, "rtol", None),
    )
    arrays = dict(
        meta=np.frombuffer(json.dumps(meta).encode(), np.uint8),
        t=np.array([s.t for s in states]),
        y=np.array([s.y for s in states]),
        parent=np.array([s.tree.parent for s in states]),
        ell=np.array([s.tree.ell for s in states]),
        order=np.array([s.tree.order for s in states]),
        frames=np.array([s.t for s in sol._frames]) / sol._coords.time_unit,
    )
    for name, params in (("teacher", p.teacher), ("init", p.init)):
        log_w, log_a = params.log_scales
        arrays |= {f"{name}_w": params.w, f"{name}_a": params.a, f"{name}_log_w": log_w, f"{name}_log_a": log_a}
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with open(beside, "wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    return path


def load(path) -> Solution:
    """A run saved by `Solution.save`."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"File not found: {path}.")
    try:
        with np.load(path, allow_pickle=False) as file:
            kept = {name: file[name] for name in file.files}
        meta = json.loads(bytes(kept["meta"]))
        if meta["format"] != FORMAT:
            raise ValueError(f"it has format {meta['format']}, this version reads {FORMAT}")
    except (KeyError, ValueError, OSError, EOFError) as reason:
        raise ValueError(f"`path` must be a run saved by `Solution.save`, got {path}: {reason}.") from None
    parts = {
        name: init.Params(*(kept[f"{name}_{k}"] for k in ("w", "a", "log_w", "log_a"))) for name in ("teacher", "init")
    }
    law = Gaussian(std=float(np.sqrt(meta["kappa"])))
    problem = Problem(parts["teacher"], parts["init"], slope=meta["slope"], train=meta["train"], law=law)
    method = Flow(meta["rtol"]) if meta["step"] is None else Descent(meta["step"])
    recording = Recording(len(kept["t"]))
    recording.states = [
        State(float(t), y, Tree(parent, ell, order, np.zeros_like(ell)))
        for t, y, parent, ell, order in zip(*(kept[k] for k in ("t", "y", "parent", "ell", "order")))
    ]
    whole = ("steps", "fields", "implicit", "jumps")
    stats = Stats(**{k: int(v) if k in whole else v for k, v in meta["stats"].items()})
    sol = Solution(problem, method, Coordinates(problem), recording, Outcome[meta["outcome"]], stats)
    same = len(kept["frames"]) == len(kept["t"]) and np.allclose(kept["frames"], sol.t, rtol=1e-13, atol=0)
    return sol if same else sol.resampled(kept["frames"])


def to_xarray(sol: Solution):
    """Frames with the loss, norms, angles and weights."""
    import xarray as xr

    return xr.Dataset(
        {
            "loss": ("frame", sol.loss),
            "log_norm": (("frame", "neuron"), sol.log_norm),
            "log_output": (("frame", "neuron"), sol.log_output),
            "sign": (("frame", "neuron"), sol.sign),
            "angle": (("frame", "neuron", "teacher"), sol.angles),
            "w": (("frame", "neuron", "feature"), sol.w),
            "a": (("frame", "neuron"), sol.a),
            "log_scale": (("frame", "neuron"), sol.log_scale),
        },
        coords={"t": ("frame", sol.t)},
        attrs={"outcome": sol.outcome.name, "steps": sol.stats.steps, "energy_error": sol.stats.energy_error},
    )
