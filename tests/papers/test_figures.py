"""Figures: found by their path, computed with settings, kept and read back, drawn from numbers alone."""

import json

import numpy as np
import pytest
import xarray as xr

import reluflow as rf
from reluflow.papers import _figures

WANTED = {
    "boursier2022": [f"fig{k}" for k in range(1, 8)],
    "min2024": [
        *(f"fig{k}" for k in (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21)),
        "drawings",
        "poster_panel",
    ],
    "kou2023": [f"fig{k}" for k in range(1, 6)],
    "lee2023": [f"fig{k}" for k in range(1, 5)],
}


@pytest.mark.parametrize("paper", WANTED)
def test_every_figure_of_a_paper_is_there_in_its_order(paper):
    assert list(rf.papers[paper].figures) == WANTED[paper]


@pytest.mark.parametrize("paper", WANTED)
def test_every_figure_has_all_its_parts(paper):
    for name, figure in rf.papers[paper].figures.items():
        module = figure.module
        assert figure.title.startswith(("Figure " + name[3:] + " of", "The panel of", "Figures 1, 2, 3, 18")), name
        assert set(module.SETTINGS) == {"quick", "full"} and set(module.SETTINGS["quick"]) == set(
            module.SETTINGS["full"]
        )
        assert all(hasattr(module, part) for part in ("compute", "facts", "draw", "caption")), name


def test_figures_of_no_paper_have_names_that_say_what_they_show_and_come_last():
    assert [p for p in rf.papers if rf.papers[p].package == "reluflow"][-1] == "extra"
    names = list(rf.papers["extra"].figures)
    files = [p.stem for p in _figures._found.folder("extra").glob("*.py") if not p.name.startswith("_")]
    assert sorted(names) == sorted(files) and {"groups_of_saddles", "not_minimum_norm", "stable_rank_rate"} <= set(
        names
    )
    for name in names:
        figure = rf.papers["extra"].figures[name]
        assert not name.startswith("fig") and len(figure.title) > 40, name
        assert all(hasattr(figure.module, part) for part in ("SETTINGS", "compute", "facts", "draw", "caption")), name
        assert set(figure.module.SETTINGS["quick"]) == set(figure.module.SETTINGS["full"]), name


def test_the_four_films_are_those_of_the_issue():
    assert [n for n, f in rf.papers["boursier2022"].figures.items() if f.moves] == ["fig2", "fig4", "fig5", "fig6"]


def test_the_package_is_still_a_package_and_reads_as_a_mapping():
    from reluflow.papers.min2024 import lemma11

    assert lemma11.needs == "data" or lemma11.needs
    assert set(WANTED) <= set(rf.papers) and "boursier2022" in rf.papers and len(rf.papers) >= 2


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(KeyError, match="did you mean `boursier2022`"):
        rf.papers["boursier"]
    with pytest.raises(KeyError, match="did you mean `fig4`"):
        rf.papers["boursier2022"].figures["fgi4"]
    with pytest.raises(ValueError, match="did you mean `seed`"):
        rf.papers["boursier2022"].figures["fig4"].settings("quick", sede=1)


