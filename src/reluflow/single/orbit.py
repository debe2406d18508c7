r"""The flow of a balanced neuron by quadrature: v and t as functions of the angle.

    (v*/v phi/sin phi)^(m+1) = (v*/v_0 phi_0/sin phi_0)^(m+1) + (m+1) pi int_{phi_0}^{phi} psi^m / sin^(m+2) psi dpsi
    t = int 2 pi dy / (phi kappa v^(m-1) v*^(m+1)),     dpsi = sin psi dy,   y = log tan(psi / 2)

Both integrands are positive and smooth in y, so that sums of Gauss-Legendre panels are exact to rounding and
logarithms of them never overflow. No code is shared with the integrator: `solve` is tested against
this.
"""

import math
from typing import NamedTuple

import numpy as np

from reluflow.single import angle
from reluflow.single.problem import Problem

PANEL = 0.25  # of y
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


class Orbit(NamedTuple):
    """The flow at given angles."""

    phi: np.ndarray
    y: np.ndarray
    log_norm: np.ndarray
    log_t: np.ndarray


def orbit(problem: Problem, phi=None, *, y=None) -> Orbit:
    """v and t where the angle is `phi` (or y = log tan(phi/2)), increasing and not before the start."""
    if not problem.balanced:
        raise ValueError(f"The exact orbit needs a balanced start, got {problem!r}: use `rf.single.solve`.")
    if (phi is None) == (y is None):
        raise ValueError("Give `phi` or `y`, one of them.")
    if y is None:
        y = [angle.log_tan(float(p)) for p in np.atleast_1d(phi)]
    y = np.atleast_1d(np.asarray(y, dtype=float))
    if not (math.isfinite(problem.y0) and np.all(np.isfinite(y)) and np.all(np.diff(y) >= 0) and y[0] >= problem.y0):
        raise ValueError(
            f"`phi` must increase from the start's {problem.phi0:.6g} and stay below pi, got {np.atleast_1d(phi)}."
        )
    edges, last = _edges(problem.y0, y)
    log_q0 = float(_log_q_start(problem))
    # Cumulative panel integrals of psi^m / sin^(m+1) psi, in logarithms.
    log_i = _cumulative(edges, lambda z: _log_shape(problem.m, z))
    log_q = np.logaddexp(log_q0, math.log((problem.m + 1) * math.pi) + log_i)
    log_v = _log_v(problem, edges, log_q)
    log_t = _cumulative(edges, lambda z: _log_slowness(problem, z, edges, log_q0, log_i))
    return Orbit(angle.angles(y)[0], y, log_v[last], log_t[last])


def _edges(y0: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Panel edges from y0 through every y, no panel wider than PANEL, and where each y is."""
    points, last = [y0], []
    for value in y:
        count = max(1, math.ceil((value - points[-1]) / PANEL)) if value > points[-1] else 0
        points += list(np.linspace(points[-1], value, count + 1)[1:])
        last.append(len(points) - 1)
    return np.array(points), np.array(last)


def _cumulative(edges: np.ndarray, log_f) -> np.ndarray:
    """log of the integral of e^log_f from the first edge to each edge."""
    half, middle = 0.5 * np.diff(edges)[:, None], 0.5 * (edges[1:] + edges[:-1])[:, None]
    values = log_f(middle + half * NODES)
    top = values.max(axis=1, keepdims=True, initial=-np.inf)
    panels = top[:, 0] + np.log(np.sum(np.exp(values - top) * WEIGHTS * half, axis=1))
    return np.concatenate([[-np.inf], np.logaddexp.accumulate(panels)]) if len(panels) else np.array([-np.inf])


def _log_phi_sin(z):
    """log phi and log sin phi."""
    phi = angle.angles(z)[0]
    return np.log(phi), np.log(2.0) - np.abs(z) - np.log1p(np.exp(-2.0 * np.abs(z)))


def _log_shape(m: int, z):
    log_phi, log_sin = _log_phi_sin(z)
    return m * log_phi - (m + 1) * log_sin


def _log_q_start(problem: Problem):
    log_phi, log_sin = _log_phi_sin(np.array(problem.y0))
    return (problem.m + 1) * (problem.log_target - problem.log_v0 + log_phi - log_sin)


def _log_v(problem: Problem, z, log_q):
    log_phi, log_sin = _log_phi_sin(z)
    return problem.log_target + log_phi - log_sin - log_q / (problem.m + 1)


def _log_slowness(problem: Problem, z, edges, log_q0: float, log_i):
    """log of dt/dy at the nodes z of the panels; the integral up to a node is the panels before it and a part of its
    own.
    """
    starts = edges[:-1, None, None]
    half = 0.5 * (z[:, :, None] - starts)
    values = _log_shape(problem.m, starts + half * (1.0 + NODES))
    top = values.max(axis=2, keepdims=True)
    part = top[:, :, 0] + np.log(np.sum(np.exp(values - top) * WEIGHTS * half, axis=2))
    total = np.logaddexp(log_i[:-1, None], part)
    log_v = _log_v(problem, z, np.logaddexp(log_q0, math.log((problem.m + 1) * math.pi) + total))
    rate = math.log(problem.law.kappa) + (problem.m - 1) * log_v + (problem.m + 1) * problem.log_target
    return math.log(2.0 * math.pi) - _log_phi_sin(z)[0] - rate
