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

import time as _time
from typing import NamedTuple

import numpy as np

from reluflow.drive.exact import Progress
from reluflow.engine import adams as kl
from reluflow.engine import descent as kd
from reluflow.engine import fast_forward as kf
from reluflow.engine.field import BLAS_ABOVE, OFF, ON, PINNED
from reluflow.engine.pack import Start
from reluflow.losses import LOSSES
from reluflow.methods import Descent
from reluflow.outcome import Outcome
from reluflow.problem import Problem

BURST_SECONDS = 0.04
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
        self.marks: tuple | None = None  # (iteration, way on, y, code) of the run's own checkpoints
        self.fields = 0
        self.regimes: dict[str, float] = {}
        self.base = -1  # the checkpoint that the present state was replayed from
        if not self.full:
            self.draw()
        if self.forward:
            self.tools = kf.Tools(self.order, *self.bufs, *self.work)
            self.ahead = _ahead(x, self.m)
            self.reach = float(np.max(np.linalg.norm(x, axis=1)))

    def draw(self):
        """Brings the epoch of the present iteration into `order`."""
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

    def account(self):
        """How often the gradient was evaluated, and iterations by how they were made, with the tolerance of a leap."""
        ci = self.ci
        self.fields = int(ci[kd.N_FIELDS] if self.forward else ci[kd.ITER])
        leapt, jumped = int(ci[kd.N_LEAPT]), int(ci[kd.N_JUMPED])
        self.regimes = {"descent": int(ci[kd.ITER]) - leapt - jumped}
        if self.forward:
            self.regimes |= {"leapt": leapt, "jumped": jumped, "leaps": int(ci[kd.N_LEAPS])}
            self.regimes |= {"jumps": int(ci[kd.N_JUMPS]), "leap_tolerance": kl.TOLERANCE}

    def written(self):
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

    def finish(self):
        """Looks at the present state once more and writes it as a checkpoint, wherever a run stopped."""
        self.ci[kd.END] = self.ci[kd.CK_NEXT] = self.ci[kd.ITER]
        while self.burst(1) not in (kd.REACHED, kd.NOT_FINITE):
            pass

    def restore(self, clock: float, step: float, y: np.ndarray, code: np.ndarray):
        """Puts a checkpoint back, to the last bit, or the last one before it from which there is a way on.

        A run whose file does not say which these are goes on from `y` itself.
        """
        since = 0
        if self.marks is not None:
            at, ways, ys, codes = self.marks
            k = int(np.flatnonzero((at <= clock) & (ways > 0))[-1])
            if k == self.base and self.ci[kd.ITER] <= clock:
                return  # the last replay has come past it and not yet further
            self.base, clock, since, y, code = k, at[k], int(ways[k]) - 1, ys[k], codes[k]
        m, r, st = self.m, self.r, self.st
        st.q[:] = y[: m * r].reshape(m, r).T
        st.b[:] = y[m * r : m * r + m]
        st.exponent[:] = np.rint((y[m * r + m : m * r + 2 * m] - st.c0) / kd.LOG2)
        st.energy[0] = y[-1]
        st.mask[:] = self.bits(code).reshape(m, self.n).T
        st.sign[:] = np.sign(st.b)
        st.dead[:] = kd.DOUBTFUL
        self.ci[[kd.ITER, kd.FRESH_START, kd.MODE]] = int(clock), 1, kd.STEPPING
        self.ci[kd.LAST] = int(clock) - since

    def bits(self, code: np.ndarray) -> np.ndarray:
        """Codes to values of s'."""
        return np.array([self.pk.slope, 1.0, np.nan, self.at_zero])[code]

    def look(self, clock: np.ndarray, y: np.ndarray, code: np.ndarray, bits: bool = False):
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

    def frames(self, wanted: np.ndarray):
        """States at ascending iterations, going on from the present one."""
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


