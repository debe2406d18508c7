"""What a sweep leaves on disk, and what it makes of what is there."""

import dataclasses
import errno
import json
import os
import time

import numpy as np
import pytest
from support.counted import Clock
from support.sweeps import assert_same, experiment

import reluflow as rf
from reluflow.outcome import Outcome
from reluflow.sweep import driver, folder, load, sweep
from reluflow.sweep.design import Design
from reluflow.sweep.pool import Here

OVER = {"init.seed": range(6)}
KEEP = ["final.log_loss", "events.count"]


@pytest.fixture(scope="module")
def reference():
    return sweep(experiment(), OVER, KEEP, workers=0)


def tasks(store) -> list[str]:
    return sorted(p.name for p in store.iterdir() if p.name.startswith("task-"))


def test_a_resumed_sweep_equals_one_that_was_never_interrupted(tmp_path, reference, monkeypatch):
    store, count = tmp_path / "s", 0
    finished = Here.finished

    def interrupted(self, timeout):
        nonlocal count
        count += 1
        if count == 3:
            raise KeyboardInterrupt
        return finished(self, timeout)

    monkeypatch.setattr(Here, "finished", interrupted)
    half = sweep(experiment(), OVER, KEEP, workers=0, store=store)
    assert "Ctrl-C" in half.attrs["interrupted"]
    waiting = half["outcome"].values == "waiting"
    assert 0 < waiting.sum() < 6
    assert set(half["reason"].values[waiting]) == {"Not computed yet: resume the sweep."}
    assert_same(load(store), half)
    whole = sweep(experiment(), OVER, KEEP, workers=0, store=store, resume=True)
    assert_same(whole, reference)
    assert_same(load(store), reference)


def test_a_point_that_ctrl_c_cut_short_is_no_result(tmp_path, reference, monkeypatch):
    # A solve returns what there is; in this process it is the sweep that Ctrl-C is meant for.
    from reluflow import experiment as module

    real, count = module.Experiment.run, 0

    def run(self, progress=None):
        nonlocal count
        sol, count = real(self, progress), count + 1
        if count == 3:
            sol = rf.Solution(dataclasses.replace(sol.recording, outcome=Outcome.INTERRUPTED), sol.replay)
        return sol

    monkeypatch.setattr(module.Experiment, "run", run)
    half = sweep(experiment(), OVER, KEEP, workers=0, store=tmp_path / "s")
    assert "Ctrl-C" in half.attrs["interrupted"]
    assert "interrupted" not in half["outcome"].values and "waiting" in half["outcome"].values
    assert_same(sweep(experiment(), OVER, KEEP, workers=0, store=tmp_path / "s", resume=True), reference)


def test_a_sweep_killed_before_it_said_what_it_is_starts_again(tmp_path, reference):
    (tmp_path / "s").mkdir()
    for name in ("lock", ".experiment.json.0123abcd.part"):
        (tmp_path / "s" / name).write_text("")
    assert_same(sweep(experiment(), OVER, KEEP, workers=0, store=tmp_path / "s", resume=True), reference)
    assert not list((tmp_path / "s").glob(".*.part"))
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "notes.txt").write_text("")
    with pytest.raises(FileExistsError, match="already exists: choose another folder"):
        sweep(experiment(), OVER, KEEP, workers=0, store=tmp_path / "foreign", resume=True)
    assert [p.name for p in (tmp_path / "foreign").iterdir()] == ["notes.txt"]


def test_a_sweep_that_another_began_and_ended_meanwhile_is_looked_at_again(tmp_path, monkeypatch):
    lock = folder.Folder.lock

    def late(self):
        monkeypatch.setattr(folder.Folder, "lock", lock)
        sweep(experiment(), {"init.seed": [7]}, KEEP, workers=0, store=tmp_path / "s")
        lock(self)

    monkeypatch.setattr(folder.Folder, "lock", late)
    with pytest.raises(ValueError, match="holds another sweep, with `over"):
        sweep(experiment(), OVER, KEEP, workers=0, store=tmp_path / "s")


def test_nothing_is_computed_twice(tmp_path, reference, monkeypatch):
    store = tmp_path / "s"
    sweep(experiment(), OVER, KEEP, workers=0, store=store)
    monkeypatch.setattr(driver, "_pool", lambda *a: pytest.fail("there is nothing left to compute"))
    assert_same(sweep(experiment(), OVER, KEEP, store=store, resume=True), reference)


@pytest.mark.parametrize(
    ("changes", "over", "keep", "sentence"),
    [
        ({"init__width": 5}, OVER, KEEP, "`init.width` = 4 instead of 5"),
        ({}, {"init.seed": range(7)}, KEEP, "`over.init.seed` = "),
        ({}, OVER, ["final.log_loss"], "`keep` = "),
    ],
)
def test_a_changed_sweep_is_refused(tmp_path, changes, over, keep, sentence):
    store = tmp_path / "s"
    sweep(experiment(), {"init.seed": [0]} | OVER, KEEP, workers=0, store=store)
    with pytest.raises(ValueError, match=sentence):
        sweep(experiment(**changes), over, keep, workers=0, store=store, resume=True)


def test_changed_data_are_a_changed_experiment(tmp_path):
    import reluflow as rf

    file, store = tmp_path / "points.csv", tmp_path / "s"
    file.write_text("1,0,1\n0,1,-1\n")
    tables = dict(data={"kind": "from_csv", "path": "points.csv"}, init={"kind": "balanced", "width": 3})
    run = rf.Experiment(**tables, solve={"t1": 1.0}, folder=tmp_path)
    sweep(run, OVER, KEEP, workers=0, store=store)
    file.write_text("1,0,1\n0,2,-1\n")
    with pytest.raises(ValueError, match=r"`files.points\.csv` = "):
        sweep(run, OVER, KEEP, workers=0, store=store, resume=True)


