"""Figures of Lee et al.: their facts hold on smaller runs, each refuses numbers that are wrong, and they draw."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers.lee2023 import _deep, _neurons

FIGURES = rf.papers["lee2023"].figures
SMALL = {
    "fig1": dict(n=1000, faster=50),
    "fig2": dict(n=1000, faster=50),
    "fig3": dict(n=1000, faster=[50, 1]),
    "fig4": dict(n=100, small_last=10_000, middle_last=1500, large_last=200, fine_last=300),
}


@pytest.fixture(scope="module")
def numbers():
    made = {}

    def get(name):
        if name not in made:
            made[name] = FIGURES[name].compute("quick", **SMALL[name])
        return made[name].copy(deep=True)

    return get


def failing(name, ds) -> list[str]:
    return [f.text for f in FIGURES[name].facts(ds) if not f.ok]


@pytest.mark.parametrize("name", list(SMALL))
def test_every_stated_fact_holds_and_the_figure_draws(name, numbers):
    ds = numbers(name)
    bad = [str(f) for f in FIGURES[name].facts(ds) if not f.ok]
    assert not bad, "\n".join(bad)
    assert FIGURES[name].draw(ds) is not None and len(FIGURES[name].caption(ds)) > 100


def test_figure_4_at_full_size_is_drawn_from_what_a_gpu_recorded():
    ds = FIGURES["fig4"].compute("full")
    bad = [str(f) for f in FIGURES["fig4"].facts(ds) if not f.ok]
    assert not bad, "\n".join(bad)
    assert ds.attrs["recorded"] == 1 and ds.attrs["n"] == 10_000 and ds.sizes["case"] == 9 + 10
    assert FIGURES["fig4"].draw(ds) is not None and "only falls in this time" in FIGURES["fig4"].caption(ds)


# Numbers that are wrong -----------------------------------------------------------------------------------------------


def slower(ds, name, factor):
    """The curve as it would be with a clock that runs at another speed."""
    T = ds.iteration.values.astype(float)
    return ds[name].copy(data=np.apply_along_axis(lambda c: np.interp(T / factor, T, c), -1, ds[name].values))


def wrong_1():
    def late(ds):
        for name in ("population_phi", "population_v"):
            ds[name] = slower(ds, name, 1.25)

    def small(ds):
        ds["population_v"] = 0.85 * ds.population_v

    def off(ds):
        ds["phi"], ds["v"] = ds.phi - 1.0, ds.v + 1.0

    def back(ds):
        ds["phi"] = ds.phi.isel(iteration=slice(None, None, -1)).assign_coords(iteration=ds.iteration)

    def outside(ds):
        ds["population_phi"] = ds.population_phi - 0.6

    def from_phi0(ds):
        ds["printed_low"] = ds.low

    def fast(ds):
        # Small starts slow with one layer and fast with three, and one that should not arrive does.
        ds["phi"] = ds.phi.copy(data=ds.phi.values[:, ::-1, ::-1])

    def same(ds):
        ds["phi"] = ds.phi.sel(layers=1, start="MN").broadcast_like(ds.phi).transpose(*ds.phi.dims)

    def by_start(ds):
        ds["phi"] = ds.phi + 0.4 * (ds.start == "LN")

    return [late, small, off, back, outside, from_phi0, fast, same, by_start]


def wrong_2():
    def straight(ds):
        T = ds.iteration / ds.iteration[-1]
        ds["v"] = (0.1 + 0.5 * np.cos(7 * T)).broadcast_like(ds.v).transpose(*ds.v.dims)

    def high(ds):
        for name in ("v", "population_v"):
            ds[name] = ds[name] * 0 + 0.999 * ds[f"{name[:-1]}high"].isel({"from": 0}, drop=True)

    def low(ds):
        for name in ("v", "population_v"):
            ds[name] = ds[f"{name[:-1]}low"].isel({"from": 0}, drop=True) - 0.1

    def as_printed(ds):
        ds["low"] = ds.low**2

    def wide(ds):
        ds["high"] = ds.high + (ds["from"] > 0) * 0.5

    def elsewhere(ds):
        ds["low"] = ds.low - 0.05

    return [straight, high, low, as_printed, wide, elsewhere]


def wrong_3():
    def other(ds):
        for m in (1, 2):
            ds[f"population_v{m}"] = 0.8 * ds[f"population_v{m}"]

    def straight(ds):
        for m in (1, 2):
            ds[f"v{m}"] = 1.0 + 0.0 * ds[f"v{m}"] - ds[f"iteration{m}"] / 1e5

    def wide(ds):
        for m in (1, 2):
            ds[f"high{m}"] = ds[f"high{m}"] + 1.0 * ds.restart

    def high(ds):
        for m in (1, 2):
            ds[f"population_v{m}"] = 1.2 * ds[f"population_high{m}"].isel(restart=0, drop=True)

    def outside(ds):
        for m in (1, 2):
            ds[f"v{m}"] = ds[f"v{m}"] - 0.3

    return [other, straight, wide, high, outside]


def wrong_4():
    def flipped(ds):
        # The first frame last: what rose falls, what fell rises.
        for name in ("SN", "LN", "LN fine"):
            k = int(np.flatnonzero(ds.case.values == name)[0])
            there = np.isfinite(ds.loss.values[k])
            ds.norms.values[k, there] = ds.norms.values[k, there][::-1].copy()

    def uneven(ds):
        ds.norms.values[:, -1, 0] *= 1.1
        k = int(np.flatnonzero(ds.case.values == "SN")[0])
        last = int(np.flatnonzero(np.isfinite(ds.loss.values[k]))[-1])
        ds.norms.values[k, last, 0] *= 1.05

    def falling(ds):
        k = int(np.flatnonzero(ds.case.values == "SN variance")[0])
        ds.norms.values[k] = np.linspace(2.0, 1.0, ds.sizes["frame"])[:, None]

    def quick(ds):
        k = int(np.flatnonzero(ds.case.values == "SN")[0])
        ds.loss.values[k, 1:] *= 1e-6

    def survives(ds):
        k = int(np.flatnonzero(ds.case.values == "LN variance")[0])
        ds.loss.values[k] = 1.0
        ds.norms.values[k] = 1.0
        ds.iteration.values[k] = np.arange(ds.sizes["frame"])

    def calm(ds):
        k = int(np.flatnonzero(ds.case.values == "LN first steps")[2])
        ds.norms.values[k] = 1.0
        ds.loss.values[k] = 1.0
        ds.iteration.values[k] = np.minimum(np.arange(ds.sizes["frame"]), 60)

    return [flipped, uneven, falling, quick, survives, calm]


WRONG = {"fig1": wrong_1, "fig2": wrong_2, "fig3": wrong_3, "fig4": wrong_4}


@pytest.mark.parametrize("name", list(SMALL))
def test_every_fact_refuses_some_wrong_numbers(name, numbers):
    texts = [f.text for f in FIGURES[name].facts(numbers(name))]
    assert len(set(texts)) == len(texts)
    refused = set()
    for change in WRONG[name]():
        ds = numbers(name)
        change(ds)
        bad = failing(name, ds)
        assert bad, f"nothing notices `{change.__name__}`"
        refused |= set(bad)
    assert not [t for t in texts if t not in refused]


# Parts ----------------------------------------------------------------------------------------------------------------


def test_runs_that_were_recorded_are_read_and_not_made_again(tmp_path, monkeypatch):
    settings = FIGURES["fig4"].settings("quick", **SMALL["fig4"])
    sizes = {k: v for k, v in settings.items() if k not in ("device", "recordings")}
    cases = _deep.cases(**sizes)
    assert len({case.key for case in cases}) == len(cases)
    made = {case.key: _deep.train(case, None) for case in cases if case.last <= 60}
    made |= {case.key: dict(iteration=np.arange(3), loss=np.ones(3), norms=np.ones((3, 5))) for case in cases[:-1]}
    _deep.record(made, tmp_path / "runs.npz")
    assert _deep.recorded(tmp_path / "none.npz") == {}
    again = _deep.recorded(tmp_path / "runs.npz")
    monkeypatch.setattr(_deep, "recorded", lambda: again)
    monkeypatch.setattr(_deep, "train", None)
    ds = FIGURES["fig4"].compute("quick", **SMALL["fig4"])
    assert ds.attrs["recorded"] == 1 and np.all(ds.norms.values[0, :3] == 1.0)
    with pytest.raises(TypeError):
        FIGURES["fig4"].compute("quick", **SMALL["fig4"] | dict(n=99))


def test_the_paper_s_r_is_not_used_where_it_bounds_nothing():
    # k a variance, one layer: |w_0| = 0.32 |w*|, above h(0) where the angle starts a little worse than pi/2.
    problem = rf.single.Problem(m=0, norm=0.316, phi=1.4)
    run = _neurons.run(problem, 0.01, 1, 1000, 50, 5, 0)
    least = float(run["population_v"].min())
    r = np.exp(_neurons.legitimate_range(problem, "SN", least)[0])
    assert np.exp(_neurons.printed_range(problem, "SN")[0]) > least >= r


def test_a_drawn_start_is_the_paper_s_draw():
    drawn = _neurons.start_of(2, 0.5, 0.1, "variance", 100, "drawn", 3)
    assert drawn == rf.single.draw(1, 100, 0.5, 0.1, reading="variance", seed=3)
    expected = _neurons.start_of(2, 0.5, 0.1, "std", 100, "expected", 3)
    assert (expected.target, expected.v0) == pytest.approx((5.0, 0.5))
    with pytest.raises(ValueError, match="`start`"):
        _neurons.start_of(1, 1.0, 1.0, "std", 100, "elsewhere", 0)


def test_magnitude_bounds_are_those_the_checkers_use():
    run = rf.single.solve(rf.single.Problem(m=1, norm=0.4), rf.Descent(step=0.02), 2.0)
    made = {"iteration": run.iteration, "v": run.norm, "y": run.y}
    low, high = _neurons.band(made, run.problem, 0.02, 0)
    a = 1 - run.problem.eps
    assert low[0] == pytest.approx(0.4) and high[0] == pytest.approx(0.4)
    assert low[50] == pytest.approx(np.sqrt(a / (1 - (1 - a / 0.16) * (1 - 0.02 * a) ** 50)))
    # Restarted: nothing before, and the run itself there.
    low, high = _neurons.band(made, run.problem, 0.02, 30)
    assert np.isnan(low[29]) and low[30] == high[30] == pytest.approx(run.norm[30])


@pytest.mark.parametrize("name", ["fig1", "fig2", "fig3"])
def test_other_draws_are_shown_and_judged(name):
    ds = FIGURES[name].compute("quick", **SMALL[name], start="drawn", draws=2)
    drawn = [f for f in FIGURES[name].facts(ds) if "other draws" in f.text]
    assert drawn and all(f.ok for f in drawn), "\n".join(map(str, drawn))
    for key in [k for k in ds.data_vars if str(k).startswith("drawn_")]:
        # Small and large starts exchanged; what rises falls.
        ds[key] = ds[key].copy(data=ds[key].values[..., ::-1, :] if name == "fig1" else -ds[key].values)
    assert all(not f.ok for f in FIGURES[name].facts(ds) if "other draws" in f.text)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", list(SMALL))
def test_every_stated_fact_holds_at_quick_size(name):
    bad = [str(f) for f in FIGURES[name].facts(FIGURES[name].compute("quick")) if not f.ok]
    assert not bad, "\n".join(bad)
