"""Gradient flow with k outputs: the driver that runs the kernels in bursts and keeps what they return.

A run is a list of checkpoints from which any moment is replayed, as in `drive.exact`. Phases in which the outputs stand
still are jumped over by the closed forms of `drive.frozen`. Neurons with followers advance by steps of all together,
others by these or by stretches, as with one output.
"""

import numpy as np

from reluflow.drive import compile, exact
from reluflow.drive.bursts import Bursts, room_for
from reluflow.drive.exact import ACTIVE, DRIFT, INSIDE, PASSIVE, refuse_too_many
from reluflow.drive.frozen import Frozen
from reluflow.drive.recorder import Tape
from reluflow.drive.threads import PAUSE
from reluflow.drive.twin import Twin, rotation
from reluflow.engine.coupled import GO_ON
from reluflow.engine.field import DORMANT
from reluflow.engine.implicit import Stiff, stiff
from reluflow.engine.layout import (
    COUPLED,
    FLUSH,
    ORIGIN,
    RUN,
    RUNNING,
    STIFF,
    SWITCH,
    WINDOWS,
    Stored,
    new_scratch,
    record,
)
from reluflow.engine.pack import Units, units_of
from reluflow.engine.vector import coupled, implicit, layout, rare, windows
from reluflow.engine.vector.field import SQUARE
from reluflow.engine.vector.pack import pack
from reluflow.engine.vector.tracer import Window
from reluflow.engine.windows import BLOCK, SHORT
from reluflow.engine.windows import Limits as Stretches
from reluflow.methods import Limits, Save
from reluflow.outcome import Outcome
from reluflow.problem import Problem

TINY = -14.0  # log size of an initial neuron below which neurons get followers
LOUD = 300.0  # sum of e^{2c} |x|, above which what Newton leaves of an implicit step would be seen in the outputs
LARGE = 1_000  # neurons times surfaces from which on a run begins with stretches; below, they are not compiled


