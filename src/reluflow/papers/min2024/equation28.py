"""Equation (28) of [MMV24]: how small eps must be, and what (29) makes of it."""

from __future__ import annotations

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._constants import constants
from reluflow.papers.min2024._run import hypothesis

needs = "problem"
forms = ("corrected", "printed")


def check(problem, form="corrected") -> Report:
    r"""Claims: at $\epsilon = \epsilon_A$, Lemma 3 gives the $\max|f| \le m\sqrt\mu X_{min}/(4 n X_{max})$ that (29)
    needs; $\epsilon_A \le 1/(4\sqrt h X_{max} W_{max}^2)$; $\epsilon_B$ makes $T = t_1$. That this problem's own
    $\epsilon$ is below both is the hypothesis.

    The printed (28) has $4\sqrt h n X_{max}^2 W_{max}^2$ below the fraction bar and misses the first claim by a factor
    2. Slack: $10^{-12}$ in logarithms, the rounding of a few products.
    """
    c = constants(problem, form)
    geo = c.geo
    bound = np.log(2 * geo.x_max) + 2 * c.log_w_max + 0.5 * np.log(c.h)  # Lemma 3, over eps
    with np.errstate(invalid="ignore", divide="ignore"):
        need = np.log(c.m * np.sqrt(geo.mu) * geo.x_min / (4 * geo.n * geo.x_max)) if geo.separable else np.nan
    at_b = (-0.5 * np.log(c.h) - c.log_eps_b) / (4 * geo.n * geo.x_max)
    claims = [
        Claim("max|f| by Lemma 3 at eps_A, against what (29) needs", c.log_eps_a + bound, "<=", need, 1e-12, log=True),
        Claim("eps_A <= 1/(4 sqrt(h) Xmax Wmax^2)", c.log_eps_a, "<=", c.log_eps_lemma3, 1e-12, log=True),
        Claim("T at eps_B is t1", at_b, "=", c.t1, slack=1e-12 * abs(c.t1)),
    ]
    sharp = f"With the sharper t1' = {c.t1_sharp:.4g} the second condition is log eps <= {c.log_eps_b_sharp:.6g}."
    names = ("separable", "two data", "balanced", "assumption 2", "eps_A", "eps_B")
    return Report("min2024.equation28", claims, [hypothesis(k, problem, c) for k in names], c.shown(), form, (sharp,))
