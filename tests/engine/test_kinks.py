"""Where a margin passes the kink of a loss inside a stretch."""

import numpy as np
import pytest
from support.kernels import start

import reluflow as rf
from reluflow.engine.tracer import AT, NODES


@pytest.fixture
def stretch(engine):
    """A stretch of length 1/4 with the squared hinge on three data, whose margins the tests set."""
    data = rf.Data(np.eye(3), [1.0, -1.0, 1.0])
    s = start(engine, rf.Problem(data, rf.init.balanced(4, 3, seed=1), loss="hinge2"))
    s.window = engine.windows.window(s.problem.e, 4, 3, s.state.y.size, kinked=True)
    s.window.stretch.H, s.window.stretch.rtol = 0.25, 1e-10
    s.window.margin[:] = -1.0
    return s


@pytest.mark.parametrize("place", [0.004, 0.3, 0.8, 0.9999])
def test_a_kink_is_found_where_the_margin_passes_it(engine, stretch, place):
    # The polynomial through the nodes is the margin itself: a cubic that grows and vanishes at `place` alone.
    s, x = stretch, AT - place
    s.window.margin[:, 1] = x + 0.5 * x**3
    assert engine.kinks.first_kink(s.problem, s.window) == pytest.approx(place, rel=1e-12)


def test_the_first_of_several_kinks_counts(engine, stretch):
    s = stretch
    s.window.margin[:, 0], s.window.margin[:, 2] = AT - 0.7, 0.45 - AT
    assert engine.kinks.first_kink(s.problem, s.window) == pytest.approx(0.45, rel=1e-12)


def test_no_kink_is_found_where_no_margin_passes(engine, stretch):
    s = stretch
    s.window.margin[:, 1] = AT + 0.1
    assert engine.kinks.first_kink(s.problem, s.window) == 2.0


@pytest.mark.parametrize("end", ["start", "end"])
def test_a_kink_at_either_end_counts_from_the_distance_at_which_its_triangle_is_felt(engine, stretch, end):
    s = stretch
    stretch_unit = 0.25 * s.problem.weight * np.sqrt(s.window.stretch.gram_norm) * abs(s.problem.alpha[0])
    felt = np.sqrt(2.0 * engine.kinks.NEGLIGIBLE * 1e-10 / stretch_unit)  # where unit * slope * d^2 / 2 is negligible
    for share, found in ((0.9, False), (1.1, True)):
        place = share * felt if end == "start" else 1.0 - share * felt
        s.window.margin[:, 0] = AT - place
        assert (engine.kinks.first_kink(s.problem, s.window) < 1.0) == found


def test_other_losses_have_no_kink_to_look_for(engine):
    data = rf.Data(np.eye(3), [1.0, -1.0, 1.0])
    s = start(engine, rf.Problem(data, rf.init.balanced(4, 3, seed=1), loss="logistic"))
    window = engine.windows.window(s.problem.e, 4, 3, s.state.y.size)
    assert window.margin.shape == (NODES, 0)
    assert engine.kinks.first_kink(s.problem, window) == 2.0
