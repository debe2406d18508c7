"""Hostile run folders: opened right or refused in a sentence; no codec, link, name or size leads anywhere else."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import zarr
from trust.hostile import clean, fuzzed

import reluflow as rf
from reluflow import _vet, store

GOLDEN = Path(__file__).parents[1] / "golden"


def test_spoiled_run_folders_load_or_are_refused_in_a_sentence():
    clean(fuzzed("zarr", 25, seed=0))


@pytest.mark.exhaustive
def test_ten_thousand_spoiled_run_folders_load_or_are_refused_in_a_sentence():
    found = fuzzed("zarr", 10_000, seed=1, timeout=3600)
    print(found)
    clean(found)


@pytest.fixture
def run(tmp_path):
    return Path(shutil.copytree(GOLDEN / "flow_format1", tmp_path / "run"))


def changed(run, name=None, **values):
    """Metadata with other values: of the run itself, or of one array."""
    path = run / "zarr.json" if name is None else run / name / "zarr.json"
    about = json.loads(path.read_text())
    (about["attributes"] if name is None else about).update(values)
    path.write_text(json.dumps(about))


def rewritten(run, name, value):
    """Another array under a right checksum."""
    about = json.loads((run / "zarr.json").read_text())
    shutil.rmtree(run / name)
    array = zarr.create_array(run / name, shape=value.shape, dtype=value.dtype, chunks=value.shape, zarr_format=3)
    array[...] = value
    digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    about["attributes"]["manifest"][name] = {"shape": list(value.shape), "dtype": value.dtype.str, "sha256": digest}
    (run / "zarr.json").write_text(json.dumps(about))


def refused(run, text):
    with pytest.raises(ValueError, match=text) as caught:
        rf.load(run)
    assert "\n" not in str(caught.value)


def test_the_golden_runs_still_load(run):
    assert rf.load(run).outcome.success
    assert rf.load(GOLDEN / "descent_format1").outcome.success


def test_a_manifest_names_nothing_outside_the_folder(run):
    manifest = store.read_attributes(run)["manifest"]
    shutil.copytree(run / "data", run.parent / "outside" / "data")
    for name in ("../outside/data/x", "/etc/passwd", "data/../data/x"):
        changed(run, manifest={**manifest, name: manifest["data/x"]})
        refused(run, "got an unknown array")


def test_a_link_is_not_followed_even_to_the_same_bytes(run):
    chunk = run / "data" / "x" / "c" / "0" / "0"
    shutil.move(chunk, run.parent / "elsewhere")
    chunk.symlink_to(run.parent / "elsewhere")
    refused(run, "got a link in it")


@pytest.mark.parametrize("codec", ["numcodecs.pickle", "blosc", "gzip", "sharding_indexed", "vlen-utf8"])
def test_no_codec_but_our_own_is_run(run, codec):
    changed(run, "data/x", codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": codec}])
    refused(run, "got `data/x` damaged")


def test_a_shape_without_chunks_is_not_allocated(run):
    manifest, huge = store.read_attributes(run)["manifest"], [2**36]
    changed(run, manifest={**manifest, "data/y": {**manifest["data/y"], "shape": huge}})
    changed(run, "data/y", shape=huge, chunk_grid={"name": "regular", "configuration": {"chunk_shape": huge}})
    refused(run, r"got 5497558\d+ bytes in \d+")


def test_a_frame_that_promises_another_size_is_not_unpacked(run):
    chunk = run / "data" / "x" / "c" / "0" / "0"
    raw = bytearray(chunk.read_bytes())
    assert _vet.unpacked(chunk) == 80 == raw[5]  # one byte of size follows the flags
    raw[5] = 255
    chunk.write_bytes(raw)
    refused(run, "got `data/x` damaged")


def test_many_small_chunks_are_refused(run):
    sizes = {"shape": [10**6], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}}}
    changed(run, "data/y", **sizes)
    with pytest.raises(_vet.Unfit, match="too many chunks"):
        _vet.array(run / "data/y", {"shape": [10**6], "dtype": "<f8"})


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("checkpoints/code", lambda v: v + np.int8(8), "unknown codes"),
        ("checkpoints/q", lambda v: v[:, :2], "`checkpoints` of another size"),
        ("checkpoints/b", lambda v: v.astype("f4"), "`checkpoints` of another type"),
        ("checkpoints/clock", lambda v: v[::-1].copy(), "times out of order"),
        ("coordinates/basis", lambda v: v[:1] * 0.5, "another basis"),
        ("init/w", lambda v: np.full_like(v, np.nan), r"parts that do not fit \(`w` must be finite"),
        ("control/end", lambda v: -v, "an invalid end"),
    ],
)
def test_states_that_kernels_would_trust_must_fit_the_problem(run, name, change, text):
    rewritten(run, name, change(np.asarray(zarr.open_array(run / name, mode="r")[...])))
    refused(run, text)


def test_deep_metadata_is_damage(run):
    (run / "zarr.json").write_text("[" * 100_000)
    refused(run, "got a damaged `zarr.json`")


def test_a_stored_experiment_reads_no_file_when_it_is_wrong(run, tmp_path):
    (tmp_path / "secret.csv").write_text("1,2\nx,3\n")
    tables = store.read_attributes(run)["experiment"]
    tables["data"] = {"kind": "from_csv", "path": str(tmp_path / "secret.csv")}
    changed(run, experiment={**tables, "init": {"kind": "balanced", "width": 0}})
    refused(run, r"parts that do not fit \(`width` must be a whole number")


def test_weights_that_overflow_are_refused_without_a_warning(run):
    rewritten(run, "init/w", np.full((4, 2), 1e300))  # pytest turns warnings into errors
    refused(run, "parts that do not fit")
