"""Definition 5.1, Lemmas 5.2 and A.3 of Kou et al.: the coefficients rho and their recursion."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._path import coefficients, frames, recursion, rounding, weights
from reluflow.papers.kou2023._setting import setting

needs = "descent"
forms = ("corrected", "printed")


def check(sol, form: str = "corrected", steps: int = 2000) -> Report:
    r"""$w = w^{(0)} + \sum_i \rho_i |x_i|^{-2} x_i$ with $\rho$ from the recursion; $\rho j y_i \ge 0$ never decreases.

    The recursion is stepped here, on its own, through `steps` iterations and compared with the frames up to there:
    weights against weights, and rho against least squares. Printed: rho are unique; corrected: iff the x_i are
    independent, and signs and growth are those of least squares on the weights (the recursion has them by its form).
    Slack: k steps round weights to k (n + d) eps |w|, a leap over many iterations is off by up to 1e-13 of a
    neuron, and least squares multiplies that by the condition number.
    """
    at = setting(sol)
    k = np.rint(sol.t / sol.method.step)
    seen = np.flatnonzero(k <= steps)
    every = np.arange(0.0, min(steps, sol.stats.steps) + 1)
    rho, _ = recursion(at, every)
    w = frames(sol, at)[seen]
    mine = rho[k[seen].astype(int)]
    off = rounding(sol, every[-1]) * max(float(np.max(np.linalg.norm(w, axis=-1))), 1e-300)
    gap = np.max(np.abs(weights(at, mine) - w), axis=(1, 2))
    missing = at.n - at.rank
    condition = float(np.linalg.cond(at.x)) ** 2 if missing == 0 else np.nan
    unique = coefficients(at, w) if missing == 0 else np.full_like(mine, np.nan)
    toward, inexact = unique * np.outer(at.sign, at.y), off * at.r_max * condition
    claims = [
        Claim(
            f"|w - w0 - sum rho_i x_i/|x_i|^2|, {len(seen)} frames up to iteration {every[-1]:.0f}",
            gap.max(),
            "<=",
            0.0,
            slack=off * at.r_max * max(1.0, 1.0 / at.r_min),
            at=f"iteration {k[seen][np.argmax(gap)]:.0f}",
        ),
        Claim("least rho j y_i of the weights at those frames", toward.min(), ">=", 0.0, slack=inexact),
        Claim(
            "least change of rho j y_i between two of them",
            np.diff(toward, axis=0).min() if len(seen) > 1 else np.nan,
            ">=",
            0.0,
            slack=2 * inexact,
        ),
    ]
    if form == "printed":
        claims.append(Claim("dimensions in which rho is free (n - rank)", missing, "=", 0.0))
        hypotheses = []
    else:
        hypotheses = [Claim("x_i linearly independent: n - rank", missing, "=", 0.0)]
        text = "least squares against the recursion, max |difference of rho|"
        claims.append(Claim(text, np.max(np.abs(unique - mine)), "<=", 0.0, slack=inexact))
    return Report("kou2023.lemma5_2", claims, hypotheses, at.report(), form)
