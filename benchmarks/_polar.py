"""Polar Euler in numba, the honest rival of the flow: (unit direction, log norm), literal masks, fixed steps."""

import numba
import numpy as np


@numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def _run(x, y, w, rho, s, h, steps, every, out):
    """Square loss, mean, ReLU. w is (d, m): neurons side by side, as in our own descent, so that the race is fair."""
    d, m = w.shape
    n = x.shape[0]
    u, on = np.empty((n, m)), np.empty((n, m))
    amp, p, size = np.empty(m), np.empty(m), np.empty(m)
    D = np.empty((d, m))
    g = np.empty(n)
    for k in range(steps + 1):
        for j in range(m):
            amp[j] = s[j] * np.exp(2.0 * rho[j])
        for i in range(n):
            for j in range(m):
                u[i, j] = x[i, 0] * w[0, j]
            for q in range(1, d):
                for j in range(m):
                    u[i, j] += x[i, q] * w[q, j]
            f = 0.0
            for j in range(m):
                on[i, j] = 1.0 if u[i, j] > 0.0 else 0.0
                f += amp[j] * on[i, j] * u[i, j]
            g[i] = (y[i] - f) / n
            if k % every == 0:
                out[k // every, i] = f
        for j in range(m):
            p[j] = 0.0
            size[j] = 0.0
        for q in range(d):
            for j in range(m):
                D[q, j] = 0.0
            for i in range(n):
                c = g[i] * x[i, q]
                for j in range(m):
                    D[q, j] += c * on[i, j]
            for j in range(m):
                p[j] += D[q, j] * w[q, j]
        for q in range(d):
            for j in range(m):
                w[q, j] += h * s[j] * (D[q, j] - p[j] * w[q, j])
                size[j] += w[q, j] * w[q, j]
        for j in range(m):
            size[j] = 1.0 / np.sqrt(size[j])
            rho[j] += h * s[j] * p[j]
        for q in range(d):
            for j in range(m):
                w[q, j] *= size[j]


def outputs(problem, t1, steps, frames=8):
    """Outputs at frames + 1 equally spaced times up to t1."""
    init = problem.init
    norm = np.linalg.norm(init.w, axis=1)
    out = np.empty((frames + 1, problem.data.n))
    rho = init.log_scales[0] + np.log(norm)
    w = np.ascontiguousarray((init.w / norm[:, None]).T)
    _run(
        np.array(problem.data.x),
        np.array(problem.data.y),
        w,
        rho,
        np.sign(init.a),
        t1 / steps,
        steps,
        steps // frames,
        out,
    )
    return out
