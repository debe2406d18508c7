"""NPZ files: spoiled archives, spoiled headers under a right checksum, pickles, bombs, odd member names."""

from __future__ import annotations

import io
import pickle
import struct
import warnings
import zipfile
import zlib
from pathlib import Path
from random import Random

import numpy as np
from trust.mutate import spoiled


class Trap:
    """Unpickled, this would call the system."""

    def __reduce__(self):
        import os

        return os.system, ("exit 3",)


def npy(array, version=None) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), version=version, allow_pickle=True)
    return out.getvalue()


def headed(header: str, body: bytes = b"", version=(1, 0)) -> bytes:
    """A member with any header at all."""
    raw = header.encode("latin-1" if version < (3, 0) else "utf-8")
    size = struct.pack("<H" if version == (1, 0) else "<I", len(raw) & (0xFFFF if version == (1, 0) else 0xFFFFFFFF))
    return b"\x93NUMPY" + bytes(version) + size + raw + body


def archive(members, method=zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method, allowZip64=True) as file:
        for name, raw in members:
            with file.open(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), "w", force_zip64=False) as entry:
                entry.write(raw)
    return out.getvalue()


def packed(members) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, raw in members:
            file.writestr(name, raw)
    return out.getvalue()


X, Y = np.array([[1.0, 2.0], [3.0, -4.0]]), np.array([1.0, -1.0])


def valid(rng: Random) -> bytes:
    members = [
        ("x.npy", npy(rng.choice([X, X.astype("f4"), X.astype("i2"), np.asfortranarray(X), X.astype(">f8")]))),
        ("y.npy", npy(rng.choice([Y, Y.astype("i1")]), version=rng.choice([(1, 0), (2, 0), None]))),
    ]
    if rng.random() < 0.5:
        members.append(("name.npy", npy(np.array("points"))))
    return rng.choice([archive, packed])(members)


