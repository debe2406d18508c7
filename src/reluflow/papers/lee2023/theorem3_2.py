"""Theorems 3.2 and 3.7 of [LSY23]: the angle increases to pi and w converges to w*."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._common import is_flow, starts_well, worst
from reluflow.single import Run

needs = "single"


def check(run: Run) -> Report:
    r"""Claim: for $0 < \varphi_0 < \pi$ and a balanced $w_0 \ne 0$, $\varphi$ strictly increases to $\pi$ and $\|w\|
    \to v^*$.

    Increase is judged frame by frame in y = log tan(phi/2), which no rounding of phi near pi can hide; at phi_0 = 0
    or pi nothing increases. The limits are judged by what is left of theta and of the loss. No slack.
    """
    gains = np.diff(run.y) if np.isfinite(run.problem.y0) else np.zeros(len(run.y) - 1)
    limit = partial(Claim, log=True, kind="limit", at=float(run.t[-1]))
    left = f"|log v/v*| is {abs(run.log_ratio[-1]):.3g} there"
    claims = [
        worst("increase of log tan(phi/2) between frames", gains, ">", 0.0, 0.0, run.t[1:], log=False),
        limit("pi - phi at the end, and at the start", run.log_theta[-1], "<", run.log_theta[0]),
        limit("loss at the end, and at the start", run.log_loss[-1], "<", run.log_loss[0], note=left),
    ]
    return Report("lee2023.theorem3_2", claims, [is_flow(run), *starts_well(run)])
