"""Theorem 4.3 of Kou et al., "c is an absolute constant": the stable rank does not grow with n and m."""

from itertools import islice

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers._chance import counted
from reluflow.papers.kou2023._path import path
from reluflow.papers.kou2023.lemma_f3 import limit_rank

needs = "nothing"
LOG_T = 60.0
MOST = 2.5
SIZES = ((8, 20), (16, 20), (24, 20))
WIDTHS = ((8, 10), (8, 20), (8, 80))


def check(sizes=SIZES, widths=WIDTHS, kappas=(0.0, 0.03), starts: int = 2, delta: float = 0.1, seed: int = 0) -> Report:
    r"""The limit of $SR(W_j)$, the largest of both classes and (for kappa = 0) of `starts` starts with the event of
    Lemma A.2, for ReLU flows with n = 8 to 24 data (m = 20) and with m = 10 to 80 neurons a class (n = 8).

    Claim: below 5/2 for every n and m. For orthogonal data of equal norm that is a theorem: $W_j/\log t \to A_j X$ with
    $A_{r,i} = 1[i \in S_r] m/|S_i|$ (Lemma F.3), $|A_j|_F^2 = \sum_i m^2/|S_i|$, and with $e$ the vector of ones on the
    $n_j$ data of the class $|A_j|_2^2 \ge |A_j e|^2/n_j \ge (\sum_r (A_j e)_r)^2/(m n_j) = m n_j$ (Cauchy), hence
    $SR \le \frac{1}{n_j}\sum_i m/|S_i| \le 1/0.4$. For kappa > 0 the paper names no constant, and the same number is
    taken ("constant fitted"). Slack: what the slope of W in log t still changes (Lemma F.3).

    That it is so with probability 1 - delta over the start: 2000 starts without the event, whose limits are read off
    $A_j$, with $m = 50\log(2n/\delta)$ as in Lemma A.2; slack: their 99.9% confidence interval.
    """
    claims = []
    for kappa in kappas:
        for name, family, of in (("n", sizes, 0), ("m", widths, 1)):
            ranks = [max(_ranks(n, m, kappa, 1 if kappa else starts)) for n, m in family]
            note = ", ".join(f"{rank[0]:.4g} at {name} = {size[of]}" for rank, size in zip(ranks, family, strict=True))
            text = f"largest limit of SR(W_j) over {name}, kappa = {kappa:g}"
            rank, slack = max(ranks)
            kind = "fitted" if kappa else "limit"
            claims.append(Claim(text, rank, "<=", MOST, slack=slack, kind=kind, note=note))
    claims += [_share(n, delta, seed) for n in (8, 24)]
    return Report("kou2023.uniform", claims)


def _share(n: int, delta: float, seed: int, draws: int = 2000) -> Claim:
    """How many starts on n orthogonal data have both limits below `MOST`: 1[<w, x_i> > 0] are independent coins."""
    m = int(np.ceil(50 * np.log(2 * n / delta)))
    rng, good = np.random.default_rng([seed, n, 3]), 0
    for _ in range(draws):
        on = rng.random((2, m, n // 2)) < 0.5  # neurons of a class, data of the same class
        a = on * (m / on.sum(axis=1, keepdims=True))
        values = np.linalg.eigvalsh(np.swapaxes(a, 1, 2) @ a)
        good += bool(np.all(values.sum(axis=1) <= MOST * values[:, -1]))
    text = f"P(both limits of SR(W_j) below 5/2), kappa = 0, n = {n}, m = {m}, at least 1 - delta"
    return counted(text, good, draws, ">=", 1.0 - delta)


def _ranks(n: int, m: int, kappa: float, starts: int) -> list[tuple[float, float]]:
    """Limits of the stable ranks of both classes, with their slacks, from the first starts with the event."""
    from reluflow import Flow, solve
    from reluflow.papers.kou2023._standard import problem, started

    made = (problem(kappa, 0.0, n=n, m=m, seed=seed) for seed in range(20000))
    found = []
    for of in islice(filter(started, made), starts):
        run = path(solve(of, Flow(rtol=1e-6), log_t1=LOG_T), steps=0)
        found += [limit_rank(run, run.of_class(j))[:2] for j in (1, -1)]
    return found
