"""Lemmas 5.5 and E.1 of Kou et al.: in ReLU networks the units on at the start lead, and grow like log t."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions, c1_condition, relu_balance
from reluflow.papers.kou2023._measure import worst
from reluflow.papers.kou2023._path import path

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""(i) $\rho_{y_i,r,i} \ge c_1|\rho_{j,r',i'}|$ for $r \in S_i^{(0)}$; (ii, iii) for those r, with $c' =
    m/\min|S_i|$, $c_2 = 1/(c'(1+\kappa/c_1))$, $c_3 = c'/(1-2c'\kappa/c_1)$, $b_i = |S_i^{(0)}||x_i|^2 s/(nm^2)$:

        c2 log(1 + b_i e^-beta/2) <= rho_{y_i,r,i} <= c3 log(1 + 2 b_i e^{2 beta}).

    c_1 is measured over all frames; the proof lets it be anything up to a fraction that carries $R^{-2}$, see
    `c1_condition`, which with the unnamed constant at 1, the least it can be, is what c_1 is judged against. (ii,
    iii) then have no free constant. The factor 2 in (iii) covers e^B of Lemma H.1, B = h-like, for B <= log 2: a
    hypothesis. (iv), S_i^(0) in S_i^(t), is `lemma5_8`.
    """
    run = path(sol, steps)
    at = run.at
    c1, frame = relu_balance(run)
    c_prime = at.m / max(int(at.size.min()), 1)
    frames = run.trained
    log_s = run.log_s[frames]
    c2 = 1.0 / (c_prime * (1 + at.kappa / c1)) if c1 > 0 else np.nan
    room = 1 - 2 * c_prime * at.kappa / c1 if c1 > 0 else np.nan
    c3 = c_prime / room if room > 0 else np.nan
    log_b = log_s[:, None] + np.log(np.maximum(at.size, 1) * at.norm2 / (at.n * at.m**2))
    lower = c2 * np.logaddexp(0.0, log_b - at.beta - np.log(2.0))
    upper = c3 * np.logaddexp(0.0, log_b + 2 * at.beta + np.log(2.0))
    rho = np.where(at.started, run.rho[frames], np.nan)
    slack = np.minimum(run.error, 1e-9 * np.nanmax(rho, axis=(1, 2)))[:, None, None]
    step = float(np.max(at.eta * at.size * at.norm2 * np.exp(2 * at.beta) / (at.n * at.m**2)))
    place = f"s = e^{run.log_s[frame]:.6g}"
    named = c1_condition(at, 1.0)
    claims = [
        Claim("(i) c1 = least rho_{y_i,r,i}, r in S_i, over largest |rho|", c1, ">=", named, at=place, kind="fitted"),
        worst("(ii) rho_{y_i,r,i}, lower bound", rho, ">=", lower[:, None], slack=slack, at=log_s),
        worst("(iii) rho_{y_i,r,i}, upper bound", rho, "<=", upper[:, None], slack=slack, at=log_s),
    ]
    hypotheses = [
        *assumptions(at, leaky=False),
        Claim("2 c' kappa/c1", 1 - room, "<=", 0.5, note="as the proof takes it"),
        Claim("B = step of Lemma H.1", step * min(room, 1.0), "<=", float(np.log(2.0))),
    ]
    constants = {**at.report(), "c1": c1, "c2": c2, "c3": c3, "c'": c_prime}
    return Report("kou2023.lemma5_5", claims, hypotheses, constants)
