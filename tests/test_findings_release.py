"""What independent fault tests found before release (R1-R14), each as a test that version 0.1 fails.

R1 (the same bits always) is in tests/flow/test_findings.py and tests/trust/test_determinism.py, R2 (SIGTERM) in
tests/test_solution.py, R5 (a sweep of failures) in tests/cli/test_sweep.py.
"""

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import reluflow as rf
from reluflow import store
from reluflow.cli import app

ROOT = Path(__file__).parents[1]


def small():
    return rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(4, 2, log_scale=-2.0)), t1=3.0)


# R3 -------------------------------------------------------------------------------------------------------------------


def numbers(tmp_path):
    import xarray as xr

    from reluflow.papers import _figures

    path = tmp_path / "numbers.zarr"
    _figures.save_numbers(xr.Dataset({"a": ("k", np.arange(5.0)), "b": ("k", list("vwxyz"))}), path)
    return path, _figures.load_numbers


def test_r3_numbers_of_a_figure_are_read_back_as_they_were(tmp_path):
    path, load = numbers(tmp_path)
    assert load(path)["a"].values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0] and load(path)["b"].values.tolist() == [
        *"vwxyz"
    ]


def test_r3_a_deleted_or_changed_chunk_of_a_figure_is_noticed(tmp_path):
    path, load = numbers(tmp_path)
    chunk = next(p for p in sorted(path.rglob("*")) if p.is_file() and p.parent.name == "c")
    kept = chunk.read_bytes()
    chunk.unlink()
    with pytest.raises(ValueError, match="missing or changed"):
        load(path)
    chunk.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    with pytest.raises(ValueError, match="missing or changed"):
        load(path)
    chunk.write_bytes(kept)
    assert load(path).sizes["k"] == 5


# R4 -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["problem.loss", "stats.steps", "outcome", "method.rtol", "seal", "versions.reluflow"])
def test_r4_attributes_changed_after_saving_are_noticed(key, tmp_path):
    path = small().save(tmp_path / "run")
    meta = json.loads((path / "zarr.json").read_text())
    where = meta["attributes"]
    *folders, last = key.split(".")
    for part in folders:
        where = where[part]
    where[last] = {"loss": "hinge2", "steps": 1, "outcome": "STATIONARY", "rtol": 1e-3}.get(last, "other")
    (path / "zarr.json").write_text(json.dumps(meta))
    with pytest.raises(ValueError, match="changed after it was saved"):
        rf.load(path)


def test_r4_a_removed_checksum_is_noticed_and_runs_of_version_0_1_still_load(tmp_path):
    path = small().save(tmp_path / "run")
    meta = json.loads((path / "zarr.json").read_text())
    del meta["attributes"]["seal"]
    (path / "zarr.json").write_text(json.dumps(meta))
    with pytest.raises(ValueError, match="changed after it was saved"):
        rf.load(path)
    assert rf.load(ROOT / "tests" / "golden" / "flow_format1").call is None


# R6 -------------------------------------------------------------------------------------------------------------------


def test_r6_a_run_names_the_source_that_made_it(tmp_path):
    made_by = store.read_attributes(small().save(tmp_path / "run"))["versions"]
    assert made_by["source"] == store.source()["source"] and re.fullmatch("[0-9a-f]{16}", made_by["source"])
    if (ROOT / ".git").exists():
        assert re.fullmatch("[0-9a-f]{40}", made_by["commit"])


def test_r6_the_commit_is_read_from_a_checkout_a_worktree_and_packed_references(tmp_path):
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text("# pack-refs\n" + "b" * 40 + " refs/heads/main\n")
    assert store._commit(tmp_path) == "b" * 40
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "refs" / "heads" / "main").write_text("c" * 40 + "\n")
    assert store._commit(tmp_path) == "c" * 40
    tree = tmp_path / "tree"
    tree.mkdir()
    inner = git / "worktrees" / "tree"
    inner.mkdir(parents=True)
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {inner}\n")
    assert store._commit(tree) == "c" * 40
    assert store._commit(tmp_path / "refs") == ""


def test_r6_a_sweep_is_not_resumed_by_other_source(tmp_path, monkeypatch):
    experiment = rf.Experiment(data={"kind": "two_points"}, init={"kind": "balanced", "width": 3}, solve={"t1": 1.0})
    again = dict(over={"init.seed": [0, 1]}, keep=["final.log_loss"], workers=0, store=tmp_path / "sweep")
    rf.sweep(experiment, **again)
    assert not rf.sweep(experiment, **again, resume=True)["failed"].any()
    monkeypatch.setattr(store, "source", lambda: {"source": "0" * 16})
    with pytest.raises(ValueError, match="begun by other source code"):
        rf.sweep(experiment, **again, resume=True)


