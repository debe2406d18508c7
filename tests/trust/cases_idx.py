"""MNIST's own format, packed or not: a small pair of files stands in for the real ones, checksums and all."""

from __future__ import annotations

import gzip
import hashlib
import struct
import zlib
from pathlib import Path
from random import Random

import numpy as np
from trust.mutate import ODD_NUMBERS, ODD_TEXTS, odd, spoiled


def pack(array) -> bytes:
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def squeezed(raw: bytes) -> bytes:
    return gzip.compress(raw, 6, mtime=0)


class Cases:
    def __init__(self, folder: Path, outside: Path):
        from reluflow.data import digits

        self.folder, self.outside = folder / "inside", outside
        self.folder.mkdir()
        rng = np.random.default_rng(0)
        arrays = rng.integers(0, 256, (30, 28, 28), dtype=np.uint8), (np.arange(30) % 10).astype(np.uint8)
        table = {}
        for split in ("train", "test"):
            files = zip(digits.FILES[split], arrays, strict=True)
            table[split] = tuple(
                f._replace(shape=a.shape, sha256=hashlib.sha256(pack(a)).hexdigest()) for f, a in files
            )
        digits.FILES = table
        self.names, self.raw = [f.name for f in table["train"]], [pack(a) for a in arrays]
        self.packed = [squeezed(raw) for raw in self.raw]
        # A gigabyte of zeros after a right beginning, in a megabyte.
        squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
        first = squeeze.compress(self.raw[0]) + squeeze.flush(zlib.Z_FULL_FLUSH)
        self.bomb = first + (squeeze.compress(bytes(2**20)) + squeeze.flush(zlib.Z_FULL_FLUSH)) * 1024
        self.empties = squeezed(b"") * 3000
        self.more: dict = {}

    def write(self, rng: Random, valid: bool = False) -> str:
        for path in self.folder.iterdir():
            path.rmdir() if path.is_dir() else path.unlink()
        self.more = {}
        which = rng.randrange(2)
        labels, contents = "valid", list(self.packed)
        ends = [".gz", ".gz"]
        if not valid:
            labels, contents[which], ends[which] = self.spoiled(rng, which)
            if rng.random() < 0.15:
                labels += ", arguments"
                name = rng.choice(["pair", "parity", "digits", "split", "centre", "size", "seed"])
                self.more[name] = rng.choice([odd(rng), rng.choice(ODD_NUMBERS), rng.choice(ODD_TEXTS)])
        for name, raw, end in zip(self.names, contents, ends, strict=True):
            if raw is not None:
                (self.folder / (name + end)).write_bytes(raw)
        if not valid and rng.random() < 0.02:
            (self.folder / (self.names[which] + ".gz")).unlink(missing_ok=True)
            (self.folder / (self.names[which] + ".gz")).mkdir()
            labels = "a folder"
        return labels

    def spoiled(self, rng: Random, which: int):
        raw, tight = self.raw[which], self.packed[which]
        roll = rng.random()
        if roll < 0.4:
            label, found = spoiled(rng, tight)
            return f"packed {label}", found, ".gz"
        if roll < 0.6:
            label, found = spoiled(rng, raw)
            return f"plain {label}", rng.choice([squeezed, bytes])(found), ""
        if roll < 0.7:
            label, found = spoiled(rng, raw)
            return f"repacked {label}", squeezed(found), ".gz"
        head = struct.pack(">4I", 0x803, *(rng.choice([0, 1, 2**31, 2**32 - 1]) for _ in range(3)))
        if rng.random() < 0.3:
            return "two members", squeezed(raw[:100]) + squeezed(raw[100:]), ".gz"
        choices = {
            "gzip bomb": self.bomb,
            "many empty members": self.empties + tight,
            "huge declared shape": gzip.compress(head + raw[16:], 1),
            "trailing rubbish": tight + b"rubbish",
            "wrong sum": tight[:-8] + b"\0\0\0\0" + tight[-4:],
            "wrong length": tight[:-4] + b"\xff\xff\xff\x7f",
            "a long file name": b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 200_000,
            "reserved flags": b"\x1f\x8b\x08\xff" + bytes(60),
            "another method": b"\x1f\x8b\x07\x00" + bytes(60),
            "empty": b"",
            "nothing": None,
        }
        label = rng.choice(list(choices))
        return label, choices[label], ".gz"

    def load(self) -> None:
        import reluflow as rf

        data = rf.data.mnist(**self.more, folder=self.folder)
        assert repr(data) and data.d == 784
