r"""The cone programme behind minimum norm and maximum margin, and its dual [orthogonal_square_loss, section 6].

    min 2 sum_b |v_b|   s.t.   f = sum_b sigma_b S_b X v_b  fits the labels,   (2 B_b - I) X v_b >= 0

over blocks b = (pattern B_b, sign sigma_b), S_b = diag(bit or slope). "Fits" is f = y, or y_i f_i >= 1. The dual is

    max 2 <nu, y>   s.t.   |sum_k nu_k s(<w, x_k>)| <= |w|  for all w     (margin: 2 sum |nu_k|, y_k nu_k >= 0)

and over the cell of one pattern the left side's maximum is |P(X' S nu)|, P the projection on the cell's cone. Any
lambda >= 0 bounds it from above by |X' S nu + ((2B - I) X)' lambda|, so bounds over all cells are certificates. Blocks
are generated: solve on a few, find the cells where the dual is violated, add them, until none is.
"""

from dataclasses import dataclass
from time import monotonic

import numpy as np

DONE = 1e-9  # relative violation of the dual below which nothing is added
AT_ONCE = 24  # blocks added in one round


class NoSolution(Exception):
    """The cone programme has no solution, or the solver found none; the text is the solver's status."""


def solved(P, q, A, b, cones):
    """The minimum of <x, P x>/2 + <q, x> with b - A x in the product of `cones`, by Clarabel on one thread."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    found = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    if str(found.status) not in ("Solved", "AlmostSolved", "InsufficientProgress"):
        raise NoSolution(str(found.status))
    return found


@dataclass(eq=False)
class Cone:
    """Data in the coordinates of their span, with what "fits" means.

    Where the rows are independent, blocks are written in c = X v instead of v: the cone constraints are then bare
    signs, and v = `back` c.
    """

    z: np.ndarray  # (n, r) rows in the coordinates of their span
    y: np.ndarray
    slope: float
    margin: bool  # y_i f_i >= 1 instead of f = y

    def __post_init__(self):
        n, r = self.z.shape
        self.back = np.linalg.pinv(self.z) if n == r else np.eye(r)
        self.rows = np.eye(n) if n == r else self.z

    def bits_to_slopes(self, bits: np.ndarray) -> np.ndarray:
        return np.where(bits, 1.0, self.slope)

    def worth(self, nu: np.ndarray) -> float:
        """The dual objective."""
        return 2.0 * float(np.sum(np.abs(nu)) if self.margin else nu @ self.y)

    def value(self, bits: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(v, nu) on the blocks given: v is (blocks, r)."""
        import clarabel
        from scipy import sparse

        n, k = self.rows.shape
        blocks, wide = len(bits), k + 1  # each block is (tau, c)
        slopes = self.bits_to_slopes(bits)
        fit = sparse.hstack(
            [
                sparse.csc_matrix(np.hstack([np.zeros((n, 1)), s * m[:, None] * self.rows]))
                for s, m in zip(sigma, slopes)
            ]
        )
        if self.margin:
            fit, target = -sparse.diags(self.y) @ fit, -np.ones(n)
        else:
            target = self.y
        free = self.slope == 1.0  # linear: no cell to stay in
        inside = [
            sparse.csc_matrix(np.hstack([np.zeros((n, 1)), np.where(b, -1.0, 1.0)[:, None] * self.rows]))
            for b in (bits if not free else [])
        ]
        norm = sparse.csc_matrix(np.block([[-1.0, np.zeros((1, k))], [np.zeros((len(self.back), 1)), -self.back]]))
        parts = [fit] + ([sparse.block_diag(inside)] if inside else []) + [sparse.kron(sparse.eye(blocks), norm)]
        A = sparse.vstack(parts).tocsc()
        limit = np.concatenate([target, np.zeros(A.shape[0] - n)])
        cones = [clarabel.NonnegativeConeT(n) if self.margin else clarabel.ZeroConeT(n)]
        cones += [clarabel.NonnegativeConeT(n * blocks)] if inside else []
        cones += [clarabel.SecondOrderConeT(len(self.back) + 1) for _ in range(blocks)]
        q = np.tile(np.eye(1, wide)[0] * 2.0, blocks)
        found = solved(sparse.csc_matrix((A.shape[1],) * 2), q, A, limit, cones)
        c = np.array(found.x).reshape(blocks, wide)[:, 1:]
        z = np.array(found.z[:n])
        return c @ self.back.T, 0.5 * (self.y * z if self.margin else -z)

    def reach(self, nu: np.ndarray, bits: np.ndarray, enough: float = 0.0) -> np.ndarray:
        """Upper bounds of the maximum of +-<nu, s(Xw)> over unit w in each cell: (cells, 2), for + and -.

        Cells whose |X' S nu| is at most `enough` are not refined.
        """
        from scipy.optimize import nnls

        pull = (self.bits_to_slopes(bits) * nu) @ self.z
        size = np.linalg.norm(pull, axis=1)
        out = np.column_stack([size, size])
        if self.slope == 1.0:
            return out
        for i in np.flatnonzero(size > enough):
            walls = np.where(bits[i], 1.0, -1.0)[:, None] * self.z
            for side, sign in enumerate((1.0, -1.0)):
                # Projection on {w: walls w >= 0}, by adding multiples of the walls.
                push, _ = nnls(walls.T, -sign * pull[i])
                out[i, side] = np.linalg.norm(sign * pull[i] + push @ walls)
        return out


