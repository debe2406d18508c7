"""Gradient flow: the driver that runs the kernels in bursts and keeps what they return.

Bursts are short, so that Ctrl-C, limits and progress are seen at once; a run is a list of checkpoints from which any
moment is replayed, always to the same bits.
"""

from __future__ import annotations

import numpy as np

from reluflow.drive.loop import Done
from reluflow.drive.recorder import Costs, States, Tape
from reluflow.engine import coupled
from reluflow.engine import implicit as ks
from reluflow.engine import layout as kn
from reluflow.engine import rare as ka
from reluflow.engine import windows as kw
from reluflow.engine.field import BLAS_ABOVE, State, Work
from reluflow.engine.pack import Coordinates, Pack, Start, all_apart, apart, pack
from reluflow.methods import Limits, Save
from reluflow.outcome import Outcome
from reluflow.problem import Problem

# Squared sizes: a jump ends when a neuron's reaches ACTIVE (its neglected output then costs about 5 ACTIVE in
# time), and
# neurons below PASSIVE are the ones it moves.
ACTIVE = 1e-13
PASSIVE = 1e-10
DRIFT = 1e-9  # change of the outputs that resting neurons may make during one jump
WAYPOINTS = 24  # frames kept inside a jump
EXACT_MOST = 11_585  # data: their Gram matrix takes 1 GiB


