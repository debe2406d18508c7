"""Lemma 5 of [MMV24]: any two vectors of the cone K of the label-signed data have cosine at least mu."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._constants import geometry
from reluflow.papers.min2024._sample import in_cone, rounding

needs = "data"


def check(data, samples: int = 2000, seed: int = 0, mu: float | None = None) -> Report:
    r"""Claim: $\cos(z_1, z_2) \ge \mu$ for nonzero $z_1, z_2 \in K = \mathrm{cone}\{y_i x_i\}$; attained by the pair of
    data that gives $\mu$.

    Samples: the data themselves and random nonnegative combinations, sparse ones too. `mu` claims another separation
    than the data's. Slack: an inner product of d terms, d eps.
    """
    geo = geometry(data, mu)
    z = in_cone(geo.u, samples, seed)
    cos = z @ z.T
    np.fill_diagonal(cos, np.inf)
    least = float(cos.min()) if len(z) > 1 else 1.0
    claim = Claim(f"least cosine over {len(z)} vectors of K", least, ">=", geo.mu, slack=rounding(data))
    return Report("min2024.lemma5", [claim], [Claim("mu > 0", geo.mu, ">", 0.0)], geo.shown())
