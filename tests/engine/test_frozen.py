"""A neuron under constant forces, against the solution of its linear equations and an integration of them."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support.kernels import asked, start

import reluflow as rf


def jump(engine, problem, t, c_stop=np.inf):
    """Neurons of a problem after a jump to time t; with `c_stop` no neuron moves and the time of the horizon comes."""
    one = start(engine, problem)
    span = engine.layout.record(engine.layout.SPAN)
    span.t0, span.t1, span.c_stop, span.c_passive, span.next = 0.0, t, c_stop, 0.0, -1
    wanted = asked(engine, one, span, t)
    with np.errstate(all="ignore"):
        reached = engine.frozen.jump(one.problem, one.state, one.run, one.work, wanted, one.scratch.y1)
        if c_stop == np.inf:
            span.next = 0
            engine.frozen.jump(one.problem, one.state, one.run, one.work, wanted, one.scratch.y1)
            assert span.row == 1
            assert np.array_equal(wanted.instants.y[0], one.state.y)
    q, b, c, _ = engine.layout.parts(one.state.y, one.state.sign.size)
    return one, reached, q, b, c


def one_neuron(w, a, x, y, log_scale=-60.0):
    return rf.Problem(rf.Data(x, y), rf.Params([w], [a], log_scale=log_scale), reduction="sum")


@pytest.mark.parametrize("a", [np.sqrt(1.25), 0.7, -0.2, 3.0], ids=["balanced", "less", "against", "more"])
def test_in_one_cell_the_neuron_follows_cosh_and_sinh(engine, a):
    # Active on one datum, f = 0: D = y x, a' = <D, w>, w' = a D.
    w, x, y, t = np.array([1.0, 0.5]), np.array([1.0, 0.0]), 2.0, 0.8
    _, _, q, b, c = jump(engine, one_neuron(w, a, [x], [y]), t)
    p, d = w @ x, y
    grown = a * np.cosh(d * t) + p * np.sinh(d * t)
    along = p * np.cosh(d * t) + a * np.sinh(d * t)
    scale = np.exp(c[0] + 60.0)
    # c is -60 and good to 60 eps: everything times it is good to 1e-14.
    assert scale * b[0] == pytest.approx(grown, rel=1e-13)
    np.testing.assert_allclose(scale * q[0], [along, w[1]], rtol=1e-13)


def follow(problem, t):
    """The same by an integrator with the masks read off the signs, and the times at which they change."""
    x, y, slope = problem.data.x, problem.data.y, problem.activation.slope

    def rate(_, z):
        on = np.where(x @ z[:-1] > 0.0, 1.0, slope)
        D = (on * y) @ x
        return np.append(z[-1] * D, D @ z[:-1])

    crossings = [lambda _, z, k=k: x[k] @ z[:-1] for k in range(len(x))]
    start = np.append(problem.init.w[0], problem.init.a[0])
    return solve_ivp(rate, (0.0, t), start, rtol=1e-11, atol=1e-12, events=crossings, max_step=0.01)


def drawn(seed):
    """A neuron over four data in three dimensions, balanced or not."""
    rng = np.random.default_rng([seed, 8])
    w = rng.normal(size=3)
    return one_neuron(w, np.linalg.norm(w) * (0.5 if seed % 2 else 1.0), rng.normal(size=(4, 3)), rng.normal(size=4))


def test_crossings_come_at_the_times_of_an_integrator_that_reads_the_signs(engine):
    compared = 0
    for seed in range(60):
        problem = drawn(seed)
        one, _, q, b, c = jump(engine, problem, 1.5)
        rows = one.work.log[: one.run.log_used]
        crossings = (engine.surfaces.EV_ON, engine.surfaces.EV_OFF)
        if len(rows) == 0 or not np.all(np.isin(rows[:, 3], crossings)):
            continue  # an integrator that reads signs cannot slide
        expected = follow(problem, 1.5)
        met = sorted((t, k) for k, times in enumerate(expected.t_events) for t in times)
        np.testing.assert_allclose(rows[:, 0], [t for t, _ in met], rtol=0, atol=1e-7)
        assert rows[:, 2].tolist() == [k for _, k in met]
        scale = np.exp(c[0] + 60.0)
        np.testing.assert_allclose(scale * np.append(q[0], b[0]), expected.y[:, -1], rtol=1e-6, atol=1e-6)
        compared += 1
    assert compared >= 8


def test_a_neuron_slides_where_two_sides_push_together(engine):
    # x_1 pulls towards the surface of x_0 from its off side, x_0 itself from its on side.
    data = [[1.0, 0.0], [0.6, 0.8]], [-1.0, 1.0]
    one, _, q, _, c = jump(engine, one_neuron([1.0, 1.0], np.sqrt(2.0), *data), 3.0)
    rows = one.work.log[: one.run.log_used]
    assert rows[:, 3].tolist() == [engine.surfaces.EV_SLIDE] and one.state.code[0, 0] == engine.field.SLID
    assert abs(q[0, 0]) < 1e-15
    # On x_1 alone, projected: growth at rate 0.8 along (0, 1), from the time of the slide on.
    assert (c[0] + 60.0 - np.log(np.sqrt(2.0))) == pytest.approx(0.8 * 3.0, abs=1.0)


def test_the_horizon_is_when_the_first_neuron_reaches_the_size_asked_for(engine):
    # Aligned and balanced: |w| = e^(log_scale + t d), so it reaches e^c_stop at t = (c_stop - log_scale) / d.
    problem = one_neuron([1.0, 0.0], 1.0, [[1.0, 0.0]], [2.0])
    one, reached, _, _, c = jump(engine, problem, 1e9, c_stop=-15.0)
    assert reached == pytest.approx(45.0 / 2.0, rel=1e-12)
    assert c[0] == -60.0 and one.run.log_used == 0, "a look ahead moves nothing"


def test_events_beyond_the_log_wait_for_the_next_call(engine):
    one = start(engine, next(p for p in map(drawn, range(40)) if jump(engine, p, 1.5)[0].run.log_used > 0))
    work = one.work._replace(log=np.empty((0, 5)))
    span = engine.layout.record(engine.layout.SPAN)
    span.t1, span.c_stop, span.next = 1.5, np.inf, -1
    before, wanted = one.state.y.copy(), asked(engine, one, span, 1.5)
    for first in (-1, 0):
        span.next = first
        engine.frozen.jump(one.problem, one.state, one.run, work, wanted, one.scratch.y1)
    assert span.next == span.row == 0
    assert np.array_equal(one.state.y, before)
