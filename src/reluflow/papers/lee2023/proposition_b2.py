"""Proposition B.2 of [LSY23]: is w* the only minimiser of the one-layer loss?"""

import numpy as np

from reluflow.claim import Claim, Report

needs = "nothing"
forms = ("corrected", "printed")

# Three points of mean 0 whose covariance has full rank, of which w* = (1, 0) sees only one.
COUNTEREXAMPLE = np.array([[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]])


def check(*, form: str = "corrected", x=None, w_star=(1.0, 0.0)) -> Report:
    r"""Printed: zero mean and full-rank covariance make w* the unique zero of $L(w) = \frac12 E(\sigma(w^Tx) -
    \sigma(w^{*T}x))^2$. False.

    On x uniform over (2,0), (-1,1), (-1,-1) with w* = (1,0) the loss is 0 for every w = (1,b), |b| <= 1. Corrected:
    $E[1_{w^{*T}x>0}xx^T]$ of full rank suffices, for then <w - w*, x> = 0 on the data that w* sees; symmetric laws
    with full-rank covariance have it. Measured: the smallest L(w) / |w - w*|^2 over the null directions of that
    matrix and 400 random ones, at distances 1/100..1, for the law uniform over the rows of `x` (the counterexample,
    or with form="corrected" the same with its mirror image). No slack.
    """
    if x is None:
        x = COUNTEREXAMPLE if form == "printed" else np.concatenate([COUNTEREXAMPLE, -COUNTEREXAMPLE])
    x, w_star = np.asarray(x, dtype=float), np.asarray(w_star, dtype=float)
    n, d = x.shape
    seen = x[x @ w_star > 0]
    ranks = [np.linalg.matrix_rank(k) for k in (np.cov(x.T, bias=True), seen.T @ seen / n)]
    lowest, where = _lowest(x, w_star, seen)
    mean = Claim("|E x|", float(np.abs(x.mean(axis=0)).max()), "<=", 0.0, slack=1e-15 * float(np.abs(x).max()))
    printed = [mean, Claim("rank of the covariance", ranks[0], "=", d)]
    corrected = [Claim("rank of E[1{<w*, x> > 0} x x^T]", ranks[1], "=", d)]
    claim = Claim("smallest L(w) / |w - w*|^2", lowest, ">", 0.0, at=where)
    hypotheses = printed if form == "printed" else corrected
    return Report("lee2023.proposition_b2", [claim], hypotheses, {"n": n, "d": d}, form)


def loss(x: np.ndarray, w: np.ndarray, w_star: np.ndarray) -> float:
    gap = np.maximum(x @ w, 0.0) - np.maximum(x @ w_star, 0.0)
    return 0.5 * float(np.mean(gap**2))


def _lowest(x: np.ndarray, w_star: np.ndarray, seen: np.ndarray) -> tuple[float, str]:
    values, vectors = np.linalg.eigh(seen.T @ seen)
    null = vectors[:, values <= 1e-12 * max(values.max(), 1e-300)].T
    directions = np.concatenate([null, np.random.default_rng(0).normal(size=(400, len(w_star)))])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    tried = [(loss(x, w_star + b * e, w_star) / b**2, b, e) for e in directions for b in (-1.0, -0.1, 0.01, 0.1, 1.0)]
    lowest, b, e = min(tried, key=lambda k: k[0])
    return lowest, f"w* + {b:g} {np.round(e, 4).tolist()}"
