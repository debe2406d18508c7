"""Figures of Min et al.: their facts hold on the run, fail on numbers that are wrong, and they draw."""

import os
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf

FIGURES = rf.papers["min2024"].figures
FAST = ("fig4", "fig14", "fig15", "fig16", "fig17", "fig20", "fig21", "drawings")
MNIST = Path(os.environ.get("RELUFLOW_DATA", "nowhere")) / "mnist"
needs_mnist = pytest.mark.skipif(not MNIST.is_dir(), reason="MNIST is not at $RELUFLOW_DATA/mnist/")


@pytest.fixture(scope="module")
def numbers():
    made = {}

    def get(name, **changes):
        if name not in made:
            made[name] = FIGURES[name].compute("quick", **changes)
        return made[name]

    return get


@pytest.mark.parametrize("name", FAST)
def test_every_stated_fact_holds_and_the_figure_draws(name, numbers):
    ds = numbers(name)
    bad = [str(f) for f in FIGURES[name].facts(ds) if not f.ok]
    assert not bad, "\n".join(bad)
    assert FIGURES[name].draw(ds) is not None and len(FIGURES[name].caption(ds)) > 100


WRONG_DRAWINGS = [
    ("pull_x", lambda ds: ds.pull_x[::-1], "the pull is"),
    ("pull_path", lambda ds: ds.pull_path[::-1], "turns towards"),
    ("begin", lambda ds: ds.begin * 0, "start in S-"),
    ("end", lambda ds: ds.end * 0, "end in S+"),
    ("end", lambda ds: ds.end * 0, "dead"),
    ("push", lambda ds: -ds.push, "active side of a boundary"),
    ("push", lambda ds: -ds.push, "on the other side"),
    ("slide_sides", lambda ds: -ds.slide_sides, "from the active side"),
    ("slide_sides", lambda ds: -ds.slide_sides, "from the other side"),
    ("slide_slides", lambda ds: ds.slide_slides * 0, "slides (Filippov)"),
    ("cross_sides", lambda ds: ds.slide_sides, "same way"),
    ("cross_slides", lambda ds: ds.cross_slides + 1, "does not slide"),
    ("cross_path", lambda ds: -ds.cross_path, "<w, x> at the end"),
]


@pytest.mark.parametrize(("what", "change", "words"), WRONG_DRAWINGS)
def test_the_drawings_refuse_wrong_numbers(what, change, words, numbers):
    ds = numbers("drawings").copy(deep=True)
    ds[what] = (ds[what].dims, change(ds).values)
    assert any(words in f.text for f in FIGURES["drawings"].facts(ds) if not f.ok)


def test_the_run_of_figure_6_aligns_before_it_learns(numbers):
    ds = numbers("fig6", seeds=2)
    bad = [str(f) for f in FIGURES["fig6"].facts(ds) if not f.ok]
    assert not bad, "\n".join(bad)
    FIGURES["fig6"].draw(ds)


def test_figure_6_refuses_neurons_in_the_wrong_cone(numbers):
    ds = numbers("fig6", seeds=2).copy(deep=True)
    ds["cone"] = ds.cone * 0
    assert FIGURES["fig6"].facts(ds)[0].verdict == "violated"


WRONG_6 = [
    ("aligned", lambda ds: ds.aligned - 0.01 * (ds.iteration == int(ds.panel[1])), "as in the exact flow"),
    ("cosine", lambda ds: ds.cosine * 0.99, "median of the living"),
    ("loss", lambda ds: ds.loss * 0.85, "no fall yet"),
    ("loss", lambda ds: ds.loss.shift(iteration=8, fill_value=1.0), "first fall"),
    ("loss", lambda ds: ds.loss.where((ds.loss < 0.4) | (ds.loss > 0.6), 0.3), "the plateau"),
    ("loss", lambda ds: ds.loss + 0.1, "second fall"),
    ("stable_rank", lambda ds: ds.stable_rank + 1, "stable rank"),
    ("counts", lambda ds: ds.counts + [10, 0, 0], "in S+"),
    ("counts", lambda ds: ds.counts + [0, 10, 0], "in S-"),
    ("counts", lambda ds: ds.counts - [0, 0, 10], "dead"),
    ("counts", lambda ds: ds.counts - 3, "anywhere else"),
]


@pytest.mark.parametrize(("what", "change", "text"), WRONG_6)
def test_figure_6_refuses_wrong_numbers_by_the_fact_about_them(what, change, text, numbers):
    ds = numbers("fig6", seeds=2).copy(deep=True)
    ds[what] = change(ds)
    assert any(f.verdict == "violated" and text in f.text for f in FIGURES["fig6"].facts(ds))


