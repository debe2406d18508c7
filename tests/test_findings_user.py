"""What a new user found misleading (U2-U5), each as a test that version 0.1 fails."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import reluflow as rf
from reluflow.cli import app
from reluflow.plot import picture


def experiment(**more):
    return rf.Experiment(data={"kind": "two_points"}, init={"kind": "balanced", "width": 6}, solve={"t1": 10.0, **more})


def test_u2_the_alignment_time_is_nan_with_a_reason_where_there_is_no_alignment_phase():
    ds = rf.sweep(experiment(), {"init.log_scale": [-8.0, 2.0]}, ["time.aligned", "log_time.aligned"], workers=0)
    small, large = ds["time.aligned"].values
    assert small > 0 and np.isnan(large) and np.isnan(ds["log_time.aligned"].values[1])
    assert not ds["failed"].any() and "there is no alignment phase" in ds["time.aligned"].attrs["nan"]
    whole = rf.sweep(experiment(), {"init.log_scale": [-8.0]}, ["time.aligned"], workers=0)
    assert "nan" not in whole["time.aligned"].attrs


def test_u3_three_keys_give_a_panel_for_each_value_of_the_third_and_bands_over_seeds_alone():
    over = {"init.log_scale": [-1.0, -2.0], "init.width": [3, 6], "problem.reduction": ["mean", "sum"]}
    ds = rf.sweep(experiment(), {**over, "init.seed": [0, 1]}, ["final.log_loss", "stats.steps"], workers=0)
    axes = [ax for ax in picture(ds, ["final.log_loss"]).axes if ax.get_title(loc="left")]
    assert [ax.get_title(loc="left") for ax in axes] == ["problem.reduction = mean", "problem.reduction = sum"]
    for k, ax in enumerate(axes):
        grid = np.median(ds["final.log_loss"].isel({"problem.reduction": k}).values, axis=-1).T
        np.testing.assert_allclose(ax.collections[0].get_array(), grid[:, ::1], rtol=1e-12)
    both = [ax.get_title(loc="left") for ax in picture(ds, ["final.log_loss", "stats.steps"]).axes]
    assert len(both) == 4 and all("init.width" in name and "problem.reduction" in name for name in both)


def test_u3_too_many_panels_are_one_sentence():
    over = {"init.log_scale": [-1.0], "init.width": [3], "init.kind": ["balanced"], "solve.t1": list(range(1, 19))}
    ds = rf.sweep(experiment(), over, ["final.log_loss"], workers=0)
    with pytest.raises(ValueError, match=r"at most 16 panels, got 18 \(1 init\.kind x 18 solve\.t1\)"):
        picture(ds)


def test_u4_a_bias_report_says_why_there_is_no_margin():
    # The third row is orthogonal to every neuron's cone: no neuron is active on it, and f = 0 there for ever.
    data = rf.Data([[1.0, 0.0], [0.8, 0.6], [-1.0, 0.1]], [1.0, 1.0, -1.0])
    init = rf.init.arrays([[1.0, 0.2], [0.9, -0.1]], [1.0, 1.0], log_scale=-3.0)
    report = rf.bias.report(rf.solve(rf.Problem(data, init, loss="logistic"), t1=200.0))
    rows = dict(report.rows())
    assert "row 2 has y f = " in rows["  of the run"] and "no neuron is active on it" in rows["  of the run"]
    assert "nan" not in str(report)


def test_u4_a_recorded_training_is_told_why_its_saddles_are_not_looked_for():
    torch = pytest.importorskip("torch", reason="watching PyTorch models needs PyTorch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 4, bias=False), torch.nn.ReLU(), torch.nn.Linear(4, 1, bias=False))
    probe = rf.torch.Probe(model, rf.data.two_points().x, rf.data.two_points().y)
    probe.step()
    notes = rf.bias.report(probe.solution()).notes
    assert any("known at its recorded steps only" in note for note in notes)
    assert not any("must be one that was recorded" in note or "Only recorded times" in note for note in notes)


@pytest.mark.parametrize("method", [rf.Flow(1e-7), rf.Descent(1e-2), rf.SteppedFlow(1e-3)])
def test_u5_a_run_made_in_python_has_a_key_and_is_verified(method, tmp_path):
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(8, 2, log_scale=-2.0))
    sol = rf.solve(problem, method, t1=3.0, save=rf.Save(times=(0.0, 1.0, 2.5)))
    path = sol.save(tmp_path / "run")
    assert rf.load(path).key == sol.key and len(sol.key) == 16
    assert rf.solve(problem, method, t1=3.5).key != sol.key
    done = CliRunner().invoke(app, ["run", "--verify", str(path), "--json"])
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["identical"] and told["key"] == sol.key


def test_a_missing_data_file_is_reported_at_the_line_of_its_path(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text(
        'format = 1\n\n[data]\nkind = "from_csv"\n\npath = "nope.csv"\n[init]\nkind = "balanced"\nwidth = 3\n'
    )
    with pytest.raises(rf.ExperimentError, match=r"bad\.toml line 6: File not found"):
        rf.Experiment.from_toml(file).run()


def test_an_unknown_check_does_not_print_every_name():
    with pytest.raises(ValueError, match='"foo" is not a check') as told:
        rf.check("foo", rf.data.two_points())
    assert len(str(told.value)) < 100


def test_u5_a_key_of_an_experiment_is_the_runs(tmp_path):
    sol = experiment().run()
    assert sol.key == sol.experiment.key
