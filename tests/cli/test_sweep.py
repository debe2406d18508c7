"""The command `sweep`: what it prints, what it writes, how it exits."""

import csv
import json
import re

import numpy as np
import pytest
from support.command import reluflow

from reluflow.sweep import load, pool

TOML = """\
# Two points over two scales.
[data]
kind = "two_points"
[init]
kind = "balanced"
width = 6
[solve]
t1 = 2.0
[sweep]
keep = ["final.log_loss", "stats.steps"]
[sweep.over]
"init.log_scale" = [-2.0, -4.0]
"init.seed" = [0, 1, 2]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text(TOML)
    return tmp_path


def test_a_file_is_swept_stored_and_summed_up(here, capsys):
    assert reluflow("sweep", "my.toml", "--workers", "0") == 0
    said = " ".join(capsys.readouterr().out.split())
    for word in (
        "6 (2 init.log_scale x 3 init.seed)",
        "6 reached",
        "least … median … largest",
        "final.log_loss",
        "saved",
    ):
        assert word in said
    exec(re.search(r"`(from .* import load)`", said)[1], {})  # what it says to read it with
    (store,) = (here / "runs").iterdir()
    ds = load(store)
    assert store.name == f"my-{ds.attrs['key'][:8]}"
    assert ds["final.log_loss"].shape == (2, 3)


def test_an_interrupted_sweep_is_resumed_and_says_nothing_twice(here, capsys):
    assert reluflow("sweep", "my.toml", "--workers", "0", "--out", "s") == 0
    before = load("s")
    sorted((here / "s").glob("task-*"))[0].unlink()
    assert reluflow("sweep", "my.toml", "--workers", "0", "--out", "s") == 2
    assert "add `--resume`" in capsys.readouterr().err
    assert reluflow("sweep", "my.toml", "--workers", "0", "--out", "s", "--resume") == 0
    np.testing.assert_array_equal(load("s")["final.log_loss"], before["final.log_loss"])
    assert reluflow("sweep", "my.toml", "--workers", "0", "--out", "s", "--resume", "--set", "init.width=7") == 2
    assert "`init.width` = 6 instead of 7" in " ".join(capsys.readouterr().err.split())


def test_failures_are_counted_and_named_with_their_first_point(here, capsys):
    arguments = ["--over", "solve.t1=[2.0, -1.0]", "--over", "init.seed=[0, 1]", "--workers", "0", "--out", "s"]
    assert reluflow("sweep", "my.toml", *arguments, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["points"], said["failed"]) == (8, 4)
    (reason,) = said["reasons"]
    assert "`t1` must be positive" in reason["reason"] and reason["points"] == 4
    assert reason["first"] == "init.log_scale = -2, init.seed = 0, solve.t1 = -1"


def test_a_table_and_a_picture_are_written_when_asked(here):
    arguments = ["--workers", "0", "--table", "t.csv", "--plot", "p.png", "--show", "stats.steps"]
    assert reluflow("sweep", "my.toml", *arguments) == 0
    with open("t.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    ds = load(next((here / "runs").iterdir()))
    assert [float(r["final.log_loss"]) for r in rows] == ds["final.log_loss"].values.ravel().tolist()
    assert (here / "p.png").read_bytes()[:4] == b"\x89PNG"


def test_random_designs_are_drawn_on_the_command_line(here, capsys):
    over = ["--over", "init.log_scale=[-9.0, -1.0]", "--over", "init.seed=[0, 999]"]
    plan = ["--design", "latin", "--points", "5", "--seed", "3", "--workers", "0", "--out", "s"]
    assert reluflow("sweep", "my.toml", *over, *plan) == 0
    ds = load("s")
    assert sorted(np.floor((ds["init.log_scale"].values + 9.0) / 8.0 * 5)) == [0, 1, 2, 3, 4]
    assert json.loads(ds.attrs["design"]) == "latin"


def test_quantities_are_listed(capsys):
    assert reluflow("sweep", "--quantities") == 0
    said = capsys.readouterr().out
    assert "final.log_loss" in said and "time.aligned" in said


def test_the_dashboard_is_told_and_workers_give_the_same_numbers(here, capsys):
    assert reluflow("sweep", "my.toml", "--workers", "0", "--out", "here") == 0
    assert reluflow("sweep", "my.toml", "--workers", "1", "--out", "there") == 0
    assert "watch them at http://127.0.0.1:" in capsys.readouterr().err
    np.testing.assert_array_equal(load("here")["final.log_loss"], load("there")["final.log_loss"])


def test_a_sweep_whose_points_all_fail_is_kept_and_exits_with_2(here, capsys):
    command = ("sweep", "my.toml", "--workers", "0", "--set", "solve.limits.steps=1", "--out", "s")
    assert reluflow(*command) == 2
    assert "error All 6 points failed, for instance: The run reached its step limit" in capsys.readouterr().err
    assert load(here / "s")["failed"].all()
    (here / "some.toml").write_text(TOML.replace("[-2.0, -4.0]", "[-2.0, 400.0]"))
    assert reluflow("sweep", "some.toml", "--workers", "0") == 0  # some of them is a result


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sweep", "none.toml"], "File not found: none.toml"),
        (["sweep", "my.toml", "--keep", "final.los"], "`final.los` is not a quantity to keep: did you mean"),
        (["sweep", "my.toml", "--scheduler", "tcp://127.0.0.1:1"], "No Dask scheduler answers at"),
        (["sweep", "my.toml", "--over", "init.seed"], "must look like key=value"),
    ],
)
def test_mistakes_are_one_sentence(here, capsys, monkeypatch, arguments, sentence):
    monkeypatch.setattr(pool, "CONNECT", 0.5)
    assert reluflow(*arguments) == 2
    assert sentence in capsys.readouterr().err


def test_a_title_is_the_files_own_first_comment_and_never_the_templates(tmp_path):
    from reluflow.cli.sweep import _title
    from reluflow.cli.template import template

    for text, title in ((template(), ""), ("# My sweep.\nformat = 1\n", "My sweep"), ("format = 1\n", ""), ("", "")):
        (tmp_path / "my.toml").write_text(text)
        assert _title(tmp_path / "my.toml") == title
