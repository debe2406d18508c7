"""Every row of the table of losses: its formulas, the same in numpy, in compiled kernels and in JAX."""

from functools import partial

import mpmath
import numba
import numpy as np
import pytest

from reluflow.engine import _jit, _parts
from reluflow.engine import loss as compiled
from reluflow.losses import LOSSES, TABLE, function

# The losses once more, by hand: a new row needs a line here.
BY_HAND = {
    "square": lambda y, f: (f - y) ** 2 / 2,
    "logistic": lambda y, f: mpmath.log1p(mpmath.exp(-y * f)),
    "logistic2": lambda y, f: 2 * mpmath.log1p(mpmath.exp(-y * f)),
    "exponential": lambda y, f: mpmath.exp(-y * f),
    "hinge2": lambda y, f: (1 - y * f) ** 2 / 2 if y * f < 1 else mpmath.mpf(0),
}
DIGITS = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "softplus": lambda z: mpmath.log1p(mpmath.exp(z)),
    "log_softplus": lambda z: mpmath.log(mpmath.log1p(mpmath.exp(z))),
    "positive": lambda z: max(z, mpmath.mpf(0)),
}
PLACES = (-40.0, -3.7, -1.1, -0.25, 0.0, 0.3, 0.9, 1.6, 8.0, 33.0)
every_loss = pytest.mark.parametrize("row", LOSSES.values(), ids=lambda row: row.name)
tailed = pytest.mark.parametrize("row", [row for row in LOSSES.values() if row.tailed], ids=lambda row: row.name)


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50):
        yield


def labels(row):
    return (-1.0, 1.0) if row.labels == "signs" else (-1.3, 0.0, 2.0)


def digits(text, arguments):
    """A formula in as many digits as mpmath has."""
    return function(text, arguments, DIGITS)


def near(found, expected, slack=1e-40):
    return abs(found - expected) <= slack * (1 + abs(expected))


@every_loss
def test_the_value_is_the_loss_written_by_hand(row):
    value, by_hand = digits(row.linear.value, "c, y, f"), BY_HAND[row.name]
    for y in labels(row):
        for f in map(mpmath.mpf, PLACES):
            assert near(value(3 * row.factor, y, f), 3 * by_hand(y, f))


@every_loss
def test_force_and_curvature_are_the_derivatives_of_the_value(row):
    value, force, curvature = (digits(text, "c, y, f") for text in row.linear)
    for y in labels(row):
        for f in map(mpmath.mpf, PLACES):
            slope = mpmath.diff(partial(value, 2, y), f)
            bend = mpmath.diff(partial(force, 2, y), f)
            assert near(force(2, y, f), -slope, 1e-20) and near(curvature(2, y, f), -bend, 1e-20)


@tailed
def test_the_tail_has_the_logarithms_of_value_force_and_curvature(row):
    for text, log_text in zip(row.linear, row.tail, strict=True):
        for z in map(mpmath.mpf, PLACES):
            assert near(digits(log_text, "z")(z), mpmath.log(digits(text, "c, y, f")(1, 1, z)), 1e-25)


@every_loss
def test_a_quadratic_loss_is_the_square_and_only_it_has_labels_of_any_size(row):
    assert row.quadratic == (row.name == "square") == (row.labels == "numbers")


def test_codes_and_names_are_those_of_one_row():
    assert len({row.code for row in TABLE.values()}) == len(TABLE)
    assert all(name == row.name for name, row in TABLE.items())


@numba.njit(pipeline_class=_parts.EntryCompiler, _nrt=False, **_jit.OPTIONS)
def by_kernels(loss, y, f, out):
    """Force, curvature, and with a tail the logarithms; returns the sum of values."""
    for i in range(f.size):
        out[0, i] = compiled.force(loss, 2.0, y[i], f[i])
        out[1, i] = compiled.curvature(loss, 2.0, y[i], f[i])
        out[2, i] = compiled.log_value(loss, y[i] * f[i])
        out[3, i] = compiled.log_force(loss, y[i] * f[i])
        out[4, i] = compiled.log_curvature(loss, 0.5, y[i] * f[i])
    return compiled.total(loss, 2.0, y, f)


def many_places(row):
    f = np.concatenate([np.linspace(-600.0, 600.0, 241), np.linspace(-3.0, 3.0, 61)])
    return np.resize(labels(row), f.size), f


@every_loss
def test_kernels_have_the_formulas_of_the_table(row):
    y, f = many_places(row)
    out = np.empty((5, f.size))
    total = by_kernels(row.code, y, f, out)
    c = 2.0 / row.factor  # kernels are given the factor with the weight
    np.testing.assert_allclose(out[0], row.force(y, f, c), rtol=1e-14)
    np.testing.assert_allclose(out[1], row.curvature(y, f, c), rtol=1e-14)
    assert total == pytest.approx(np.sum(row.value(y, f, c)), rel=1e-13)
    if row.tailed:
        for k, logs in enumerate((row.log_value, row.log_force, row.log_curvature)):
            np.testing.assert_allclose(out[2 + k] - (0.5 if k == 2 else 0.0), logs(y * f), rtol=1e-14, atol=1e-14)


@every_loss
def test_no_formula_overflows_into_nan_and_logarithms_go_on_where_numbers_underflow(row):
    y = np.array(labels(row))
    for size in (1e-300, 1.0, 1e3, 1e6):
        for f in (size * np.ones_like(y), -size * np.ones_like(y)):
            assert not np.any(np.isnan([row.value(y, f), row.force(y, f), row.curvature(y, f)]))
            if row.tailed:
                assert np.all(np.isfinite([row.log_value(y * f), row.log_force(y * f), row.log_curvature(y * f)]))


@every_loss
def test_jax_has_the_formulas_of_the_table(row):
    jax = pytest.importorskip("jax")
    from reluflow.many._step import float64, formula

    y, f = many_places(row)
    with float64():
        found = np.asarray(formula(jax, row.linear.force)(2.0, y, f))
    np.testing.assert_allclose(found, row.force(y, f, 2.0 / row.factor), rtol=1e-13, atol=0.0)


@every_loss
def test_the_log_of_a_sum_is_the_log_of_the_sum(row):
    rng = np.random.default_rng(3)
    f, y = rng.normal(size=(4, 6)), rng.choice(labels(row), 6)
    plain = np.log(0.25 * np.sum(row.value(y, f), axis=1) + 0.7)
    np.testing.assert_allclose(row.log_total(y, f, 0.25, 0.7), plain, rtol=1e-14)
