"""Lemma A.2 of Kou et al.: about half of each class starts on."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers._chance import counted

needs = "nothing"


def check(n: int = 20, delta: float = 0.1, m: int | None = None, samples: int = 2000, seed: int = 0) -> Report:
    r"""$m \ge 50\log(2n/\delta)$ gives, with probability $\ge 1-\delta$, $0.4m \le |S_i^{(0)}| \le 0.6m$ for all i.

    |S_i| is binomial (m, 1/2): its exact tails times n, and `samples` draws with independent data; slack of those:
    their 99.9% confidence interval. `m` is the least the lemma allows unless given.
    """
    from scipy.stats import binom

    need = 50 * np.log(2 * n / delta)
    m = int(np.ceil(need)) if m is None else m
    low, high = int(np.ceil(0.4 * m - 1e-9)), int(np.floor(0.6 * m + 1e-9))
    tails = n * (binom.cdf(low - 1, m, 0.5) + binom.sf(high, m, 0.5))
    size = np.random.default_rng([seed, 3]).binomial(m, 0.5, size=(samples, n))
    bad = int(np.sum(np.any((size < low) | (size > high), axis=1)))
    claims = [
        Claim("n x exact binomial tails", tails, "<=", delta),
        counted("share of draws that fail", bad, samples, "<=", delta),
    ]
    hypotheses = [Claim("m against 50 log(2n/delta)", m, ">=", need)]
    return Report("kou2023.lemma_a2", claims, hypotheses, {"m": m, "n": n, "delta": delta})
