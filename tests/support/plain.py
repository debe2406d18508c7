"""Plain descent on (w, a) with literal masks, and its extrapolation to step 0. Shares nothing with the engine."""

import numba
import numpy as np


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
            grow = 0.0
            for p in range(d):
                grow += D[p] * w[j, p]
            for p in range(d):
                w[j, p] += h * a[j] * D[p]
            if both:
                a[j] += h * grow
    return out


def outputs(problem, t1: float, steps: int, frames: int = 8) -> np.ndarray:
    w, a = problem.init.arrays()
    code = ("square", "logistic", "logistic2", "exponential").index(problem.loss)
    return plain_descent(
        np.array(problem.data.x),
        np.array(problem.data.y),
        w.copy(),
        a.copy(),
        code,
        problem.weight,
        problem.activation.slope,
        problem.train == "both",
        t1 / steps,
        steps,
        steps // frames,
    )


def reference(problem, t1: float, steps: int, frames: int = 8) -> tuple[np.ndarray, float]:
    """Outputs extrapolated to step 0 from the finest of four runs, and the largest spread over the four as their error.

    Along slides the error of descent is of the order of the step with a phase of its own, which extrapolation does
    not remove.
    """
    # Steps without a common measure, so that the phases differ too.
    runs = [outputs(problem, t1, frames * round(steps * k / frames), frames) for k in (1, 1.37, 2, 2.11, 3.3, 4)]
    return 2 * runs[5] - runs[2], float(np.max(np.max(runs, axis=0) - np.min(runs, axis=0)))
