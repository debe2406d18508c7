"""Figures of Boursier et al.: their facts hold on the run, fail on numbers that are wrong, and they draw."""

import numpy as np
import pytest

import reluflow as rf

FIGURES = rf.papers["boursier2022"].figures
FAST = ("fig1", "fig2", "fig3", "fig5")


@pytest.fixture(scope="module")
def numbers():
    made = {}

    def get(name):
        if name not in made:
            made[name] = FIGURES[name].compute("quick")
        return made[name]

    return get


@pytest.mark.parametrize("name", FAST)
def test_every_stated_fact_holds(name, numbers):
    bad = [str(f) for f in FIGURES[name].facts(numbers(name)) if not f.ok]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("name", FAST)
def test_it_draws_from_its_numbers_and_says_what_to_see(name, numbers, tmp_path):
    picture = FIGURES[name].draw(numbers(name))
    picture.savefig(tmp_path / "a.png", dpi=40)
    assert (tmp_path / "a.png").stat().st_size > 2000
    assert len(FIGURES[name].caption(numbers(name))) > 100


@pytest.mark.parametrize("name", ["fig2", "fig3", "fig5"])
def test_a_loss_that_never_falls_is_refused(name, numbers):
    ds = numbers(name).copy(deep=True)
    ds["loss"] = ds.loss * 0 + ds.loss.values[..., :1]
    assert any(f.verdict == "violated" for f in FIGURES[name].facts(ds))


def test_figure_3_notices_falls_ten_iterations_late(numbers):
    ds = numbers("fig3").copy(deep=True)
    ds["fall"] = ds.fall + 10.0
    assert sum(f.verdict == "violated" for f in FIGURES["fig3"].facts(ds)) == 2


def test_figure_1_notices_a_phase_that_ends_too_late(numbers):
    ds = numbers("fig1").copy(deep=True)
    ds["t_2"] = ds.edge[1] + 0.1
    assert any(f.verdict == "violated" for f in FIGURES["fig1"].facts(ds))


def test_figure_3_takes_another_seed():
    ds = FIGURES["fig3"].compute("quick", seed=3)
    assert float(np.abs(ds.fall - ds.predicted).max()) <= 7.0


def test_a_film_has_a_frame_for_every_moment(numbers, tmp_path):
    from matplotlib.animation import PillowWriter
    from PIL import Image

    ds = numbers("fig2").isel(moment=slice(0, 3))
    film = FIGURES["fig2"].animate(ds)
    film.save(tmp_path / "a.gif", writer=PillowWriter(fps=5), dpi=30)
    with Image.open(tmp_path / "a.gif") as image:
        assert image.n_frames >= 3


def test_figures_6_and_7_draw_a_smaller_run():
    small = dict(n=12, d=24, width=30, scale=1e-8, last=40_000)
    ds = FIGURES["fig7"].compute("quick", **small)
    assert np.isclose(float(ds.explained.sum()), 1.0) and ds.loss[-1] < 0.5 * ds.loss[0]
    FIGURES["fig7"].draw(ds)
    again = FIGURES["fig6"].compute("quick", **small, panels=[0, 10_000, 20_000, 40_000])
    assert FIGURES["fig6"].draw(again) is not None
    assert len(FIGURES["fig6"].caption(again)) > 100


def test_figure_6_refuses_a_run_in_which_nothing_grows():
    ds = FIGURES["fig6"].compute(
        "quick", n=12, d=24, width=30, scale=1e-8, last=40_000, panels=[0, 10_000, 20_000, 40_000]
    )
    ds["norm"] = ds.norm * 0 + 1.0
    assert any(f.verdict == "violated" for f in FIGURES["fig6"].facts(ds))


def test_without_pytorch_the_teacher_is_another_and_the_caption_says_so(monkeypatch):
    import sys

    from reluflow.papers.boursier2022 import _teacher

    assert _teacher.data(5, 6, 4, 0)[1] in ("torch seed 4", "NumPy seed 0, PyTorch not being there")
    monkeypatch.setitem(sys.modules, "torch", None)
    rows, drawn = _teacher.data(5, 6, 4, 0)
    assert drawn == "NumPy seed 0, PyTorch not being there"
    assert np.array_equal(rows.x, rf.data.teacher(n=5, d=6, seed=0).x)


