"""Section 3.2 of [LSY23]: a small start speeds one layer up, does nothing to two, and slows deeper neurons down."""

import math

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.methods import Flow
from reluflow.single import Problem, angle, solve

needs = "nothing"


def log_time_to(m: int, log_norm: float, phi0: float, phi1: float, rtol: float) -> float:
    """log of the time at which phi = phi1, from a balanced start of this log |w_0|."""
    run = solve(Problem(m=m, log_norm=log_norm, phi=phi0), Flow(rtol=rtol))
    return float(np.interp(angle.log_tan(phi1), run.y[1:], run.log_t[1:]))


def check(*, phi0: float = math.pi / 2, phi1: float = 3.0, scales=(0.0, -1.0, -3.0), rtol: float = 1e-9) -> Report:
    r"""Claim: the time to $\varphi = 3$ grows with $v_0$ for m = 0, does not depend on it for m = 1, and falls with
    it for $m \ge 2$.

    Times at v_0/v* = e^scale, largest first, relative to that at v*; and, at the scales e^-500 and e^-1000, the law t
    ~ v_0^(1-m) for m >= 2 (a limit; both angle and log v then move at rates of their own clock), e^-1000 included.
    Slack for m = 1, and tolerance of the exponent: 1e-4, for linear interpolation of log t between frames.
    """
    claims: list[Claim] = []
    constants: dict[str, float] = {}
    for m in (0, 1, 2, 3):
        times = [log_time_to(m, s, phi0, phi1, rtol) for s in scales]
        constants |= {f"log t, m = {m}, e^{s:g}": t for s, t in zip(scales, times)}
        gains = np.diff(times)
        if m == 1:
            claims.append(
                Claim("m = 1: change of log t with the scale", float(np.abs(gains).max()), "=", 0.0, slack=1e-4)
            )
        elif m == 0:
            claims.append(Claim("m = 0: log t, each less the one before", float(gains.max()), "<", 0.0))
        else:
            claims.append(Claim(f"m = {m}: log t, each less the one before", float(gains.min()), ">", 0.0))
            far = [log_time_to(m, s, phi0, phi1, rtol) for s in (-500.0, -1000.0)]
            power = (far[1] - far[0]) / -500.0
            claims.append(
                Claim(f"m = {m}: |power of v_0 in t, less {1 - m}|", abs(power - 1 + m), "<=", 1e-4, kind="limit")
            )
    return Report("lee2023.scale_speed", claims, constants=constants)
