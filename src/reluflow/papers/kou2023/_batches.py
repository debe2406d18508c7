"""Batches of MNIST runs for Figures 2 to 5: those a folder holds are read, those it lacks are computed and left there.

One NPZ file is one batch: what `rf.many.mnist_protocol` returns for several `std` and seeds at one protocol, slope and
width, with `slope`, `width`, `images`, `tests` (0: all of MNIST), `data`, `seconds` and `device`. A run is looked for
by what it is, not by the name of its file, so that Figure 4 finds its widest network among those of Figure 2. An
interrupted computation goes on where it stopped; without a folder, finished batches serve for as long as Python runs.
Needs numpy, scipy, numba and jax alone.
"""

import os
import time
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reluflow.data.digits import mnist

BATCH, STEP = 64, 0.1
KEPT = ("loss", "train_error", "test_error", "stable_rank")
EPOCH = 938  # iterations of an epoch of all 60,000 images


class Kind(NamedTuple):
    """What the runs of a batch share."""

    protocol: str
    slope: float
    width: int
    epochs: int
    images: int = 0
    tests: int = 0


Held = dict[Kind, list[dict[str, Any]]]
_here: Held = {}  # batches of this process that no folder keeps


def runs(kinds, stds, seeds: int, folder: str = "", device=None, tell=None) -> list[dict[str, Any]]:
    """For every kind, `KEPT` over (std, seed, epoch, ...), and `epoch`, `iteration`, `matrix`, `seconds`, `device`.

    `stds` has one row for each kind; `seconds` is what its batches took in all.
    """
    held = read(folder) if folder else _here
    wanted = [(kind, [v for v in row if _find(held, kind, v, seeds) is None]) for kind, row in zip(kinds, stds)]
    todo = [(kind, row) for kind, row in wanted if row]
    for k, (kind, row) in enumerate(todo):
        made = compute(kind, row, seeds, device, _part(tell, k, len(todo)))
        if folder:
            write(made, kind, folder)
        held.setdefault(kind, []).append(made)
    return [_gather(held, kind, row, seeds) for kind, row in zip(kinds, stds)]


def compute(kind: Kind, stds, seeds: int, device=None, tell=None) -> dict[str, Any]:
    """One batch, as it is kept."""
    from reluflow.many import mnist_protocol
    from reluflow.many._runner import pick

    choice: dict[str, Any] = dict(digits="all") if kind.protocol == "P2" else dict(parity=True)
    data = mnist(**choice, size=kind.images or None), mnist(**choice, split="test", size=kind.tests or None)
    began = time.perf_counter()
    found = mnist_protocol(
        kind.protocol,
        width=kind.width,
        std=stds,
        slope=kind.slope,
        seeds=range(seeds),
        epochs=kind.epochs,
        step=STEP,
        batch=BATCH,
        data=data,
        device=device,
        progress=tell,
    )
    seconds, where = time.perf_counter() - began, pick(device)
    more = dict(slope=kind.slope, width=kind.width, images=kind.images, tests=kind.tests, data="MNIST")
    return {**found, **more, "seconds": seconds, "device": where.device_kind}


def read(folder: str | os.PathLike) -> Held:
    """The batches a folder holds; there need not be one."""
    held: Held = {}
    for path in sorted(Path(folder).glob("*.npz")):
        with np.load(path) as file:
            batch = {name: file[name] for name in file.files}
        kind = _kind(batch)
        if kind is not None:
            held.setdefault(kind, []).append(batch)
    return held


def write(batch: dict, kind: Kind, folder: str | os.PathLike) -> Path:
    """A batch as a file, whole or not at all."""
    size = "" if not kind.images else f"_{kind.images}images"
    scale = "_".join(f"{v:.3g}" for v in batch["std"])
    name = f"kou2023_{kind.protocol}_slope{kind.slope:g}_m{kind.width}{size}_{kind.epochs}epochs_std{scale}.npz"
    path = Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        with open(part, "wb") as file:
            np.savez(file, **batch)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def _kind(batch: dict) -> Kind | None:
    """What a file's runs are; None for runs on other data, or too few of them known to tell."""
    epochs = int(batch["epoch"][-1])
    sizes = (int(batch["images"]), int(batch["tests"])) if "images" in batch else (0, 0)
    whole = "images" in batch or int(batch["iteration"][-1]) == EPOCH * epochs
    if str(batch["data"]) != "MNIST" or not whole:
        return None
    protocol = "P1" if "plus" in batch["matrix"] else "P2"
    return Kind(protocol, float(batch["slope"]), int(batch["width"]), epochs, *sizes)


def _find(held: Held, kind: Kind, std: float, seeds: int) -> tuple[dict, int] | None:
    """The batch that has runs 0 .. `seeds` - 1 at this `std`, and where."""
    for batch in held.get(kind, []):
        at = np.flatnonzero(np.isclose(batch["std"], std, rtol=1e-9, atol=0.0))
        if len(at) and np.array_equal(batch["seed"][:seeds], np.arange(seeds)):
            return batch, int(at[0])
    return None


def _gather(held: Held, kind: Kind, stds, seeds: int) -> dict[str, Any]:
    places = [_find(held, kind, v, seeds) for v in stds]
    found = [place for place in places if place is not None]
    assert len(found) == len(places)
    batches = list({id(batch): batch for batch, _ in found}.values())
    first = batches[0]
    return {
        **{name: np.stack([batch[name][k, :seeds] for batch, k in found]) for name in KEPT},
        **{name: first[name] for name in ("epoch", "iteration", "matrix")},
        # Of a batch with other runs as well, their share.
        "seconds": float(sum(batch["seconds"] / len(batch["std"]) for batch, _ in found)),
        "device": sorted({str(batch["device"]) for batch in batches if "device" in batch}),
    }


def _part(tell, k: int, of: int):
    """Turns the k-th batch's progress into that of all."""
    if tell is None:
        return None
    return lambda now: tell(now._replace(fraction=(k + now.fraction) / of, left=None))
