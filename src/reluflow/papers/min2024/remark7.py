"""Remarks 7 and 8 of [MMV24]: irregular solutions have probability 0, and corners are left in one way."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim, Report

needs = "nothing"


def check(draws: int = 40, seed: int = 0) -> Report:
    r"""Claims: (7) over `draws` random starts no decision on a surface is anything but unique. (8) A neuron started
    on the intersection of two hyperplanes, active on a third datum, leaves it on the side that (46) names: $y_i
    s_j\langle x_i, w_j\rangle > 0$ for both from the start on, and the decision is unique.

    Six separable data in R^5, exponential loss, e^-30, until every neuron has arrived. No slack: (46) has a margin.
    """
    data = rf.data.orthogonally_separable(6, 5, 0.64, seed=0)
    odd = 0
    for k in range(draws):
        init = rf.init.balanced(10, 5, log_scale=-30.0, seed=seed + k)
        odd += rf.solve(rf.Problem(data, init, loss="exponential", reduction="sum"), t1=6.0).stats.non_unique
    rng = np.random.default_rng([seed, 3])
    wrong, unsure = 0, 0
    for sign in (1.0, -1.0):
        i, k = np.flatnonzero(data.y == data.y[0])[:2]
        pair = data.x[[i, k]]
        w = rng.normal(size=data.d)
        w -= np.linalg.lstsq(pair, pair @ w, rcond=None)[0]  # on both hyperplanes
        w = w if np.any(data.x @ w > 1e-3) else -w
        init = rf.Params(w[None], np.array([sign * np.linalg.norm(w)]), log_scale=-30.0)
        sol = rf.solve(rf.Problem(data, init, loss="exponential", reduction="sum"), rf.Flow(rtol=1e-9), t1=0.05)
        unsure += sol.stats.non_unique
        end = pair @ sol.at(0.05).w[0]
        wrong += int(np.sum(data.y[[i, k]] * sign * end <= 0))
    claims = [
        Claim(f"decisions that were not unique, {draws} random starts", odd, "=", 0),
        Claim("data of a corner that are left on the wrong side", wrong, "=", 0),
        Claim("decisions at a corner that were not unique", unsure, "=", 0),
    ]
    return Report("min2024.remark7", claims)
