r"""Descent on the population, step by step, in units: what one step does to the angle.

One step is w <- alpha w + beta w*, so with q = beta v* / (alpha v) and x = cot(phi/2) = tan(theta/2),

    (1 - q) x < x_new < x / (1 + q)          for 0 < q < 1, alpha > 0

exactly: cot(theta_new) = cot(theta) + q / sin(theta), which in x reads x_new = k x with x^2 k (k - 1 + q) = 1 - k (1
+ q). The left side minus the right is positive at k = 1/(1+q) and negative at k = 1 - q. As eta -> 0, q -> eta a(t),
and the bounds of the flow return.
"""

import math
from dataclasses import dataclass

import numpy as np

from reluflow.claim import Claim
from reluflow.methods import Descent
from reluflow.papers.lee2023._common import EPS
from reluflow.single import Run, angle


@dataclass(frozen=True)
class Steps:
    """Columns of a descent run in units, T = 0, 1, ...; the last row has no step after it."""

    T: np.ndarray
    eta: float
    y: np.ndarray
    l: np.ndarray
    log_v1: np.ndarray
    alpha: np.ndarray
    rho: np.ndarray
    slack: np.ndarray


def steps(run: Run) -> Steps:
    """Raises one sentence when the run is not descent."""
    if not isinstance(run.method, Descent):
        raise TypeError("This result is about gradient descent: give a run by `rf.Descent(step=...)`.")
    p = run.problem
    eta = run.method.step * math.exp(p.log_unit_time)
    l, outer = run.log_norm - p.log_target, run.log_outer - p.log_target
    log_p = outer.sum(axis=1)
    rho = np.exp(log_p - l)  # P P* v* / v
    alpha = 1.0 - 0.5 * eta * (np.exp(2 * log_p) - rho * np.sin(run.theta) / math.pi)
    slack = 8 * EPS * (2.0 + run.iteration)  # one rounding or two for each iteration
    log_v1 = outer[:, 0] if p.m else l
    return Steps(run.iteration, eta, run.y, l, log_v1, alpha, rho, slack)


def turning_rates(run: Run, s: Steps) -> tuple[float, float]:
    """q_lo = eta (phi_0/2 pi) min rho / max alpha and q_hi = (eta/2) max rho / min alpha, over the run."""
    rho, alpha = s.rho[:-1], s.alpha[:-1]
    return (
        s.eta * run.problem.phi0 / (2 * math.pi) * float(rho.min()) / float(alpha.max()),
        0.5 * s.eta * float(rho.max()) / float(alpha.min()),
    )


def well_stepped(s: Steps, q_hi: float) -> list[Claim]:
    """alpha > 0 and q < 1: no step carries w past the line of w*."""
    return [
        Claim("smallest alpha, w <- alpha w + beta w*", float(s.alpha[:-1].min()), ">", 0.0),
        Claim("largest q = beta v*/(alpha v)", q_hi, "<", 1.0),
    ]


def log_theta(s: Steps) -> np.ndarray:
    return angle.log_theta(s.y)
