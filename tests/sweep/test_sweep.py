"""What a sweep returns: the same numbers as runs one by one, labelled, with the reasons of those that failed."""

import json
import time

import numpy as np
import pytest
from support.counted import Clock
from support.sweeps import KEEP, assert_same, experiment

import reluflow as rf
from reluflow.sweep import QUANTITIES, load, pool, sweep


def test_every_point_equals_the_run_made_by_hand():
    over = {"init.log_scale": [-4.0, -9.0], "init.seed": range(3)}
    ds = sweep(experiment(), over, KEEP, workers=0)
    assert ds["final.log_loss"].dims == ("init.log_scale", "init.seed")
    for scale in over["init.log_scale"]:
        for seed in over["init.seed"]:
            sol = experiment(init__log_scale=scale, init__seed=seed).run()
            here = ds.sel({"init.log_scale": scale, "init.seed": seed})
            assert here["final.log_loss"] == sol.log_loss[-1]
            assert here["events.count"] == sol.stats.events
            assert here["outcome"] == "reached"
            # Kept moments went through a logarithm: t to rounding, and the loss with it.
            np.testing.assert_allclose(here["log_loss"], sol.log_loss_at(np.linspace(0, 60, 65)), rtol=1e-12)
            start, end = (np.r_[w.ravel(), a] for w, a in (sol.problem.init.arrays(), sol.final.arrays()))
            moved = np.linalg.norm(end - start) / np.linalg.norm(start)
            np.testing.assert_allclose(here["final.log_moved"], np.log(moved), rtol=1e-12)
    np.testing.assert_allclose(ds["t"], np.linspace(0, 60, 65), rtol=1e-14)
    assert not ds["failed"].any()


def test_a_crossing_time_is_where_the_loss_crosses():
    wide = experiment(init__width=20, solve__t1=100.0)
    ds = sweep(wide, {"init.seed": range(4)}, ["time.below.0.9", "log_time.below.0.9"], workers=0)
    for seed in range(4):
        sol = wide.changed({"init.seed": seed}).run()
        at = float(ds["time.below.0.9"][seed])
        # Three cuts in 16 and a line: far inside the relative 1e-4 that rtol = 1e-6 promises.
        assert sol.loss_at(at) == pytest.approx(0.9 * sol.loss[0], rel=1e-4)
        assert np.log(at) == pytest.approx(float(ds["log_time.below.0.9"][seed]), rel=1e-12)
    never = sweep(experiment(solve__t1=0.1), {"init.seed": [0]}, ["time.half"], workers=0)
    assert np.isnan(never["time.half"]).all()


def test_the_alignment_time_of_two_nearby_directions_is_the_closed_form():
    # A neuron with a > 0 active on x1 only reaches x2 after log(tan(phi/2) / tan(delta/2)), phi its angle to x1, over
    # the force 1 of the exponential loss at f = 0, summed.
    delta, phi = 0.1, 1.2
    one = rf.Experiment(
        data={"kind": "two_angles", "delta": delta},
        init={"kind": "arrays", "w": [[np.cos(phi), -np.sin(phi)]], "a": [1.0], "log_scale": -100.0},
        problem={"loss": "exponential", "reduction": "sum"},
        solve={"t1": 8.0},
    )
    ds = sweep(one, {"init.log_scale": [-100.0, -1000.0]}, ["time.aligned"], workers=0)
    expected = np.log(np.tan(phi / 2) / np.tan(delta / 2))
    np.testing.assert_allclose(ds["time.aligned"], expected, rtol=1e-6)


def test_kinds_of_quantities_agree_with_the_solution():
    names = ["final.outputs", "final.squared_norm", "final.t", "stats.rejected", "events.slide", "phases.count",
             "phases.alignment.end", "phases.growth.9.half", "outputs", "log_norm"]  # fmt: skip
    ds = sweep(experiment(), {"init.seed": [5]}, names, workers=0).isel({"init.seed": 0})
    sol = experiment(init__seed=5).run()
    w, a = sol.final.arrays()
    np.testing.assert_array_equal(ds["final.outputs"], sol.outputs[-1])
    assert float(ds["final.squared_norm"]) == pytest.approx(np.sum(w**2) + np.sum(a**2), rel=1e-13)
    assert float(ds["final.t"]) == pytest.approx(60.0, rel=1e-14)
    assert ds["stats.rejected"] == sol.stats.rejected
    assert ds["events.slide"] == len(sol.events["slide"])
    phases = sol.phases()
    assert (ds["phases.count"], ds["phases.alignment.end"]) == (len(phases), phases["alignment"][0].end)
    assert np.isnan(ds["phases.growth.9.half"])
    assert (ds["outputs"].shape, ds["log_norm"].shape) == ((65, 5), (65, 4))
    np.testing.assert_allclose(ds["outputs"][-1], sol.outputs[-1], rtol=1e-12)


