"""One teacher neuron e_1 and inputs within a given angle of it; what a run learnt, as a matrix."""

from __future__ import annotations

import numpy as np

import reluflow as rf


def data(d: int, n: int, seed: int) -> rf.Data:
    """x_k = r (cos t e_1 + sin t u) with u a random unit vector orthogonal to e_1, t in (0.2, pi/4 - 0.02), r in (0.7,
    1.3); labels relu(<e_1, x>) = x_1."""
    rng = np.random.default_rng(seed)
    rows = np.empty((n, d))
    for k in range(n):
        u = rng.normal(size=d)
        u[0] = 0.0
        t = rng.uniform(0.2, np.pi / 4 - 0.02)
        r = rng.uniform(0.7, 1.3)
        rows[k] = r * np.sin(t) * u / np.linalg.norm(u)
        rows[k, 0] = r * np.cos(t)
    return rf.Data(rows, rows[:, 0])


def end(points: rf.Data, width: int, log_scale: float, seed: int, rtol: float):
    """The flow until it converges, or for 5,000 steps: next to the jump some runs crawl at t = 1e9, long decided."""
    init = rf.init.balanced(width, points.d, log_scale=log_scale, seed=seed)
    limits = rf.Limits(steps=5_000)
    return rf.papers.solve(rf.Problem(points, init), rf.Flow(rtol=rtol), t1=1e12, limits=limits, throw=False)


def norm(sol) -> float:
    """|theta|^2 = sum |w|^2 + a^2 at the end; the neurons are balanced."""
    return 2.0 * float(np.sum(np.exp(2 * sol.log_norm[-1])))


def ratio(sol) -> float:
    """Second over first singular value of W at the end."""
    log_w = sol.final.log_scales[0]
    w = sol.final.w * np.exp(log_w - np.max(sol.log_norm[-1]))[:, None]
    values = np.linalg.svd(w, compute_uv=False)
    return float(values[1] / values[0])
