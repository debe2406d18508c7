r"""Networks with several outputs: the least sum_j |a_j| |w_j| that fits, and the largest margin of classes, by bounds.

    value   min 2 sum_j |a_j| |w_j|     s.t.  f(x_i) = y_i,    or  f_y - f_c >= 1 for all c != y
    dual    max 2 <Lambda, Y>           s.t.  psi(w) = |sum_i s(<w, x_i>) lambda_i| <= |w|  for all w
            (margin: Lambda_i = sum_c mu_ic (e_y - e_c), mu >= 0, and 2 sum mu)

2 |a_j| |w_j| is |w_j|^2 + |a_j|^2 of a balanced neuron. For one output each cell of activation patterns gives a convex
problem; for several psi is maximised over a cone, which is not convex, so that value and dual are bounds
[vector_outputs, section 5]. Upper: a cone programme over a list of directions, to which the maximisers of psi found by
ascent are added.
Lower: Lambda over the largest psi; certified where psi is bounded on every cell, by the largest singular value of
M = sum_i m_i lambda_i x_i^T there, or exactly where the data span a plane.
"""

from dataclasses import dataclass
from time import monotonic

import numpy as np

from reluflow.bias._programme import solved
from reluflow.bias.min_norm import Bound
from reluflow.bias.patterns import Patterns, Search, span
from reluflow.data.core import Data, class_margins
from reluflow.init import Params

ENOUGH = 1e-8  # relative violation of the dual below which no direction is added
AT_ONCE = 24  # directions added in one round
EXACT = 1e-6  # relative distance of value and certified bound below which they count as equal
ROUNDS = 60


