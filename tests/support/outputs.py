"""Problems with several outputs, and descent on them written once more."""

import numpy as np

import reluflow as rf


def problem(loss="square", k=3, n=9, d=3, width=6, log_scale=-1.0, seed=1, **more):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = rng.normal(size=(n, k)) if loss == "square" else np.arange(n) % k
    return rf.Problem(rf.Data(x, y), rf.init.balanced(width, d, log_scale=log_scale, outputs=k), loss=loss, **more)


def random_problem(seed, k, loss):
    """Five points in space, six balanced neurons of size 0.3."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(5, 3))
    y = rng.normal(size=(5, k)) if loss == "square" else np.arange(5) % k
    w = 0.3 * rng.normal(size=(6, 3))
    a = rng.normal(size=(6, k))
    a *= (np.linalg.norm(w, axis=1) / np.linalg.norm(a, axis=1))[:, None]
    return rf.Problem(rf.Data(x, y), rf.Params(w, a), loss=loss)


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


def three_classes(log_scale, rotation=None):
    """Orthonormal inputs, 4, 2 and 1 of a class, one-hot labels."""
    rng = np.random.default_rng(0)
    w, a, x = rng.normal(size=(12, 7)), rng.normal(size=(12, 3)), np.eye(7)
    a *= (np.linalg.norm(w, axis=1) / np.linalg.norm(a, axis=1))[:, None]
    if rotation is not None:
        turn = np.linalg.qr(np.random.default_rng(rotation).normal(size=(7, 7)))[0]
        x, w = x @ turn, w @ turn
    return rf.Problem(rf.Data(x, np.eye(3)[[0, 0, 0, 0, 1, 1, 2]]), rf.Params(w, a, log_scale=log_scale))


def orthogonal(seed, log_scale=-30.0):
    """Four to seven orthogonal inputs of different lengths along the axes, two to four outputs, balanced neurons."""
    rng = np.random.default_rng([seed, 99])
    k, n, m = rng.integers(2, 5), rng.integers(4, 8), rng.integers(6, 13)
    x = np.diag(rng.uniform(0.7, 1.5, size=n))
    y = rng.normal(size=(n, k)) if seed % 2 else np.eye(k)[rng.integers(0, k, size=n)]
    w, a = rng.normal(size=(m, n)), rng.normal(size=(m, k))
    a *= (np.linalg.norm(w, axis=1) / np.linalg.norm(a, axis=1))[:, None]
    return rf.Problem(rf.Data(x, y), rf.Params(w, a, log_scale=log_scale))


def half_times(sol, guesses):
    """When the output of a class on its own points, their mean, is 1/2: bisected around guesses."""
    labels, found = np.array([0, 0, 0, 0, 1, 1, 2]), []
    for c, guess in enumerate(guesses):
        lo, hi = guess - 4.0, guess + 4.0
        for _ in range(60):
            t = 0.5 * (lo + hi)
            above = sol.outputs_at([t])[0][labels == c, c].mean() > 0.5
            lo, hi = (lo, t) if above else (t, hi)
        found.append(hi)
    return np.array(found)


def exit_times(log_scale):
    """(n / (2 sqrt n_c)) log(sqrt n_c / sum alpha_j^2), carried from its value at log scale -300 to another."""
    known, count = np.array([1050.0982341861, 1483.9493443039, 2092.8072243244]), np.array([4, 2, 1])
    return known + 7.0 / np.sqrt(count) * (-300.0 - log_scale)
