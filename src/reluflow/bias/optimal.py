r"""Whether a network is globally optimal with weight decay, or rests at a spurious point, and why.

At a stationary point of L + (decay/2) |theta|^2 let g = -dL/df and

    r = max_{|w| = 1} |sum_i g_i s(<w, x_i>)| / decay.

It is a global minimum, over networks of any width, if and only if r <= 1. Otherwise a new neuron of size epsilon along
the maximiser w lowers the objective by about (r - 1) decay epsilon: a proof that the point is spurious. In both cases
D(g / r) (`regularised`) bounds the optimum from below, and with it the gap, for any network, at rest or not.
"""

from dataclasses import dataclass

import numpy as np

from reluflow.bias import _programme
from reluflow.bias._input import numbers, outputs
from reluflow.bias._state import State, state_at, state_of
from reluflow.bias.patterns import MOST, Patterns, Search
from reluflow.bias.regularised import Penalty, Programme, programme_of
from reluflow.init import Params
from reluflow.problem import Problem

AT_REST = 1e-5  # |gradient| / (decay |theta|) below which a network counts as stationary
OPTIMAL = 1e-6  # relative gap below which it counts as optimal, and excess of r over 1 above which it is spurious


@dataclass(frozen=True, eq=False)
class Optimality:
    """What `rf.bias.optimal` found.

    `objective`   L + (decay/2) |theta|^2 of the network
    `lower`       a lower bound on the objective of every network of any width; `gap` = objective - lower
    `ratio`       r of the module; `direction` and `sign`: the unit w and the sign that attain it
    `stationarity` |gradient of the objective| / (decay |theta|), sliding neurons along their surfaces
    `certified`   whether all activation patterns were looked at; otherwise `lower` and "globally optimal" hold for
                  those that were, and "spurious" is proved all the same
    `better`      for a spurious point: the network with one more neuron, whose objective is `improved`
    """

    verdict: str
    objective: float
    lower: float
    ratio: float
    direction: np.ndarray
    sign: float
    stationarity: float
    certified: bool
    decay: float
    better: Params | None = None
    improved: float = float("nan")

    @property
    def gap(self) -> float:
        return self.objective - self.lower

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        names = (
            "verdict",
            "objective",
            "lower",
            "gap",
            "ratio",
            "sign",
            "stationarity",
            "certified",
            "decay",
            "improved",
        )
        return {name: getattr(self, name) for name in names} | {"direction": self.direction.tolist()}

    def __str__(self) -> str:
        head = (
            f"{self.verdict}: objective {self.objective:.9g}, optimum >= {self.lower:.9g}, dual ratio {self.ratio:.6g}"
        )
        if self.verdict == "spurious":
            way = np.array2string(self.direction, precision=6, separator=", ")
            head += f"; a neuron with a {'>' if self.sign > 0 else '<'} 0 along {way} lowers it to {self.improved:.9g}"
        if self.verdict == "not at rest":
            head += f"; the gradient is {self.stationarity:.2g} of decay |theta|"
        return head + ("" if self.certified else " (patterns sampled)")

    __repr__ = __str__


def optimal(
    subject, params: Params | None = None, *, most: int = MOST, samples: int = 4000, seed: int = 0
) -> Optimality:
    """The verdict on a run's end, or on `params` as a network of a problem.

    It is "globally optimal", "spurious" (at rest, and another network is better) or "not at rest".
    Needs `decay` > 0 and both layers trained. All activation patterns are looked at where there are at most `most`,
    otherwise ascent from `samples` random directions looks for the largest pull.
    """
    problem: Problem = getattr(subject, "problem", subject)
    if not isinstance(problem, Problem) or (problem is subject and params is None):
        raise TypeError(
            f"`rf.bias.optimal` needs a run, or a problem and the `params` of a network, got {type(subject).__name__}."
        )
    if not problem.decay > 0.0:
        raise ValueError("`rf.bias.optimal` needs `decay` > 0, got 0: compare `rf.bias.min_norm` without decay.")
    if problem.train != "both":
        raise ValueError('`rf.bias.optimal` needs `train="both"`, got "first": with fixed output weights it differs.')
    state = state_of(problem, params) if params is not None else state_at(subject, log_t=subject.log_t_end)
    return judged(state, Search(most=most, samples=samples, seed=seed))


