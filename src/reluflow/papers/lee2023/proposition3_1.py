"""Propositions 3.1 and 3.6 of [LSY23]: the equations of magnitude and angle, for any depth."""

from __future__ import annotations

import math

import numpy as np

from reluflow.claim import Report
from reluflow.papers.lee2023._common import is_flow, starts_well, worst
from reluflow.single import Run, angle

needs = "single"

STEP = 1e-3  # of log t, for central differences
# Fourth-order central difference: weights at -2h, -h, h, 2h, over 12 h.
STENCIL = ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0))


def check(run: Run, *, points: int = 200) -> Report:
    r"""Claim: $v' = -\frac12 v^m (v^{m+1} - v^{*\,m+1} s(\varphi))$ and $\varphi' = v^{m-1} v^{*\,m+1}
    \varphi\sin\varphi / 2\pi$, kappa times faster in general.

    Both as rates of log v and of y = log tan(phi/2), by fourth-order differences in log t at up to `points` frames
    (those with t v^(m-1) and t v^2m below 100: beyond, log t has nothing left to resolve). Slack: a difference over
    1e-3 of values right to 100 rtol is right to 1.5e5 rtol times `size` = 1 + t v^(m-1) + t v^2m, and the stencil
    leaves (1e-3)^4/30 of a fifth derivative, at most size^5.
    """
    p, m = run.problem, run.problem.m
    size = _size(run)
    room = (run.log_t > run.log_t[1] + 0.1) & (run.log_t < run.log_t[-1] - 2.5 * STEP) & (size < 100.0)
    chosen = np.flatnonzero(room)[:: max(1, int(room.sum()) // points)]
    log_t, size = run.log_t[chosen], size[chosen]
    at = run.at(log_t=log_t)
    ahead = {k: run.at(log_t=log_t + k * STEP) for k, _ in STENCIL}
    slope = lambda name: sum(c * getattr(ahead[k], name) for k, c in STENCIL) / (12 * STEP)
    # t (log v)' and t y' from the equations, in unit time and with the target 1
    l, unit = at.log_norm - p.log_target, log_t + p.log_unit_time
    phi, theta = angle.angles(at.y)
    s = np.where(phi < 1, angle.s(phi), 1.0 - angle.eps(theta))
    v_rate = -0.5 * np.exp(unit + (m - 1) * l) * (np.exp((m + 1) * l) - s)
    y_rate = np.exp(unit + (m - 1) * l) * phi / (2 * math.pi)
    slack = 1.5e5 * getattr(run.method, "rtol", 1e-10) * size + STEP**4 / 30 * size**5
    claims = [
        worst(f"|d {n} / d log t - its equation|", np.abs(slope(name) - rate), "<=", 0.0, slack, at.t, log=False)
        for n, name, rate in (("log v", "log_norm", v_rate), ("log tan(phi/2)", "y", y_rate))
    ]
    return Report("lee2023.proposition3_1", claims, [is_flow(run), *starts_well(run)], {"m": m})


def _size(run: Run) -> np.ndarray:
    l, unit = run.log_norm - run.problem.log_target, run.log_t + run.problem.log_unit_time
    with np.errstate(over="ignore"):
        return 1.0 + np.exp(unit + (run.problem.m - 1) * l) + np.exp(unit + 2 * run.problem.m * l)
