"""Assembly of task results into one labelled dataset."""

import json
from typing import Any

import numpy as np

from reluflow.sweep import keep
from reluflow.sweep.design import Design

FORMAT = 1
WAITING = "Not computed yet: resume the sweep."
# Only these differ between two runs of the same sweep: a flow works in bursts of a few milliseconds and evaluates its
# field once more at the start of each.
WALL = ("seconds", "stats.seconds", "stats.fields")


def assemble(about: dict, design: Design, tasks: list[dict[str, Any]]):
    """An `xarray.Dataset` over the dimensions of the design; `reason` explains points without a result."""
    import xarray as xr

    count, shape, dims = len(design), design.shape, design.dims
    outcome, reason = np.full(count, "waiting", object), np.full(count, WAITING, object)
    failed, seconds = np.ones(count, bool), np.full(count, np.nan)
    for task in tasks:
        at = task["point"]
        outcome[at], reason[at], failed[at], seconds[at] = (task[k] for k in ("outcome", "reason", "failed", "seconds"))
    found: dict[str, Any] = {"outcome": (dims, outcome.astype(str).reshape(shape))}
    shared: dict[str, Any] = {}
    names = list(dict.fromkeys(k[2:] for task in tasks for k in task if k.startswith("v:")))
    order = [n for n in about["keep"] if n in names] + [n for n in names if n not in about["keep"]]
    for name in order:
        inner, values = _column(name, count, tasks)
        same = _common(values) if name == "log_t" else None
        if same is not None:
            shared = {"log_t": ("frame", same), "t": ("frame", np.exp(same))}
        else:
            found[name] = ((*dims, *inner), values.reshape(*shape, *values.shape[1:]))
    for name in about["keep"]:
        if name not in found:  # no point has this quantity
            found[name] = (dims, np.full(shape, np.nan))
    found |= {
        "failed": (dims, failed.reshape(shape)),
        "reason": (dims, reason.astype(str).reshape(shape)),
        "seconds": (dims, seconds.reshape(shape)),
    }
    ordered = {name: found[name] for name in ("outcome", *about["keep"]) if name in found}
    attributes = {
        "reluflow": json.dumps({"format": FORMAT, "what": "sweep"}),
        "key": about["key"],
        "experiment": json.dumps(about["experiment"]),
        **{name: json.dumps(about[name]) for name in ("design", "points", "seed", "over", "keep", "files")},
        "versions": json.dumps(_distinct([about["versions"], *(task["about"]["versions"] for task in tasks)])),
    }
    coordinates: dict[str, Any] = {**design.coordinates(), **shared}
    if design.kind != "grid":
        coordinates["point"] = np.arange(count)
    ds = xr.Dataset({**ordered, **found}, coords=coordinates, attrs=attributes)
    for name in about["keep"]:
        if ds[name].dtype.kind == "f" and bool(np.any(np.isnan(ds[name].values.T) & ~ds["failed"].values.T)):
            ds[name].attrs["nan"] = f"NaN where {keep.missing(name)}"
    return ds


def _column(name: str, count: int, tasks: list[dict]) -> tuple[tuple[str, ...], np.ndarray]:
    """A quantity of every point, NaN or "" where there is none."""
    parts = [(task["point"], task[f"v:{name}"], task["about"]["dims"][name]) for task in tasks if f"v:{name}" in task]
    inner = tuple(parts[0][2])
    if parts[0][1].dtype.kind == "U":
        texts = np.full(count, "", object)
        for at, values, _ in parts:
            texts[at] = values
        return inner, texts.astype(str)
    shape = np.max([values.shape[1:] for _, values, _ in parts], axis=0).astype(int)
    full = np.full((count, *shape), np.nan)
    for at, values, _ in parts:
        full[(at, *(slice(0, n) for n in values.shape[1:]))] = values
    return inner, full


def _common(rows: np.ndarray) -> np.ndarray | None:
    """The row common to all points, or None; failed points have no row."""
    some = rows[~np.all(np.isnan(rows), axis=1)]
    return some[0] if len(some) and np.all((some == some[0]) | (np.isnan(some) & np.isnan(some[0]))) else None


def _distinct(items: list[dict]) -> list[dict]:
    return list({json.dumps(i, sort_keys=True): i for i in items}.values())
