"""Figures of Kou et al.: facts hold on recorded runs, each refuses wrong numbers, finished batches are not redone."""

import os
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers.kou2023 import _batches, _mnist, _start, fig1

FIGURES = rf.papers["kou2023"].figures
RECORDED = Path(__file__).resolve().parents[2] / "benchmarks" / "kou2023_full"
OVER = {"fig2": "scale", "fig3": "scale", "fig4": "width", "fig5": "width"}
MNIST = Path(os.environ.get("RELUFLOW_DATA", "nowhere")) / "mnist"
needs_mnist = pytest.mark.skipif(not MNIST.is_dir(), reason="MNIST is not at $RELUFLOW_DATA/mnist/")


def recorded(name, **changes):
    module = FIGURES[name].module
    return module.compute(**(module.SETTINGS["full"] | {"batches": str(RECORDED)} | changes))


def broken(facts) -> set[str]:
    return {f.text for f in facts if f.verdict == "violated"}


# Full size, from the recorded batches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OVER)
def test_the_full_figures_come_from_recorded_batches_and_every_fact_holds(name, monkeypatch):
    monkeypatch.setattr(_batches, "compute", lambda *args: pytest.fail("a recorded batch is computed again"))
    ds = recorded(name)
    figure = FIGURES[name]
    bad = [str(f) for f in figure.facts(ds) if not f.ok]
    assert not bad, "\n".join(bad)
    assert figure.draw(ds) is not None and len(figure.caption(ds)) > 300
    assert ds.attrs["over"] == OVER[name] and ds.attrs["note"] == "" and ds.attrs["device"]
    assert dict(ds.sizes) == {"protocol": 2, "reading": 2, "line": 5, "run": 5, "epoch": 11}
    assert np.all(np.isfinite(ds.stable_rank)) and float(ds.seconds) > 0.0


def test_the_same_network_of_two_figures_is_the_same():
    scales, widths = recorded("fig2"), recorded("fig4")
    one, other = scales.stable_rank.sel(line=1e-5), widths.stable_rank.sel(line=1000)
    # Different batches of one GPU: sums are taken in another order, and float32 descent spreads the difference.
    np.testing.assert_allclose(one.sel(protocol="P1"), other.sel(protocol="P1"), rtol=1e-6)
    np.testing.assert_allclose(one.sel(protocol="P2"), other.sel(protocol="P2"), rtol=2e-2)


def changed(ds, name, **where):
    """A copy whose entries `where` are multiplied by `by` and moved by `plus`."""
    by, plus = where.pop("by", 1.0), where.pop("plus", 0.0)
    wrong = ds.copy(deep=True)
    wrong[name].loc[where] = wrong[name].loc[where] * by + plus
    return wrong


def test_every_fact_about_scales_refuses_some_wrong_numbers():
    ds = recorded("fig2")
    backwards = ds.copy(deep=True)
    for name in ("stable_rank", "test_error"):
        backwards[name].values[:] = ds[name].values[:, :, ::-1]
    slow = ds.copy(deep=True)
    slow["stable_rank"].values[..., 1:] = ds.stable_rank.values[..., :1]
    wrong = [
        changed(ds, "stable_rank", epoch=0.0, by=1.05),
        changed(ds, "test_error", epoch=10.0, plus=0.5),
        backwards,
        slow,
    ]
    texts = {f.text for f in FIGURES["fig2"].facts(ds)}
    assert set().union(*(broken(FIGURES["fig2"].facts(w)) for w in wrong)) == texts
    # Nothing but the tampered fact is refused by the first.
    assert all("at the start" in text for text in broken(FIGURES["fig2"].facts(wrong[0])))


def test_every_fact_about_widths_refuses_some_wrong_numbers():
    ds = recorded("fig4")
    backwards = ds.copy(deep=True)
    for name in ("stable_rank", "test_error"):
        backwards[name].values[:] = ds[name].values[:, :, ::-1]
    wrong = [
        changed(ds, "stable_rank", epoch=0.0, by=1.2),
        changed(ds, "minus_rank", protocol="P1", plus=0.5),
        changed(ds, "stable_rank", protocol="P2", line=1000, epoch=10.0, by=10.0),
        backwards,
        changed(ds, "test_error", protocol="P2", line=1000, plus=0.2),
    ]
    texts = {f.text for f in FIGURES["fig4"].facts(ds)}
    assert set().union(*(broken(FIGURES["fig4"].facts(w)) for w in wrong)) == texts


def test_the_papers_sizes_are_those_of_full():
    assert FIGURES["fig2"].settings("full")["scales"] == [1e-5, 5e-5, 1e-4, 5e-4, 1e-3]
    assert FIGURES["fig4"].settings("full")["widths"] == [10, 50, 100, 500, 1000]
    for name in OVER:
        full = FIGURES[name].settings("full")
        assert (full["seeds"], full["epochs"], full["images"]) == (5, 10, 0) and FIGURES[name].requires == ("mnist",)
        assert full["slope"] == (0.0 if name in ("fig2", "fig4") else 0.1)
        assert "quick" in _mnist._note(6000, 5, 3, [50], "scale")


