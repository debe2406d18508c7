"""Proposition C.1 of [LSY23]: two random directions in high dimension are nearly orthogonal."""

import numpy as np
from scipy.special import betainc

from reluflow.claim import Claim, Report

needs = "nothing"
forms = ("corrected", "printed")

DIMENSIONS = (2, 3, 5, 10, 30, 100, 1000)
EPSILONS = tuple(np.round(np.concatenate([np.linspace(0.01, 0.95, 48), [0.98, 0.99, 0.999]]), 4))


def tail(d: int, epsilon: float) -> float:
    """P(cos > epsilon) of two independent Gaussian directions, exactly: half a beta function."""
    return 0.5 * float(betainc(0.5 * (d - 1), 0.5, 1.0 - epsilon**2))


def check(*, form: str = "corrected", dimensions=DIMENSIONS, law=tail) -> Report:
    r"""Claim: $P(\cos < \epsilon) \ge 1 - 2e^{-d\epsilon^2/2}$; even with 1 in place of 2, which only the two-sided
    version needs.

    cos has the beta law, so nothing is sampled: log P(cos > eps) is compared with the bound for each d over 51 values
    of eps. Printed, the proof's own step: P <= (1 - eps^2)^(d/2), which fails for eps near 1 (d = 2, eps = .99). No
    slack.
    """
    claims = []
    for d in dimensions:
        with np.errstate(divide="ignore"):
            found = np.log([law(d, e) for e in EPSILONS])
        eps = np.array(EPSILONS)
        bound = 0.5 * d * np.log1p(-(eps**2)) if form == "printed" else -0.5 * d * eps**2
        k = int(np.argmin(bound - found))
        claims.append(Claim(f"log P(cos > eps), d = {d}", found[k], "<=", bound[k], log=True, at=f"eps = {eps[k]}"))
    return Report("lee2023.proposition_c1", claims, form=form)
