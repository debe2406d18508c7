"""The first place where a polynomial falls below a level, against numpy's roots and against dense looks."""

import numpy as np
import pytest

X = np.linspace(0.0, 1.0, 4001)


def stack_of(engine, polynomial):
    """The polynomial, of degree at most 7, in row 0 of the scratch space."""
    b = engine.bernstein
    fit, _ = b.fit_matrices(np.linspace(0.0, 1.0, 8), 7)
    stack = np.zeros((b.DEPTH + 2, b.DEGREE + 2))
    stack[0, :8] = fit @ polynomial(np.linspace(0.0, 1.0, 8))
    return stack


def exactly(engine, stack):
    """What row 0 of the stack stands for, as a function."""
    return lambda x: engine.bernstein.basis(np.atleast_1d(x)) @ stack[0, :8]


@pytest.mark.parametrize("degree", range(8))
def test_the_coefficients_give_the_values_of_the_polynomial(engine, degree):
    polynomial = np.polynomial.Polynomial(np.random.default_rng(degree).normal(size=degree + 1))
    stack = stack_of(engine, polynomial)
    for x in (0.0, 0.2, 0.5, 0.8, 1.0):
        assert engine.bernstein.at(stack, 0, x) == pytest.approx(polynomial(x), abs=1e-11)


def test_the_coefficients_of_the_dense_output_are_those_of_its_terms(engine):
    rng = np.random.default_rng(1)
    start, P, out = 0.3, rng.normal(size=7), np.empty(8)
    engine.bernstein.of_dense(start, P, -1.0, out)
    for x in (0.0, 0.13, 0.5, 0.77, 1.0):
        value = engine.bernstein.basis(np.array([x]))[0] @ out
        assert value == pytest.approx(-engine.locate.interpolate(start, P, x), abs=1e-14)


@pytest.mark.parametrize("degree", [5])
def test_a_fit_through_more_nodes_than_its_degree_keeps_polynomials_of_that_degree(engine, degree):
    nodes = np.r_[engine.tableau.C[:11], 1.0]
    fit, back = engine.bernstein.fit_matrices(nodes, degree)
    values = np.polynomial.Polynomial(np.random.default_rng(2).normal(size=degree + 1))(nodes)
    np.testing.assert_allclose(back @ (fit @ values), values, atol=1e-11)


def test_halves_and_parts_are_the_polynomial_on_them(engine):
    polynomial = np.polynomial.Polynomial(np.random.default_rng(3).normal(size=8))
    stack = stack_of(engine, polynomial)
    stack[0, 8] = 1.0
    engine.bernstein.halve(stack, 0)
    assert stack[0, 8] == stack[1, 8] == 0.5
    for x in (0.1, 0.6):
        assert engine.bernstein.at(stack, 1, x) == pytest.approx(polynomial(x / 2), abs=1e-12)
        assert engine.bernstein.at(stack, 0, x) == pytest.approx(polynomial(0.5 + x / 2), abs=1e-12)
    part = stack_of(engine, polynomial)
    engine.bernstein.up_to(part, 0.3)
    assert engine.bernstein.at(part, 0, 0.7) == pytest.approx(polynomial(0.21), abs=1e-12)


def first_real_root(polynomial):
    """The first root in (0, 1) at which the polynomial goes below 0, by numpy; 2 without one."""
    roots = polynomial.roots()
    real = np.sort(roots[np.abs(roots.imag) < 1e-9].real)
    for x in real[(real > 0.0) & (real < 1.0)]:
        if polynomial.deriv()(x) < 0.0:
            return x
    return 2.0


def test_the_first_place_below_zero_is_the_first_root_of_numpy(engine):
    rng = np.random.default_rng(4)
    met = 0
    for _ in range(300):
        roots = rng.uniform(-0.5, 1.5, int(rng.integers(1, 7)))
        polynomial = np.polynomial.Polynomial.fromroots(roots)
        if abs(polynomial(0.0)) < 1e-6 or np.min(np.diff(np.sort(roots)), initial=1.0) < 1e-3:
            continue
        polynomial = polynomial * np.sign(polynomial(0.0))
        found, expected = engine.bernstein.first_below(stack_of(engine, polynomial), 0.0), first_real_root(polynomial)
        if expected == 2.0:
            assert found == engine.bernstein.NONE
            continue
        met += 1
        # Coefficients of order 100 are good to 1e-13, roots to that over the slope there.
        assert abs(found - expected) <= 1e-12 / abs(polynomial.deriv()(expected)) + 1e-14
    assert met > 100