@dataclass(eq=False)
class Found:
    """`v` (blocks, r) with their `bits` and `sigma`; `nu` and `worst`, its largest reach over all patterns given."""

    v: np.ndarray
    bits: np.ndarray
    sigma: np.ndarray
    nu: np.ndarray
    worst: float
    finished: bool


def solve(cone: Cone, bits: np.ndarray, start: np.ndarray | None = None) -> Found:
    """The programme over all `bits` (M, n), blocks generated from `start` (indices; all of them when M is small)."""
    index = np.arange(len(bits)) if start is None else np.asarray(start)
    chosen = {(int(i), s) for i in index for s in (1, -1)}
    rounds = 0
    while True:
        rounds += 1
        blocks = sorted(chosen)
        own, sigma = bits[[i for i, _ in blocks]], np.array([float(s) for _, s in blocks])
        v, nu = cone.value(own, sigma)
        reach = cone.reach(nu, bits, enough=1.0)
        worst = float(np.max(reach))
        over = [(float(reach[i, side]), (int(i), 1 - 2 * side)) for i, side in np.argwhere(reach > 1.0 + DONE)]
        new = [b for _, b in sorted(over, reverse=True) if b not in chosen][:AT_ONCE]
        if not new or rounds == 60:
            return Found(v, own, sigma, nu, worst, not new)
        size = np.linalg.norm(v, axis=1)
        keep = {b for b, s in zip(blocks, size) if s > 1e-9 * np.sum(size)} if len(blocks) > 400 else chosen
        chosen = set(keep) | set(new)


def search(cone: Cone, first: np.ndarray, starts: np.ndarray, seconds: float) -> Found:
    """The programme where patterns cannot be listed: those of `first` (directions), then of directions w that the
    present dual pulls furthest, found by ascent of +-<nu, s(Xw)> from `starts`. `worst` is the largest value found."""
    end = monotonic() + seconds
    bits = np.unique(first @ cone.z.T > 0, axis=0)
    blocks = {(b.tobytes(), s): b for b in bits for s in (1, -1)}
    while True:
        began = monotonic()
        own = np.array(list(blocks.values()))
        sigma = np.array([float(s) for _, s in blocks])
        v, nu = cone.value(own, sigma)
        cost = monotonic() - began
        now = [w for w in v if np.linalg.norm(w) > 0]
        tops = [(t, w, s) for s in (1, -1) for t, w in climb(cone, s * nu, np.vstack([starts, *now]))]
        worst = max(1.0, max(t for t, _, _ in tops))
        over = sorted(((t, i) for i, (t, _, _) in enumerate(tops) if t > 1.0 + DONE), reverse=True)
        fresh: dict[tuple[bytes, int], np.ndarray] = {}
        for _, i in over:
            b = cone.z @ tops[i][1] > 0
            key = (b.tobytes(), tops[i][2])
            if key not in blocks and len(fresh) < AT_ONCE:
                fresh[key] = b
        size = np.linalg.norm(v, axis=1)
        blocks = {k: b for (k, b), s in zip(blocks.items(), size) if s > 1e-8 * np.sum(size)} | fresh
        # Whether there is time for another round: between linear and quadratic in the number of blocks.
        late = monotonic() + cost * (len(blocks) / len(own)) ** 1.5 > end
        if not fresh or late:
            return Found(v, own, sigma, nu, worst, not fresh)


def climb(cone: Cone, nu: np.ndarray, starts: np.ndarray, turns: int = 60) -> list[tuple[float, np.ndarray]]:
    """(value, w) where ascent of <nu, s(Xw)> on the unit sphere ends, from every row of `starts`."""
    w = starts / np.maximum(np.linalg.norm(starts, axis=1, keepdims=True), 1e-300)

    def value(w):
        u = w @ cone.z.T
        return np.where(u > 0, u, cone.slope * u) @ nu

    top = value(w)
    step = np.ones(len(w))
    for _ in range(turns):
        pull = (cone.bits_to_slopes(w @ cone.z.T > 0) * nu) @ cone.z
        size = np.maximum(np.linalg.norm(pull, axis=1, keepdims=True), 1e-300)
        trial = w + step[:, None] * pull / size
        trial /= np.maximum(np.linalg.norm(trial, axis=1, keepdims=True), 1e-300)
        got = value(trial)
        better = got > top
        w, top = np.where(better[:, None], trial, w), np.where(better, got, top)
        step = np.where(better, np.minimum(2.0 * step, 8.0), 0.4 * step)
    return list(zip(top.tolist(), w))