# Batches --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def protocol(monkeypatch):
    """A stand-in for the training that counts what is asked for."""
    asked = []

    def made(kind, stds, seeds, device=None, tell=None):
        asked.append((kind, list(stds)))
        matrix = np.array(["plus", "minus", "stacked"] if kind.protocol == "P1" else ["first"])
        shape = (len(stds), seeds, kind.epochs + 1)
        value = np.broadcast_to(np.reshape(stds, (-1, 1, 1)), shape)
        return {
            **{name: value.copy() for name in ("loss", "train_error", "test_error")},
            "stable_rank": np.repeat(value[..., None], len(matrix), axis=-1),
            "std": np.array(stds),
            "seed": np.arange(seeds),
            "epoch": np.arange(kind.epochs + 1.0),
            "iteration": np.arange(kind.epochs + 1) * 10,
            "matrix": matrix,
            **dict(slope=kind.slope, width=kind.width, images=kind.images, tests=kind.tests, data="MNIST"),
            **dict(seconds=1.0, device="none"),
        }

    monkeypatch.setattr(_batches, "compute", made)
    monkeypatch.setattr(_batches, "_here", {})
    return asked


def test_only_what_a_folder_lacks_is_computed(protocol, tmp_path):
    kind = _batches.Kind("P1", 0.1, 20, 2, 640, 100)
    _batches.runs([kind], [[1e-5, 1e-3]], 3, str(tmp_path))
    [found] = _batches.runs([kind], [[1e-3, 1e-4, 1e-5]], 2, str(tmp_path))
    assert protocol == [(kind, [1e-5, 1e-3]), (kind, [1e-4])]
    np.testing.assert_array_equal(found["test_error"][:, 0, 0], [1e-3, 1e-4, 1e-5])
    assert found["test_error"].shape == (3, 2, 3) and found["stable_rank"].shape == (3, 2, 3, 3)
    assert found["seconds"] == pytest.approx(0.5 + 0.5 + 1.0)  # its share of two batches
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "other", [dict(protocol="P2"), dict(slope=0.0), dict(width=21), dict(epochs=3), dict(images=0), dict(tests=0)]
)
def test_a_batch_of_another_kind_does_not_serve(other, protocol, tmp_path):
    kind = _batches.Kind("P1", 0.1, 20, 2, 640, 100)
    _batches.runs([kind], [[1e-5]], 3, str(tmp_path))
    _batches.runs([kind._replace(**other)], [[1e-5]], 3, str(tmp_path))
    assert len(protocol) == 2


def test_more_seeds_than_a_batch_has_are_computed(protocol, tmp_path):
    kind = _batches.Kind("P2", 0.0, 20, 2, 640, 100)
    _batches.runs([kind], [[1e-5]], 3, str(tmp_path))
    [found] = _batches.runs([kind], [[1e-5]], 5, str(tmp_path))
    assert len(protocol) == 2 and found["loss"].shape[1] == 5


