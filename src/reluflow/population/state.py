"""The state of a run: reduced coordinates, units in which the teacher has size 1, and the tree of close neurons.

    y = (z (m, r), b (m), c (m), spent)

Directions live in the span of teachers and students, r <= M + m. With beta = kappa sum_k |b_k||v_k| sizes are in units
of beta, so that c stands for c - (log beta)/2 and time for beta t (first layer alone: c - log(beta/alpha), alpha^2 t,
alpha the largest |a_j|): multiplying teacher or inputs by a number changes units alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.population._field import HELD, Source, Tree, directions, field, loss, product, transposed
from reluflow.population.problem import Problem

JOIN, LEAVE = 1e-3, 2e-2  # distances of directions at which a neuron is written relative to another, and is no more
BALANCED = 8 * np.finfo(float).eps
SNAP = 1e-14  # |1 - b^2| below which a grown neuron counts as balanced
GONE = -1e9  # c of a neuron with w = 0, which stays there


@dataclass(eq=False)
class State:
    """A moment of a run."""

    t: float
    y: np.ndarray
    tree: Tree

    def copy(self) -> State:
        return State(self.t, self.y.copy(), Tree(*(part.copy() for part in self.tree)))


class System:
    """m neurons among sources: how a state is read, and kept in its normal form."""

    def __init__(self, m: int, source: Source):
        self.m, self.r, self.source, self.first = m, source.unit.shape[1], source, source.first

    @property
    def size(self) -> int:
        return self.m * (self.r + 2) + 1

    def split(self, y: np.ndarray):
        """(z, b, c) of a state."""
        m, r = self.m, self.r
        return y[: m * r].reshape(m, r), y[m * r : m * r + m], y[m * r + m : m * r + 2 * m]

    def units(self, state: State) -> np.ndarray:
        """Unit directions u_j, (m, r)."""
        out = np.empty((self.m, self.r))
        directions(self.split(state.y)[0], state.tree, out)
        return out

    def rates(self, state: State) -> np.ndarray:
        out = np.empty_like(state.y)
        field(state.y, state.tree, self.source, self.m, out)
        return out

    def spread(self, state: State) -> np.ndarray:
        """Rates of log |u_j - u_p| for neurons written relative to another, 0 for the others."""
        z, dz = self.split(state.y)[0], self.split(self.rates(state))[0]
        square = np.sum(z * z, axis=1)
        child = (state.tree.parent >= 0) & (square > 0.0)
        return np.where(child, np.sum(z * dz, axis=1) / np.where(child, square, 1.0), 0.0)

    def loss(self, state: State) -> float:
        """The loss in internal units."""
        return max(loss(state.y, state.tree, self.source, self.m), 0.0)

    # After a step -----------------------------------------------------------------------------------------------------

    def tidy(self, state: State) -> bool:
        """Puts directions back on the sphere and differences to unit length; True where the tree has changed."""
        z, b, _ = self.split(state.y)
        u = self.units(state)
        parent, ell = state.tree.parent, state.tree.ell
        for j in np.flatnonzero(parent >= 0):
            p = parent[j]
            z[j] -= (u[p] @ z[j] + 0.5 * np.exp(ell[j]) * (z[j] @ z[j])) * u[p]
            length = np.linalg.norm(z[j])
            if length > 0.0:
                z[j] /= length
                ell[j] += np.log(length)
        roots = parent < 0
        z[roots] = u[roots]
        if not self.first:
            settled = np.abs(1.0 - b**2) < SNAP
            b[settled] = np.sign(b[settled])
            for k in np.flatnonzero(2.0 - b**2 < 4.0 * HELD).tolist():
                self._at_origin(state, k)
                u[k] = z[k]
        return self._leave(state, u) | self._join(state, u)

    def _at_origin(self, state: State, j: int):
        """w_j has come to 0, or is there: held, unless its direction or the opposite one pulls it away."""
        z, b, c = self.split(state.y)
        for square in (6.0 * HELD, 0.5 * HELD):
            new = np.sign(b[j]) * np.sqrt(2.0 - square)
            c[j] += np.log(b[j] / new)  # a stays
            b[j] = new
            for _ in range(2):
                if self.split(self.rates(state))[2][j] > 0.0:
                    return
                z[j] = -z[j]

    def _leave(self, state: State, u: np.ndarray) -> bool:
        z = self.split(state.y)[0]
        far = (state.tree.parent >= 0) & (state.tree.ell > np.log(LEAVE))
        z[far] = u[far] / np.linalg.norm(u[far], axis=1, keepdims=True)
        state.tree.parent[far], state.tree.ell[far] = -1, 0.0
        return bool(np.any(far))

    def _join(self, state: State, u: np.ndarray) -> bool:
        """Balanced roots of one sign closer than JOIN: the later one becomes the child of the nearest earlier one."""
        if self.first or self.r == 1:
            return False
        z, b, c = self.split(state.y)
        roots = np.flatnonzero((state.tree.parent < 0) & (np.abs(b) == 1.0) & (c > 0.5 * GONE))
        if len(roots) < 2:
            return False
        gram = np.empty((len(roots), len(roots)))
        product(u[roots], transposed(u[roots]), gram)
        close = (gram > 1.0 - JOIN**2) & (b[roots][:, None] == b[roots])
        joined = False
        for k in range(len(roots) - 1, 0, -1):
            before = np.flatnonzero(close[k, :k])
            if len(before) == 0:
                continue
            j = roots[k]
            gaps = u[j] - u[roots[before]]
            length = np.linalg.norm(gaps, axis=1)
            i = int(np.argmin(length))
            if length[i] > JOIN:
                continue
            state.tree.parent[j] = roots[before[i]]
            # Exact copies stay copies: their difference is 0 and so is its rate.
            z[j] = gaps[i] / length[i] if length[i] > 0 else 0.0
            state.tree.ell[j] = np.log(length[i]) if length[i] > 0 else np.log(np.finfo(float).tiny)
            joined = True
        if joined:
            state.tree.order[:] = parents_first(state.tree.parent)
        return joined


class Coordinates(System):
    """Between the weights of a problem and the state of a run."""

    def __init__(self, problem: Problem):
        self.problem = problem
        v, b = problem.teacher.arrays()
        length = np.linalg.norm(v, axis=1)
        size = b * length
        kept = size != 0.0
        self.kappa = problem.law.kappa
        first = problem.train == "first"
        w = problem.init.w
        self.basis = _basis(v[kept], w)
        self.beta = self.kappa * float(np.sum(np.abs(size))) or 1.0
        log_a = problem.init.log_scales[1]
        self.alpha = 1.0
        if first:
            a = problem.init.a * np.exp(log_a)
            self.alpha = float(np.max(np.abs(a))) or 1.0
        unit = (v[kept] / length[kept, None]) @ self.basis
        source = Source(
            np.ascontiguousarray(self.kappa * size[kept] / self.beta),
            np.ascontiguousarray(_unit_rows(unit)),
            float(problem.slope),
            first,
        )
        super().__init__(len(w), source)
        self.time_unit = self.alpha**2 * self.kappa if first else self.beta  # internal time of one unit of t
        self.loss_unit = self.beta**2 / self.kappa
        ratio = np.log(self.beta / self.kappa)
        self.shift = ratio - np.log(self.alpha) if first else 0.5 * ratio

    def start(self) -> State:
        """The initial weights; rows with w = 0 keep size 0 for ever (s'(0) is the slope's side of the kink)."""
        init = self.problem.init
        log_w, log_a = init.log_scales
        length, a = np.linalg.norm(init.w, axis=1), init.a
        still = length == 0.0
        z = init.w @ self.basis
        norm = np.linalg.norm(z, axis=1)
        z = np.where(norm[:, None] > 0, z / np.where(norm > 0, norm, 1.0)[:, None], 0.0)
        z[norm == 0.0, 0] = 1.0
        with np.errstate(divide="ignore"):
            lw, la = np.log(length) + log_w, np.log(np.abs(a)) + log_a
        if self.first:
            b, c = np.sign(a) * np.exp(la - np.log(self.alpha)), lw
            b = np.where(still, 0.0, b)
            c = np.where(still, 0.0, c)
        else:
            # e^{2c} = (|w|^2 + a^2)/2, b = a e^-c
            c = 0.5 * (np.logaddexp(2 * lw, 2 * la) - np.log(2.0))
            with np.errstate(invalid="ignore"):
                b = np.sign(a) * np.exp(la - c)
            near = np.abs(2.0 * b**2 - 2.0) <= 2 * BALANCED
            b = np.where(near, np.sign(a), b)
            b, c = np.where(still, 1.0, b), np.where(still, GONE, c)
        c = c - self.shift
        y = np.concatenate([z.ravel(), b, c, [0.0]])
        none = Tree(np.full(self.m, -1), np.zeros(self.m), np.arange(self.m), np.zeros(self.m))
        return State(0.0, y, none)

    def weights(self, state: State):
        """(w, a, log scale of w, log scale of a): mantissas in the problem's dimension and units."""
        _, b, c = self.split(state.y)
        u = self.units(state) @ self.basis.T
        if self.first:
            log_a = np.full(self.m, np.log(self.alpha))
            gone = b == 0.0
            a = np.where(gone, self.problem.init.a * np.exp(self.problem.init.log_scales[1] - log_a), b)
            return np.where(gone[:, None], 0.0, u), a, np.where(gone, 0.0, c + self.shift), log_a
        gone = c < 0.5 * GONE
        r = np.where(2.0 - b**2 > HELD, np.sqrt(np.maximum(2.0 - b**2, 0.0)), 0.0)
        w = np.where(gone[:, None], 0.0, u * r[:, None])
        if not np.any(gone):
            return w, b, c + self.shift, c + self.shift
        init = self.problem.init
        a = np.where(gone, init.a, b)
        return w, a, np.where(gone, 0.0, c + self.shift), np.where(gone, init.log_scales[1], c + self.shift)


def parents_first(parent: np.ndarray) -> np.ndarray:
    """An order in which every neuron comes after its parent."""
    depth = np.zeros(len(parent), int)
    at = parent.copy()
    while np.any(at >= 0):
        depth += at >= 0
        at = np.where(at >= 0, parent[at], -1)
    return np.argsort(depth, kind="stable")


def _basis(v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span teachers and students, those of the teachers first."""
    d = w.shape[1]
    if d <= 2:
        return np.eye(d)
    rows = np.concatenate([v, w])
    length = np.linalg.norm(rows, axis=1)
    rows = rows[length > 0] / length[length > 0, None]
    columns: list[np.ndarray] = []
    for row in rows:
        rest = row.copy()
        for _ in range(2):  # twice is enough
            for q in columns:
                rest -= (q @ rest) * q
        size = np.linalg.norm(rest)
        if size > 1e-13:
            columns.append(rest / size)
        if len(columns) == d:
            return np.eye(d)  # nothing to gain: the coordinates stay as they were given
    return np.array(columns).T if columns else np.eye(d)[:, :1]


def _unit_rows(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if len(rows) else rows
