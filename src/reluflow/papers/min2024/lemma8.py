"""Lemma 8 of [MMV24]: a cap around x+ lies in S+, one around x- in S-; the largest, exactly."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._constants import geometry
from reluflow.papers.min2024._sample import on_sphere, rounding

needs = "data"


def check(data, zeta1: float | None = None, samples: int = 2000, seed: int = 0) -> Report:
    r"""Claim: $\{\cos(z, x_\pm) \ge \sqrt{1-\zeta_1}\} \subset S_\pm$ with
    $\zeta_1 = \min_i \min(\cos^2(x_i, x_+), \cos^2(x_i, x_-))$, the largest such value; and $\zeta_1 \ge \xi = \mu^2$.

    The cap's point nearest to leaving through hyperplane i is known in closed form, $\cos\theta\,\hat x_\pm -
    \sin\theta\,P u_i/|P u_i|$, so inclusion is exact; random points of the cap are tried too. Slack: d eps, over
    $\sqrt{1-\zeta_1}$ where the cap's opening is computed from it. The printed reason, "x+ = -x-", is false in
    general; -x- in K is what is needed (E2). `zeta1` claims another value.
    """
    geo = geometry(data)
    zeta = geo.zeta1 if zeta1 is None else float(zeta1)
    slack = rounding(data)
    wide = slack / np.sqrt(max(1.0 - zeta, slack)) if geo.separable else slack
    claims = []
    for name, total, side in (("S+ around x+", geo.plus, 1.0), ("S- around x-", geo.minus, -1.0)):
        if not total.any() or not geo.separable:
            continue
        centre = side * total / np.linalg.norm(total)  # in K for both sides
        least = _least(geo.u, centre, zeta)
        cap = _cap(centre, zeta, samples, seed)
        claims.append(Claim(f"deepest excursion from {name}: least <u_i, z> in the cap", least, ">=", 0.0, wide))
        claims.append(Claim("the same over random points of the cap", float((cap @ geo.u.T).min()), ">=", 0.0, wide))
    if geo.separable and zeta < 1.0 - slack:  # at 1 all data are along one line, and a cap cannot be wider
        wider = [_least(geo.u, s * t / np.linalg.norm(t), min(1.0, 1.001 * zeta)) for s, t in _sums(geo)]
        claims.append(Claim("a cap with 1.001 zeta_1 leaves its cone: least <u_i, z>", min(wider), "<", 0.0))
    claims.append(Claim("zeta_1 >= xi", zeta, ">=", geo.xi, slack))
    return Report("min2024.lemma8", claims, [Claim("mu > 0", geo.mu, ">", 0.0)], geo.shown())


def _sums(geo):
    return [(s, t) for s, t in ((1.0, geo.plus), (-1.0, geo.minus)) if t.any()]


def _least(u, centre, zeta) -> float:
    """min_i min over the cap of <u_i, z>: cos(angle between u_i and centre, plus the cap's opening)."""
    cos = np.clip(u @ centre, -1.0, 1.0)
    return float(np.min(cos * np.sqrt(1.0 - zeta) - np.sqrt(1.0 - cos**2) * np.sqrt(zeta)))


def _cap(centre, zeta, samples, seed) -> np.ndarray:
    across = on_sphere(len(centre), samples, seed, tag=2)
    for _ in range(2):  # once more: rounding of the first projection is not small against a short remainder
        across -= np.outer(across @ centre, centre)
        across /= np.linalg.norm(across, axis=1)[:, None]
    return np.sqrt(1.0 - zeta) * centre + np.sqrt(zeta) * across