def test_listing_figures_imports_none_of_them():
    import subprocess
    import sys

    code = (
        "import sys; import reluflow as rf; list(rf.papers); list(rf.papers['min2024'].figures);"
        "sys.exit(','.join(m for m in sys.modules if '.fig' in m or m in ('matplotlib', 'xarray')) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_numbers_come_back_as_they_were(tmp_path):
    coords = {"way": ["flow", "descent"], "k": [1, 2, 3]}
    ds = xr.Dataset({"a": (("way", "k"), np.arange(6.0).reshape(2, 3)), "b": 2.5}, coords=coords, attrs={"note": "n"})
    _figures.save_numbers(ds, tmp_path / "numbers.zarr")
    back = _figures.load_numbers(tmp_path / "numbers.zarr")
    xr.testing.assert_identical(back, ds)
    assert back.a.sel(way="descent").values.tolist() == [3.0, 4.0, 5.0]


def test_tables_hold_every_number_and_name_those_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(_figures, "MOST", 5)
    ds = xr.Dataset({"a": ("k", [1.0, 2.0]), "b": 2.5, "c": (("k", "j"), np.ones((2, 3)))}, coords={"k": [10, 20]})
    assert _figures.save_tables(ds, tmp_path / "t") == ["c"]
    assert (tmp_path / "t" / "k.csv").read_text().splitlines() == ["k,a", "10,1.0", "20,2.0"]
    assert "b,2.5" in (tmp_path / "t" / "numbers.csv").read_text()


def test_settings_change_one_thing_and_are_kept_with_the_numbers():
    figure = rf.papers["min2024"].figures["fig21"]
    ds = figure.compute("quick", leave=[0.0, 0.5])
    assert json.loads(ds.attrs["settings"]) == {"leave": [0.0, 0.5], "t1": 3.0}
    assert ds.sizes["leave"] == 2 and json.loads(ds.attrs["versions"])["reluflow"] == rf.__version__


def test_a_smaller_size_is_said_on_the_picture():
    figure = rf.papers["min2024"].figures["fig21"]
    ds = figure.compute()
    assert not figure.draw(ds).texts
    ds.attrs["note"] = "quick: 4 of 9"
    assert [t.get_text() for t in figure.draw(ds).texts] == ["quick: 4 of 9"]


def test_folders_of_other_sizes_and_settings_are_others(tmp_path):
    figure = rf.papers["min2024"].figures["fig21"]
    made = [
        _figures.folder(figure, tmp_path, size, changed)
        for size, changed in (("quick", {}), ("full", {}), ("quick", {"t1": 2.0}), ("quick", {"t1": 3.0}))
    ]
    assert len(set(made)) == 4


def test_without_mnist_a_figure_says_how_to_get_it(monkeypatch):
    monkeypatch.delenv("RELUFLOW_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="get the four original files"):
        rf.papers["min2024"].figures["fig5"].compute()


def script(name):
    """A file of scripts/ as a module, where the checkout has it."""
    import importlib.util
    from pathlib import Path

    path = Path(__file__).parents[2] / "scripts" / f"{name}.py"
    if not path.exists():
        pytest.skip("scripts/ is not in this copy")
    spec = importlib.util.spec_from_file_location(f"script_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_figure_is_in_the_gallery_with_its_facts():
    gallery = script("gallery")
    for paper in (*WANTED, "extra"):
        said = gallery.kept(paper)
        assert list(said) == list(rf.papers[paper].figures)
        for name, one in said.items():
            assert one["facts"] and len(one["caption"]) > 100, name
            assert one["command"].startswith(f"reluflow reproduce {paper}/{name}"), name
            assert (gallery.HOME / paper / f"{name}.png").stat().st_size < gallery.LARGE, name


def test_the_table_of_facts_is_that_of_the_gallery():
    pages = script("pages")
    assert (pages.DOCS / "facts.md").read_text() == pages.facts(pages.DOCS / "gallery"), "run scripts/pages.py --facts"


def test_the_table_of_facts_names_what_is_violated(tmp_path):
    from reluflow.claim import Claim

    claims = [Claim("two is | one", 2.0, "=", 1.0), Claim("a log", -5.0, "<=", -4.0, log=True)]
    said = {"fig4": {"size": "quick", "facts": [c.to_dict() for c in claims]}}
    (tmp_path / "min2024").mkdir()
    (tmp_path / "min2024" / "facts.json").write_text(json.dumps(said))
    page = script("pages").facts(tmp_path)
    assert "1 figures, 2 facts: 1 violated, 1 holds." in page
    assert "- min2024/fig4: two is \\| one" in page and "**violated**" in page and "e^-5 | &lt;= | e^-4" in page


@pytest.mark.parametrize("paper", ["boursier2022", "kou2023", "lee2023", "min2024"])
def test_every_figure_of_a_paper_says_which_of_its_facts_the_paper_states(paper):
    kept = json.loads((script("pages").DOCS / "gallery" / paper / "facts.json").read_text())
    for name, figure in rf.papers[paper].figures.items():
        starts = figure.module.STATED["paper"]  # facts of the handbook may belong to the other size
        texts = [f["text"] for f in kept[name]["facts"]]
        assert set(figure.module.STATED) <= {"paper", "handbook"} and figure.module.STATED["paper"]
        assert all(any(t.startswith(s) for t in texts) for s in starts), (name, "a beginning fits no fact")
        assert [f["source"] for f in kept[name]["facts"]] == [figure.source(t) for t in texts], "run scripts/gallery.py"
    # Of two beginnings that fit the longer one counts.
    seven = rf.papers["boursier2022"].figures["fig7"]
    assert seven.source("two components explain") == "paper"
    assert seven.source("two components explain, torch seed 4") == "handbook" and seven.source("anything else") == ""