def test_the_gap_between_descent_and_flow_is_that_of_compare():
    run = experiment(method__kind="descent", method__step=0.02, solve__t1=20.0)
    ds = sweep(run, {"method.step": [0.02, 0.04]}, ["compare.gap", "compare.flips"], workers=0)
    mine = rf.compare(run.problem(), rf.Descent(0.04), 20.0)
    assert ds["compare.gap"][1] == np.max(mine.gap)
    with_flow = sweep(experiment(), {"init.seed": [0]}, ["compare.gap"], workers=0)
    assert "needs a descent, got a flow" in str(with_flow["reason"].values[0])


def test_observables_are_kept_as_they_are_at_the_end():
    ds = sweep(experiment(), {"init.seed": [0, 1]}, ["observe.stable_rank", "observe.outputs"], workers=0)
    sol = experiment(init__seed=1).run()
    # The end went through a logarithm: t to rounding.
    np.testing.assert_allclose(ds["observe.stable_rank"][1], rf.observe.stable_rank(sol)[-1], rtol=1e-9)
    assert ds["observe.outputs"].dims == ("init.seed", "datum")


def test_verdicts_margins_and_constants_of_checks_are_kept():
    run = rf.Experiment(
        data={"kind": "orthogonally_separable", "n": 4, "d": 3, "mu": 0.3},
        init={"kind": "balanced", "width": 6, "log_scale": -40.0},
        problem={"loss": "exponential", "reduction": "sum"},
        solve={"t1": 5.0},
    )
    names = ["applies", "ok", "margin", "verdict", "claims.0.measured"]
    ds = sweep(run, {"data.mu": [0.2, 0.6]}, [f"check.min2024.lemma11.{n}" for n in names], workers=0)
    report = rf.check("min2024.lemma11", run.changed({"data.mu": 0.6}).data)
    here = ds.isel({"data.mu": 1})
    assert here["check.min2024.lemma11.applies"] == 1.0 == float(report.applies)
    assert here["check.min2024.lemma11.ok"] == float(report.ok)
    assert here["check.min2024.lemma11.margin"] == min(c.margin for c in report.claims)
    assert here["check.min2024.lemma11.verdict"] in [c.verdict for c in report.claims]
    assert here["check.min2024.lemma11.claims.0.measured"] == report.claims[0].measured
    # The same lemma on data that break its hypothesis says so.
    bad = rf.Experiment(
        data={"kind": "random_points", "n": 6, "d": 3, "labels": "signs"},
        init={"kind": "balanced", "width": 6},
        solve={"t1": 1.0},
    )
    failed = sweep(bad, {"init.seed": [0]}, ["check.min2024.lemma11.applies"], workers=0)
    assert failed["check.min2024.lemma11.applies"].values.tolist() == [0.0]


def biggest_output(sol):
    return float(np.max(np.abs(sol.outputs[-1])))


