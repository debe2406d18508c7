"""Lemma B.3 of Kou et al.: leaky ReLU coefficients grow like log t, between explicit logarithms."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions, leaky_balance
from reluflow.papers.kou2023._measure import worst
from reluflow.papers.kou2023._path import path

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""With $h_i = \eta|x_i|^2/(nm)$, $c_4 = 1-\gamma^{-2}\kappa/c_3$, $c_5 = 1-\gamma^{-3}\kappa/c_3$,
    $c_6 = 1+\gamma^{-2}\kappa/c_3$, averages over r:

        (2 c6)^-1 log(1 + gamma c6 h_i e^{-(1+gamma) beta} t) <= avg rho_{y_i,r,i} <= c4^-1 log(1 + B e^B t),
        gamma (2 c6)^-1 log(1 + c6 h_i e^{-(1+gamma) beta} t) <= avg |rho_{-y_i,r,i}|
                                                              <= (gamma c5)^-1 log(1 + B' e^{B'} t),

    B = c4 h_i e^{2 beta}, B' = gamma c5 h_i e^{2 beta} (the paper hides e^B in its constants; in a flow it is 1 and
    h_i t is s|x_i|^2/(nm)). c3 is the measured constant of Lemma 5.4; without c5 > 0 the bounds say nothing. Every
    frame after the start is tested, and the first iterates of a descent one by one.
    """
    run = path(sol, steps)
    at = run.at
    c3 = leaky_balance(run)
    g = at.gamma
    c4, c5, c6 = 1 - at.kappa / (c3 * g**2), 1 - at.kappa / (c3 * g**3), 1 + at.kappa / (c3 * g**2)
    frames = run.trained
    log_s = run.log_s[frames]
    log_hs = log_s[:, None] + np.log(at.norm2 / (at.n * at.m))  # log h_i t
    h = at.eta * at.norm2 / (at.n * at.m)
    big = c4 * h * np.exp(2 * at.beta), g * c5 * h * np.exp(2 * at.beta)
    fall = (1 + g) * at.beta

    def log1p(log_v):
        return np.logaddexp(0.0, log_v)

    with np.errstate(invalid="ignore", divide="ignore"):
        lower = log1p(np.log(g * c6) + log_hs - fall) / (2 * c6)
        upper = log1p(np.log(c4) + 2 * at.beta + big[0] + log_hs) / c4
        lower_other = g * log1p(np.log(c6) + log_hs - fall) / (2 * c6)
        upper_other = log1p(np.log(g * c5) + 2 * at.beta + big[1] + log_hs) / (g * c5)
    own, other = run.mean_size(True)[frames], run.mean_size(False)[frames]
    # Early coefficients are tiny, and so is their rounding: the error of the last frame would hide them.
    slack = np.minimum(run.error, 1e-9 * np.maximum(own, other))
    claims = [
        worst("avg rho_{y_i,r,i}, lower bound", own, ">=", lower, slack=slack, at=log_s),
        worst("avg rho_{y_i,r,i}, upper bound", own, "<=", upper, slack=slack, at=log_s),
        worst("avg |rho_{-y_i,r,i}|, lower bound", other, ">=", lower_other, slack=slack, at=log_s),
        worst("avg |rho_{-y_i,r,i}|, upper bound", other, "<=", upper_other, slack=slack, at=log_s),
    ]
    hypotheses = [*assumptions(at, leaky=True), Claim("c5", c5, ">", 0.0), Claim("c4", c4, ">", 0.0)]
    return Report("kou2023.lemma_b3", claims, hypotheses, {**at.report(), "c3": c3, "c4": c4, "c5": c5, "c6": c6})
