"""Proposition 3.5 of [LSY23]: with v_1 > 0 no v_k of an inner layer changes sign; a neuron with one v_k <= 0 is
dead.
"""

import math

import numpy as np
from scipy.integrate import solve_ivp

from reluflow.claim import Claim, Report
from reluflow.single import angle

needs = "nothing"


def gradient(w: np.ndarray, v: np.ndarray, relu: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Of the population loss for f = v_1 s(v_2) ... s(v_m) s(<w, x>) and the target s(x_1): (dL/dw, dL/dv).

    `relu=False` leaves the inner activations out.
    """
    gates = np.maximum(v[1:], 0.0) if relu else v[1:]
    p = v[0] * np.prod(gates)
    length = float(np.linalg.norm(w))
    theta = math.atan2(np.linalg.norm(w[1:]), w[0])
    phi, s = math.pi - theta, float(angle.s(math.pi - theta))
    star = np.eye(len(w))[0]
    gw = 0.5 * p * p * w - p / (2 * math.pi) * (phi * star + math.sin(phi) * w / length)
    slope = 0.5 * p * length**2 - 0.5 * length * s  # dL/dp
    others = [np.prod(np.delete(np.concatenate([v[:1], gates]), k)) for k in range(len(v))]
    on = np.concatenate([[1.0], (v[1:] > 0).astype(float) if relu else np.ones(len(v) - 1)])
    return gw, slope * np.array(others) * on


def check(*, trials: int = 12, seed: int = 0, t1: float = 20.0, relu: bool = True) -> Report:
    r"""Claim: if $v_1(0) > 0$, the signs of $v_2, \dots, v_m$ never change along the flow.

    In plain coordinates, where nothing holds signs by construction: random starts with m = 3 and all v_k > 0, the
    smallest v_k along the flow; and the largest movement of a neuron with v_2, v_3 or both <= 0 (output and gradients
    are 0: the factor $1_{v_k>0}$ that the printed proof drops). No slack.
    """
    rng = np.random.default_rng([seed, 3])
    smallest, moved = math.inf, 0.0
    for k in range(trials):
        w, v = rng.normal(size=2) * 0.7, rng.uniform(0.02, 1.5, 3)
        if k % 2:  # the second weight negative, the third, or both
            v[[[1], [2], [1, 2]][k // 2 % 3]] *= -1.0
            gw, gv = gradient(w, v, relu)
            moved = max(moved, float(np.abs(gw).max()), float(np.abs(gv).max()))
            continue
        field = lambda t, z: -np.concatenate(gradient(z[:2], z[2:], relu))
        run = solve_ivp(field, (0.0, t1), np.concatenate([w, v]), method="DOP853", rtol=1e-9, atol=1e-12)
        smallest = min(smallest, float(run.y[3:].min()))
    claims = [
        Claim("smallest v_k, k >= 2, along flows that start positive", smallest, ">", 0.0),
        Claim("largest derivative of a neuron with some v_k <= 0", moved, "=", 0.0),
    ]
    return Report("lee2023.proposition3_5", claims)
