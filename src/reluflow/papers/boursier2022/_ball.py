"""Networks near a given one: at random, and the worst that shrinking a cluster can do. For Lemmas 5 and 15."""

import numpy as np

from reluflow.papers.boursier2022._constants import Constants
from reluflow.papers.boursier2022._landscape import pl


def perturbed(const: Constants, w: np.ndarray, radius: float, samples: int, seed: int) -> float:
    """The least |grad L|^2/L over balanced networks within `radius`: random directions, all lengths."""
    rng = np.random.default_rng([seed, 3])
    least = np.inf
    for _ in range(samples):
        step = rng.normal(size=w.shape)
        # Balanced networks: |a_j - a*_j| <= |w_j - w*_j|, so sqrt(2) |dw| is never less than the distance.
        step *= radius * rng.random() / (np.sqrt(2.0) * np.linalg.norm(step))
        moved = w + step
        least = min(least, pl(const, moved, const.flip * const.sign * np.linalg.norm(moved, axis=1)))
    return least


def shrunk(const: Constants, w: np.ndarray, radius: float) -> float:
    """The least |grad L|^2/L when one cluster is scaled by kappa, sqrt(2u) (1 - kappa) <= radius."""
    least = np.inf if len(const.S_plus) and len(const.S_minus) else np.nan
    for S in (const.S_plus, const.S_minus):
        u = float(np.sum(w[S] ** 2))
        if u == 0.0:
            continue
        depth = min(radius / np.sqrt(2.0 * u), 1.0)
        for kappa in 1.0 - depth * np.linspace(0.02, 1.0, 50):
            moved = w.copy()
            moved[S] *= kappa
            least = min(least, pl(const, moved, const.flip * const.sign * np.linalg.norm(moved, axis=1)))
    return least


def certified_radius(const: Constants, w: np.ndarray) -> float:
    r"""A radius within which |grad L|^2/L >= min rate: there the neurons carrying 9/10 of each u stay active, and
    (sqrt(0.9 u) - radius)^2 >= u/2, so that Lemma 14 gives the constant."""
    found = []
    for S, cls in ((const.S_plus, const.plus), (const.S_minus, const.minus)):
        size = np.linalg.norm(w[S], axis=1)
        order = np.argsort(-size)
        enough = np.cumsum(size[order] ** 2) >= 0.9 * np.sum(size**2)
        kept = order[: int(np.argmax(enough)) + 1]
        x = const.data.x[cls.members]
        reach = np.min(w[S][kept] @ x.T / np.linalg.norm(x, axis=1))
        found += [float(reach), float(np.sqrt(np.sum(size[kept] ** 2)) - np.sqrt(np.sum(size**2) / 2))]
    return max(min(found), 0.0)
