"""Polar Euler: steps in (unit direction, log norm) with literal masks. Shares nothing with the engine; tends to the
sliding solution.

w_j += h s_j (D_j - <D_j, w_j> w_j), renormalised;   rho_j += h s_j <D_j, w_j>
"""

import numba
import numpy as np


@numba.njit(cache=True)
def polar_euler(x, y, w, rho, s, loss, weight, slope, h, steps, every):
    m, d = w.shape
    n = x.shape[0]
    rows = steps // every + 1
    out = np.empty((rows, n))
    f, g = np.empty(n), np.empty(n)
    D = np.empty(d)
    for k in range(steps + 1):
        f[:] = 0.0
        for j in range(m):
            amp = s[j] * np.exp(2 * rho[j])
            for i in range(n):
                u = 0.0
                for p in range(d):
                    u += w[j, p] * x[i, p]
                f[i] += amp * (u if u > 0 else slope * u)
        if k % every == 0:
            out[k // every] = f
        for i in range(n):
            z = y[i] * f[i]
            if loss == 0:
                g[i] = weight * (y[i] - f[i])
            elif loss == 1:
                g[i] = weight * y[i] / (1 + np.exp(z))
            elif loss == 2:
                g[i] = 2 * weight * y[i] / (1 + np.exp(z))
            else:
                g[i] = weight * y[i] * np.exp(-z)
        for j in range(m):
            D[:] = 0.0
            for i in range(n):
                u = 0.0
                for p in range(d):
                    u += w[j, p] * x[i, p]
                mask = 1.0 if u > 0 else slope
                for p in range(d):
                    D[p] += mask * g[i] * x[i, p]
            p_ = 0.0
            for p in range(d):
                p_ += D[p] * w[j, p]
            size = 0.0
            for p in range(d):
                w[j, p] += h * s[j] * (D[p] - p_ * w[j, p])
                size += w[j, p] ** 2
            size = np.sqrt(size)
            for p in range(d):
                w[j, p] /= size
            rho[j] += h * s[j] * p_
    return out


def outputs(problem, t1: float, steps: int, frames: int = 8) -> np.ndarray:
    """Outputs at `frames` + 1 equally spaced times up to t1 with `steps` (a multiple of `frames`) Euler steps."""
    init = problem.init
    norm = np.linalg.norm(init.w, axis=1)
    rho = init.log_scales[0] + np.log(norm)
    code = ("square", "logistic", "logistic2", "exponential").index(problem.loss)
    return polar_euler(
        np.array(problem.data.x),
        np.array(problem.data.y),
        init.w / norm[:, None],
        rho,
        np.sign(init.a),
        code,
        problem.weight,
        problem.activation.slope,
        t1 / steps,
        steps,
        steps // frames,
    )


def reference(problem, t1: float, steps: int, frames: int = 8) -> tuple[np.ndarray, float]:
    """Outputs with the finest of four steps, and the largest spread over the four as their error (chatter spoils
    extrapolation)."""
    runs = [outputs(problem, t1, steps * k, frames) for k in (1, 2, 3, 4)]
    return runs[-1], float(np.max(np.max(runs, axis=0) - np.min(runs, axis=0)))