def test_a_function_of_ones_own_is_kept_by_its_import_path(monkeypatch, tmp_path):
    (tmp_path / "my_quantities.py").write_text(
        "import numpy as np\n\ndef biggest(sol):\n    return float(np.max(np.abs(sol.outputs[-1])))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    ds = sweep(experiment(), {"init.seed": [0, 1]}, ["my_quantities:biggest"], workers=0)
    assert ds["my_quantities:biggest"][1] == biggest_output(experiment(init__seed=1).run())
    with pytest.raises(ValueError, match="must be an importable `module:function`"):
        sweep(experiment(), {"init.seed": [0, 1]}, ["my_quantities:nothing"], workers=0)


def test_arrays_of_unlike_sizes_are_padded():
    run = rf.Experiment(
        data={"kind": "random_points", "n": 3, "d": 2}, init={"kind": "balanced", "width": 3}, solve={"t1": 1.0}
    )
    ds = sweep(run, {"data.n": [2, 3]}, ["final.outputs"], workers=0)
    assert ds["final.outputs"].shape == (2, 3)
    assert np.isnan(ds["final.outputs"][0, 2]) and np.isfinite(ds["final.outputs"][0, :2]).all()


def test_points_that_cannot_be_computed_name_their_reason_and_the_rest_goes_on():
    over = {"data.y3": [-0.3, np.nan], "method.rtol": [1e-6, 1e-15], "init.seed": [0, 1]}
    ds = sweep(experiment(), over, ["final.log_loss"], workers=0)
    good = ds.sel({"data.y3": -0.3, "method.rtol": 1e-6})
    assert not good["failed"].any() and np.isfinite(good["final.log_loss"]).all()
    bad = ds["failed"].values
    assert bad.sum() == 6 and np.isnan(ds["final.log_loss"].values[bad]).all()
    assert all("`data.y3` must hold finite numbers, got nan" in r for r in ds["reason"][1, 0].values)
    assert all("`rtol` must be in [1e-13, 1e-2], got 1e-15" in r for r in ds["reason"][0, 1].values)


def test_an_endless_run_ends_at_its_seconds_and_says_so(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", Clock())
    endless = experiment(method__kind="descent", method__step=1e-12, solve__t1=1000.0, init__log_scale=-1.0)
    ds = sweep(endless, {"init.seed": [0]}, ["final.log_loss"], workers=0, seconds=3.0)
    assert ds["outcome"].values[0] == "time_limit"
    assert "reached its time limit" in str(ds["reason"].values[0])
    assert 3.0 < float(ds["seconds"][0]) < 5.0


def test_more_memory_than_the_budget_is_refused():
    # The state of 400,000 neurons and its 16 stages of a step are 16 x 8 x 1.6 million bytes: 200 MB.
    wide = experiment(init__width=400_000)
    ds = sweep(wide.changed({"solve.t1": 1e-3}), {"init.width": [4, 400_000]}, ["final.log_loss"],
               workers=0, memory="64 MiB")  # fmt: skip
    assert ds["failed"].values.tolist() == [False, True]
    assert ds["reason"].values[1] == "Out of memory: it needs more than 64 MiB."


def test_a_dataset_says_where_it_comes_from():
    import reluflow.store

    ds = sweep(experiment(), {"init.seed": [0, 1]}, ["final.log_loss"], workers=0)
    assert rf.Experiment.from_dict(json.loads(ds.attrs["experiment"])) == experiment()
    assert json.loads(ds.attrs["over"]) == {"init.seed": [0, 1]}
    assert json.loads(ds.attrs["versions"]) == [reluflow.store.versions()]


def test_the_table_of_a_file_is_the_default(tmp_path):
    text = experiment().to_toml() + '\n[sweep]\nkeep = ["stats.steps"]\n[sweep.over]\n"init.seed" = [2, 3]\n'
    ds = sweep(rf.Experiment.parse(text), workers=0)
    assert set(ds.data_vars) == {"outcome", "stats.steps", "failed", "reason", "seconds"}
    assert ds["init.seed"].values.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (dict(over={"init.widht": [3]}), rf.ExperimentError, "`init.widht` is not an argument of `rf.init.balanced`"),
        (dict(over=None), ValueError, "`over` is missing"),
        (dict(keep=["final.log_los"]), ValueError, "`final.log_los` is not a quantity to keep: did you mean"),
        (dict(keep=["loss.final"]), ValueError, r"is not a quantity to keep: did you mean `final\.loss`\?"),
        (dict(keep=["phases.growht.0.half"]), ValueError, "is not a quantity to keep: did you mean"),
        (dict(keep=["time.below.2"]), ValueError, "is not a quantity to keep"),
        (dict(workers=-1), ValueError, "`workers` must be a whole number >= 0"),
        (dict(seconds=0), ValueError, "`seconds` must be positive"),
        (dict(memory="lots"), ValueError, "`memory` must be a size"),
        (dict(resume=True), ValueError, "Resuming needs `store`"),
        (dict(scheduler="tcp://127.0.0.1:1"), ConnectionError, "No Dask scheduler answers at `tcp://127.0.0.1:1`"),
    ],
)
def test_what_cannot_be_swept_is_refused_in_one_sentence(arguments, error, sentence, monkeypatch):
    monkeypatch.setattr(pool, "CONNECT", 0.5)
    given = dict(over={"init.seed": [0]}, keep=["final.log_loss"]) | arguments
    with pytest.raises(error, match=sentence):
        sweep(experiment(), **given)


def test_every_listed_quantity_is_known():
    from reluflow.sweep.keep import checked

    for name in QUANTITIES:
        assert checked([name]) == [name]


def test_a_stored_sweep_is_read_back_whole(tmp_path):
    ds = sweep(experiment(), {"init.seed": range(3)}, KEEP, workers=0, store=tmp_path / "s")
    assert_same(load(tmp_path / "s"), ds)


def test_a_random_design_is_stored_and_read_back(tmp_path):
    over = {"init.log_scale": [-9.0, -3.0], "init.seed": [0, 99]}
    ds = sweep(experiment(), over, KEEP, design="latin", points=7, seed=1, workers=0, store=tmp_path / "s")
    assert ds["final.log_loss"].dims == ("point",) and ds["init.log_scale"].dims == ("point",)
    assert_same(load(tmp_path / "s"), ds)
