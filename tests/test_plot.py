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
