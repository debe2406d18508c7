r"""The least L(f) + (decay/2) |theta|^2 over networks of any width: a convex problem, certified by its dual.

    min  L(f) + decay sum_b |v_b|,   f = sum_b sigma_b S_b X v_b,   (2 B_b - I) X v_b >= 0       [`_programme`]

since |theta|^2 = 2 sum |v|. Whenever |sum_k g_k s(<w, x_k>)| <= decay |w| for all w, every network has
(decay/2) |theta|^2 >= <g, f>, so that L + (decay/2) |theta|^2 >= D(g) = min_f L(f) + <g, f>, a formula for each loss.
Where all activation patterns are known, g = -dL/df of the solution, divided by its largest reach where that exceeds 1,
is a certificate.
"""

from dataclasses import dataclass, field

import numpy as np

from reluflow.bias import _programme, _recover
from reluflow.bias._input import directions_of, outputs
from reluflow.bias._programme import Cone, Found, NoSolution
from reluflow.bias.patterns import Patterns, Search, span
from reluflow.data.core import Data
from reluflow.init import Params
from reluflow.losses import LOSSES, Loss

ALL_AT_ONCE = 60  # patterns up to which every block is in the first programme
NEAR = (1e-6, 1e-5, 1e-4, 1e-3)  # |cos(v, x_i)| below which v may lie on the surface of x_i: by the solver's accuracy
NOISE = (0.0, 1e-5, 1e-3)  # share of sum |v| below which a neuron may be the solver's noise
KNOWN = ("square", "logistic", "logistic2", "exponential", "hinge2")


@dataclass(frozen=True)
class Penalty:
    """L + (decay/2) |theta|^2 on outputs: the loss, the weight of a datum, the decay."""

    loss: str
    weight: float
    decay: float

    @property
    def row(self) -> Loss:
        return LOSSES[self.loss]

    def value(self, y: np.ndarray, f: np.ndarray, squared_norm: float) -> float:
        """The objective."""
        return float(np.sum(self.row.value(y, f, self.weight)) + 0.5 * self.decay * squared_norm)

    def below(self, y: np.ndarray, g: np.ndarray) -> float:
        """D(g) = min_f L(f) + <g, f>; -inf where that has no minimum."""
        c = self.weight * self.row.factor
        if self.loss == "square":
            return float(np.sum(g * y - g * g / (2.0 * c)))
        p = y * g / c
        if np.any(p < 0.0) or (self.loss.startswith("logistic") and np.any(p > 1.0)):
            return -np.inf
        log = lambda v: np.log(np.where(v > 0.0, v, 1.0))
        if self.loss == "hinge2":
            return float(c * np.sum(p - 0.5 * p * p))
        if self.loss == "exponential":
            return float(c * np.sum(p - p * log(p)))
        return float(-c * np.sum(p * log(p) + (1.0 - p) * log(1.0 - p)))


