"""Problems with several outputs, and descent on them written once more."""

import numpy as np

import reluflow as rf


def problem(loss="square", k=3, n=9, d=3, width=6, log_scale=-1.0, seed=1, **more):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = rng.normal(size=(n, k)) if loss == "square" else np.arange(n) % k
    return rf.Problem(rf.Data(x, y), rf.init.balanced(width, d, log_scale=log_scale, outputs=k), loss=loss, **more)


def plain_descent(p, step, iterations, batch=None, seed=0):
    """(w, a) after every iteration of plain descent."""
    x, targets, slope = p.data.x, p.targets, p.activation.slope
    w, a = p.init.arrays()
    rng, order, at, n = np.random.default_rng([seed, 2]), np.arange(p.data.n), 0, p.data.n
    path = [(w, a)]
    for _ in range(iterations):
        if batch is not None and at == 0:
            order = rng.permuted(np.arange(n))
        rows = order if batch is None else order[at : at + batch]
        at = 0 if batch is None or at + batch >= n else at + batch
        u = x[rows] @ w.T
        bits = np.where(u > 0, 1.0, np.where(u < 0, slope, 0.0))
        f = (bits * u) @ a
        if p.loss == "softmax":
            e = np.exp(f - f.max(axis=1, keepdims=True))
            drive = targets[rows] - e / e.sum(axis=1, keepdims=True)
        else:
            drive = targets[rows] - f
        drive = drive / len(rows) if p.reduction == "mean" else drive
        of_w = ((drive @ a.T) * bits).T @ x[rows] - p.decay * w
        of_a = (bits * u).T @ drive - p.decay * a
        w, a = w + step * of_w, a if p.train == "first" else a + step * of_a
        path.append((w, a))
    return path