def test_runs_on_other_data_and_on_part_of_mnist_are_left_alone(tmp_path):
    with np.load(RECORDED / "kou2023_fig4_P2_m10.npz") as file:
        batch = {name: file[name] for name in file.files}
    assert _batches._kind(batch) == _batches.Kind("P2", 0.0, 10, 10)
    assert _batches._kind({**batch, "data": np.array("random rows of MNIST's shape")}) is None
    assert _batches._kind({**batch, "iteration": batch["iteration"] // 30}) is None  # 2000 images, as in a trial


def test_a_batch_is_written_whole_or_not_at_all(protocol, tmp_path):
    kind = _batches.Kind("P1", 0.0, 20, 2, 640, 100)
    batch = _batches.compute(kind, [1e-5], 2)
    with pytest.raises(RuntimeError, match="half way"):
        _batches.write({**batch, "loss": _Stops()}, kind, tmp_path)
    assert not list(tmp_path.iterdir())
    assert _batches.read(_batches.write(batch, kind, tmp_path).parent)[kind]


class _Stops:
    def __array__(self, *_, **__):
        raise RuntimeError("half way")


def test_quick_figures_share_their_runs_and_progress_covers_all_batches(protocol):
    from reluflow.drive.loop import Progress
    from reluflow.papers import _figures

    told = []
    with _figures.watched(told.append):
        two, four = (FIGURES[n].module.compute(**FIGURES[n].settings("quick")) for n in ("fig2", "fig4"))
    # Two protocols at m = 50; then m = 10 and 100 alone, since m = 50 is there.
    assert [kind.width for kind, _ in protocol] == [50, 50, 10, 100, 10, 100]
    assert two.attrs["note"].startswith("quick: 6,000 of 60,000 images") and "m up to 100" in four.attrs["note"]
    np.testing.assert_allclose(two.stable_rank.isel(protocol=0, run=0, epoch=0).sel(reading="std"), two.line)
    np.testing.assert_allclose(two.stable_rank.isel(protocol=1, run=0, epoch=0).sel(reading="variance") ** 2, two.line)
    _batches._part(told.append, 1, 4)(Progress(0.5, 0.0, 1, 0, 1.0))
    assert told[-1].fraction == pytest.approx(0.375)


@needs_mnist
@pytest.mark.exhaustive
def test_a_small_run_on_mnist_is_the_protocol_itself(monkeypatch):
    from reluflow.many import mnist_protocol

    monkeypatch.setattr(_batches, "_here", {})
    kind = _batches.Kind("P1", 0.1, 4, 1, 320, 100)
    [found] = _batches.runs([kind], [[1e-3]], 2)
    data = rf.data.mnist(parity=True, size=320), rf.data.mnist(parity=True, split="test", size=100)
    plain = mnist_protocol("P1", width=4, std=1e-3, slope=0.1, seeds=range(2), epochs=1, data=data)
    for name in _batches.KEPT:
        np.testing.assert_array_equal(found[name], plain[name])


@needs_mnist
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", OVER)
def test_every_stated_fact_holds_at_the_quick_size(name):
    bad = [str(f) for f in FIGURES[name].facts(FIGURES[name].compute("quick")) if not f.ok]
    assert not bad, "\n".join(bad)


# Figure 1 -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def synthetic():
    return FIGURES["fig1"].compute("quick", seeds=2, scales=[1e-5, 1e-2])


def test_figure_1_holds_and_draws(synthetic):
    bad = [str(f) for f in FIGURES["fig1"].facts(synthetic) if not f.ok]
    assert not bad, "\n".join(bad)
    assert FIGURES["fig1"].draw(synthetic) is not None and len(FIGURES["fig1"].caption(synthetic)) > 300


def test_every_fact_of_figure_1_refuses_some_wrong_numbers(synthetic):
    ds = synthetic
    backwards = ds.isel(slope=slice(None, None, -1)).assign_coords(slope=ds.slope.values)
    wrong = [ds * by for by in (1.2, 0.8)]
    wrong = [w.assign_coords(ds.coords).assign_attrs(ds.attrs) for w in [*wrong, backwards]]
    wrong.append(changed(ds, "stable_rank", epoch=50, plus=1.0))
    wrong.append(ds.assign(kappa=0.1 * ds.kappa))
    texts = {f.text for f in fig1.facts(ds)}
    assert texts <= set().union(*(broken(fig1.facts(w)) for w in wrong))


def test_the_handbooks_replica_is_told_from_other_numbers(synthetic):
    five = synthetic.isel(run=[0, 1, 0, 1, 0]).copy(deep=True)
    there = [key for key in fig1.REPLICA if key[1] in (1e-5, 1e-2)]
    for name, scale, slope in there:
        target, unit = fig1.REPLICA[name, scale, slope]
        values = target + 0.2 * unit * np.array([-1.0, 0.0, 1.0, 0.5, -0.5])
        five[name].loc[dict(scale=scale, slope=slope, epoch=50)] = values
    texts = [f.text for f in fig1.facts(five) if "handbook" in f.text and f.ok]
    assert len(texts) == len(there)
    for name in ("stable_rank", "stacked_rank", "loss"):
        five[name] = 1.1 * five[name]
    assert set(texts) <= broken(fig1.facts(five))


@pytest.mark.exhaustive
def test_every_stated_fact_holds_on_ten_points():
    bad = [str(f) for f in FIGURES["fig1"].facts(FIGURES["fig1"].compute("full")) if not f.ok]
    assert not bad, "\n".join(bad)


def test_the_ranks_of_figure_1_are_those_of_singular_values():
    w = np.random.default_rng(0).normal(size=(2, 8, 5))
    for got, part in zip(fig1.ranks(w, 4), (w[:, :4], w), strict=True):
        values = np.linalg.svd(part, compute_uv=False) ** 2
        np.testing.assert_allclose(got, values.sum(axis=1) / values[:, 0], rtol=1e-12)


@pytest.mark.parametrize(("m", "d"), [(10, 300), (100, 150)])
def test_a_gaussian_matrix_starts_where_the_formula_says(m, d):
    rng = np.random.default_rng([m, d])
    found = []
    for _ in range(60):
        values = np.linalg.svd(rng.normal(size=(m, d)), compute_uv=False) ** 2
        found.append(values.sum() / values[0])
    mean, spread = _start.gaussian_rank(m, d)
    assert abs(np.mean(found) - mean) < 4 * spread / np.sqrt(60)
    # The standard deviation of 60 normal values is itself known to 1/sqrt(120).
    assert abs(np.std(found, ddof=1) / spread - 1) < 4 / np.sqrt(120)
    # To leading order, which 60 matrices tell from the truth.
    assert abs(np.mean(found) - m * d / (np.sqrt(m) + np.sqrt(d)) ** 2) > 4 * spread / np.sqrt(60)
