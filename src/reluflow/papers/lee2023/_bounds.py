r"""The bounds of Lee et al. as functions, in the units of `rf.single`: target 1, unit time kappa v*^2m t.

    u(t; eps):   u' = -(1/2) u^m (u^(m+1) - A),   u(0) = v_0,   A = 1 - eps
    angle:       y_0 + a_lo t <= y(t) <= y_0 + a_hi t,   y = log tan(phi / 2)

All magnitudes are logarithms log(v / v*): nothing underflows, and what is close to v* is right relative to its
distance.
"""

import math

import numpy as np
from scipy.special import cosdg, digamma, sindg

from reluflow.single import Problem, angle
from reluflow.single import flow as flows

TERMS = 110  # of series whose ratio is at most 2/3


def log_magnitude(m: int, log_v0: float, eps: float, log_t: np.ndarray, rtol: float = 1e-11) -> np.ndarray:
    """log u(t; eps) at unit times e^log_t, from u(0) = e^log_v0: explicit for m <= 1, else the scalar equation."""
    log_t, log_a = np.asarray(log_t, dtype=float), math.log1p(-eps)
    if m > 1:
        end = max(float(log_t.max()), -700.0)
        held = (math.nan, 1.0 - eps, eps)
        curve = flows.follow(np.array([log_v0]), [m + 1], 0.0, rtol, end, 100_000, held)[0]
        return np.where(np.isneginf(log_t), log_v0, curve.at(log_t)[flows.LAMBDA] / (m + 1))
    with np.errstate(over="ignore"):
        t = np.exp(log_t)
    # m = 0: u = A + (v_0 - A) e^-t/2.   m = 1: u^-2 = [1 - (1 - A v_0^-2) e^-At] / A.
    sign, rate, x0 = (1.0, 0.5, log_v0) if m == 0 else (-0.5, 1.0 - eps, -2.0 * log_v0)
    log_end = log_a if m == 0 else -log_a
    # x = u or u^-2 relaxes from e^x0 to e^log_end; the two forms are exact early and late.
    with np.errstate(divide="ignore"):
        early = np.logaddexp(x0 - rate * t, log_end + np.log(-np.expm1(-rate * t)))
    late = log_end + np.log1p(math.expm1(min(x0 - log_end, 700.0)) * np.exp(-rate * t))
    near = (x0 - log_end < 30.0) & (rate * t > 0.5)
    return sign * np.where(near, late, early)


def range_of(problem: Problem) -> tuple[float, float]:
    """log r and log R in units of v*: r = min(v_0, v* s(phi_0)^(1/(m+1))), R = max(v_0, v*), which always bound v."""
    l0 = problem.log_v0 - problem.log_target
    return min(l0, float(log_h(problem.m, problem.y0))), max(l0, 0.0)


def angle_rates(problem: Problem, log_r: float, log_R: float) -> tuple[float, float]:
    """log a_lo and log a_hi of Theorems 3.4 and 3.9, in unit time."""
    slow, fast = (log_R, log_r) if problem.m == 0 else (log_r, log_R)
    power = problem.m - 1
    return math.log(problem.phi0 / (2 * math.pi)) + power * slow, math.log(0.5) + power * fast


def printed_angles(y0: float, log_decay_lo, log_decay_hi, log_decay_cube=None):
    """log of the printed bounds on theta = pi - phi: (upper, lower).

    theta < 2 c x_lo and theta > 2 c x_hi - (2/3) c^3 x_cube with c = cot(phi_0/2) and x the decays; the lower is -inf
    (nothing is claimed) where its right-hand side is negative.
    """
    cube = 3.0 * log_decay_hi if log_decay_cube is None else log_decay_cube
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = -np.expm1(-2.0 * y0 + cube - log_decay_hi - math.log(3.0))
        lower = np.where(rest > 0, math.log(2.0) - y0 + log_decay_hi + np.log(rest), -np.inf)
    return math.log(2.0) - y0 + log_decay_lo, lower


def hypergeometric(m: int, z):
    r"""Real part of F(z) = 2F1(1, b; 1 + b; z), b = (1-m)/(m+1), for any z > 0 but 1.

    Its power series below 1/2; around 1, b sum_n (b)_n/n! [psi(n+1) - psi(b+n) - log|1-z|] (1-z)^n; above 3/2, the
    series of F(z) = b/((1-b) z) 2F1(1, 1-b; 2-b; 1/z) + pi b cot(pi b) z^-b. For m = 0 it is -log|1-z| / z. scipy's
    hyp2f1 will not do: it is infinite beyond 1, and wrong below it (version 1.17 has 2F1(1, 4/3; 7/3; 0.999) = -33.3
    instead of 8.63).
    """
    if m == 1:
        raise ValueError("`m` must not be 1: there the bound is explicit, and the implicit form divides by 0.")
    z = np.asarray(z, dtype=float)
    if m == 0:
        return -np.where(z < 0.5, np.log1p(-np.minimum(z, 0.5)), np.log(np.abs(1.0 - z))) / z
    b, n = (1.0 - m) / (m + 1.0), np.arange(TERMS)
    below, beyond = (np.where(k, z, 1.0)[..., None] for k in (z < 0.5, z > 1.5))
    small = np.sum(b / (b + n) * np.where(below < 0.5, below, 0.0) ** n, axis=-1)
    around = np.where(np.abs(z - 1.0) <= 0.5, 1.0 - z, 0.25)[..., None]
    rising = np.concatenate([[1.0], np.cumprod((b + n[:-1]) / (1.0 + n[:-1]))])
    middle = b * np.sum(rising * (digamma(n + 1) - digamma(b + n) - np.log(np.abs(around))) * around**n, axis=-1)
    inverse = np.where(beyond > 1.5, 1.0 / beyond, 0.0)
    cot = cosdg(180.0 * b) / sindg(180.0 * b)
    tail = b / (1 - b) * np.sum((1 - b) / (1 - b + n) * inverse ** (n + 1), axis=-1)
    large = tail + np.pi * b * cot * beyond[..., 0] ** -b
    return np.where(z < 0.5, small, np.where(z > 1.5, large, middle))


def implicit(m: int, u, a: float):
    """F_A(u) = u^(1-m) / ((m-1) A) 2F1(u^(m+1) / A), along which F_A(u(t)) - F_A(v_0) = -t/2."""
    u = np.asarray(u, dtype=float)
    return u ** (1 - m) / ((m - 1) * a) * hypergeometric(m, u ** (m + 1) / a)


def log_h(m: int, y):
    """log of h = (1 - eps)^(1/(m+1)) in units of v*: v falls where it is above h and rises where it is below."""
    return angle.log_s(y) / (m + 1)
