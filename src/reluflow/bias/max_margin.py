r"""The largest margin per squared norm, and how close to it a run on a loss with an exponential tail is.

    gamma* = max_theta min_i y_i f(x_i) / |theta|^2 = 1 / min {|theta|^2 : y_i f(x_i) >= 1}

The right side is the cone programme of `min_norm` with inequalities. Along a run, with theta scaled to margin 1 and
p_i proportional to the drive |g_i|, the residuals of the Karush-Kuhn-Tucker conditions of that problem are

    stationarity     min_c |theta - c h| / |theta|,   h = sum_i p_i y_i df_i/dtheta,   i.e. the sine of their angle
    complementarity  sum_i p_i (y_i f_i / min_k y_k f_k - 1)

Sliding data enter df/dtheta with the slopes of the flow. Both vanish at every KKT point, optimal or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from reluflow.bias import _recover
from reluflow.bias._input import activation_of, as_data, cone_of, outputs, squared_norm
from reluflow.bias._programme import NoSolution
from reluflow.bias.min_norm import Bound, bounds_of, certified, several_outputs, solve_cone
from reluflow.bias.patterns import MOST, Patterns, Search
from reluflow.bias.several import group_norm
from reluflow.data.core import Data, class_count, one_hot
from reluflow.init import Params
from reluflow.losses import LOSSES
from reluflow.problem import Problem

if TYPE_CHECKING:
    from reluflow.bias.several import GroupNorm


@dataclass(frozen=True, eq=False)
class Path:
    """A run compared with the optimum, one entry per time.

    `margin` is min y f / |theta|^2 (nan before the data are separated), `gap` is 1 - margin / gamma*, `distance` the
    mean square distance of f / |theta|^2 to the optimal network's on random unit inputs, relative to the latter's size.
    """

    log_t: np.ndarray
    margin: np.ndarray
    gap: np.ndarray
    stationarity: np.ndarray
    complementarity: np.ndarray
    distance: np.ndarray


@dataclass(frozen=True, eq=False)
class MaxMargin:
    """The maximum-margin network.

    `margin`    gamma* as `params` attains it (they have margin 1); `margin_bound` is a certified upper bound on it
    `bounds`    the same for min |theta|^2, with labels; `exact` if all patterns were included
    `linear`    the hard margin max min y <w, x> / |w| of linear classifiers, None where none separates the data
    `support`   the data with a multiplier, i.e. on the margin; `nu` all multipliers
    `path`      a `Path` when a run was given
    """

    data: Data
    params: Params
    margin: float
    margin_bound: float
    bounds: dict[str, Bound]
    exact: bool
    linear: float | None
    nu: np.ndarray
    patterns: Patterns
    slope: float
    residuals: dict[str, float]
    path: Path | None = None

    @property
    def squared_norm(self) -> float:
        """min |theta|^2 at margin 1."""
        return 1.0 / self.margin

    @property
    def support(self) -> np.ndarray:
        return np.flatnonzero(np.abs(self.nu) > 1e-6 * np.max(np.abs(self.nu)))

    def __call__(self, x) -> np.ndarray:
        """The function at the rows of x."""
        return outputs(self.params, x, self.slope)

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        out: dict = {
            "margin": self.margin,
            "margin_bound": self.margin_bound,
            "exact": self.exact,
            "linear": self.linear,
            "support": self.support.tolist(),
            "neurons": self.params.width,
            "bounds": {k: {"value": b.value, "label": b.label} for k, b in self.bounds.items()},
            "residuals": dict(self.residuals),
        }
        if self.path is not None:
            out["path"] = {k: [float(x) for x in v] for k, v in vars(self.path).items()}
        return out

    def __str__(self) -> str:
        sign = "=" if self.exact else ">="
        linear = "not separable" if self.linear is None else f"{self.linear:.9g}"
        lines = [
            f"max margin / |theta|^2 {sign} {self.margin:.9g}  ({self.params.width} neurons, support "
            f"{len(self.support)} of {self.data.n})",
            f"  linear hard margin: {linear}",
            *(f"  |theta|^2 at margin 1, {name}: {bound}" for name, bound in self.bounds.items()),
        ]
        if (p := self.path) is not None:
            lines.append(
                f"  the run at log t = {p.log_t[-1]:.6g}: margin {p.margin[-1]:.6g} (gap {p.gap[-1]:.3g}), "
                f"KKT residuals {p.stationarity[-1]:.3g}, {p.complementarity[-1]:.3g}, distance {p.distance[-1]:.3g}"
            )
        return "\n".join(lines)

    __repr__ = __str__


def max_margin(
    data,
    *,
    activation=None,
    patterns="auto",
    most: int = MOST,
    samples: int = 4000,
    seconds: float = 30.0,
    seed: int = 0,
    log_t=None,
) -> MaxMargin:
    """The maximum-margin two-layer network of `data` (or of a problem's data); with a Solution also the run's path to
    it, at the times e^`log_t` or at a few dozen of the run's own.

    For a problem or run with several outputs, or data with named classes, the margin is f_y - max over the other
    classes, and the result is a `GroupNorm`: bounds, certified where its `note` says so.
    """
    from reluflow.solution import Solution

    subject, data = data, as_data(data, "rf.bias.max_margin", several=True)
    slope = activation_of(subject, activation).slope
    run = subject if isinstance(subject, Solution) else None
    search = Search(patterns, most, samples, seconds, seed, run)
    if several_outputs(subject) or data.classes is not None:
        # Typed as what it is for one output, which callers read more from.
        return cast(MaxMargin, _of_classes(subject, data, slope, search))
    cone, kept, basis = cone_of(data, slope, margin=True)
    linear = linear_margin(data)
    if slope == 1.0 and linear is None:
        raise ValueError("A linear network (slope 1) cannot separate these data: use a slope below 1.")
    pats, found = solve_cone(data, cone, kept, basis, search)
    v, sigma = _recover.network(cone, found)
    value = 2.0 * float(np.sum(np.linalg.norm(v, axis=1)))
    bounds = bounds_of(cone, found, pats, value)
    lower = certified(bounds)
    nu = np.zeros(data.n)
    nu[kept] = found.nu
    residuals = {
        "stationarity": _recover.stationarity(cone, v, sigma, found.nu),
        "complementarity": abs(value - cone.worth(found.nu)) / value,
        "dual": max(0.0, found.worst - 1.0),
    }
    params = _recover.params(v, sigma, basis)
    path = None if run is None else along(run, params, value, log_t)
    return MaxMargin(
        data, params, 1.0 / value, 1.0 / lower, bounds, pats.exact, linear, nu, pats, slope, residuals, path
    )


def _of_classes(subject, data: Data, slope: float, search: Search) -> GroupNorm:
    problem = getattr(subject, "problem", None) or (subject if isinstance(subject, Problem) else None)
    if problem is not None:
        targets = problem.targets
    else:
        targets = data.y if data.outputs > 1 else one_hot(data.y, max(2, class_count(data.y), len(data.classes or ())))
    if not np.all((targets == 0) | (targets == 1)) or not np.all(targets.sum(axis=1) == 1):
        raise ValueError("A margin needs classes, got labels that are not one-hot: use `rf.bias.min_norm`.")
    try:
        return group_norm(data, targets, slope, True, search)
    except NoSolution as error:
        raise ValueError(f"No network separates {data!r} with the directions tried ({error}): drop rows.") from None


def linear_margin(data: Data) -> float | None:
    """max_w min_i y_i <w, x_i> / |w|, or None: the distance of 0 from the hull of the y_i x_i."""
    from scipy.optimize import nnls

    # min |A'l|^2 + (sum l - 1)^2 over l >= 0: for l = c mu, mu in the simplex, the best c leaves
    # |A'mu|^2 / (1 + |A'mu|^2), so its direction is the hull's nearest point to 0.
    rows = data.y[:, None] * data.x
    scale = float(np.max(np.linalg.norm(rows, axis=1)))
    system = np.vstack([rows.T / scale, np.ones(data.n)])
    weight, _ = nnls(system, np.append(np.zeros(data.d), 1.0), maxiter=50 * (data.n + data.d))
    w = (weight / np.sum(weight)) @ rows
    size = float(np.linalg.norm(w))
    margin = float(np.min(rows @ w)) / size if size > 1e-12 * scale else 0.0
    return margin if margin > 1e-12 * scale else None


def along(sol, best: Params, value: float, log_t=None) -> Path:
    """The path of a run whose optimum is `best`, with |theta|^2 = `value` at margin 1."""
    problem = sol.problem
    if problem.train != "both":
        raise ValueError('A margin path needs `train="both"`, got "first": its norm counts both layers.')
    log_t = _moments(sol) if log_t is None else np.atleast_1d(np.asarray(log_t, float))
    states, bits, f = sol.at(log_t=log_t), sol.bits_at(log_t=log_t), sol.outputs_at(log_t=log_t)
    rng = np.random.default_rng([0, 3])
    probe = rng.normal(size=(400, problem.data.d))
    probe /= np.linalg.norm(probe, axis=1, keepdims=True)
    target = outputs(best, probe, problem.activation.slope) / value
    rows = []
    for params, m, out in zip(states, bits, f):
        yf, size = problem.data.y * out, squared_norm(params)
        if not np.min(yf) > 0:
            rows.append((np.nan,) * 4)
            continue
        p = weights(problem, yf)
        ours = outputs(params, probe, problem.activation.slope) / size
        rows.append(
            (
                float(np.min(yf)) / size,
                sine(params, m, problem.data, p),
                float(p @ (yf / np.min(yf) - 1.0)),
                float(np.linalg.norm(ours - target) / np.linalg.norm(target)),
            )
        )
    margin, stationarity, complementarity, distance = np.array(rows).T
    return Path(log_t, margin, 1.0 - margin * value, stationarity, complementarity, distance)


def weights(problem, yf: np.ndarray) -> np.ndarray:
    """p_i = |g_i| / sum |g|, through logarithms."""
    if not problem.tailed:
        raise ValueError(f"A margin path needs a loss with an exponential tail, got the {problem.loss} loss.")
    logs = LOSSES[problem.loss].log_force(yf)
    p = np.exp(logs - np.max(logs))
    return p / np.sum(p)


def sine(params: Params, bits: np.ndarray, data: Data, p: np.ndarray) -> float:
    """The sine of the angle between theta and h = sum_i p_i y_i df_i/dtheta, 1 where it is obtuse."""
    log_w, log_a = params.log_scales
    top = max(float(np.max(log_w)), float(np.max(log_a)))
    with np.errstate(under="ignore"):
        w, a = params.w * np.exp(log_w - top)[:, None], params.a * np.exp(log_a - top)
    D = (bits * (p * data.y)) @ data.x
    theta = np.concatenate([w.ravel(), a])
    h = np.concatenate([(a[:, None] * D).ravel(), np.sum(D * w, axis=1)])
    theta, h = theta / np.linalg.norm(theta), h / max(float(np.linalg.norm(h)), 1e-300)
    if theta @ h <= 0:
        return 1.0
    half = 0.5 * float(np.linalg.norm(theta - h))  # sin(angle/2), without cancellation
    return float(min(1.0, 2.0 * half * np.sqrt(max(0.0, 1.0 - half**2))))


def _moments(sol) -> np.ndarray:
    log_t = sol.log_t[np.isfinite(sol.log_t)]
    return log_t[np.unique(np.linspace(0, len(log_t) - 1, 40).astype(int))]
