"""Lemmas C.1 and C.2 of Kou et al.: coefficients of one class and datum stay within a constant of each other."""

import numpy as np

from reluflow.claim import Report
from reluflow.papers.kou2023._constants import assumptions, log_tau_pattern
from reluflow.papers.kou2023._measure import worst
from reluflow.papers.kou2023._path import path

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""$|\rho_{j,r,i} - \rho_{j,r',i}| \le C' = \eta R_{max}^2 T_{pat}/(nm)$ for all t (C.1 up to T_pat, C.2 after).

    Every frame; before T_pat C' may be replaced by the unit time itself, which is what C.1 proves: |rho| <= tau. Slack:
    the error of a coefficient.
    """
    run = path(sol, steps)
    at = run.at
    spread = np.stack([np.ptp(run.rho[:, run.of_class(j)], axis=1) for j in (1, -1)], axis=1)
    c_prime = np.exp(log_tau_pattern(run))
    bound = np.minimum(np.exp(np.minimum(run.log_tau, 700.0)), c_prime)[:, None, None]
    late = run.log_tau > np.log(c_prime) if c_prime > 0 else run.log_tau > -np.inf
    slack = np.minimum(run.error, 1e-9 + 0 * bound)
    claims = [
        worst(
            "C.1: spread over r, t <= T_pat", spread[~late], "<=", bound[~late], slack=slack[~late], at=run.log_s[~late]
        ),
        worst("C.2: spread over r, t > T_pat", spread[late], "<=", bound[late], slack=run.error, at=run.log_s[late]),
    ]
    return Report("kou2023.lemma_c1", claims, assumptions(at, leaky=True), {**at.report(), "C'": c_prime})
