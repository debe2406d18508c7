"""Lemma E.2 and Corollary E.3 of Kou et al.: other-class ReLU coefficients stay small."""

import numpy as np

from reluflow.claim import Report
from reluflow.papers.kou2023._constants import assumptions, relu_balance
from reluflow.papers.kou2023._measure import worst
from reluflow.papers.kou2023._path import path

needs = "solution"
forms = ("corrected", "printed")


def check(sol, form: str = "corrected", steps: int = 300) -> Report:
    r"""For $y_{i'} = -y_i$, $r' \in S_i^{(0)}$: $|\rho_{y_i,r,i'}| \le \beta + 1 + \kappa\rho_{y_i,r',i}/c_1$ for all t
    (E.24); after $T_2$, where $\rho_{y_i,r',i} \ge c_1(\beta+1)/\kappa$: $\le (2/c_1)\kappa\rho_{y_i,r',i}$ (E.2, E.3).

    c_1 is measured (Lemma E.1). log T2 is of order 1/kappa, and for orthogonal data there is no T2: other-class
    coefficients freeze at nonzero values. Printed: T2 exists always, so the last frame is past it. Slack: the error of
    a coefficient.
    """
    run = path(sol, steps)
    at = run.at
    c1 = relu_balance(run)[0]
    frames = run.trained
    small, large = [], []
    for j in (1, -1):
        rows = run.of_class(j)
        size = np.abs(run.rho[frames][:, rows])
        small.append(size[:, :, at.y == -j].max(axis=(1, 2)))
        started = at.started[rows][:, at.y == j]
        large.append(np.where(started, size[:, :, at.y == j], np.inf).min(axis=(1, 2)))
    other, lead = np.stack(small, axis=1), np.stack(large, axis=1)
    log_s = run.log_s[frames]
    bound = at.beta + 1 + at.kappa * lead / c1
    claims = [worst("E.2: |rho_{y_i,r,i'}|, y_i' = -y_i, all t", other, "<=", bound, slack=run.error, at=log_s)]
    past = at.kappa * lead >= c1 * (at.beta + 1)
    both = past.all(axis=1)
    when = f"T2 at s = e^{log_s[np.argmax(both)]:.4g}" if both.any() else "T2 not reached"
    if form == "printed":
        past = np.zeros_like(past)
        past[-1] = True
    late = np.where(past, other, np.nan)
    text = "E.3: |rho_{y_i,r,i'}| after T2"
    reached = both.any() or form == "printed"
    missing = "" if reached or at.kappa == 0 else f"the run ends at s = e^{log_s[-1]:.4g}, before T2"
    bounds = 2 / c1 * at.kappa * lead
    claims.append(worst(text, late, "<=", bounds, slack=run.error, at=log_s, note=when, missing=missing))
    notes = []
    if form == "corrected" and at.kappa == 0:
        claims.pop()
        notes = ["E.3 needs p > 0; on orthogonal data it is false."]
    with np.errstate(divide="ignore"):
        ratio = float(np.max(other[-1] / lead[-1]) / np.float64(at.kappa))
    constants = {**at.report(), "c1": c1, "|rho|/(kappa rho) at the end": ratio}
    return Report("kou2023.lemma_e2", claims, assumptions(at, leaky=False), constants, form, notes)
