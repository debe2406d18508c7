r"""Runs in which some entries of w stay as they are, such as the one behind an output bias.

With M_jk = 0 where w_jk is fixed and 1 elsewhere, the gradient of w_j is masked and that of a_j is not:

    w' = a (D o M),   a' = <D, w>;   in (q, b, c), with h = <D, q> and k = <D o M, q>:
    c' = b (h + k) / 2,   q' = b (D o M) - c' q,   b' = h - c' b

An output bias is the output weight of a neuron w = (0, ..., 0, 1) on data with a last column of ones: with w fixed,
a' = sum_i g_i. Descent puts the fixed entries back after every iteration, which is the masked iteration to the last
bit. The exact flow is not made for this: its closed forms and its surfaces assume that all of w is trained.
"""

import numpy as np

from reluflow.drive import descent, stepped
from reluflow.drive.loop import Driver
from reluflow.drive.stepped import End
from reluflow.engine import descent as kd
from reluflow.methods import Descent, Method, SteppedFlow
from reluflow.problem import Problem


def driver(problem: Problem, method: Method, end: int | float) -> Driver:
    """The driver of a problem with fixed weights, or one sentence where there is none."""
    if problem.train == "first":
        raise ValueError(
            '`train` must be "both" with fixed weights, got "first": an output bias is trained with the output weights.'
        )
    if isinstance(method, Descent):
        return FixedDescent(problem, method, int(end))
    if isinstance(method, SteppedFlow) and problem.decay > 0.0:
        raise ValueError(
            "`decay` must be 0 for the stepped flow with fixed weights, such as an output bias, got "
            f"{problem.decay:g}: use `rf.Descent`."
        )
    if isinstance(method, SteppedFlow):
        return FixedStepped(problem, method.rtol, end)
    raise ValueError(
        "The exact flow does not support fixed weights, such as an output bias: use `rf.SteppedFlow(rtol=1e-4)` or "
        "`rf.Descent`, or a last Linear with `bias=False`."
    )


class FixedDescent(descent.Machine):
    """Descent that puts the fixed entries back after every iteration."""

    def __init__(self, problem: Problem, method: Descent, end: int = descent.NEVER):
        super().__init__(problem, method, end)
        fixed = problem.init.fixed
        assert fixed is not None
        self.forward = False
        self.fixed = np.ascontiguousarray(fixed.T)
        self.kept = self.start.q.T[self.fixed]
        self.of_neuron = np.nonzero(self.fixed)[1]

    def burst(self, budget: int) -> int:
        state, status = self.state, kd.RUNNING
        for _ in range(budget):
            status = super().burst(1)
            state.q[self.fixed] = np.ldexp(self.kept, -state.exponent[self.of_neuron])
            if status != kd.RUNNING:
                break
        return status


class FixedStepped(stepped.Machine):
    """The stepped flow with masked gradients."""

    def __init__(self, problem: Problem, rtol: float, end: float):
        fixed = problem.init.fixed
        assert fixed is not None
        _, coords, start = stepped.plain_pack(problem)
        used = np.any(coords.basis != 0.0, axis=0)
        inside = fixed[:, used]
        # What the data do not span is never trained.
        self.moving = np.hstack([~inside, np.ones((len(fixed), start.q.shape[1] - inside.shape[1]), bool)])
        self.masked = ~np.all(self.moving, axis=1)
        self.kept = np.exp(start.c)[:, None] * start.q
        super().__init__(problem, rtol, end)
        self.start.delta_sign[self.masked] = 0.0  # a^2 - |w|^2 is not conserved there

    def _end(self, clock: float, y: np.ndarray) -> End:
        end = super()._end(clock, y)
        q, b, c = self.split(y)
        dq, db, dc = self.split(end.rate)
        who = self.masked
        q, b, c = q[who], b[who], c[who]
        fac = self._clock_rate(clock, y)
        D = self.coef[who] @ self.packed.e
        pull = np.where(self.moving[who], D, 0.0)
        h, k = np.sum(D * q, axis=1), np.sum(pull * q, axis=1)
        rate = 0.5 * b * (h + k)
        dq[who] = fac * (b[:, None] * pull - rate[:, None] * q)
        db[who], dc[who] = fac * (h - rate * b), fac * rate
        unspent = np.sum(np.exp(2.0 * c) * b * b * (np.sum(D * D, axis=1) - np.sum(pull * pull, axis=1)))
        end.rate[-1] -= unspent * fac * np.exp(self._log_drive(y))
        return end

    def _log_drive(self, y: np.ndarray) -> float:
        return stepped.drive(self.loss, self.packed, self.outputs(y)[0])[1] if self.tailed else 0.0

    def _clock_rate(self, clock: float, y: np.ndarray) -> float:
        return float(np.exp(self._log_drive(y) + clock)) if self.tailed else 1.0

    def _project(self, y: np.ndarray, clock: float) -> np.ndarray:
        """As for other rows, and fixed entries exactly as they were."""
        y = super()._project(y, clock)
        q, b, c = self.split(y)
        who = self.masked
        scale = np.exp(c[who])
        w = np.where(self.moving[who], scale[:, None] * q[who], self.kept[who])
        a = scale * b[who]
        size = np.sqrt(0.5 * (np.sum(w * w, axis=1) + a * a))
        q[who], b[who], c[who] = w / size[:, None], a / size, np.log(size)
        return y