def judged(state: State, search: Search) -> Optimality:
    """The verdict on one network."""
    problem = state.problem
    data, penalty = problem.data, Penalty(problem.loss, problem.weight, problem.decay)
    programme, kept, basis = programme_of(data, problem.activation.slope, penalty)
    g = state.drive[kept]
    ratio, w, sign, exact = largest(programme, g / penalty.decay, search.patterns(data.x), kept, basis)
    w_all, a_all = state.weights
    size = float(np.sum(w_all**2) + np.sum(a_all**2))
    objective = penalty.value(data.y, state.f, size)
    rest = penalty.value(np.delete(data.y, kept), np.zeros(data.n - len(kept)), 0.0)
    lower = penalty.below(programme.cone.y, g / max(1.0, ratio)) + rest
    still = stationarity(state, size)
    better, improved = added(problem, penalty, state, basis.T @ w, sign, size)
    verdict = "not at rest"
    if objective - lower <= OPTIMAL * abs(objective):
        verdict = "globally optimal"
    elif still <= AT_REST and ratio > 1.0 + OPTIMAL and improved < objective:
        verdict = "spurious"
    spurious = verdict == "spurious"
    return Optimality(
        verdict=verdict,
        objective=objective,
        lower=lower,
        ratio=ratio,
        direction=basis.T @ w,
        sign=sign,
        stationarity=still,
        certified=exact,
        decay=penalty.decay,
        better=better if spurious else None,
        improved=improved if spurious else float("nan"),
    )


def largest(
    programme: Programme, nu: np.ndarray, pats: Patterns, kept: np.ndarray, basis: np.ndarray
) -> tuple[float, np.ndarray, float, bool]:
    """(r, unit w in the coordinates of the basis, sign, whether every cell was looked at) of the largest pull."""
    from scipy.optimize import nnls

    cone = programme.cone
    if not pats.exact:
        starts = np.vstack([pats.points @ basis.T, np.eye(len(basis)), -np.eye(len(basis))])
        tops = [(t, w, s) for s in (1.0, -1.0) for t, w in _programme.climb(cone, s * nu, starts, turns=200)]
        top, w, sign = max(tops, key=lambda found: found[0])
        return float(top), w, sign, False
    bits = pats.bits[:, kept]
    reach = cone.reach(nu, bits)
    cell, side = (int(v) for v in np.unravel_index(int(np.argmax(reach)), reach.shape))
    sign = 1.0 - 2.0 * side
    pull = sign * ((cone.bits_to_slopes(bits[cell]) * nu) @ cone.z)
    if cone.slope < 1.0:
        walls = np.where(bits[cell], 1.0, -1.0)[:, None] * cone.z
        pull = pull + nnls(walls.T, -pull)[0] @ walls
    top = float(np.max(reach))
    return top, pull / max(float(np.linalg.norm(pull)), 1e-300), sign, True


def stationarity(state: State, size: float) -> float:
    """|gradient of the objective| / (decay |theta|); 0 for a network that is 0 to rounding."""
    decay = state.problem.decay
    w, a = state.weights
    if size <= 1e-15:
        return 0.0
    D = state.pulls
    gradient = np.concatenate([(decay * w - a[:, None] * D).ravel(), decay * a - np.sum(D * w, axis=1)])
    return float(np.linalg.norm(gradient) / (decay * np.sqrt(size)))


def added(problem: Problem, penalty: Penalty, state: State, w: np.ndarray, sign: float, size: float):
    """(the network with one more balanced neuron along w, its objective), the best size of it."""
    from scipy.optimize import minimize_scalar

    data, slope = problem.data, problem.activation.slope
    u = data.x @ w
    shape = sign * np.where(u > 0, u, slope * u)

    def objective(v):
        return penalty.value(data.y, state.f + v * shape, size + 2.0 * v)

    top = 1.0
    while objective(2.0 * top) < objective(top) and top < 1e12:
        top *= 2.0
    found = minimize_scalar(objective, bounds=(0.0, 2.0 * top), method="bounded", options={"xatol": 1e-12 * top})
    root = float(np.sqrt(found.x))
    w_all, a_all = numbers(state.params)
    network = Params(np.vstack([w_all, root * w]), np.append(a_all, sign * root))
    f = outputs(network, data.x, slope)
    return network, penalty.value(data.y, f, size + 2.0 * root * root)
