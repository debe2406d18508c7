"""Assumption 3 of [BPF22]: each class has a neuron that starts active on all of it; how likely that is."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers._chance import counted
from reluflow.papers.boursier2022._constants import Constants, data_hypotheses

needs = "problem"


def probability(n_plus: int, n_minus: int, m: int) -> float:
    r"""P(A3) = 1 - (1-p)^m - (1-q)^m + (1-p-q)^m with p = 2^{-n_+-1}, q = 2^{-n_--1}; exact for orthogonal inputs."""
    p, q = 2.0 ** (-n_plus - 1), 2.0 ** (-n_minus - 1)
    # By differences of near-equal numbers nothing would be left of a tiny probability: log1p, expm1.
    miss_p, miss_q, miss = (m * np.log1p(-v) for v in (p, q, p + q))
    return float(-np.expm1(miss_p) - np.exp(miss_q) * -np.expm1(miss - miss_q))


def check(problem, samples: int = 4000, seed: int = 0) -> Report:
    r"""Claims: $S_{+,1}$, $S_{-,1}$ non-empty; P(A3) as above, at most $m\,2^{-\max(n_+,n_-)-1}$: m exponential in n.

    `samples` draws of width m are counted. Slack of the count: its exact confidence interval at a level such that
    one seed in 1.7 million fails by chance.
    """
    const = Constants(problem)
    n_plus, n_minus = int(np.sum(const.plus.members)), int(np.sum(const.minus.members))
    p = probability(n_plus, n_minus, const.m)
    rng = np.random.default_rng([seed, 3])
    met = 0
    for _ in range(samples):
        u = rng.normal(size=(const.m, const.data.d)) @ const.data.x.T >= 0
        s = rng.random(const.m) < 0.5
        met += bool(
            np.any(s & np.all(u[:, const.plus.members], 1)) and np.any(~s & np.all(u[:, const.minus.members], 1))
        )
    most = const.m * 2.0 ** (-max(n_plus, n_minus) - 1)
    return Report(
        name="boursier2022.assumption3",
        hypotheses=data_hypotheses(const)[:1],
        claims=[
            Claim("neurons in S_{+,1}", len(const.S_plus), ">=", 1),
            Claim("neurons in S_{-,1}", len(const.S_minus), ">=", 1),
            counted("P(A3): share of draws against the formula", met, samples, "=", p, level=1 - 6e-7),
            Claim("P(A3) <= m 2^{-max(n+, n-) - 1}", p, "<=", min(most, 1.0)),
        ],
        constants={"P(A3)": p, "n+": n_plus, "n-": n_minus, "m": const.m},
    )
