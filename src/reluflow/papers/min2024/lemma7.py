"""Lemma 7 of [MMV24]: K lies inside S+, and -K inside S-."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._constants import geometry
from reluflow.papers.min2024._sample import in_cone, rounding

needs = "data"


def check(data, samples: int = 2000, seed: int = 0, mu: float | None = None) -> Report:
    r"""Claim: $y_i\langle x_i, z\rangle \ge \mu X_{min}$ for every unit $z \in K$ and every i, as in the proof; hence a
    whole ball around z is in S+ (and around -z in S-).

    Slack: rounding of an inner product, d eps Xmax. `mu` claims another separation than the data's.
    """
    geo = geometry(data, mu)
    z = in_cone(geo.u, samples, seed)
    depth = (z @ geo.u.T) * np.linalg.norm(data.x, axis=1)
    slack = rounding(data) * geo.x_max
    claims = [
        Claim("least y_i <x_i, z> over unit z in K", float(depth.min()), ">=", geo.mu * geo.x_min, slack=slack),
        Claim("the same, positive: K is inside S+", float(depth.min()), ">", 0.0),
    ]
    return Report("min2024.lemma7", claims, [Claim("mu > 0", geo.mu, ">", 0.0)], geo.shown())