@dataclass(eq=False)
class Programme:
    """The cone programme with a loss in place of "f fits", with the methods of `_programme.Cone`."""

    cone: Cone
    penalty: Penalty

    @property
    def z(self) -> np.ndarray:
        return self.cone.z

    @property
    def slope(self) -> float:
        return self.cone.slope

    def bits_to_slopes(self, bits: np.ndarray) -> np.ndarray:
        return self.cone.bits_to_slopes(bits)

    def reach(self, nu: np.ndarray, bits: np.ndarray, enough: float = 0.0) -> np.ndarray:
        return self.cone.reach(nu, bits, enough)

    def value(self, bits: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(v, g / decay) on the blocks given: v is (blocks, r)."""
        import clarabel
        from scipy import sparse

        cone = self.cone
        n, k = cone.rows.shape
        blocks, wide = len(bits), k + 1
        fit = np.hstack(
            [
                np.hstack([np.zeros((n, 1)), s * m[:, None] * cone.rows])
                for s, m in zip(sigma, self.bits_to_slopes(bits))
            ]
        )
        norm = sparse.csc_matrix(np.block([[-1.0, np.zeros((1, k))], [np.zeros((len(cone.back), 1)), -cone.back]]))
        extra, P, cost, rows, limit, cones = self._loss(n)
        # Columns: the blocks, the outputs f, and what the loss adds.
        zero = lambda height, width: sparse.csc_matrix((height, width))
        parts = [sparse.hstack([sparse.csc_matrix(fit), -sparse.eye(n), zero(n, extra)])]
        limits, kinds = [np.zeros(n)], [clarabel.ZeroConeT(n)]
        if self.slope < 1.0:
            inside = sparse.block_diag(
                [np.hstack([np.zeros((n, 1)), np.where(b, -1.0, 1.0)[:, None] * cone.rows]) for b in bits]
            )
            parts.append(sparse.hstack([inside, zero(n * blocks, n + extra)]))
            limits.append(np.zeros(n * blocks))
            kinds.append(clarabel.NonnegativeConeT(n * blocks))
        size = sparse.kron(sparse.eye(blocks), norm)
        parts.append(sparse.hstack([size, zero(size.shape[0], n + extra)]))
        limits.append(np.zeros(size.shape[0]))
        kinds += [clarabel.SecondOrderConeT(len(cone.back) + 1) for _ in range(blocks)]
        if rows.shape[0]:
            parts.append(sparse.hstack([zero(rows.shape[0], blocks * wide), rows]))
            limits.append(limit)
            kinds += cones
        A, b = sparse.vstack(parts).tocsc(), np.concatenate(limits)
        q = np.concatenate([np.tile(np.eye(1, wide)[0], blocks), cost])
        quadratic = sparse.block_diag([zero(blocks * wide, blocks * wide), P]).tocsc()
        x = np.array(_programme.solved(sparse.triu(quadratic).tocsc(), q, A, b, kinds).x)
        v = x[: blocks * wide].reshape(blocks, wide)[:, 1:] @ cone.back.T
        return v, self.drive(_recover.outputs(cone, v, sigma)) / self.penalty.decay

    def drive(self, f: np.ndarray) -> np.ndarray:
        """g = -dL/df."""
        return self.penalty.row.force(self.cone.y, f, self.penalty.weight)

    def _loss(self, n: int) -> tuple:
        """(columns, quadratic part of (f, columns), cost, rows, limits, cones) of L / decay."""
        import clarabel
        from scipy import sparse

        y, loss = self.cone.y, self.penalty.loss
        c = self.penalty.weight * self.penalty.row.factor / self.penalty.decay
        none = sparse.csc_matrix((0, n))
        if loss == "square":
            return 0, c * sparse.eye(n), -c * y, none, np.zeros(0), []
        if loss == "hinge2":  # s >= 1 - y f, s >= 0
            rows = sparse.bmat([[-sparse.diags(y), -sparse.eye(n)], [None, -sparse.eye(n)]])
            quadratic = sparse.block_diag([sparse.csc_matrix((n, n)), c * sparse.eye(n)])
            limit = np.concatenate([-np.ones(n), np.zeros(n)])
            return n, quadratic, np.zeros(2 * n), rows, limit, [clarabel.NonnegativeConeT(2 * n)]
        exponential = clarabel.ExponentialConeT
        if loss == "exponential":  # t >= e^{-y f}
            rows, limit = sparse.lil_matrix((3 * n, 2 * n)), np.tile([0.0, 1.0, 0.0], n)
            for i in range(n):
                rows[3 * i, i], rows[3 * i + 2, n + i] = y[i], -1.0
            cost = np.concatenate([np.zeros(n), np.full(n, c)])
            return n, sparse.csc_matrix((2 * n, 2 * n)), cost, rows.tocsc(), limit, [exponential()] * n
        # log(1 + e^{-y f}) <= t:  u >= e^{-t},  w >= e^{-y f - t},  u + w <= 1.
        rows, limit = sparse.lil_matrix((7 * n, 4 * n)), np.zeros(7 * n)
        for i in range(n):
            t, u, w, at = n + i, 2 * n + i, 3 * n + i, 6 * i
            rows[at, t], rows[at + 2, u], limit[at + 1] = 1.0, -1.0, 1.0
            rows[at + 3, i], rows[at + 3, t], rows[at + 5, w], limit[at + 4] = y[i], 1.0, -1.0, 1.0
            rows[6 * n + i, u], rows[6 * n + i, w], limit[6 * n + i] = 1.0, 1.0, 1.0
        cost = np.concatenate([np.zeros(n), np.full(n, c), np.zeros(2 * n)])
        cones = [exponential()] * (2 * n) + [clarabel.NonnegativeConeT(n)]
        return 3 * n, sparse.csc_matrix((4 * n, 4 * n)), cost, rows.tocsc(), limit, cones


@dataclass(frozen=True, eq=False)
class Regularised:
    """The regularised optimum over networks of any width, or bounds on it.

    `value`      L + (decay/2) |theta|^2 of `params`: never below the optimum
    `lower`      the dual's certified lower bound where all patterns are known (`exact`), else that over those looked at
    `outputs`    f on the data, unique at the optimum; `squared_norm` is |theta|^2
    `ratio`      max over |w| = 1 of |sum g_k s(<w, x_k>)| / decay: 1 at the optimum, below 1 where that is the origin
    """

    data: Data
    params: Params
    value: float
    lower: float
    exact: bool
    outputs: np.ndarray
    squared_norm: float
    ratio: float
    decay: float
    loss: str
    patterns: Patterns
    slope: float
    residuals: dict[str, float] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """value - lower, an upper bound on how far the value is from the optimum."""
        return self.value - self.lower

    def __call__(self, x) -> np.ndarray:
        """The function at the rows of x."""
        return outputs(self.params, x, self.slope)

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        names = ("value", "lower", "gap", "exact", "squared_norm", "ratio", "decay", "loss")
        return {name: getattr(self, name) for name in names} | {"patterns": len(self.patterns)}

    def __str__(self) -> str:
        sure = "=" if self.exact else "<="
        how = "certified" if self.exact else "on the patterns looked at"
        return (
            f"min L + ({self.decay:g}/2) |theta|^2 {sure} {self.value:.9g}  ({len(self.patterns)} patterns, "
            f"|theta|^2 = {self.squared_norm:.9g}; lower bound {self.lower:.12g} {how})"
        )

    __repr__ = __str__


def programme_of(data: Data, slope: float, penalty: Penalty) -> tuple[Programme, np.ndarray, np.ndarray]:
    """(programme, kept rows, basis of their span): rows of zeros have output 0 and are left out."""
    if penalty.loss not in KNOWN:
        raise ValueError(f"The regularised optimum is for the losses {', '.join(KNOWN)}, got {penalty.loss}.")
    kept = np.flatnonzero(np.any(data.x != 0, axis=1))
    basis = span(data.x[kept])
    return Programme(Cone(data.x[kept] @ basis.T, np.array(data.y[kept]), slope, False), penalty), kept, basis


def regularised(data: Data, slope: float, penalty: Penalty, search: Search) -> Regularised:
    """The optimum by the cone programme over activation patterns; see `min_norm`."""
    programme, kept, basis = programme_of(data, slope, penalty)
    own = directions_of(search.network)
    pats = search.patterns(data.x, extra=own)
    bits, points = pats.bits[:, kept], pats.points @ basis.T
    cone, y = programme.cone, programme.cone.y
    g0 = programme.drive(np.zeros(len(y))) / penalty.decay
    try:
        if pats.exact or slope == 1.0:
            pull = np.linalg.norm((cone.bits_to_slopes(bits) * g0) @ cone.z, axis=1)
            start = None if len(bits) <= ALL_AT_ONCE else np.argsort(-pull)[:24]
            found = _programme.solve(programme, bits, start)  # type: ignore[arg-type]
        else:
            starts = np.vstack([points[:500], np.random.default_rng([search.seed, 3]).normal(size=(200, len(basis)))])
            tops = sorted(_programme.climb(cone, g0, starts) + _programme.climb(cone, -g0, starts), key=lambda p: -p[0])
            first = np.array([w for _, w in tops[:24]])
            first = first if own is None else np.vstack([first, own @ basis.T])
            found = _programme.search(programme, first, starts, search.seconds)  # type: ignore[arg-type]
    except NoSolution as error:
        raise ValueError(f"The regularised optimum was not found on {data!r}: {error}.") from None
    v, sigma = polished(programme, found, bits)
    params = _recover.params(v, sigma, basis)
    f = np.zeros(data.n)
    f[kept] = _recover.outputs(cone, v, sigma)
    size = 2.0 * float(np.sum(np.linalg.norm(v, axis=1)))
    g = programme.drive(f[kept])
    ratio = found.worst
    if pats.exact:
        ratio = float(np.max(cone.reach(g / penalty.decay, bits), initial=0.0))
    lower = penalty.below(y, g / max(1.0, ratio))
    rest = penalty.value(np.delete(data.y, kept), np.zeros(data.n - len(kept)), 0.0)
    value = penalty.value(data.y, f, size)
    residuals = {"gap": value - lower - rest, "dual": max(0.0, ratio - 1.0)}
    return Regularised(
        data,
        params,
        value,
        lower + rest,
        pats.exact,
        f,
        size,
        ratio,
        penalty.decay,
        penalty.loss,
        pats,
        slope,
        residuals,
    )


def polished(programme: Programme, found: Found, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(v, sigma) of the solver's blocks, merged, then by Newton's method to rounding: cells and held data are kept.

    Small neurons may be the solver's noise, so that networks without them are tried too; the smallest gap wins.
    """
    cone, penalty = programme.cone, programme.penalty

    def objective(v, s):
        f = _recover.outputs(cone, v, s)
        return penalty.value(cone.y, f, 2.0 * float(np.sum(np.linalg.norm(v, axis=1))))

    def gap(v, s):
        g = programme.drive(_recover.outputs(cone, v, s))
        ratio = float(np.max(cone.reach(g / penalty.decay, bits, enough=1.0), initial=0.0))
        return objective(v, s) - penalty.below(cone.y, g / max(1.0, ratio))

    alive = np.linalg.norm(found.v, axis=1) > 1e-9 * max(float(np.sum(np.linalg.norm(found.v, axis=1))), 1e-300)
    best = found.v[alive], found.sigma[alive]
    if float(np.sum(np.linalg.norm(best[0], axis=1))) * penalty.decay <= 1e-12 * objective(best[0][:0], best[1][:0]):
        best = best[0][:0], best[1][:0]
    if not len(best[0]):
        return best
    merged = _recover.merged(found)
    if len(merged[0]) > len(cone.y):
        merged = _recover.thinned(cone, *merged)
    smallest, size = gap(*best), np.linalg.norm(merged[0], axis=1)
    for share in NOISE:
        kept = size > share * np.sum(size)
        if not np.any(kept):
            break
        for near in NEAR:
            if smallest <= 1e-13 * objective(*best):
                break
            tried = _newton(programme, merged[0][kept], merged[1][kept], near), merged[1][kept]
            if gap(*tried) < smallest:
                best, smallest = tried, gap(*tried)
    return best


def _newton(programme: Programme, v: np.ndarray, sigma: np.ndarray, near: float) -> np.ndarray:
    """The minimum of L + decay sum |v_j| over v_j on the surfaces they lie on (to `near`), patterns fixed."""
    cone, penalty = programme.cone, programme.penalty
    size = np.linalg.norm(v, axis=1)
    on = np.abs(v @ cone.z.T) < near * size[:, None] * np.linalg.norm(cone.z, axis=1)
    bits = np.where(on, 0.0, cone.bits_to_slopes(v @ cone.z.T > 0))
    r = cone.z.shape[1]
    bases = []
    for j in range(len(v)):
        q = np.eye(r)
        if np.any(on[j]):
            held = span(cone.z[on[j]])
            q = np.linalg.svd(held)[2][len(held) :]
        bases.append(q)
    if any(len(q) == 0 for q in bases):
        return v
    columns = np.hstack([(sigma[j] * bits[j][:, None] * cone.z) @ bases[j].T for j in range(len(v))])
    ends = np.cumsum([0, *(len(q) for q in bases)])
    u = [bases[j] @ v[j] for j in range(len(v))]

    def at(u):
        f = columns @ np.concatenate(u)
        return f, penalty.value(cone.y, f, 2.0 * float(sum(np.linalg.norm(p) for p in u)))

    f, now = at(u)
    for _ in range(50):
        sizes = [max(float(np.linalg.norm(p)), 1e-300) for p in u]
        slope = -columns.T @ programme.drive(f)
        curve = penalty.row.curvature(cone.y, f, penalty.weight)
        H = columns.T @ (curve[:, None] * columns)
        for j, (p, size) in enumerate(zip(u, sizes)):
            block = slice(ends[j], ends[j + 1])
            slope[block] += penalty.decay * p / size
            H[block, block] += penalty.decay / size * (np.eye(len(p)) - np.outer(p, p) / size**2)
        step = -np.linalg.lstsq(H, slope, rcond=1e-13)[0]
        t, better = 1.0, False
        while t > 1e-6 and not better:
            trial = [p + t * step[ends[j] : ends[j + 1]] for j, p in enumerate(u)]
            f_new, new = at(trial)
            better = new < now
            t *= 0.5
        if not better:
            break
        u, f, now = trial, f_new, new
    out = np.array([bases[j].T @ u[j] for j in range(len(v))])
    same = np.all((out @ cone.z.T > 0)[~on] == (v @ cone.z.T > 0)[~on])
    return out if same else v
