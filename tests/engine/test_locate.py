"""Where inside a step something happens: on interpolants with known roots, and inside real steps."""

import numpy as np
import pytest
from scipy.optimize import linprog
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


def test_the_dense_output_is_the_polynomial_with_these_coefficients(engine):
    polynomial = np.polynomial.Polynomial(np.random.default_rng(6).normal(size=8))
    first, P = interpolant(polynomial)
    for x in (0.0, 0.37, 1.0):
        assert engine.locate.interpolate(first, P, x) == pytest.approx(polynomial(x), abs=1e-12)


def norming_constant(nodes, degree):
    """The largest value on [0, 1] of a polynomial of this degree that is at most 1 in modulus at the nodes."""

    def at(x):
        return np.polynomial.chebyshev.chebvander(2.0 * np.asarray(x) - 1.0, degree)

    rows, most = np.vstack([at(nodes), -at(nodes)]), np.ones(2 * len(nodes))
    return max(-linprog(-at([x])[0], rows, most, bounds=(None, None)).fun for x in np.linspace(0.0, 1.0, 201))


def test_the_constant_for_what_stages_do_not_see_is_the_norming_constant_of_degree_6(engine):
    found = norming_constant(np.unique(engine.tableau.C[:13]), 6)
    assert 0.995 * engine.locate.REACH < found <= engine.locate.REACH
    assert engine.surfaces.ALLOW == engine.locate.REACH


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e-200])
def test_an_implicit_step_sees_a_crossing_of_numbers_of_any_size(engine, size):
    """From 1 to -1e-3 of `size`: with 1e-12 of |q| as rounding, an output weight of 1e-9 |q| crossed unseen."""
    values = size * (1.0 - 1.001 * engine.implicit.NODES)
    stack = np.zeros((54, 9))
    found = engine.implicit.below_zero(size, values, 1.0, size, stack)
    np.testing.assert_allclose(found, 1.0 / 1.001, rtol=1e-11)
    assert engine.implicit.below_zero(size, values, 1.0, 1e12 * size, stack) > 1.0
    assert engine.implicit.below_zero(size, size * (1.0 - 0.999 * engine.implicit.NODES), 1.0, size, stack) > 1.0


def test_the_constant_of_an_implicit_step_is_the_lebesgue_constant_of_its_stages(engine):
    """Largest sum of |Lagrange polynomials| of the stages, those of a polynomial that vanishes at 0 as well."""
    nodes, x = engine.implicit.NODES, np.linspace(0.0, 1.0, 2001)
    total = np.zeros_like(x)
    for k, node in enumerate(nodes):
        others = np.append(np.delete(nodes, k), 0.0)
        total += np.abs(np.prod([(x - o) / (node - o) for o in others], axis=0))
    assert engine.implicit.LEBESGUE == pytest.approx(total.max(), rel=1e-10)


def test_the_bound_beyond_the_cubic_holds_on_random_steps(engine):
    """|u - H| with H the cubic through ends and slopes, which are the interpolant's first terms."""
    rng = np.random.default_rng(8)
    for _ in range(50):
        _, P = interpolant(np.polynomial.Polynomial(rng.normal(size=8)))
        beyond = P.copy()
        beyond[:3] = 0.0
        found = np.abs([engine.locate.interpolate(0.0, beyond, place) for place in np.linspace(0.0, 1.0, 101)])
        assert found.max() <= engine.locate.TERM @ np.abs(P[3:]) * (1.0 + 1e-12)


def step(engine, problem, h):
    """One step of length h with its dense output, nothing resolved."""
    one = start(engine, problem)
    step, scratch = one.scratch.step, one.scratch
    step.clock, step.h, step.new, step.x = 0.0, h, h, 2.0
    scratch.u0[:] = one.work.u
    engine.explicit.stages(one.problem, one.state, scratch, 0.0, h, scratch.y1, False)
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
    engine.locate.first_crossing(one.problem, one.state, one.run, one.scratch)
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