@dataclass(frozen=True, eq=False)
class GroupNorm:
    """Bounds on the least 2 sum_j |a_j| |w_j|.

    `value`     of `params`, a network that fits (for a margin: all margins at least 1): never below the minimum
    `lower`     the best certified lower bound, 0 where there is none; `bounds` holds every bound with its label
    `exact`     whether `value` and `lower` agree to 1e-6
    `dual`      Lambda, (n, k)
    `note`      what is certified and what is not, in a sentence
    """

    data: Data
    params: Params
    value: float
    lower: float
    bounds: dict[str, Bound]
    exact: bool
    dual: np.ndarray
    patterns: Patterns
    of_margin: bool
    residual: float  # how far `params` is from fitting
    note: str

    @property
    def margin(self) -> float:
        """Margin over |theta|^2 of `params`, which the largest is at least."""
        return 1.0 / self.value if self.of_margin else float("nan")

    @property
    def margin_bound(self) -> float:
        """What no network exceeds; inf without a certificate."""
        if not self.of_margin:
            return float("nan")
        return 1.0 / self.lower if self.lower > 0 else float("inf")

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return {
            "value": self.value,
            "lower": self.lower,
            "exact": self.exact,
            "neurons": self.params.width,
            "patterns": len(self.patterns),
            "bounds": {k: {"value": b.value, "label": b.label} for k, b in self.bounds.items()},
            "residual": self.residual,
            "note": self.note,
        }

    def __str__(self) -> str:
        sure = "=" if self.exact else "<="
        what = "at margin 1" if self.of_margin else "that fits"
        lines = [
            f"min sum 2|a_j||w_j| {what} {sure} {self.value:.9g}  ({self.params.width} neurons, {self.params.outputs} "
            "outputs)",
            *(f"  {name}: {bound}" for name, bound in self.bounds.items()),
            f"  {self.note}",
        ]
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(eq=False)
class Fit:
    """Data in the coordinates of their span, and what "fits" means."""

    z: np.ndarray  # (n, r)
    y: np.ndarray  # (n, k) labels, one-hot for a margin
    slope: float
    margin: bool

    def features(self, w: np.ndarray) -> np.ndarray:
        """s(<w, x_i>), (n, directions)."""
        u = self.z @ w.T
        return np.where(u > 0, u, self.slope * u)

    def psi(self, dual: np.ndarray, w: np.ndarray) -> np.ndarray:
        """|sum_i s(<w, x_i>) lambda_i| of unit rows w."""
        return np.linalg.norm(self.features(w).T @ dual, axis=1)

    def worth(self, dual: np.ndarray) -> float:
        """The dual objective: 2 <Lambda, Y>, which for a margin is 2 sum mu, Lambda being sum mu (e_y - e_c)."""
        return 2.0 * float(np.sum(dual * self.y))

    def matrices(self, dual: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """sum_i m_i lambda_i x_i^T of every pattern, (patterns, k, r)."""
        slopes = np.where(bits, 1.0, self.slope)
        return np.einsum("pn,nk,nr->pkr", slopes, dual, self.z, optimize=True)


def group_norm(data: Data, targets, slope: float, margin: bool, search: Search) -> GroupNorm:
    """Bounds for labels `targets` (n, k): to be fitted, or one-hot classes to be separated."""
    end = monotonic() + search.seconds
    kept = np.flatnonzero(np.any(data.x != 0.0, axis=1))
    if not margin and np.any(targets[np.setdiff1d(np.arange(data.n), kept)]):
        raise ValueError("Every network without bias is 0 at x = 0, got a label that is not 0 there: add a bias.")
    basis = span(data.x[kept])
    fit = Fit(data.x[kept] @ basis.T, np.array(targets[kept], float), slope, margin)
    pats = search.patterns(data.x)
    starts = pats.points @ basis.T
    if search.network is not None:
        starts = np.vstack([starts, getattr(search.network, "final", search.network).w @ basis.T])
    sums = (fit.y > 0).T.astype(float) @ fit.z  # of the rows of each class
    drawn = np.random.default_rng([search.seed, 3]).normal(size=(64, len(basis)))
    starts = _unit(np.vstack([starts, fit.z, sums, drawn]))
    w, a, dual = _generated(fit, starts, end)
    size = np.linalg.norm(a, axis=1)
    used = size > 1e-9 * np.sum(size)
    w, a, size = w[used], a[used], size[used]
    root = np.sqrt(size)[:, None]
    params = Params((root * w) @ basis, a / root)
    f = fit.features(w) @ a
    residual = float(np.max(1.0 - class_margins(fit.y, f)) if margin else np.max(np.abs(f - fit.y)))
    value = 2.0 * float(np.sum(size))
    bounds = {"upper": Bound(value, "a network that fits" if not margin else "a network with margin 1")}
    certified, label, note = max(_bound(fit, v, pats, kept) for v in _candidates(fit, dual, w, a))
    if certified > 0:
        bounds["lower"] = Bound(certified, label)
    if value - certified > EXACT * value:
        tried = float(np.max(fit.psi(dual, climb(fit, dual, starts))))
        bounds["lower sampled"] = Bound(fit.worth(dual) / tried, "sampled: dual feasible on every direction tried")
    whole = np.zeros((data.n, targets.shape[1]))
    whole[kept] = dual
    exact = certified > 0 and value - certified <= EXACT * value
    if exact:
        note = note.split(", which leaves out")[0].rstrip(".") + ": value and bound agree."
    return GroupNorm(data, params, value, certified, bounds, exact, whole, pats, margin, residual, note)


def _unit(w: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(w, axis=1)
    return w[size > 0] / size[size > 0][:, None]


def _generated(fit: Fit, starts: np.ndarray, end: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(directions, output weights, dual) after adding directions until ascent finds no violated one, or time is up."""
    w = starts
    for count in range(ROUNDS):
        a, dual = _programme(fit, w)
        size = np.linalg.norm(a, axis=1)
        now = w[size > 1e-8 * np.sum(size)]
        top = climb(fit, dual, np.vstack([starts, now]))
        reach = fit.psi(dual, top)
        over = np.argsort(-reach)[: 4 * AT_ONCE]
        fresh = _distinct(top[over[reach[over] > 1.0 + ENOUGH]])[:AT_ONCE]
        if len(fresh) == 0 or monotonic() > end or count == ROUNDS - 1:
            break
        w = np.vstack([now, fresh]) if len(w) > 200 else np.vstack([w, fresh])
    return w, a, dual


def _distinct(w: np.ndarray) -> np.ndarray:
    kept: list[np.ndarray] = []
    for row in w:
        if all(row @ other < 1.0 - 1e-12 for other in kept):
            kept.append(row)
    return np.array(kept).reshape(-1, w.shape[1])


def _programme(fit: Fit, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(a, Lambda) of the programme over unit directions w: min 2 sum |a_p|."""
    import clarabel
    from scipy import sparse

    (n, k), p = fit.y.shape, len(w)
    phi = fit.features(w)
    # Each direction is (tau, a_1, ..., a_k); output c of datum i is row i k + c.
    place = np.hstack([np.zeros((k, 1)), np.eye(k)])
    outputs = sparse.kron(sparse.csc_matrix(phi), sparse.csc_matrix(place)).tocsr()
    own = np.argmax(fit.y, axis=1)
    if fit.margin:
        others = np.array([[i * k + c for c in range(k) if c != own[i]] for i in range(n)])
        mine = np.repeat(np.arange(n) * k + own, k - 1)
        rows = outputs[others.ravel()] - outputs[mine]
        target, first = -np.ones(n * (k - 1)), clarabel.NonnegativeConeT(n * (k - 1))
    else:
        rows, target, first = outputs, fit.y.ravel(), clarabel.ZeroConeT(n * k)
    A = sparse.vstack([rows, -sparse.eye(p * (k + 1))]).tocsc()
    limit = np.concatenate([target, np.zeros(p * (k + 1))])
    cones = [first, *(clarabel.SecondOrderConeT(k + 1) for _ in range(p))]
    q = np.tile(np.eye(1, k + 1)[0] * 2.0, p)
    found = solved(sparse.csc_matrix((A.shape[1],) * 2), q, A, limit, cones)
    a = np.array(found.x).reshape(p, k + 1)[:, 1:]
    z = 0.5 * np.array(found.z[: len(target)])
    if not fit.margin:
        return a, -z.reshape(n, k)
    dual = np.zeros((n, k))
    mu = np.maximum(z, 0.0).reshape(n, k - 1)
    np.put_along_axis(dual, np.array([[c for c in range(k) if c != own[i]] for i in range(n)]), -mu, axis=1)
    dual[np.arange(n), own] = mu.sum(axis=1)
    return a, dual


def climb(fit: Fit, dual: np.ndarray, starts: np.ndarray, turns: int = 40) -> np.ndarray:
    """Where ascent of psi on the unit sphere ends: w <- M'M w / |M'M w|, which never lowers |M w| in a cell, kept only
    where psi itself rises."""
    w, top = starts, fit.psi(dual, starts)
    step = np.ones(len(w))
    for _ in range(turns):
        slopes = np.where(w @ fit.z.T > 0, 1.0, fit.slope)
        out = (slopes * (w @ fit.z.T)) @ dual  # M w
        back = (slopes * (out @ dual.T)) @ fit.z  # M' M w
        size = np.maximum(np.linalg.norm(back, axis=1, keepdims=True), 1e-300)
        trial = w + step[:, None] * (back / size - w)
        trial /= np.maximum(np.linalg.norm(trial, axis=1, keepdims=True), 1e-300)
        got = fit.psi(dual, trial)
        better = got > top
        w, top = np.where(better[:, None], trial, w), np.where(better, got, top)
        step = np.where(better, np.minimum(1.5 * step, 1.0), 0.4 * step)
    return w


def _candidates(fit: Fit, dual: np.ndarray, w: np.ndarray, a: np.ndarray) -> list[np.ndarray]:
    """Any Lambda gives a bound, and optimal ones are many: the solver's; without the entries against labels of 0, which
    add nothing to its worth; and the smallest that is tight on the neurons of the network found."""
    if fit.margin:
        return [dual]
    size = np.linalg.norm(a, axis=1)
    main = size > 1e-4 * np.sum(size)
    least = np.linalg.pinv(fit.features(w[main]).T) @ (a[main] / size[main][:, None])
    return [dual, np.where(fit.y != 0.0, dual, 0.0), least]


def _bound(fit: Fit, dual: np.ndarray, pats: Patterns, kept: np.ndarray) -> tuple[float, str, str]:
    over, label, note = _certified(fit, dual, pats, kept)
    return fit.worth(dual) / over if over > 0 else 0.0, label, note


def _certified(fit: Fit, dual: np.ndarray, pats: Patterns, kept: np.ndarray) -> tuple[float, str, str]:
    """(a bound on psi over unit w, its label, a sentence); inf where there is none."""
    if fit.z.shape[1] == 2:
        note = "Certified: the data span a plane, where the dual constraint is checked exactly on every arc."
        return _on_arcs(fit, dual), "certified: dual feasible on every arc of the plane", note
    if pats.exact:
        over = float(np.max(np.linalg.norm(fit.matrices(dual, pats.bits[:, kept]), 2, axis=(1, 2))))
        note = (
            f"Certified by the largest singular value on each of {len(pats)} cells, which leaves out that w stays in "
            "its cell: the bound may be below the minimum."
        )
        return over, "certified: largest singular value on every cell", note
    note = (
        f"No certificate: there are too many cells to list ({len(pats)} seen); the lower bound is of directions tried."
    )
    return float("inf"), "", note


def _on_arcs(fit: Fit, dual: np.ndarray) -> float:
    """The largest psi over unit w in the plane: on each arc at an end, or at a top singular vector inside."""
    edge = np.arctan2(fit.z[:, 1], fit.z[:, 0])
    cuts = np.unique(np.mod(np.concatenate([edge + np.pi / 2, edge - np.pi / 2]), 2 * np.pi))
    ends = np.column_stack([np.cos(cuts), np.sin(cuts)])
    best = float(np.max(fit.psi(dual, ends)))
    middle = 0.5 * (cuts + np.append(cuts[1:], cuts[0] + 2 * np.pi))
    inside = np.column_stack([np.cos(middle), np.sin(middle)])
    for m in fit.matrices(dual, inside @ fit.z.T > 0):
        v = np.linalg.svd(m)[2][0]
        # psi is right wherever v lies, so that a vector outside its arc does no harm.
        best = max(best, *fit.psi(dual, np.array([v, -v])).tolist())
    return best