# R7, R8 ---------------------------------------------------------------------------------------------------------------


def test_r7_a_lost_energy_balance_is_an_outcome_and_not_a_success(monkeypatch):
    from reluflow import solution

    assert small().outcome.success
    monkeypatch.setattr(solution, "ENERGY_MOST", -1.0)
    assert small().outcome is rf.Outcome.INACCURATE and not rf.Outcome.INACCURATE.success


def test_r8_a_python_that_is_missing_or_too_old_is_refused(tmp_path):
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "env.sh", tmp_path / "scripts")
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    for python in (str(tmp_path / "missing"), str(old)):
        env = {**os.environ, "PYTHON": python}
        told = subprocess.run(
            ["sh", "scripts/env.sh", "core"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert told.returncode != 0 and f"PYTHON={python} is not Python 3.11 or newer" in told.stderr
        assert not (tmp_path / ".venv").exists()


# R9 -------------------------------------------------------------------------------------------------------------------


def test_r9_a_received_file_does_not_run_functions_that_it_names_unless_trusted(tmp_path, monkeypatch):
    (tmp_path / "foreign.py").write_text(
        "from pathlib import Path\nPath('ran').touch()\n\ndef steps(sol):\n    return sol.stats.steps\n"
    )
    (tmp_path / "received.toml").write_text(
        'format = 1\n[data]\nkind = "two_points"\n[init]\nkind = "balanced"\nwidth = 3\n[solve]\nt1 = 1.0\n'
        '[sweep]\nkeep = ["foreign:steps"]\n[sweep.over]\n"init.seed" = [0, 1]\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    experiment = rf.Experiment.from_toml("received.toml")
    with pytest.raises(ValueError, match=r"names the function `foreign:steps`.*`--trust`"):
        rf.sweep(experiment, workers=0)
    done = CliRunner().invoke(app, ["sweep", "received.toml", "--workers", "0"])
    assert done.exit_code != 0 and not Path("ran").exists()
    ds = rf.sweep(experiment, workers=0, trust=True)
    assert np.all(ds["foreign:steps"] > 0) and Path("ran").exists()
    assert not rf.sweep(experiment, keep=["foreign:steps"], workers=0)["failed"].any()  # the caller's own words


# R10 to R14 -----------------------------------------------------------------------------------------------------------


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!\[;]", r)[0] for r in requirements}


def test_r10_what_solving_does_not_need_is_not_required():
    core = names(project()["dependencies"])
    assert not core & {"pydantic", "distributed", "starlette", "uvicorn"}
    assert {"numpy", "scipy", "numba", "xarray", "zarr"} <= core
    extras = project()["optional-dependencies"]
    assert "distributed" in names(extras["sweep"]) and {"starlette", "uvicorn"} <= names(extras["explore"])


def test_r10_every_requirement_has_a_lower_and_the_compiled_ones_an_upper_bound():
    for requirement in project()["dependencies"]:
        assert ">=" in requirement, requirement
    bounded = {re.split(r"[<>=!]", r)[0]: r for r in project()["dependencies"]}
    assert "<" in bounded["numba"] and "<" in bounded["zarr"]


def test_r11_every_version_of_python_that_is_claimed_is_tested():
    claimed = {c.split(" :: ")[-1] for c in project()["classifiers"] if re.search(r":: 3\.\d+$", c)}
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    tested = set(re.findall(r'"(3\.\d+)"', workflow))
    assert claimed == tested
    for how in ("lowest", "locked", "newest"):
        assert how in workflow


def test_r12_the_version_is_the_same_everywhere_and_the_policy_is_written_down():
    version = project()["version"]
    assert rf.__version__ == version == "0.2.0"
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
    assert "## Compatibility" in (ROOT / "CONTRIBUTING.md").read_text()
    paper = (ROOT / "paper.md").read_text()
    for part in ("# Summary", "# Statement of need", "# State of the field", "# Design", "# Limits"):
        assert part in paper


def test_r13_functions_without_annotations_are_type_checked_too():
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tools["mypy"]["check_untyped_defs"] is True


def test_r14_no_test_interrupts_a_run_by_a_clock():
    clocks = re.compile(r"threading\.Tim" + r"er\(|ITIMER" + r"_REAL|signal\.ala" + r"rm\(")
    found = [p.name for p in sorted((ROOT / "tests").rglob("*.py")) if clocks.search(p.read_text(encoding="utf-8"))]
    assert found == []
