"""A static copy of the page: its files and a set of runs computed beforehand, for any web server.

    reluflow explore --export folder

`runs/manifest.json` lists the runs of every preset by the values in which they differ; the page's sliders move between
them. Every run carries its phases and, for the first seed, norms and reports. Nothing is fetched from elsewhere.
"""

import copy
import json
import re
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

from reluflow.explorer.presets import PRESETS, RECORDED

SCALES = (0.0, -2.0, -5.0, -50.0, -1000.0, -100000.0)  # beside the preset's own
SEVERAL = (0.0, -2.0, -5.0, -14.0, -100.0, -300.0)  # with several outputs, where smaller ones take long
SEEDS = (0, 1, 2)
FRAMES = 200
OVERLAY = {"two_points": 0.05, "five_points": 0.05, "toy_plane": 0.05}  # steps of the descent laid over the flow
# What differs between the runs of a preset, by dotted path; a list of grids, each a product of its values.
GRIDS: dict[str, list[dict[str, tuple]]] = {
    "two_points": [{"init.log_scale": (-100.0,)}],
    "two_angles": [{"data.delta": (0.3, 0.03, 0.003)}],
    "nearly_orthogonal": [{"problem.activation.slope": (None, 0.1, 0.5), "init.seed": SEEDS}],
    "single": [
        {"single.layers": (1, 2, 3), "single.log_norm": (-5.0, -3.0, 0.0, 1.0), "single.phi": (0.5, 1.0, 1.5, 2.5)}
    ],
}


def lookup(tables: dict, path: str) -> Any:
    at: Any = tables
    for key in path.split("."):
        at = at.get(key) if isinstance(at, dict) else None
    return at


def assign(tables: dict, path: str, value: Any) -> None:
    *above, last = path.split(".")
    at = tables
    for key in above:
        at = at.setdefault(key, {})
    if value is None:
        at.pop(last, None)
    else:
        at[last] = value


def settings(preset: dict, scales: Iterable[float] = SCALES, seeds: Iterable[int] = SEEDS) -> list[dict[str, Any]]:
    """The values of every run of a preset, by path; the preset's own come first."""
    own = preset["experiment"]
    grids = [dict(grid) for grid in GRIDS.get(preset["name"], [])]
    if "init" in own and own["problem"]["train"] == "both":
        if own["problem"]["loss"] == "softmax" and scales is SCALES:
            scales = SEVERAL
        grids.insert(0, {"init.log_scale": (own["init"]["log_scale"], *scales), "init.seed": tuple(seeds)})
    paths = sorted({path for grid in grids for path in grid})
    base = {path: lookup(own, path) for path in paths}
    found = [base]
    for grid in grids:
        for values in product(*grid.values()):
            one = {**base, **dict(zip(grid, values, strict=True))}
            if one not in found:
                found.append(one)
    return found


def experiment_of(preset: dict, setting: dict[str, Any]) -> dict:
    tables = copy.deepcopy(preset["experiment"])
    for path, value in setting.items():
        assign(tables, path, value)
    if tables.get("problem", {}).get("activation") == {"kind": "leaky_relu"}:  # without a slope: plain ReLU
        del tables["problem"]["activation"]
    return tables


def run_of(tables: dict, *, checks: bool = True) -> bytes:
    """A run with its findings, rounded and compressed."""
    from reluflow.explorer import encoding, notebook, request, single
    from reluflow.explorer.frames import picture

    if "single" in tables:
        header, arrays = single.picture(tables["single"], frames=FRAMES)
        return encoding.compact({**header, "norm": {}, "reports": [], "known": None}, arrays)
    experiment = request.experiment(tables)
    sol = experiment.run()
    header, arrays = picture(sol, room=FRAMES)
    header |= {"key": experiment.key, **notebook.found(sol, checks)}
    return encoding.compact(header, arrays)


def overlay_of(tables: dict, step: float) -> bytes:
    """The descent laid over the run of an experiment."""
    from reluflow.explorer import encoding, request
    from reluflow.explorer.frames import picture
    from reluflow.explorer.overlay import beside
    from reluflow.explorer.scheduler import Scheduler

    scheduler = Scheduler()
    ticket = scheduler.ticket("static", 0)
    try:
        sol = request.experiment(tables).run()
        moments = picture(sol, room=FRAMES)[1]["log_t"]
        rest = {name: table for name, table in tables.items() if name != "solve"}
        return encoding.compact(*beside(sol, rest, step, ticket, moments))
    finally:
        scheduler.close()


def index(text: str) -> str:
    """The page's document, marked as a copy without a server; its list of runs is asked for with it."""
    early = '<link rel="preload" href="runs/manifest.json" as="fetch" crossorigin>\n</head>'
    return re.sub(r"<html ", '<html data-static="" ', text, count=1).replace("</head>", early, 1)


def export(
    folder: Path,
    *,
    presets: Iterable[str] | None = None,
    scales: Iterable[float] = SCALES,
    seeds: Iterable[int] = SEEDS,
    checks: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Writes the copy into a folder that is new or empty, and returns its size in bytes."""
    from reluflow.explorer import digits
    from reluflow.explorer.app import assets, beginning, document

    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"`--export` must name a new or empty folder, got {folder}: remove it or choose another.")
    files = assets()
    chosen = [p for p in PRESETS if presets is None or p["name"] in presets]
    jobs = [(p, setting) for p in chosen for setting in settings(p, scales, seeds)]
    first = next(iter(seeds), 0)
    (folder / "runs").mkdir(parents=True)
    rows: dict[str, list[dict]] = {p["name"]: [] for p in chosen}
    for done, (preset, setting) in enumerate(jobs):
        if progress is not None:
            progress(done, len(jobs))
        name, tables = preset["name"], experiment_of(preset, setting)
        row: dict[str, Any] = {"set": setting, "file": f"{name}-{len(rows[name])}.rfx"}
        # Theorems are checked on one seed: their verdicts hardly depend on it, and they take most of the time.
        checked = checks and lookup(tables, "init.seed") in (None, first)
        (folder / "runs" / row["file"]).write_bytes(run_of(tables, checks=checked))
        if name in OVERLAY and not rows[name]:
            row["overlay"] = f"{name}-descent.rfx"
            (folder / "runs" / row["overlay"]).write_bytes(overlay_of(tables, OVERLAY[name]))
        rows[name].append(row)
    start = beginning(None, False, True) | {"presets": [*chosen, *RECORDED]}
    images = digits.shown()
    manifest = {"start": start, "presets": rows, "overlay": OVERLAY, "digits": images is not None}
    (folder / "runs" / "manifest.json").write_text(json.dumps(manifest, separators=(",", ":")), encoding="utf-8")
    if images is not None:
        (folder / "runs" / "digits.rfx").write_bytes(images)
    for name, raw in files.items():
        target = folder / ("index.html" if name == "index.html" else f"page/{name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(index(document(files).decode()).encode() if name == "index.html" else raw)
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
