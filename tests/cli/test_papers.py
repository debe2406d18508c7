"""`reluflow papers`: the list by package, references, and a package from the template whose own tests pass."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import reluflow as rf
from reluflow.cli import main

ROOT = Path(__file__).parents[2]


def reluflow(*arguments):
    try:
        main([str(a) for a in arguments])
    except SystemExit as left:
        return left.code or 0
    return 0


def test_papers_are_listed_by_package_ours_first(capsys):
    assert reluflow("papers", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    packages = [r["package"] for r in rows]
    assert packages[0] == "reluflow" and packages == sorted(packages, key=lambda p: (p != "reluflow", p))
    mine = {r["name"]: r for r in rows}["min2024"]
    assert mine["checks"] == len(rf.checks("min2024")) and mine["figures"] == list(rf.papers["min2024"].figures)


def test_figures_are_listed_under_their_package(capsys):
    assert reluflow("reproduce", "--list") == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "reluflow" and any(line.startswith("min2024  Min, Mallada, Vidal") for line in lines)
    assert reluflow("reproduce", "min2024", "--list", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {r["package"] for r in rows} == {"reluflow"}
    assert [r["figure"] for r in rows] == [f"min2024/{name}" for name in rf.papers["min2024"].figures]


def test_cite_prints_references_of_papers_that_have_one(capsys):
    assert reluflow("papers", "cite", "min2024") == 0
    assert capsys.readouterr().out.strip() == rf.papers["min2024"].reference
    assert rf.papers["min2024"].reference.startswith("@inproceedings{min2024early,")
    assert reluflow("papers", "cite") == 0
    out = capsys.readouterr().out
    for name in ("boursier2022", "kou2023", "lee2023", "min2024"):
        assert rf.papers[name].reference in out
    assert reluflow("papers", "cite", "extra") == 2
    assert "`extra` has no reference" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "name, text",
    [("min2024", "already the name of a paper, of reluflow"), ("two words", "one word"), ("_own", "one word")],
)
def test_a_name_that_cannot_be_a_new_paper_is_one_sentence(name, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert reluflow("papers", "new", name) == 2
    assert text in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smith2025").mkdir()
    assert reluflow("papers", "new", "smith2025") == 2
    assert "must be a new folder" in " ".join(capsys.readouterr().err.split())


def test_a_package_from_the_template_is_found_and_its_own_tests_pass(tmp_path, monkeypatch):
    pytest.importorskip("hatchling", reason="hatchling builds the package")
    from hatchling.builders.wheel import WheelBuilder

    monkeypatch.chdir(tmp_path)
    assert reluflow("papers", "new", "smith2025", "--title", 'Smith: The "end" (2025).') == 0
    (wheel,) = WheelBuilder(str(tmp_path / "smith2025")).build(directory=str(tmp_path / "dist"))
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    paths = [str(site), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "smith2025"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0 and "5 passed" in told.stdout, told.stdout + told.stderr
    assert "@" not in (tmp_path / "smith2025" / "pyproject.toml").read_text()


def test_files_of_the_template_follow_the_style(tmp_path, monkeypatch):
    pytest.importorskip("ruff", reason="ruff checks the style")
    monkeypatch.chdir(tmp_path)
    assert reluflow("papers", "new", "smith2025") == 0
    for command in (["check"], ["format", "--check"]):
        told = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--line-length", "120", "smith2025"],
            capture_output=True,
            text=True,
        )
        assert told.returncode == 0, told.stdout


def test_a_paper_without_figures_is_a_paper_and_reproduce_says_so(tmp_path, monkeypatch, capsys):
    pack = tmp_path / "bare_pack"
    pack.mkdir()
    (pack / "__init__.py").write_text('"""Bare: no figure."""\n')
    info = tmp_path / "bare_pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bare-pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[reluflow.papers]\nbare2025 = bare_pack\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert rf.papers["bare2025"].title == "Bare: no figure." and "bare2025" not in list(rf.papers)
    assert rf.papers["bare2025"].package == "bare-pack" and rf.papers["bare2025"].reference == ""
    assert reluflow("reproduce", "bare2025") == 2
    assert "The paper bare2025 has no figure" in " ".join(capsys.readouterr().err.split())
