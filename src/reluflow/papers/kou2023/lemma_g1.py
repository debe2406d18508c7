"""Lemma G.1 of Kou et al.: the loss of a ReLU network falls like a power of t."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions, in_tail, relu_balance
from reluflow.papers.kou2023._measure import worst
from reluflow.papers.kou2023._path import path
from reluflow.papers.kou2023.lemma_d2 import exponents

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""$L_S \le (e^{2\beta}/n) \sum_i (1 + |S_i||x_i|^2 e^{-\beta} s/(2nm^2))^{-a}$,
    $a = c'^{-2}(1-(1+c')\kappa/c_1)/(1+\kappa/c_1)$, $c' = m/\min|S_i|$, c_1 measured (Lemma E.1).

    In logarithms, at every frame; empty (a hypothesis fails) when a <= 0. The exponent is not sharp [+]: the measured
    one over the last decade tends to 1, with the change from the decade before as slack; times
    log10 s for kappa > 0, where units still switch and deviations may die as slowly as 1/log s.
    """
    run = path(sol, steps)
    at = run.at
    c1 = relu_balance(run)[0]
    c_prime = at.m / max(int(at.size.min()), 1)
    a = (1 - (1 + c_prime) * at.kappa / c1) / (1 + at.kappa / c1) / c_prime**2
    log_b = run.log_s[:, None] + np.log(np.maximum(at.size, 1) * at.norm2 / (2 * at.n * at.m**2)) - at.beta
    bound = 2 * at.beta + np.logaddexp.reduce(-a * np.logaddexp(0.0, log_b), axis=1) - np.log(at.n)
    last, before = exponents(run)
    slow = 1.0 if at.kappa == 0 else max(1.0, run.log_s[-1] / np.log(10.0))
    slack = slow * abs(last - before) + run.error
    text = "-d log L/d log t over the last decade"
    claims = [
        worst("log L_S", run.log_loss, "<=", bound, slack=run.error, at=run.log_s, log=True),
        Claim(f"{text}, at least a", last, ">=", a, slack=slack, kind="limit"),
        Claim(f"{text} [+]", last, "=", 1.0, slack=slack, kind="limit", note=f"{before:.6f} the decade before"),
    ]
    hypotheses = [*assumptions(at, leaky=False), Claim("a", a, ">", 0.0)]
    return Report(
        "kou2023.lemma_g1", in_tail(run, claims), hypotheses, {**at.report(), "c1": c1, "c'": c_prime, "a": a}
    )