class Tape:
    """What a run keeps: checkpoints thinned by halves to `limit`, frames asked for, the first events of a run."""

    def __init__(self, limit: int):
        self.limit = limit
        self.marks: list[tuple] = []
        self.ways: list[np.ndarray] = []  # 1 + iterations since an event for every mark, 0 where there is no way on
        self.asked: list[tuple] = []
        self.events: list[np.ndarray] = []

    def take(self, machine: Machine, ended: bool = False):
        """Moves what a burst wrote into the tape; of a run that has ended the last state stays."""
        at, way_on, y, code, why = machine.written()
        for bit, where in ((kd.CHECKPOINT, self.marks), (kd.FRAME, self.asked)):
            mine = (why & bit) > 0
            if np.all(mine):
                mine = np.s_[:]
            if len(at) and np.any(why & bit):
                where.append((at[mine].astype(float), y[mine], code[mine]))
                if where is self.marks:
                    self.ways.append(way_on[mine])
        count = sum(len(part[0]) for part in self.marks)
        while count > self.limit:
            clock, y, code = joined(self.marks)
            keep = np.unique(np.r_[0:count:2, count - 1 if ended else 0])
            self.marks = [(clock[keep], y[keep], code[keep])]
            self.ways = [np.concatenate(self.ways)[keep]]
            count = len(keep)
            machine.ci[kd.STRIDE] *= 2
            machine.ci[kd.CK_NEXT] = int(clock[keep][-1]) + machine.ci[kd.STRIDE]
        if machine.ci[kd.EV_USED]:
            self.events.append(machine.room.ev[: machine.ci[kd.EV_USED]].copy())
            machine.ci[kd.EV_USED] = 0

    def drop_overflow(self):
        """Keeps the states whose squares are still numbers."""
        for where in (self.marks, self.asked):
            if where:
                clock, y, code = joined(where)
                good = np.max(np.abs(y), axis=1) < 1e100
                where[:] = [(clock[good], y[good], code[good])]
                if where is self.marks:
                    self.ways = [np.concatenate(self.ways)[good]]

    def all_events(self) -> np.ndarray:
        return np.concatenate(self.events) if self.events else np.empty((0, 5))


def joined(parts: list[tuple]) -> tuple:
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True)) if len(parts) > 1 else parts[0]


STATUS = {kd.REACHED: Outcome.REACHED, kd.STATIONARY: Outcome.STATIONARY, kd.NOT_FINITE: Outcome.NOT_FINITE}


def run(problem: Problem, method: Descent, end: float, save, limits, progress):
    """Descends until iteration `end` (inf: until nothing moves); returns machine, tape, outcome and seconds."""
    began = _time.perf_counter()
    last = int(end) if np.isfinite(end) else NEVER
    machine = Machine(problem, method, last)
    per_row = 8 * (machine.size + 1) + machine.m * machine.n
    tape = Tape(max(8, min(save.frames, save.bytes // per_row)))
    ci = machine.ci
    if machine.forward:
        # Leaps know no limit of iterations but the end.
        ci[kd.END] = min(last, limits.steps)
    if last < NEVER:
        ci[kd.STRIDE] = -(-last // (tape.limit - 1))
    if save.times is not None:
        asked = np.unique(method.iteration(np.array(save.times))).astype(np.int64)
        machine.saves = asked[asked <= last]
    ci[[kd.CAP_BITS, kd.CAP_SIGNS]] = min(limits.events, max(1000, save.bytes // 512)), min(limits.events, 100_000)
    outcome = Outcome.INTERRUPTED
    told, budget = began, int(np.clip(1e6 / (machine.m * machine.n * machine.r), 64, 4096))
    try:
        while True:
            status = machine.burst(min(budget, limits.steps - int(ci[kd.ITER]) + 1))
            if status == kd.REACHED:
                # A leap is left where it began, so that a replay can go on.
                ci[kd.N_LEAPT] += ci[kd.END] - ci[kd.ITER]
                ci[kd.ITER] = ci[kd.END]
                status = kd.REACHED if ci[kd.END] == last else kd.RUNNING
            now = _time.perf_counter()
            tape.take(machine, ended=status == kd.REACHED)
            if status in STATUS:
                outcome = STATUS[status]
                break
            if ci[kd.ITER] > limits.steps or limits.steps <= ci[kd.ITER] < last:
                outcome = Outcome.STEP_LIMIT
                break
            if limits.seconds is not None and now - began > limits.seconds:
                outcome = Outcome.TIME_LIMIT
                break
            done = ci[kd.N_FIELDS] if machine.forward else ci[kd.ITER]
            budget = int(np.clip(BURST_SECONDS / max(now - began, 1e-9) * done, 1, 1_000_000))
            if progress is not None and now - told > 0.1:
                told = now
                done = ci[kd.ITER] / last if last < NEVER else None
                progress(
                    Progress(
                        done,
                        float(np.log(ci[kd.ITER] * method.step)),
                        int(ci[kd.ITER]),
                        int(ci[kd.N_BITS]),
                        now - began,
                    )
                )
    except KeyboardInterrupt:
        tape.take(machine)
    if outcome is Outcome.NOT_FINITE:
        tape.drop_overflow()
    elif outcome is not Outcome.REACHED and joined(tape.marks)[0][-1] != ci[kd.ITER]:
        machine.finish()
        tape.take(machine, ended=True)
    tape.marks = [joined(tape.marks)]
    clock, y, code = tape.marks[0]
    machine.marks = (clock, np.concatenate(tape.ways), y, code)
    machine.account()
    return machine, tape, outcome, _time.perf_counter() - began
