r"""A single neuron in plain numbers: a peer of `rf.single`, for verification alone.

With p = v_1 ... v_m and g = p |w|, theta the angle between w and w* (|w*| = 1, Gaussian inputs, half-space law):

    w' = -p E[1{<w,x> > 0} (p <w,x> - s(<w*,x>)) x],     v' = -(|w| p/v) <w/|w|, same expectation>

    E[1{<w,x> > 0} <w,x> x] = w/2,     E[1{<w,x> > 0} s(<w*,x>) x] = ((pi - theta) w* + sin(theta) w/|w|) / (2 pi)
"""

import math

import numpy as np

from reluflow.space.spec import SingleSpec


def rates(z: np.ndarray, m: int) -> np.ndarray:
    """(w_1, w_2, v) in the plane of w and w* = (1, 0); v is each of the m equal outer weights."""
    w, v = z[:2], z[2]
    norm = float(np.hypot(*w))
    p = v**m
    theta = math.atan2(abs(w[1]), w[0])
    target = ((math.pi - theta) * np.array([1.0, 0.0]) + math.sin(theta) * w / norm) / (2.0 * math.pi)
    pull = target - 0.5 * p * w
    return np.array([*(p * pull), (v ** (m - 1) * float(w @ pull)) if m else 0.0])


def end_of(spec: SingleSpec, t: float) -> tuple[float, float]:
    """(|w|, phi) at time t, phi = pi - theta."""
    theta = math.pi - spec.phi
    z = np.array([spec.norm * math.cos(theta), spec.norm * math.sin(theta), spec.norm])
    if spec.step is None:
        from scipy.integrate import solve_ivp

        z = solve_ivp(lambda _, z: rates(z, spec.m), (0.0, t), z, "DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    else:
        for _ in range(round(t / spec.step)):
            z = z + spec.step * rates(z, spec.m)
    return float(np.hypot(*z[:2])), math.pi - math.atan2(abs(z[1]), z[0])