def price(unknowns: int, field: int, size: int) -> int:
    """What an implicit step costs, in explicit ones: about five Newton iterations with the equations of five stages,
    against twelve fields of so many operations."""
    stages = 5 * unknowns
    return int(np.clip((2 * stages**3 // 3 + 60 * stages * size) // max(1, 24 * field), 16, 10_000))


class Machine(Bursts):
    """Kernel arrays of one problem: the state, its scratch space, and the buffers a burst fills.

    `regime` is "coupled" or "windows" where the rate of events is not to decide; it is not stored with a run. Neurons
    with followers have the coupled one only.
    """

    def __init__(
        self,
        problem: Problem,
        rtol: float,
        end: float,
        rest: float = 0.0,
        units: Units | None = None,
        turned: bool = False,
        regime: str | None = None,
    ):
        refuse_too_many(problem.data.n)
        if problem.train != "both" or problem.decay > 0.0:
            raise ValueError(
                'Exact flows with several outputs must have `train="both"` and `decay=0`, got '
                f'"{problem.train}" and {problem.decay:g}: use `rf.Descent(step=...)`.'
            )
        self.units = units_of(problem) if units is None else units
        self.made_of = (problem, rtol, end, rest, self.units, turned)
        self.packed, self.coords, self.start = pack(problem, self.units)
        if turned:
            turn = rotation(self.packed.e)
            e = np.ascontiguousarray(self.packed.e @ turn)
            self.packed = self.packed._replace(e=e, et=np.ascontiguousarray(e.T))
            self.start = self.start._replace(q=self.start.q @ turn)
        self.twin: Twin | None = None
        self.m, self.r = self.start.q.shape
        self.k, self.big, self.n = problem.outputs, self.packed.e.shape[0], self.packed.alpha.size
        self.state = layout.new_state(self.start, self.big, self.k + 2 if np.min(self.start.c) < TINY else 0)
        self.rows = self.state.sign.size
        self.places = max(1, self.rows // self.m - 1)  # rows of a neuron that a jump fills; the last is for differences
        self.size = self.state.y.size
        self.run = record(RUN)
        self.run.end, self.run.rest, self.run.nearest = end, rest, 1.0
        # From a tiny start a neuron aligns to 1e-7, and what is left across its direction decides what it learns next:
        # an error relative to the neuron is 1e7 times that relative to what is left. Hence two digits more.
        self.run.rtol = rtol if self.rows == self.m else max(1e-2 * rtol, min(rtol, 1e-12))
        self.run.stride = 1
        self.run.passive = 0.5 * np.log(PASSIVE)
        self.tailed = problem.endless
        self.row_bytes = 8 * (self.size + 2) + self.m * self.big
        self.first, self.jumps = 1, 0
        self.twin_steps = 0  # of the run in rotated coordinates that this one is compared with
        self.undetermined = 0  # jumps after which the run depends on what rounding has lost
        self.drifts = False  # whether the last horizon was that of drift
        self.neglected = 0.0  # what the outputs may have moved while the drive was held constant, at most
        self.checkpoints, self.saved = room_for(self.size, self.m * self.big)
        work = layout.new_work(self.rows, self.r, self.big, self.n, self.k)
        self.scratch = new_scratch(work, self.size)
        self.mode: int | None = rare.START
        self._window: Window | None = None
        self._stiff: Stiff | None = None
        # Of tracing one neuron, in operations.
        self.cost = max(1, self.big * (self.r * (6 * self.k + 20) + 36 * self.k + 200))
        self.price = price(self.n * self.k, self.m * self.big * (self.r + self.k), self.size)
        if self.rows == self.m:
            regime = exact.REGIME if regime is None else regime
            self.run.free = regime is None and self.m * self.big >= LARGE
            if (regime == "windows" or self.run.free) and self.big > 0:
                self.run.regime = WINDOWS
        self.looked = Stored(
            np.empty(0),
            np.empty((0, 0)),
            np.empty((0, 0), np.int64),
            np.empty((0, 0, 0)),
            np.empty(0),
            np.empty((0, 0)),
        )

    @property
    def window(self) -> Window:
        if self._window is None:
            self._window = windows.window(self.packed, self.m, self.size)
        return self._window

    @property
    def stiff(self) -> Stiff:
        if self._stiff is None:
            self._stiff = stiff(self.n * self.k, self.size, np.empty((0, 0)))
        return self._stiff

    # A run ----------------------------------------------------------------------------------------------------------

    def begin(self, tape: Tape, save: Save, limits: Limits) -> Outcome | None:
        """The state at t = 0, bits resolved, is the first checkpoint."""
        if self.run.regime == WINDOWS:
            compile.beside("outputs_windows", "outputs")
        else:
            compile.beside("outputs")
        status = self.burst(0)
        self._add_now(tape)
        self.twin = Twin(self) if self.rows > self.m else None
        return self._recorded(status, tape)

    def advance(self, budget: int, tape: Tape) -> Outcome | None:
        if self.twin is None:
            return self._recorded(self.burst(budget), tape)
        outcome = self._recorded(self.burst(min(budget, self.twin.due - self.done().tried)), tape)
        if outcome is not None or self.done().tried >= self.twin.due:
            self._compare(self.twin)
        return outcome

    def _compare(self, twin: Twin) -> None:
        """Compares with the run in rotated coordinates, until the two have parted."""
        found = twin.compare(self, self.done().tried)
        self.twin_steps = int(twin.machine.run.n_steps)
        if found is not None:
            self.undetermined += 1
            self.twin = None
            if self.run.nearest > 0.0:
                self.run.nearest, self.run.nearest_clock = 0.0, found.clock
                self.run.nearest_neuron, self.run.nearest_surface = found.neuron, -1

    def finish(self, tape: Tape, outcome: Outcome) -> None:
        self._close(tape)

    def _more_costs(self) -> dict[str, int]:
        # Places after which the run depends on what rounding decides or has lost are undetermined.
        return {"twin_steps": self.twin_steps, "undetermined": self.undetermined}

    def _leap(self, tape: Tape) -> Outcome | None:
        self.jumps += 1
        t0 = self.time()
        frozen, t1 = self._horizon()
        if not np.isfinite(t1):
            return Outcome.STATIONARY
        if t1 <= t0 * (1 + 1e-15):
            # Nothing to gain: integrate for a while before trying again.
            self.run.wait = 50
            return None
        inside = t0 + (t1 - t0) * INSIDE
        before, drift = self._small(), self.run.speed * (t1 - t0)
        for t in [*inside[:-1].tolist(), t1]:
            frozen.write(t)
            self._add_now(tape)
        events = frozen.events_until(t1, self.run.clock)
        if len(events):
            tape.events.append(events)
        self.run.n_events += len(events)
        self.run.n_jump_events += len(events)
        if frozen.undetermined:
            self.undetermined += 1
            self.run.nearest, self.run.nearest_clock = 0.0, self.run.clock
            self.run.nearest_neuron, self.run.nearest_surface = int(frozen.large[0]), -1
        if self.drifts:
            self.run.wait = 8
        self.neglected += float(self.packed.top * (np.sum(np.maximum(before, self._small())) + drift))
        return None

    def _horizon(self) -> tuple[Frozen, float]:
        """The phase of constant drive that begins now, and its end: a neuron becomes large, the run ends, or drift."""
        t0 = self.time()
        pace = 1.0 + t0 if self.tailed else 1.0  # of t against the clock
        t_drift = t0 + DRIFT * pace / self.run.speed if self.run.speed > 0.0 else np.inf
        frozen = Frozen(self, t0, 0.5 * np.log(ACTIVE))
        t1 = frozen.horizon(min(self._time_of(self.run.end), t_drift))
        self.drifts = t1 == t_drift
        return frozen, t1

    def _small(self) -> np.ndarray:
        """e^{2c} of the small neurons, 0 for the others."""
        c = layout.parts(self.state.y, self.rows, self.k)[2][: self.m]
        return np.where(
            (c < self.run.passive) & (self.state.dead[: self.m] == 0), np.exp(2.0 * np.minimum(c, 0.0)), 0.0
        )

    def curvature(self) -> np.ndarray:
        """d^2 L / df_i^2 at the present outputs, (n, k, k)."""
        if self.packed.loss == SQUARE:
            return np.broadcast_to(self.packed.weight * np.eye(self.k), (self.n, self.k, self.k))
        f = self.work.f
        p = np.exp(f - np.logaddexp.reduce(f, axis=1, keepdims=True))
        return self.packed.weight * (p[:, :, None] * np.eye(self.k) - p[:, :, None] * p[:, None, :])

    # Any moment -----------------------------------------------------------------------------------------------------

    def _put(self, y: np.ndarray, code: np.ndarray) -> None:
        self.state.y[:] = y
        self.state.code[: self.m] = code.reshape(self.m, self.big)

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q (..., m, r), b (..., m, k) and c (..., m) of states, in the user's units; followers are added."""
        q, b, c, _ = layout.parts(y, self.rows, self.k)
        m = self.m
        if self.rows == m:
            return q, b, c - self.units.log_size
        total_q, total_b, size = q[..., :m, :].copy(), b[..., :m, :].copy(), c[..., :m].copy()
        for at in range(m, self.rows, m):
            used = np.any(q[..., at : at + m, :] != 0.0, -1) | np.any(b[..., at : at + m, :] != 0.0, -1)
            ratio = np.exp(np.where(used, c[..., at : at + m] - c[..., :m], -np.inf))[..., None]
            total_q += ratio * q[..., at : at + m, :]
            total_b += ratio * b[..., at : at + m, :]
        grown = np.sqrt(0.5 * (np.sum(total_q**2, -1) + np.sum(total_b**2, -1)))
        return total_q / grown[..., None], total_b / grown[..., None], size + np.log(grown) - self.units.log_size

    def _frames_in_jump(self, wanted: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        t0 = self.time()
        frozen, t1 = self._horizon()
        if t1 <= t0 * (1 + 1e-15):
            self.run.wait = 50
            return []
        found = []
        while self.run.next_frame < len(wanted):
            t = self._time_of(float(wanted[self.run.next_frame]))
            if t >= t1:
                break
            frozen.write(t)
            _, _, y, code = self._kept()
            found.append((y[None], code[None].astype(np.int8)))
            self.run.next_frame += 1
        if self.run.next_frame < len(wanted):
            frozen.write(t1)
            self.run.wait = 8 if self.drifts else 0
        return found

    def _rare(self, mode: int, neuron: int = 0) -> None:
        rare.handle(mode, self.packed, self.state, self.run, self.scratch, neuron, self.looked)

    def burst(self, budget: int) -> int:
        if self.mode is not None:
            self._rare(self.mode)
            self.mode = None
        while True:
            if self.run.regime == WINDOWS:
                status = self._advance(Stretches(budget, max(BLOCK, PAUSE // self.cost)))
                if status in (RUNNING, FLUSH):
                    self.run.n_fields -= 1
                if status != SHORT:
                    return RUNNING if status == SWITCH else status
                if np.any(self.state.dead == DORMANT):
                    self.run.regime = COUPLED  # no stretch is tried while a neuron rests at w = 0
                else:
                    budget = 1
            compile.ready("outputs")
            status = coupled.burst(
                self.packed, self.state, self.run, self.scratch, budget, self.saved, self.checkpoints
            )
            if status in (RUNNING, FLUSH):
                # The next burst evaluates the field where this one stopped once more: that is not counted.
                self.run.n_fields -= 1
            if status == STIFF:
                budget -= int(self.run.taken) + 1
                status = self._attempt()
                if status != GO_ON:
                    return status
                if budget > 0:
                    continue
                return RUNNING
            if status == SWITCH:
                return RUNNING
            if status != ORIGIN:
                return status
            self._rare(rare.AT_ORIGIN)

    def _attempt(self) -> int:
        """One implicit step. Where it is not as much longer than an explicit one as it costs more, and the next would
        not be either, explicit steps go on for a while."""
        run, step = self.run, self.scratch.step
        if self.packed.top * np.sum(self.work.e2c) > LOUD:
            run.patience = 3 * self.price
            return GO_ON
        compile.ready("outputs_implicit")
        status = implicit.attempt(self.packed, self.state, run, self.scratch, self.stiff, self.saved, self.checkpoints)
        pays = run.step >= min(self.price * step.longest, 2.0 * step.h)
        if run.patience > 0 or not pays:
            run.patience = 3 * self.price
        return status

    def _advance(self, limits: Stretches) -> int:
        compile.ready("outputs_windows")
        return windows.advance(self.packed, self.state, self.run, self.work, self.window, limits, self.checkpoints)
