"""Lemma A.1 of Kou et al.: norms and inner products of Gaussian initial weights."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers._chance import counted

needs = "nothing"


def least_dim(m: int, delta: float) -> int:
    """The smallest d with 2m (P(chi2_d < d/2) + P(chi2_d > 3d/2)) <= delta/2, for it and all larger d."""
    from scipy.stats import chi2

    d = np.arange(1, 5000)
    failing = 2 * m * (chi2.cdf(d / 2, d) + chi2.sf(1.5 * d, d)) > delta / 2
    return int(d[np.flatnonzero(failing)[-1]] + 1)


def check(
    m: int = 50, n: int = 20, delta: float = 0.1, d: int | None = None, samples: int = 2000, seed: int = 0
) -> Report:
    r"""With probability $\ge 1-\delta$, for all j, r, i: $\sigma_0^2 d/2 \le |w^{(0)}_{j,r}|^2 \le 3\sigma_0^2 d/2$ and
    $|\langle w^{(0)}_{j,r}, x_i\rangle| \le \sqrt{2\log(8mn/\delta)}\,\sigma_0 R_{max}$.

    "d = Omega(log)" is made exact: the least d whose chi-square tails sum to delta/2 (taken when `d` is None). The
    probabilities come from the exact tails with the union bound, and again from `samples` draws of all 2m rows with
    orthonormal data; slack of those: their 99.9% confidence intervals.
    """
    from scipy.stats import chi2, norm

    need = least_dim(m, delta)
    d = need if d is None else d
    level = np.sqrt(2 * np.log(8 * m * n / delta))
    tails = 2 * m * (chi2.cdf(d / 2, d) + chi2.sf(1.5 * d, d))
    products = 2 * m * n * 2 * norm.sf(level)
    rng = np.random.default_rng([seed, 3])
    # Rows enter through |w|^2 and n independent products with orthonormal x_i: the rest of the norm is one chi-square.
    bad_norm = bad_product = bad = 0
    for _ in range(samples):
        z = rng.normal(size=(2 * m, min(n, d)))
        size = np.sum(z**2, axis=1) + (rng.chisquare(d - n, size=2 * m) if d > n else 0.0)
        one = bool(np.any(size < d / 2) or np.any(size > 1.5 * d))
        two = bool(np.any(np.abs(z) > level))
        bad_norm, bad_product, bad = bad_norm + one, bad_product + two, bad + (one or two)
    claims = [
        Claim("norms: union of exact chi-square tails", tails, "<=", delta / 2),
        Claim("products: union of exact normal tails", products, "<=", delta / 2),
        counted("share of draws with a norm outside", bad_norm, samples, "<=", delta / 2),
        counted("share of draws with a product outside", bad_product, samples, "<=", delta / 2),
        counted("share of draws that fail", bad, samples, "<=", delta),
    ]
    hypotheses = [Claim("d against the least that is enough", d, ">=", need)]
    return Report("kou2023.lemma_a1", claims, hypotheses, {"m": m, "n": n, "d": d, "delta": delta, "least d": need})
