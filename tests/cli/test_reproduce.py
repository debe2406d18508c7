"""`reluflow reproduce`: what it lists, writes, keeps, and how it leaves."""

import json
import shutil

import pytest
from support.command import reluflow

from reluflow.papers.min2024 import fig20, fig21


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_alone_it_lists_papers_and_figures(here, capsys):
    assert reluflow("reproduce") == 0
    said = capsys.readouterr().out
    assert "boursier2022" in said and "fig4" in said and "needs MNIST" in said and "animated" in said


def test_a_figure_is_written_whole(here, capsys):
    assert reluflow("reproduce", "min2024/fig21", "--out", "made") == 0
    folder = here / "made" / "min2024" / "fig21"
    for name in ("fig21.png", "fig21.pdf", "numbers.zarr", "numbers", "facts.json", "caption.txt"):
        assert (folder / name).exists(), name
    said = json.loads((folder / "facts.json").read_text())
    assert said["ok"] and said["command"] == "reluflow reproduce min2024/fig21" and len(said["facts"]) >= 4
    assert (folder / "numbers" / "leave_time.csv").read_text().startswith("leave,time,w,v\n")
    assert "made in" in capsys.readouterr().out


def test_it_goes_on_from_numbers_that_are_there_and_redraws(here, capsys, monkeypatch):
    reluflow("reproduce", "min2024/fig21")
    picture = here / "figures" / "min2024" / "fig21" / "fig21.png"
    picture.unlink()

    def never(**settings):
        raise AssertionError("computed again")

    monkeypatch.setattr(fig21, "compute", never)
    capsys.readouterr()
    assert reluflow("reproduce", "min2024/fig21") == 0
    assert picture.exists() and "redrawn from saved numbers" in capsys.readouterr().out


