"""Run folders: spoiled bytes, metadata that lies, links that lead out, and states whose checksums fit but not they."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from random import Random

import numpy as np
from trust.mutate import odd, spoiled, struck

CODECS = [
    {"name": "numcodecs.pickle"}, {"name": "numcodecs.python"}, {"name": "blosc", "configuration": {"cname": "lz4"}},
    {"name": "sharding_indexed", "configuration": {"chunk_shape": [1], "codecs": [{"name": "bytes"}]}},
    {"name": "gzip"}, {"name": "transpose", "configuration": {"order": [0]}}, {"name": "vlen-bytes"}, 3, None,
    {"name": "file:///etc/passwd"},
    {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "../../outside/secret"}, {"name": "os.system"},
]  # fmt: skip
NAMES = [
    "../outside/secret",
    "/etc/passwd",
    "data/../../outside/x",
    "data/x/../y",
    "data\\x",
    "",
    "data",
    "..",
    "data/x\0",
]
SIZES = [0, -1, 1, 2, 5, 10**6, 2**31, 2**40, 2**63, 10**30, 1.5, True, None, "5", [2]]


class Cases:
    """One folder is spoiled at a time, and laid back as it was afterwards."""

    def __init__(self, folder: Path, outside: Path):
        self.inside, self.outside = folder / "inside", outside
        self.inside.mkdir()
        golden = Path(__file__).parents[1] / "golden"
        self.good = {name: golden / f"{name}_format1" for name in ("flow", "descent")}
        self.run = self.inside / "run"

    def write(self, rng: Random, valid: bool = False) -> str:
        shutil.rmtree(self.run, ignore_errors=True)
        shutil.copytree(self.good[rng.choice(list(self.good))], self.run)
        if valid:
            return "valid"
        ways = [self.flipped, self.flipped, self.attributes, self.attributes, self.metadata, self.metadata, self.arrays]
        return rng.choice([*ways, self.arrays, self.manifest, self.links])(rng)

    def files(self) -> list[Path]:
        return sorted(p for p in self.run.rglob("*") if p.is_file())

    def flipped(self, rng: Random) -> str:
        path = rng.choice([*self.files(), self.run / "zarr.json"])
        how, raw = spoiled(rng, path.read_bytes())
        path.write_bytes(raw)
        return f"{how} {path.relative_to(self.run)}"

    def attributes(self, rng: Random) -> str:
        about = json.loads((self.run / "zarr.json").read_text())
        part = about["attributes"] if rng.random() < 0.95 else about
        keys = [k for k in part if k != "manifest"]
        inner = {k: part[k] for k in keys}
        label = "; ".join(struck(rng, inner) for _ in range(rng.randint(1, 2)))
        for key in keys:
            part.pop(key)
        part.update(inner)
        if rng.random() < 0.05:
            label, text = "nested", "[" * 100_000
        else:
            text = json.dumps(about)
        (self.run / "zarr.json").write_text(text, encoding="utf-8", errors="surrogatepass")
        return label

    def metadata(self, rng: Random) -> str:
        path = rng.choice([p for p in self.files() if p.name == "zarr.json" and p.parent.parent.parent == self.run])
        about = json.loads(path.read_text())
        where = str(path.relative_to(self.run))
        roll = rng.random()
        if roll < 0.3:
            about["codecs"] = [*about["codecs"][: rng.randint(0, 2)], rng.choice(CODECS)]
            label = f"codecs of {where}"
        elif roll < 0.6:
            lists = [about["shape"], about["chunk_grid"]["configuration"]["chunk_shape"]]
            target = rng.choice(lists)
            target[rng.randrange(len(target))] = rng.choice(SIZES)
            label = f"sizes of {where}"
        elif roll < 0.7:
            about["storage_transformers"] = [rng.choice(CODECS)]
            label = f"transformers of {where}"
        else:
            label = f"{struck(rng, about)} of {where}"
        path.write_text(json.dumps(about), encoding="utf-8", errors="surrogatepass")
        return label

    def manifest(self, rng: Random) -> str:
        about = json.loads((self.run / "zarr.json").read_text())
        manifest = about["attributes"]["manifest"]
        name = rng.choice(list(manifest))
        roll = rng.random()
        if roll < 0.4:
            other = rng.choice(NAMES)
            manifest[other] = manifest.pop(name)
            label = f"{name} called {other}"
        elif roll < 0.7:
            manifest[name]["shape"] = [rng.choice(SIZES) for _ in manifest[name]["shape"]]
            self.resized(name, manifest[name]["shape"])
            label = f"{name} of shape {manifest[name]['shape']}"
        else:
            label = struck(rng, manifest)
        (self.run / "zarr.json").write_text(json.dumps(about), encoding="utf-8", errors="surrogatepass")
        return label

    def resized(self, name: str, shape: list) -> None:
        """The array's own metadata made to agree: a shape of zeros needs no chunk at all."""
        path = self.run / name / "zarr.json"
        about = json.loads(path.read_text())
        about["shape"] = shape
        about["chunk_grid"]["configuration"]["chunk_shape"] = shape
        path.write_text(json.dumps(about))
        shutil.rmtree(self.run / name / "c", ignore_errors=True)

    def links(self, rng: Random) -> str:
        path = rng.choice(
            [p for p in self.files() if p.name != "zarr.json"] + [self.run / "data", self.run / "zarr.json"]
        )
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        os.symlink(
            rng.choice([self.outside / "secret", self.outside, "/dev/zero", "../../../outside/secret", path.name]), path
        )
        return f"link {path.relative_to(self.run)}"

    def arrays(self, rng: Random) -> str:
        """An array of other values, sizes or types, stored as it should be with a checksum that fits."""
        import zarr

        about = json.loads((self.run / "zarr.json").read_text())
        manifest = about["attributes"]["manifest"]
        name = rng.choice(list(manifest))
        value = np.asarray(zarr.open_array(str(self.run / name), mode="r")[...])
        how = rng.choice(["value", "value", "shape", "type", "empty", "more", "axis"])
        if how == "value" and value.size:
            with np.errstate(all="ignore"):
                numbers = [v for v in (odd(rng) for _ in range(30)) if isinstance(v, int | float)] or [0]
                chosen = float(np.float64(min(max(rng.choice(numbers), -(10**300)), 10**300)))
                if value.dtype.kind in "iu":
                    chosen = rng.choice([-1, 3, 4, 7, 8, 100, 127, -128])
                value.flat[rng.randrange(value.size)] = chosen
        elif how == "shape" and value.size > 1:
            value = value.reshape(-1)[: rng.randrange(1, value.size)].reshape(-1, *[1] * (value.ndim - 1))
        elif how == "type":
            with np.errstate(all="ignore"):
                value = value.astype(rng.choice(["f4", "i8", "i4", "i1", "u1", "?"]), casting="unsafe")
        elif how == "empty":
            value = value[:0]
        elif how == "more":
            value = np.concatenate([value, value[:1]]) if len(value) else np.zeros((3, *value.shape[1:]), value.dtype)
        elif how == "axis":
            value = value[..., None] if value.ndim < 3 else value[0]
        value = np.ascontiguousarray(value)
        shutil.rmtree(self.run / name)
        chunks = tuple(max(1, k) for k in value.shape)
        array = zarr.create_array(
            str(self.run / name), shape=value.shape, dtype=value.dtype, chunks=chunks, zarr_format=3
        )
        if value.size:
            array[...] = value
        digest = hashlib.sha256(value.tobytes()).hexdigest()
        manifest[name] = {"shape": list(value.shape), "dtype": value.dtype.str, "sha256": digest}
        (self.run / "zarr.json").write_text(json.dumps(about))
        return f"{how} of {name}"

    def load(self) -> None:
        import reluflow as rf

        sol = rf.load(self.run)
        with np.errstate(all="ignore"):
            assert repr(sol) and len(sol.log_t) == len(sol.log_loss)
            assert sol.outputs.shape[1] == sol.problem.data.n and sol.final.width == sol.problem.init.width
            assert sol.events.counts() is not None
