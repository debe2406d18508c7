"""Implicit steps that are shortened to their first event, against an independent integrator with the bits frozen."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.kernels import plain_engine, start

import reluflow as rf


@pytest.fixture(scope="module")
def engine():
    return plain_engine()


def at_start(engine, problem):
    """The problem at t = 0 with room for an implicit step, ready to be taken."""
    s = start(engine, problem)
    s.room = engine.implicit.room(s.scratch, s.problem.alpha.size)
    s.run.loss0 = 1.0
    s.scratch.step.longest = 1e-9
    s.scratch.u0[:] = s.work.u
    engine.coupled.begin(s.problem, s.state, s.run, s.scratch)
    engine.coupled.release_due(s.problem, s.state, s.scratch)
    return s


def frozen(engine, s, wanted, t1):
    """State and time at which `wanted` of the state vanishes, by LSODA with the bits as they are."""

    def velocity(t, y):
        out = np.zeros_like(y)
        engine.explicit.velocity(s.problem, s.state, y, t, out, s.work)
        return out

    def stop(t, y):
        return wanted(y)

    stop.terminal = True
    found = solve_ivp(velocity, (0.0, t1), s.state.y, method="LSODA", events=stop, rtol=1e-11, atol=1e-13)
    return found.y_events[0][0], found.t_events[0][0]


def proposed(engine, s, h):
    """The implicit step of length h, not yet looked at."""
    step = s.scratch.step
    engine.implicit.begin(s.problem, s.state, 0.0, s.room)
    assert engine.implicit.stages(s.problem, s.state, s.run, s.room, h, s.room.y1)
    engine.implicit.settle_end(s.problem, s.state, s.room, h)
    step.h = step.whole = h
    step.new = step.clock + h
    engine.explicit.velocity(s.problem, s.state, s.room.y1, step.new, s.room.K[12], s.work)
    s.room.u1[:] = s.work.u


W = np.array([[0.75, 0.8]])
TURNING = rf.Problem(rf.Data([[1.0, 0.0], [-0.6, 0.8]], [1.0, -0.3]), rf.Params(W, [np.linalg.norm(W)], log_scale=-2.0))


@pytest.mark.parametrize("beyond", [1.05, 1.5])
def test_a_step_ends_where_a_neuron_meets_a_surface(engine, beyond):
    """The neuron turns from 47 degrees towards the first datum and crosses the boundary of the second, at 37."""
    s = at_start(engine, TURNING)
    # The distance of the surface is that of the second row, whichever sign it was packed with.
    y, t = frozen(engine, s, lambda y: float(s.problem.e[1] @ y[:2]), 20.0)
    proposed(engine, s, beyond * t)
    assert engine.landing.land(s.problem, s.state, s.run, s.room)
    step = s.scratch.step
    assert step.x == 1.0 and (step.neuron, step.surface, step.side) == (0, 1, -1)
    assert abs(s.problem.e[1] @ s.room.y1[:2]) < 1e-13
    # One step of order 9 over the whole time: what it leaves is its own error, estimated at 1e-6 and less.
    np.testing.assert_allclose(step.h, t, rtol=1e-5)
    np.testing.assert_allclose(s.room.y1[:4], y[:4], atol=1e-5)


def test_a_step_without_an_event_is_left_as_it_is(engine):
    s = at_start(engine, TURNING)
    _, t = frozen(engine, s, lambda y: float(s.problem.e[1] @ y[:2]), 20.0)
    proposed(engine, s, 0.9 * t)
    before = s.room.y1.copy()
    assert engine.landing.land(s.problem, s.state, s.run, s.room)
    assert s.scratch.step.x == 2.0 and s.scratch.step.h == 0.9 * t
    np.testing.assert_array_equal(s.room.y1, before)


@pytest.mark.parametrize("margin, place", [(0.1, 2.0), (-0.1, 1.0)])
def test_whether_a_neuron_is_released_at_the_end_of_a_step_its_margin_there_says(engine, monkeypatch, margin, place):
    """Rows of norms 1e-3 .. 1e3: margins near rounding at the stages allowed for a release at the very end, where there
    was none. It was looked for again and again, and the step given up for ones a billion times as short."""
    s = at_start(engine, TURNING)
    s.state.slid[0] = 1
    s.scratch.step.held, s.scratch.step.margin1 = 1, margin
    monkeypatch.setattr(engine.implicit, "watch_releases", lambda *_: None)
    for x in (0.0, 1.0):
        monkeypatch.setattr(engine.surfaces, "release_place", lambda *_, x=x: x)
        assert engine.landing.first_release(s.problem, s.state, s.room) == place
    monkeypatch.setattr(engine.surfaces, "release_place", lambda *_: 0.25)
    assert engine.landing.first_release(s.problem, s.state, s.room) == 0.25


def test_a_pinned_neuron_is_released_at_the_first_stage_that_says_so(engine, monkeypatch):
    """Its margin at a stage inside the step counts, although `release_place` only says that there is one."""
    s = at_start(engine, TURNING)
    s.state.slid[0], s.state.where[0, 0], s.state.code[0, 1] = 1, 1, engine.field.PINNED
    s.state.where[0, 0] = 1
    s.scratch.step.held, s.scratch.step.margin1 = 1, 0.1
    monkeypatch.setattr(engine.implicit, "watch_releases", lambda *_: None)
    held = s.room.work.held
    held[:, 0] = 0.1
    assert engine.landing.first_release(s.problem, s.state, s.room) == 2.0
    held[2:4, 0] = -0.1
    assert engine.landing.first_release(s.problem, s.state, s.room) == engine.implicit.NODES[2]


def test_a_sign_of_an_output_weight_is_landed_on(engine):
    """An unbalanced neuron with a > 0 that is pulled away: a falls to 0 at a time known from LSODA."""
    problem = rf.Problem(rf.Data([[1.0, 0.0]], [-1.0]), rf.Params([[1.0, 0.5]], [0.3]))
    s = at_start(engine, problem)
    at = 2  # y = (q_1, q_2, b, c, energy)
    _, t = frozen(engine, s, lambda y: float(y[at]), 20.0)
    proposed(engine, s, 1.3 * t)
    assert engine.landing.land(s.problem, s.state, s.run, s.room)
    step = s.scratch.step
    assert (step.neuron, step.surface) == (0, -1) and step.x == 1.0
    np.testing.assert_allclose(step.h, t, rtol=1e-5)
