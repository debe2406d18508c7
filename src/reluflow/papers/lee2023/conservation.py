"""Section 2 of [LSY23]: gradient flow conserves v_(k+1)^2 - v_k^2 and |w|^2 - v_m^2, from any start."""

import numpy as np
from scipy.integrate import solve_ivp

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023.proposition3_5 import gradient

needs = "nothing"


def check(trials: int = 6, m: int = 3, t1: float = 20.0, seed: int = 0, relu: bool = True) -> Report:
    r"""Claim: $v_{k+1}^2 - v_k^2$ and $\|w\|^2 - v_m^2$ do not change along the flow of the population loss, whether
    or not the start is balanced; hence a balanced neuron stays balanced.

    In plain coordinates, where nothing holds them by construction: random unbalanced starts with all v_k > 0, by
    DOP853 with rtol 1e-10. Slack: its error, 1e-7 of the squares.
    """
    rng = np.random.default_rng([seed, 3])
    drift, size = 0.0, 0.0
    for _ in range(trials):
        start = np.concatenate([rng.normal(size=2) * 0.7, rng.uniform(0.2, 1.5, m)])
        field = lambda t, z: -np.concatenate(gradient(z[:2], z[2:], relu))
        run = solve_ivp(field, (0.0, t1), start, method="DOP853", rtol=1e-10, atol=1e-13)
        squares = np.vstack([run.y[2:] ** 2, np.sum(run.y[:2] ** 2, axis=0)])
        kept = np.diff(squares, axis=0)
        drift = max(drift, float(np.max(np.abs(kept - kept[:, :1]))))
        size = max(size, float(np.max(squares)))
    text = f"largest change of a difference of squares, {trials} starts"
    return Report("lee2023.conservation", [Claim(text, drift, "=", 0.0, slack=1e-7 * size)])
