"""A problem as the arrays the kernels read: surfaces, reduced coordinates, the state (q, b, c).

Rows on one hyperplane, x_i = alpha_i e_k, share the surface k with unit normal e_k; zero rows are dropped. A neuron
moves only inside span(x), so weights are kept in an orthonormal basis of that span, with |w_perp| as one more
coordinate.

    w = e^c q,   a = e^c b,   |q|^2 + b^2 = 2        (first layer only: q = w, b = a, c = 0)
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from reluflow.engine.layout import all_apart
from reluflow.engine.ways import FEW, rays
from reluflow.losses import LOSSES, TABLE
from reluflow.problem import Problem

EPS = float(np.finfo(float).eps)
ROUNDING = 8 * EPS


class Pack(NamedTuple):
    """What does not change during a run. Everything is float64 or int64 and C-contiguous."""

    e: np.ndarray  # (S, r) unit normals of the surfaces
    et: np.ndarray  # (r, S) the same by coordinates
    gram: np.ndarray  # (S, S) their inner products, rounding noise set to 0
    surf: np.ndarray  # (n,) surface of each datum
    alpha: np.ndarray  # (n,) x_i = alpha_i e_surf
    y: np.ndarray  # (n,)
    opposite: np.ndarray  # (S,) 1 where some row of the surface points the other way
    rays: np.ndarray  # (R, r) directions in which neurons leave w = 0; none while they are not counted, see `ways`
    rank: int  # of the data
    weight: float
    constant: float  # loss of the dropped zero rows, on which every output is 0
    loss: int
    slope: float
    first: int  # 1 when only the first layer moves
    decay: float
    late: int  # 1 when the clock is log(1 + t)


class Coordinates(NamedTuple):
    """The way back from reduced coordinates to the user's."""

    basis: np.ndarray  # (r0, d) orthonormal rows spanning the data
    perp: np.ndarray | None  # (m, d) unit vectors of w_perp, None when the data span everything
    kept: np.ndarray  # indices of the non-zero rows
    n: int

    def expand(self, q: np.ndarray) -> np.ndarray:
        """Reduced rows (..., m, r) to full rows (..., m, d)."""
        r0 = self.basis.shape[0]
        full = q[..., :r0] @ self.basis
        if self.perp is not None:
            full = full + q[..., r0:] * self.perp
        return full


class Start(NamedTuple):
    """The state at t = 0."""

    q: np.ndarray  # (m, r)
    b: np.ndarray  # (m,)
    c: np.ndarray  # (m,)
    delta_sign: np.ndarray  # (m,) sign of a^2 - |w|^2, 0 for balanced rows
    delta_log: np.ndarray  # (m,) log of its modulus

    def scaled(self, units: Units) -> Start:
        """The same in other units."""
        if units.first:
            return self._replace(q=self.q * units.weight, b=self.b / units.b0)
        return self._replace(c=self.c + units.log_size, delta_log=self.delta_log + 2.0 * units.log_size)


class Units(NamedTuple):
    """Units of inputs, outputs and output weights (powers of 2) in which a run has numbers of size one.

        x = x0 x~,   y = y0 y~,   t~ = t x0 y0,   c~ = c + log(x0 / y0) / 2
        first layer only:   b = b0 b~,   q~ = q b0 x0 / y0,   t~ = t (b0 x0)^2

    Powers of 2 round nothing but the logarithms c: multiplying data or labels by one changes no step and no event.
    Losses that are not homogeneous in the labels keep y0 = 1, and time is then in units of x0 alone.
    """

    x0: float = 1.0
    y0: float = 1.0
    b0: float = 1.0
    first: bool = False

    @property
    def log_time(self) -> float:
        """log of t~ / t."""
        logs = np.log(self.x0) + np.log(self.y0)
        return float(2.0 * (np.log(self.b0) + np.log(self.x0)) if self.first else logs)

    @property
    def log_size(self) -> float:
        """What is added to c."""
        return 0.0 if self.first else float(0.5 * (np.log(self.x0) - np.log(self.y0)))

    @property
    def weight(self) -> float:
        """q~ / q when only the first layer moves."""
        return self.b0 * (self.x0 / self.y0)

    def to_clock(self, t):
        """t~ of t."""
        if self.first:
            return t * self.b0 * self.x0 * self.b0 * self.x0
        return t * self.x0 * self.y0

    def to_time(self, clock):
        """t of t~."""
        if self.first:
            return clock / self.b0 / self.x0 / self.b0 / self.x0
        return clock / self.x0 / self.y0


