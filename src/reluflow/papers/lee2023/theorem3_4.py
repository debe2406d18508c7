"""Theorems 3.4 and 3.9 of [LSY23]: the angle between two exponentials, for any depth."""

import math

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._bounds import angle_rates, printed_angles, range_of
from reluflow.papers.lee2023._common import columns, is_flow, starts_well, worst
from reluflow.single import Run, angle

needs = "single"


def check(run: Run, *, r: float | None = None, R: float | None = None) -> Report:
    r"""Claim, given $r < v(t) < R$ and c = cot(phi_0/2): $\pi - 2c e^{-a_{lo}t} < \varphi < \pi - 2c e^{-a_{hi}t} +
    \frac23 c^3 e^{-3a_{hi}t}$.

    a_lo = (phi_0/2 pi) v*/R, a_hi = v*/2r for m = 0; a_lo = (phi_0/2 pi) r^(m-1) v*^(m+1), a_hi = R^(m-1) v*^(m+1)/2
    for m >= 1. Also the sharper form it comes from, y_0 + a_lo t <= y <= y_0 + a_hi t with y = log tan(phi/2), which
    is an equality at t = 0. `r` and `R` are the always-valid min(v_0, v* s(phi_0)^(1/(m+1))) and max(v_0, v*) unless
    given; that they bound v is a hypothesis that is tested. Where the printed upper bound exceeds pi it says nothing
    and is not counted. Slack: 100 rtol on y, and on log(pi - phi).
    """
    c, _, y0 = columns(run)
    log_r, log_R = _chosen(run, r, R)
    logs = angle_rates(run.problem, log_r, log_R)
    with np.errstate(over="ignore"):
        lo, hi = (np.exp(a + c.log_t) for a in logs)  # a_lo t and a_hi t
    at, slack, log_theta = c.at, 100 * run_tolerance(run), angle.log_theta(c.y)
    top, bottom = printed_angles(y0, -lo, -hi)
    said = np.isfinite(bottom)
    claims = [
        worst("log(pi - phi), lower bound on phi", log_theta, "<", top, slack, at),
        worst("log tan(phi/2) over y_0 + a_lo t", c.y, ">=", y0 + lo, slack, at, log=False),
        worst("log tan(phi/2) under y_0 + a_hi t", c.y, "<=", y0 + hi, slack, at, log=False),
    ]
    if said.any():
        upper = worst("log(pi - phi), upper bound on phi", log_theta[said], ">", bottom[said], slack, at[said])
        claims.insert(1, upper)
    hypotheses = [is_flow(run), *starts_well(run), *bounded(run, c.l, c.slack, at, log_r, log_R)]
    constants = {
        "log a_lo": logs[0],
        "log a_hi": logs[1],
        "log r/v*": log_r,
        "log R/v*": log_R,
        "phi_0": run.problem.phi0,
    }
    return Report("lee2023.theorem3_4", claims, hypotheses, constants)


def _chosen(run: Run, r: float | None, R: float | None) -> tuple[float, float]:
    low, high = range_of(run.problem)
    unit = run.problem.log_target
    return (low if r is None else math.log(r) - unit), (high if R is None else math.log(R) - unit)


def bounded(run: Run, l, slack, at, log_r: float, log_R: float) -> list[Claim]:
    """r <= v <= R over the whole run."""
    return [
        worst("log v/v* over log r/v*", l, ">=", log_r, slack, at),
        worst("log v/v* under log R/v*", l, "<=", log_R, slack, at),
    ]


def run_tolerance(run: Run) -> float:
    return getattr(run.method, "rtol", 1e-15)
