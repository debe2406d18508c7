"""Theorems 3.2 and 3.7 of [LSY23]: the angle increases to pi and w converges to w*."""

import math
from functools import partial

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._bounds import angle_rates, log_magnitude, range_of
from reluflow.papers.lee2023._common import EPS, is_flow, starts_well, worst
from reluflow.single import Run, angle

needs = "single"

NEAR = 1e-3  # of pi - phi and of log(v/v*): a run is judged once theory puts it nearer than this


def check(run: Run) -> Report:
    r"""Claim: for $0 < \varphi_0 < \pi$ and a balanced $w_0 \ne 0$, $\varphi$ strictly increases to $\pi$ and $\|w\|
    \to v^*$.

    Increase is judged frame by frame in y = log tan(phi/2), which no rounding of phi near pi can hide; at phi_0 = 0
    or pi nothing increases. The limits: at the end $\pi - \varphi$ and $|\log(v/v^*)|$ are below 1e-3. When they must
    be is known: by Theorem 3.9's lower bound $\pi - \varphi \le 2\cot(\varphi_0/2)e^{-a_{lo}t}$, and for v by the
    bounds of Theorem 3.8 restarted at the frame in the middle of the run. A run that ends earlier is unfinished. No
    slack but the rounding of the loss, which need not have moved yet.
    """
    gains = np.diff(run.y) if np.isfinite(run.problem.y0) else np.zeros(len(run.y) - 1)
    until, by_angle, by_size = _needed(run)
    end = float(run.t[-1])
    left = abs(float(run.log_ratio[-1]))
    far = by_angle if run.log_theta[-1] > math.log(NEAR) else ""
    apart = (by_angle or by_size) if left > NEAR else ""
    limit = partial(Claim, kind="limit", at=end)
    claims = [
        worst("increase of log tan(phi/2) between frames", gains, ">", 0.0, 0.0, run.t[1:], log=False),
        limit("pi - phi at the end", run.log_theta[-1], "<=", math.log(NEAR), log=True, missing=far),
        limit("|log v/v*| at the end", left, "<=", NEAR, missing=apart),
        limit("loss at the end, and at the start", run.log_loss[-1], "<=", run.log_loss[0], slack=8 * EPS, log=True),
    ]
    return Report("lee2023.theorem3_2", claims, [is_flow(run), *starts_well(run)], until=until)


def _needed(run: Run) -> tuple[float, str, str]:
    """When pi - phi must be below `NEAR`, and what is missing for the angle and for the magnitude."""
    p = run.problem
    if not (p.balanced and np.isfinite(p.y0)):
        return 0.0, "", ""
    log_rate = angle_rates(p, *range_of(p))[0]
    log_until = math.log(max(math.log(2.0 / NEAR) - p.y0, 1e-300)) - log_rate - p.log_unit_time
    end = float(run.log_t[-1])
    text = f"the run ends at t = e^{end:.6g}, theory's bound is below {NEAR:g} from t = e^{log_until:.6g} on"
    by_angle = text if end < log_until else ""
    middle = len(run.log_t) // 2
    with np.errstate(divide="ignore"):
        rest = float(run.log_t[-1] + np.log1p(-np.exp(min(run.log_t[middle] - run.log_t[-1], 0.0))))
    eps = float(angle.eps(angle.angles(run.y[middle])[1]))
    log_rest = np.array([rest + p.log_unit_time])
    bounds = [float(log_magnitude(p.m, float(run.log_ratio[middle]), e, log_rest)[0]) for e in (eps, 0.0)]
    near = max(abs(b) for b in bounds) < NEAR / 2
    by_size = "" if near else "the bounds of Theorem 3.8 do not yet put v within 1e-3 of v*"
    return float(np.exp(min(log_until, 700.0))), by_angle, by_size
