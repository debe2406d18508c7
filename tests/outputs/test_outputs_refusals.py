"""What is made for one output says so in one sentence: the rule, the number received, the way out."""

import numpy as np
import pytest
from tests.support.outputs import problem

import reluflow as rf


@pytest.fixture(scope="module")
def sol():
    return rf.solve(problem("softmax"), rf.Descent(0.1), t1=1.0)


@pytest.fixture(scope="module")
def square():
    return rf.solve(problem("square"), rf.Descent(0.1), t1=1.0)


OF_RUNS = {
    "sign": lambda s: s.sign,
    "observe.signs": rf.observe.signs,
    "observe.cones": rf.observe.cones,
    "observe.groups": rf.observe.groups,
    "observe.alignment": rf.observe.alignment,
    "observe.sharpness": rf.observe.sharpness,
    "observe.merged": rf.observe.merged,
    "observe.escape": lambda s: rf.observe.escape(s.problem),
    "observe.stable_rank of a sign": lambda s: rf.observe.stable_rank(s, "+"),
    "limit": lambda s: rf.limit(s.problem),
    "decay limit": lambda s: rf.solve(s.problem, rf.DecayLimit(), t1=1.0),
    "bias.kernel": rf.bias.kernel,
    "bias.kernel_path": rf.bias.kernel_path,
    "bias.extremal": rf.bias.extremal,
    "bias.report": rf.bias.report,
    "bias.landscape": lambda s: rf.bias.landscape(s, t=0.5),
    "bias.saddles": rf.bias.saddles,
    "bias.lazy_rich": lambda s: rf.bias.lazy_rich(s.problem, [-1.0]),
    "show": rf.show,
    "deep.train": lambda s: rf.deep.train(
        rf.deep.init((3, 4, 1), std=0.1), rf.Data(s.problem.data.x, s.problem.targets), step=0.1, iterations=1
    ),
    "population.Problem": lambda s: rf.population.Problem(s.problem.init, s.problem.init),
    "plot.function": lambda s: rf.plot.function(None, rf.data.two_points(), s.problem.init, [0.0]),
    "check of a paper": lambda s: rf.check("min2024.lemma11", s),
}


@pytest.mark.parametrize("what", OF_RUNS)
def test_what_is_for_one_output_says_so_with_the_number(what, sol, square):
    for run in (sol, square):
        with pytest.raises(ValueError, match=r"one output.*got 3") as caught:
            OF_RUNS[what](run)
        assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


PLANE = [[1.0, 0.5], [0.0, 2.0]]


@pytest.mark.parametrize(
    "x, y, loss, text",
    [
        ([[1.0], [2.0]], [0, 1], "softmax", "classes of points in the plane here, got rows of 1 columns"),
        ([[1.0, 1.0], [2.0, 1.0]], [0, 1], "softmax", "classes of points in the plane"),  # a bias column
        (PLANE, [0, 6], "softmax", "colours for classes 0 to 5, got class 6"),
        (PLANE, [[0.0, 1.0], [1.0, 0.0]], "square", "one output or classes, got labels with 2 columns"),
    ],
)
def test_the_explorer_refuses_outputs_that_are_not_classes_in_the_plane(x, y, loss, text):
    from reluflow.explorer.request import Refused, experiment

    tables = {"data": {"kind": "arrays", "x": x, "y": y}, "init": {"kind": "balanced", "width": 2}}
    with pytest.raises(Refused, match=text):
        experiment(tables | {"problem": {"loss": loss}})


def test_certificates_refuse_several_outputs(square):
    pytest.importorskip("flint")
    with pytest.raises(rf.Refused, match="do not cover networks with several outputs, 3 here"):
        rf.certify(square.problem, 1)


def test_a_paper_leaves_out_all_its_checks_with_a_line_each(sol):
    found = rf.check("lee2023", sol)
    assert not found.reports and all(reason for _, reason in found.left_out)
    found = rf.check("min2024", sol)
    about_runs = [reason for _, reason in found.left_out if "one output" in reason]
    assert not found.reports and len(about_runs) > 5


def test_data_of_several_outputs_refuse_what_is_for_one():
    data = rf.data.teacher(5, 3, outputs=2)
    with pytest.raises(ValueError, match="one output, got 2"):
        rf.observe.class_sums(data)


