r"""The population flow beside the flow on n points drawn from the law of x: the rate in n.

    error(n, t) = |W_n(t) - W(t)| / |W(t)|       of order n^{-1/2}, for both layers together

Every sample is labelled by the teacher, and trained from the same start by the same flow with L = (1/2n) sum (f - y)^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import reluflow as rf
from reluflow._checks import by_name, whole
from reluflow.population.problem import Problem
from reluflow.population.solution import Solution
from reluflow.population.solve import solve

EXACT_MOST = 400  # points up to which every crossing is located; beyond, bits are read off signs
STEPPED_RTOL = 1e-4


@dataclass(frozen=True, eq=False)
class Samples:
    """A population run and runs on samples: `error` (sizes, seeds, times) and the losses of both."""

    problem: Problem
    population: Solution
    n: np.ndarray
    times: np.ndarray
    error: np.ndarray
    loss: np.ndarray  # population loss of the networks trained on samples, (sizes, seeds, times)

    @cached_property
    def rate(self) -> float:
        """The fitted power: error ~ n^rate, over all sizes, seeds and times (each time has its own constant)."""
        logs = np.mean(np.log(self.error), axis=1)
        x = np.log(self.n)[:, None] - np.mean(np.log(self.n))
        return float(np.sum(x * (logs - logs.mean(axis=0))) / (np.sum(x**2) * logs.shape[1]))

    def __repr__(self) -> str:
        head = (
            f"{'n':>8}" + "".join(f"{f't = {t:g}':>14}" for t in self.times) + "   mean relative error of the weights"
        )
        rows = [f"{n:>8}" + "".join(f"{e:>14.3g}" for e in self.error[k].mean(axis=0)) for k, n in enumerate(self.n)]
        return "\n".join([head, *rows, f"error ~ n^{self.rate:.3f} ({self.error.shape[1]} samples of each size)"])


@by_name
def compare(
    problem: Problem, n, t1: float, *, times=None, seeds: int = 3, rtol: float = 1e-8, progress=None
) -> Samples:
    """Runs `problem` on the population and on `seeds` samples of each size in `n`, up to t1.

    `times` are where weights are compared (left out: t1/5, t1/2, t1). Also reached as `rf.compare(problem, n, t1)`.
    """
    sizes = np.array([whole("n", value, least=1, hint="give numbers of points") for value in np.atleast_1d(n)])
    seeds = whole("seeds", seeds, least=1, hint="samples drawn of each size")
    when = np.array([0.2 * t1, 0.5 * t1, t1] if times is None else times, float)
    sol = solve(problem, rf.Flow(rtol), t1)
    goal = [_flat(p) for p in sol.at(when)]
    error = np.empty((len(sizes), seeds, len(when)))
    loss = np.empty_like(error)
    for i, size in enumerate(sizes):
        for seed in range(seeds):
            weights = sample_run(problem, int(size), seed, when)
            for k, params in enumerate(weights):
                error[i, seed, k] = np.linalg.norm(_flat(params) - goal[k]) / np.linalg.norm(goal[k])
                loss[i, seed, k] = problem.loss(params)
            if progress is not None:
                progress((i * seeds + seed + 1) / (len(sizes) * seeds))
    return Samples(problem, sol, sizes, when, error, loss)


def sample_run(problem: Problem, n: int, seed: int, times: np.ndarray) -> list[rf.Params]:
    """The weights at these times when n points drawn with this seed are trained on."""
    x = problem.law.draw(np.random.default_rng([seed, n, 3]), n, problem.dim)
    v, b = problem.teacher.arrays()
    z = x @ v.T
    data = rf.Data(x, (np.maximum(z, 0.0) + problem.slope * np.minimum(z, 0.0)) @ b)
    activation = rf.LeakyReLU(problem.slope)
    finite = rf.Problem(data, problem.init, loss="square", reduction="mean", activation=activation, train=problem.train)
    method = rf.Flow(rtol=1e-7) if n <= EXACT_MOST else rf.SteppedFlow(rtol=STEPPED_RTOL)
    run = rf.solve(finite, method, t1=float(times[-1]))
    return run.at(times)


def _flat(params: rf.Params) -> np.ndarray:
    w, a = params.arrays()
    return np.concatenate([w.ravel(), a])
