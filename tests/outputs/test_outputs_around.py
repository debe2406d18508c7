"""What comes back from a run with several outputs: predictions, observed quantities, phases, files, experiments."""

import numpy as np
import pytest
from tests.support.outputs import problem

import reluflow as rf


@pytest.fixture(scope="module")
def classes():
    p = rf.Problem(rf.data.blobs(18), rf.init.balanced(10, 2, outputs=3, log_scale=-2.0), loss="softmax")
    return rf.solve(p, rf.Flow(1e-8), t1=40.0)


@pytest.fixture(scope="module")
def stairs():
    """Handbook, fact C: seven orthonormal inputs of three classes, learnt one class after another."""
    data = rf.Data(np.eye(7), [0, 0, 0, 0, 1, 1, 2]).one_hot()
    return rf.solve(rf.Problem(data, rf.init.balanced(12, 7, log_scale=-30.0, outputs=3)), rf.Flow(1e-8), t1=240.0)


def test_predictions_at_the_data_are_the_outputs(classes):
    t = [1.0, 7.5]
    assert classes.outputs.shape[1:] == (18, 3)
    np.testing.assert_allclose(classes.predict(classes.problem.data.x, t), classes.outputs_at(t), atol=1e-12)
    assert classes.at(3.0).a.shape == (10, 3)
    assert list(classes.to_pandas().columns[4:7]) == ["output_0_0", "output_0_1", "output_0_2"]


def test_accuracy_counts_the_largest_outputs(classes):
    data = classes.problem.data
    right = np.mean(classes.outputs_at(0.0).argmax(axis=1) == data.y)
    assert classes.accuracy(t=0.0) == right and classes.accuracy() == 1.0
    np.testing.assert_array_equal(classes.classify(data.x), data.y)
    other = rf.data.blobs(30, seed=5)
    assert classes.accuracy(other) == np.mean(classes.predict(other.x).argmax(axis=1) == other.y)


def test_the_loss_on_the_training_data_is_the_loss_of_the_run(classes, stairs):
    for sol in (classes, stairs):
        np.testing.assert_allclose(sol.test_loss(sol.problem.data, [1.0, 20.0]), sol.loss_at([1.0, 20.0]), rtol=1e-9)


def test_margins_are_the_lead_of_the_own_class(classes):
    f, y = classes.outputs_at(10.0), classes.problem.data.y.astype(int)
    by_hand = [row[c] - max(np.delete(row, c)) for row, c in zip(f, y)]
    np.testing.assert_allclose(rf.observe.margins(classes, t=[10.0]).values[0], by_hand, rtol=1e-12)
    p = classes.at(10.0)
    size = sum(np.sum(v**2) for v in p.arrays())
    np.testing.assert_allclose(rf.observe.normalised_margin(classes, t=[10.0]), min(by_hand) / size, rtol=1e-9)


def test_aligned_neurons_are_top_singular_pairs_of_their_drive(stairs):
    p, t = stairs.problem, 60.0
    found = rf.observe.pair_alignment(stairs, t=[t]).values[0]
    state, bits = stairs.at(t), stairs.bits_at(t)
    drive = (p.targets - stairs.outputs_at(t)) / p.data.n
    for j in range(12):
        top = np.linalg.norm((drive * bits[j][:, None]).T @ p.data.x, 2)
        rate = state.a[j] @ (drive.T * bits[j]) @ (p.data.x @ state.w[j])
        size = np.linalg.norm(state.a[j]) * np.linalg.norm(state.w[j])
        assert found[j] == pytest.approx(rate / (size * top), abs=1e-9)
    assert np.max(found) > 1 - 1e-4 and np.max(found) < 1 + 1e-12


def test_one_output_has_the_alignment_of_its_sign_and_cosine():
    sol = rf.solve(rf.Problem(rf.data.five_points(), rf.init.balanced(6, 2, log_scale=-3.0)), rf.Flow(1e-6), t1=5.0)
    found = rf.observe.pair_alignment(sol, t=[2.0]).values[0]
    w, g = sol.at(2.0), (sol.problem.data.y - sol.outputs_at(2.0)) / 5
    pull = (sol.bits_at(2.0) * g) @ sol.problem.data.x
    size = np.linalg.norm(pull, axis=1) * np.linalg.norm(w.w, axis=1)
    live = size > 0
    np.testing.assert_allclose(found[live], (np.sign(w.a) * np.sum(pull * w.w, axis=1))[live] / size[live], atol=1e-9)
    assert np.all(np.isnan(found[~live])) and 2 <= np.sum(live) < 6


def test_the_gradient_of_observe_is_what_the_loss_falls_by(classes):
    t, h = 5.0, 1e-4
    falls = -(classes.loss_at(t + h) - classes.loss_at(t - h)) / (2 * h)
    assert np.exp(float(rf.observe.log_gradient(classes, t=[t])[0])) == pytest.approx(falls, rel=1e-4)


