"""Numbers to the page: a JSON header, then plain arrays one after the other.

    b"RFX1"  uint32 length of the header  header (JSON)  padding to 8  arrays, each padded to 8

`header["arrays"]` lists name, dtype, shape and offset from the first array. Little endian throughout.
"""

from __future__ import annotations

import json
import struct

import numpy as np

MAGIC = b"RFX1"
DTYPES = {"f8": "<f8", "f4": "<f4", "u1": "|u1", "i1": "|i1", "i4": "<i4"}


def encode(header: dict, arrays: dict[str, np.ndarray]) -> bytes:
    table, parts, offset = [], [], 0
    for name, value in arrays.items():
        code = value.dtype.str[1:]
        raw = np.ascontiguousarray(value, dtype=DTYPES[code]).tobytes()
        table.append({"name": name, "dtype": code, "shape": list(value.shape), "offset": offset})
        pad = -len(raw) % 8
        parts += [raw, b"\0" * pad]
        offset += len(raw) + pad
    text = json.dumps({**header, "arrays": table}, allow_nan=False).encode()
    text += b" " * (-(len(text) + 8) % 8)
    return b"".join([MAGIC, struct.pack("<I", len(text)), text, *parts])


def decode(raw: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """The inverse of `encode`."""
    if raw[:4] != MAGIC:
        raise ValueError("These bytes must begin with RFX1: they are no picture of a run.")
    (size,) = struct.unpack("<I", raw[4:8])
    header = json.loads(raw[8 : 8 + size])
    start, arrays = 8 + size, {}
    for entry in header.pop("arrays"):
        count = int(np.prod(entry["shape"], dtype=int))
        found = np.frombuffer(raw, DTYPES[entry["dtype"]], count, start + entry["offset"])
        arrays[entry["name"]] = found.reshape(entry["shape"])
    return header, arrays