def five_points_numbers():
    """What Figure 4 measures, as it should be."""
    import xarray as xr

    ways = ["descent", "flow"]
    loss = [[0.174, 0.17399, 0.06363, 3e-4]] * 2
    height = np.ones((2, 5, 5))
    height[0, -1, :1], height[1, -1, :3] = -1.0, -1.0
    kink = np.zeros((2, 5, 5))
    kink[:, 2:] = [-1, -1, -0.43, -0.43, 0], [-1, -1, -0.52, -0.52, 0.45], [-0.43, -0.43, 0.25, 0.25, 2.8]
    return xr.Dataset(
        {
            "loss": (("way", "iteration"), loss),
            "loss_smaller": (("way", "later"), [[0.06363], [1e-9]]),
            "left": ("way", [136_000.0, 132_000.0]),
            "flipped": (("way", "neuron"), [[1, 0], [0, 0]]),
            "slides": ("way", [0, 49]),
            "height": (("way", "panel", "neuron5"), height),
            "kink": (("way", "panel", "neuron5"), kink),
            "x": ("datum", [-1.5, -1.0, 0.0, 0.25, 2.0]),
        },
        coords={"way": ways, "iteration": [0, 15_000, 94_000, 300_000]},
        attrs={"y3": -0.3},
    )


@pytest.mark.parametrize(
    ("what", "change", "text"),
    [
        ("loss", lambda a: a + [1e-3, 0, 0, 0], "at the start"),
        ("loss", lambda a: a * [1, 0.99, 1, 1], "aligned, nothing fitted"),
        ("loss", lambda a: a * [[1, 1, 1.01, 1], [1, 1, 1, 1]], "descent's saddle"),
        ("loss", lambda a: a * [[1, 1, 1, 1], [1, 1, 1.01, 1]], "the flow's saddle"),
        ("left", lambda a: a - 7000, "after iteration"),
        ("left", lambda a: a + 20_000, "before iteration"),
        ("loss", lambda a: a + [0, 0, 0, 1e-3], "growing and turning done"),
        ("flipped", lambda a: a * 0, "changed sign, descent"),
        ("flipped", lambda a: a + 1, "changed sign, flow"),
        ("slides", lambda a: a * 0, "slides"),
        ("height", lambda a: a * 0 + 1, "more in the flow"),
        ("kink", lambda a: a * 0, "have grown at the saddle"),
        ("kink", lambda a: a * 0 + a[:, 2:3].values, "groups turn"),
        ("kink", lambda a: a + np.arange(5), "sparse"),
        ("loss_smaller", lambda a: a * 0, "rests at the saddle"),
        ("loss_smaller", lambda a: a + 0.01, "the flow passes it"),
    ],
)
def test_figure_4_refuses_wrong_numbers_by_the_fact_about_them(what, change, text):
    ds = five_points_numbers()
    assert all(f.ok for f in FIGURES["fig4"].facts(ds))
    ds[what] = change(ds[what])
    assert any(f.verdict == "violated" and text in f.text for f in FIGURES["fig4"].facts(ds))


def test_the_exit_of_figure_4_is_where_a_hundredth_of_the_plateau_is_gone():
    from reluflow.papers.boursier2022.fig4 import _left

    count = np.arange(0.0, 300_000.0, 500.0)
    loss = 0.06 + 0.11 / (1 + np.exp((count - 40_000) / 3000)) - 0.06 / (1 + np.exp((200_000 - count) / 5000))
    assert abs(_left(count, loss) - (200_000 - 5000 * np.log(99))) <= 500


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["fig4", "fig6", "fig7"])
def test_every_stated_fact_holds_of_the_long_runs(name):
    bad = [str(f) for f in FIGURES[name].facts(FIGURES[name].compute("quick")) if not f.ok]
    assert not bad, "\n".join(bad)
