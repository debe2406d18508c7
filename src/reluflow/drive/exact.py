"""Gradient flow: the driver that runs the kernels in bursts and keeps what they return (`drive.bursts`)."""

from functools import cached_property
from typing import Any

import numpy as np

from reluflow.drive import compile, estimate
from reluflow.drive.bursts import Bursts, room_for
from reluflow.drive.recorder import States, Tape
from reluflow.drive.threads import PAUSE, PAYS, Team, threads_wanted
from reluflow.drive.wake import note_free_to_leave
from reluflow.engine import coupled, implicit, layout, rare, stiff, ways, windows
from reluflow.engine.coupled import GO_ON
from reluflow.engine.field import DORMANT
from reluflow.engine.pack import Units, pack, units_of
from reluflow.engine.tracer import Window
from reluflow.losses import LOSSES
from reluflow.methods import Limits, Save
from reluflow.outcome import Outcome
from reluflow.problem import Problem

# Squared sizes: a jump ends when a neuron's reaches ACTIVE (its neglected output then costs about 5 ACTIVE in time),
# and neurons below PASSIVE are the ones it moves.
ACTIVE = 1e-13
PASSIVE = 1e-10
DRIFT = 1e-9  # change of the outputs that resting neurons may make during one jump
WAYPOINTS = 24  # frames kept inside a jump: early, when neurons turn, and evenly
INSIDE = np.union1d(np.geomspace(1e-6, 1.0, WAYPOINTS // 2), np.linspace(0.0, 1.0, WAYPOINTS // 2)[1:])
EXACT_MOST = 11_585  # data: their Gram matrix takes 1 GiB
SMALL = 800  # neurons times surfaces: below, steps of all cost less than stretches, and `windows` is not compiled
LARGE = 1_000  # the same: above, a run begins with stretches
WIDE = 40  # dimensions from which a stretch costs no more than a step of all
USUAL_SWEEPS = 3  # of a stretch, at least; on average 2.3
EXPLICIT = 200  # steps of a draft before the first implicit one
# Stiff linear networks, see `Machine._watch`.
WATCHED = 128  # stretches, or steps of all neurons, after which the regime is chosen again
SLOW = 1.0 / 32.0  # angle by which a stretch turns neurons at most, on average, where only stability bounds its length
FINE = 1e-9  # tolerance of steps of all neurons, at most
TURN = 0.5  # by which such a step turns a neuron, or makes it grow, at most
RESOLVED = 1e-3  # components of a neuron, relative to it, that such steps keep
REGIME: str | None = None  # "coupled" or "windows" for every run: for tests and benchmarks


def refuse_too_many(n: int) -> None:
    """The inner products of all pairs of data are kept."""
    if n > EXACT_MOST:
        raise ValueError(
            f"Exact events must have at most {EXACT_MOST} data, got {n}: they keep the inner products of all pairs, "
            "1 GiB at that number. Use `rf.SteppedFlow(rtol=1e-4)`, or fewer data."
        )


class Machine(Bursts):
    """Kernel arrays of one problem: the state, its scratch space, and the buffers a burst fills.

    `regime` is "coupled" or "windows" where the rate of events is not to decide; it is not stored with a run.
    """

    def __init__(
        self,
        problem: Problem,
        rtol: float,
        end: float,
        rest: float = 0.0,
        units: Units | None = None,
        regime: str | None = None,
    ):
        refuse_too_many(problem.data.n)
        self.units = units_of(problem) if units is None else units
        self.made_of = (problem, rtol, end, rest, self.units)
        self.packed, self.coords, self.start = pack(problem, self.units)
        self.m, self.r = self.start.q.shape
        self.big, self.n = self.packed.e.shape[0], self.packed.alpha.size
        self.size = self.m * (self.r + 2) + 1
        self.state = layout.new_state(self.start, self.big)
        self.run = layout.record(layout.RUN)
        self.run.end, self.run.rtol, self.run.rest, self.run.nearest = end, rtol, rest, 1.0
        self.run.stride = 1
        self.run.passive = 0.5 * np.log(PASSIVE)
        self.tailed = problem.endless
        self.top = float(np.max(np.abs(self.packed.alpha), initial=1e-300))
        self.c_stop = 0.5 * np.log(ACTIVE)
        self.drifts = False  # whether the last horizon was that of drift
        self.row_bytes = 8 * (self.size + 2) + self.m * self.big
        self.first, self.jumps, self.counted_ways = 1, 0, False
        self.neglected = 0.0  # what the outputs may have moved while the drive was held constant, at most
        self.checkpoints, self.saved = room_for(self.size, self.m * self.big)
        self.kinked = bool(np.isfinite(LOSSES[problem.loss].kink))
        self.run.implicit = problem.train == "both" and self.n <= implicit.MOST and not self.kinked
        work = layout.new_work(self.m, self.r, self.big, self.n)
        self.scratch = layout.new_scratch(work, self.size, self.n if self.kinked else 0)
        self.mode: int | None = rare.START
        empty = np.empty((0, 0))
        self.looked = layout.Stored(np.empty(0), empty, np.empty((0, 0), np.int64), empty, np.empty(0), empty)
        self.span = layout.record(layout.SPAN)
        self.most = len(self.checkpoints.y)  # instants of a jump that are looked at in one go
        none = np.empty(0)
        self.instants = layout.Instants(none, none, none, np.empty(0, np.int64), *self.checkpoints[1:])
        self._window: Window | None = None
        self.cost = max(1, estimate.tracing(self.big, self.r))
        self.in_shares = self.m * self.cost >= PAYS  # traced by a `Team`, of one thread or more
        self.threads, self.draft = 1, False
        self.sweeps = (USUAL_SWEEPS, 0, 0)  # expected of a stretch; stretches so far, and sweeps of the present one
        regime = REGIME if regime is None else regime
        if problem.train == "both":
            pairs = self.m * self.big
            # In a linear network small components of aligned neurons decide what is learnt next. A step at a loose rtol
            # spans so many e-foldings that they are lost in its error; in a stretch each neuron is right to rounding.
            linear = self.packed.slope == 1.0
            if regime is None and (linear or pairs >= LARGE):
                regime = "windows"
                self.run.free = not linear and (self.r < WIDE or self.run.implicit == 1)
            elif regime is None:
                self.run.free = pairs >= SMALL
            # With inputs that are all zero there is nothing to trace.
            self.run.regime = layout.WINDOWS if regime == "windows" and pairs > 0 else layout.COUPLED
        # A linear run in stretches takes implicit steps where it is stiff, see `_watch`.
        linear = self.packed.slope == 1.0 and self.run.regime == layout.WINDOWS
        self.watched = linear and self.run.implicit == 1
        self.since = (0, 0.0, 0)  # steps, clock and implicit steps when the regime was last chosen

    @cached_property
    def team(self) -> Team:
        return Team(self.threads, self.cost, self.work, self.window)

    @cached_property
    def room(self) -> Any:
        """Scratch space of implicit steps, which many runs do not take."""
        return implicit.room(self.scratch, self.n)

    @property
    def window(self) -> Window:
        if self._window is None:
            newton = estimate.newton_pays(self.big, self.r)
            self._window = windows.window(self.packed.e, self.m, self.n, self.size, newton, self.kinked)
        return self._window

    # A run ----------------------------------------------------------------------------------------------------------

    def begin(self, tape: Tape, save: Save, limits: Limits) -> Outcome | None:
        """The state at t = 0, bits resolved, is the first checkpoint."""
        problem = self.made_of[0]
        estimate.announce(self.packed, self.m, LOSSES[problem.loss], self._time_of(self.run.end))
        if self.run.regime == layout.WINDOWS:
            compile.beside("burst", "windows", *["shares"] * self.in_shares)
        else:
            compile.beside("burst")
        self.threads = threads_wanted(limits.threads) if self.in_shares else 1
        # A draft of the explorer does not look for dead neurons that could be woken, which are not drawn, and takes no
        # implicit steps of losses with a tail, and of others late: one costs as much as ten explicit ones, many drafts
        # are over after fewer of these than they wait for, and every one ends after 500 of any kind.
        self.draft = getattr(limits, "draft", False)
        if self.draft and self.made_of[0].tailed:
            self.run.implicit = 0
        elif self.draft:
            self.run.patience = EXPLICIT
        status = self.burst(0)
        self._add_now(tape)
        return self._recorded(status, tape)

    def advance(self, budget: int, tape: Tape) -> Outcome | None:
        if not self.watched:
            return self._recorded(self.burst(budget), tape)
        count = WATCHED - int(self.run.n_steps) + self.since[0] if self.run.regime == layout.WINDOWS else 1
        outcome = self._recorded(self.burst(min(budget, count)), tape)
        if outcome is None and self.run.regime == layout.COUPLED:
            outcome = self._recorded(self.burst(0), tape)  # the velocity at the end of the step
        if outcome is None:
            self._watch(tape)
        return outcome

    def _watch(self, tape: Tape) -> None:
        """Goes over from stretches to steps of all neurons where a linear run is stiff, as these may be implicit, and
        back where it is not.

        A stretch is bounded by 2 over the fastest rate of the residuals, also long after these have settled. Neurons
        turn and grow at the rate |D| at most: where that comes to hardly anything in WATCHED stretches, only stability
        bounds them. Expects work.pull and run.G at the present state.
        """
        run = self.run
        steps, clock, stiff = self.since
        count = int(run.n_steps) - steps
        full = count >= WATCHED
        slow = full and self._speed() * (run.clock - clock) <= SLOW * count
        if run.regime == layout.WINDOWS:
            switch = run.implicit == 1 and slow and self._resolved()
        else:
            switch = (full and not slow and 2 * (run.n_stiff - stiff) < count) or not self._resolved()
        if full or switch:
            self._count_anew()
        if switch:
            run.regime = layout.COUPLED if run.regime == layout.WINDOWS else layout.WINDOWS
            self._add_now(tape)

    def _count_anew(self) -> None:
        self.since = (int(self.run.n_steps), float(self.run.clock), int(self.run.n_stiff))

    def _resolved(self) -> bool:
        """Whether steps of all neurons keep what decides how neurons go on: their components b + p, p = <q, D>/|D|,
        which grow under the present drive, and b, by which they turn under any other. Near a saddle, however stiff it
        is, these may be far below any tolerance, and only stretches keep them."""
        live = self.state.dead == 0
        if np.any(self.state.dead == DORMANT):
            return False
        q, b, _, _ = layout.parts(self.state.y, self.m)
        pull = self.work.pull
        size = np.linalg.norm(pull, axis=1)
        p = np.sum(q * pull, axis=1) / np.where(size > 0.0, size, 1.0)
        return bool(np.all(np.minimum(np.abs(b), np.abs(b + p))[live] >= RESOLVED))

    def _speed(self) -> float:
        """The largest |D|, in the clock of the run. Expects work.pull and run.G at the present state."""
        pace = np.exp(self.run.G + (self.run.clock if self.tailed else 0.0))
        return float(pace * np.max(np.linalg.norm(self.work.pull, axis=1), initial=0.0))

    def finish(self, tape: Tape, outcome: Outcome) -> None:
        self._close(tape)
        if not self.draft:
            note_free_to_leave(self, tape)

    def underway(self) -> tuple[float, float]:
        """The length of the stretch at hand, as a fraction of the run, and the share of its work that is done, if it
        takes as many sweeps as the one before it."""
        if self._window is None or not self._window.stretch.open or self.run.regime != layout.WINDOWS:
            return 0.0, 0.0
        stretch = self._window.stretch
        expected, steps, sweeps = self.sweeps
        if steps != self.run.n_steps:
            expected = max(USUAL_SWEEPS, sweeps)
        self.sweeps = (expected, int(self.run.n_steps), int(stretch.sweep) + 1)
        share = (stretch.sweep + stretch.next / self.m) / expected
        return float(stretch.H / self.run.end), float(min(share, 0.95))

    def _leap(self, tape: Tape) -> Outcome | None:
        self.jumps += 1
        t0, t1 = self.time(), self.horizon()
        if not np.isfinite(t1):
            return Outcome.STATIONARY
        if t1 <= t0 * (1 + 1e-15):
            # Nothing to gain: integrate for a while before trying again.
            self.run.wait = 50
            return None
        inside = t0 + (t1 - t0) * INSIDE
        inside[-1] = t1
        if self.watched:
            self.run.regime = layout.WINDOWS  # small neurons decide what follows
        before = self.small()
        for some in np.split(inside, range(self.most, len(inside), self.most)):
            rows, states = self.jump_through(some)
            if len(rows):
                tape.events.append(rows)
            self._add(tape, states)
        # |f - f_frozen| <= max |x| (sum of e^{2c} over the neurons that moved + what the others may drift).
        drift = self.run.speed * (t1 - t0)
        if self.drifts:
            # Neurons that drift were left where they are: without some steps the next jump would be the same.
            self.run.wait = 8
        self.neglected += float(self.top * (np.sum(np.maximum(before, self.small())) + drift))
        self._count_anew()
        return None

    # Any moment -----------------------------------------------------------------------------------------------------

    def restore(self, clock: float, resume: float, y: np.ndarray, code: np.ndarray) -> None:
        super().restore(clock, resume, y, code)
        if self._window is not None:
            self._window.stretch.ended = -1.0  # how the drive was bent before is not part of a checkpoint

    def _put(self, y: np.ndarray, code: np.ndarray) -> None:
        self.state.y[:] = y
        self.state.code[:] = code.reshape(self.m, self.big)
        self.state.sign[:] = np.where(layout.parts(y, self.m)[1] >= 0, 1.0, -1.0)

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q (..., m, r), b (..., m) and c (..., m) of states, in the user's units."""
        q, b, c, _ = layout.parts(y, self.m)
        if self.units.first:
            return q / self.units.weight, b * self.units.b0, c
        return q, b, c - self.units.log_size

    def _frames_in_jump(self, wanted: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        t1 = self.horizon()
        clock_end = np.log1p(t1) if self.tailed else t1
        found = []
        start = self._kept()
        first = int(self.run.next_frame)
        last = int(np.searchsorted(wanted, clock_end))
        for at in range(first, last, self.most):
            some = wanted[at : min(at + self.most, last)]
            _, states = self.jump_through(np.array([self._time_of(clock) for clock in some.tolist()]))
            found.append((states.y, states.code))
            self.run.next_frame += len(some)
        if found and self.run.next_frame < len(wanted):
            # The jump itself is made in one go, as in the run, under the forces that `horizon` leaves.
            self.restore(*start)
            self.burst(0)
            self.horizon()
        self.jump_to(t1)
        if t1 <= self.span.t0:
            self.run.wait = 50
        return found

    def small(self) -> np.ndarray:
        """e^{2c} of the passive neurons, 0 for the others."""
        _, _, c, _ = layout.parts(self.state.y, self.m)
        return np.where((c < self.run.passive) & (self.state.dead == 0), np.exp(2.0 * np.minimum(c, 0.0)), 0.0)

    def horizon(self) -> float:
        """Until when the drive may be held constant: the first passive neuron that becomes active, the end, or
        drift."""
        t0, t_end = self.time(), self._time_of(self.run.end)
        speed = self.run.speed
        pace = 1.0 + t0 if self.tailed else 1.0  # of t against the clock
        t_drift = t0 + DRIFT * pace / speed if speed > 0.0 else np.inf
        self.span.t0, self.span.t1 = t0, min(t_end, t_drift)
        self.span.c_stop, self.span.c_passive = self.c_stop, self.run.passive
        self.span.next = -1
        t1 = self._rare(rare.JUMP)
        self.drifts = t1 == t_drift
        return t1

    def jump_to(self, t: float) -> np.ndarray:
        """Moves the passive neurons to time t under the drive of the last `horizon`; returns the events, in order
        of time."""
        return self.jump_through(np.array([t]))[0]

    def jump_through(self, times: np.ndarray) -> tuple[np.ndarray, States]:
        """The same to several times, at most `self.most`, one after the other; returns the events and the states."""
        count = len(times)
        clock = np.minimum(np.log1p(times) if self.tailed else times, self.run.end)
        start = np.array([self.time(), *map(self._time_of, clock[:-1].tolist())])
        used = np.zeros(count, np.int64)
        # Bursts write their states where these go, and have none at hand now.
        self.instants = layout.Instants(start, times, clock, used, *(a[:count] for a in self.checkpoints[1:]))
        rows, instant = [], []
        span = self.span
        span.next = span.row = 0
        while span.row < count:
            row, before = int(span.row), int(span.next)
            self._rare(rare.JUMP)
            events = int(self.run.log_used)
            if events:
                rows.append(self.work.log[:events].copy())
                instant.append(row + np.searchsorted(used[row : int(span.row)], np.arange(events), side="right"))
            elif span.row == row and span.next == before:
                longer = np.empty((2 * len(self.work.log), 5))
                self.scratch = self.scratch._replace(work=self.work._replace(log=longer))
            self.run.log_used = 0
        self.set_time(float(times[-1]))
        _, y, code = self.checkpoints
        states = States(clock, y[:count].copy(), code[:count].astype(np.int8))
        if not rows:
            return np.empty((0, 5)), states
        found, order = np.concatenate(rows), np.concatenate(instant)
        return found[np.lexsort((found[:, 0], order))], states

    def _count_ways(self, mode: int) -> None:
        """Tabulates the ways out of w = 0 before they are first needed, so that no decision depends on which came
        first: at a neuron's arrival, or in a jump that may contain one, or where one stands already."""
        if self.counted_ways or self.packed.rank <= ways.FEW:
            return
        small = mode == rare.AT_ORIGIN or (mode == rare.JUMP and np.any(self.state.delta_sign > 0.0))
        if small or not np.all(np.any(layout.parts(self.state.y, self.m)[0], axis=1)):
            self.counted_ways = True
            self.packed = self.packed._replace(rays=layout.apart(ways.rays(self.packed.e, self.packed.rank)))

    def _rare(self, mode: int) -> float:
        self._count_ways(mode)
        asked = layout.Asked(self.span, self.instants, self.looked)
        return rare.handle(mode, self.packed, self.state, self.run, self.scratch, asked)

    def burst(self, budget: int) -> int:
        if self.mode is not None:
            self._rare(self.mode)
            self.mode = None
        while True:
            if self.watched:
                rtol = self.made_of[1]
                self.run.rtol = rtol if self.run.regime == layout.WINDOWS else min(rtol, FINE)
            if self.run.regime == layout.WINDOWS:
                status = self._windows(budget)
                if status in (layout.RUNNING, layout.FLUSH):
                    self.run.n_fields -= 1
                if status == layout.SWITCH:
                    return layout.RUNNING
                if status != windows.SHORT:
                    return status
                budget = 1
            compile.ready("burst")
            capped = self.watched and self.run.regime == layout.COUPLED and budget > 0
            status = self._steps(0 if capped else budget)
            if capped and status == layout.RUNNING:
                budget = 1
                self.run.step = min(self.run.step, TURN / max(1e-300, self._speed()))
                status = self._steps(budget)
            if status in (layout.RUNNING, layout.FLUSH):
                # The next burst evaluates the field where this one stopped once more: that is not counted.
                self.run.n_fields -= 1
            if status == layout.STIFF:
                budget = max(0, budget - int(self.run.taken) - 1)
                status = self._attempt()
                if status != GO_ON:
                    return status
                continue  # also without a budget: an event may be pending
            if status == layout.SWITCH:
                return layout.RUNNING
            if status != layout.ORIGIN:
                return status
            self._rare(rare.AT_ORIGIN)

    def _steps(self, budget: int) -> int:
        return coupled.burst(self.packed, self.state, self.run, self.scratch, budget, self.saved, self.checkpoints)

    def _attempt(self) -> int:
        compile.ready("stiff")
        return stiff.attempt(self.packed, self.state, self.run, self.room, self.saved, self.checkpoints)

    def _windows(self, budget: int) -> int:
        if not self.in_shares:
            return self._advance(windows.Limits(budget, max(windows.BLOCK, PAUSE // self.cost)))
        status = self._advance(windows.Limits(budget, -1))
        if status == layout.PAUSED and self.window.stretch.next < self.m:
            compile.ready("shares")
            self.team.trace(self.packed, self.state, self.run, self.work, self.window)
        return status

    def _advance(self, limits: windows.Limits) -> int:
        compile.ready("windows")
        return windows.advance(self.packed, self.state, self.run, self.work, self.window, limits, self.checkpoints)
