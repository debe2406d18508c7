"""Gradient descent of networks with several outputs: `drive.descent` with the kernels of `engine.vector.descent`.

Every iteration is taken: the closed forms and leaps of `engine.fast_forward` are for one output.
"""

import numpy as np

from reluflow.drive import descent
from reluflow.engine.field import BLAS_ABOVE
from reluflow.engine.vector import descent as kv
from reluflow.losses import TABLE
from reluflow.methods import Descent
from reluflow.problem import Problem


class Machine(descent.Machine):
    """Descent with b of shape (m, k): its arrays, and states taken apart."""

    def __init__(self, problem: Problem, method: Descent, end: int = descent.NEVER):
        if method.fast_forward:
            raise ValueError(
                f"`fast_forward=True` is for networks with one output, got {problem.outputs} outputs: leave it out, "
                "and every iteration is taken."
            )
        super().__init__(problem, method, end)
        m, n, r, k = self.m, self.n, self.r, problem.outputs
        self.problem, self.k = problem, k
        self.size = m * (r + k + 1) + 1
        self.row_bytes = 8 * (self.size + 1) + m * n
        self.first = int(np.clip(1e6 / (m * n * (r + k)), 64, 4096))
        real, batch = np.dtype(method.dtype), min(method.batch or n, n)
        products = bool(m * batch * r > BLAS_ABOVE)
        self.task = kv.Task(  # type: ignore[assignment]
            x=self.task.x,
            y=np.array(problem.targets),
            live=self.task.live,
            classes=int(TABLE[problem.loss].labels == "classes"),
            slope=self.packed.slope,
            at_zero=self.at_zero,
            mean=self.task.mean,
            first=self.packed.first,
            step=method.step,
            batch=batch,
            products=products,
            decay=problem.decay,
        )
        self.state = kv.Moving(  # type: ignore[assignment]
            q=self.state.q,
            b=np.ascontiguousarray(self.start.b.T),
            c0=self.state.c0,
            exponent=self.state.exponent,
            amp=self.state.amp,
            mask=self.state.mask,
            dead=self.state.dead,
            energy=self.state.energy,
        )
        rows = int(np.clip(4e6 / (8 * self.size + m * n), 2, 1024))
        self.room = self.room._replace(
            at=np.empty((rows, 3), np.int64), y=np.empty((rows, self.size)), code=np.empty((rows, m * n), np.int8)
        )
        old = self.work
        self.work = kv.Work(  # type: ignore[assignment]
            order=old.order,
            x=old.x,
            flat=old.flat,
            turn=old.turn,
            u=old.u,
            z=np.empty(batch * m, real),
            amp_b=np.empty((k, m)),
            moved=np.empty(batch),
            f=np.empty((batch, k)),
            g=np.empty((batch, k)),
            push=np.empty(m),
            D=np.empty((r, m), real),
            h=np.empty((k, m)),
        )
        self.kernel = kv.burst if real == np.float64 else kv.burst32

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q (..., m, r), b (..., m, k) and c (..., m) of states."""
        m, r, k, lead = self.m, self.r, self.k, y.shape[:-1]
        q, b = y[..., : m * r].reshape(*lead, m, r), y[..., m * r : m * (r + k)].reshape(*lead, m, k)
        return q, b, y[..., m * (r + k) : m * (r + k + 1)]

    def _put_back(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        q, b, c = self.split(y)
        state = self.state
        state.q[:], state.b[:] = q.T, b.T
        state.exponent[:] = np.rint((c - state.c0) / descent.kd.LOG2)
        self._put_back_rest(clock, resume, y, code)

    def look(
        self, clock: np.ndarray, y: np.ndarray, code: np.ndarray, bits: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs (rows, n, k), log loss (rows,) and, when asked for, bits (rows, m, n) of stored states."""
        rows, m, n = len(clock), self.m, self.n
        x = np.asarray(self.task.x, float)
        f = np.empty((rows, n, self.k))
        block = max(1, int(2e6) // (m * n))
        for lo in range(0, rows, block):
            q, b, c = self.split(y[lo : lo + block])
            u = q @ x.T
            u = np.maximum(u, self.packed.slope * u)
            f[lo : lo + block] = np.swapaxes(u, 1, 2) @ (np.exp(2.0 * c)[..., None] * b)
        out = self.bits(np.asarray(code).reshape(rows, m, n)) if bits else np.empty((0, m, n))
        return f, self.problem.log_loss(f), out