def test_numbers_that_were_never_finished_are_computed_again(here, monkeypatch):
    real = fig21.compute

    def interrupted(**settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(fig21, "compute", interrupted)
    assert reluflow("reproduce", "min2024/fig21") == 130
    assert not (here / "figures" / "min2024" / "fig21" / "numbers.zarr").exists()
    monkeypatch.setattr(fig21, "compute", real)
    assert reluflow("reproduce", "min2024/fig21") == 0


def test_other_settings_go_elsewhere_and_fresh_computes_again(here, capsys):
    assert reluflow("reproduce", "min2024/fig21", "--set", "leave=[0.0, 0.3]", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["settings"]["leave"] == [0.0, 0.3] and said["folder"] != "figures/min2024/fig21"
    assert not said["resumed"]
    assert reluflow("reproduce", "min2024/fig21", "--set", "leave=[0.0, 0.3]", "--fresh", "--json") == 0
    assert not json.loads(capsys.readouterr().out)["resumed"]


def test_a_fact_that_fails_is_exit_1(here, capsys):
    # Without the solution that leaves at 0 there is nothing for the hair to follow: unmeasured, which is not a pass.
    assert reluflow("reproduce", "min2024/fig21", "--set", "leave=[0.5]") == 1
    assert "unmeasured" in capsys.readouterr().out


def test_a_violated_fact_is_exit_1(here, monkeypatch):
    from reluflow.claim import Claim

    monkeypatch.setattr(fig20, "facts", lambda ds: [Claim("two is one", 2.0, "=", 1.0)])
    assert reluflow("reproduce", "min2024/fig20") == 1


def test_unknown_papers_figures_and_settings_are_one_sentence(here, capsys):
    for arguments, text in (
        (("min24",), "is not a paper"),
        (("min2024/fig99",), "is not a figure of min2024"),
        (("min2024/fig21", "--set", "leve=1"), "did you mean `leave`"),
        (("min2024", "--set", "seed=1"), "needs one figure"),
    ):
        assert reluflow("reproduce", *arguments) == 2
        assert text in " ".join(capsys.readouterr().err.split())


def test_without_mnist_its_figures_say_how_to_get_it(here, capsys, monkeypatch):
    monkeypatch.delenv("RELUFLOW_DATA", raising=False)
    assert reluflow("reproduce", "min2024/fig5") == 2
    assert "get the four original files" in " ".join(capsys.readouterr().err.split())


@pytest.fixture
def two_figures(monkeypatch):
    """A library of two small figures."""
    from reluflow.papers import _figures

    few = {"min2024": ["fig20", "fig21"]}
    monkeypatch.setattr(_figures, "papers", lambda: list(few))
    monkeypatch.setattr(_figures, "names", lambda paper: few[paper])


def test_all_makes_every_figure_and_ends_with_one_summary(here, capsys, two_figures):
    assert reluflow("reproduce", "--all", "--jobs", 1, "--out", "made") == 0
    said = capsys.readouterr().out
    assert said.count("facts.json") == 0 and "2 figures, " in said and "violated" not in said
    assert all((here / "made" / "min2024" / name / "facts.json").exists() for name in ("fig20", "fig21"))


def test_all_goes_on_from_where_it_stopped(here, capsys, monkeypatch, two_figures):
    real = fig21.compute

    def interrupted(**settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(fig21, "compute", interrupted)
    assert reluflow("reproduce", "--all", "--jobs", 1) == 130
    monkeypatch.setattr(fig21, "compute", real)
    capsys.readouterr()
    assert reluflow("reproduce", "--all", "--jobs", 1, "--json") == 0
    assert [m["resumed"] for m in json.loads(capsys.readouterr().out)] == [True, False]


def test_one_failed_fact_of_all_is_exit_1_and_named_in_the_summary(here, capsys, monkeypatch, two_figures):
    from reluflow.claim import Claim

    monkeypatch.setattr(fig20, "facts", lambda ds: [Claim("two is one", 2.0, "=", 1.0)])
    assert reluflow("reproduce", "--all", "--jobs", 1) == 1
    last = capsys.readouterr().out[-600:]
    assert "violated: two is one" in last and "1 violated" in last


def test_one_figure_that_breaks_does_not_keep_the_others_from_being_made(here, capsys, monkeypatch, two_figures):
    def broken(ds):
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr(fig20, "draw", broken)
    assert reluflow("reproduce", "--all", "--jobs", 1, "--json") == 2
    first, second = json.loads(capsys.readouterr().out)
    assert first["error"] == "ZeroDivisionError: nothing to divide by" and second["ok"]


def test_two_figures_at_a_time_are_the_figures_made_one_by_one(here, capsys, two_figures):
    assert reluflow("reproduce", "min2024", "--jobs", 2, "--json", "--out", "two") == 0
    together = json.loads(capsys.readouterr().out)
    assert reluflow("reproduce", "min2024", "--jobs", 1, "--json", "--out", "one") == 0
    alone = json.loads(capsys.readouterr().out)
    assert [m["facts"] for m in together] == [m["facts"] for m in alone]
    for name in ("fig20", "fig21"):
        tables = [sorted((here / way / "min2024" / name / "numbers").iterdir()) for way in ("one", "two")]
        assert [t.read_text() for t in tables[0]] == [t.read_text() for t in tables[1]] and tables[0]


def test_all_takes_neither_a_paper_nor_a_setting(here, capsys):
    for arguments, text in (
        (("min2024", "--all"), "got min2024 as well"),
        (("--all", "--set", "seed=1"), "needs one figure"),
        (("min2024", "--jobs", "-1"), "`jobs` must be a whole number >= 0"),
    ):
        assert reluflow("reproduce", *arguments) == 2
        assert text in " ".join(capsys.readouterr().err.split())


def a_film():
    """A line that rises, in five frames."""
    from matplotlib.animation import FuncAnimation

    from reluflow.plot import look

    figure = look.figure(2.0, 1.5)
    (line,) = figure.subplots().plot([0, 1], [0, 0])

    def rise(k):
        line.set_ydata([0, 0.2 * k])
        return (line,)

    return FuncAnimation(figure, rise, frames=5)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not here")
def test_a_film_is_an_mp4_too_where_ffmpeg_is_there(here):
    import subprocess

    from reluflow.cli.reproduce import write_film

    write_film(a_film(), here / "film.gif")
    assert (here / "film.mp4").read_bytes()[4:8] == b"ftyp"
    asked = ["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0"]
    seen = subprocess.run([*asked, "film.mp4"], capture_output=True, text=True, check=True, cwd=here)
    assert seen.stdout.strip() == "5"


def test_without_ffmpeg_a_film_is_a_gif_alone(here, monkeypatch):
    from PIL import Image

    from reluflow.cli.reproduce import write_film

    monkeypatch.setattr(shutil, "which", lambda name: None)
    write_film(a_film(), here / "film.gif")
    assert [p.name for p in here.iterdir()] == ["film.gif"]
    with Image.open("film.gif") as image:
        assert image.n_frames == 5


def test_a_film_that_is_interrupted_leaves_nothing(here):
    from matplotlib.animation import FuncAnimation

    from reluflow.cli.reproduce import write_film
    from reluflow.plot import look

    def stop(k):
        if k == 3:
            raise KeyboardInterrupt
        return ()

    with pytest.raises(KeyboardInterrupt):
        write_film(FuncAnimation(look.figure(2.0, 1.5), stop, frames=5), here / "film.gif")
    assert not list(here.iterdir())