def power_of_2(values: np.ndarray) -> float:
    """The power of 2 nearest to the largest modulus; 1 where all are 0."""
    top = float(np.abs(values).max(initial=0.0))
    return 2.0 ** min(max(float(np.rint(np.log2(top))), -1000.0), 1000.0) if top > 0.0 else 1.0


_units: WeakKeyDictionary[Problem, Units] = WeakKeyDictionary()


def units_of(problem: Problem) -> Units:
    """The units that suit a problem, whose arrays are read-only."""
    found = _units.get(problem)
    if found is None:
        found = _units[problem] = _units_of(problem)
    return found


def _units_of(problem: Problem) -> Units:
    row = TABLE[problem.loss]
    y0 = power_of_2(problem.data.y) if row.quadratic else 1.0
    first = problem.train == "first"
    b0 = 1.0
    if first:
        b0 = power_of_2(problem.init.a * np.exp(problem.init.log_scales[1]))
    return Units(power_of_2(problem.data.x), y0, b0, first)


def surfaces(unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each unit row the index of the first row parallel to it, and the sign of their inner product."""
    n = unit.shape[0]
    owner, sign = np.arange(n), np.ones(n)
    block = max(1, int(4e6) // max(n, 1))
    for lo in range(0, n, block):
        cosines = unit[lo : lo + block] @ unit.T
        near = np.argwhere(np.abs(cosines) > 1.0 - 1e-12)
        for row, k in near:
            i = lo + int(row)
            if k >= i or owner[i] != i or owner[k] != k:
                continue
            direction = 1.0 if cosines[row, k] > 0 else -1.0
            if np.max(np.abs(unit[i] - direction * unit[k])) <= ROUNDING:
                owner[i], sign[i] = k, direction
    return owner, sign


def reduced_basis(e: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """Orthonormal rows spanning the rows of `e`: the rows themselves when they are orthogonal, so that no rounding
    couples them."""
    s, d = e.shape
    if s <= d and np.array_equal(gram, np.diag(np.diag(gram))):
        return e
    _, sv, vt = np.linalg.svd(e, full_matrices=False)
    rank = int(np.sum(sv > sv[0] * max(e.shape) * EPS))
    if rank == d:
        return np.eye(d)
    return orthonormal(e) if rank == s and affordable(e) else vt[:rank]


def affordable(e: np.ndarray) -> bool:
    """Whether products of these rows can be made in a fixed order: a library's depend on its threads."""
    return e.size * len(e) < 3e8


def lengths(rows: np.ndarray) -> np.ndarray:
    """|row| of every row: what `numpy.linalg.norm` does, without its tests."""
    return np.sqrt(np.add.reduce(rows * rows, axis=1))


def inner_products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """<a_i, b_j>, in a fixed order where that is affordable."""
    return np.einsum("ik,jk->ij", a, b) if a.size * len(b) < 3e8 else a @ b.T


def orthonormal(e: np.ndarray) -> np.ndarray:
    """Orthonormal rows with the span of the independent rows of `e`: each is freed of those before it, twice."""
    found = np.array(e)
    for k in range(len(e)):
        before, row = found[:k], found[k]
        for _ in range(2):
            row -= np.einsum("i,ij->j", np.einsum("ij,j->i", before, row), before)
        row /= np.sqrt(np.einsum("j,j->", row, row))
    return found


def pack(problem: Problem, units: Units) -> tuple[Pack, Coordinates, Start]:
    """The arrays of a problem in these units, the map back, and the initial state."""
    x, y = problem.data.x, problem.data.y
    # The largest entry is taken out before squaring, so that tiny and huge rows keep their direction.
    top = np.max(np.abs(x), axis=1)
    kept = np.flatnonzero(top > 0)
    scaled = x[kept] / top[kept, None]
    norms = lengths(scaled)
    unit = scaled / norms[:, None]
    owner, sign = surfaces(unit)
    heads = np.flatnonzero(owner == np.arange(len(kept)))
    surf = np.searchsorted(heads, owner)
    alpha = sign * norms * (top[kept] / units.x0)
    e = unit[heads]
    gram = inner_products(e, e)
    gram[np.abs(gram) < ROUNDING] = 0.0
    np.fill_diagonal(gram, 1.0)
    basis = reduced_basis(e, gram) if len(kept) else np.zeros((0, x.shape[1]))
    if basis is e:
        reduced = np.eye(len(heads))
    elif basis.shape[0] == x.shape[1]:
        reduced = e
    else:
        reduced = inner_products(e, basis)
    start, perp = initial_state(problem, basis)
    start = start.scaled(units)
    r = start.q.shape[1]
    if r > reduced.shape[1]:
        reduced = np.hstack([reduced, np.zeros((len(heads), r - reduced.shape[1]))])
    opposite = np.zeros(len(heads), dtype=np.int64)
    opposite[surf[alpha < 0]] = 1
    rank = basis.shape[0]
    packed = Pack(
        e=np.ascontiguousarray(reduced),
        et=np.ascontiguousarray(reduced.T),
        gram=np.ascontiguousarray(gram),
        surf=surf.astype(np.int64),
        alpha=np.ascontiguousarray(alpha),
        y=y[kept] / units.y0,
        opposite=opposite,
        rays=rays(reduced, rank) if rank <= FEW else np.zeros((0, r)),
        rank=rank,
        weight=float(problem.weight),
        constant=0.0 if len(kept) == len(y) else loss_at_zero(problem, np.delete(y, kept) / units.y0),
        loss=LOSSES[problem.loss].code,
        slope=float(problem.activation.slope),
        first=int(problem.train == "first"),
        decay=float(units.to_time(problem.decay)),
        late=int(problem.endless),
    )
    return all_apart(packed), Coordinates(basis, perp, kept, problem.data.n), start


def loss_at_zero(problem: Problem, y: np.ndarray) -> float:
    """Loss of data with labels y on which the output is 0."""
    return float(problem.weight * np.sum(LOSSES[problem.loss].value(y, np.zeros_like(y))))


def initial_state(problem: Problem, basis: np.ndarray) -> tuple[Start, np.ndarray | None]:
    """(q, b, c) and the invariant a^2 - |w|^2 of every neuron; rows equal to rounding count as balanced."""
    init = problem.init
    log_w, log_a = init.log_scales
    w, perp = in_basis(init.w, basis)
    m = w.shape[0]
    if problem.train == "first":
        q, b = w * np.exp(log_w)[:, None], init.a * np.exp(log_a)
        zeros = np.zeros(m)
        return Start(q, b, zeros, zeros.copy(), zeros.copy()), perp
    norm, abs_a = lengths(w), np.abs(init.a)
    with np.errstate(divide="ignore"):
        log_norm = log_w + np.log(norm)
        log_abs_a = log_a + np.log(abs_a)
    top = np.maximum(log_norm, log_abs_a)
    if not np.all(np.isfinite(top)):
        j = int(np.flatnonzero(~np.isfinite(top))[0])
        raise ValueError(f"Every neuron must have a non-zero weight, got w = 0 and a = 0 for neuron {j}: leave it out.")
    # Mantissas are squared without their common scale: a log scale of -1000 is only good to 1000 eps.
    common = np.maximum(log_w, log_a)
    big_w, big_a = norm * np.exp(log_w - common), abs_a * np.exp(log_a - common)
    ww, aa = big_w**2, big_a**2
    defect = (big_a - big_w) * (big_a + big_w)
    balanced = np.abs(defect) <= ROUNDING * (aa + ww)
    half = np.sqrt((aa + ww) / 2)
    c = np.where(balanced, log_norm, common + np.log(half))
    s = np.sign(init.a)
    b = np.where(balanced, s, s * big_a / half)
    size = np.where(balanced, 1.0, big_w / half)
    q = w / np.where(norm > 0, norm, 1.0)[:, None] * size[:, None]
    with np.errstate(divide="ignore"):
        delta_log = np.where(balanced, 0.0, np.log(np.abs(defect)) + 2 * common)
    return Start(q, b, c, np.where(balanced, 0.0, np.sign(defect)), delta_log), perp


def in_basis(w: np.ndarray, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows of `w` in the reduced basis, |w_perp| appended when the basis does not span everything."""
    d = w.shape[1]
    if basis.shape[0] == d and np.array_equal(basis, np.eye(d)):
        return np.array(w), None
    inside = inner_products(w, basis)
    if basis.shape[0] == d:
        return inside, None
    rest = w - inner_products(inside, basis.T)
    size = np.linalg.norm(rest, axis=1)
    return np.hstack([inside, size[:, None]]), rest / np.where(size > 0, size, 1.0)[:, None]
