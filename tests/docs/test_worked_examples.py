"""The pages on adding a loss, a theorem, a figure and a paper: their files are built, installed and run as printed."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.docs.blocks import blocks, differs, run

import reluflow as rf
from reluflow.papers import _figures

ROOT = Path(__file__).parents[2]
EXTEND = ROOT / "docs" / "extend"


def written(page: str, folder: Path) -> list[Path]:
    """The files of a page, in a folder."""
    found = []
    for block in blocks((EXTEND / page).read_text(encoding="utf-8")):
        if block.file:
            target = folder / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.body, encoding="utf-8")
            found.append(target)
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder of installed packages with the one of the pages, by way of the wheel that its pyproject builds."""
    pytest.importorskip("hatchling", reason="hatchling builds the package of the pages")
    from hatchling.builders.wheel import WheelBuilder

    source, place = tmp_path_factory.mktemp("margin-paper"), tmp_path_factory.mktemp("site")
    for page in ("paper.md", "theorem.md", "figure.md"):
        written(page, source)
    (wheel,) = WheelBuilder(str(source)).build(directory=str(source / "dist"))
    zipfile.ZipFile(wheel).extractall(place)
    return place


@pytest.fixture
def installed(site, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    yield
    _figures.names.cache_clear()
    for name in [n for n in sys.modules if n.split(".")[0] == "margin_paper"]:
        del sys.modules[name]


@pytest.mark.parametrize("page", ["theorem.md", "figure.md", "paper.md"])
def test_a_package_of_ones_own_does_what_its_page_says(installed, page):
    done = run(EXTEND / page)
    assert done
    for _, shown, printed in done:
        if shown:
            assert not differs(printed, shown.body), f"{page}: {differs(printed, shown.body)}"


def test_the_figure_of_the_page_refuses_numbers_that_are_wrong(installed):
    figure = rf.papers["lyu2020"].figures["fig1"]
    ds = figure.compute("quick", log_t1=30.0)
    assert all(fact.ok for fact in figure.facts(ds))
    falling = ds.assign(smoothed=ds.smoothed[::-1].drop_vars("log_t"))
    assert not all(fact.ok for fact in figure.facts(falling))


def test_the_theorem_of_the_page_rejects_what_it_must(installed):
    toy = rf.data.toy_plane()
    start = rf.init.balanced(width=30, dim=2, log_scale=-20.0)
    noisy = rf.solve(rf.Problem(toy, start, loss="exponential"), rf.Descent(step=0.5, batch=1), t1=1000.0)
    assert rf.check("lyu2020.smoothed_margin", noisy).claims[0].verdict == "violated"
    first = rf.Problem(toy, rf.init.gaussian(30, 2, log_scale=0.0), loss="exponential", train="first")
    report = rf.check("lyu2020.smoothed_margin", rf.solve(first, t1=1e6))
    assert not report.applies and not report.ok
    early = rf.solve(rf.Problem(toy, start, loss="exponential"), t1=1.0)
    assert rf.check("lyu2020.smoothed_margin", early).claims[0].verdict == "unmeasured"


def test_ours_win_over_a_paper_of_the_same_name(installed, site, monkeypatch):
    from reluflow.papers import _found

    entry = next(site.glob("*.dist-info")) / "entry_points.txt"
    kept = entry.read_text()
    try:
        entry.write_text("[reluflow.papers]\nmin2024 = margin_paper\n")
        assert _found.module("min2024").__name__ == "reluflow.papers.min2024"
        assert _found.names().count("min2024") == 1
    finally:
        entry.write_text(kept)


def test_a_paper_announced_twice_names_both(installed, site, tmp_path, monkeypatch):
    from reluflow.papers import _found

    other = tmp_path / "other-2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.0\n")
    (other / "entry_points.txt").write_text("[reluflow.papers]\nlyu2020 = other_paper\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match="must be announced once") as told:
        _found.folder("lyu2020")
    assert "`margin_paper` of margin-paper" in str(told.value) and "`other_paper` of other" in str(told.value)
    assert rf.check("min2024.assumption1", rf.data.toy_plane()).ok  # others are not its problem


def test_a_package_that_is_gone_is_one_sentence(tmp_path, monkeypatch):
    from reluflow.papers import _found

    gone = tmp_path / "gone-1.0.dist-info"
    gone.mkdir()
    (gone / "METADATA").write_text("Metadata-Version: 2.1\nName: gone\nVersion: 1.0\n")
    (gone / "entry_points.txt").write_text("[reluflow.papers]\ngone2020 = gone_paper\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="gone_paper`, which gone announces: install gone again"):
        _found.folder("gone2020")
    assert rf.check("min2024.assumption1", rf.data.toy_plane()).ok


def test_the_patch_of_the_loss_page_gives_a_loss(tmp_path):
    """The kernels in plain Python: compiling them for one test would take minutes."""
    if shutil.which("git") is None:
        pytest.skip("git applies the patch")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "page", "mnist*"))
    patch, script = written("loss.md", tmp_path)
    told = subprocess.run(["git", "apply", patch.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    alone = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "NUMBA_DISABLE_JIT": "1"}
    told = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, env=alone, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert "times right to" in told.stdout
    bare = {**alone, "PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run([sys.executable, script.name], cwd=tmp_path, env=bare, capture_output=True, check=False)
    assert told.returncode != 0  # without the patch there is no such loss


def test_no_file_but_the_table_asks_which_loss_with_labels_it_is():
    asks = re.compile(r"EXPONENTIAL|LOGISTIC|SQUARE|[=!]= \"(exponential|logistic2?)\"|\"(exponential|logistic2?)\":")
    source = ROOT / "src" / "reluflow"
    apart = ("papers/", "explorer/", "cli/", "single/", "population/", "certify")  # these use losses by name, add none
    apart += ("engine/vector/", "drive/vector.py")  # several outputs: the square and softmax, no formulas of one output
    # The table, its documentation, the independent reference, and a convex programme a loss, which refuses others.
    own = ("losses.py", "problem.py", "reference/network.py", "bias/regularised.py")
    for file in sorted(source.rglob("*.py")):
        name = file.relative_to(source).as_posix()
        if not name.startswith(apart) and name not in own:
            assert not asks.search(file.read_text(encoding="utf-8")), f"{name} asks for a loss by name"
