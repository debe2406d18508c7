"""Plain descent written out, in NumPy and in many digits: what `rf.Descent` must equal."""

import numpy as np

from support.hand import forces


def descend(problem, step, iterations, batches=None):
    """(w, a, bits at the last iteration) after `iterations` of the textbook loop."""
    x, y = np.array(problem.data.x), np.array(problem.data.y)
    w, a = problem.init.arrays()
    slope, at_zero = problem.activation.slope, problem.activation.at_zero
    for k in range(iterations):
        rows = np.arange(len(y)) if batches is None else batches[k]
        xb, yb = x[rows], y[rows]
        u = w @ xb.T
        mask = np.where(u > 0, 1.0, np.where(u < 0, slope, at_zero))
        f = a @ (mask * u)
        weight = 1.0 / len(rows) if problem.reduction == "mean" else 1.0
        D = (mask * weight * forces(problem.loss, yb, f)) @ xb
        w, a = w + step * a[:, None] * D, (a + step * np.sum(w * D, axis=1) if problem.train == "both" else a)
    return w, a


def descend_exactly(problem, step, iterations, digits=50):
    """(log|w_j|, directions of w_j, log|a_j|, signs of a_j, outputs) of the square loss, in `digits` digits."""
    import mpmath as mp

    mp.mp.dps = digits
    data, init = problem.data, problem.init
    n, d, m = data.n, data.d, init.width
    x = [[mp.mpf(float(v)) for v in row] for row in data.x]
    y = [mp.mpf(float(v)) for v in data.y]
    log_w, log_a = init.log_scales
    w = [[mp.mpf(float(v)) * mp.exp(mp.mpf(float(log_w[j]))) for v in init.w[j]] for j in range(m)]
    a = [mp.mpf(float(init.a[j])) * mp.exp(mp.mpf(float(log_a[j]))) for j in range(m)]
    eta = mp.mpf(step)
    for k in range(iterations + 1):
        u = [[sum(w[j][p] * x[i][p] for p in range(d)) for i in range(n)] for j in range(m)]
        f = [sum(a[j] * u[j][i] for j in range(m) if u[j][i] > 0) for i in range(n)]
        if k == iterations:
            break
        g = [(y[i] - f[i]) / n for i in range(n)]
        for j in range(m):
            on = [i for i in range(n) if u[j][i] > 0]
            D = [sum((g[i] * x[i][p] for i in on), mp.mpf(0)) for p in range(d)]
            dot = sum(D[p] * w[j][p] for p in range(d))
            w[j], a[j] = [w[j][p] + eta * a[j] * D[p] for p in range(d)], a[j] + eta * dot
    norm = [mp.sqrt(sum(v * v for v in row)) for row in w]
    return (
        np.array([float(mp.log(v)) for v in norm]),
        np.array([[float(v / norm[j]) for v in w[j]] for j in range(m)]),
        np.array([float(mp.log(abs(v))) for v in a]),
        np.array([float(mp.sign(v)) for v in a]),
        np.array([float(v) for v in f]),
    )
