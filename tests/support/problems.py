"""Random problems, one per seed."""

import numpy as np

import reluflow as rf

LOSSES = ("square", "logistic", "logistic2", "exponential")


def random_balanced(seed: int, *, scales=(0.0, -1.0, -3.0, -10.0, -25.0, -50.0)) -> tuple[rf.Problem, float]:
    """A balanced problem (n <= 8, d <= 4, width <= 12, every loss, slopes 0, 0.3, 1) and a time long enough to see
    it learn."""
    rng = np.random.default_rng([seed, 77])
    n, d, width = int(rng.integers(2, 9)), int(rng.integers(1, 5)), int(rng.integers(1, 13))
    loss = LOSSES[seed % 4]
    slope = (0.0, 0.3, 0.0, 1.0)[(seed // 4) % 4]
    scale = scales[(seed // 16) % len(scales)]
    x = rng.normal(size=(n, d))
    y = rng.normal(size=n) if loss == "square" else rng.choice([-1.0, 1.0], size=n)
    init = rf.init.balanced(width, d, log_scale=scale, seed=seed)
    reduction = "mean" if seed % 3 else "sum"
    problem = rf.Problem(rf.Data(x, y), init, loss=loss, reduction=reduction, activation=rf.LeakyReLU(slope))
    drive = problem.weight * np.linalg.norm(x, 2) * np.sqrt(n)
    return problem, float((4.0 - 1.5 * scale) / drive)


def random_unbalanced(seed: int, train: str) -> tuple[rf.Problem, float]:
    """An unbalanced problem of moderate scale, or one whose first layer alone is trained."""
    rng = np.random.default_rng([seed, 78])
    n, d, width = int(rng.integers(2, 7)), int(rng.integers(2, 4)), int(rng.integers(3, 9))
    loss = ("square", "logistic", "exponential")[seed % 3]
    slope = (0.0, 0.3)[(seed // 3) % 2]
    x = rng.normal(size=(n, d))
    y = rng.normal(size=n) if loss == "square" else rng.choice([-1.0, 1.0], size=n)
    init = rf.Params(0.5 * rng.normal(size=(width, d)), 0.5 * rng.normal(size=width))
    return rf.Problem(rf.Data(x, y), init, loss=loss, activation=rf.LeakyReLU(slope), train=train), 4.0
