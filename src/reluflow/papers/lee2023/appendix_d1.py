"""Appendix D.1 of [LSY23]: which bounds on the magnitude are convex."""

import math

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._bounds import log_magnitude

needs = "nothing"
forms = ("corrected", "printed")

STARTS = (0.05, 0.3, 0.5, 0.9, 1.5, 3.0)


def check(*, form: str = "corrected", eps: float = 0.6817, points: int = 4001) -> Report:
    r"""Printed: all bounds of 3.3 and 3.8 are convex. They are not.

    Corrected: for one layer u(t) is convex exactly when v_0 > A = 1 - eps; for two layers u'' changes sign exactly
    where u = sqrt(A/3), so that small starts give a sigmoid; the lower bound of two layers ends at sqrt(1-eps) v*,
    not (1-eps) v*. Second differences over [0, 20] with `points` points; what is below 1e-9 of the largest counts as
    0.
    """
    t = np.linspace(0.0, 20.0, points)
    with np.errstate(divide="ignore"):
        log_t = np.log(t)
    claims = []
    for m in (0, 1):
        for v0 in STARTS:
            for e in (eps, 0.0):
                u = np.exp(log_magnitude(m, math.log(v0), e, log_t))
                claims.append(_printed(m, v0, e, u) if form == "printed" else _corrected(m, v0, e, u, t))
    if form == "corrected":
        end = float(log_magnitude(1, 0.0, eps, np.array([math.log(500.0)]))[0])
        text = "two layers: log of where the lower bound ends"
        claims.append(Claim(text, end, "=", 0.5 * math.log1p(-eps), slack=1e-12, log=True))
    return Report("lee2023.appendix_d1", [c for c in claims if c], constants={"eps_0": eps}, form=form)


def _bends(u: np.ndarray) -> np.ndarray:
    second = np.diff(u, 2)
    return np.where(np.abs(second) > 1e-9 * np.abs(second).max(initial=1e-300), second, 0.0)


def _printed(m: int, v0: float, e: float, u: np.ndarray) -> Claim:
    return Claim(f"smallest second difference, m = {m}, v_0 = {v0}, eps = {e:g}", float(_bends(u).min()), ">=", 0.0)


def _corrected(m: int, v0: float, e: float, u: np.ndarray, t: np.ndarray) -> Claim:
    a, bends, name = 1.0 - e, _bends(u), f"m = {m}, v_0 = {v0}, eps = {e:g}"
    if m == 0:
        convex = float(bends.min() >= 0.0 and bends.max() > 0.0)
        return Claim(f"convex (1) or not (0), {name}", convex, "=", float(v0 > a))
    change = np.flatnonzero((bends[:-1] > 0) & (bends[1:] < 0))
    inflection = math.sqrt(a / 3)
    if v0 >= inflection:
        return Claim(f"inflections, {name}", len(change), "=", 0.0)
    found = float(u[change[0] + 1]) if len(change) else math.nan
    step = float(np.max(np.abs(np.diff(u))))
    return Claim(f"u at its inflection, {name}", found, "=", inflection, slack=2 * step)
