"""What comes back from a run: frames, dense evaluation by replay, events, statistics.

Logarithms are authoritative: `log_t`, `log_loss`, `log_norm`; `t` and `loss` are their exponentials and may read inf
or 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from reluflow.clock import clock_for
from reluflow.drive.descent import joined
from reluflow.engine import descent as kd
from reluflow.engine.field import SLID
from reluflow.events import Events
from reluflow.init import Params
from reluflow.methods import Descent
from reluflow.outcome import Outcome


@dataclass(frozen=True)
class Stats:
    """What a run cost, and what it knows of its own error."""

    steps: int
    rejected: int
    events: int
    slides: int
    non_unique: int
    fields: int
    seconds: float
    rtol: float
    energy_error: float  # |L(0) - L(t) - int |grad L|^2| / L(0)
    nearest_bifurcation: float  # smallest normalised distance of any decision on a surface from going the other way
    regimes: dict = field(default_factory=dict)
    unrecorded: int = 0  # events of a descent or a stepped flow counted in `events` but not listed: memory is bounded

    def __repr__(self) -> str:
        return "Stats(" + ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self)) + ")"


class Solution:
    """A run of a problem. Frames are the run's own steps, thinned, or the times asked for by `Save(times=...)`."""

    def __init__(self, problem, method, outcome, stats, events, machine, frames, checkpoints):
        self.problem, self.method = problem, method
        self.outcome, self.stats, self.events = outcome, stats, events
        self.experiment = None  # the rf.Experiment that made this run, where there is one
        self._machine = machine
        self._time = clock_for(problem, method)
        self._frames = frames  # (clock (F,), y (F, N), code (F, m*S))
        self._checkpoints = checkpoints  # (clock and step (C, 2), y, code)

    @classmethod
    def from_flow(cls, problem, method, machine, tape, outcome, seconds, times) -> Solution:
        clock, y, code = tape.arrays()
        rows = tape.all_events()
        events = Events.from_surfaces(rows, clock_for(problem, method).times, machine.pk, machine.coords.kept)
        run = machine.run.copy()
        _, logs, _ = machine.look(clock[[0, -1], 0].copy(), y[[0, -1]].copy(), code[[0, -1]])
        loss0 = float(np.exp(logs[0]))
        spent = loss0 - float(np.exp(logs[1])) - float(y[-1, -1])
        stepped = method.events == "stepped"
        unlisted = machine.bit_changes if stepped else 0
        stats = Stats(
            steps=int(run.n_steps),
            rejected=int(run.n_rejected),
            events=len(events) + unlisted,
            slides=int(np.sum(events.code == 2)),
            non_unique=int(np.sum(~events.unique)),
            fields=int(run.n_fields),
            seconds=seconds,
            rtol=method.rtol,
            energy_error=abs(spent) / loss0 if loss0 > 0 else abs(spent),
            nearest_bifurcation=float(run.nearest),
            unrecorded=unlisted,
            regimes={"stepped": int(run.n_steps)}
            if stepped
            else {
                "coupled": int(run.n_steps - run.n_windows),
                "stiff": int(run.n_stiff),
                "windows": int(run.n_windows),
                "jumps": tape.jumps,
                "jump_events": int(run.n_jump_events),
                "neglected": tape.neglected,  # outputs left out while the drive was held constant, at most
            },
        )
        sol = cls(problem, method, outcome, stats, events, machine, (clock[:, 0], y, code), (clock, y, code))
        if times is not None:
            within = sol._time.of(np.array(times))
            sol._frames = sol._replay(within[within <= clock[-1, 0]])
        return sol

    @classmethod
    def from_descent(cls, problem, method, kept, outcome, seconds, times) -> Solution:
        machine, tape = kept
        clock, y, code = joined(tape.marks)
        events = Events.from_surfaces(
            tape.all_events(), clock_for(problem, method).times, machine.pk, machine.coords.kept
        )
        _, logs, _ = machine.look(clock[[0, -1]], y[[0, -1]], code[[0, -1]])
        with np.errstate(over="ignore"):  # the loss of a run that blew up
            loss0, loss1 = np.exp(logs).tolist()
        spent = loss0 - loss1 - float(y[-1, -1])
        seen = int(machine.ci[kd.N_BITS] + machine.ci[kd.N_SIGNS])
        stats = Stats(
            steps=int(machine.ci[kd.ITER]),
            rejected=0,
            events=seen,
            slides=0,
            non_unique=0,
            fields=machine.fields,
            seconds=seconds,
            rtol=float("nan"),
            energy_error=abs(spent) / loss0 if loss0 > 0 else abs(spent),
            nearest_bifurcation=float("nan"),
            regimes=machine.regimes,
            unrecorded=seen - len(events),
        )
        marks = np.column_stack([clock, np.full(len(clock), method.step)])
        frames = (clock, y, code)
        if times is not None:
            empty = (np.empty(0), np.empty((0, y.shape[1])), np.empty((0, code.shape[1]), np.int8))
            frames = joined(tape.asked) if tape.asked else empty
        return cls(problem, method, outcome, stats, events, machine, frames, (marks, y, code))

    # Frames ---------------------------------------------------------------------------------------------------------

    @cached_property
    def log_t(self) -> np.ndarray:
        return self._time.times(self._frames[0])[1]

    @cached_property
    def t(self) -> np.ndarray:
        return self._time.times(self._frames[0])[0]

    @cached_property
    def _looked(self):
        clock, y, code = self._frames
        return self._machine.look(np.ascontiguousarray(clock), y, code)

    @property
    def log_loss(self) -> np.ndarray:
        return self._looked[1]

    @property
    def loss(self) -> np.ndarray:
        return np.exp(self.log_loss)

    @cached_property
    def outputs(self) -> np.ndarray:
        """f(x_i) at every frame, (frames, n)."""
        return self._to_data(self._looked[0])

    @cached_property
    def log_norm(self) -> np.ndarray:
        """log |w_j| at every frame, (frames, width)."""
        q, _, c = self._split(self._frames[1])
        with np.errstate(divide="ignore"):
            return c + np.log(np.linalg.norm(q, axis=-1))

    @property
    def sign(self) -> np.ndarray:
        """Sign of a_j at every frame, (frames, width)."""
        return np.sign(self._split(self._frames[1])[1])

    @property
    def w(self) -> np.ndarray:
        """Mantissas of w: true rows are w e^`log_scale`, (frames, width, dim)."""
        return self._machine.coords.expand(self._split(self._frames[1])[0])

    @property
    def a(self) -> np.ndarray:
        """Mantissas of a: true weights are a e^`log_scale`, (frames, width)."""
        return self._split(self._frames[1])[1]

    @property
    def log_scale(self) -> np.ndarray:
        """Log scale of the mantissas `w` and `a`, (frames, width)."""
        return self._split(self._frames[1])[2]

    # Keeping it -----------------------------------------------------------------------------------------------------

    def save(self, path):
        """Write the run as a folder for `rf.load`; when this returns it is on disk, whole. `path` must not exist."""
        from reluflow import store

        return store.save(self, path)

    def to_xarray(self):
        """Frames and events as an `xarray.Dataset`: dims frame, neuron, datum, feature, event; times are `log_t`."""
        from reluflow import store

        return store.to_xarray(self)

    # Any moment -----------------------------------------------------------------------------------------------------

    def at(self, t=None, *, log_t=None):
        """The weights at time t (or e^log_t) as `Params`; a list of them for several times."""
        clock, scalar = self._clock(t, log_t)
        _, y, _ = self._replay(clock)
        q, b, c = self._split(y)
        w = self._machine.coords.expand(q)
        found = [Params(w[k], b[k], log_scale=c[k]) for k in range(len(clock))]
        return found[0] if scalar else found

    def outputs_at(self, t=None, *, log_t=None) -> np.ndarray:
        """f(x_i) at time t: (n,), or (times, n)."""
        clock, scalar = self._clock(t, log_t)
        f, _, _ = self._machine.look(*self._replay(clock))
        return self._to_data(f)[0] if scalar else self._to_data(f)

    def log_loss_at(self, t=None, *, log_t=None):
        """log of the loss at time t."""
        clock, scalar = self._clock(t, log_t)
        _, logs, _ = self._machine.look(*self._replay(clock))
        return float(logs[0]) if scalar else logs

    def loss_at(self, t=None, *, log_t=None):
        """The loss at time t."""
        return np.exp(self.log_loss_at(t, log_t=log_t))

    def bits_at(self, t=None, *, log_t=None) -> np.ndarray:
        """s'(<w_j, x_i>) at time t, (width, n): the slope or 1, or between while sliding; right-continuous in t."""
        clock, scalar = self._clock(t, log_t)
        _, _, bits = self._machine.look(*self._replay(clock), bits=True)
        full = self._bits_to_data(bits)
        return full[0] if scalar else full

    def sliding_at(self, t=None, *, log_t=None) -> np.ndarray:
        """True where neuron j is sliding on datum i at time t, (width, n)."""
        clock, scalar = self._clock(t, log_t)
        full = self._slid(self._replay(clock)[2])
        return full[0] if scalar else full

    def _slid(self, code: np.ndarray) -> np.ndarray:
        """Codes (rows, m*S) to where a datum is slid on, (rows, m, n)."""
        m = self._machine
        full = np.zeros((len(code), m.m, m.coords.n), bool)
        full[:, :, m.coords.kept] = (code.reshape(len(code), m.m, m.big) & 3 == SLID)[:, :, m.pk.surf]
        return full

    @cached_property
    def initial_bits(self) -> np.ndarray:
        """Bits before the first event, (width, n): signs of <w_j, x_i>; on a surface off (descent: `at_zero`)."""
        m = self._machine
        if isinstance(self.method, Descent):
            return self.bits_at(0.0)
        q = m.start.q / np.maximum(np.linalg.norm(m.start.q, axis=1, keepdims=True), 1e-300)
        u = q @ m.pk.e.T
        return self._bits_to_data(np.where(u > 4.5e-16, 1.0, m.pk.slope)[None])[0]

    def phases(self, tol: float = 1e-2):
        """Alignment, growth, plateaus, convergence: a table with start, end, neurons that grew, losses of saddles."""
        from reluflow.phases import phases

        return phases(self, tol)

    def _clock(self, t, log_t):
        if (t is None) == (log_t is None):
            raise ValueError("Give a time `t` or `log_t=...`, one of the two.")
        value = np.asarray(t if log_t is None else log_t, float)
        with np.errstate(over="ignore"):
            clock = self._time.of(value) if log_t is None else self._time.of_log(value)
        scalar = value.ndim == 0
        clock = np.atleast_1d(clock)
        last = self._checkpoints[0][-1, 0]
        if self.outcome is Outcome.STATIONARY:
            clock = np.minimum(clock, last)
        # A time that went through a logarithm may come back one rounding later than the end.
        clock = np.where((clock > last) & (clock <= last * (1 + 1e-14)), last, clock)
        outside = ~((clock >= 0.0) & (clock <= last))
        if np.any(outside):
            first = float(np.atleast_1d(value)[outside][0])
            got = f"{first}" if log_t is None else f"e^{first}"
            raise ValueError(f"A time must lie in [0, {self.t_end_text}], the span of the run, got {got}.")
        return clock, scalar

    def _replay(self, clock: np.ndarray):
        """States at clock values, in their order, by going on from the checkpoint before each."""
        order = np.argsort(clock, kind="stable")
        wanted = clock[order]
        marks, y, code = self._checkpoints
        out_y = np.empty((len(clock), y.shape[1]))
        out_code = np.empty((len(clock), code.shape[1]), np.int8)
        base = np.searchsorted(marks[:, 0], wanted, side="right") - 1
        m = self._machine
        lo = 0
        while lo < len(wanted):
            hi = lo + int(np.searchsorted(base[lo:], base[lo], side="right"))
            k = base[lo]
            exact = wanted[lo:hi] == marks[k, 0]
            if k == len(marks) - 1 or np.all(exact):
                out_y[lo:hi], out_code[lo:hi] = y[k], code[k]
            else:
                m.restore(marks[k, 0], marks[k, 1], y[k], code[k])
                out_y[lo:hi], out_code[lo:hi] = m.frames(wanted[lo:hi])
            lo = hi
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return np.ascontiguousarray(clock), out_y[back], out_code[back]

    # ----------------------------------------------------------------------------------------------------------------

    def _split(self, y: np.ndarray):
        m, r = self._machine.m, self._machine.r
        return (
            y[..., : m * r].reshape(*y.shape[:-1], m, r),
            y[..., m * r : m * r + m],
            y[..., m * r + m : m * r + 2 * m],
        )

    def _to_data(self, f: np.ndarray) -> np.ndarray:
        coords = self._machine.coords
        full = np.zeros((*f.shape[:-1], coords.n))
        full[..., coords.kept] = f
        return full

    def _bits_to_data(self, bits: np.ndarray) -> np.ndarray:
        pk, coords = self._machine.pk, self._machine.coords
        full = np.full((*bits.shape[:-1], coords.n), pk.slope)
        of_row = bits[..., pk.surf]
        full[..., coords.kept] = np.where(pk.alpha < 0, 1.0 + pk.slope - of_row, of_row)
        return full

    @property
    def t_end_text(self) -> str:
        t, log_t = self._time.times(self._checkpoints[0][-1, 0])
        return f"{float(t):.6g}" if np.isfinite(t) else f"e^{float(log_t):.6g}"

    @cached_property
    def final(self) -> Params:
        """The weights at the end of the run."""
        q, b, c = self._split(self._checkpoints[1][-1])
        return Params(self._machine.coords.expand(q), b, log_scale=c)

    def __repr__(self) -> str:
        marks, y, code = self._checkpoints
        _, logs, _ = self._machine.look(marks[-1:, 0].copy(), y[-1:], code[-1:])
        s = self.stats
        loss = f"{np.exp(logs[0]):.6g}" if -700 < logs[0] < 700 or logs[0] == -np.inf else f"e^{logs[0]:.6g}"
        descent = isinstance(self.method, Descent)
        steps = f"{s.steps} iterations" if descent else f"{s.steps} steps"
        accuracy = f"step {self.method.step:g}" if descent else f"rtol {s.rtol:g}"
        slides = f" ({s.slides} slides)" if s.slides else ""
        slides += f" ({s.unrecorded} not listed)" if s.unrecorded else ""
        odd = f", {s.non_unique} not unique" if s.non_unique else ""
        return (
            f"Solution(t = 0..{self.t_end_text}: {steps}, {s.events} events{slides}{odd}, loss {loss}, "
            f"{accuracy}; {self.outcome.value})"
        )
