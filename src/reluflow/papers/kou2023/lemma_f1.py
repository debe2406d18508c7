"""Lemma F.1 of Kou et al.: the stable rank of a ReLU network stays bounded."""

from __future__ import annotations

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions
from reluflow.papers.kou2023._measure import excess_rank, worst
from reluflow.papers.kou2023._path import path

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""$\limsup SR(W_j) \le c$. The proof's own inequalities, at every frame after the start, $A_t =
    (\rho_{j,r,i}/|x_i|^2)$:

        |V_j|_2 >= |A_t 1|/|X^T (XX^T)^-1 1|,   |X^T (XX^T)^-1 1|^2 = 1^T (XX^T)^-1 1 <= 2n/R_min^2   (kappa <= 1/2),
        so SR(V_j) <= |V_j|_F^2 (2n/R_min^2)/|A_t 1|^2,   V_j = W_j - W_j^(0).

    c is left open by the paper (its constant goes with R^6): the fitted one is the largest SR(W_j) over the second half
    of log s, judged against the displayed bound at the last frame.
    """
    run = path(sol, steps)
    at = run.at
    frames = run.trained
    log_s = run.log_s[frames]
    ones = float(np.sum(np.linalg.solve(at.gram, np.ones(at.n))))
    claims = [Claim("1^T (XX^T)^-1 1", ones, "<=", 2 * at.n / at.r_min**2, slack=1e-12 * ones)]
    late = log_s >= 0.5 * log_s[-1]
    for j in (1, -1):
        rows = run.of_class(j)
        v = run.w[frames][:, rows] - at.w0[rows]
        total = np.linalg.norm(np.sum(run.rho[frames][:, rows] / at.norm2, axis=2), axis=1)
        bound = np.sum(v**2, axis=(1, 2)) * 2 * at.n / (at.r_min * total) ** 2
        text = f"SR(W_{j:+d} - W^(0))"
        claims.append(worst(text, 1 + excess_rank(v), "<=", bound, slack=1e-9 * bound, at=log_s))
        largest = float(np.max(1 + excess_rank(run.w[frames][late][:, rows])))
        claims.append(Claim(f"limsup SR(W_{j:+d})", largest, "<=", bound[-1], kind="fitted"))
    hypotheses = [*assumptions(at, leaky=False), Claim("kappa", at.kappa, "<=", 0.5)]
    return Report("kou2023.lemma_f1", claims, hypotheses, at.report())
