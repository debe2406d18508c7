"""The standard runs of this paper, and which results are judged on which of them."""

from functools import cache, partial

import numpy as np

import reluflow as rf
from reluflow.papers.boursier2022 import _scale
from reluflow.papers.boursier2022._constants import Constants

# What `reluflow check boursier2022.NAME --data FILE` runs, before `--set`.
EXPERIMENT = {
    "init": {"kind": "balanced", "width": 60, "log_scale": -138.0},
    "problem": {"loss": "square"},
    "method": {"kind": "flow", "rtol": 1e-10},
}
# What `rf.falsify` searches for each check: orthonormal inputs, in their own coordinates, with Assumption 3.
SPACE = {
    "kind": "orthonormal",
    "n": [2, 3, 4],
    "width": [2, 4],
    "init": "covering",
    "log_scale": [-3000.0, -5.0],
    "rtol": 1e-10,
}
SPACES: dict[str, dict] = {
    "boursier2022.norms": {"norms": True},
    "boursier2022.proposition1": {"norms": True},
    "boursier2022.assumption1": {"norms": True},
    "boursier2022.limit_groups": {"init": "balanced"},
    "boursier2022.proposition2": {"init": "balanced"},
    "boursier2022.leaky": {"slope": 0.3},
    # At the scale of the proof's own conditions, up to each phase; late phases end at levels near rounding.
    **{f"boursier2022.{k}": {"log_scale": "boursier2022:1"} for k in ("lemma2", "lemma7", "lemma8", "lemma9")},
    **{
        f"boursier2022.{k}": {"log_scale": "boursier2022:2", "reduction": "sum", "rtol": 1e-12}
        for k in ("fact1", "lemma3", "lemma10")
    },
    **{
        f"boursier2022.{k}": {"log_scale": f"boursier2022:{phase}", "reduction": "sum", "rtol": 2e-13, "n": [2, 3]}
        for k, phase in (("lemma4", 3), ("lemma11", 3), ("lemma12", 3), ("lemma13", 4), ("lemma15", 4), ("theorem2", 4))
    },
}


def admitted(problem, phase: str) -> float:
    """The largest log lambda that meets the conditions of the proof up to a phase, 1 to 4."""
    names = {"1": _scale.PHASE_1, "2": _scale.PHASE_2, "3": _scale.PHASE_3, "4": _scale.FINAL}[phase]
    found = _scale.thresholds(Constants(problem))
    return LN10 * min(found[name] for name in names)


LABELS = (1.3, 0.8, -0.6, -0.9, 1.1)  # handbook, test 2
LN10 = float(np.log(10.0))


def two_points(log_scale: float = -60 * LN10):
    """Figure 2: m = 60, seed 0."""
    return rf.Problem(rf.data.two_points(), rf.init.balanced(60, 2, log_scale=log_scale, seed=0))


def orthonormal(log_scale: float = -60 * LN10):
    """A random orthonormal set: n = 5, d = 8, m = 48, with 6 and 4 neurons in the two sets."""
    data = rf.data.orthonormal(5, 8, labels=LABELS, seed=5)
    return rf.Problem(data, rf.init.balanced(48, 8, log_scale=log_scale, seed=5))


def unequal_norms(log_scale: float = -20 * LN10):
    """Two norms, 2 and 0.7, in the positive class (2.9)."""
    data = rf.data.orthogonal([2.0, 0.7, 1.0], labels=[1.0, 1.0, -0.5], d=3, seed=0)
    return rf.Problem(data, rf.init.balanced(40, 3, log_scale=log_scale, seed=0))


def narrow(seed: int, log_scale: float = -60 * LN10):
    """The orthonormal set with 10 neurons: no Assumption 3 (4.6)."""
    data = rf.data.orthonormal(5, 8, labels=LABELS, seed=5)
    return rf.Problem(data, rf.init.balanced(10, 8, log_scale=log_scale, seed=seed))


def small_labels(log_scale: float = -70 * LN10):
    """Labels so small that the proof's own conditions up to its second phase (C1-C9) are met from 1e-64 on, up to its
    third (C1-C12) from 1e-544 on."""
    data = rf.Data(np.eye(2), np.array([0.05, -0.03]))
    return rf.Problem(data, rf.init.balanced(20, 2, log_scale=log_scale, seed=0))


def two_neurons(log_scale: float = -2220 * LN10):
    """Two data, two neurons, the sum of losses: all of the proof's conditions (C1-C15) are met from 1e-2216 on, where
    lambda^{eps/29}, the level that ends the third phase, is 1e-10 and can still be told by a run with rtol 2e-13."""
    data = rf.Data(np.eye(2), np.array([0.2, -0.125]))
    w = np.array([[1.0, 0.3], [0.3, 1.0]])
    a = np.array([1.0, -1.0]) * np.linalg.norm(w, axis=1)
    return rf.Problem(data, rf.Params(w, a, log_scale=log_scale), reduction="sum")