def bomb(mib: int, shape: str) -> bytes:
    """An array of zeros, as many MiB as asked for in a thousandth of it; the sum is wrong, but who gets that far?"""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = headed(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n")
    first = squeeze.compress(head) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(bytes(2**20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    deflated = first + block * mib + squeeze.flush(zlib.Z_FINISH)
    out = bytearray(archive([("x.npy", deflated), ("y.npy", npy(np.ones(600)))]))
    size = struct.pack("<HI", 8, (len(head) + mib * 2**20) & 0xFFFFFFFF)
    for at, method, length in ((out.find(b"PK\x03\x04"), 8, 22), (out.find(b"PK\x01\x02"), 10, 24)):
        out[at + method : at + method + 2], out[at + length : at + length + 4] = size[:2], size[2:]
    return bytes(out)


DESCR = [
    "'<f8'",
    "'|O'",
    "'O'",
    "'<c16'",
    "'<U9'",
    "'|S4'",
    "'<M8[s]'",
    "'|V8'",
    "'<f2'",
    "'<f16'",
    "'|b1'",
    "'>i8'",
    "'<f99'",
    "[('a', '<f8')]",
    "[('a', '<f8', (1000000, 1000000))]",
    "3",
    "''",
    "None",
    "'<f8' * 10",
    "__import__('os').system('x')",
    "'" + "f" * 9000 + "'",
    "(" * 3000 + ")" * 3000,
    "{'names': ['a'], 'formats': ['<f8'], 'offsets': [-8]}",
]  # fmt: skip
SHAPE = [
    "(2, 2)",
    "(2,)",
    "()",
    "(-2, 2)",
    "(0, 2)",
    "(2, 0)",
    "(10**12,)",
    "(1000000000000, 1000000000000)",
    "(2.0, 2)",
    "(True, 4)",
    "(9223372036854775807, 2)",
    "(" + "1, " * 70 + ")",
    "[2, 2]",
    "'ab'",
    "None",
    "(2**40, 0)",
    "(99999999,)",
    "(" + "9" * 5000 + ",)",
]  # fmt: skip


def member(rng: Random) -> bytes:
    """A spoiled array under a right checksum."""
    roll = rng.random()
    if roll < 0.55:
        order = rng.choice(["False", "True", "1", "x"])
        text = f"{{'descr': {rng.choice(DESCR)}, 'fortran_order': {order}, 'shape': {rng.choice(SHAPE)}, }}\n"
        return headed(
            text, X.tobytes() * rng.choice([0, 1, 1, 3]), rng.choice([(1, 0), (2, 0), (3, 0), (1, 0), (9, 9)])
        )
    if roll < 0.75:
        return spoiled(rng, npy(X))[1]
    values = [
        np.array([[Trap(), 1], [2, 3]], dtype=object),
        np.array([np.nan, 1.0]),
        np.array([[np.inf, 1], [2, 3]]),
        np.zeros((0, 2)),
        np.zeros((2, 2, 2)),
        np.array("text"),
        np.array(3.0),
        X.astype(complex),
        np.array(["1", "2"]),
        np.zeros(2, "M8[s]"),
        np.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")]),
        np.array([[1e4000]], dtype=np.longdouble),
        np.zeros((2, 0)),
        np.full((2, 2), 2**64 - 1, dtype=np.uint64),
        np.array(["x" * 5000]),
        np.array("\x1b[31m\n"),
        np.array(b"\xff\xfe"),
    ]  # fmt: skip
    return npy(values[rng.randrange(len(values))])


class Cases:
    def __init__(self, folder: Path, outside: Path):
        self.folder, self.outside = folder / "inside", outside
        self.bombs = [bomb(600, "(600, 131072)"), bomb(3000, "(3000, 131072)"), bomb(8, "(9999999, 131072)")]
        self.bombs.append(bomb(64, "(600, 131072)"))
        self.folder.mkdir()
        self.path = self.folder / "case.npz"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zipfile says so itself
            self.twice = archive([("x.npy", npy(X)), ("y.npy", npy(Y)), ("x.npy", npy(-X))])
        self.others = self.prepared()

    def write(self, rng: Random, valid: bool = False) -> str:
        if valid:
            label, raw = "valid", globals()["valid"](rng)
        else:
            label, raw = self.spoiled(rng)
        self.path.write_bytes(raw)
        return label

    def spoiled(self, rng: Random) -> tuple[str, bytes]:
        roll = rng.random()
        if roll < 0.35:
            return spoiled(rng, valid(rng))
        if roll < 0.75:
            names = ["x.npy", "y.npy", "name.npy"]
            which = rng.choice(names)
            arrays = {"x.npy": npy(X), "y.npy": npy(Y), which: member(rng)}
            return f"member {which}", rng.choice([archive, packed])(list(arrays.items()))
        if roll < 0.79:
            return "bomb", rng.choice(self.bombs)
        label = rng.choice([*self.others, "random"])
        return label, self.others.get(label) or bytes(rng.randrange(256) for _ in range(200))

    def prepared(self) -> dict[str, bytes]:
        good = [("x.npy", npy(X)), ("y.npy", npy(Y))]
        out = str(self.outside / "secret")
        return {
            "up": archive([("../outside/secret", npy(X)), *good[1:]]),
            "absolute": archive([(out, npy(X)), *good]),
            "more": packed([*good, ("extra.npy", npy(X))]),
            "twice": self.twice,
            "no y": archive(good[:1]),
            "names without end": archive([(f"../{k}" * 50, b"") for k in range(200)]),
            "no suffix": archive([("x", npy(X)), ("y", npy(Y))]),
            "not an array": archive([("x.npy", b"hello"), good[1]]),
            "an empty member": archive([("x.npy", b""), good[1]]),
            "a folder": archive([("x.npy/", b""), good[1]]),
            "a pickle": pickle.dumps(Trap()),
            "an npy": npy(X),
            "an npy of objects": npy(np.array([Trap()], dtype=object)),
            "lzma": archive(good, zipfile.ZIP_LZMA),
            "bzip2": archive(good, zipfile.ZIP_BZIP2),
            "empty": b"",
            "an empty archive": archive([]),
            "encrypted": _encrypted(archive(good)),
            "control names": archive([("\x1b[31m.npy", npy(X)), ("a\nb.npy", npy(Y))]),
        }

    def load(self) -> None:
        import reluflow as rf

        data = rf.data.from_npz(self.path)
        assert repr(data) and data.x.shape == (data.n, data.d)


def _encrypted(raw: bytes) -> bytes:
    """The flag alone, in the local header and in the directory."""
    out = bytearray(raw)
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        k = out.find(mark)
        while k >= 0:
            out[k + at] |= 1
            k = out.find(mark, k + 4)
    return bytes(out)
