"""The commands `run`, `data`, `bench`: what they print, what they write, how they exit."""

import dataclasses
import gzip
import hashlib
import importlib
import json
import subprocess
import sys
import time

import numpy as np
import pytest
from support.command import reluflow
from support.counted import Clock, press_ctrl_c

import reluflow as rf
from reluflow.cli import main
from reluflow.drive import driver_for

TOML = """\
[data]
kind = "two_points"
[init]
kind = "balanced"
width = 8
log_scale = -3.0
[solve]
t1 = 5.0
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text(TOML)
    return tmp_path


def test_run_saves_and_says_what_happened(here, capsys):
    assert reluflow("run", "my.toml") == 0
    said = capsys.readouterr().out
    for word in (
        "two_points: 2 points in R^2",
        "8 ReLU neurons from e^-3",
        "The run reached its end time.",
        "energy identity",
    ):
        assert word in said
    (run,) = (here / "runs").iterdir()
    assert rf.load(run).experiment == rf.Experiment.from_toml("my.toml")
    assert reluflow("run", "my.toml") == 0
    assert sorted(p.name for p in (here / "runs").iterdir()) == [run.name, f"{run.name}-2"]


def test_run_sets_dotted_keys_and_speaks_json(here, capsys):
    arguments = ["--set", "init.seed=3", "--set", "problem.loss=logistic", "--set", "solve.save.times=[0.0, 2.5]"]
    assert reluflow("run", "my.toml", *arguments, "--out", "out", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["run"] == "out"
    assert said["outcome"] == "reached"
    sol = rf.load("out")
    assert (sol.experiment["init.seed"], sol.experiment["problem.loss"]) == (3, "logistic")
    np.testing.assert_array_equal(sol.t, [0.0, 2.5])
    assert said["key"] == sol.experiment.key
    assert said["log_loss_end"] == sol.log_loss[-1]


def test_run_confirms_and_says_so_in_a_sentence_or_in_json(here, capsys):
    assert reluflow("run", "my.toml", "--confirm") == 0
    assert "Confirmed by a second run with rtol 1e-10 in the windows regime: all" in capsys.readouterr().out
    assert reluflow("run", "my.toml", "--confirm", "--json") == 0
    said = json.loads(capsys.readouterr().out)["confirmation"]
    assert said["confirmed"] and said["text"].startswith("Confirmed") and said["reason"] is None
    assert said["events"] == said["agreeing"] > 0 and said["outputs"] < said["promise"] == 1e-6


def test_run_exits_with_1_when_the_second_run_differs(here, capsys, monkeypatch):
    module, right = importlib.import_module("reluflow.confirm"), driver_for
    monkeypatch.setattr(
        module, "driver_for", lambda problem, method, end, regime: right(problem, rf.Flow(1e-3), end, regime=regime)
    )
    assert (
        reluflow("run", "my.toml", "--confirm", "--json", "--set", "method.rtol=1e-10", "--set", "init.log_scale=-1")
        == 1
    )
    said = json.loads(capsys.readouterr().out)["confirmation"]
    assert not said["confirmed"] and said["reason"] == "beyond the promise"
    assert set(said["first"]) == {"log_t", "neuron", "datum", "kind", "what"}


def test_confirm_refuses_descent_before_it_runs(here, capsys):
    change = ["--set", "method.kind=descent", "--set", "method.step=0.1"]
    assert reluflow("run", "my.toml", "--confirm", *change) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert '`--confirm` is for exact flows, got method.kind = "descent"' in said
    assert not (here / "runs").exists()


def test_run_draws_what_it_found(here, capsys):
    assert reluflow("run", "my.toml", "--plot", "my.png") == 0
    assert (here / "my.png").read_bytes().startswith(b"\x89PNG")
    assert "picture in my.png" in capsys.readouterr().out
    for bad, sentence in (("my.gif", "must name a PNG, PDF or SVG file"), ("no/my.png", "Folder not found: no")):
        assert reluflow("run", "my.toml", "--plot", bad, "--out", "none") == 2
        assert sentence in " ".join(capsys.readouterr().err.split())
        assert not (here / "none").exists()


def test_a_run_is_verified_bit_for_bit(here, capsys):
    reluflow("run", "my.toml", "--out", "out")
    capsys.readouterr()
    assert reluflow("run", "--verify", "out") == 0
    assert "differs" not in capsys.readouterr().out
    assert reluflow("run", "--verify", "out", "--json") == 0
    assert json.loads(capsys.readouterr().out)["identical"] is True


def test_verify_notices_another_result(here, capsys):
    sol = rf.Experiment.from_toml("my.toml").run()
    sol.experiment = sol.experiment.changed({"init.seed": 5})
    sol.save("out")
    assert reluflow("run", "--verify", "out") == 1
    said = capsys.readouterr().out
    assert "differs" in said and "differs from the start: its initial weights" in said


def test_verify_says_where_a_run_of_the_same_versions_parts(here, capsys):
    sol = rf.Experiment.from_toml("my.toml").run()
    sol.experiment = sol.experiment.changed({"method.rtol": 1e-7})
    again = sol.experiment.run()
    first = next(k for k in range(len(sol.t)) if sol.t[k] != again.t[k])
    sol.save("out")
    assert reluflow("run", "--verify", "out/zarr.json", "--json") == 1
    said = json.loads(capsys.readouterr().out)
    assert said["identical"] is said["agrees"] is False and said["versions_changed"] == []
    assert said["verdict"].startswith(f"The recomputed run differs from frame {first} on (t = {sol.t[first]:.6g})")
    assert said["verdict"].endswith(", and nothing recorded has changed.")


def by_another_numpy(monkeypatch, sol, path):
    from reluflow import store

    with monkeypatch.context() as patch:
        now = store.versions()
        patch.setattr(store, "versions", lambda: now | {"numpy": "1.0.0"})
        sol.save(path)


def test_verify_of_a_run_by_other_versions_goes_by_the_stated_tolerance(here, capsys, monkeypatch):
    experiment = rf.Experiment.from_toml("my.toml")
    for rtol, status in ((9e-9, 0), (1e-3, 1)):  # the run promises rtol = 1e-8
        sol = experiment.changed({"method.rtol": rtol}).run()
        sol = rf.Solution(dataclasses.replace(sol.recording, method=experiment.method()), sol.replay)
        sol.experiment = experiment
        by_another_numpy(monkeypatch, sol, f"out{status}")
        assert reluflow("run", "--verify", f"out{status}", "--json") == status
        said = json.loads(capsys.readouterr().out)
        assert said["identical"] is False and said["agrees"] is (status == 0)
        assert said["verdict"].startswith("Computed by other versions (numpy 1.0.0 → ")
        assert "to the tolerance stated" in said["verdict"] and "200 rtol = 2e-06 allowed" in said["verdict"]


def test_a_run_that_was_cut_short_is_verified_as_far_as_it_goes(here, capsys):
    def stop(now):
        raise KeyboardInterrupt

    more = '[method]\nkind = "descent"\nstep = 1e-3\nfast_forward = false\n[problem]\nloss = "logistic"\n'
    (here / "long.toml").write_text(TOML.replace("t1 = 5.0", "t1 = 1e9") + more)
    sol = rf.Experiment.from_toml("long.toml").run(progress=stop)
    assert sol.outcome is rf.Outcome.INTERRUPTED
    sol.save("out")
    assert reluflow("run", "--verify", "out") == 0
    assert "The same bits." in capsys.readouterr().out


def test_a_run_that_was_cut_short_goes_on(here, capsys):
    assert (
        reluflow("run", "my.toml", "--set", "solve.limits.steps=3", "--set", "solve.throw=false", "--out", "part") == 0
    )
    assert reluflow("run", "--resume", "part", "--out", "whole", "--json") == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["outcome"] == "reached"
    plain = rf.Experiment.from_toml("my.toml").run()
    np.testing.assert_allclose(rf.load("whole").outputs[-1], plain.outputs[-1], atol=1e-6)
    assert sorted(p.name for p in here.iterdir()) == ["my.toml", "part", "whole"]


def test_a_name_taken_while_a_run_was_under_way_is_chosen_again(here, capsys, monkeypatch):
    real = rf.Experiment.run

    def meanwhile(self, progress=None):
        sol = real(self, progress)
        monkeypatch.setattr(rf.Experiment, "run", real)
        assert reluflow("run", "my.toml") == 0
        return sol

    monkeypatch.setattr(rf.Experiment, "run", meanwhile)
    assert reluflow("run", "my.toml") == 0
    runs = sorted((here / "runs").iterdir())
    assert len(runs) == 2 and repr(rf.load(runs[0])).split(":")[0] == repr(rf.load(runs[1])).split(":")[0]


def test_the_template_runs_and_names_every_argument(here, capsys):
    from reluflow import _schema

    assert reluflow("run", "--template") == 0
    text = capsys.readouterr().out
    (here / "template.toml").write_text(text)
    assert rf.Experiment.from_toml("template.toml")["init.log_scale"] == -16.0
    assert reluflow("run", "template.toml", "--set", "solve.t1=1.0") == 0
    for table in _schema.tables().values():
        for kind in table.kinds.values():
            for name in kind.params:
                assert f"{name} = " in text or f".{name}]" in text or f'"{name}' in text, name
    assert max(len(line) for line in text.split("\n")) <= 120


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "none.toml"], "error File not found: none.toml."),
        (
            ["run", "my.toml", "--set", "init.widht=3"],
            "error `init.widht` is not an argument of `rf.init.balanced`: did you",
        ),
        (
            ["run", "my.toml", "--set", "seed"],
            "error `--set` must look like key=value, got 'seed': as in `--set init.seed=3`.",
        ),
        (["run", "my.toml", "--out", "my.toml"], "error `my.toml` already exists"),
        (["run", "--verify", "none"], "error Run folder not found: none."),
        (
            ["run", "my.toml", "--set", "solve.limits.steps=3"],
            "error The run reached its step limit: raise `Limits(steps=...)`",
        ),
        (
            ["data", "describe", "two_pints"],
            "error `two_pints` is not a generator, nor a .csv, .npz or .toml file: did you",
        ),
        (["data", "describe", "orthonormal"], "error `n` is required by `rf.data.orthonormal`"),
        (["data", "make", "two_points", "--out", "a.txt"], "error `--out` must end in .csv or .npz, got `a.txt`"),
        (["data", "get", "cifar"], "error `reluflow data get` downloads mnist only, got 'cifar'"),
        (["bench", "none-such"], "error "),
        (["demo", "--log-scale", "3"], "error `--log-scale` must lie in [-1e6, -10], got 3"),
    ],
)
def test_errors_are_one_sentence_and_status_2(here, capsys, arguments, sentence):
    assert reluflow(*arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith(sentence)
    assert said.count("\n") == 1
    assert "Traceback" not in said


@pytest.mark.parametrize("command", [["run"], ["sweep"], ["explore"], ["check", "min2024.theorem1"]])
def test_data_given_for_an_experiment_are_told_from_it(here, capsys, command):
    rf.data.two_points().to_csv("points.csv")
    assert reluflow(*command, "points.csv") == 2
    said = capsys.readouterr().err
    assert said.startswith("error `points.csv` is a data file, not an experiment: refer to it")
    assert said.count("\n") == 1


def test_too_little_memory_is_a_sentence(here, capsys, monkeypatch):
    def run(self, progress=None):
        raise MemoryError("Unable to allocate 8.51 MiB for an array")

    monkeypatch.setattr(rf.Experiment, "run", run)
    assert reluflow("run", "my.toml") == 2
    assert capsys.readouterr().err.startswith("error The run does not fit in memory: lower")


def test_debug_shows_the_traceback(here):
    with pytest.raises(rf.ExperimentError):
        main(["run", "none.toml", "--debug"])


def test_a_mistake_in_a_file_is_said_with_its_line(here, capsys):
    (here / "bad.toml").write_text(TOML.replace("width = 8", "width = 0").replace("t1 = 5.0", "t2 = 5.0"))
    assert reluflow("run", "bad.toml") == 2
    first, second = capsys.readouterr().err.strip().split("\n")
    assert first.startswith("error bad.toml line 5: `width` must be a whole number >= 1, got 0")
    assert second == "error bad.toml line 8: `solve.t2` is not an argument of `rf.solve`: did you mean `t1`?"
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    "command",
    [[], ["run"], ["demo"], ["data"], ["data", "describe"], ["data", "make"], ["data", "get"], ["bench"], ["words"]],
)
def test_every_help_has_an_example(command, capsys):
    assert reluflow(*command, "--help") == 0
    said = capsys.readouterr().out
    assert "Example" in said or not command
    assert f"reluflow {' '.join(command)}".strip() in said


def test_data_are_described_and_made(here, capsys):
    assert reluflow("data", "make", "orthonormal", "--set", "n=3", "--set", "seed=2", "--out", "points.csv") == 0
    assert rf.data.from_csv("points.csv") == rf.data.orthonormal(3, seed=2)
    assert reluflow("data", "make", "points.csv", "--bias", "--out", "more.csv") == 0
    assert np.array_equal(rf.data.from_csv("more.csv").x, rf.data.from_csv("points.csv").with_bias().x)
    before = (here / "more.csv").read_bytes()
    for source in ("points.csv", "more.csv"):
        capsys.readouterr()
        assert reluflow("data", "make", source, "--bias", "--out", "more.csv") == 2
        assert "`more.csv` already exists: choose another `--out`" in capsys.readouterr().err
    assert (here / "more.csv").read_bytes() == before
    for source in ("points.csv", "my.toml", "five_points"):
        assert reluflow("data", "describe", source) == 0
    capsys.readouterr()
    assert reluflow("data", "describe", "two_points", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n"] == 2


def test_mnist_is_fetched_once_and_checked(tmp_path, monkeypatch):
    from reluflow.cli import _fetch
    from reluflow.data import digits

    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    files = {}
    for part, pair in digits.FILES.items():
        files[part] = tuple(f._replace(sha256=hashlib.sha256(f.name.encode()).hexdigest()) for f in pair)
        for f in pair:
            (source / f"{f.name}.gz").write_bytes(gzip.compress(f.name.encode()))
    monkeypatch.setattr(digits, "FILES", files)
    assert all("downloaded" in line for line in _fetch.mnist(target, source.as_uri() + "/"))
    assert all("already present" in line for line in _fetch.mnist(target, "file:///nowhere/"))
    next(target.iterdir()).write_bytes(b"damaged")
    with pytest.raises(ValueError, match="Cannot download"):
        list(_fetch.mnist(target, "file:///nowhere/"))
    (source / next(iter(files.values()))[0].name).with_suffix(".gz").write_bytes(gzip.compress(b"other"))
    with pytest.raises(ValueError, match="must have the checksum"):
        list(_fetch.mnist(tmp_path / "third", source.as_uri() + "/"))
    assert not any(p.name.endswith(".part") for p in target.iterdir())


def test_a_folder_that_cannot_be_written_is_refused_before_the_run(here, capsys):
    (here / "file").write_text("")
    assert reluflow("run", "my.toml", "--out", "file/run") == 2
    assert "Cannot write to file/run" in capsys.readouterr().err


def test_control_c_keeps_what_there_is(here, capsys, monkeypatch):
    more = '[method]\nkind = "descent"\nstep = 1e-3\nfast_forward = false\n[problem]\nloss = "logistic"\n'
    (here / "long.toml").write_text(TOML.replace("t1 = 5.0", "t1 = 1e9") + more)
    monkeypatch.setattr(time, "perf_counter", Clock(at=30, do=press_ctrl_c))
    assert reluflow("run", "long.toml", "--out", "out") == 130
    said = capsys.readouterr().out
    assert "interrupted" in said and "continue with: reluflow run --resume out" in said
    assert rf.load("out").outcome is rf.Outcome.INTERRUPTED


def test_help_needs_no_repository(tmp_path):
    done = subprocess.run([sys.executable, "-m", "reluflow", "--version"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == f"reluflow {rf.__version__}"


def test_a_full_disk_is_a_sentence_and_status_2(here, capsys):
    from tests.test_store import mounted

    (here / "disk").mkdir()
    with mounted(here / "disk", "size=64k") as disk:
        assert reluflow("run", "my.toml", "--out", "disk/run") == 2
        said = capsys.readouterr().err
        assert said.startswith("error Cannot write to disk/run (no space left on device): free disk space")
        assert said.count("\n") == 1
        assert list(disk.iterdir()) == []


def test_words_of_reports_are_explained(capsys):
    assert reluflow("words", "kkt") == 0 and "optimality conditions" in capsys.readouterr().out
    assert reluflow("words") == 0 and "stable rank" in capsys.readouterr().out
    assert reluflow("words", "sadle") == 2
    assert capsys.readouterr().err.strip() == 'error "sadle" is not in the glossary: did you mean `saddle`?'


def test_words_of_the_reports_are_explained(capsys):
    for word, text in (("half", "midway between the plateau"), ("stationary", "the flow stays where it is")):
        assert reluflow("words", word) == 0
        assert text in " ".join(capsys.readouterr().out.split())


def test_the_template_explains_its_lists(capsys):
    assert reluflow("run", "--template") == 0
    said = capsys.readouterr().out
    assert "columns = ...         # names of the columns of x" in said and "fixed = ...           # one list" in said