def leaky(slope: float = 0.3, log_scale: float = -6 * LN10):
    plain = two_points(log_scale)
    return rf.Problem(plain.data, plain.init, activation=rf.LeakyReLU(slope))


@cache
def run(problem, *, rtol: float = 1e-10, t1: float | None = None, **options):
    """The flow of one of the problems above."""
    return rf.solve(problem(**options), rf.Flow(rtol=rtol), t1=t1)


FIGURE = float(np.log(1e-6 / np.sqrt(60)))  # Figure 2's own scale
SUBJECTS = {
    "two points, 1e-60": partial(run, two_points),
    "two points, 1e-6": partial(run, two_points, log_scale=-6 * LN10),
    "two points, as Figure 2": partial(run, two_points, log_scale=FIGURE),
    "two points, e^-4200": partial(run, two_points, rtol=1e-12, log_scale=-4200.0),
    "two points, 0.03/sqrt(m)": partial(run, two_points, log_scale=float(np.log(10**-1.5 / np.sqrt(60)))),
    "orthonormal, 1e-60": partial(run, orthonormal),
    "orthonormal, 1e-20": partial(run, orthonormal, log_scale=-20 * LN10),
    "orthonormal, 1e-6": partial(run, orthonormal, log_scale=-6 * LN10),
    "unequal norms, 1e-20": partial(run, unequal_norms),
    "narrow, covered, 1e-60": partial(run, narrow, seed=0),
    "narrow, a label uncovered, 1e-60": partial(run, narrow, seed=3),
    "leaky two points, 1e-6": partial(run, leaky),
    "small labels, 1e-70": partial(run, small_labels),
    "small labels, 1e-560": partial(run, small_labels, log_scale=-560 * LN10),
    "two neurons, 1e-2220": partial(run, two_neurons, rtol=2e-13, t1=41_100.0),
}
_BOTH = ("two points, 1e-60", "orthonormal, 1e-60")
_ALL = (*_BOTH, "orthonormal, 1e-20", "two points, 1e-6", "orthonormal, 1e-6")
_DATA = (*_BOTH, "unequal norms, 1e-20")
_PROOF = ("small labels, 1e-70", "small labels, 1e-560", "two neurons, 1e-2220")  # the proof's conditions are met
_PHASES = (
    "lemma2",
    "lemma3",
    "lemma4",
    "lemma7",
    "lemma8",
    "lemma9",
    "lemma10",
    "lemma11",
    "lemma12",
    "lemma13",
    "fact1",
)
ON: dict[str, tuple[str, ...]] = {
    **{f"boursier2022.{name}": _DATA for name in ("assumption1", "assumption2", "alpha", "proposition1", "equation8")},
    "boursier2022.assumption3": _BOTH,
    **{f"boursier2022.{name}": (*_ALL, *_PROOF) for name in _PHASES},
    **{f"boursier2022.{name}": (*_ALL, "small labels, 1e-70") for name in ("lemma3", "lemma10")},
    **{f"boursier2022.{name}": _ALL for name in ("theorem1", "rates", "limit_alignment", "limit_fitting")},
    "boursier2022.theorem2": (*_ALL, "two points, e^-4200", *_PROOF),
    "boursier2022.lemma5": (*_BOTH, "two points, e^-4200"),
    "boursier2022.lemma15": (*_BOTH, "two points, e^-4200", *_PROOF),
    "boursier2022.lemma1": (*_ALL, "unequal norms, 1e-20", "leaky two points, 1e-6"),
    "boursier2022.lemma6": (*_ALL, "unequal norms, 1e-20"),
    "boursier2022.lemma14": _DATA,
    "boursier2022.remark1": _ALL,
    "boursier2022.proposition2": _ALL,
    "boursier2022.scale": ("two points, 1e-6", "orthonormal, 1e-6"),
    "boursier2022.norms": (*_ALL, "unequal norms, 1e-20"),
    "boursier2022.limit_network": _ALL,
    "boursier2022.limit_groups": (*_BOTH, "narrow, covered, 1e-60", "narrow, a label uncovered, 1e-60"),
    "boursier2022.section5": ("two points, 1e-60", "two points, as Figure 2"),
    "boursier2022.loss_scale": ("two points, as Figure 2",),
    "boursier2022.nearly_orthogonal": ("two points, 1e-6", "orthonormal, 1e-6"),
    "boursier2022.gaussian_output": ("two points, as Figure 2", "orthonormal, 1e-6"),
    "boursier2022.leaky": ("leaky two points, 1e-6",),
    "boursier2022.larger_scale": ("two points, 0.03/sqrt(m)",),
}
