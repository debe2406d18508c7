"""Lemma C.2 of [LSY23]: of two scalar equations the one with the larger right-hand side stays ahead."""

import math

import numpy as np
from scipy.integrate import solve_ivp

from reluflow.claim import Claim, Report

needs = "nothing"
forms = ("corrected", "printed")

WAVES = np.arange(1, 5)


def check(*, form: str = "corrected", trials: int = 20, seed: int = 0, gap: float = 1.0) -> Report:
    r"""Claim: $u' = f(u)$, $v' = g(v)$, $u(t_0) \le v(t_0)$ and $f \le g$ give $u \le v$ from then on.

    It needs uniqueness (f or g locally Lipschitz), which the printed statement leaves out: for f = g = 2 sqrt|x| both
    u = t^2 and v = 0 start at 0. Corrected: random trigonometric polynomials f and g = f + `gap` (1 + cos)/2 that
    touch, u(0) = v(0), over t in [0, 5], by solve_ivp with rtol 1e-10. Slack: its error, grown by e^(5 Lip f).
    """
    if form == "printed":
        t = 1.0
        u, v = t**2, 0.0
        residual = abs(2 * math.sqrt(u) - 2 * t) + abs(2 * math.sqrt(v) - 0.0)  # both solve x' = 2 sqrt|x|
        solves = [Claim("residual of u = t^2 and v = 0 in x' = 2 sqrt|x|", residual, "=", 0.0)]
        return Report("lee2023.lemma_c2", [Claim("u - v at t = 1", u - v, "<=", 0.0, at=t)], solves, form=form)
    rng = np.random.default_rng([seed, 3])
    worst, lead, slack = -math.inf, 0.0, 0.0
    for _ in range(trials):
        c, phase = rng.normal(size=4) / 4, rng.uniform(0, 2 * math.pi, 4)
        slower, faster = _follow(c, phase, 0.0), _follow(c, phase, gap)
        worst = max(worst, float(np.max(slower - faster)))
        lead = max(lead, float(np.max(faster - slower)))
        slack = max(slack, 1e-9 * math.exp(5 * float(np.sum(np.abs(c) * WAVES))))
    claims = [Claim(f"u - v, largest over {trials} pairs", worst, "<=", 0.0, slack=slack)]
    return Report(
        "lee2023.lemma_c2", claims, [Claim("smallest g - f", min(0.0, gap), ">=", 0.0)], {"largest lead": lead}
    )


def _follow(c: np.ndarray, phase: np.ndarray, gap: float) -> np.ndarray:
    """x' = sum_k c_k sin(k x + phase_k) + gap (1 + cos x)/2 from 0.3, at 101 times."""
    field = lambda t, x: [np.sum(c * np.sin(WAVES * x[0] + phase)) + 0.5 * gap * (1 + math.cos(x[0]))]
    return solve_ivp(field, (0, 5), [0.3], rtol=1e-10, atol=1e-12, t_eval=np.linspace(0, 5, 101)).y[0]
