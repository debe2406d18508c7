"""Lemma D.2 of Kou et al.: the loss of a leaky ReLU network falls like a power of t."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions, frozen, in_tail, leaky_balance, matches
from reluflow.papers.kou2023._measure import worst
from reluflow.papers.kou2023._path import Path, path

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""For $t > T = T_{pat}$, with $q = \kappa/(c_1\gamma^2)$ and $a = (1-q)/(1+q)$:

        L_S <= (1/n) sum_i e^{-C'_i} (1 + (eta|x_i|^2/(2nm)) e^{-C_i} (1+gamma^2)(1+q)(t - T))^{-a},
        C_i  = (1+q)(avg rho^(T)_{y_i} + gamma avg|rho^(T)_{-y_i}|) + (1+gamma) beta,
        C'_i = (1-q)(avg rho^(T)_{y_i} + gamma avg|rho^(T)_{-y_i}|) - (1+gamma) beta,

    c_1 the measured constant of Lemma B.1. In logarithms, at every frame after T. The exponent a < 1 is of the proof
    [+]: after T this is logistic regression on fixed separable features, and the measured exponent tends to 1 whatever
    kappa is (unfinished before all data are in their tail). Slack of that limit: the change of the exponent from the
    decade before the last to the last one.
    """
    run = path(sol, steps)
    at = run.at
    kept = frozen(run)
    c1 = leaky_balance(run)
    q = at.kappa / (c1 * at.gamma**2)
    a = (1 - q) / (1 + q)
    claims = []
    if len(kept) > 1:
        first = kept[0]
        late = kept[run.log_s[kept] > run.log_s[first] + 1e-9]
        held = run.mean_size(True)[first] + at.gamma * run.mean_size(False)[first]
        edge = (1 + at.gamma) * at.beta
        passed = run.log_s[late] + np.log1p(-np.exp(run.log_s[first] - run.log_s[late]))
        grown = passed[:, None] + np.log(at.norm2 / (2 * at.n * at.m) * (1 + at.gamma**2) * (1 + q))
        grown = np.logaddexp(0.0, grown - ((1 + q) * held + edge))
        bound = np.logaddexp.reduce(-((1 - q) * held - edge) - a * grown, axis=1) - np.log(at.n)
        text = "log L_S after T_pat"
        claims.append(worst(text, run.log_loss[late], "<=", bound, slack=run.error, at=run.log_s[late], log=True))
    last, before = exponents(run)
    slack = abs(last - before) + run.error
    text = "-d log L/d log t over the last decade"
    claims += [
        Claim(f"{text}, at least a", last, ">=", a, slack=slack, kind="limit"),
        Claim(f"{text} [+]", last, "=", 1.0, slack=slack, kind="limit", note=f"{before:.6f} the decade before"),
    ]
    hypotheses = [
        *assumptions(at, leaky=True),
        Claim("q = kappa/(c1 gamma^2)", q, "<", 1.0),
        Claim("all signs are j y_i at the end", matches(run), "=", 1.0),
    ]
    return Report("kou2023.lemma_d2", in_tail(run, claims), hypotheses, {**at.report(), "c1": c1, "a": a})


def exponents(run: Path) -> tuple[float, float]:
    """-d log L/d log t over the last decade of time, and over the one before."""
    before, last = run.slopes(-run.log_loss)
    return float(last), float(before)
