"""How fast a single neuron converges in the end [after LSY23, Theorems 3.8 and 3.9]."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._common import is_flow, starts_well
from reluflow.single import Run

needs = "single"
forms = ("corrected", "printed")

LATER = slice(20, None)  # half of the forty places of the last sixth
TOLERANCE = 2e-3


def check(run: Run, *, form: str = "corrected") -> Report:
    r"""Claim: $\pi - \varphi \sim e^{-v^{*2m}t/2}$; $|v^* - v| \sim e^{-t/2}$ (m = 0), $t e^{-v^{*2}t}$ (m = 1),
    $e^{-v^{*2m}t}$ (m >= 2).

    More sharply, with l = log(v/v*): l/eps -> -1/(m-1) for m >= 2 and has slope -v*^2/2 for m = 1. Rates over the
    last sixth of the run, in unit time. Limits: all of these are off by about pi - phi, so once that is below 1e-3
    the tolerance is 2e-3. Printed: v converges at the rate of the bound u(t; 0), (m+1)/2, which is too fast for m >=
    2.
    """
    m = run.problem.m
    end = float(np.exp(run.log_t[-1] + run.problem.log_unit_time))
    unit = np.linspace(5 / 6, 1.0, 40) * end
    at = run.at(log_t=np.log(unit) - run.problem.log_unit_time)
    slope = lambda values, part=slice(None): float(np.polyfit((unit - unit.mean())[part], values[part], 1)[0])
    with np.errstate(divide="ignore"):
        log_gap, ratio = np.log(np.abs(at.log_ratio)), at.log_ratio / np.exp(at.log_eps)
    # (name, over the last sixth, over its later half, limit)
    found = [("rate of pi - phi", -slope(at.log_theta), -slope(at.log_theta, LATER), 0.5)]
    if form == "corrected" and m == 1:
        found.append(("slope of log(v/v*) / eps", slope(ratio), slope(ratio, LATER), -0.5))
    else:
        limit = 0.5 * (m + 1) if form == "printed" else 0.5 if m == 0 else 1.0
        found.append(("rate of v* - v", -slope(log_gap), -slope(log_gap, LATER), limit))
    if m > 1 and form == "corrected":
        found.append(("log(v/v*) / eps", float(ratio[-1]), float(ratio[0]), -1.0 / (m - 1)))
    late = [Claim("log(pi - phi) five sixths of the way", at.log_theta[0], "<", float(np.log(1e-3)), log=True)]
    missing = "" if late[0].ok else f"the run ends at t = {run.t[-1]:.6g}, before pi - phi is 1e-3 for a sixth of it"
    claims = []
    for name, value, later, limit in found:
        # From some starts, as near those from which v reaches v* faster than from others, a limit is reached late.
        turning = form == "corrected" and abs(value - later) > TOLERANCE / 4
        why = missing or ("it still changes in the last sixth of the run" if turning else "")
        text, off = f"|{name}, less {limit:g}|", abs(value - limit)
        claims.append(Claim(text, off, "<=", TOLERANCE, kind="limit", note=f"{value:.6g}", missing=why))
    return Report("lee2023.rates", claims, [is_flow(run), *starts_well(run), *late], {"m": m}, form)
