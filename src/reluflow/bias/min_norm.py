r"""The least |theta|^2 = sum |w_j|^2 + a_j^2 of a network that fits the data [orthogonal_square_loss, 2.9 and 6].

    orthogonal rows   2 (|E+| + |E-|),  E = sum_class y_k x_k / |x_k|^2: one neuron per class, along E+ and -E-
    otherwise         the cone programme over activation patterns, with a dual certificate where all are known

Half of it is the variation norm of the function (the F1 norm, with |w| |a| summed over neurons).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

import numpy as np

from reluflow._checks import number, one_of
from reluflow.bias import _programme, _recover, _sandwich
from reluflow.bias._input import activation_of, as_data, cone_of, directions_of, outputs
from reluflow.bias._programme import Cone, Found, NoSolution
from reluflow.bias.patterns import MOST, Patterns, Search, patterns
from reluflow.bias.regularised import Penalty, Regularised, regularised
from reluflow.data.core import Data
from reluflow.init import Params
from reluflow.losses import LOSSES

if TYPE_CHECKING:
    from reluflow.bias.several import GroupNorm

ALL_AT_ONCE = 60  # patterns up to which every block is in the first programme


@dataclass(frozen=True)
class Bound:
    """A number and its justification."""

    value: float
    label: str

    def __str__(self) -> str:
        return f"{self.value:.9g} ({self.label})"


@dataclass(frozen=True, eq=False)
class MinNorm:
    """The minimum norm, or bounds on it.

    `value`      |theta|^2 of `params`, a network that fits: never below the minimum but for `residuals`
    `lower`      the best certified lower bound; `bounds` holds every bound with its label
    `exact`      whether value and lower agree because all patterns were included
    `nu`         the dual variables: |sum nu_k s(<w, x_k>)| <= |w| on all cells looked at
    `residuals`  interpolation max |f - y|, stationarity, complementarity (both relative), dual violation
    """

    data: Data
    params: Params
    value: float
    lower: float
    bounds: dict[str, Bound]
    exact: bool
    nu: np.ndarray
    patterns: Patterns
    way: str
    slope: float
    residuals: dict[str, float] = field(default_factory=dict)

    @property
    def variation_norm(self) -> float:
        """sum |a_j| |w_j| of a balanced network: value / 2."""
        return 0.5 * self.value

    @property
    def kinks(self) -> np.ndarray:
        """Where the neurons switch, for data on a line with a bias column; nan for a neuron that never does."""
        w = self.params.w
        if self.data.d != 2 or np.ptp(self.data.x[:, 1]) > 0 or self.data.x[0, 1] == 0:
            raise ValueError(
                f"`kinks` needs points on a line with a bias column, got {self.data!r}: use `data.with_bias()`."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(w[:, 0] != 0, -w[:, 1] * self.data.x[0, 1] / w[:, 0], np.nan)

    def __call__(self, x) -> np.ndarray:
        """The function at the rows of x."""
        return outputs(self.params, x, self.slope)

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return {
            "value": self.value,
            "lower": self.lower,
            "exact": self.exact,
            "way": self.way,
            "patterns": len(self.patterns),
            "neurons": self.params.width,
            "variation_norm": self.variation_norm,
            "bounds": {k: {"value": b.value, "label": b.label} for k, b in self.bounds.items()},
            "residuals": dict(self.residuals),
        }

    def __str__(self) -> str:
        sure = "min |theta|^2 =" if self.exact else "min |theta|^2 <="
        lines = [
            f"{sure} {self.value:.9g}  ({self.way}, {len(self.patterns)} patterns, {self.params.width} neurons)",
            f"  variation norm {self.variation_norm:.9g}",
            *(f"  {name}: {bound}" for name, bound in self.bounds.items()),
            "  residuals: " + ", ".join(f"{k} {v:.2g}" for k, v in self.residuals.items()),
        ]
        return "\n".join(lines)

    __repr__ = __str__


@overload
def min_norm(
    data,
    *,
    decay: float,
    loss: str | None = None,
    reduction: str | None = None,
    activation=None,
    network=None,
    patterns="auto",
    most: int = MOST,
    samples: int = 4000,
    seconds: float = 30.0,
    seed: int = 0,
) -> Regularised: ...
@overload
def min_norm(
    data,
    *,
    activation=None,
    network=None,
    patterns="auto",
    most: int = MOST,
    samples: int = 4000,
    seconds: float = 30.0,
    seed: int = 0,
) -> MinNorm: ...


def min_norm(
    data,
    *,
    activation=None,
    network=None,
    patterns="auto",
    most: int = MOST,
    samples: int = 4000,
    seconds: float = 30.0,
    seed: int = 0,
    decay: float | None = None,
    loss: str | None = None,
    reduction: str | None = None,
) -> MinNorm | Regularised | GroupNorm:
    """The least |theta|^2 that fits `data` (or the data of a problem or run).

    With `decay` > 0 the least L + (decay/2) |theta|^2 instead, over networks of any width: a `Regularised`. `loss` and
    `reduction` are those of L, the problem's own or "square" and "mean" where left out.

    `patterns` is "auto", "exact" (all cells; an error if there are more than `most`), "sampled", or an array of
    bits (M, n) to restrict the programme to, which gives an upper bound. `network`, a `Params` or a run, adds its own
    neurons' patterns, so that the value is at most its |theta|^2 if it fits. Sampling stops after `seconds`.

    With several outputs the result is a `GroupNorm`: bounds on the least 2 sum_j |a_j| |w_j|, certified where its
    `note` says so.
    """
    subject, data = data, as_data(data, "rf.bias.min_norm", several=decay is None)
    slope = activation_of(subject, activation).slope
    search = Search(patterns, most, samples, seconds, seed, network)
    if several_outputs(subject):
        return fitted_group_norm(subject, slope, search)
    if decay is not None:
        return regularised(data, slope, _penalty(subject, decay, loss, reduction), search)
    cone, kept, basis = cone_of(data, slope, margin=False)
    if isinstance(patterns, str) and patterns == "auto" and slope == 0.0 and _orthogonal(cone):
        return _closed_form(data, cone, kept, basis)
    pats, found = solve_cone(data, cone, kept, basis, search)
    v, sigma = _recover.network(cone, found)
    value = 2.0 * float(np.sum(np.linalg.norm(v, axis=1)))
    nu = np.zeros(data.n)
    nu[kept] = found.nu
    bounds = bounds_of(cone, found, pats, value)
    lower = certified(bounds)
    residuals = {
        "interpolation": float(np.max(np.abs(_recover.outputs(cone, v, sigma) - cone.y))),
        "stationarity": _recover.stationarity(cone, v, sigma, found.nu),
        "complementarity": abs(value - cone.worth(found.nu)) / value,
        "dual": max(0.0, found.worst - 1.0),
    }
    params = _recover.params(v, sigma, basis)
    return MinNorm(data, params, value, lower, bounds, pats.exact, nu, pats, "cone programme", slope, residuals)


def several_outputs(subject) -> bool:
    """Whether labels or network have several outputs."""
    return getattr(getattr(subject, "problem", subject), "outputs", 1) > 1


def fitted_group_norm(subject, slope: float, search: Search) -> GroupNorm:
    """Bounds on the least group norm that fits the labels, which must be numbers."""
    from reluflow.bias.several import group_norm

    problem = getattr(subject, "problem", subject)
    if getattr(problem, "loss", "square") != "square":
        raise ValueError(f"The {problem.loss} loss does not fit labels exactly: use `rf.bias.max_margin`.")
    data = as_data(subject, "rf.bias.min_norm", several=True)
    try:
        return group_norm(data, data.y, slope, False, search)
    except NoSolution as error:
        raise ValueError(
            f"No network fits {data!r} with the directions tried ({error}): drop rows that contradict each other, or "
            "give a `network` that fits."
        ) from None


def _penalty(subject, decay, loss, reduction) -> Penalty:
    """The objective asked for, checked."""
    problem = getattr(subject, "problem", subject)
    decay = number(
        "decay",
        decay,
        rule="positive and finite",
        ok=lambda v: 0.0 < v < np.inf,
        hint="leave it out for the minimum norm",
    )
    loss = one_of("loss", loss or getattr(problem, "loss", "square"), LOSSES)
    reduction = one_of("reduction", reduction or getattr(problem, "reduction", "mean"), ("mean", "sum"))
    y = as_data(subject, "rf.bias.min_norm").y
    if LOSSES[loss].labels == "signs" and not np.all(np.abs(y) == 1.0):
        raise ValueError(f"Labels must be +1 or -1 for the {loss} loss, got {y[np.abs(y) != 1.0][0]:g}.")
    return Penalty(loss, 1.0 / len(y) if reduction == "mean" else 1.0, decay)


def solve_cone(data: Data, cone: Cone, kept, basis, search: Search) -> tuple[Patterns, Found]:
    """The programme by the requested method; a sentence instead of a solver status."""
    own = directions_of(search.network)
    try:
        if not isinstance(search.how, str):
            bits = np.atleast_2d(np.asarray(search.how)).astype(bool)
            if bits.ndim != 2 or bits.shape[1] != data.n:
                raise ValueError(f"`patterns` must have one column per point ({data.n}), got shape {bits.shape}.")
            found = _programme.solve(cone, bits[:, kept])
            every = patterns(data.x, "auto", most=search.most)
            if every.exact:  # then the dual can be checked on all cells, and made feasible
                found.worst = float(np.max(cone.reach(found.nu, every.bits[:, kept])))
            return Patterns(bits, np.zeros((len(bits), data.d)), False, "given" if every.exact else "few"), found
        pats = search.patterns(data.x, extra=own)
        bits, points = pats.bits[:, kept], pats.points @ basis.T
        if pats.exact or cone.slope == 1.0:
            start = None if len(bits) <= ALL_AT_ONCE else atoms(cone, points)
            return pats, _programme.solve(cone, bits, start)
        first = _class_points(cone) if cone.z.shape[0] == cone.z.shape[1] else points[atoms(cone, points)]
        if own is not None:
            first = np.vstack([first, own @ basis.T])
        rng = np.random.default_rng([search.seed, 3])
        starts = np.vstack([points[:500], rng.normal(size=(200, len(basis)))])
        found = _programme.search(cone, first, starts, search.seconds)
        full = np.zeros((len(found.bits), data.n), bool)
        full[:, kept] = found.bits
        return Patterns(full, found.v @ basis, False, "sampled"), found
    except NoSolution as error:
        raise ValueError(
            f"The patterns must allow a network that fits, got {data!r} with patterns that do not ({error}): "
            'use `patterns="auto"`, more `samples`, or a `network` that fits.'
        ) from None


def bounds_of(cone: Cone, found: Found, pats: Patterns, value: float) -> dict[str, Bound]:
    """All available bounds, with their labels."""
    bounds = {"upper": Bound(value, "a network that fits")}
    dual = cone.worth(found.nu) / found.worst
    if pats.exact or pats.how == "given":
        bounds["lower"] = Bound(dual, "certified: dual feasible on every cell")
    elif pats.how == "sampled":
        bounds["lower sampled"] = Bound(dual, "sampled: dual feasible on every direction tried")
    bounds["lower eigenvalue"] = Bound(_sandwich.below(cone), "certified: eigenvalues of each class")
    if np.isfinite(high := _sandwich.above(cone)):
        bounds["upper eigenvalue"] = Bound(high, "certified: smallest eigenvalue of XX'")
    return bounds


def certified(bounds: dict[str, Bound]) -> float:
    """The best lower bound that is certified."""
    return max(b.value for k, b in bounds.items() if k.startswith("lower") and b.label.startswith("certified"))


def atoms(cone: Cone, points: np.ndarray) -> np.ndarray:
    """Indices of few `points` whose directions fit the data: a vertex of the linear programme over all of them."""
    from scipy.optimize import linprog

    u = points @ cone.z.T
    size = np.maximum(np.linalg.norm(points, axis=1), 1e-300)
    columns = (np.where(u > 0, u, cone.slope * u) / size[:, None]).T
    both = np.hstack([columns, -columns])
    fit = dict(A_eq=both, b_eq=cone.y)
    if cone.margin:
        fit = dict(A_ub=-cone.y[:, None] * both, b_ub=-np.ones(len(cone.y)))
    found = linprog(np.ones(both.shape[1]), **fit, bounds=(0, None), method="highs")
    if found.status != 0:
        raise NoSolution("no combination of the directions fits")
    return np.unique(np.flatnonzero(found.x > 0) % len(points))


def _class_points(cone: Cone) -> np.ndarray:
    """Independent rows: the direction active on positive labels alone, and that active on negative labels alone."""
    side = np.where(cone.y > 0, 1.0, -1.0)
    w = cone.back @ side
    return np.array([w, -w])


def _orthogonal(cone: Cone) -> bool:
    unit = cone.z / np.linalg.norm(cone.z, axis=1, keepdims=True)
    return bool(np.max(np.abs(unit @ unit.T - np.eye(len(unit)))) < 1e-14 * max(8, unit.shape[1]))


def _closed_form(data: Data, cone: Cone, kept, basis) -> MinNorm:
    nu2 = np.sum(cone.z**2, axis=1)
    v, sigma, nu, bits = [], [], np.zeros(data.n), []
    for s in (1.0, -1.0):
        rows = np.flatnonzero(s * cone.y > 0)
        if len(rows):
            E = (cone.y[rows] / nu2[rows]) @ cone.z[rows]
            v.append(s * E)
            sigma.append(s)
            nu[kept[rows]] = cone.y[rows] / nu2[rows] / np.linalg.norm(E)
            bits.append(s * data.y > 0)
    V, signs = np.array(v), np.array(sigma)
    value = 2.0 * float(np.sum(np.linalg.norm(V, axis=1)))
    lower = cone.worth(nu[kept])
    miss = float(np.max(np.abs(_recover.outputs(cone, V, signs) - cone.y)))
    bounds = {
        "upper": Bound(value, "a network that fits"),
        "lower": Bound(lower, "certified: dual of orthogonal rows, feasible by Cauchy-Schwarz"),
    }
    pats = Patterns(np.array(bits), V @ basis, True, "closed form")
    residuals = {"interpolation": miss, "complementarity": abs(value - lower) / value}
    params = _recover.params(V, signs, basis)
    return MinNorm(data, params, value, lower, bounds, True, nu, pats, "closed form", 0.0, residuals)
