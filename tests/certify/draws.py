"""The draws of the handbook on certified runs: families A (n, d, m = 3, 2, 5) and B (4, 3, 6), number = trial."""

import numpy as np

import reluflow as rf

SIZES = {"A": (3, 2, 5), "B": (4, 3, 6)}


def draw(n: int, d: int, m: int, number: int, log_scale: float = -3.0, seed: int = 1) -> rf.Problem | None:
    """Trial `number` of a family; None if it has a zero label or row and is skipped."""
    rng = np.random.default_rng(seed)
    for _ in range(number + 1):
        x, y = rng.integers(-8, 9, (n, d)) / 4, rng.integers(-6, 7, n) / 4
        skipped = bool(np.any(y == 0) or np.any(~x.any(axis=1)))
        if skipped:
            continue
        w, s = rng.integers(-16, 17, (m, d)) / 8, rng.choice([-1, 1], m)
    if skipped or not np.all(w.any(axis=1)):
        return None
    return rf.Problem(rf.Data(x, y), rf.Params(w, s * np.linalg.norm(w, axis=1), log_scale=log_scale))


def named(name: str, **changes) -> rf.Problem:
    """Such as "A47"."""
    return draw(*SIZES[name[0]], int(name[1:]), **changes)


def two_points(log_scale: float, width: int = 4, seed: int = 0) -> rf.Problem:
    return rf.Problem(rf.data.two_points(), rf.init.balanced(width, 2, log_scale=log_scale, seed=seed))
