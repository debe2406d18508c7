"""Where inside a step something happens: on interpolants with known roots, and inside real steps."""

import numpy as np
import pytest
from support.kernels import start

import reluflow as rf


def interpolant(polynomial: np.polynomial.Polynomial):
    """(start, P) with start + x (P0 + (1 - x) (P1 + x (P2 + ...))) = polynomial, of degree at most 7."""
    coefficients, rest = [], polynomial - polynomial(0.0)
    x = np.polynomial.Polynomial([0.0, 1.0])
    for p in range(7):
        rest = rest // (x if p % 2 == 0 else 1.0 - x)
        value = rest(1.0 if p % 2 == 0 else 0.0)
        coefficients.append(value)
        rest = rest - value
    return polynomial(0.0), np.array(coefficients)


@pytest.mark.parametrize("seed", range(40))
def test_the_first_violation_is_the_first_root(engine, seed):
    rng = np.random.default_rng([seed, 6])
    roots = np.sort(rng.uniform(-0.5, 1.5, 3))
    polynomial = np.polynomial.Polynomial.fromroots(roots)
    side = np.sign(polynomial(0.0))
    first, P = interpolant(polynomial)
    assert engine.locate.interpolate(first, P, 0.37) == pytest.approx(polynomial(0.37), abs=1e-13)
    found = engine.locate.first_violation(first, P, side, 0.0)
    inside = roots[(roots > 0.0) & (roots < 1.0)]
    if inside.size == 0:
        assert found == 2.0
        return
    # Values of order 1 are good to a few eps, roots to that over the slope there.
    assert abs(found - inside[0]) <= 20 * np.finfo(float).eps / abs(polynomial.deriv()(inside[0]))


def test_a_visit_shorter_than_the_distance_of_two_looks_is_found(engine):
    # Below zero on (0.500, 0.510) only; the looks are 1/16 apart.
    polynomial = np.polynomial.Polynomial.fromroots([0.503, 0.51])
    found = engine.locate.first_violation(*interpolant(polynomial), 1.0, 0.0)
    assert found == pytest.approx(0.503, abs=1e-12)


def test_a_dip_within_the_grain_is_no_violation(engine):
    first, P = interpolant(np.polynomial.Polynomial.fromroots([0.503, 0.51]))
    assert engine.locate.first_violation(first, P, 1.0, 2e-5) == 2.0  # the dip is 1.2e-5 deep


def test_the_minimum_of_a_cubic_from_its_ends(engine):
    rng = np.random.default_rng(7)
    x = np.linspace(0.0, 1.0, 100_001)
    for _ in range(20):
        a, b, da, db = *rng.uniform(0.0, 1.0, 2), -rng.uniform(0.1, 3.0), rng.uniform(0.1, 3.0)
        cubic = a + x * (da + x * ((-3.0 * (a - b) - 2.0 * da - db) + x * (2.0 * (a - b) + da + db)))
        assert engine.locate.hermite_minimum(a, b, da, db) == pytest.approx(cubic.min(), abs=1e-8)


def step(engine, problem, h):
    """One step of length h with its dense output, nothing resolved."""
    one = start(engine, problem)
    step, scratch = one.scratch.step, one.scratch
    step.clock, step.h, step.new, step.x = 0.0, h, h, 2.0
    scratch.u0[:] = one.work.u
    engine.explicit.stages(one.problem, one.state, scratch, 0.0, h, scratch.y1)
    engine.explicit.velocity(one.problem, one.state, scratch.y1, h, scratch.K[12], one.work)
    scratch.u1[:] = one.work.u
    engine.explicit.dense(one.problem, one.state, scratch)
    return one


def test_a_crossing_inside_a_step_is_found_at_the_time_of_the_run(engine):
    # The neuron turns from the first datum to the second and leaves the first on the way.
    data = rf.Data([[1.0, 0.0], [-0.8, 0.6]], [-1.0, 2.0])
    w = np.array([[0.03, 1.0]])
    problem = rf.Problem(data, rf.Params(w, np.linalg.norm(w, axis=1), log_scale=-1.0))
    run = rf.solve(problem, rf.Flow(rtol=1e-12), t1=2.0)
    first = run.events.t[0]
    assert run.events.kind[0] == "off" and 0.005 < first < 0.1
    one = step(engine, problem, 1.5 * first)
    engine.locate.suspects(one.problem, one.state, one.scratch)
    assert one.scratch.step.suspects == 1
    engine.locate.first_crossing(one.problem, one.state, one.scratch)
    found = one.scratch.step
    assert (found.neuron, found.surface, found.side) == (0, run.events.datum[0], -1)
    assert found.x * found.h == pytest.approx(first, rel=1e-8)


def test_a_step_without_a_crossing_has_no_suspects(engine):
    problem = rf.Problem(rf.Data([[1.0, 0.2]], [1.0]), rf.Params([[1.0, 1.0]], [np.sqrt(2.0)], log_scale=-1.0))
    one = step(engine, problem, 0.2)
    engine.locate.suspects(one.problem, one.state, one.scratch)
    assert (one.scratch.step.suspects, one.scratch.step.moved) == (0, 0)


def test_the_dense_output_tends_to_the_state_of_a_shorter_step(engine):
    """At least like h^7, the order of the interpolant."""
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(3, 2, log_scale=-0.5, seed=1))

    def difference(h):
        whole, part = step(engine, problem, h), step(engine, problem, 0.5 * h)
        there = np.empty_like(whole.state.y)
        engine.locate.between(whole.state, whole.scratch.P, 0.5, there)
        return np.max(np.abs(there - part.scratch.y1))

    coarse, fine = difference(0.1), difference(0.05)
    assert coarse < 1e-3 and fine < coarse / 2**6.5


def held(engine, rows):
    """A state with one neuron held on as many surfaces as there are columns, for margins given row by row."""
    count = np.shape(rows)[1]
    problem = rf.Problem(rf.Data(np.eye(count), np.ones(count)), rf.init.balanced(1, count, seed=0))
    state = start(engine, problem).state
    state.slid[0], state.where[0] = count, np.arange(count)
    return state, *(np.array([row]) for row in rows)


def test_the_first_release_is_estimated_by_straight_lines(engine):
    state, lo, hi = held(engine, [[0.3, 0.2, 1.0], [-0.1, -0.2, 0.5]])
    assert engine.locate.earliest(state, 0.2, 1.0, lo, hi) == pytest.approx(0.2 + 0.8 * 0.5)  # 0.75 for the first


def test_a_dip_between_three_looks_is_where_the_parabola_has_its_minimum(engine):
    def margin(x):
        return 0.01 + 4.0 * (x - 0.3) ** 2

    state, *rows = held(engine, [[margin(x), 1.0] for x in (0.0, 0.5, 1.0)])
    assert engine.locate.lowest_dip(state, *rows) == pytest.approx(0.3)
    state, *rows = held(engine, [[1.0 + x, 1.0] for x in (0.0, 0.5, 1.0)])
    assert engine.locate.lowest_dip(state, *rows) == 0.0
