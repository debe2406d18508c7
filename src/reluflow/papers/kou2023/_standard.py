"""The runs that the checks of this paper are judged on."""

from functools import cache

import numpy as np

from reluflow import data, init
from reluflow.methods import Descent, Flow
from reluflow.papers.kou2023._setting import setting
from reluflow.problem import LeakyReLU, Problem
from reluflow.solve import Save, solve

LOG_END = 100 * float(np.log(10.0))  # flows go to t = 1e100
ITERATIONS = 1_000_000
# What `rf.falsify` searches for each check: leaky networks on nearly orthogonal data, ReLU ones on orthonormal data.
_NETWORK = {
    "width": [4, 8],
    "init": "fixed_output",
    "log_scale": [-12.0, -2.0],
    "loss": "logistic",
    "train": "first",
    "slope": 0.5,
    "rtol": 1e-10,
    "log_t1": 100.0,
}
SPACE = {"kind": "nearly_orthogonal", "n": [2, 4], "kappa": 0.02, **_NETWORK}
_RELU = {"slope": 0.0, "kappa": 0.0, "width": [4, 10]}
SPACES: dict[str, dict] = {
    "kou2023.lemma5_2": {"log_t1": None, "step": [0.01, 1.0]},
    # Coefficients are unique unless data are linearly dependent.
    "kou2023.lemma5_2 printed": {
        **{"kind": "free", "n": 3, "dim": 2, "labels": "signs"},
        **{**_NETWORK, "log_t1": None, "step": [0.01, 1.0]},
    },
    **{
        f"kou2023.{name}": _RELU
        for name in ("lemma5_5", "lemma5_8", "lemma_e2", "lemma_f1", "lemma_f2", "lemma_f3", "lemma_g1", "relu_rate")
    },
    **{f"kou2023.{name}": _RELU for name in ("switching", "theorem4_3")},
    "kou2023.lemma_c3 printed": {"n": [2], "width": [4, 8], "dim": 12},
}


def problem(kappa: float, slope: float, n: int = 8, m: int = 10, beta: float = 0.05, seed: int = 0) -> Problem:
    """Balanced labels, unit norms, every pair at the bound; sigma0 about `beta`/2 in the paper's units."""
    labels = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    points = (
        data.nearly_orthogonal(n, kappa, labels=labels, seed=seed) if kappa else data.orthogonal(np.ones(n), labels)
    )
    start = init.fixed_output(2 * m, n, log_scale=float(np.log(beta)), seed=seed)
    return Problem(points, start, loss="logistic", activation=LeakyReLU(slope, at_zero=1.0), train="first")


def started(of: Problem) -> bool:
    """Whether 0.4 m <= |S_i^(0)| <= 0.6 m for all i: the event of Lemma A.2, which the ReLU results assume."""
    at = setting(of)
    return bool(np.all(np.abs(at.size / at.m - 0.5) <= 0.1 + 1e-12))


def relu(kappa: float, **options) -> Problem:
    """A ReLU problem from the first seed whose start has the event of Lemma A.2."""
    made = (problem(kappa, 0.0, m=20, seed=seed, **options) for seed in range(1000))
    return next(of for of in made if started(of))


def step(of: Problem, h: float = 0.25) -> float:
    """The step that makes h = eta R_max^2/(nm), with output weights +-1/(2m)."""
    c = abs(float(of.init.arrays()[1][0]))
    m = of.init.width // 2
    return h * of.data.n * m / float(np.max(np.sum(of.data.x**2, axis=1))) / (c * m) ** 2


def descent(of: Problem, iterations: int = ITERATIONS, h: float = 0.25):
    """A descent with frames at the first 64 iterations and then thirty to a decade."""
    eta = step(of, h)
    k = np.unique(np.rint(np.concatenate([np.arange(65), np.geomspace(64, iterations, 126)])))
    return solve(of, Descent(step=eta), t1=iterations * eta, save=Save(times=tuple(k * eta)))


def flow(of: Problem, log_t1: float = LOG_END, rtol: float = 1e-10):
    return solve(of, Flow(rtol=rtol), log_t1=log_t1)


RUNS = {
    "leaky": lambda: descent(problem(0.0, 0.5)),
    "leaky, kappa = 0.02": lambda: descent(problem(0.02, 0.5)),
    "leaky, slope 0.1": lambda: descent(problem(0.0, 0.1, beta=0.02), 200_000),
    "leaky flow": lambda: flow(problem(0.0, 0.5)),
    "leaky flow, kappa = 0.02": lambda: flow(problem(0.02, 0.5)),
    "relu": lambda: descent(relu(0.0)),
    "relu, kappa = 0.03": lambda: descent(relu(0.03), 100_000),
    "relu flow": lambda: flow(relu(0.0)),
    "relu flow, kappa = 0.03": lambda: flow(relu(0.03)),
    "leaky problem": lambda: problem(0.02, 0.5),
    "relu problem": lambda: relu(0.0),
}
SUBJECTS = {name: cache(make) for name, make in RUNS.items()}

_leaky = ("leaky", "leaky, kappa = 0.02", "leaky flow", "leaky flow, kappa = 0.02")
_relu = ("relu", "relu, kappa = 0.03", "relu flow", "relu flow, kappa = 0.03")
_orthogonal = ("relu", "relu flow")
ON: dict[str, tuple[str, ...]] = {
    "kou2023.lemma5_2": ("leaky", "leaky, kappa = 0.02", "leaky, slope 0.1", "relu", "relu, kappa = 0.03"),
    "kou2023.lemma5_4": (*_leaky, "leaky, slope 0.1"),
    "kou2023.lemma5_5": _relu,
    "kou2023.lemma5_6": (*_leaky, "leaky, slope 0.1"),
    "kou2023.lemma5_7": (*_leaky, "leaky, slope 0.1"),
    "kou2023.lemma5_8": _relu,
    "kou2023.lemma_b3": (*_leaky, "leaky, slope 0.1"),
    "kou2023.lemma_c1": (*_leaky, "leaky, slope 0.1"),
    "kou2023.lemma_c3": _leaky,
    "kou2023.lemma_d2": (*_leaky, "leaky, slope 0.1"),
    "kou2023.lemma_e2": _relu,
    "kou2023.lemma_f1": _relu,
    "kou2023.lemma_f2": _orthogonal,
    "kou2023.lemma_f3": _orthogonal,
    "kou2023.lemma_g1": _relu,
    "kou2023.limits": (*_leaky, "leaky, slope 0.1", *_orthogonal, "relu flow, kappa = 0.03"),
    "kou2023.relu_rate": ("relu flow", "relu flow, kappa = 0.03"),
    "kou2023.switching": _relu,
    "kou2023.theorem4_1": _leaky,
    "kou2023.theorem4_3": _relu,
    "kou2023.width": ("leaky problem", "relu problem"),
}