def test_an_existing_sweep_is_gone_on_with_only_when_asked(tmp_path):
    store = tmp_path / "s"
    sweep(experiment(), OVER, KEEP, workers=0, store=store)
    with pytest.raises(FileExistsError, match="add `--resume`"):
        sweep(experiment(), OVER, KEEP, workers=0, store=store)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("mine")
    with pytest.raises(FileExistsError, match="already exists"):
        sweep(experiment(), OVER, KEEP, workers=0, store=tmp_path / "other", resume=True)


def test_a_damaged_task_is_named_and_computed_again(tmp_path, reference):
    store = tmp_path / "s"
    sweep(experiment(), OVER, KEEP, workers=0, store=store)
    victim = store / tasks(store)[2]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 0xFF
    victim.write_bytes(content)
    with pytest.raises(ValueError, match=f"{victim.name}` is damaged"):
        load(store)
    assert_same(sweep(experiment(), OVER, KEEP, workers=0, store=store, resume=True), reference)
    assert_same(load(store), reference)


def test_a_task_cut_short_is_not_there(tmp_path, reference):
    store = tmp_path / "s"
    sweep(experiment(), OVER, KEEP, workers=0, store=store)
    name = tasks(store)[0]
    (store / name).rename(store / f".{name}.0123abcd.part")
    assert (load(store)["outcome"] == "waiting").any()
    assert_same(sweep(experiment(), OVER, KEEP, workers=0, store=store, resume=True), reference)
    assert not list(store.glob(".*.part"))


def test_a_full_disk_stops_nothing_and_the_rest_is_written_when_there_is_room(tmp_path, reference, monkeypatch):
    store, put, room = tmp_path / "s", folder.Folder._put, False
    seen = []

    def full(self, name, content):
        if name.startswith("task-") and not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(self, name, content)

    monkeypatch.setattr(folder.Folder, "_put", full)
    ds = sweep(experiment(), OVER, KEEP, workers=0, store=store, progress=seen.append)
    assert (
        ds.attrs["unsaved"] == "6 points could not be written (no space left on device): free disk space, then resume."
    )
    assert seen[-1].unsaved == 6
    del ds.attrs["unsaved"]
    assert_same(ds, reference)  # all that was computed is returned
    assert tasks(store) == []
    room = True
    again = sweep(experiment(), OVER, KEEP, workers=0, store=store, resume=True)
    assert "unsaved" not in again.attrs
    assert_same(load(store), reference)


def test_what_could_not_be_written_is_written_as_soon_as_there_is_room(tmp_path, reference, monkeypatch):
    store, put, count = tmp_path / "s", folder.Folder._put, 0

    def tight(self, name, content):
        nonlocal count
        count += name.startswith("task-")
        if name.startswith("task-") and count < 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(self, name, content)

    monkeypatch.setattr(folder.Folder, "_put", tight)
    assert "unsaved" not in sweep(experiment(), OVER, KEEP, workers=0, store=store).attrs
    assert_same(load(store), reference)


def test_a_real_full_disk_leaves_no_part_of_a_file(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full here")
    here = folder.Folder(tmp_path)
    from reluflow import store

    store.open = lambda path, mode="r": open("/dev/full" if str(path).endswith(".part") else path, mode)
    try:
        with pytest.raises(OSError) as refused:
            here.write([0], b"x" * 100_000)
    finally:
        del store.open
    assert refused.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


def test_failed_points_are_tried_again_only_when_asked(tmp_path, monkeypatch):
    store = tmp_path / "s"
    slow = experiment(method__kind="descent", method__step=1e-4, solve__t1=60.0, init__log_scale=0.0)
    over = {"init.seed": [0, 1]}
    with monkeypatch.context() as patch:
        patch.setattr(time, "perf_counter", Clock())
        first = sweep(slow, over, KEEP, workers=0, store=store, seconds=0.5)
    assert first["failed"].all()
    resumed = sweep(slow, over, KEEP, workers=0, store=store, resume=True)
    assert resumed["failed"].all()
    again = sweep(slow, over, KEEP, workers=0, store=store, retry=True)
    assert not again["failed"].any()
    assert_same(load(store), again)


def test_two_sweeps_do_not_write_into_one_folder(tmp_path):
    store = tmp_path / "s"
    about = folder.describe(experiment(), Design(OVER), KEEP)
    one, other = folder.Folder(store), folder.Folder(store)
    one.begin(about, resume=False)
    with pytest.raises(BlockingIOError, match="only one sweep at a time"):
        other.begin(about, resume=True)
    one.close()
    other.begin(about, resume=True)
    other.close()


def test_files_hold_no_pickles(tmp_path):
    store = tmp_path / "s"
    sweep(experiment(), OVER, KEEP, workers=0, store=store)
    for name in tasks(store):
        with np.load(store / name, allow_pickle=False) as file:
            assert all(file[k].dtype.kind != "O" for k in file.files)
    about = json.loads((store / "experiment.json").read_text())
    assert about["reluflow"] == {"format": 1, "what": "sweep"}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no `experiment.json` in it"),
        ("{", "is damaged"),
        ('{"reluflow": {"format": 9}}', "must have format 1"),
    ],
)
def test_what_is_no_sweep_is_not_read(tmp_path, content, sentence):
    if content is not None:
        (tmp_path / "experiment.json").write_text(content)
    with pytest.raises((ValueError, FileNotFoundError), match=sentence):
        load(tmp_path)
