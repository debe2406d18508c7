r"""Where a polynomial on [0, 1] first falls below a level, with certainty: its Bernstein form.

    p(x) = sum_l c_l C(n, l) x^l (1 - x)^(n - l)       min c_l <= p(x) <= max c_l

If every coefficient is above the level, so is the polynomial. If the coefficients less the level change sign once,
there is one root (variation diminishing). Otherwise the interval is halved by de Casteljau's scheme, left half first,
until one of the two holds.
"""

from math import comb

import numpy as np

from reluflow.engine._jit import inner

DEGREE = 7
DEPTH = 52  # halvings: the resolution of x in [0, 1]
NONE = 2.0  # where the polynomial does not fall below the level


def _of_product(i: int, k: int) -> np.ndarray:
    """Bernstein coefficients of degree 7 of x^i (1 - x)^k."""
    rest = DEGREE - i - k
    out = np.zeros(DEGREE + 1)
    for l in range(rest + 1):
        out[i + l] = comb(rest, l) / comb(DEGREE, i + l)
    return out


def basis(x: np.ndarray) -> np.ndarray:
    """Values of the Bernstein polynomials of degree 7 at x, one row each."""
    l = np.arange(DEGREE + 1)
    return np.array([comb(DEGREE, k) for k in l]) * x[:, None] ** l * (1.0 - x[:, None]) ** (DEGREE - l)


def fit_matrices(nodes: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """(values at the nodes -> Bernstein coefficients of their least-squares fit of this degree, coefficients ->
    values at the nodes)."""
    raised = np.zeros((degree + 1, DEGREE + 1))  # x^i in the Bernstein form
    for i in range(degree + 1):
        raised[i, i:] = [comb(DEGREE - i, k - i) / comb(DEGREE, k) for k in range(i, DEGREE + 1)]
    fit = raised.T @ np.linalg.pinv(nodes[:, None] ** np.arange(degree + 1))
    return np.ascontiguousarray(fit), basis(nodes)


# The terms of the dense output of a step: P_0 x, P_1 x (1 - x), P_2 x^2 (1 - x), ... (`locate.interpolate`).
DENSE_TERMS = np.array([_of_product((p + 2) // 2, (p + 1) // 2) for p in range(7)])


@inner
def of_dense(start, P, side, out):
    """Bernstein coefficients of side * (start + sum_p P_p term_p(x))."""
    for l in range(DEGREE + 1):
        total = start
        for p in range(7):
            total += P[p] * DENSE_TERMS[p, l]
        out[l] = side * total


@inner
def halve(stack, row):
    """Splits the polynomial in `row` of the stack: its right half stays there, its left half goes to row + 1.

    The last column holds the width of the interval that a row stands for.
    """
    n = stack.shape[1] - 1
    stack[row + 1, 0] = stack[row, 0]
    for level in range(1, n):
        for l in range(n - level):
            stack[row, l] = 0.5 * (stack[row, l] + stack[row, l + 1])
        stack[row + 1, level] = stack[row, 0]
    stack[row, n] *= 0.5
    stack[row + 1, n] = stack[row, n]


@inner
def up_to(stack, x):
    """Replaces the polynomial in row 0 by its part on [0, x]; row 1 is scratch space."""
    n = stack.shape[1] - 1
    for l in range(n):
        stack[1, l] = stack[0, l]
    for level in range(1, n):
        for l in range(n - level):
            stack[1, l] = (1.0 - x) * stack[1, l] + x * stack[1, l + 1]
        stack[0, level] = stack[1, 0]


@inner
def at(stack, row, x):
    """The polynomial in `row` at x, by Horner's scheme for the Bernstein form."""
    n = stack.shape[1] - 2
    back = x > 0.5
    z = (1.0 - x) / x if back else x / (1.0 - x)
    total, binomial = 0.0, 1.0
    for l in range(n + 1):
        total = total * z + binomial * stack[row, l if back else n - l]
        binomial = binomial * (n - l) / (l + 1.0)
    for _ in range(n):
        total *= x if back else 1.0 - x
    return total


@inner
def only_root(stack, row, level):
    """The one place in [0, 1] where the polynomial in `row` goes from above -level to below, to rounding.

    False position (Illinois: an end that stays twice counts half), with a bisection every sixth time. An estimate that
    rounds to an end is moved off it by one rounding, which closes the interval from the other side.
    """
    lo, hi = 0.0, 1.0
    low, high = stack[row, 0] + level, stack[row, stack.shape[1] - 2] + level
    moved = 0
    for turn in range(100):
        x = 0.5 * (lo + hi) if turn % 6 == 5 else lo + (hi - lo) * low / (low - high)
        x = min(max(x, lo + 1.2e-16 * hi), hi - 1.2e-16 * hi)
        if not lo < x < hi:
            x = 0.5 * (lo + hi)
            if not lo < x < hi:
                break
        here = at(stack, row, x) + level
        if here < 0.0:
            hi, high = x, here
            low *= 0.5 if moved == -1 else 1.0
            moved = -1
        else:
            lo, low = x, here
            high *= 0.5 if moved == 1 else 1.0
            moved = 1
        if hi - lo <= 2e-16 * hi:
            break
    return hi


@inner
def first_below(stack, level):
    """Smallest x in [0, 1] at which the polynomial in row 0 is below -level, to rounding; NONE if it never is.

    `stack` has DEPTH + 2 rows and is overwritten.
    """
    n = stack.shape[1] - 1
    row, left = 0, 0.0
    stack[0, n] = 1.0
    while row >= 0:
        changes, lowest = 0, stack[row, 0]
        for l in range(1, n):
            lowest = min(lowest, stack[row, l])
            if (stack[row, l] < -level) != (stack[row, l - 1] < -level):
                changes += 1
        if stack[row, 0] < -level or (lowest < -level and row == stack.shape[0] - 1):
            return left
        if lowest >= -level:
            left += stack[row, n]
            row -= 1
        elif changes == 1:
            return left + stack[row, n] * only_root(stack, row, level)
        else:
            halve(stack, row)
            row += 1
    return NONE
