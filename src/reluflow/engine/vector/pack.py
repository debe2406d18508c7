"""A problem with k outputs as the arrays the kernels read; see `engine.pack`, whose surfaces and coordinates it uses.

w = e^c q,   a = e^c b,   |q|^2 + |b|^2 = 2
"""

from typing import NamedTuple

import numpy as np

from reluflow.engine import pack as one
from reluflow.engine.implicit import MOST
from reluflow.engine.layout import all_apart
from reluflow.engine.pack import ROUNDING, Coordinates, Units
from reluflow.engine.vector.field import SOFTMAX, SQUARE
from reluflow.engine.ways import FEW, rays
from reluflow.problem import Problem


class Pack(NamedTuple):
    """What does not change during a run; names shared with `engine.pack.Pack` mean the same."""

    e: np.ndarray  # (S, r) unit normals of the surfaces
    et: np.ndarray  # (r, S)
    gram: np.ndarray  # (S, S)
    surf: np.ndarray  # (n,) surface of each datum
    alpha: np.ndarray  # (n,) x_i = alpha_i e_surf
    y: np.ndarray  # (n, k) targets
    label: np.ndarray  # (n,) classes, for softmax
    opposite: np.ndarray  # (S,)
    rays: np.ndarray  # (R, r)
    rank: int
    k: int
    m: int  # neurons: rows behind them are followers
    top: float  # the largest |x_i|
    weight: float
    constant: float  # loss of the dropped zero rows
    loss: int
    slope: float
    decay: float  # 0
    first: int  # 0
    late: int  # 1 when the clock is log(1 + t)
    stiff: int  # 1 when implicit steps may be taken


class Start(NamedTuple):
    """The state at t = 0."""

    q: np.ndarray  # (m, r)
    b: np.ndarray  # (m, k)
    c: np.ndarray  # (m,)
    defect_sign: np.ndarray  # (m,) sign of |a|^2 - |w|^2, 0 for balanced rows
    defect_log: np.ndarray  # (m,) log of its modulus


def pack(problem: Problem, units: Units) -> tuple[Pack, Coordinates, Start]:
    """The arrays of a problem in these units, the map back, and the initial state."""
    x, y = problem.data.x, problem.targets / units.y0
    # The largest entry is taken out before squaring, so that tiny and huge rows keep their direction.
    top = np.max(np.abs(x), axis=1)
    kept = np.flatnonzero(top > 0)
    scaled = x[kept] / top[kept, None]
    norms = np.linalg.norm(scaled, axis=1)
    unit = scaled / norms[:, None]
    owner, sign = one.surfaces(unit)
    heads = np.flatnonzero(owner == np.arange(len(kept)))
    surf = np.searchsorted(heads, owner)
    alpha = sign * norms * (top[kept] / units.x0)
    e = unit[heads]
    gram = np.einsum("ik,jk->ij", e, e)
    gram[np.abs(gram) < ROUNDING] = 0.0
    np.fill_diagonal(gram, 1.0)
    basis = one.reduced_basis(e, gram) if len(kept) else np.zeros((0, x.shape[1]))
    if basis is e:
        reduced = np.eye(len(heads))
    else:
        reduced = e if basis.shape[0] == x.shape[1] else e @ basis.T
    start, perp = initial_state(problem, basis, units)
    extra = start.q.shape[1] - reduced.shape[1]
    opposite = np.zeros(len(heads), dtype=np.int64)
    np.maximum.at(opposite, surf, (alpha < 0).astype(np.int64))
    normals = np.pad(reduced, ((0, 0), (0, extra)))
    rank = basis.shape[0]
    packed = Pack(
        e=np.ascontiguousarray(normals),
        et=np.ascontiguousarray(normals.T),
        gram=np.ascontiguousarray(gram),
        surf=surf.astype(np.int64),
        alpha=np.ascontiguousarray(alpha),
        y=np.ascontiguousarray(y[kept]),
        label=np.argmax(y[kept], axis=1).astype(np.int64),
        opposite=opposite,
        rays=rays(normals, rank) if rank <= FEW else np.zeros((0, normals.shape[1])),
        rank=rank,
        k=problem.outputs,
        m=problem.init.width,
        top=float(np.max(np.abs(alpha), initial=1e-300)),
        weight=float(problem.weight),
        constant=loss_at_zero(problem, np.delete(y, kept, axis=0)),
        loss=SQUARE if problem.loss == "square" else SOFTMAX,
        slope=float(problem.activation.slope),
        decay=0.0,
        first=0,
        late=int(problem.endless),
        stiff=int(len(kept) * problem.outputs <= MOST),
    )
    return all_apart(packed), Coordinates(basis, perp, kept, problem.data.n), start


def loss_at_zero(problem: Problem, y: np.ndarray) -> float:
    """Loss of data with targets y on which every output is 0."""
    if problem.loss == "square":
        return float(0.5 * problem.weight * np.sum(y**2))
    return float(problem.weight * len(y) * np.log(problem.outputs))


def initial_state(problem: Problem, basis: np.ndarray, units: Units) -> tuple[Start, np.ndarray | None]:
    """(q, b, c) and the invariant |a|^2 - |w|^2 of every neuron; rows equal to rounding count as balanced."""
    init = problem.init
    log_w, log_a = init.log_scales
    w, perp = one.in_basis(init.w, basis)
    a = init.a
    norm_w, norm_a = np.linalg.norm(w, axis=1), np.linalg.norm(a, axis=1)
    if not np.all((norm_w > 0.0) | (norm_a > 0.0)):
        j = int(np.flatnonzero((norm_w == 0.0) & (norm_a == 0.0))[0])
        raise ValueError(f"Every neuron must have a non-zero weight, got w = 0 and a = 0 for neuron {j}: leave it out.")
    # Mantissas are squared without their common scale: a log scale of -1000 is only good to 1000 eps.
    common = np.maximum(log_w, log_a)
    big_w, big_a = norm_w * np.exp(log_w - common), norm_a * np.exp(log_a - common)
    defect = (big_a - big_w) * (big_a + big_w)
    half = np.sqrt((big_a**2 + big_w**2) / 2)
    balanced = np.abs(defect) <= ROUNDING * 2 * half**2
    c = common + np.log(half) + units.log_size
    size_w, size_a = np.where(balanced, 1.0, big_w / half), np.where(balanced, 1.0, big_a / half)
    q = w * (size_w / np.where(norm_w > 0.0, norm_w, 1.0))[:, None]
    b = a * (size_a / np.where(norm_a > 0.0, norm_a, 1.0))[:, None]
    with np.errstate(divide="ignore"):
        log = np.where(balanced, 0.0, np.log(np.abs(defect)) + 2 * (common + units.log_size))
    return Start(q, b, c, np.where(balanced, 0.0, np.sign(defect)), log), perp