@pytest.mark.parametrize("level", [0.0, 1e-12, 1e-3])
def test_no_excursion_of_a_random_polynomial_is_missed(engine, level):
    """Whatever first_below passes over is above the level at 4001 places, to rounding; where it stops, it is below."""
    rng = np.random.default_rng(5)
    outcomes = {"met": 0, "passed": 0}
    for draw in range(400):
        stack = np.zeros((engine.bernstein.DEPTH + 2, engine.bernstein.DEGREE + 2))
        stack[0, :8] = rng.normal(size=8)
        stack[0, 0] = abs(stack[0, 0])
        if draw % 2:  # nearly tangent to the level: a double root, lifted or sunk a little
            touch = rng.uniform(0.05, 0.95)
            rest = np.polynomial.Polynomial(rng.uniform(0.1, 1.0, size=6))
            lift = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-13, -4)
            stack = stack_of(engine, np.polynomial.Polynomial.fromroots([touch, touch]) * rest + lift - level)
        value = exactly(engine, stack)
        rounding = 1e-14 * np.max(np.abs(stack[0, :8]))
        at_start = stack[0, 0]
        found = engine.bernstein.first_below(stack.copy(), level)
        if at_start < -level:
            assert found == 0.0
            continue
        outcomes["met" if found <= 1.0 else "passed"] += 1
        before = X[found > X]
        assert np.all(value(before) >= -level - rounding)
        if found <= 1.0:
            assert value(found)[0] <= -level + rounding
    assert min(outcomes.values()) > 30


def test_a_visit_of_a_millionth_of_the_step_is_found(engine):
    polynomial = np.polynomial.Polynomial.fromroots([0.503, 0.503001])
    found = engine.bernstein.first_below(stack_of(engine, polynomial), 0.0)
    # 2.5e-13 deep: the coefficients are good to 1e-16, the roots to that over the slope of 1e-6.
    assert 0.503 - 1e-9 < found < 0.503001


def test_a_dip_above_the_level_is_passed_over(engine):
    polynomial = np.polynomial.Polynomial.fromroots([0.503, 0.51])  # 1.2e-5 deep
    assert engine.bernstein.first_below(stack_of(engine, polynomial), 2e-5) == engine.bernstein.NONE


def test_a_polynomial_that_touches_zero_ends_the_halving(engine):
    polynomial = np.polynomial.Polynomial.fromroots([1 / 3, 1 / 3])
    found = engine.bernstein.first_below(stack_of(engine, polynomial), 0.0)
    # The double root is good to the square root of rounding.
    assert found == engine.bernstein.NONE or found == pytest.approx(1 / 3, abs=1e-7)


def test_a_root_is_found_to_rounding_in_few_evaluations(engine, monkeypatch):
    b, rng, most = engine.bernstein, np.random.default_rng(3), 0
    asked = []
    at = b.at
    monkeypatch.setattr(b, "at", lambda stack, row, x: asked.append(x) or at(stack, row, x))
    for _ in range(300):
        stack = np.zeros((b.DEPTH + 2, b.DEGREE + 2))
        ends = rng.uniform(1e-3, 1.0, 2) * 10.0 ** rng.uniform(-6.0, 0.0)
        stack[0, :8] = np.linspace(ends[0], -ends[1], 8)  # a line, bent without another root
        stack[0, :8] *= 10.0 ** (rng.uniform(-1.0, 1.0) * np.linspace(0.0, 1.0, 8))
        asked.clear()
        x = b.only_root(stack, 0, 0.0)
        most = max(most, len(asked))
        assert at(stack, 0, x) < 0.0 <= at(stack, 0, x * (1.0 - 2.3e-16))
    assert most <= 16  # bisection alone takes 52
