"""Pictures of one run: what cannot be drawn is refused, not drawn wrong."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import reluflow as rf


def run(data):
    return rf.solve(rf.Problem(data, rf.init.balanced(8, data.d, log_scale=-3.0, seed=0)), t1=5.0)


@pytest.fixture
def axes():
    return Figure().subplots()


def test_the_function_goes_through_the_outputs(axes):
    data = rf.data.five_points()
    sol = run(data)
    rf.plot.function(axes, data, sol.final, np.sort(data.x[:, 0]))
    drawn = axes.lines[-1].get_ydata()
    np.testing.assert_allclose(drawn, sol.outputs_at(sol.t[-1])[np.argsort(data.x[:, 0])], rtol=1e-9)


@pytest.mark.parametrize("d, got", [(1, "one column: .*with_bias"), (2, "a second column of.*"), (3, "3 columns: .*")])
def test_a_function_of_other_data_is_refused(axes, d, got):
    data = rf.Data(np.random.default_rng(0).normal(size=(4, d)), [1.0, -1.0, 0.5, 0.2])
    with pytest.raises(ValueError, match=f"`function` draws one column of data followed by ones, got {got}"):
        rf.plot.function(axes, data, run(data).final, np.linspace(-1, 1, 5))


def test_directions_are_angles_in_the_plane(axes):
    sol = run(rf.data.two_points())
    rf.plot.directions(axes, sol)
    assert len(axes.lines) == 8
    w = sol.final.w
    np.testing.assert_allclose(
        [line.get_ydata()[-1] for line in axes.lines], np.rad2deg(np.arctan2(w[:, 1], w[:, 0])), atol=1e-9
    )
    deep = run(rf.Data(np.eye(3), [1.0, -1.0, 0.5]))
    with pytest.raises(ValueError, match="`directions` draws angles in the plane, got data in 3 dimensions"):
        rf.plot.directions(axes, deep)


def test_times_beyond_numbers_are_drawn(axes):
    data = rf.Data(np.eye(2), [1.0, -1.0])
    init = rf.init.balanced(6, 2, log_scale=-3.0, seed=0)
    sol = rf.solve(rf.Problem(data, init, loss="logistic"), log_t1=2000.0)
    for draw in (rf.plot.loss, rf.plot.norms, rf.plot.directions):
        draw(axes, sol)
    with pytest.raises(ValueError, match=r"A time must lie in \[0, e\^2000\], the span of the run, got inf\.$"):
        sol.loss_at(sol.t)


@pytest.mark.parametrize(
    "data, titles",
    [
        (rf.data.five_points(), ["Loss", "Neurons", "Directions", "Function at the end"]),
        (rf.data.toy_plane(), ["Loss", "Neurons", "Directions", "Sign of f at the end"]),
        (rf.Data(np.eye(3), [1.0, -1.0, 0.5]), ["Loss", "Neurons"]),
    ],
)
def test_a_picture_of_a_run_shows_what_can_be_drawn(data, titles):
    sol = run(data)
    figure = rf.plot.picture(sol, title="mine")
    assert [ax.get_title(loc="left") for ax in figure.axes] == titles
    x, y = figure.axes[0].lines[0].get_data()
    np.testing.assert_array_equal(x, sol.t)
    np.testing.assert_array_equal(y, sol.loss)
    assert figure.get_suptitle() == "mine"
    with pytest.raises(ValueError, match=r"`names` selects quantities of a sweep, got .* for a run"):
        rf.plot.picture(sol, ["loss"])


def test_a_picture_shades_where_neurons_grow():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(12, 2, log_scale=-50.0, seed=0))
    sol = rf.solve(problem)
    spans = [(p.get_x(), p.get_x() + p.get_width()) for p in rf.plot.picture(sol).axes[0].patches]
    np.testing.assert_allclose(spans, [(p.start, p.end) for p in sol.phases()["growth"]], rtol=1e-12)
    assert len(spans) == 2


def test_tails_are_drawn_over_log_t():
    init = rf.init.balanced(6, 2, log_scale=-3.0, seed=0)
    sol = rf.solve(rf.Problem(rf.Data(np.eye(2), [1.0, -1.0]), init, loss="logistic"), log_t1=2000.0)
    soon = rf.solve(sol.problem, t1=1e-3)
    assert rf.plot.picture(soon).axes[0].get_xlabel() == "t"
    ax = rf.plot.picture(sol).axes[0]
    assert ax.get_xlabel() == "log10 t" and ax.lines[0].get_xdata()[-1] == pytest.approx(2000.0 / np.log(10))
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(sol.log_loss[-1] / np.log(10))


def test_what_is_no_run_is_sent_where_it_is_drawn():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(4, 2, seed=0))
    with pytest.raises(TypeError, match=r"got Problem: solve it with `rf\.solve` first"):
        rf.plot.picture(problem)
    with pytest.raises(TypeError, match=r"got Comparison: use its own `\.figure\(\)`"):
        rf.plot.picture(rf.compare(problem, rf.Descent(0.1), t1=1.0))
