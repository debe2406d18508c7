"""The kernel that Newton's method for the drive of a stretch is made of."""

import numpy as np
import pytest
from support.kernels import start

import reluflow as rf


@pytest.fixture
def stretch(engine):
    """A stretch that has begun: 5 neurons on 7 data in 3 dimensions, leaky, none held."""
    rng = np.random.default_rng(4)
    data = rf.Data(rng.normal(size=(7, 3)), rng.normal(size=7))
    s = start(engine, rf.Problem(data, rf.init.balanced(5, 3, seed=1), activation=rf.LeakyReLU(0.2)))
    s.window = engine.windows.window(s.problem.e, 5, 7, s.state.y.size, True)
    s.window.u0[:] = s.work.u
    engine.windows.keep(s.state, s.window)
    return s


@pytest.mark.parametrize("piece", [1, 10**9])
def test_the_kernel_is_that_of_its_formula_in_one_piece_and_in_many(engine, stretch, piece, monkeypatch):
    monkeypatch.setattr(engine.newton, "PIECE", piece)
    s, window, calls = stretch, stretch.window, 1
    while not engine.newton.find_kernel(s.problem, window):
        calls += 1
    assert calls == (7 if piece == 1 else 1)  # one row at a time, or all
    q, b, c, _ = engine.layout.parts(s.state.y, 5)
    u = q @ s.problem.e.T
    weight = np.exp(2.0 * c)[:, None, None] * s.state.bits[:, :, None] * s.state.bits[:, None, :]
    pair = (b**2)[:, None, None] * s.problem.gram + u[:, :, None] * u[:, None, :]
    np.testing.assert_allclose(window.kernel, np.sum(weight * pair, axis=0), rtol=1e-13, atol=1e-15)
    assert engine.newton.find_kernel(s.problem, window)


def test_dead_neurons_and_held_surfaces_add_nothing_to_the_kernel(engine, stretch):
    s, window = stretch, stretch.window
    window.dead[:4] = engine.field.DEAD
    window.code[4, 2] = engine.field.SLID
    assert engine.newton.find_kernel(s.problem, window)
    assert np.all(window.kernel[2] == 0.0) and np.all(window.kernel[:, 2] == 0.0)
    rank = np.linalg.matrix_rank(window.kernel)
    assert 0 < rank <= 4  # of one neuron: a (d + 1)-dimensional one
