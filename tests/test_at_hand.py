"""What a Solution, a Report and Data offer at hand: predictions, test losses, tables, pictures, HTML for notebooks."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.plot.run import _over_log


@pytest.fixture(scope="module")
def classifier():
    rng = np.random.default_rng(0)
    data = rf.Data(rng.normal(size=(12, 2)), np.sign(rng.normal(size=12))).with_bias()
    return rf.solve(rf.Problem(data, rf.init.balanced(10, 3, log_scale=-1.0), loss="logistic"), t1=50.0)


@pytest.fixture(scope="module")
def regression():
    x = np.linspace(-1.0, 1.0, 6)
    data = rf.Data(x[:, None], np.sin(3 * x)).with_bias()
    return rf.solve(rf.Problem(data, rf.init.balanced(12, 2, log_scale=-0.5)), t1=2000.0)


def test_predictions_on_the_data_are_the_outputs(classifier):
    x, t = classifier.problem.data.x, [0.0, 3.0, 50.0]
    near = dict(rtol=1e-12, atol=1e-14)  # a neuron that slides on a datum adds its rounding
    np.testing.assert_allclose(classifier.predict(x, t), classifier.outputs_at(t), **near)
    np.testing.assert_allclose(classifier.predict(x), classifier.outputs_at(50.0), **near)
    np.testing.assert_allclose(classifier.predict(x, log_t=1.0), classifier.outputs_at(np.e), rtol=1e-7)


def test_predictions_are_those_of_the_weights_by_hand(classifier):
    x = np.random.default_rng(1).normal(size=(5, 3))
    w, a = classifier.at(7.0).arrays()
    np.testing.assert_allclose(classifier.predict(x, 7.0), np.maximum(x @ w.T, 0.0) @ a, rtol=1e-12)


def test_a_constant_column_may_be_left_out(classifier, regression):
    x = np.random.default_rng(1).normal(size=(4, 2))
    np.testing.assert_array_equal(classifier.predict(x), classifier.predict(np.column_stack([x, np.ones(4)])))
    np.testing.assert_array_equal(regression.predict([0.1, 0.2]), regression.predict([[0.1, 1.0], [0.2, 1.0]]))
    with pytest.raises(
        ValueError, match=r"the data's 3 columns \(or 2, without the constant one\), got shape \(2, 4\)"
    ):
        classifier.predict(np.ones((2, 4)))


def test_a_network_at_e_to_the_minus_100000_predicts_0():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(5, 2, log_scale=-1e5))
    assert rf.solve(problem, t1=1.0).predict([0.3]).tolist() == [0.0]


def test_the_test_loss_is_the_loss_where_the_data_are_the_same(classifier, regression):
    for sol in (classifier, regression):
        t = [0.0, 1.0, sol.t_end]
        np.testing.assert_allclose(sol.test_loss(sol.problem.data, t), sol.loss_at(t), rtol=1e-9, atol=1e-20)
        assert isinstance(sol.test_loss(sol.problem.data), float)
    other = rf.Data(np.array([[0.5, 1.0]]), np.array([2.0]))
    assert regression.test_loss(other) == pytest.approx(0.5 * (regression.predict([0.5])[0] - 2.0) ** 2)


def test_the_table_has_one_row_per_frame(regression):
    table = regression.to_pandas()
    assert len(table) == len(regression.t) and {"t", "loss", "output_5", "log_norm_11"} <= set(table.columns)
    np.testing.assert_array_equal(table["loss"], regression.loss)
    thin = rf.solve(regression.problem, t1=2000.0, save=rf.Save(frames=20)).to_pandas()
    assert f"{len(thin)} frames of a run of {regression.stats.steps} steps" in thin.attrs["frames"] and len(thin) <= 20


def test_plot_is_the_picture_with_a_panel_for_what_was_learned(classifier, regression):
    titles = [ax.get_title(loc="left") for ax in classifier.plot().axes]
    assert titles == ["Loss", "Neurons", "Sign of f at the end"]
    assert "Function at the end" in [ax.get_title(loc="left") for ax in regression.plot().axes]


def test_learned_draws_functions_and_regions_over_time(classifier, regression):
    from matplotlib.figure import Figure

    left, middle, right = Figure().subplots(1, 3)
    rf.plot.learned(left, regression, [1.0, 10.0])
    assert [line.get_label() for line in left.lines[1:]] == ["t = 1", "t = 10"]
    np.testing.assert_allclose(left.lines[2].get_ydata(), regression.predict(left.lines[2].get_xdata(), 10.0))
    rf.plot.learned(middle, classifier, 5.0)
    with pytest.raises(ValueError, match="one time in the plane, got several"):
        rf.plot.learned(right, classifier, [1.0, 2.0])
    flat = rf.solve(rf.Problem(rf.Data(np.eye(4), np.ones(4)), rf.init.balanced(3, 4)), t1=1.0)
    with pytest.raises(ValueError, match=r"on a line or in the plane.* got 4 columns"):
        rf.plot.learned(right, flat)


def test_a_regression_in_the_plane_shows_f_itself_with_the_names_of_its_columns():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(9, 2))
    data = rf.Data(x, 3.0 + x[:, 0], columns=("height", "weight"))
    sol = rf.solve(rf.Problem(data.with_bias(), rf.init.balanced(8, 3)), t1=5.0)
    *_, panel, bar = sol.plot().axes
    assert panel.get_title(loc="left") == "Function at the end" and bar.get_ylabel() == "f(x)"
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("height", "weight")
    mesh, points = panel.collections[0], panel.collections[-1]
    corners = mesh.get_coordinates().reshape(-1, 2)
    np.testing.assert_allclose(mesh.get_array().ravel(), sol.predict(corners), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(points.get_array(), data.y)
    assert points.get_clim() == mesh.get_clim()  # a point fitted has the colour of its place


def test_time_is_drawn_as_its_logarithm_where_the_loss_falls_early_in_a_long_run(regression):
    assert _over_log(regression)  # everything happens before t = 100 of 2000
    late = rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(20, 2, log_scale=-100.0)))
    assert not _over_log(late)  # two saddles, at half and at the end of the run


def test_results_show_themselves_in_a_notebook(classifier):
    html = classifier._repr_html_()
    assert "<table>" in html and "<img" in html and "10 neurons" in html
    assert "12 rows, 3 columns; 4 more rows" in classifier.problem.data._repr_html_()
    report = rf.check("min2024.assumption1", rf.data.toy_plane())
    assert "holds" in report._repr_html_() and report.conclusion() in report._repr_html_()
    limit = rf.limit(rf.Problem(rf.data.two_points(), rf.init.balanced(8, 2)))
    assert limit._repr_html_().startswith("<pre>Limit of vanishing scale")
    assert classifier.plot()._repr_png_().startswith(b"\x89PNG")
    name = rf.Data(np.ones((1, 1)), np.ones(1), name="<b>")
    assert "&lt;b&gt;" in name._repr_html_()


CONCLUSIONS = {
    "The hypotheses are met, and the claim holds.": ([("h", 1, "=", 1)], [("a", 1, "=", 1)]),
    "There are no hypotheses, and all 2 claims hold.": ([], [("a", 1, "=", 1), ("b", 0, "<", 1)]),
    "The hypotheses are not met, so that the result does not apply here; 1 of 2 claims holds and 1 is violated.": (
        [("h", 2, "=", 1)],
        [("a", 1, "=", 1), ("b", 2, "<", 1)],
    ),
    "There are no hypotheses, and of 2 claims 1 is violated and 1 cannot be measured on this subject.": (
        [],
        [("a", 2, "=", 1), ("b", np.nan, "<", 1)],
    ),
}


@pytest.mark.parametrize("sentence", CONCLUSIONS)
def test_a_report_ends_with_a_conclusion_in_a_sentence(sentence):
    hypotheses, claims = ([rf.Claim(*c) for c in part] for part in CONCLUSIONS[sentence])
    report = rf.Report("mine", claims, hypotheses)
    assert report.conclusion() == sentence and str(report).endswith(sentence)


def test_reports_name_their_unusual_words_and_the_glossary_explains_them():
    report = rf.Report("mine", [rf.Claim("basin of the first direction", 1.0, "=", 1.0)], [rf.Claim("h", 2, "=", 1)])
    assert "words: basin (explained by `reluflow words`)" in str(report)
    assert (
        "<summary>words</summary>" in report._repr_html_()
        and "basins of one sign and the share that dies add up to 1" in report._repr_html_()
    )
    bias = rf.bias.report(rf.solve(rf.Problem(rf.data.two_points(), rf.init.balanced(6, 2, log_scale=-3.0))))
    for word in ("basin", "minimum norm", "PL ratio"):
        assert word in str(bias).splitlines()[-1] and word in bias._repr_html_().split("<summary>")[1]
    assert "words" not in str(rf.Report("mine", [rf.Claim("a", 1.0, "=", 1.0)]))


def test_a_condition_that_data_do_not_meet_is_not_called_violated():
    assert "violated" not in str(rf.data.five_points().describe()) and "not met" in str(
        rf.data.five_points().describe()
    )
    report = rf.check("boursier2022.assumption1", rf.data.five_points())
    assert report.applies or "not met" in str(report)


def test_a_claim_about_a_limit_is_not_said_to_hold():
    report = rf.Report("mine", [rf.Claim("a", 1.0, "=", 1.0, kind="limit")])
    assert report.conclusion() == "There are no hypotheses, and the claim is consistent with this run."
