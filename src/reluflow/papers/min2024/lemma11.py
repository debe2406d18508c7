"""Lemma 11 of [MMV24]: an active set pulls at least like its size."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._constants import geometry

needs = "data"
ALL = 12  # up to here every set of data is tried


def check(data, samples: int = 4096, seed: int = 0, mu: float | None = None) -> Report:
    r"""Claim: $|x_a(w)| \ge X_{min}\sqrt{n_a(1 + \mu(n_a - 1))} \ge \sqrt\mu\, n_a X_{min}$.

    Judged on every non-empty set of data (n <= 12) or on random ones, whether or not some w activates it: the lemma's
    proof uses no more. Slack: the sum of n vectors, n eps Xmax/Xmin. `mu` claims another separation.
    """
    geo = geometry(data, mu)
    n = data.n
    if n <= ALL:
        sets = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    else:
        rng = np.random.default_rng([seed, 3])
        sets = (rng.random((samples, n)) < rng.random((samples, 1))).astype(int)
        sets = sets[sets.any(axis=1)]
    size = np.linalg.norm(sets @ (np.sign(data.y)[:, None] * data.x), axis=1)
    k = sets.sum(axis=1)
    with np.errstate(invalid="ignore"):
        sharp = geo.x_min * np.sqrt(k * (1 + geo.mu * (k - 1)))
        plain = np.sqrt(geo.mu) * k * geo.x_min if geo.mu > 0 else np.full(len(k), np.nan)
    slack = n * float(np.finfo(float).eps) * geo.x_max / geo.x_min if geo.x_min > 0 else np.inf
    claims = []
    for text, bound in (("sqrt(n_a (1 + mu (n_a - 1))) Xmin", sharp), ("sqrt(mu) n_a Xmin", plain)):
        ratio = size / bound
        least = float(np.nanmin(ratio)) if np.any(np.isfinite(ratio)) else np.nan
        at = str(np.flatnonzero(sets[int(np.nanargmin(ratio))]).tolist()) if np.isfinite(least) else None
        claims.append(Claim(f"|x_a| over {text}, least over {len(sets)} sets", least, ">=", 1.0, slack, at=at))
    return Report("min2024.lemma11", claims, [Claim("mu > 0", geo.mu, ">", 0.0)], geo.shown())
