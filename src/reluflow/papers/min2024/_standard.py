"""The standard subjects of [MMV24] and what is judged on them.

Three data sets at the theorem's own scale, where every hypothesis of Theorem 1 is met; practical scales, where (28)
fails; a mean logistic run, a square-loss run, a leaky run; the plane toy of Figure 6.
"""

from functools import cache

import numpy as np

import reluflow as rf
from reluflow.papers.min2024._constants import constants

# What `reluflow check min2024.NAME --data FILE` runs, before `--set`.
EXPERIMENT = {
    "init": {"kind": "balanced", "width": 20, "log_scale": -20.0},
    "problem": {"loss": "exponential", "reduction": "sum"},
    "solve": {"log_t1": 15.0},
}

# What `rf.falsify` searches for each check: data separable by any mu, the scale below what the theorem admits.
SPACE = {
    "kind": "separable",
    "n": [2, 3, 4],
    "width": [2, 4],
    "log_scale": "min2024",
    "loss": "exponential",
    "reduction": "sum",
}
SPACES: dict[str, dict] = {
    "min2024.equation36": {"n": [4, 12], "width": 4},
    "min2024.theorem1 printed": {"n": [1, 2, 3]},
    # Early phases: any scale, in the loss that the text names.
    "min2024.lemma1 printed": {"loss": "logistic"},
    "min2024.lemma4 printed": {"loss": "logistic"},
    "min2024.lemma10 printed": {"loss": "logistic"},
}


def admitted(problem, stage: str = "") -> float:
    """The largest log eps that (28) admits, in either form."""
    both = [constants(problem, form) for form in ("corrected", "printed")]
    return float(min(min(c.log_eps_a, c.log_eps_b) for c in both))


@cache
def data(name: str):
    if name == "plane":
        return rf.data.toy_plane()
    n, d, mu, low, high, seed = {
        "six": (6, 5, 0.64, 1.0, 1.0, 0),
        "seven": (7, 6, 0.39, 1.0, 1.0, 1),
        "twelve": (12, 10, 0.55, 1.0, 1.1, 2),
    }[name]
    return rf.data.orthogonally_separable(n, d, mu, norm_min=low, norm_max=high, seed=seed)


def own_scale(points, width: int, seed: int) -> float:
    """The largest whole log eps that (28) admits."""
    c = constants(rf.Problem(points, rf.init.balanced(width, points.d, log_scale=-1.0, seed=seed), loss="exponential"))
    return float(np.floor(min(c.log_eps_a, c.log_eps_b)))


@cache
def run(name: str, log_scale: float | None = None, loss="exponential", reduction="sum", slope=0.0, width=20, seed=0):
    points = data(name)
    log_scale = own_scale(points, width, seed) if log_scale is None else log_scale
    init = rf.init.balanced(width, points.d, log_scale=log_scale, seed=seed)
    problem = rf.Problem(points, init, loss=loss, reduction=reduction, activation=rf.LeakyReLU(slope))
    if loss == "square":
        return rf.solve(problem, rf.Flow(rtol=1e-8), t1=2.0 * -log_scale)
    return rf.solve(problem, rf.Flow(rtol=1e-8), log_t1=max(18.0, 8.0 + np.log(-log_scale)))


SUBJECTS = {
    "six": lambda: run("six"),
    "seven": lambda: run("seven"),
    "twelve": lambda: run("twelve", loss="logistic2", seed=2),
    "six at e^-14": lambda: run("six", -14.0),
    "seven, mean logistic at e^-50": lambda: run("seven", -50.0, loss="logistic", reduction="mean"),
    "six, square loss at e^-200": lambda: run("six", -200.0, loss="square"),
    "six, leaky at e^-50": lambda: run("six", -50.0, slope=0.1),
    "plane": lambda: run("plane", seed=4),
}

_own = ("six", "seven", "twelve")
_all = (*_own, "six at e^-14", "seven, mean logistic at e^-50", "plane")
_early = (*_all, "six, square loss at e^-200", "six, leaky at e^-50")
_data = (*_own, "plane")

ON: dict[str, tuple[str, ...]] = {
    "min2024.assumption1": _data,
    "min2024.assumption2": _own,
    "min2024.equation28": (*_own, "six at e^-14"),
    **{f"min2024.{name}": _early for name in ("lemma1", "lemma3", "lemma4", "lemma10")},
    **{f"min2024.lemma{k}": _data for k in (5, 6, 7, 8, 9, 11)},
    **{f"min2024.{name}": _all for name in ("lemma12", "lemma13", "lemma14", "lemma15", "theorem1", "equation7")},
    **{
        f"min2024.{name}": _all
        for name in ("dwell", "travel_time", "equation36", "final_rate", "low_rank", "equation46")
    },
    **{f"min2024.{name}": _all for name in ("equation50", "refined_alignment", "repulsion", "appendix_f")},
    "min2024.poster": _own,
    "min2024.sharp_t2": (*_own, "six at e^-14", "seven, mean logistic at e^-50"),
    "min2024.equation37": _data,
    "min2024.random_init": ("six", "plane"),
}
