"""Lemma 6 of [MMV24]: S+ and S- are convex cones."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.observe.membership import CONES, members
from reluflow.papers.min2024._constants import geometry
from reluflow.papers.min2024._sample import in_cone, on_sphere

needs = "data"


def check(data, cones=("S+", "S-", "dead"), samples: int = 2000, seed: int = 0) -> Report:
    r"""Claim: $a_1 z_1 + a_2 z_2 \in S_\pm$ for $z_1, z_2 \in S_\pm$ and $a_1, a_2 > 0$; no separation needed. The
    dead cone is convex too, as Appendix E uses.

    Points of each cone are found among vectors of $\pm K$, shaken, and the sphere. "other" in `cones` takes the
    complement of S+ and S-, which is no convex cone. Failures are counted; sums that land within rounding of a boundary
    cannot occur with probability one.
    """
    geo = geometry(data)
    rng = np.random.default_rng([seed, 3, 1])
    base = in_cone(geo.u, samples, seed)
    pool = np.concatenate([base, -base, on_sphere(data.d, samples, seed)])
    pool = pool + 0.3 * rng.random((len(pool), 1)) * rng.normal(size=pool.shape)

    def inside(z):
        found = members((z @ data.x.T > 0) * 1.0, data.y)
        return {**{c: found[:, k] for k, c in enumerate(CONES)}, "other": ~found[:, 0] & ~found[:, 1]}

    claims = []
    for cone in cones:
        z = pool[inside(pool)[cone]]
        if len(z) == 0 and cone == "dead":  # it may be {0}
            continue
        if len(z) == 0:
            claims.append(Claim(f"sums of vectors of {cone} outside it (none found in it)", np.nan, "=", 0.0))
            continue
        i, k = rng.integers(len(z), size=(2, samples))
        sums = rng.exponential(size=(samples, 1)) * z[i] + rng.exponential(size=(samples, 1)) * z[k]
        out = int(np.sum(~inside(sums)[cone]))
        claims.append(Claim(f"sums of vectors of {cone} outside it, of {samples}", out, "=", 0.0))
    return Report("min2024.lemma6", claims, constants=geo.shown())
