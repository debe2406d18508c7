"""Equation (37) of [MMV24]: in S+ the cosine with x+ grows, as long as it is below 1/3."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._constants import geometry

needs = "data"
forms = ("corrected", "printed")


def check(data, form="corrected", samples: int = 20000, seed: int = 0) -> Report:
    r"""Claim: for $w \in S_+$ and any $r_i \in [1/2, 3/2]$, $\tilde x = \sum_{I_+} r_i x_i$, the rate of $\cos(x_+, w)$
    along $\tilde x$ is at least $(\frac13 - \cos(x_+, w))\,\sqrt\mu\,n_+X_{min}/2$, where $\cos(x_+, w) \in [0, 1/3]$.

    Samples of w between $x_+$, $\tilde x$ and random directions of S+, with forces at the ends of their range and
    within. The printed (37) has no restriction, but above 1/3 the factor is negative and $|\tilde x| \ge k/2$ then
    bounds the wrong way (E11). Slack: rounding of inner products, 1e-12 k.
    """
    geo = geometry(data)
    claims = []
    for side, total in ((1.0, geo.plus), (-1.0, geo.minus)):
        rows = data.x[np.sign(data.y) == side]
        if not geo.separable or len(rows) == 0:
            continue
        worst, at = _worst(data, geo, rows, total, side, form, samples, seed)
        k = np.sqrt(geo.mu) * len(rows) * geo.x_min
        name = "+" if side > 0 else "-"
        where = "anywhere in the cone" if form == "printed" else "while it is at most 1/3"
        claims.append(
            Claim(f"rate of cos(x{name}, w) minus its bound, least {where}", worst, ">=", 0.0, 1e-12 * k, at=at)
        )
    return Report("min2024.equation37", claims, [Claim("mu > 0", geo.mu, ">", 0.0)], geo.shown(), form)


def _worst(data, geo, rows, total, side, form, samples, seed) -> tuple[float, str | None]:
    rng = np.random.default_rng([seed, 3, len(rows)])
    r = rng.choice([0.5, 1.5, 1.0], size=(samples, len(rows)))
    pull = r @ rows
    hat = total / np.linalg.norm(total)
    length = np.linalg.norm(pull, axis=1)
    mix = rng.random((samples, 1))
    stray = rng.normal(size=(samples, data.d)) * rng.exponential(0.7, size=(samples, 1))
    w = mix * hat + (1 - mix) * pull / length[:, None] + np.where(rng.random((samples, 1)) < 0.7, stray, 0.0)
    w /= np.linalg.norm(w, axis=1)[:, None]
    inside = np.all((w @ data.x.T > 0) == (np.sign(data.y) == side), axis=1)
    cos = w @ hat
    if form == "corrected":
        inside &= cos <= 1 / 3
    if not np.any(inside):
        return np.nan, None
    rate = pull @ hat - cos * np.sum(pull * w, axis=1)
    k = np.sqrt(geo.mu) * len(rows) * geo.x_min
    gap = np.where(inside, rate - (1 / 3 - cos) * k / 2, np.inf)
    best = int(np.argmin(gap))
    return float(gap[best]), f"cos(x, w) = {cos[best]:.3f}; {int(np.sum(inside))} samples"
