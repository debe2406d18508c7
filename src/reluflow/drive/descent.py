r"""Gradient descent: the driver that runs `engine.descent` in bursts and keeps what was asked for.

    w_j += step a_j D_j,   a_j += step <w_j, D_j>   with the old values
    D_j = sum_i s'(<w_j, x_i>) g_i x_i,   g_i = -dL/df_i

Iteration k is the state at t = k step. The clock of a run is k itself; a time between two iterations shows the earlier.
Full batches are fast-forwarded by `engine.fast_forward`, whose path does not depend on what is saved; a state written
inside a leap or jump cannot be gone on from, and replays start at the last one before it that can.

Mini-batches: `rng = numpy.random.default_rng([seed, 2])`; every epoch draws `order = rng.permuted(numpy.arange(n))` and
goes through it `batch` rows at a time, the last batch being what is left. A batch's loss is its own mean (or sum). The
bits of all data are not looked at every iteration then, so that only changes of sign are events.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.drive.loop import Done
from reluflow.drive.recorder import Costs, States, Tape
from reluflow.engine import adams as kl
from reluflow.engine import descent as kd
from reluflow.engine import fast_forward as kf
from reluflow.engine.field import BLAS_ABOVE, OFF, ON, PINNED
from reluflow.engine.pack import Start
from reluflow.losses import LOSSES
from reluflow.methods import Descent, Limits, Save, as_bytes
from reluflow.outcome import Outcome
from reluflow.problem import Problem

BLOCK = 65_536  # entries of epoch orders drawn at a time
MARKS = 1024  # positions of the stream of orders that are remembered
NEVER = 2**62


class Rows(NamedTuple):
    """The data as events and bits see them: every row a surface of its own, x_i = alpha_i e_surf with alpha = 1."""

    e: np.ndarray
    surf: np.ndarray
    alpha: np.ndarray
    y: np.ndarray
    weight: float
    loss: int
    slope: float
    first: int


class Plain:
    """Coordinates of a run that keeps the weights as they are."""

    perp = None

    def __init__(self, n: int, d: int):
        self.n, self.d, self.kept = n, d, np.arange(n)

    @property
    def basis(self) -> np.ndarray:
        return np.eye(self.d)

    def expand(self, q: np.ndarray) -> np.ndarray:
        return q


class Orders:
    """The stream of epoch orders, from any epoch on: a bounded number of its positions is remembered."""

    def __init__(self, n: int, seed: int):
        self.n, self.per_block = n, max(1, BLOCK // n)
        self.rng = np.random.default_rng([seed, 2])
        self.marks = {0: self.rng.bit_generator.state}

    def block(self, epoch: int) -> tuple[int, np.ndarray]:
        """(first epoch, orders) of the block that holds `epoch`."""
        wanted = epoch // self.per_block
        at = max(k for k in self.marks if k <= wanted)
        self.rng.bit_generator.state = self.marks[at]
        while True:
            orders = self.rng.permuted(np.tile(np.arange(self.n), (self.per_block, 1)), axis=1)
            at += 1
            self.marks[at] = self.rng.bit_generator.state
            if at > wanted:
                break
        if len(self.marks) > MARKS:
            self.marks = {k: v for i, (k, v) in enumerate(sorted(self.marks.items())) if i % 2 == 0}
        return wanted * self.per_block, np.ascontiguousarray(orders.ravel())


class Machine:
    """Kernel arrays of one problem, with the same face as `flow.Machine`: look, restore, frames."""

    def __init__(self, problem: Problem, method: Descent, end: int = NEVER):
        x = np.array(problem.data.x)
        self.n, self.r = x.shape
        self.big, self.m = self.n, problem.init.width
        self.size = self.m * (self.r + 2) + 1
        self.coords = Plain(self.n, self.r)
        self.pk = Rows(
            e=x,
            surf=np.arange(self.n),
            alpha=np.ones(self.n),
            y=np.array(problem.data.y),
            weight=float(problem.weight),
            loss=LOSSES[problem.loss].code,
            slope=float(problem.activation.slope),
            first=int(problem.train == "first"),
        )
        self.loss = LOSSES[problem.loss]
        self.start = _start(problem)
        self.at_zero = float(problem.activation.at_zero or 0.0)
        real = np.dtype(method.dtype)
        batch = min(method.batch or self.n, self.n)
        self.full = batch == self.n
        self.per_epoch = -(-self.n // batch)
        self.task = kd.Task(
            x=x.astype(real),
            y=self.pk.y,
            live=np.any(x != 0, axis=1).astype(np.int64),
            loss=self.pk.loss,
            slope=self.pk.slope,
            at_zero=self.at_zero,
            mean=int(problem.reduction == "mean"),
            first=self.pk.first,
            step=method.step,
            batch=batch,
        )
        self.st = kd.Moving(
            q=np.ascontiguousarray(self.start.q.T, dtype=real),
            b=self.start.b.copy(),
            c0=self.start.c.copy(),
            exponent=np.zeros(self.m, np.int64),
            amp=np.empty(self.m),
            mask=np.zeros((self.n, self.m), real),
            sign=np.sign(self.start.b),
            dead=np.zeros(self.m, np.int64),
            energy=np.zeros(1),
        )
        self.ci = np.zeros(kd.CONTROLS, np.int64)
        self.ci[[kd.END, kd.STRIDE, kd.FRESH_START]] = end, 1, 1
        rows = int(np.clip(4e6 / (8 * self.size + self.m * self.n), 2, 1024))
        self.room = kd.Room(
            ev=np.empty((max(4096, 2 * self.m * (self.n + 2)), 5)),
            at=np.empty((rows, 3), np.int64),
            y=np.empty((rows, self.size)),
            code=np.empty((rows, self.m * self.n), np.int8),
        )
        self.blas = bool(self.m * batch * self.r > BLAS_ABOVE)
        self.bufs = (
            np.empty(batch * self.r if self.blas and not self.full else 0, real),
            np.empty(batch * self.m if self.blas else 0, real),
            np.empty((self.m, self.r) if self.blas else (0, 0), real),
        )
        self.work = (
            np.empty(batch * self.m, real),
            np.empty(self.m),
            np.empty(batch),
            np.empty(batch),
            np.empty((self.r, self.m), real),
            np.empty(self.m),
        )
        self.kernel = kd.burst if real == np.float64 else kd.burst32
        self.forward = method.fast_forward and self.full and real == np.float64
        self.orders = None if self.full else Orders(self.n, method.seed)
        self.order = np.arange(self.n)
        self.saves = np.empty(0, np.int64)
        self.last, self.step = end, method.step
        self.row_bytes = 8 * (self.size + 1) + self.m * self.n
        self.first = int(np.clip(1e6 / (self.m * self.n * self.r), 64, 4096))
        self.waiting: tuple[float, float, np.ndarray, np.ndarray] | None = None
        self.base = -1.0  # the clock of the checkpoint that the present state was replayed from
        if not self.full:
            self.draw()
        if self.forward:
            self.tools = kf.Tools(self.order, *self.bufs, *self.work)
            self.ahead = _ahead(x, self.m)
            self.reach = float(np.max(np.linalg.norm(x, axis=1)))

    def draw(self) -> None:
        """Brings the epoch of the present iteration into `order`."""
        assert self.orders is not None
        self.ci[kd.EPOCH], self.order = self.orders.block(int(self.ci[kd.ITER]) // self.per_epoch)

    def burst(self, budget: int) -> int:
        if self.forward:
            return kf.forward(
                self.task,
                self.st,
                self.ci,
                budget,
                self.blas,
                self.saves,
                self.tools,
                self.room,
                self.ahead,
                self.reach,
            )
        status = kd.DRAW
        while status == kd.DRAW:
            status = self.kernel(
                self.task,
                self.st,
                self.ci,
                budget,
                self.blas,
                self.saves,
                self.order,
                *self.bufs,
                *self.work,
                self.room,
            )
            if status == kd.DRAW:
                self.draw()
        return status

    # A run ----------------------------------------------------------------------------------------------------------

    def begin(self, tape: Tape, save: Save, limits: Limits) -> Outcome | None:
        ci, room = self.ci, as_bytes(save.memory)
        if self.forward:
            # Leaps know no limit of iterations but the end.
            ci[kd.END] = min(self.last, limits.steps)
        if self.last < NEVER:
            ci[kd.STRIDE] = -(-self.last // (tape.limit - 1))
        if save.times is not None:
            asked = np.unique(Descent(self.step).iteration(np.array(save.times))).astype(np.int64)
            self.saves = asked[asked <= self.last]
        ci[[kd.CAP_BITS, kd.CAP_SIGNS]] = min(limits.events, max(1000, room // 512)), min(limits.events, 100_000)
        return None

    def advance(self, budget: int, tape: Tape) -> Outcome | None:
        ci = self.ci
        status = self.burst(budget)
        while status in (kd.RUNNING, kd.FLUSH) and ci[kd.ITER] == self.last:
            # The last state is still to be looked at.
            self._write(tape)
            status = self.burst(1)
        if status == kd.REACHED:
            # A leap is left where it began, so that a replay can go on.
            ci[kd.N_LEAPT] += ci[kd.END] - ci[kd.ITER]
            ci[kd.ITER] = ci[kd.END]
            status = kd.REACHED if ci[kd.END] == self.last else kd.RUNNING
        self._write(tape, ended=status == kd.REACHED)
        return STATUS.get(status)

    def finish(self, tape: Tape, outcome: Outcome) -> None:
        self._write(tape)
        if outcome is Outcome.NOT_FINITE:
            # Keeps the states whose squares are still numbers.
            tape.select(np.flatnonzero(np.max(np.abs(tape.checkpoints()[0].y), axis=1) < 1e100))
            tape.asked = [part.rows(np.max(np.abs(part.y), axis=1) < 1e100) for part in tape.asked]
        elif outcome is not Outcome.REACHED and not (
            tape.marks and tape.checkpoints()[0].clock[-1] == self.ci[kd.ITER]
        ):
            self.ci[kd.END] = self.ci[kd.CK_NEXT] = self.ci[kd.ITER]
            while self.burst(1) not in (kd.REACHED, kd.NOT_FINITE):
                pass
            self._write(tape, ended=True)

    def done(self) -> Done:
        at, work = int(self.ci[kd.ITER]), int(self.ci[kd.N_FIELDS] if self.forward else self.ci[kd.ITER])
        return Done(at, at, int(self.ci[kd.N_BITS]), work, bounded=False)

    def progress(self) -> tuple[float | None, float]:
        at = int(self.ci[kd.ITER])
        return (at / self.last if self.last < NEVER else None), float(np.log(max(at, 1) * self.step))

    def costs(self) -> Costs:
        """Evaluations of the gradient, and iterations by how they were made, with the tolerance of a leap."""
        ci, steps = self.ci, int(self.ci[kd.ITER])
        leapt, jumped = int(ci[kd.N_LEAPT]), int(ci[kd.N_JUMPED])
        regimes: dict[str, float] = {"descent": steps - leapt - jumped}
        if self.forward:
            regimes |= {"leapt": leapt, "jumped": jumped, "leaps": int(ci[kd.N_LEAPS])}
            regimes |= {"jumps": int(ci[kd.N_JUMPS]), "leap_tolerance": kl.TOLERANCE}
        return Costs(steps, 0, self.done().work, np.nan, regimes, int(ci[kd.N_BITS] + ci[kd.N_SIGNS]))

    def stored(self, resume: np.ndarray) -> dict[str, np.ndarray]:
        """From which checkpoints there is a way on: those inside a leap are gone on from by what led up to them."""
        return {"checkpoints/way": resume}

    def _write(self, tape: Tape, ended: bool = False) -> None:
        """Moves what a burst wrote to the tape; of a run that has ended the last state stays."""
        at, way_on, y, code, why = self.written()
        rows = States(at.astype(float), y, code)
        for bit in (kd.CHECKPOINT, kd.FRAME):
            mine = (why & bit) > 0
            if not np.any(mine):
                continue
            part, way = (rows, way_on) if np.all(mine) else (rows.rows(mine), way_on[mine])
            if bit == kd.FRAME:
                tape.asked.append(part)
            else:
                tape.keep(part, way, self._thinned, last=ended)
        if self.ci[kd.EV_USED]:
            tape.events.append(self.room.ev[: self.ci[kd.EV_USED]].copy())
            self.ci[kd.EV_USED] = 0

    def _thinned(self, newest_dropped: bool, newest: float) -> None:
        self.ci[kd.STRIDE] *= 2
        self.ci[kd.CK_NEXT] = int(newest) + self.ci[kd.STRIDE]

    def written(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(iteration, way on, y, code, purpose) of the rows written since the last call."""
        used, room, m, r = int(self.ci[kd.USED]), self.room, self.m, self.r
        self.ci[kd.USED] = 0
        y, code = room.y[:used], room.code[:used]
        if 2 * used < len(room.y):
            y, code = y.copy(), code.copy()
        else:
            self.room = room._replace(y=np.empty_like(room.y), code=np.empty_like(room.code))
        if not self.full:
            mask = self.literal(y[:, : m * r].reshape(used, m, r) @ np.asarray(self.task.x, float).T)
            found = np.where(mask == 1.0, ON, np.where(mask == self.pk.slope, OFF, PINNED))
            code = found.astype(np.int8).reshape(used, m * self.n)
        at, why, way_on = room.at[:used].T
        return at.copy(), way_on.astype(float), y, code, why.copy()

    def literal(self, u: np.ndarray) -> np.ndarray:
        """s'(u)."""
        return np.where(u > 0, 1.0, np.where(u < 0, self.pk.slope, self.at_zero))

    # Any moment -----------------------------------------------------------------------------------------------------

    def restore(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        """Puts a checkpoint back, to the last bit, once frames are wanted; `resume` is 1 + iterations since an event.

        Where the last frames were replayed from the same one and the next are not before them, nothing is done twice.
        """
        self.waiting = (clock, resume, y, code)

    def _put_back(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        self.base = clock
        m, r, st = self.m, self.r, self.st
        st.q[:] = y[: m * r].reshape(m, r).T
        st.b[:] = y[m * r : m * r + m]
        st.exponent[:] = np.rint((y[m * r + m : m * r + 2 * m] - st.c0) / kd.LOG2)
        st.energy[0] = y[-1]
        st.mask[:] = self.bits(code).reshape(m, self.n).T
        st.sign[:] = np.sign(st.b)
        st.dead[:] = kd.DOUBTFUL
        self.ci[[kd.ITER, kd.FRESH_START, kd.MODE]] = int(clock), 1, kd.STEPPING
        self.ci[kd.LAST] = int(clock) - (int(resume) - 1)

    def bits(self, code: np.ndarray) -> np.ndarray:
        """Codes to values of s'."""
        return np.array([self.pk.slope, 1.0, np.nan, self.at_zero])[code]

    def look(
        self, clock: np.ndarray, y: np.ndarray, code: np.ndarray, bits: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs (rows, n), log loss (rows,) and, when asked for, bits (rows, m, n) of stored states."""
        rows, m, r = len(clock), self.m, self.r
        x = np.asarray(self.task.x, float)
        f = np.empty((rows, self.n))
        block = max(1, int(2e6) // (m * self.n))
        for lo in range(0, rows, block):
            part = y[lo : lo + block]
            b, c = part[:, m * r : m * r + m], part[:, m * r + m : m * r + 2 * m]
            u = part[:, : m * r].reshape(-1, m, r) @ x.T
            u = np.maximum(u, self.pk.slope * u) if self.pk.slope < 1.0 else u
            f[lo : lo + block] = np.einsum("km,kmn->kn", np.exp(2.0 * c) * b, u)
        out = self.bits(np.asarray(code).reshape(rows, m, self.n)) if bits else np.empty((0, m, self.n))
        return f, self.loss.log_total(self.pk.y, f, self.pk.weight), out

    def frames(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States at ascending iterations, going on from the checkpoint put back last."""
        if self.waiting is not None and not (self.base == self.waiting[0] and self.ci[kd.ITER] <= wanted[0]):
            self._put_back(*self.waiting)
        self.saves, back = np.unique(wanted.astype(np.int64), return_inverse=True)
        self.ci[[kd.FR_NEXT, kd.USED, kd.EV_USED, kd.CAP_BITS, kd.CAP_SIGNS]] = 0
        self.ci[[kd.STRIDE, kd.CK_NEXT, kd.END]] = NEVER, NEVER, self.saves[-1]
        ys, codes = [], []
        while True:
            status = self.burst(100_000)
            _, _, y, code, _ = self.written()
            ys.append(y)
            codes.append(code)
            if status not in (kd.RUNNING, kd.FLUSH):
                break
        y, code = np.concatenate(ys), np.concatenate(codes)
        back = np.minimum(back, len(y) - 1)  # a run at rest stays where it is
        return y[back], code[back]


def _ahead(x: np.ndarray, m: int) -> kl.Ahead:
    """Room for leaps and jumps."""
    (n, d), order = x.shape, kl.ORDER
    size = (d + 1) * m + 1
    return kl.Ahead(
        past=np.zeros((order, size)),
        node=np.zeros(order, np.int64),
        start=np.zeros(size),
        new=np.zeros(size),
        seen=np.zeros(size),
        highest=np.zeros(size),
        x=np.zeros(order),
        poly=np.zeros((order + 1, order + 1)),
        share=np.zeros((order, order)),
        weight=np.zeros((5, order + 1)),
        row=np.zeros(size),
        exponent=np.zeros(m, np.int64),
        u=np.zeros((4, n, m)),
        gram=x @ x.T if n <= 8 * d else np.empty((0, 0)),
        bent=np.zeros(n),
        size=np.zeros(m),
        cell=np.zeros((2, d, m)),
        real=np.zeros((4, m)),
        whole=np.zeros((3, m), np.int64),
        q=np.zeros(d),
    )


def _start(problem: Problem) -> Start:
    """The mantissas as given, with the larger of the two log scales beside them."""
    init = problem.init
    log_w, log_a = init.log_scales
    c = np.maximum(log_w, log_a) if problem.train == "both" else np.zeros(init.width)
    q, b = init.w * np.exp(log_w - c)[:, None], init.a * np.exp(log_a - c)
    return Start(q, b, c, np.zeros(init.width), np.zeros(init.width))


STATUS = {kd.REACHED: Outcome.REACHED, kd.STATIONARY: Outcome.STATIONARY, kd.NOT_FINITE: Outcome.NOT_FINITE}