def test_data_of_several_outputs_are_described_without_the_signs_of_labels():
    data = rf.data.teacher(5, 3, outputs=2)
    found, alone = data.describe(), rf.Data(data.x, data.y[:, 0]).describe()
    assert (found.norm_max, found.max_cos, found.rank) == (alone.norm_max, alone.max_cos, alone.rank)
    assert found.mu is None and found.assumptions == ()
    assert "2 numbers a row" in str(found) and "|D+|" not in str(found) and found.to_dict()["outputs"] == 2


@pytest.mark.parametrize(
    "loss, y, outputs, text",
    [
        ("square", np.zeros(4), 3, "as many outputs as the labels, got 3 for 1.*softmax"),
        ("square", np.zeros((4, 2)), 3, "got 3 for 2: use `outputs=2`"),
        ("softmax", [0, 1, 2, 2], 2, "each of the 3 classes of the softmax loss, got 2: use .*outputs=3"),
        ("softmax", [0, 1, 2, 1.5], 3, "whole numbers from 0, one a row, got 1.5"),
        ("softmax", [0, 1, -1, 2], 3, "whole numbers from 0, one a row, got -1"),
        ("softmax", np.zeros((4, 3)), 3, r"shape \(4, 3\): use `y.argmax\(axis=1\)`"),
        ("logistic", np.ones(4), 2, "logistic loss is for one output, got 2.*softmax"),
    ],
)
def test_a_network_whose_outputs_do_not_fit_the_labels_is_refused(loss, y, outputs, text):
    with pytest.raises(ValueError, match=text):
        rf.Problem(rf.Data(np.eye(4), y), rf.init.balanced(3, 4, outputs=outputs), loss=loss)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: rf.Data(np.eye(2), np.zeros((2, 2, 2))), r"`y` must have 1 or 2 dimensions, got shape \(2, 2, 2\)"),
        (lambda: rf.Params(np.eye(2), np.zeros((2, 0))), r"`a` must have 1 or 2 dimensions, got shape \(2, 0\)"),
        (lambda: rf.init.balanced(2, 2, outputs=2, signs=[1, 1]), "`signs` are for one output, got `outputs=2`"),
        (lambda: rf.data.teacher(3, 2, outputs=2, torch_seed=4), "`torch_seed` is for one output"),
        (lambda: rf.Data(np.eye(2), [0, 2], classes=("a", "b")), "names 2 classes.*got 2"),
        (lambda: rf.data.blobs(6).flipped(), "Labels must be numbers to be flipped, got 3 named classes"),
    ],
)
def test_odd_labels_and_weights_are_refused_in_a_sentence(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_the_first_layer_alone_is_trained_by_descent_only():
    p = problem(train="first")
    for method in (rf.Flow(), rf.SteppedFlow()):
        with pytest.raises(ValueError, match=r'must be "both".*got "first".*Descent'):
            rf.solve(p, method, t1=1.0)


def test_leaps_of_descent_are_refused_where_they_are_asked_for():
    with pytest.raises(ValueError, match=r"`fast_forward=True` is for networks with one output, got 3.*leave it out"):
        rf.solve(problem("softmax"), rf.Descent(0.1, fast_forward=True), t1=1.0)
    left_out, off = (
        rf.solve(problem("softmax"), m, t1=1.0) for m in (rf.Descent(0.1), rf.Descent(0.1, fast_forward=False))
    )
    np.testing.assert_array_equal(left_out.outputs, off.outputs)


def test_weight_decay_is_refused_by_the_exact_flow_and_followed_by_the_others():
    p = problem("softmax", decay=0.1)
    with pytest.raises(ValueError, match=r"several outputs must have .*`decay=0`, got .*0\.1: use"):
        rf.solve(p, rf.Flow(), t1=1.0)
    descent, stepped = (rf.solve(p, m, t1=3.0).outputs[-1] for m in (rf.Descent(1e-3), rf.SteppedFlow(1e-6)))
    plain = rf.solve(problem("softmax"), rf.Descent(1e-3), t1=3.0).outputs[-1]
    np.testing.assert_allclose(stepped, descent, atol=1e-3)
    assert np.max(np.abs(plain - descent)) > 1e-2
