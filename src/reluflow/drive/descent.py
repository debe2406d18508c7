r"""Gradient descent: the driver that runs `engine.descent` in bursts and keeps what was asked for.

    w_j += step (a_j D_j - decay w_j),   a_j += step (<w_j, D_j> - decay a_j)   with the old values
    D_j = sum_i s'(<w_j, x_i>) g_i x_i,   g_i = -dL/df_i

Iteration k is the state at t = k step. The clock of a run is k itself; a time between two iterations shows the earlier.
Full batches are fast-forwarded by `engine.fast_forward`, whose path does not depend on what is saved; a run cannot
continue from a state inside a leap or jump, and a replay starts at the last state before it.

Mini-batches: `rng = numpy.random.default_rng([seed, 2])`; every epoch draws `order = rng.permuted(numpy.arange(n))` and
goes through it `batch` rows at a time, the last batch being what is left. A batch's loss is its own mean (or sum). The
bits of all data are not looked at every iteration then, so that only changes of sign are events.
"""

from typing import Any, NamedTuple

import numpy as np

from reluflow.drive.loop import Done
from reluflow.drive.recorder import Costs, States, Tape
from reluflow.engine import adams, closed_form, fast_forward
from reluflow.engine import descent as kd
from reluflow.engine.field import BLAS_ABOVE, OFF, ON, PINNED
from reluflow.engine.layout import all_apart, parts, record
from reluflow.engine.pack import Start
from reluflow.losses import TABLE
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
    """Kernel arrays of one problem, with the same methods as `exact.Machine`: look, restore, frames."""

    def __init__(self, problem: Problem, method: Descent, end: int = NEVER):
        self.made_of = (problem, method, end)
        x = np.array(problem.data.x)
        self.n, self.r = x.shape
        self.big, self.m = self.n, problem.init.width
        self.size = self.m * (self.r + 2) + 1
        self.coords = Plain(self.n, self.r)
        self.packed = Rows(
            e=x,
            surf=np.arange(self.n),
            alpha=np.ones(self.n),
            y=np.array(problem.data.y),
            weight=float(problem.weight),
            loss=TABLE[problem.loss].code,
            slope=float(problem.activation.slope),
            first=int(problem.train == "first"),
        )
        self.loss = TABLE[problem.loss]
        self.start = _start(problem)
        self.at_zero = float(problem.activation.at_zero or 0.0)
        real = np.dtype(method.dtype)
        batch = min(method.batch or self.n, self.n)
        self.full = batch == self.n
        self.per_epoch = -(-self.n // batch)
        products = bool(self.m * batch * self.r > BLAS_ABOVE)
        self.task = kd.Task(
            x=x.astype(real),
            y=self.packed.y,
            live=np.any(x != 0, axis=1).astype(np.int64),
            loss=self.packed.loss,
            slope=self.packed.slope,
            at_zero=self.at_zero,
            mean=int(problem.reduction == "mean"),
            first=self.packed.first,
            step=method.step,
            batch=batch,
            products=products,
            reach=float(np.max(np.linalg.norm(x, axis=1))),
            decay=problem.decay,
        )
        self.state = kd.Moving(
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
        self.run: Any = record(kd.RUN)
        self.run.end, self.run.stride, self.run.fresh = end, 1, 1
        rows = int(np.clip(4e6 / (8 * self.size + self.m * self.n), 2, 1024))
        self.room = kd.Room(
            saves=np.empty(0, np.int64),
            ev=np.empty((max(4096, 2 * self.m * (self.n + 2)), 5)),
            at=np.empty((rows, 3), np.int64),
            y=np.empty((rows, self.size)),
            code=np.empty((rows, self.m * self.n), np.int8),
        )
        self.work = kd.Work(
            order=np.arange(self.n),
            x=np.empty(batch * self.r if products and not self.full else 0, real),
            flat=np.empty(min(batch, kd.ROWS) * self.m if products else 0, real),
            turn=np.empty((self.m, self.r) if products else (0, 0), real),
            block=np.empty((2, self.m, self.r) if products else (2, 0, 0), real),
            u=np.empty(batch * self.m, real),
            amp_b=np.empty(self.m),
            f=np.empty(batch),
            g=np.empty(batch),
            moved=np.empty(batch),
            D=np.empty((self.r, self.m), real),
            h=np.empty(self.m),
            part=np.empty(self.m),
        )
        self.kernel = kd.burst if real == np.float64 else kd.burst32
        self.forward = method.fast_forward is not False and self.full and real == np.float64 and problem.outputs == 1
        self.orders = None if self.full else Orders(self.n, method.seed)
        self.last, self.step = end, method.step
        self.row_bytes = 8 * (self.size + 1) + self.m * self.n
        self.first = int(np.clip(1e6 / (self.m * self.n * self.r), 64, 4096))
        self.waiting: tuple[float, float, np.ndarray, np.ndarray] | None = None
        self.base = -1.0  # the clock of the checkpoint that the present state was replayed from
        if not self.full:
            self.draw()
        if self.forward:
            self.leap = all_apart(adams.leap_room(x, self.m))
            self.jump = all_apart(closed_form.jump_room(self.n, self.r, self.m))

    def draw(self) -> None:
        """Brings the epoch of the present iteration into `order`."""
        assert self.orders is not None
        self.run.epoch, order = self.orders.block(int(self.run.iteration) // self.per_epoch)
        self.work = self.work._replace(order=order)

    def burst(self, budget: int) -> int:
        """About `budget` iterations or evaluations; returns a status of `engine.descent`."""
        if self.forward:
            return fast_forward.forward(
                self.task, self.state, self.run, budget, self.work, self.room, self.leap, self.jump
            )
        while (status := self.kernel(self.task, self.state, self.run, budget, self.work, self.room)) == kd.DRAW:
            self.draw()
        return status

    def __reduce__(self) -> tuple:
        # A copy is at t = 0: a checkpoint is restored before a state is read from it.
        return type(self), self.made_of

    # A run ----------------------------------------------------------------------------------------------------------

    def begin(self, tape: Tape, save: Save, limits: Limits) -> Outcome | None:
        run, room = self.run, as_bytes(save.memory)
        if self.forward:
            # Leaps know no limit of iterations but the end.
            run.end = min(self.last, limits.steps)
        if self.last < NEVER:
            run.stride = -(-self.last // (tape.limit - 1))
        if save.times is not None:
            asked = np.unique(Descent(self.step).iteration(np.array(save.times))).astype(np.int64)
            self.room = self.room._replace(saves=asked[asked <= self.last])
        run.most_bits, run.most_signs = min(limits.events, max(1000, room // 512)), min(limits.events, 100_000)
        return None

    def advance(self, budget: int, tape: Tape) -> Outcome | None:
        run = self.run
        status = self.burst(budget)
        while status in (kd.RUNNING, kd.FLUSH) and run.iteration == self.last:
            # The last state is still to be looked at.
            self._write(tape)
            status = self.burst(1)
        if status == kd.REACHED:
            # A leap is left where it began, so that a replay can go on.
            run.n_leapt += run.end - run.iteration
            run.iteration = run.end
            status = kd.REACHED if run.end == self.last else kd.RUNNING
        self._write(tape, ended=status == kd.REACHED)
        return STATUS.get(status)

    def finish(self, tape: Tape, outcome: Outcome) -> None:
        self._write(tape)
        if outcome is Outcome.NOT_FINITE:
            # Keeps the states whose squares are still numbers.
            tape.select(np.flatnonzero(np.max(np.abs(tape.checkpoints()[0].y), axis=1) < 1e100))
            tape.asked = [part.rows(np.max(np.abs(part.y), axis=1) < 1e100) for part in tape.asked]
        elif outcome is not Outcome.REACHED and not (
            tape.marks and tape.checkpoints()[0].clock[-1] == self.run.iteration
        ):
            self.run.end = self.run.next_checkpoint = self.run.iteration
            while self.burst(1) not in (kd.REACHED, kd.NOT_FINITE):
                pass
            self._write(tape, ended=True)

    def done(self) -> Done:
        at, work = int(self.run.iteration), int(self.run.n_fields if self.forward else self.run.iteration)
        return Done(at, at, int(self.run.n_bits), work, bounded=False)

    def progress(self) -> tuple[float | None, float]:
        at = int(self.run.iteration)
        return (at / self.last if self.last < NEVER else None), float(np.log(max(at, 1) * self.step))

    def costs(self) -> Costs:
        """Evaluations of the gradient, and iterations by how they were made, with the tolerance of a leap."""
        run, steps = self.run, int(self.run.iteration)
        leapt, jumped = int(run.n_leapt), int(run.n_jumped)
        regimes: dict[str, float] = {"descent": steps - leapt - jumped}
        if self.forward:
            regimes |= {"leapt": leapt, "jumped": jumped, "leaps": int(run.n_leaps)}
            regimes |= {"jumps": int(run.n_jumps), "leap_tolerance": adams.TOLERANCE}
        return Costs(steps, 0, self.done().work, np.nan, regimes, int(run.n_bits + run.n_signs))

    def stored(self, resume: np.ndarray) -> dict[str, np.ndarray]:
        """Which checkpoints a run can continue from: not those inside a leap."""
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
        if self.run.log_used:
            tape.events.append(self.room.ev[: self.run.log_used].copy())
            self.run.log_used = 0

    def _thinned(self, newest_dropped: bool, newest: float) -> None:
        self.run.stride *= 2
        self.run.next_checkpoint = int(newest) + self.run.stride

    def written(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(iteration, way on, y, code, purpose) of the rows written since the last call."""
        used, room, m, r = int(self.run.rows_used), self.room, self.m, self.r
        self.run.rows_used = 0
        y, code = room.y[:used], room.code[:used]
        if 2 * used < len(room.y):
            y, code = y.copy(), code.copy()
        else:
            self.room = room._replace(y=np.empty_like(room.y), code=np.empty_like(room.code))
        if not self.full:
            mask = self.literal(y[:, : m * r].reshape(used, m, r) @ np.asarray(self.task.x, float).T)
            found = np.where(mask == 1.0, ON, np.where(mask == self.packed.slope, OFF, PINNED))
            code = found.astype(np.int8).reshape(used, m * self.n)
        at, why, way_on = room.at[:used].T
        return at.copy(), way_on.astype(float), y, code, why.copy()

    def literal(self, u: np.ndarray) -> np.ndarray:
        """s'(u)."""
        return np.where(u > 0, 1.0, np.where(u < 0, self.packed.slope, self.at_zero))

    # Any moment -----------------------------------------------------------------------------------------------------

    def restore(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        """Puts a checkpoint back, to the last bit, once frames are wanted; `resume` is 1 + iterations since an event.

        Where the last frames were replayed from the same one and the next are not before them, nothing is done twice.
        """
        self.waiting = (clock, resume, y, code)

    def _put_back(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        m, r, state = self.m, self.r, self.state
        state.q[:] = y[: m * r].reshape(m, r).T
        state.b[:] = y[m * r : m * r + m]
        state.exponent[:] = np.rint((y[m * r + m : m * r + 2 * m] - state.c0) / kd.LOG2)
        state.sign[:] = np.sign(state.b)
        self._put_back_rest(clock, resume, y, code)

    def _put_back_rest(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        """What does not depend on the number of outputs."""
        state = self.state
        self.base = clock
        state.energy[0] = y[-1]
        state.mask[:] = self.bits(code).reshape(self.m, self.n).T
        state.dead[:] = kd.DOUBTFUL
        self.run.iteration, self.run.fresh, self.run.mode = int(clock), 1, kd.STEPPING
        self.run.last_event = int(clock) - (int(resume) - 1)

    def take_up(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        """Puts a checkpoint back at once, for a run that goes on from there."""
        self._put_back(clock, resume, y, code)
        self.run.next_checkpoint = self.run.iteration + self.run.stride
        self.run.next_frame = int(np.searchsorted(self.room.saves, self.run.iteration, side="right"))
        if not self.full:
            self.draw()

    def bits(self, code: np.ndarray) -> np.ndarray:
        """Codes to values of s'."""
        return np.array([self.packed.slope, 1.0, np.nan, self.at_zero])[code]

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q (..., m, r), b (..., m) and c (..., m) of states."""
        return parts(y, self.m)[:3]

    def energy(self, y: np.ndarray) -> np.ndarray:
        """The energy dissipated."""
        return y[..., -1]

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
            u = np.maximum(u, self.packed.slope * u) if self.packed.slope < 1.0 else u
            f[lo : lo + block] = np.einsum("km,kmn->kn", np.exp(2.0 * c) * b, u)
        out = self.bits(np.asarray(code).reshape(rows, m, self.n)) if bits else np.empty((0, m, self.n))
        return f, self.loss.log_total(self.packed.y, f, self.packed.weight), out

    def frames(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States at ascending iterations, going on from the checkpoint put back last."""
        if self.waiting is not None and not (self.base == self.waiting[0] and self.run.iteration <= wanted[0]):
            self._put_back(*self.waiting)
        saves, back = np.unique(wanted.astype(np.int64), return_inverse=True)
        self.room = self.room._replace(saves=saves)
        self.run.next_frame = self.run.rows_used = self.run.log_used = self.run.most_bits = self.run.most_signs = 0
        self.run.stride, self.run.next_checkpoint, self.run.end = NEVER, NEVER, int(saves[-1])
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


def _start(problem: Problem) -> Start:
    """The mantissas as given, with the larger of the two log scales beside them."""
    init = problem.init
    log_w, log_a = init.log_scales
    c = np.maximum(log_w, log_a) if problem.train == "both" else np.zeros(init.width)
    q, b = init.w * np.exp(log_w - c)[:, None], (init.a.T * np.exp(log_a - c)).T
    return Start(q, b, c, np.zeros(init.width), np.zeros(init.width))


STATUS = {kd.REACHED: Outcome.REACHED, kd.STATIONARY: Outcome.STATIONARY, kd.NOT_FINITE: Outcome.NOT_FINITE}
