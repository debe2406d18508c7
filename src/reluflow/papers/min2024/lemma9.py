"""Lemma 9 of [MMV24]: K stays away from all that is in neither S+ nor S-; exactly by xi = mu^2."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.observe.membership import members
from reluflow.papers.min2024._constants import geometry
from reluflow.papers.min2024._sample import in_cone, on_sphere, rounding

needs = "data"


def check(data, samples: int = 2000, seed: int = 0, xi: float | None = None) -> Report:
    r"""Claim: $\sup |\cos(z_1, z_2)| = \sqrt{1-\xi}$ over $z_1 \in K$ and $z_2$ in neither S+ nor S-, with $\xi =
    \mu^2$.

    The nearest point to $z_1$ outside the closure of S+ lies on some hyperplane $x_i^\perp$, at sine $\langle u_i,
    z_1\rangle$, smallest at generators: attained at $u_k$ and its projection on $u_i^\perp$ for the pair that gives mu.
    Samples: random pairs and those projections for sampled $z_1$. Slack: d eps, over
    $\sqrt{1-\mu^2}$. `xi` claims another value.
    """
    geo = geometry(data)
    xi = geo.xi if xi is None else float(xi)
    bound = np.sqrt(1.0 - xi) if geo.separable else np.nan
    z1 = in_cone(geo.u, samples // 10, seed)
    edge = z1[:, None, :] - (z1 @ geo.u.T)[..., None] * geo.u  # the projections on every hyperplane
    cos_edge = np.linalg.norm(edge, axis=-1)
    z2 = on_sphere(data.d, samples, seed)
    found = members((z2 @ data.x.T > 0) * 1.0, data.y)
    z2 = z2[~found[:, 0] & ~found[:, 1]]
    random = float(np.max(np.abs(z1 @ z2.T))) if len(z2) else np.nan
    # sqrt(1 - mu^2) turns a rounding of mu into mu/sqrt(1 - mu^2) of it, and into its square root where mu is 1.
    slack = rounding(data) * (1.0 + 1.0 / max(bound, np.sqrt(rounding(data)))) if geo.separable else 0.0
    top = float(np.max(cos_edge)) if data.n > 1 else np.nan
    claims = [
        Claim("largest |cos(z1, z2)|, projections on the hyperplanes", top, "<=", bound, slack),
        Claim("largest |cos(z1, z2)|, random z2", random, "<=", bound, slack),
        Claim("the bound is attained", top, ">=", bound, slack),
    ]
    return Report("min2024.lemma9", claims, [Claim("mu > 0", geo.mu, ">", 0.0)], geo.shown())
