"""Criterion (11) of [LSY23]: the magnitude falls exactly while it is above h, and turns at most once."""

import math

import numpy as np
from scipy.optimize import brentq

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._bounds import log_h
from reluflow.papers.lee2023._common import columns, is_flow, starts_well, worst
from reluflow.single import Run

needs = "single"
forms = ("corrected", "printed")


def turning_point(run: Run) -> tuple[float, float] | None:
    """(log t, log v) where the magnitude stops falling, or None where it never turns within the run."""
    side = run.log_ratio - log_h(run.problem.m, run.y)
    cross = np.flatnonzero((side[:-1] > 0) & (side[1:] <= 0))
    if not len(cross):
        return None
    k = cross[0]

    def above(log_t: float) -> float:
        at = run.at(log_t=log_t)
        return float(at.log_ratio[0] - log_h(run.problem.m, at.y)[0])

    low = run.log_t[k] if k else run.log_t[1] - 30.0
    log_t = brentq(above, low, run.log_t[k + 1], xtol=1e-13)
    return log_t, float(run.at(log_t=log_t).log_norm[0])


def check(run: Run, *, form: str = "corrected") -> Report:
    r"""Claim: $v' < 0 \iff v > h := v^*(1-\varepsilon)^{1/(m+1)}$; h increases, so v turns at most once, at a minimum.

    If v_0 <= h(0), v increases for ever and stays below v*. For m = 0, v comes down to v* without dipping below it
    exactly when K = (v*/v_0) phi_0/sin(phi_0) + pi cot(phi_0) < -1. The printed form is the text's "v is monotone
    regardless of the initialization" for deep networks, true only as m -> infinity. Slack: a rise or fall between two
    frames is right to 100 rtol of log(v/v*).
    """
    c, l0, y0 = columns(run)
    at = c.at
    l, h = np.append(l0, c.l), np.append(log_h(run.problem.m, y0), log_h(run.problem.m, c.y))
    rises, slack = np.diff(l), c.slack
    hypotheses = [is_flow(run), *starts_well(run)]
    constants = {"log h(0)/v*": float(h[0]), "log v_0/v*": l0}
    if form == "printed":
        turns = _turns(rises, slack)
        return Report("lee2023.criterion11", [Claim("turning points", turns, "=", 0.0)], hypotheses, constants, form)
    above = (l[:-1] > h[:-1]) & (l[1:] > h[1:])
    below = (l[:-1] <= h[:-1]) & (l[1:] <= h[1:])
    claims = [
        worst("change of log v while above h", rises[above], "<", 0.0, slack[above], at[above], log=False),
        worst("change of log v while below h", rises[below], ">", 0.0, slack[below], at[below], log=False),
        worst("increase of h", np.diff(h), ">", 0.0, np.full(len(c.y), 1e-15), at, log=False),
        Claim("turning points", _turns(rises, slack), "<=", 1.0),
    ]
    claims = [k for k in claims if not math.isnan(k.measured)]
    if l0 <= h[0]:
        claims.append(worst("log v/v*, started below h", c.l, "<", 0.0, slack, at))
    elif run.problem.m == 0 and l0 > 0:
        claims.append(_dips(run, c.l, y0, l0))
        constants["K"] = first_integral(l0, y0)
    return Report("lee2023.criterion11", claims, hypotheses, constants, form)


def first_integral(l: float, y: float) -> float:
    """K = (v*/v)(phi/sin phi) + pi cot(phi), constant along the flow of one layer."""
    phi = 2 * math.atan(math.exp(y))
    return math.exp(-l) * phi * math.cosh(y) - math.pi * math.sinh(y)


def _turns(rises: np.ndarray, slack: np.ndarray) -> float:
    """How often the direction changes, frames that move by less than their error left out."""
    signs = np.sign(rises[np.abs(rises) > slack])
    return float(np.count_nonzero(np.diff(signs)))


def _dips(run: Run, l: np.ndarray, y0: float, l0: float) -> Claim:
    dipped, K = float(l.min() < 0), first_integral(l0, y0)
    text = "v ends below v* (1) or comes down to it (0), as K >= -1 or < -1 says"
    arrived = abs(l[-1]) < 1e-6 or dipped
    return Claim(text, dipped if arrived else math.nan, "=", float(K >= -1.0), note=f"K = {K:.6g}")
