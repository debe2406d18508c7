"""Section 5.2 of [LSY23], its conjecture: a large start first falls, then rises. False for one layer."""

import math

import numpy as np

from reluflow import Flow
from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._common import slack
from reluflow.papers.lee2023.criterion11 import first_integral
from reluflow.single import Problem, solve

needs = "nothing"
forms = ("corrected", "printed")


def check(form: str = "corrected", ratio: float = 3.0, phi: float = 2.9, t1: float = 60.0) -> Report:
    r"""Printed: "gradient flow dynamics has two phases ($\|w\|$ decreasing first, and increasing) for large norm
    initialization in general". One layer from v_0 = 3 v*, phi_0 = 2.9 falls for ever.

    Corrected, from criterion (11) and the first integral $K = (v^*/v)\varphi/\sin\varphi + \pi\cot\varphi$: v falls
    while it is above $h = v^*s(\varphi)$ and turns exactly when it meets h, which for m = 0 happens if and only if $K
    \ge -1$. Here K = -8.7: at every frame v is above h, and v comes down to v* without passing it. From the same
    start with phi_0 = pi/2, K = pi/6 is above -1, and v turns once. For m >= 1 the conjecture holds: v ends below v*.
    Slack: 100 rtol of log(v/v*).
    """
    claims = []
    for angle in (phi, math.pi / 2):
        run = solve(Problem(m=0, norm=ratio, phi=angle), Flow(rtol=1e-10), t1=t1)
        K = first_integral(math.log(ratio), run.problem.y0)
        rises = np.diff(run.log_ratio)
        room = slack(run, run.log_ratio[1:])
        turned = float(np.any(rises > room))
        least = float(np.min(run.log_ratio))
        said = 1.0 if form == "printed" else float(K >= -1.0)
        at = f"phi_0 = {angle:.4g}"
        claims.append(Claim("v rises at last (1) or falls for ever (0)", turned, "=", said, at=at, note=f"K = {K:.4g}"))
        if form == "corrected":
            below = float(least < -1e-6)
            claims.append(Claim("v passes below v* (1) or not (0)", below, "=", said, at=at))
        if form == "printed":
            break
    return Report("lee2023.conjecture5_2", claims, constants={"v_0/v*": ratio, "phi_0": phi}, form=form)