def test_classes_are_learnt_one_after_another(stairs):
    # The plateaus of fact C: 1/2, 3/14, 1/14.
    growths = stairs.phases()["growth"]
    assert len(growths) == 3
    losses = [p.loss for p in stairs.phases() if p.kind in ("alignment", "plateau")]
    np.testing.assert_allclose(losses, [1 / 2, 3 / 14, 1 / 14], rtol=1e-3)
    parts = rf.observe.class_losses(stairs, t=[50.0, 120.0, 170.0]).values
    np.testing.assert_allclose(parts.sum(axis=1), stairs.loss_at([50.0, 120.0, 170.0]), rtol=1e-9)
    np.testing.assert_allclose(parts, [[4 / 14, 2 / 14, 1 / 14], [0, 2 / 14, 1 / 14], [0, 0, 1 / 14]], atol=2e-4)


def test_the_record_of_a_run_agrees_with_itself(classes, stairs):
    descent = rf.solve(problem("softmax"), rf.Descent(0.02), t1=4.0)
    for sol in (classes, stairs, descent):
        verdicts = {claim.text.split(":")[0]: claim.verdict for claim in rf.observe.consistency(sol)}
        assert set(verdicts.values()) <= {"holds", "holds within slack"}, verdicts


def test_a_function_of_ones_own_is_checked(classes):
    report = rf.check(lambda sol: bool(sol.accuracy() == 1.0), classes)
    assert report.ok


@pytest.mark.parametrize(
    "method", [rf.Flow(1e-6), rf.SteppedFlow(1e-4), rf.Descent(0.01)], ids=lambda m: type(m).__name__
)
def test_a_stored_run_comes_back_to_the_last_bit(method, tmp_path):
    data = rf.data.blobs(9)
    p = rf.Problem(data, rf.init.balanced(5, 2, outputs=3, log_scale=-1.0), loss="softmax")
    sol = rf.solve(p, method, t1=3.0)
    sol.save(tmp_path / "run")
    back = rf.load(tmp_path / "run")
    t = [0.0, 0.77, 2.1, 3.0]
    np.testing.assert_array_equal(back.outputs_at(t), sol.outputs_at(t))
    assert back.problem.data.classes == data.classes and back.key == sol.key
    sizes = back.to_xarray().sizes
    assert (sizes["output"], sizes["datum"], sizes["neuron"]) == (3, 9, 5)


def test_an_experiment_takes_its_number_of_outputs_from_the_data(tmp_path):
    (tmp_path / "three.csv").write_text("a,b,kind\n1,0,red\n0,1,green\n-1,-1,blue\n")
    (tmp_path / "my.toml").write_text(
        'format = 1\n[data]\nkind = "from_csv"\npath = "three.csv"\n[init]\nkind = "balanced"\nwidth = 6\n'
        'log_scale = -1.0\n[problem]\nloss = "softmax"\n[method]\nkind = "descent"\nstep = 0.1\n[solve]\nt1 = 20.0\n'
    )
    experiment = rf.Experiment.from_toml(tmp_path / "my.toml")
    sol = experiment.run()
    assert sol.problem.outputs == 3 and sol.problem.data.classes == ("blue", "green", "red")
    assert sol.loss[-1] < sol.loss[0]


def test_descent_and_flow_are_compared_and_a_flow_is_confirmed(classes):
    found = rf.compare(classes.problem, rf.Descent(1e-3), 5.0)
    assert found.gap.shape == found.t.shape and np.max(found.gap) < 0.02 and "changed sign" not in found.summary()
    assert rf.confirm(classes)


def test_pictures_of_runs_with_several_outputs_are_drawn(classes, stairs):
    for sol in (classes, stairs):
        assert len(sol.plot().axes) >= 2
    line = rf.Data([[-1.0, 1.0], [0.5, 1.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    sol = rf.solve(rf.Problem(line, rf.init.balanced(4, 2, outputs=2, log_scale=-1.0)), rf.Flow(1e-4), t1=5.0)
    assert sol.plot().axes


def test_a_sweep_keeps_quantities_of_runs_with_several_outputs():
    experiment = rf.Experiment(
        data=dict(kind="blobs", n=9),
        init=dict(kind="balanced", width=4, log_scale=-1.0),
        problem=dict(loss="softmax"),
        method=dict(kind="descent", step=0.1),
        solve=dict(t1=5.0),
    )
    keep = ["final.log_loss", "final.outputs", "outputs", "final.log_squared_norm", "final.log_moved", "time.half"]
    found = rf.sweep(experiment, over={"init.seed": [0, 1]}, keep=keep, workers=1)
    sol = experiment.run()
    assert found["outputs"].dims[-2:] == ("datum", "output")
    np.testing.assert_array_equal(found["final.outputs"].isel({"init.seed": 0}), sol.outputs[-1])
    size = sum(np.sum(v**2) for v in sol.final.arrays())
    assert float(found["final.log_squared_norm"][0]) == pytest.approx(np.log(size), abs=1e-12)
