r"""The stepped flow of networks with several outputs: `drive.stepped` with a_j in R^k.

    q' = M^T b - rho q,   b' = M q - rho b,   c' = rho = <b, M q>,      M_j = sum_i s'(<q_j, x_i>) G_i x_i^T

Where datum i crosses, the velocity of q_j jumps by <b_j, G_i> x_i, which takes the place of b_j g_i x_i in the error
estimate. Rows that begin with |w_j| = |a_j| keep both lengths: |q| = |b| = 1 after every step.
"""

import numpy as np

from reluflow.drive import stepped
from reluflow.drive.descent import Plain, Rows
from reluflow.drive.stepped import End
from reluflow.engine.pack import Start
from reluflow.losses import SOFTMAX, TABLE
from reluflow.problem import Problem

BALANCED = 8 * float(np.finfo(float).eps)


class Machine(stepped.Machine):
    """As `drive.stepped.Machine`; states are q (m, r), b (m, k), c (m), energy."""

    def __init__(self, problem: Problem, rtol: float, end: float):
        self.made_of = (problem, rtol, end)
        x = problem.data.x
        self.n, self.r = x.shape
        self.big, self.m, self.k = self.n, problem.init.width, problem.outputs
        self.problem, self.targets = problem, problem.targets
        self.coords = Plain(self.n, self.r)  # type: ignore[assignment]
        norms = np.linalg.norm(x, axis=1)
        self.packed = Rows(  # type: ignore[assignment]
            e=x / np.where(norms > 0.0, norms, 1.0)[:, None],
            surf=np.arange(self.n),
            alpha=norms,
            y=np.array(problem.data.y),
            weight=float(problem.weight),
            loss=TABLE[problem.loss].code,
            slope=float(problem.activation.slope),
            first=0,
        )
        self.decay = problem.decay
        self.start, self.even = _start(problem)
        self.size = self.m * (self.r + self.k + 1) + 1
        self.tailed = problem.endless
        self.end, self.rtol, self.first = end, rtol, 1
        self.row_bytes = 8 * (self.size + 2) + self.m * self.big
        self.steps = self.rejected = self.fields = self.bit_changes = 0
        self.stride, self.tick = 1, 0
        y = np.concatenate([self.start.q.ravel(), self.start.b.ravel(), self.start.c, [0.0]])
        self.clock, self.y, self.now = 0.0, y, self._end(0.0, y)
        speed = np.max(self._sizes(self.now.rate, y), initial=0.0)
        self.h = float(min(end, 0.1 * rtol**0.2 / speed) if speed > 0 else min(end, 1.0))

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q (..., m, r), b (..., m, k) and c (..., m) of states."""
        m, r, k, lead = self.m, self.r, self.k, y.shape[:-1]
        q, b = y[..., : m * r].reshape(*lead, m, r), y[..., m * r : m * (r + k)].reshape(*lead, m, k)
        return q, b, y[..., m * (r + k) : m * (r + k + 1)]

    def outputs(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f (n, k) and which bits are on, (m, n)."""
        q, b, c = self.split(y)
        u = q @ self.packed.e.T
        on = u > 0.0
        z = np.where(on, u, self.packed.slope * u) * self.packed.alpha
        return z.T @ (np.exp(2.0 * c)[:, None] * b), on

    def _end(self, clock: float, y: np.ndarray) -> End:
        """The velocity of (q, b, c, energy) with respect to the clock."""
        packed = self.packed
        self.fields += 1
        q, b, c = self.split(y)
        u = q @ packed.e.T
        on = u > 0.0
        bits = np.where(on, 1.0, packed.slope)
        z = bits * u * packed.alpha
        g, G = self._drive(z.T @ (np.exp(2.0 * c)[:, None] * b))
        fac = np.exp(G + clock) if self.tailed else np.exp(G)
        push = (b @ g.T) * packed.alpha  # <b_j, G_i> |x_i|
        pull, turn = (bits * push) @ packed.e, z @ g
        rate = np.sum(pull * q, axis=1)
        out = np.zeros(self.size)
        dq, db, dc = self.split(out)
        grow = 0.5 * (rate + np.sum(turn * b, axis=1))  # the same number, and |q|^2 + |b|^2 stays 2 to rounding
        dq[:] = fac * (pull - grow[:, None] * q)
        db[:] = fac * (turn - grow[:, None] * b)
        dc[:] = fac * grow
        spent = np.sum(np.exp(2.0 * c) * (np.sum(pull * pull, axis=1) + np.sum(turn * turn, axis=1)))
        out[-1] = spent * fac * np.exp(G)
        if self.decay > 0.0:
            out[-1] -= np.sum(np.exp(2.0 * c) * (4.0 * self.decay * dc - 2.0 * self.decay**2))
            dc -= self.decay
        return End(out, on, fac * push)

    def _drive(self, f: np.ndarray) -> tuple[np.ndarray, float]:
        """G_i / e^G (n, k) and G (0 for the square loss)."""
        y, weight = self.targets, self.problem.weight
        if not TABLE[self.problem.loss].tailed:
            return weight * (y - f), 0.0
        log = np.where(y > 0.0, -np.inf, f - np.logaddexp.reduce(f, axis=1, keepdims=True))
        top = float(np.max(log))
        if not np.isfinite(top):
            return np.zeros_like(f), 0.0
        others = np.exp(log - top)
        own = np.sum(others, axis=1, keepdims=True)
        return np.where(y > 0.0, own, -others), top + float(np.log(weight)) + SOFTMAX.log_factor

    def _kicks(self, now: End, changed: np.ndarray, h: float) -> np.ndarray:
        """KICK h (sum over bits that changed of |<b_j, G_i> x_i|^2)^(1/2), one number a neuron."""
        total = np.sum(np.where(changed, now.push, 0.0) ** 2, axis=1)
        return stepped.KICK * h * (1.0 - self.packed.slope) * np.sqrt(total)

    def _sizes(self, v: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Length of the change v of each neuron, in units of the neuron's own scale."""
        dq, db, dc = self.split(v)
        return np.sqrt(np.sum(dq * dq, axis=1) + np.sum(db * db, axis=1) + dc * dc)

    def _project(self, y: np.ndarray, clock: float) -> np.ndarray:
        """Back on |q|^2 + |b|^2 = 2; balanced rows on |q| = |b| = 1, which errors would leave exponentially."""
        q, b, _ = self.split(y)
        of_q, of_b = np.linalg.norm(q, axis=1), np.linalg.norm(b, axis=1)
        both = np.sqrt(0.5 * (of_q**2 + of_b**2))
        q /= np.where(self.even, of_q, both)[:, None]
        b /= np.where(self.even, of_b, both)[:, None]
        return y

    def look(
        self, clock: np.ndarray, y: np.ndarray, code: np.ndarray, bits: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs (rows, n, k), log loss (rows,) and, when asked for, bits (rows, m, n) of stored states."""
        f = np.array([self.outputs(row)[0] for row in y]).reshape(len(y), self.n, self.k)
        shape = (len(y) if bits else 0, self.m, self.big)
        found = np.where(code[: shape[0]].reshape(shape) == stepped.ON, 1.0, self.packed.slope)
        return f, self.problem.log_loss(f), found


def _start(problem: Problem) -> tuple[Start, np.ndarray]:
    """(q, b, c) with |q|^2 + |b|^2 = 2, and which rows are balanced."""
    init = problem.init
    log_w, log_a = init.log_scales
    top = np.maximum(log_w, log_a)
    w, a = init.w * np.exp(log_w - top)[:, None], init.a * np.exp(log_a - top)[:, None]
    of_w, of_a = np.sum(w * w, axis=1), np.sum(a * a, axis=1)
    size = np.sqrt(0.5 * (of_w + of_a))
    zero = np.flatnonzero(size == 0.0)
    if len(zero):
        raise ValueError(f"The stepped flow needs neurons that are not 0, got neuron {zero[0]}: leave it out.")
    even = np.abs(of_a - of_w) <= BALANCED * (of_a + of_w)
    start = Start(w / size[:, None], a / size[:, None], top + np.log(size), np.zeros(init.width), np.zeros(init.width))
    return start, even