class Machine:
    """Kernel arrays of one problem: the state, its scratch space, and the buffers a burst fills."""

    def __init__(self, problem: Problem, rtol: float, end: float, rest: float = 0.0):
        if problem.data.n > EXACT_MOST:
            raise ValueError(
                f"Exact events must have at most {EXACT_MOST} data, got {problem.data.n}: they keep the inner products "
                "of all pairs, 1 GiB at that number. Use `rf.SteppedFlow(rtol=1e-4)`, or fewer data."
            )
        self.pk, self.coords, self.start = pack(problem)
        self.m, self.r = self.start.q.shape
        self.big, self.n = self.pk.e.shape[0], self.pk.alpha.size
        self.size = self.m * (self.r + 2) + 1
        self.st = all_apart(_state(self.pk, self.start))
        self.wk = all_apart(_work(self.m, self.big, self.r, self.n))
        self.cf, self.ci = apart(np.zeros(12)), apart(np.zeros(17, np.int64))
        self.cf[[kn.END, kn.RTOL, kn.REST, kn.NEAREST]] = end, rtol, rest, 1.0
        self.ci[kn.STRIDE] = 1
        self.cf[kn.PASSIVE] = 0.5 * np.log(PASSIVE)
        self.tailed = problem.tailed
        top = self.top = float(np.max(np.abs(self.pk.alpha), initial=1e-300))
        label = 1.0 if problem.tailed else min(1.0, np.max(np.abs(self.pk.y), initial=0.0) or 1.0)
        self.c_stop = 0.5 * np.log(ACTIVE * label / max(top, 1.0))
        self.row_bytes = 8 * (self.size + 2) + self.m * self.big
        self.first, self.jumps = 1, 0
        self.neglected = 0.0  # what the outputs may have moved while the drive was held constant, at most
        self.rows = int(np.clip(4e6 / (8 * (self.size + self.m * self.big)), 8, 256))
        room = self.m * (self.big + 2)
        self.ev = np.empty((max(1024, 5 * room), 5))
        self.saves = np.empty(0)
        cells = self.m * self.big
        self.ck = (np.empty((self.rows, 2)), np.empty((self.rows, self.size)), np.empty((self.rows, cells), np.int64))
        frames = min(self.rows, 64)
        self.fr = (np.empty(frames), np.empty((frames, self.size)), np.empty((frames, cells), np.int64))
        k = self.size
        self.scratch = tuple(apart(np.zeros(shape)) for shape in ((16, k), (7, k), k, k, k, k))
        self.u = tuple(apart(np.zeros((self.m, self.big))) for _ in range(5))
        self.mode: int | None = ka.START
        empty = np.empty((0, 0))
        self.looked = (np.empty(0), empty, np.empty((0, 0), np.int64), empty, np.empty(0), empty)
        self.span, self.order, self.noises = np.zeros(5), np.zeros(1, np.int64), apart(np.zeros(self.big))
        self.probe = apart(np.full(max(self.n, 0), 1.0 / np.sqrt(max(self.n, 1))))
        self.window: kw.Window | None = None
        stiff = problem.loss == "square" and problem.train == "both" and self.n <= ks.MOST
        self.stiff = ks.stiff(self.n if stiff else 0, self.size)
        if problem.train == "both" and self.m * self.big * self.r > BLAS_ABOVE:
            self.window = kw.window(self.pk.gram, self.m, self.r, self.n, self.size)

    # A run ----------------------------------------------------------------------------------------------------------

    def begin(self, tape: Tape, save: Save, limits: Limits) -> Outcome | None:
        """The state at t = 0, bits resolved, is the first checkpoint."""
        status = self.burst(0)
        self._add_now(tape)
        return self._recorded(status, tape)

    def advance(self, budget: int, tape: Tape) -> Outcome | None:
        return self._recorded(self.burst(budget), tape)

    def finish(self, tape: Tape, outcome: Outcome) -> None:
        if not tape.marks:
            self.burst(0)
            self._add_now(tape)
        self._write(tape)
        if tape.checkpoints()[0].clock[-1] != self.cf[kn.CLOCK]:
            self._add_now(tape, last=True)
        # Neurons of one direction may let go one after another within a rounding of the clock: one checkpoint an
        # instant, the last; the start stays.
        keep = np.r_[np.diff(tape.checkpoints()[0].clock) > 0.0, True]
        keep[0] = True
        tape.select(np.flatnonzero(keep))

    def done(self) -> Done:
        steps, tried = int(self.ci[kn.N_STEPS]), int(self.ci[kn.N_STEPS] + self.ci[kn.N_REJECTED])
        return Done(steps, tried, int(self.ci[kn.N_EVENTS]), tried)

    def progress(self) -> tuple[float | None, float]:
        return progress_of(self.cf[kn.CLOCK], self.cf[kn.END], self.tailed)

    def costs(self) -> Costs:
        ci = self.ci
        regimes = {
            "coupled": int(ci[kn.N_STEPS] - ci[kn.N_WINDOWS]),
            "stiff": int(ci[kn.N_STIFF]),
            "windows": int(ci[kn.N_WINDOWS]),
            "jumps": self.jumps,
            "jump_events": int(ci[kn.N_JUMP_EVENTS]),
            "neglected": self.neglected,  # outputs left out while the drive was held constant, at most
        }
        nearest = float(self.cf[kn.NEAREST])
        return Costs(int(ci[kn.N_STEPS]), int(ci[kn.N_REJECTED]), int(ci[kn.N_FIELDS]), nearest, regimes)

    def stored(self, resume: np.ndarray) -> dict[str, np.ndarray]:
        """The reduced coordinates, and the end and rest that steps were clipped by."""
        return stored_flow(self.coords, self.cf[kn.END], self.cf[kn.REST])

    def _recorded(self, status: int, tape: Tape) -> Outcome | None:
        self._write(tape)
        return self._leap(tape) if status == kn.QUIET else STATUS.get(status)

    def _write(self, tape: Tape) -> None:
        """Moves what a burst wrote to the tape."""
        used = int(self.ci[kn.CK_USED])
        if used:
            clock, y, code = (a[:used].copy() for a in self.ck)
            tape.keep(States(clock[:, 0].copy(), y, code.astype(np.int8)), clock[:, 1].copy(), self._thinned)
        if self.ci[kn.EV_USED]:
            tape.events.append(self.ev[: self.ci[kn.EV_USED]].copy())
        self.ci[kn.CK_USED] = self.ci[kn.EV_USED] = 0

    def _add_now(self, tape: Tape, last: bool = False) -> None:
        """The present state as one more checkpoint."""
        now = States(
            self.cf[kn.CLOCK : kn.CLOCK + 1].copy(),
            self.st.y[None].copy(),
            self.st.code.reshape(1, -1).astype(np.int8),
        )
        tape.keep(now, self.cf[kn.STEP : kn.STEP + 1].copy(), self._thinned, last)

    def _thinned(self, newest_dropped: bool, newest: float) -> None:
        # Ticks since the newest go on counting: where a burst ended, which is a matter of wall time, must not show.
        self.ci[kn.TICK] += newest_dropped * self.ci[kn.STRIDE]
        self.ci[kn.STRIDE] = min(2 * int(self.ci[kn.STRIDE]), 2**60)

    def _leap(self, tape: Tape) -> Outcome | None:
        """One jump over a phase in which the outputs stand still; an outcome if nothing would ever happen again."""
        self.jumps += 1
        t0, t1 = self.time(), self.horizon()
        if not np.isfinite(t1):
            return Outcome.STATIONARY
        if t1 <= t0 * (1 + 1e-15):
            # Nothing to gain: integrate for a while before trying again.
            self.ci[kn.WAIT] = 50
            return None
        # Frames where something is to be seen: early, when neurons turn, and evenly.
        inside = t0 + (t1 - t0) * np.union1d(
            np.geomspace(1e-6, 1.0, WAYPOINTS // 2), np.linspace(0.0, 1.0, WAYPOINTS // 2)[1:]
        )
        before = self.small()
        for t in inside[:-1].tolist() + [t1]:
            rows = self.jump_to(t)
            if len(rows):
                tape.events.append(rows)
            self._add_now(tape)
        # |f - f_frozen| <= max |x| (sum of e^{2c} over the neurons that moved + what the others may drift).
        drift = self.cf[kn.SPEED] * (t1 - t0)
        self.neglected += float(self.top * (np.sum(np.maximum(before, self.small())) + drift))
        return None

    # Any moment -----------------------------------------------------------------------------------------------------

    def restore(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        """Puts a checkpoint back."""
        self.st.y[:] = y
        self.st.code[:] = code.reshape(self.m, self.big)
        b = y[self.m * self.r : self.m * self.r + self.m]
        self.st.sign[:] = np.where(b >= 0, 1.0, -1.0)
        self.cf[[kn.CLOCK, kn.STEP]] = clock, resume
        self.mode = ka.RESTORE
        # What a replay gives must not depend on what was replayed before it.
        self.probe[:] = 1.0 / np.sqrt(max(self.n, 1))
        self.ci[[kn.WAIT, kn.ORIGIN, kn.CHECKED, kn.PATIENCE]] = 0

    def look(
        self, clock: np.ndarray, y: np.ndarray, code: np.ndarray, bits: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Outputs (rows, n), log loss (rows,) and, when asked for, surface bits (rows, m, S) of stored states."""
        rows = len(clock)
        f, logs = np.empty((rows, self.n)), np.empty(rows)
        out = np.empty((rows if bits else 0, self.m * self.big))
        self.looked = (clock, y, np.ascontiguousarray(code, dtype=np.int64), f, logs, out)
        self._aside(ka.LOOK, self.scratch[2])
        return f, logs, out.reshape(-1, self.m, self.big)

    def frames(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States at ascending clock values, going on from the present state."""
        if self.window is not None:
            return self._frames_in_windows(wanted)
        self.saves = np.ascontiguousarray(wanted)
        self.ci[[kn.FR_NEXT, kn.FR_USED]] = 0
        self.ci[kn.STRIDE] = 2**62
        found = []
        while True:
            status = self.burst(4)  # few steps: a longer burst would run on past the last frame
            used = int(self.ci[kn.FR_USED])
            found.append((self.fr[1][:used].copy(), self.fr[2][:used].astype(np.int8)))
            self.ci[[kn.FR_USED, kn.EV_USED, kn.CK_USED]] = 0
            if self.ci[kn.FR_NEXT] >= len(wanted):
                break
            if status == kn.QUIET:
                found += self._frames_in_jump(wanted)
                if self.ci[kn.FR_NEXT] >= len(wanted):
                    break
                continue
            if status not in (kn.RUNNING, kn.FLUSH):
                left = len(wanted) - int(self.ci[kn.FR_NEXT])
                found.append(
                    (
                        np.repeat(self.st.y[None], left, 0),
                        np.repeat(self.st.code.reshape(1, -1), left, 0).astype(np.int8),
                    )
                )
                break
        return np.concatenate([y for y, _ in found]), np.concatenate([c for _, c in found])

    def _frames_in_windows(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same where stretches have no inside to look into: one run for each, all from the present state."""
        start = self.cf[kn.CLOCK], self.cf[kn.STEP], self.st.y.copy(), self.st.code.reshape(-1).copy()
        end = self.cf[kn.END]
        self.ci[kn.STRIDE] = 2**60
        y, code = np.empty((len(wanted), self.size)), np.empty((len(wanted), self.m * self.big), np.int8)
        for k, clock in enumerate(wanted):
            self.restore(*start)
            self.cf[kn.END] = clock
            status = kn.RUNNING
            while status in (kn.RUNNING, kn.FLUSH, kn.QUIET):
                status = self.burst(8)
                self.ci[[kn.EV_USED, kn.CK_USED]] = 0
                if status == kn.QUIET:
                    t1 = self.horizon()
                    self.jump_to(t1)
                    if t1 <= self.span[0]:
                        self.ci[kn.WAIT] = 50
            y[k], code[k] = self.st.y, self.st.code.reshape(-1)
        self.cf[kn.END] = end
        return y, code

    def _frames_in_jump(self, wanted: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The wanted frames inside the jump that starts now, and the jump itself."""
        t1 = self.horizon()
        clock_end = np.log1p(t1) if self.tailed else t1
        found = []
        start = self.cf[kn.CLOCK], self.cf[kn.STEP], self.st.y.copy(), self.st.code.reshape(-1).copy()
        first = int(self.ci[kn.FR_NEXT])
        for k in range(first, len(wanted)):
            if wanted[k] >= clock_end:
                break
            self.jump_to(self._time_of(wanted[k]))
            found.append((self.st.y[None].copy(), self.st.code.reshape(1, -1).astype(np.int8)))
            self.ci[kn.FR_NEXT] += 1
        if found and self.ci[kn.FR_NEXT] < len(wanted):
            # The jump itself is made in one go, as in the run.
            self.restore(*start)
            self.burst(0)
        self.jump_to(t1)
        if t1 <= self.span[0]:
            self.ci[kn.WAIT] = 50
        return found

    def small(self) -> np.ndarray:
        """e^{2c} of the passive neurons, 0 for the others."""
        c = self.st.y[self.m * (self.r + 1) : -1]
        return np.where((c < self.cf[kn.PASSIVE]) & (self.st.dead == 0), np.exp(2.0 * np.minimum(c, 0.0)), 0.0)

    def time(self) -> float:
        return self._time_of(self.cf[kn.CLOCK])

    def _time_of(self, clock: float) -> float:
        # Jumps happen early; times beyond float64 only ever bound them.
        return float(np.expm1(min(clock, 700.0)) if self.tailed else clock)

    def set_time(self, t: float, end: float) -> None:
        """Sets the clock to time t; exactly to `end` when t is the end."""
        clock = np.log1p(t) if self.tailed else t
        self.cf[kn.CLOCK] = min(clock, end)

    def horizon(self) -> float:
        """Until when the drive may be held constant: the first passive neuron that becomes active, the end, or
        drift."""
        t0, t_end = self.time(), self._time_of(self.cf[kn.END])
        speed = self.cf[kn.SPEED]
        t_drift = t0 + DRIFT / speed if speed > 0.0 else np.inf
        self.span = np.array([t0, min(t_end, t_drift), self.c_stop, self.cf[kn.PASSIVE], 0.0])
        return self._jump(-1)

    def jump_to(self, t: float) -> np.ndarray:
        """Moves the passive neurons to time t under the drive of the last `horizon`; returns the events, in order
        of time."""
        self.span[0], self.span[1] = self.time(), t
        rows = [np.empty((0, 5))]
        self.order[0] = 0
        while self.order[0] < self.m:
            before = int(self.order[0])
            self._jump(before)
            used = int(self.ci[kn.EV_USED])
            rows.append(self.ev[:used].copy())
            self.ci[kn.EV_USED] = 0
            if self.order[0] == before and used == 0:
                self.ev = np.empty((2 * len(self.ev), 5))
        self.set_time(t, self.cf[kn.END])
        found = np.concatenate(rows)
        return found[np.argsort(found[:, 0], kind="stable")]

    def _jump(self, first: int) -> float:
        self.order[0] = first
        return self._aside(ka.JUMP, self.scratch[2])

    def _aside(self, mode: int, v: np.ndarray) -> float:
        return ka.aside(
            mode,
            self.pk,
            self.st,
            self.cf,
            self.ci,
            self.span,
            self.order,
            self.wk,
            v,
            self.noises,
            self.ev,
            *self.looked,
        )

    def burst(self, budget: int) -> int:
        """Up to `budget` steps; returns a status of `control`."""
        if self.mode is not None:
            self._aside(self.mode, self.scratch[2])
            self.mode = None
        while True:
            if self.window is not None:
                status = self._windows(budget)
                if status in (kn.RUNNING, kn.FLUSH):
                    self.ci[kn.N_FIELDS] -= 1
                if status != kw.SHORT:
                    return status
                budget = 1
            status = coupled.burst(
                self.pk,
                self.st,
                self.cf,
                self.ci,
                budget,
                self.saves,
                *self.scratch,
                *self.u,
                self.wk,
                self.stiff,
                self.probe,
                self.ev,
                *self.ck,
                *self.fr,
            )
            if status in (kn.RUNNING, kn.FLUSH):
                # The next burst evaluates the field where this one stopped once more: that is not counted.
                self.ci[kn.N_FIELDS] -= 1
            if status != kn.ASIDE:
                return status
            self._aside(ka.AT_ORIGIN, apart(self.scratch[0][12]) if self.ci[kn.ORIGIN] else self.scratch[2])

    def _windows(self, budget: int) -> int:
        return kw.advance(
            self.pk,
            self.st,
            self.cf,
            self.ci,
            budget,
            self.window,
            self.wk,
            self.probe,
            self.noises,
            self.ev,
            *self.ck,
        )


def _state(pk: Pack, start: Start) -> State:
    m, r = start.q.shape
    big = pk.e.shape[0]
    y = np.concatenate([start.q.ravel(), start.b, start.c, [0.0]])
    bits = np.zeros((m, big))
    code = np.zeros((m, big), np.int64)
    room = max(1, min(big, r))
    return State(
        y=y,
        bits=bits,
        code=code,
        sign=np.sign(start.b),
        dead=np.zeros(m, np.int64),
        slid=np.zeros(m, np.int64),
        basis=np.empty((m, room, r)),
        tri=np.empty((m, room, room)),
        where=np.empty((m, room), np.int64),
        delta_sign=np.array(start.delta_sign),
        delta_log=np.array(start.delta_log),
    )


def _work(m: int, big: int, r: int, n: int) -> Work:
    return Work(
        u=np.zeros((m, big)),
        pull=np.zeros((m, r)),
        free=np.zeros((m, r)),
        coef=np.zeros((m, big)),
        f=np.zeros(n),
        g=np.zeros(n),
        jump=np.zeros(big),
        base=np.zeros(big),
        acc=np.zeros((2, big)),
        e2c=np.zeros(m),
        probe_jump=np.zeros(big),
        probe_base=np.zeros(big),
        noise=np.zeros(big),
        who=np.zeros(m * (big + 1), np.int64),
        where=np.zeros(m * (big + 1), np.int64),
        poly=np.zeros(7),
        size=np.zeros(m),
        nu=np.zeros(max(1, min(big, r))),
    )


STATUS = {
    kn.REACHED: Outcome.REACHED,
    kn.STATIONARY: Outcome.STATIONARY,
    kn.STALLED: Outcome.STALLED,
    kn.NOT_FINITE: Outcome.NOT_FINITE,
    kn.STORM: Outcome.EVENT_LIMIT,
}


def progress_of(clock: float, end: float, tailed: bool) -> tuple[float | None, float]:
    """The fraction done, None without an end, and log t."""
    with np.errstate(divide="ignore"):
        log_t = float(clock + np.log(-np.expm1(-clock))) if tailed else float(np.log(clock))
    return (float(clock / end) if np.isfinite(end) else None), log_t


def stored_flow(coords: Coordinates, end: float, rest: float) -> dict[str, np.ndarray]:
    """What a file needs to take a flow up again."""
    found = {
        "control/end": np.array([end, rest]),
        "coordinates/basis": coords.basis,
        "coordinates/kept": coords.kept,
    }
    return found if coords.perp is None else found | {"coordinates/perp": coords.perp}
