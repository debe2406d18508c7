"""Propositions 3.1 and 3.6 of [LSY23]: the equations of magnitude and angle, for any depth."""

import math

import numpy as np

from reluflow.claim import Report
from reluflow.papers.lee2023._common import is_flow, starts_well, worst
from reluflow.single import Run, angle

needs = "single"

STEP = 1e-3  # of log t, for central differences
# Fourth-order central difference: weights at -2h, -h, h, 2h, over 12 h.
STENCIL = ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0))
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def gradient(m: int, log_v: float, phi: float) -> tuple[float, float]:
    r"""(radial, angular) parts of $-\partial L/\partial w$ over |w|, from the definition of the loss, target 1.

    $-\partial L/\partial w = E[(v^{*\,m}\sigma(w^{*T}x) - v^m\sigma(w^Tx))\, v^m 1_{w^Tx>0}\, x]$; in the plane of w
    and w* the Gaussian is $E r^2 = 2$ times an integral over the angle, which Gauss's rule does exactly on the two
    arcs where the integrand is smooth: no formula of the paper is used.
    """
    v, theta = math.exp(log_v), math.pi - phi
    parts = np.zeros(2)
    # w along angle 0, w* along theta: the half circle of w is cut where w* stops being active.
    cut = theta - math.pi / 2
    for low, high in ((-math.pi / 2, cut), (cut, math.pi / 2)):
        a = 0.5 * (high - low) * NODES + 0.5 * (high + low)
        target = np.maximum(np.cos(a - theta), 0.0)
        force = (target - v ** (m + 1) * np.cos(a)) * v**m
        share = 0.5 * (high - low) * WEIGHTS / math.pi  # E r^2 / (2 pi) = 1/pi
        parts += [np.sum(share * force * np.cos(a)), np.sum(share * force * np.sin(a))]
    return float(parts[0]) / v, float(parts[1]) / v


def check(run: Run, *, points: int = 60) -> Report:
    r"""Claim: $v' = -\frac12 v^m (v^{m+1} - v^{*\,m+1} s(\varphi))$ and $\varphi' = v^{m-1} v^{*\,m+1}
    \varphi\sin\varphi / 2\pi$, kappa times faster in general.

    Two things are compared with these formulas. The gradient of the loss itself, integrated over the Gaussian from its
    definition at up to `points` frames, whose radial and angular parts must be their right-hand sides; slack: 24 nodes
    integrate products of three sines to rounding, 1e-12 of the largest term. And the run, by fourth-order differences
    in log t (frames with t v^(m-1) and t v^2m below 100: beyond, log t has nothing left to resolve); slack: a
    difference over 1e-3 of values right to 100 rtol is right to 1.5e5 rtol times `size` = 1 + t v^(m-1) + t v^2m, and
    the stencil leaves (1e-3)^4/30 of a fifth derivative, at most size^5.
    """
    p, m = run.problem, run.problem.m
    size = _size(run)
    room = (run.log_t > run.log_t[1] + 0.1) & (run.log_t < run.log_t[-1] - 2.5 * STEP) & (size < 100.0)
    chosen = np.flatnonzero(room)[:: max(1, int(room.sum()) // points)]
    log_t, size = run.log_t[chosen], size[chosen]
    at = run.at(log_t=log_t)
    ahead = {k: run.at(log_t=log_t + k * STEP) for k, _ in STENCIL}
    slope = lambda name: sum(c * getattr(ahead[k], name) for k, c in STENCIL) / (12 * STEP)
    # t (log v)' and t y' from the equations, in unit time and with the target 1
    l, unit = at.log_norm - p.log_target, log_t + p.log_unit_time
    phi, theta = angle.angles(at.y)
    s = np.where(phi < 1, angle.s(phi), 1.0 - angle.eps(theta))
    v_rate = -0.5 * np.exp(unit + (m - 1) * l) * (np.exp((m + 1) * l) - s)
    y_rate = np.exp(unit + (m - 1) * l) * phi / (2 * math.pi)
    slack = 1.5e5 * getattr(run.method, "rtol", 1e-10) * size + STEP**4 / 30 * size**5
    claims = [
        worst(f"|d {n} / d log t - its equation|", np.abs(slope(name) - rate), "<=", 0.0, slack, at.t, log=False)
        for n, name, rate in (("log v", "log_norm", v_rate), ("log tan(phi/2)", "y", y_rate))
    ]
    usable = np.flatnonzero((np.abs(l) < 20.0) & (theta > 1e-6) & (phi > 1e-6))
    found = np.array([gradient(m, float(l[k]), float(phi[k])) for k in usable]).reshape(-1, 2)
    scale = np.exp((m - 1) * l[usable]) * (np.exp((m + 1) * l[usable]) + 1.0)
    # y' = phi'/sin(phi), and theta falls by the angular part.
    pace = np.exp(-unit[usable])
    wanted = (v_rate[usable] * pace, y_rate[usable] * pace * np.sin(phi[usable]))
    for name, part, rate in (("radial", found[:, 0], wanted[0]), ("angular", found[:, 1], wanted[1])):
        if not len(usable):  # a start at e^-1000: the integrals underflow
            continue
        gap = np.abs(part - rate) / scale
        text = f"{name} part of the gradient of the loss, integrated, against the equation, relative"
        claims.append(worst(text, gap, "<=", 0.0, 1e-12, at.t[usable], log=False))
    return Report("lee2023.proposition3_1", claims, [is_flow(run), *starts_well(run)], {"m": m})


def _size(run: Run) -> np.ndarray:
    l, unit = run.log_norm - run.problem.log_target, run.log_t + run.problem.log_unit_time
    with np.errstate(over="ignore"):
        return 1.0 + np.exp(unit + (run.problem.m - 1) * l) + np.exp(unit + 2 * run.problem.m * l)
