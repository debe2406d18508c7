"""Where to look next: generations of points u, by CMA-ES from random starts or at random.

A strategy is a generator: it yields an array of points and is sent their scores, the smaller the better.
"""

from collections.abc import Generator

import numpy as np

STALE = 25  # generations without a better point before a restart
LARGEST = 64  # population
SIGMA = (0.5, 1.0)  # of the starts, in turn

Strategy = Generator[np.ndarray, np.ndarray, None]


def cma(dim: int, seed: int) -> Strategy:
    """CMA-ES from the best of twice its population of random draws, with a doubled population at each restart."""
    from cmaes import CMA

    dim, padded = max(2, dim), dim
    population, restart = 4 + int(3 * np.log(dim)), 0
    while True:
        rng = np.random.default_rng([seed, 4, restart])
        draws = rng.normal(size=(2 * population, dim))
        scores = yield draws[:, :padded]
        first = draws[int(np.argmin(scores))]
        at = CMA(mean=first, sigma=SIGMA[restart % 2], seed=int(rng.integers(2**31)), population_size=population)
        best, stale = float(np.min(scores)), 0
        while stale < STALE and not at.should_stop():
            draws = np.array([at.ask() for _ in range(population)])
            scores = yield draws[:, :padded]
            at.tell([(u, float(score)) for u, score in zip(draws, scores)])
            stale = 0 if np.min(scores) < best else stale + 1
            best = min(best, float(np.min(scores)))
        restart += 1
        population = min(LARGEST, 2 * population)


def random(dim: int, seed: int) -> Strategy:
    """Independent draws of the space's own law."""
    rng = np.random.default_rng([seed, 5])
    while True:
        yield rng.normal(size=(16, dim))


STRATEGIES = {"cma": cma, "random": random}