def watched(engine, margin, fit):
    """A neuron held on one surface whose margin at the stages of a step is a function of the place in it."""
    state, _ = held(engine, [[1.0]])
    state.code[0, 0] = engine.field.SLID
    state.slid[0] = 1
    places = {12: np.r_[engine.tableau.C[:11], 1.0], 6: np.r_[0.0, engine.implicit.NODES]}[fit.rows]
    work = start(engine, rf.Problem(rf.Data([[1.0]], [1.0]), rf.init.balanced(1, 1, seed=0))).work
    work.held[: fit.rows, 0] = margin(places)
    return state, work


STEPS = ["explicit", "implicit"]


def fit_of(engine, kind):
    module, rows = (engine.locate, 12) if kind == "explicit" else (engine.implicit, 6)
    return engine.surfaces.Watched(rows, module.FIT, module.BACK)


@pytest.mark.parametrize("kind", STEPS)
def test_a_release_between_the_stages_is_looked_for_at_the_lowest_place(engine, kind):
    fit = fit_of(engine, kind)
    # Negative on (0.42, 0.48) only, where an explicit step has no stage.
    state, work = watched(engine, lambda x: (x - 0.42) * (x - 0.48) * 3.0, fit)
    place = engine.surfaces.release_place(state, work, fit, 0, 0, 1.0)
    assert abs(place - 0.45) <= 1.0 / 32.0
    assert not engine.surfaces.none_released(state, work, fit)
    # In the part of the step before the event at 0.3 there is none.
    assert engine.surfaces.release_place(state, work, fit, 0, 0, 0.3) == 0.0


@pytest.mark.parametrize("kind", STEPS)
def test_a_margin_that_stays_away_from_zero_needs_no_look(engine, kind):
    fit = fit_of(engine, kind)
    state, work = watched(engine, lambda x: 0.2 + (x - 0.5) ** 2, fit)
    assert engine.surfaces.release_place(state, work, fit, 0, 0, 1.0) == 0.0
    assert engine.surfaces.none_released(state, work, fit)


def test_a_margin_that_is_no_polynomial_is_looked_at_where_the_miss_leaves_it_open(engine):
    fit = fit_of(engine, "explicit")
    # Above 0 at every stage; the polynomial misses the kink by more than what is left.
    state, work = watched(engine, lambda x: 1e-3 + np.abs(x - 0.45), fit)
    assert engine.surfaces.release_place(state, work, fit, 0, 0, 1.0) > 0.0


def test_sums_side_by_side_are_those_of_one_after_another(engine):
    rng = np.random.default_rng(5)
    x, rows = rng.normal(size=31), rng.normal(size=(11, 31))
    for count in range(1, 12):
        out, to, weights = np.zeros(count), rng.normal(size=31), rng.normal(size=count)
        engine.field.dots(x, rows[:count], out)
        for k in range(count):
            total = 0.0
            for i in range(31):
                total += x[i] * rows[k, i]
            assert out[k] == total
        found = to.copy()
        engine.field.add_rows(found, weights, rows[:count])
        np.testing.assert_allclose(found, to + weights @ rows[:count], rtol=1e-13, atol=1e-13)


def test_an_implicit_steps_products_are_inner_products(engine):
    n, size = 3, 17
    stiff, rng = engine.implicit.stiff(n, size, np.zeros((2, 6))), np.random.default_rng(6)
    stiff.J[:] = rng.normal(size=stiff.J.shape) * (rng.random(stiff.J.shape) < 0.5)
    stiff.V[:] = rng.normal(size=stiff.V.shape)
    J, V = stiff.J.reshape(-1, size), stiff.V.reshape(-1, size)
    engine.implicit.couple(stiff, 0, stiff.M)
    np.testing.assert_allclose(stiff.M, J[: 5 * n] @ V[: 5 * n].T, rtol=1e-12, atol=1e-13)
    engine.implicit.couple(stiff, 5, stiff.small)
    np.testing.assert_allclose(stiff.small, J[5 * n :] @ V[5 * n :].T, rtol=1e-12, atol=1e-13)
