"""Loops written by hand that the engine is compared with: forces of all losses, plain descent, polar Euler.

They share nothing with the engine: a new row of `reluflow.losses` needs a line here. All are in one file because numba
keeps what it compiled until that file changes.
"""

import numba
import numpy as np

NAMES = ("square", "logistic", "logistic2", "exponential", "hinge2")


@numba.njit(cache=True)
def force(loss, y, f):
    if loss == 0:
        return y - f
    if loss == 1:
        return y / (1 + np.exp(y * f))
    if loss == 2:
        return 2 * y / (1 + np.exp(y * f))
    if loss == 3:
        return y * np.exp(-y * f)
    return y * max(0.0, 1 - y * f)


@numba.njit(cache=True)
def plain_descent(x, y, w, a, loss, weight, slope, both, h, steps, every):
    m, d = w.shape
    n = x.shape[0]
    out = np.empty((steps // every + 1, n))
    f, g = np.empty(n), np.empty(n)
    D = np.empty(d)
    for k in range(steps + 1):
        f[:] = 0.0
        for j in range(m):
            for i in range(n):
                u = 0.0
                for p in range(d):
                    u += w[j, p] * x[i, p]
                f[i] += a[j] * (u if u > 0 else slope * u)
        if k % every == 0:
            out[k // every] = f
        for i in range(n):
            g[i] = weight * force(loss, y[i], f[i])
        for j in range(m):
            D[:] = 0.0
            for i in range(n):
                u = 0.0
                for p in range(d):
                    u += w[j, p] * x[i, p]
                mask = 1.0 if u > 0 else slope
                for p in range(d):
                    D[p] += mask * g[i] * x[i, p]
            grow = 0.0
            for p in range(d):
                grow += D[p] * w[j, p]
            for p in range(d):
                w[j, p] += h * a[j] * D[p]
            if both:
                a[j] += h * grow
    return out


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
            g[i] = weight * force(loss, y[i], f[i])
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


def forces(name, y, f):
    """The same for arrays."""
    return np.array([force(NAMES.index(name), *pair) for pair in zip(y, f, strict=True)])
