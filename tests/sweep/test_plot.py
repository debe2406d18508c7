"""Pictures of sweeps show the numbers: medians, bands, cells, borders."""

import numpy as np
import pytest
from support.sweeps import experiment

import reluflow as rf
from reluflow.plot import curve, heat, picture
from reluflow.plot.sweep import geometric
from reluflow.sweep import sweep


@pytest.fixture(scope="module")
def ds():
    over = {"init.log_scale": [-2.0, -4.0, -6.0], "init.width": [2, 4, 32], "init.seed": range(3)}
    return sweep(experiment(solve__t1=20.0), over, ["final.log_moved", "time.below.0.9", "loss"], workers=0)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_a_curve_is_the_median_and_its_bands_are_quantiles(ds, ax):
    one = ds.isel({"init.width": 1})
    curve(ax, one, "final.log_moved", "init.log_scale", bands=[(0.25, 0.75, 0.3)])
    values = one["final.log_moved"].values
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), np.median(values, axis=1))
    corners = ax.collections[0].get_paths()[0].vertices
    for q in (0.25, 0.75):
        for x, y in zip([2.0, 4.0, 6.0], np.quantile(values, q, axis=1)):
            assert np.any(np.all(np.isclose(corners, [x, y], rtol=1e-12), axis=1))


def test_failed_and_unreached_points_leave_no_mark(ds, ax):
    from copy import deepcopy

    holed = deepcopy(ds.isel({"init.width": 0}))
    holed["final.log_moved"][1] = np.nan
    holed["final.log_moved"][0, 0] = np.inf
    curve(ax, holed, "final.log_moved", "init.log_scale")
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [2.0, 6.0])
    assert ax.lines[0].get_ydata()[0] == np.median(ds["final.log_moved"].values[0, 0, 1:])


def test_a_heat_map_has_one_cell_per_pair_with_the_median_over_seeds(ds, ax):
    cells = heat(ax, ds, "final.log_moved", "init.log_scale", "init.width")
    grid = np.median(ds["final.log_moved"].values, axis=-1).T
    np.testing.assert_array_equal(cells.get_array(), grid)
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    assert ax.get_ylim()[0] == pytest.approx(2 / np.sqrt(2)) and ax.get_ylim()[1] == pytest.approx(32 * np.sqrt(8))


def test_a_border_has_the_colour_of_paper(ds, ax):
    cells = heat(ax, ds, "final.log_moved", "init.log_scale", "init.width", centre=1.0)
    np.testing.assert_allclose(cells.to_rgba(1.0)[:3], [1.0, 0.992, 0.973], atol=0.01)


@pytest.mark.parametrize(
    ("values", "by_ratios"),
    [
        ([1e-3, 1e-2, 1e-1], True),
        ([4, 8, 16, 32], True),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], False),
        ([-1, 1, 20], False),
    ],
)
def test_axes_are_logarithmic_where_values_are_spaced_by_ratios(values, by_ratios):
    assert geometric(values) is by_ratios


def test_a_picture_chooses_curves_maps_paths_or_dots(ds):
    kinds = lambda fig: [len(fig.axes), len(fig.axes[0].lines)]
    assert kinds(picture(ds, ["final.log_moved"])) == [2, 0]  # a map and its colour bar
    assert kinds(picture(ds.isel({"init.width": 0}), ["final.log_moved", "time.below.0.9"])) == [1, 2]
    assert kinds(picture(ds, ["loss"])) == [3, 3]  # one band of trajectories per scale, a panel per width
    random = sweep(experiment(), {"init.log_scale": [-6.0, -2.0]}, ["final.log_moved"], design="random", points=5,
                   workers=0)  # fmt: skip
    assert len(picture(random).axes[0].collections[0].get_offsets()) == 5
    with pytest.raises(ValueError, match=r"`nothing` is not a number kept by the sweep: choose from final\.log_moved"):
        picture(ds, ["nothing"])


def test_a_straight_line_is_told_its_slope_and_a_bent_one_is_not():
    # Descent is first order in its step; the loss of a run is no line in time.
    run = rf.Experiment(
        data={"kind": "two_points"},
        init={"kind": "balanced", "width": 6, "log_scale": -1.0},
        method={"kind": "descent", "step": 0.01},
        solve={"t1": 10.0},
    )
    straight = sweep(run, {"method.step": [1e-3, 2e-3, 4e-3, 8e-3, 16e-3]}, ["compare.gap"], workers=0)
    (line,) = picture(straight).axes[0].lines
    assert float(line.get_label().removeprefix("slope ")) == pytest.approx(1.0, abs=0.05)
    bent = sweep(run, {"solve.t1": [1.0, 2.0, 3.0, 4.0, 6.0]}, ["final.loss"], workers=0)
    assert "slope" not in picture(bent).axes[0].lines[0].get_label()


def test_ticks_are_the_values_swept_and_numbers_are_written_out(ds):
    axes = picture(ds.isel({"init.width": 0}), ["final.log_moved"]).axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == [f"{v:g}" for v in sorted(axes.get_xticks())]
    assert len(axes.get_xticks()) == ds.sizes["init.log_scale"]
    assert not axes.yaxis.get_major_formatter().get_useOffset()
    seeds = ds.isel({"init.width": [0], "init.log_scale": [0]}).squeeze(["init.width", "init.log_scale"])
    assert picture(seeds, ["final.log_moved"]).axes[0].lines[0].get_linestyle() == "None"