def phases(kind: str):
    """Curves of Figures 12 and 13 as they should be: a logistic fall of the loss and what comes with it."""
    import xarray as xr

    if kind == "two":
        k, epoch = np.arange(0, 4901, 49), 7
        z = 0.7 * np.exp(np.minimum((k - 3200) / 133, 1.6))
        move = 3 + 30 * np.exp(-(((k - 1000) / 300) ** 2)) - 2.5 * (k > 2000)
    else:
        k, epoch = np.arange(0, 71), 7
        z, move = 1.5 * (1 - np.exp(-k / 2)), 1e5 * np.exp(-k.astype(float))
    curves = {"loss": np.exp(-z), "norm_change": 2 * z * np.exp(-z), "direction_change": move}
    ds = xr.Dataset({n: ("iteration", v) for n, v in curves.items()}, coords={"iteration": k})
    return ds.assign_attrs(epoch=epoch, images=400, batch=64, note="")


def test_two_phases_are_told_from_none():
    for name, good, bad in (("fig12", "two", "none"), ("fig13", "none", "two")):
        assert all(f.ok for f in FIGURES[name].facts(phases(good))), [str(f) for f in FIGURES[name].facts(phases(good))]
        said = {f.text: f.verdict for f in FIGURES[name].facts(phases(bad))}
        assert said["norms are silent (below 1 % of their fastest) for epochs"] == "violated"


@pytest.mark.parametrize(
    ("what", "change", "text"),
    [
        ("norm_change", lambda a: a + 0.002, "until 2000"),
        ("direction_change", lambda a: a[::-1].values, "directions change most at"),
        ("loss", lambda a: a * 0.99, "loss then"),
        ("direction_change", lambda a: a[::-1].values, "before norms start"),
        ("direction_change", lambda a: np.maximum(a, 4), "between the phases"),
        ("norm_change", lambda a: a * 1.2, "2/e"),
        ("loss", lambda a: a * 0 + 1, "while the loss falls"),
        ("loss", lambda a: a * 0, "while the loss falls"),
    ],
)
def test_figure_12_refuses_wrong_curves_by_the_fact_about_them(what, change, text):
    ds = phases("two")
    ds[what] = ("iteration", np.asarray(change(ds[what])))
    assert any(f.verdict == "violated" and text in f.text for f in FIGURES["fig12"].facts(ds))


@pytest.mark.parametrize("name", ["fig7", "fig8", "fig9"])
def test_two_data_draw_and_a_count_moved_by_ten_is_refused(name, numbers):
    ds = numbers(name, seeds=4)
    FIGURES[name].draw(ds)
    wrong = ds.copy(deep=True)
    wrong["outside"] = wrong.outside + 10
    assert any(f.verdict == "violated" for f in FIGURES[name].facts(wrong))


def test_figure_4_refuses_a_neuron_that_loses_a_positive_datum(numbers):
    ds = numbers("fig4").copy(deep=True)
    ds["wrong"] = ds.wrong + 1
    assert FIGURES["fig4"].facts(ds)[0].verdict == "violated"


def test_every_edge_of_any_path_has_a_twin_of_its_own_that_is_as_dear():
    from itertools import pairwise

    from reluflow.papers.min2024 import _walk

    rng = np.random.default_rng(0)
    for _ in range(200):
        n_plus, n_minus = rng.integers(1, 9, size=2)
        at, path = (int(rng.integers(0, n_plus)), int(n_minus)), []
        while at != (n_plus, 0):
            path.append(at)
            # Down is no choice from (0, 1), which would be dead, nor at the bottom; right is none at the right edge.
            down = at[1] > 0 and at != (0, 1) and (at[0] == n_plus or rng.random() < 0.5)
            at = (at[0], at[1] - 1) if down else (at[0] + 1, at[1])
        path.append(at)
        vertices = set(pairwise(_walk.maximal(int(n_plus), int(n_minus))))
        twins = [_walk.twin(a, b) for a, b in pairwise(path)]
        assert len(set(twins)) == len(twins) and set(twins) <= vertices
        assert all(sum(p) <= sum(a) for (a, _), (p, _) in zip(pairwise(path), twins, strict=True))


@needs_mnist
@pytest.mark.parametrize("name", ["fig5", "fig12", "fig13", "poster_panel"])
def test_mnist_figures_draw_from_a_short_run_that_their_facts_refuse(name):
    small = {
        "fig5": dict(images=200, last=300),
        "fig12": dict(images=200, last=98, batch=64),
        "fig13": dict(images=200, last=1),
    }
    small["poster_panel"] = dict(images=200, last=300, toy_last=10_000)
    ds = FIGURES[name].compute("quick", **small[name])
    assert FIGURES[name].draw(ds) is not None and len(FIGURES[name].caption(ds)) > 100
    assert any(not f.ok for f in FIGURES[name].facts(ds))


@needs_mnist
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["fig5", "fig10", "fig11", "fig12", "fig13", "poster_panel"])
def test_every_stated_fact_holds_on_mnist(name):
    bad = [str(f) for f in FIGURES[name].facts(FIGURES[name].compute("quick")) if not f.ok]
    assert not bad, "\n".join(bad)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["fig6", "fig7", "fig8", "fig9"])
def test_every_stated_fact_holds_over_all_seeds(name):
    bad = [str(f) for f in FIGURES[name].facts(FIGURES[name].compute("full")) if not f.ok]
    assert not bad, "\n".join(bad)
