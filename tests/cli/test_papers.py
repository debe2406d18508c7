"""`reluflow papers`: the list by package, references, and a package from the template whose own tests pass."""

import importlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.command import reluflow

import reluflow as rf

ROOT = Path(__file__).parents[2]


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


def installed(tmp_path, monkeypatch, name, *more):
    """A pack made from the template and found on the path, as an editable installation is."""
    monkeypatch.chdir(tmp_path)
    assert reluflow("papers", "new", name, *more) == 0
    info = tmp_path / name / f"{name}_pack-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-pack\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[reluflow.papers]\n{name} = {name}_pack\n")
    monkeypatch.syspath_prepend(str(tmp_path / name))
    monkeypatch.delitem(sys.modules, f"{name}_pack", raising=False)
    return tmp_path / name / f"{name}_pack"


def rewritten(file, old, new):
    """The same file with a line changed, imported anew as a new command does."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    sys.modules.pop(f"{file.parent.name}.{file.stem}", None)
    importlib.invalidate_caches()


def line_of(file, words):
    return next(k for k, line in enumerate(file.read_text().splitlines(), 1) if words in line)


@pytest.mark.parametrize(
    "fault, text",
    [
        ("raise_this", "NameError: name 'raise_this' is not defined"),
        ("{}['centre']", "KeyError: 'centre'"),
        ("rf.Data([[1.0]], [1.0, 2.0])", "got 2 for 1 rows (faulty2025_pack/"),
    ],
)
def test_an_error_in_a_packs_own_code_names_the_file_and_the_line(fault, text, tmp_path, monkeypatch, capsys):
    pack = installed(tmp_path, monkeypatch, "faulty2025")
    rewritten(pack / "fig1.py", "    data = rf.Data([[X]], [Y])\n", f"    data = {fault}\n")
    assert reluflow("reproduce", "faulty2025/fig1") == 2
    told = " ".join(capsys.readouterr().err.split())
    place = f"faulty2025_pack/fig1.py, line {line_of(pack / 'fig1.py', fault)}"
    assert text in told and place in told and "report it" not in told, told
    assert reluflow("reproduce", "faulty2025", "--jobs", "1") == 2
    assert place in " ".join(capsys.readouterr().out.split())


def test_a_file_of_a_pack_that_is_not_python_is_named_with_the_line(tmp_path, monkeypatch, capsys):
    pack = installed(tmp_path, monkeypatch, "spelt2025")
    rewritten(pack / "fig1.py", "def draw(ds):", "def draw(ds")
    line = line_of(pack / "fig1.py", "def draw(ds")
    assert reluflow("reproduce", "spelt2025/fig1") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"{pack / 'fig1.py'}, line {line})" in told and "report it" not in told, told


def test_a_check_that_fails_in_its_own_code_is_left_out_with_the_file_and_the_line(tmp_path, monkeypatch):
    pack = installed(tmp_path, monkeypatch, "checked2025")
    rewritten(pack / "theorem1.py", "    size = _squared_norms(solution)\n", "    size = 1 / 0\n")
    sol = rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(3, 2, log_scale=-1.0, seed=0)), t1=1.0)
    ((name, why),) = rf.check("checked2025", sol).left_out
    line = line_of(pack / "theorem1.py", "1 / 0")
    assert name == "checked2025.theorem1" and f"(checked2025_pack/theorem1.py, line {line})" in why
    assert "ZeroDivisionError: division by zero" in why


def test_an_error_outside_any_pack_is_told_as_before(capsys):
    assert reluflow("reproduce", "min2024/fig4", "--set", "nothing=1") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "`nothing` is not a setting" in told and ", line " not in told


@pytest.mark.parametrize(
    "title, lines",
    [
        (
            "Smith, Jones: How neurons turn (2025).",
            ["@misc{said2025,", "author = {Smith and Jones},", "title  = {How neurons turn},", "year   = {2025},"],
        ),
        (
            "Ana Smith and Bo Jones: Slow limits: a survey (NeurIPS 2031).",
            ["author = {Ana Smith and Bo Jones},", "title  = {Slow limits: a survey},", "note   = {NeurIPS},"],
        ),
        ("Notes on turning", ["author = {The authors},", "title  = {Notes on turning},", "year   = {2025},"]),
        (None, ["author = {The authors},", "title  = {The title},", "year   = {2025},"]),
    ],
)
def test_the_title_of_a_new_pack_fills_its_reference(title, lines, tmp_path, monkeypatch, capsys):
    pack = installed(tmp_path, monkeypatch, "said2025", *(["--title", title] if title else []))
    capsys.readouterr()
    assert reluflow("papers", "cite", "said2025") == 0
    told = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert set(lines) <= set(told), told
    assert ("year   = {2031}," in told) == ("2031" in (title or ""))
    assert pack.is_dir()


def test_numbers_are_computed_again_after_the_code_that_computes_them_changed(tmp_path, monkeypatch, capsys):
    pack = installed(tmp_path, monkeypatch, "edited2025")

    def made():
        assert reluflow("reproduce", "edited2025/fig1", "--json") == 0
        return json.loads(capsys.readouterr().out)

    capsys.readouterr()
    assert not made()["resumed"] and made()["resumed"]
    rewritten(pack / "fig1.py", 'ylabel="time to half the label"', 'ylabel="time"')
    assert made()["resumed"], "drawing needs no new numbers"
    rewritten(pack / "fig1.py", "for _ in range(60):", "for _ in range(50):")
    assert not made()["resumed"] and made()["resumed"]
    (pack / "_setting.py").write_text("A = 1\n")
    assert not made()["resumed"], "a helper's file may be what `compute` calls"
    (pack / "_setting.py").write_text('"""Constants."""\n\nA = 1  # explained\n')
    assert made()["resumed"], "words about the code are not code"


def test_a_paper_inside_a_package_that_is_gone_is_one_sentence_that_names_the_distribution(
    tmp_path, monkeypatch, capsys
):
    info = tmp_path / "gone_pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gone-pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[reluflow.papers]\ngone2025 = gone_pack.gone2025\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert reluflow("papers") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "`gone_pack.gone2025`, which gone-pack announces: install gone-pack again, or remove it." in told
