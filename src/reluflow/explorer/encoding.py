"""How a run is sent to the page: a JSON header, then plain arrays one after the other.

    b"RFX1"  uint32 length of the header  header (JSON)  padding to 8  arrays, each padded to 8

`header["arrays"]` lists name, dtype, shape and offset from the first array, and for rounded arrays the unit of their
whole numbers. Little endian throughout.
"""

import gzip
import json
import struct

import numpy as np

MAGIC = b"RFX1"
DTYPES = {"f8": "<f8", "f4": "<f4", "u1": "|u1", "i1": "|i1", "i2": "<i2", "i4": "<i4"}
UNIT = 1.0 / 32767.0
# In a static copy: directions and cosines to 3e-5, logarithms of norms and outputs to seven digits.
ROUNDED = ("dir", "cosine", "head")
SINGLE = ("log_w", "log_a", "outputs", "margin", "rank", "norm2")


def encode(header: dict, arrays: dict[str, np.ndarray]) -> bytes:
    table, parts, offset = [], [], 0
    for name, value in arrays.items():
        code = value.dtype.str[1:]
        raw = np.ascontiguousarray(value, dtype=DTYPES[code]).tobytes()
        unit = {"unit": UNIT} if code == "i2" else {}
        table.append({"name": name, "dtype": code, "shape": list(value.shape), "offset": offset, **unit})
        pad = -len(raw) % 8
        parts += [raw, b"\0" * pad]
        offset += len(raw) + pad
    text = json.dumps({**header, "arrays": table}, allow_nan=False).encode()
    text += b" " * (-(len(text) + 8) % 8)
    return b"".join([MAGIC, struct.pack("<I", len(text)), text, *parts])


def compact(header: dict, arrays: dict[str, np.ndarray]) -> bytes:
    """The same rounded and compressed, for a static copy of the page."""
    small = {}
    for name, value in arrays.items():
        if name in ROUNDED:
            value = np.rint(np.clip(value, -1.0, 1.0) / UNIT).astype(np.int16)
        elif name in SINGLE:
            value = np.clip(value, -3.4e38, 3.4e38).astype(np.float32)
        small[name] = value
    return gzip.compress(encode(header, small), 9, mtime=0)


def decode(raw: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """The inverse of `encode`, and of `compact` up to its rounding."""
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    if raw[:4] != MAGIC:
        raise ValueError("These bytes must begin with RFX1: this is not a run of the explorer.")
    (size,) = struct.unpack("<I", raw[4:8])
    header = json.loads(raw[8 : 8 + size])
    start, arrays = 8 + size, {}
    for entry in header.pop("arrays"):
        count = int(np.prod(entry["shape"], dtype=int))
        found = np.frombuffer(raw, DTYPES[entry["dtype"]], count, start + entry["offset"]).reshape(entry["shape"])
        arrays[entry["name"]] = found * entry["unit"] if "unit" in entry else found
    return header, arrays
