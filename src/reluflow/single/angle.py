r"""Functions of the angle, accurate at both ends.

    s(phi) = (sin phi - phi cos phi) / pi,   eps = 1 - s(phi),   theta = pi - phi,   y = log tan(phi / 2)

s is the correlation of two half spaces, from 0 (opposite) to 1 (aligned). Near phi = pi, 1 - s cancels;
with theta, eps = [(pi - theta)(1 - cos theta) + theta - sin theta] / pi = theta^2 / 2 + ... The coordinate y makes both
ends infinite: theta = 2 atan(e^-y), phi = 2 atan(e^y).
"""

import math

import numpy as np

SMALL = 0.3  # below it the series, whose first term left out is < 2e-17 of the sum
# (sin a - a cos a) / a^3 and (a - sin a) / a^3 in powers of a^2.
_S = [(-1) ** (k + 1) * 2 * k / math.factorial(2 * k + 1) for k in range(1, 8)]
_D = [(-1) ** (k + 1) / math.factorial(2 * k + 1) for k in range(1, 8)]


def angles(y):
    """(phi, theta) from y = log tan(phi/2)."""
    y = np.asarray(y, dtype=float)
    with np.errstate(over="ignore"):
        return 2.0 * np.arctan(np.exp(y)), 2.0 * np.arctan(np.exp(-y))


def log_tan(phi: float) -> float:
    """y = log tan(phi / 2), infinite at 0 and pi."""
    if phi in (0.0, math.pi):
        return -math.inf if phi == 0.0 else math.inf
    return math.log(math.tan(0.5 * phi))


def s(phi):
    """(sin phi - phi cos phi) / pi, phi^3 / (3 pi) near 0."""
    phi = np.asarray(phi, dtype=float)
    return np.where(phi < SMALL, phi**3 * _series(_S, phi), np.sin(phi) - phi * np.cos(phi)) / np.pi


def eps(theta):
    """1 - s(pi - theta), theta^2 / 2 near 0."""
    theta = np.asarray(theta, dtype=float)
    return theta**2 * eps_over_square(theta)


def eps_over_square(theta):
    """eps / theta^2: smooth, 1/2 at 0."""
    theta = np.asarray(theta, dtype=float)
    safe = np.maximum(theta, 1e-50)  # theta^3 must not vanish where it divides
    half = np.sin(0.5 * safe) / (0.5 * safe)
    third = np.where(theta < SMALL, _series(_D, theta), (safe - np.sin(safe)) / safe**3)
    return ((np.pi - theta) * 0.5 * half**2 + theta * third) / np.pi


def log_theta(y):
    """log of theta, also where theta itself is 0 in floating point."""
    y = np.asarray(y, dtype=float)
    theta = angles(np.minimum(y, 300.0))[1]
    return np.where(y > 300.0, math.log(2.0) - y, np.log(theta))


def log_eps(y):
    """log of eps, also where eps itself is 0 in floating point."""
    return 2.0 * log_theta(y) + np.log(eps_over_square(angles(y)[1]))


def log_s(y):
    """log of s: right relative to s near phi = 0 and relative to eps near phi = pi."""
    phi, theta = angles(y)
    log_phi = log_theta(-np.asarray(y, dtype=float))
    with np.errstate(divide="ignore"):
        near_0 = 3.0 * log_phi + np.log(_series(_S, np.minimum(phi, SMALL)) / np.pi)
        between = np.where(np.asarray(y) < 0, np.log(s(phi)), np.log1p(-np.minimum(eps(theta), 1.0)))
    return np.where(phi < SMALL, near_0, between)


def s_and_eps(y: float) -> tuple[float, float, float]:
    """(phi, s, eps) of one y: the scalar form that the integrator calls."""
    if y < 0.0:
        phi = 2.0 * math.atan(math.exp(y))
        if phi < SMALL:
            value = phi**3 * _series(_S, phi) / math.pi
        else:
            value = (math.sin(phi) - phi * math.cos(phi)) / math.pi
        return phi, value, 1.0 - value
    theta = 2.0 * math.atan(math.exp(-y))
    half = math.sin(0.5 * theta)
    third = theta**3 * _series(_D, theta) if theta < SMALL else theta - math.sin(theta)
    value = ((math.pi - theta) * 2.0 * half * half + third) / math.pi
    return math.pi - theta, 1.0 - value, value


def _series(coefficients, a):
    square, total = a * a, 0.0
    for c in reversed(coefficients):
        total = total * square + c
    return total
