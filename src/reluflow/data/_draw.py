"""Helpers of the random generators: the random stream, labels, a random orthonormal family."""

from __future__ import annotations

import numpy as np

from reluflow._checks import as_finite, one_of, whole

LABELS = ("signs", "balanced", "gaussian", "positive")


def stream(seed: int) -> np.random.Generator:
    """The random stream for data: `default_rng([seed, 1])`."""
    return np.random.default_rng([whole("seed", seed, least=0, hint="any non-negative seed"), 1])


def rows(n: int) -> int:
    return whole("n", n, least=1, hint="a data set needs at least one row")


def columns(d: int) -> int:
    return whole("d", d, least=1, hint="a row needs at least one entry")


def labels(given, n: int, rng: np.random.Generator) -> np.ndarray:
    """`given` as n numbers, or drawn by name.

    "signs" is +1 or -1 at random, "balanced" is +1 for the first half (rounded up) and -1 for the rest,
    "gaussian" is standard normal, "positive" is +1 throughout.
    """
    if isinstance(given, str):
        one_of("labels", given, LABELS)
        if given == "signs":
            return rng.choice([-1.0, 1.0], size=n)
        if given == "gaussian":
            return rng.normal(size=n)
        return np.where(np.arange(n) < (n + 1) // 2, 1.0, -1.0) if given == "balanced" else np.ones(n)
    y = as_finite("labels", given, ndim=1, hint=f"give {n} numbers, or one of {', '.join(LABELS)}")
    if y.shape != (n,):
        raise ValueError(
            f'`labels` must be {n} numbers, one per row, got {y.shape[0]}: or name them, as in `labels="signs"`.'
        )
    return y


def orthonormal_rows(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """n orthonormal rows in R^d, uniform among all such families."""
    q, r = np.linalg.qr(rng.normal(size=(d, n)))
    return (q * np.where(np.diag(r) < 0, -1.0, 1.0)).T
