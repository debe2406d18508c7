"""Validation of a run folder before it is opened: it may come from an untrusted source.

What `store` writes is plain: arrays cut along their first axis, little endian, packed by zstd or not at all. Nothing
else is passed to zarr, so that metadata cannot name another codec, another file or another size than the manifest's;
links are not followed; and the unpacked size is bounded by the size on disk. Callers turn `Unfit` into a sentence.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

NAME = re.compile(r"[a-z]+/[a-z_]+")
KINDS = {
    "float64": "<f8",
    "float32": "<f4",
    "int64": "<i8",
    "int32": "<i4",
    "int8": "|i1",
    "uint8": "|u1",
    "bool": "|b1",
}
KEYS = {"name": "default", "configuration": {"separator": "/"}}
PLAIN = ({"name": "bytes"}, {"name": "bytes", "configuration": {"endian": "little"}})
UNPACKED, RATIO = 2**28, 200  # most unpacked bytes of a run, or times its size on disk
CHUNKS = 64  # most chunks of an array, and one more per MiB
TEXT = 2**26  # bytes of metadata


class Unfit(Exception):
    """What is wrong, in a few words."""


def _must(good: bool, what: str) -> None:
    if not good:
        raise Unfit(what)


def text(path: Path) -> dict:
    """A JSON object from a file of bounded size."""
    _must(not path.is_symlink() and path.is_file() and path.stat().st_size <= TEXT, f"no `{path.name}`")
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError):
        raise Unfit(f"`{path.name}` damaged") from None
    _must(isinstance(found, dict), f"`{path.name}` damaged")
    return found


def folder(path: Path, manifest) -> None:
    """No links, only plain array names, and sizes consistent with the bytes on disk."""
    on_disk = 0
    for where, folders, files in os.walk(path):
        for name in (*folders, *files):
            _must(not os.path.islink(os.path.join(where, name)), "a link in it")
        on_disk += sum(os.lstat(os.path.join(where, name)).st_size for name in files)
    _must(isinstance(manifest, dict), "no manifest")
    whole = 0
    for name, entry in manifest.items():
        _must(NAME.fullmatch(name) is not None and isinstance(entry, dict), "an unknown array")
        shape: Any = entry.get("shape")
        _must(isinstance(shape, list) and 1 <= len(shape) <= 4, "an invalid shape")
        _must(all(type(k) is int and 0 <= k < 2**40 for k in shape), "an invalid shape")
        _must(entry.get("dtype") in KINDS.values(), "an invalid type")
        whole += math.prod(shape) * np.dtype(entry["dtype"]).itemsize
    _must(whole <= max(UNPACKED, RATIO * on_disk), f"{whole} bytes in {on_disk}")


def array(path: Path, entry: dict) -> None:
    """The metadata and chunks of one array are as the manifest says, and as `store` writes them."""
    about, shape = text(path / "zarr.json"), entry["shape"]
    grid: Any = about.get("chunk_grid")
    _must(isinstance(grid, dict) and isinstance(grid.get("configuration"), dict), "invalid chunks")
    size: Any = grid["configuration"].get("chunk_shape")
    _must(about.get("zarr_format") == 3 and about.get("node_type") == "array", "no array")
    _must(about.get("shape") == shape and KINDS.get(str(about.get("data_type"))) == entry["dtype"], "another array")
    _must(about.get("chunk_key_encoding") == KEYS and not about.get("storage_transformers"), "an invalid layout")
    codecs: Any = about.get("codecs")
    _must(isinstance(codecs, list) and 1 <= len(codecs) <= 2 and codecs[0] in PLAIN, "an unknown codec")
    packed = len(codecs) == 2
    _must(not packed or (isinstance(codecs[1], dict) and codecs[1].get("name") == "zstd"), "an unknown codec")
    _must(isinstance(size, list) and grid.get("name") == "regular" and len(size) == len(shape), "invalid chunks")
    _must(all(type(k) is int and 1 <= k <= max(1, n) for k, n in zip(size, shape, strict=True)), "invalid chunks")
    _must(size[1:] == [max(1, k) for k in shape[1:]], "invalid chunks")
    each = math.prod(size) * np.dtype(entry["dtype"]).itemsize
    count = -(-shape[0] // size[0])
    _must(count <= CHUNKS + each * count // 2**20, "too many chunks")
    rest = "/".join("0" for _ in shape[1:])
    for k in range(count):
        chunk = path / "c" / str(k) / rest
        if chunk.is_file():  # zarr reads a missing chunk as zeros; the checksum shows whether that is right
            _must((unpacked(chunk) if packed else chunk.stat().st_size) == each, "a damaged chunk")


def unpacked(path: Path) -> int | None:
    """Bytes that a zstd frame says it holds (RFC 8878, 3.1.1.1), the size that will be unpacked; None if not stated."""
    with open(path, "rb") as file:
        head = file.read(18)
    if len(head) < 6 or head[:4] != b"\x28\xb5\x2f\xfd":
        return None
    flags = head[4]
    single = flags >> 5 & 1
    width = (single, 2, 4, 8)[flags >> 6]
    at = 5 + (1 - single) + (0, 1, 2, 4)[flags & 3]
    if width == 0 or len(head) < at + width:
        return None
    return int.from_bytes(head[at : at + width], "little") + (256 if width == 2 else 0)


def states(arrays: dict[str, np.ndarray], where: str, m: int, big: int, r: int, codes: int) -> None:
    """The stored states have the sizes that the kernels assume without checking."""
    q, b, c, energy, code = (arrays[f"{where}/{name}"] for name in ("q", "b", "c", "energy", "code"))
    clock = arrays[f"{where}/clock"]
    rows = len(clock)
    shapes = [
        (q, (rows, m, r)),
        (b, (rows, m)),
        (c, (rows, m)),
        (energy, (rows,)),
        (code, (rows, m, big)),
        (clock, (rows,)),
    ]
    _must(all(a.shape == shape for a, shape in shapes), f"`{where}` of another size")
    _must(
        all(a.dtype == np.float64 for a in (q, b, c, energy, clock)) and code.dtype == np.int8,
        f"`{where}` of another type",
    )
    _must(bool(np.all((code >= 0) & (code < codes))), "unknown codes")
    _must(bool(np.all(np.isfinite(clock)) and np.all(np.diff(clock) >= 0) and np.all(clock >= 0)), "times out of order")


def plain_states(arrays: dict[str, np.ndarray], where: str, row: tuple[int, int]) -> None:
    """Stored states of several outputs have the numbers and codes a row that their driver assumes."""
    clock, y, codes = (arrays[f"{where}/{name}"] for name in ("clock", "y", "codes"))
    rows = len(clock)
    _must(y.shape == (rows, row[0]) and codes.shape == (rows, row[1]), f"`{where}` of another size")
    _must(clock.shape == (rows,) and y.dtype == clock.dtype == np.float64, f"`{where}` of another type")
    _must(codes.dtype == np.int8 and bool(np.all(codes >= 0)), "unknown codes")
    _must(bool(np.all(np.isfinite(clock)) and np.all(np.diff(clock) >= 0) and np.all(clock >= 0)), "times out of order")


def columns(arrays: dict[str, np.ndarray], kinds: int, m: int, n: int) -> None:
    """The events name neurons, data and kinds that exist, all of one length."""
    found = [arrays[f"events/{name}"] for name in ("t", "log_t", "neuron", "datum", "code", "unique")]
    _must(len({a.shape for a in found}) == 1 and found[0].ndim == 1, "event columns of unequal lengths")
    _must(all(a.dtype.kind in "iub" for a in found[2:]), "event columns of another type")
    for a, low, high in ((found[2], 0, m), (found[3], -1, n), (found[4], 0, kinds)):
        _must(bool(np.all((a >= low) & (a < high))), "events of unknown neurons or data")
