"""Lemmas 5.7 and D.1 of Kou et al.: after the pattern is set, all units of a class move alike."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions, frozen, matches
from reluflow.papers.kou2023._measure import worst
from reluflow.papers.kou2023._path import path

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""For $t > T \ge T_{pat}$ increments $\rho^{(t)} - \rho^{(T)}$ are equal over r within (j, i), and those for
    $j = -y_i$ are $-\gamma$ times those for $j = y_i$.

    T is the first frame after the last switch; every later frame is tested. An identity: the slack is rounding (k eps
    per coefficient after k iterations, times the squared condition number of the data) or 100 rtol of a flow.
    """
    run = path(sol, steps)
    at = run.at
    kept = frozen(run)
    grown = run.rho[kept] - run.rho[kept[:1]]
    own = np.where(at.own, grown, np.nan)
    mean = np.nanmean(own, axis=1, keepdims=True) if len(kept) else own
    expected = np.where(at.own, 1.0, -at.gamma) * mean
    claims = (
        [
            worst(
                "spread of increments over r",
                np.ptp(own[:, at.sign == j][:, :, at.y == j], axis=1),
                "<=",
                0.0,
                slack=run.error,
                at=run.log_s[kept],
            )
            for j in (1, -1)
        ]
        if len(kept)
        else [Claim("spread of increments over r", np.nan, "<=", 0.0)]
    )
    text = "increments against (1 or -gamma) x the mean of the own class"
    claims.append(worst(text, np.abs(grown - expected), "<=", 0.0, slack=run.error, at=run.log_s[kept]))
    hypotheses = [*assumptions(at, leaky=True), Claim("frames after the last switch", len(kept), ">=", 2)]
    hypotheses.append(Claim("all signs are j y_i at the end: no switch is to come", matches(run), "=", 1.0))
    return Report("kou2023.lemma5_7", claims, hypotheses, at.report())
