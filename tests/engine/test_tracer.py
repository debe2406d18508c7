"""One neuron traced under forces that are polynomials in time, against closed forms and the frozen phase."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.kernels import asked, start

import reluflow as rf


def traced(engine, problem, H):
    """The only neuron of a problem over a stretch of length H, the forces staying as they are at its start."""
    one = start(engine, problem)
    packed, state, work = one.problem, one.state, one.work
    size = state.y.size
    window = engine.windows.window(packed.e, 1, packed.alpha.size, size)
    stretch = window.stretch
    stretch.clock, stretch.H, stretch.unit, stretch.both = 0.0, H, H, 1
    window.F[0], window.B[0] = H * work.jump, H * work.base
    r = packed.e.shape[1]
    window.FE[:, :r], window.BE[:, :r] = window.F[0][:, None] * packed.e, window.B[0][:, None] * packed.e
    window.u0[:] = work.u
    with np.errstate(all="ignore"):
        status = engine.tracer.trace(packed, state, one.run, work, window, 0)
    return one, window, status


def problem(w, a, x, y):
    """Small: outputs are 0 and forces are labels. One point an axis and equal weights: no sum is reordered."""
    return rf.Problem(rf.Data(x, y), rf.Params([w], [a], log_scale=-60.0), reduction="sum")


@pytest.mark.parametrize("a", [np.sqrt(1.25), 0.7, -0.2], ids=["balanced", "less", "against"])
def test_under_a_constant_force_the_neuron_follows_cosh_and_sinh(engine, a):
    w, x, y, H = np.array([1.0, 0.5]), np.array([1.0, 0.0]), 1.5, 0.4
    one, window, status = traced(engine, problem(w, a, [x], [y]), H)
    assert status == engine.tracer.DONE and window.hits[0] == (a < 0.0)
    size = np.sqrt(0.5 * (a * a + w @ w)) if abs(a * a - w @ w) > 1e-12 else np.linalg.norm(w)
    if a > 0.0:
        p, d = w @ x, y * H
        assert size * window.ends[0] == pytest.approx(a * np.cosh(d) + p * np.sinh(d), rel=1e-13)
        assert p + size * window.move[0] @ x == pytest.approx(p * np.cosh(d) + a * np.sinh(d), rel=1e-13)
    else:
        # a = 0 where tanh(d t) = -a / p.
        assert one.work.log[0, 0] == pytest.approx(np.arctanh(-a / (w @ x)) / y, rel=1e-12)
        assert one.work.log[0, 3] == engine.surfaces.EV_SIGN and one.state.sign[0] == 1.0


def test_the_series_solves_its_equation(engine):
    """a' = sum_i x^i (beta_i + sum_l Gamma_il alpha_l), alpha_i' = a x^i, at places inside the stretch."""
    rng, n = np.random.default_rng(3), engine.tracer.NODES
    fade = 0.1 * 0.05 ** np.arange(n)  # a stretch short enough for the forces to be nearly straight
    root = fade[:, None] * rng.normal(size=(n, 4))
    beta, gamma = fade * rng.normal(size=n), root @ root.T
    one = SimpleNamespace(A=np.empty(engine.tracer.TAYLOR + 1), T=np.empty((engine.tracer.TAYLOR + 1, n)))
    assert engine.tracer.series(beta, gamma, 0.7, one.A, one.T)
    h, powers = 1e-5, np.arange(n)
    for x in (0.1, 0.5, 0.9):
        before, here, after = np.empty(n), np.empty(n), np.empty(n)
        low = engine.tracer.amounts(one, x - h, before)
        a = engine.tracer.amounts(one, x, here)
        high = engine.tracer.amounts(one, x + h, after)
        assert (high - low) / (2 * h) == pytest.approx(x**powers @ (beta + gamma @ here), abs=1e-9)
        np.testing.assert_allclose((after - before) / (2 * h), a * x**powers, rtol=0, atol=1e-9)


def test_a_force_too_strong_for_the_series_is_refused(engine):
    _, _, status = traced(engine, problem([1.0, 0.5], 1.2, [[1.0, 0.0]], [1.5]), 40.0)
    assert status == engine.tracer.BAD


def test_events_are_those_of_a_frozen_phase(engine):
    compared = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 9])
        w = rng.normal(size=3)
        drawn = problem(w, np.linalg.norm(w), rng.normal(size=(4, 3)), rng.normal(size=4))
        one, _, status = traced(engine, drawn, 0.5)
        again = start(engine, drawn)
        span = engine.layout.record(engine.layout.SPAN)
        span.t1, span.c_stop, span.next = 0.5, np.inf, -1
        with np.errstate(all="ignore"):
            for first in (-1, 0):
                span.next = first
                wanted = asked(engine, again, span, 0.5)
                engine.frozen.jump(again.problem, again.state, again.run, again.work, wanted, again.scratch.y1)
        rows, expected = one.work.log[: one.run.log_used], again.work.log[: again.run.log_used]
        if status == engine.tracer.BAD or len(expected) == 0:
            continue
        assert np.array_equal(rows[:, 1:], expected[:, 1:])
        np.testing.assert_allclose(rows[:, 0], expected[:, 0], rtol=0, atol=1e-11)
        compared += 1
    assert compared >= 10
