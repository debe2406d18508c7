"""The result of a run: frames, dense evaluation by replay, events, statistics.

Logarithms are authoritative: `log_t`, `log_loss`, `log_norm`; `t` and `loss` are their exponentials and may be inf
or 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from reluflow import _text
from reluflow._checks import as_finite, one_output, shown
from reluflow.clock import Clock, clock_for
from reluflow.data.core import Data
from reluflow.drive.loop import Driver, Run
from reluflow.drive.recorder import Costs, States
from reluflow.events import Events
from reluflow.init import LOG_MIN, Params
from reluflow.methods import DecayLimit, Descent, Flow, Method
from reluflow.outcome import Outcome
from reluflow.problem import Problem
from reluflow.replay import Moments, Replay

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

    from reluflow.experiment import Experiment
    from reluflow.phases import Phases

T = TypeVar("T")
ENERGY_MOST = 1e-3  # energy error of a flow above which its outcome says so
CONFIRMED = "confirmed"  # the key under which a run keeps what `rf.confirm` found
DRAWN = 1000  # most neurons of a run that a notebook draws without being asked
Times = float | list[float] | np.ndarray | None


@dataclass(frozen=True)
class Stats:
    """Cost and error estimates of a run."""

    steps: int
    rejected: int
    events: int
    slides: int
    non_unique: int
    fields: int
    seconds: float
    rtol: float
    energy_error: float  # |L(0) - L(t) - int |grad L|^2| / L(0), L with (decay / 2) |theta|^2
    nearest_bifurcation: float  # smallest normalised distance of any decision on a surface from changing
    nearest_place: tuple[float, int, int] | None = None  # its log t, neuron and datum (-1: the sign of a_j)
    regimes: dict = field(default_factory=dict)
    unrecorded: int = 0  # events of a descent or a stepped flow counted in `events` but not listed: memory is bounded
    wakeable: int = 0  # dead neurons that could have left the boundary they died on; kept off, as in descent

    def __repr__(self) -> str:
        return "Stats(" + ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self)) + ")"


@dataclass(frozen=True, eq=False)
class Recording:
    """The complete, immutable record of a run. States are read-only arrays."""

    problem: Problem
    method: Method
    outcome: Outcome
    stats: Stats
    events: Events
    checkpoints: States  # every instant is replayed from these
    resume: np.ndarray  # what going on from each needs, as `drive.recorder.Tape` keeps it
    frames: States

    def __post_init__(self) -> None:
        for name in ("checkpoints", "frames"):
            object.__setattr__(self, name, States(*map(_frozen, getattr(self, name))))
        object.__setattr__(self, "resume", _frozen(self.resume))


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


class Solution:
    """A run of a problem. Frames are the run's own steps, thinned, or the times given by `Save(times=...)`."""

    dense = True  # whether every instant can be asked for, not the frames alone

    def __init__(self, recording: Recording, replay: Replay):
        self.recording, self.replay = recording, replay
        self.experiment: Experiment | None = None  # the rf.Experiment that made this run, where there is one
        self.call: dict[str, Any] | None = None  # other arguments of the `rf.solve` that made it: t1, save, limits
        self._kept: dict[Hashable, Any] = {}

    @property
    def problem(self) -> Problem:
        return self.recording.problem

    @property
    def method(self) -> Method:
        return self.recording.method

    @property
    def outcome(self) -> Outcome:
        """Why the run ended."""
        return self.recording.outcome

    @property
    def stats(self) -> Stats:
        return self.recording.stats

    @property
    def events(self) -> Events:
        return self.recording.events

    def derived(self, make: Callable[..., T], *args: Hashable) -> T:
        """`make(self, *args)`, computed once and kept as long as the run."""
        key = (make, *args)
        if key not in self._kept:
            self._kept[key] = make(self, *args)
        return self._kept[key]

    # States ---------------------------------------------------------------------------------------------------------

    @property
    def frames(self) -> Moments:
        """The frames as one object: `t`, `w`, `outputs`, `bits` and the like, a row each."""
        return self.derived(_frames)

    @property
    def checkpoints(self) -> Moments:
        """The steps stored for dense evaluation, whatever frames were requested."""
        return self.derived(_checkpoints)

    @property
    def end(self) -> Moments:
        """The final state, one row."""
        return self.derived(_end)

    def moments(self, t: Times = None, *, log_t: Times = None, clock: Times = None) -> Moments:
        """States at times t (or e^log_t, or values of the run's own `clock`), a row each."""
        if clock is not None and t is None and log_t is None:
            return Moments(self.replay, self.replay.at(np.atleast_1d(np.asarray(clock, float))))
        return self._moments(t, log_t)[0]

    @property
    def clock(self) -> Clock:
        """The internal clock: `clock.of(t)`, `clock.of_log(log_t)`, `clock.times(value)` = (t, log t)."""
        return self.replay.clock

    @property
    def t_end(self) -> float:
        """The end time; inf beyond 1e308."""
        return float(self.end.t[0])

    @property
    def log_t_end(self) -> float:
        """The logarithm of the end time."""
        return float(self.end.log_t[0])

    # Frames ---------------------------------------------------------------------------------------------------------

    @property
    def log_t(self) -> np.ndarray:
        return self.frames.log_t

    @property
    def t(self) -> np.ndarray:
        return self.frames.t

    @property
    def log_loss(self) -> np.ndarray:
        return self.frames.log_loss

    @property
    def loss(self) -> np.ndarray:
        """The loss at every frame; inf beyond 1e308."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_loss)

    @property
    def outputs(self) -> np.ndarray:
        """f(x_i) at every frame, (frames, n), or (frames, n, k) with k outputs."""
        return self.frames.outputs

    @property
    def log_norm(self) -> np.ndarray:
        """log |w_j| at every frame, (frames, width)."""
        return self.frames.log_norm

    @property
    def sign(self) -> np.ndarray:
        """Sign of a_j at every frame, (frames, width)."""
        one_output(self.problem, "`sol.sign`", "read the directions of a_j from `sol.a`")
        return np.sign(self.a)

    @property
    def w(self) -> np.ndarray:
        """Mantissas of w: true rows are w e^`log_scale`, (frames, width, dim)."""
        return self.frames.w

    @property
    def a(self) -> np.ndarray:
        """Mantissas of a: true weights are a e^`log_scale`, (frames, width), or (frames, width, k) with k outputs."""
        return self.frames.a

    @property
    def log_scale(self) -> np.ndarray:
        """Log scale of the mantissas `w` and `a`, (frames, width)."""
        return self.frames.log_scale

    # Keeping it -----------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> Path:
        """Write the run as a folder for `rf.load`; on return it is completely on disk. `path` must not exist."""
        from reluflow import store

        return store.save(self, path)

    @property
    def key(self) -> str:
        """16 hexadecimal digits that name the run: its experiment's key, else a hash of data, weights and arguments."""
        if self.experiment is not None:
            return self.experiment.key
        from reluflow import store

        return store.key_of(self)

    def to_xarray(self) -> xr.Dataset:
        """Frames and events as an `xarray.Dataset`: dims frame, neuron, datum, feature, event; times are `log_t`."""
        from reluflow import store

        return store.to_xarray(self)

    def to_pandas(self) -> pd.DataFrame:
        """A table with one row per frame: t, log_t, loss, log_loss, every output and every log |w_j|.

        With several outputs `output_i_c` is output c on datum i. Frames are the run's steps, thinned to about 1,000 and
        to the memory that `rf.Save` allows, or the times it names; `table.attrs["frames"]` says how many steps there
        were. `sol.outputs_at(t)` and the like give every other time.
        """
        import pandas as pd

        columns = {"t": self.t, "log_t": self.log_t, "loss": self.loss, "log_loss": self.log_loss}
        outputs = self.outputs
        if outputs.ndim == 2:
            columns |= {f"output_{i}": f for i, f in enumerate(outputs.T)}
        else:
            columns |= {f"output_{i}_{c}": outputs[:, i, c] for i, c in np.ndindex(outputs.shape[1:])}
        columns |= {f"log_norm_{j}": size for j, size in enumerate(self.log_norm.T)}
        table = pd.DataFrame(columns, index=pd.RangeIndex(len(self.t), name="frame"))
        table.attrs["frames"] = f"{len(table)} frames of a run of {self.stats.steps} steps, up to t = {end_text(self)}"
        return table

    def plot(self, *, title: str = "") -> Figure:
        """The picture of `rf.plot.picture`: loss, neurons, directions, and what was learned."""
        from reluflow.plot import picture

        return picture(self, title=title)

    # Any moment -----------------------------------------------------------------------------------------------------

    @overload
    def at(self, t: float) -> Params: ...
    @overload
    def at(self, *, log_t: float) -> Params: ...
    @overload
    def at(self, t: list[float] | np.ndarray) -> list[Params]: ...
    @overload
    def at(self, *, log_t: list[float] | np.ndarray) -> list[Params]: ...

    def at(self, t: Times = None, *, log_t: Times = None) -> Params | list[Params]:
        """The weights at time t (or e^log_t) as `Params`; a list of them for several times."""
        found, scalar = self._moments(t, log_t)
        fixed = self.problem.init.fixed
        params = [_params(w, a, c, fixed) for w, a, c in zip(found.w, found.a, found.log_scale)]
        return params[0] if scalar else params

    def outputs_at(self, t: Times = None, *, log_t: Times = None) -> np.ndarray:
        """f(x_i) at time t: (n,), or (times, n); with k outputs (n, k), or (times, n, k)."""
        found, scalar = self._moments(t, log_t)
        return found.outputs[0] if scalar else found.outputs

    def log_loss_at(self, t: Times = None, *, log_t: Times = None) -> float | np.ndarray:
        """log of the loss at time t."""
        found, scalar = self._moments(t, log_t)
        return float(found.log_loss[0]) if scalar else found.log_loss

    def loss_at(self, t: Times = None, *, log_t: Times = None) -> float | np.ndarray:
        """The loss at time t; inf beyond 1e308."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_loss_at(t, log_t=log_t))

    def bits_at(self, t: Times = None, *, log_t: Times = None) -> np.ndarray:
        """s'(<w_j, x_i>) at time t, (width, n): the slope or 1, or between while sliding; right-continuous in t."""
        found, scalar = self._moments(t, log_t)
        return found.bits[0] if scalar else found.bits

    def sliding_at(self, t: Times = None, *, log_t: Times = None) -> np.ndarray:
        """True where neuron j is sliding on datum i at time t, (width, n)."""
        found, scalar = self._moments(t, log_t)
        return found.sliding[0] if scalar else found.sliding

    @property
    def initial_bits(self) -> np.ndarray:
        """Bits before the first event, (width, n): signs of <w_j, x_i>; on a surface off (descent: `at_zero`)."""
        return self.bits_at(0.0) if isinstance(self.method, Descent) else self.replay.signs()

    def predict(self, x: Any, t: Times = None, *, log_t: Times = None) -> np.ndarray:
        """f(x) of new inputs at the end of the run, or at time t (or e^log_t): (rows,), or (times, rows).

        With k outputs (rows, k), or (times, rows, k); `sol.classify` gives classes.

        `x` has one row per input, with the data's columns; where the data's last column is constant (`with_bias()`) it
        may be left out, and on a line `x` may be a list of numbers.
        """
        rows = inputs(self.problem.data.x, x)
        if t is None and log_t is None:
            found, scalar = self.end, True
        else:
            found, scalar = self._moments(t, log_t)
        slope = self.problem.activation.slope
        z = found.w @ rows.T
        with np.errstate(under="ignore", over="ignore"):
            if self.problem.outputs == 1:
                scaled = found.a * np.exp(2.0 * found.log_scale)
                f = np.einsum("tm,tmk->tk", scaled, np.maximum(z, slope * z))
            else:
                scaled = found.a * np.exp(2.0 * found.log_scale)[..., None]
                f = np.swapaxes(np.maximum(z, slope * z), 1, 2) @ scaled
        return f[0] if scalar else f

    def classify(self, x: Any, t: Times = None, *, log_t: Times = None) -> np.ndarray:
        """The classes of new inputs: where f(x) is largest, or with one output its sign, +1 or -1; as `predict`."""
        f = self.predict(x, t, log_t=log_t)
        return np.where(f > 0.0, 1.0, -1.0) if self.problem.outputs == 1 else np.argmax(f, axis=-1)

    def accuracy(self, data: Data | None = None, t: Times = None, *, log_t: Times = None) -> float | np.ndarray:
        """The share of rows that `classify` gets right: of the training data, or of other `data`."""
        data = self.problem.data if data is None else _some_data("accuracy", data)
        found = self.classify(data.x, t, log_t=log_t)
        wanted = data.y if data.outputs == 1 else np.argmax(data.y, axis=1)
        if self.problem.outputs == 1 and not np.all(np.abs(wanted) == 1.0):
            raise ValueError(
                f"`accuracy` needs labels +1 and -1, or classes, got {wanted[np.abs(wanted) != 1.0][0]:g}: "
                "see `test_loss`."
            )
        share = np.mean(found == wanted, axis=-1)
        return float(share) if share.ndim == 0 else share

    def test_loss(self, data: Data, t: Times = None, *, log_t: Times = None) -> float | np.ndarray:
        """The problem's loss on other data, at the end of the run or at times t (or e^log_t)."""
        f = self.predict(_some_data("test_loss", data).x, t, log_t=log_t)
        # The problem on other data: as many rows as there are, in whatever coordinates `predict` took them.
        other = replace(self.problem, data=Data(np.zeros((data.n, self.problem.data.d)), data.y))
        with np.errstate(over="ignore"):
            found = np.exp(other.log_loss(f))
        return float(found) if found.ndim == 0 else found

    def phases(self, tol: float = 1e-2) -> Phases:
        """Alignment, growth, plateaus, convergence: a table with start, end, neurons that grew, losses of saddles."""
        from reluflow.phases import phases

        return phases(self, tol)

    def _moments(self, t: Times, log_t: Times) -> tuple[Moments, bool]:
        """States at times of the run's span, and whether a single time was given."""
        if (t is None) == (log_t is None):
            raise ValueError("Give a time `t` or `log_t=...`, one of the two.")
        value = as_times("t" if log_t is None else "log_t", t if log_t is None else log_t)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # a negative time is refused below
            clock = np.atleast_1d(self.clock.of(value) if log_t is None else self.clock.of_log(value))
        last = self.recording.checkpoints.clock[-1]
        if self.outcome is Outcome.STATIONARY:
            clock = np.minimum(clock, last)
        # A time converted through a logarithm may exceed the end by one rounding.
        clock = np.where((clock > last) & (clock <= last * (1 + 1e-14)), last, clock)
        outside = ~((clock >= 0.0) & (clock <= last))
        if np.any(outside):
            first = float(np.atleast_1d(value)[outside][0])
            got = f"{first}" if log_t is None else f"e^{first}"
            raise ValueError(f"A time must lie in [0, {end_text(self)}], the span of the run, got {got}.")
        self.replay.known(clock)
        return Moments(self.replay, self.replay.at(clock)), value.ndim == 0

    # ----------------------------------------------------------------------------------------------------------------

    @property
    def final(self) -> Params:
        """The weights at the end of the run."""
        end = self.end
        return _params(end.w[0], end.a[0], end.log_scale[0], self.problem.init.fixed)

    def __copy__(self) -> Solution:
        made = type(self)(self.recording, self.replay)
        made.call = self.call
        return made

    def __getattr__(self, name: str) -> str:
        if name == "t_end_text":
            warnings.warn("`Solution.t_end_text` is deprecated: read `t_end`.", DeprecationWarning, stacklevel=2)
            return end_text(self)
        raise AttributeError(f"`{type(self).__name__}` has no attribute `{name}`.")

    def __repr__(self) -> str:
        log_loss, s = float(self.end.log_loss[0]), self.stats
        loss = _text.by_log(log_loss)
        descent = isinstance(self.method, Descent)
        steps = f"{s.steps} iterations" if descent else f"{s.steps} steps"
        accuracy = f"step {self.method.step:g}" if isinstance(self.method, Descent) else f"rtol {s.rtol:g}"
        slides = f" ({s.slides} slides)" if s.slides else ""
        slides += f" ({s.unrecorded} not listed)" if s.unrecorded else ""
        odd = f", {s.non_unique} not unique" if s.non_unique else ""
        odd += f", {s.wakeable} dead neurons could be woken" if s.wakeable else ""
        odd += ", not determined: rounding decides what follows" if s.regimes.get("undetermined") else ""
        return (
            f"Solution(t = 0..{end_text(self)}: {steps}, {s.events} events{slides}{odd}, loss {loss}, "
            f"{accuracy}; {self.outcome.value})"
        )

    def _repr_html_(self) -> str:
        from reluflow import _html

        p, s = self.problem, self.stats
        low = min(float(v.min()) for v in p.init.log_scales)
        rows = [
            ("data", f"{p.data.name or 'arrays'}: {p.data.n} points in {p.data.d} dimensions"),
            ("network", f"{p.init.width} neurons{_outputs_text(p)} from e^{low:.6g}, {p.reduction} {p.loss} loss"),
            ("time", f"0 to {end_text(self)}"),
            ("loss", f"{_text.by_log(float(self.log_loss[0]))} to {_text.by_log(float(self.end.log_loss[0]))}"),
            ("events", f"{s.events:,}"),
            ("outcome", self.outcome.value),
        ]
        drawn = _html.figure(self.plot()) if p.init.width <= DRAWN else ""
        return _html.table(rows) + drawn

    def __str__(self) -> str:
        """The line of `repr`, and what `rf.confirm` found once it was called."""
        found = self._kept.get(CONFIRMED)
        return repr(self) if found is None else f"{self!r}\n{found}"


def as_times(name: str, value: Any) -> np.ndarray:
    """A time or several as an array; what is not a number is refused."""
    try:
        found = np.asarray(value)
        if found.dtype.kind in "US" or np.iscomplexobj(found):
            raise TypeError
        return found.astype(float)
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a number or a list of numbers, got {shown(value)}: try `t=1.0`.") from None


def _some_data(call: str, data: Any) -> Data:
    if not isinstance(data, Data):
        raise TypeError(f"`{call}` takes an rf.Data, got {type(data).__name__}: write `sol.{call}(rf.Data(x, y))`.")
    return data


def _params(w: np.ndarray, a: np.ndarray, log_scale: np.ndarray, fixed: np.ndarray | None) -> Params:
    """Weights at one instant; a neuron that has shrunk below the smallest log scale is given that."""
    return Params(w, a, log_scale=np.maximum(log_scale, LOG_MIN), fixed=fixed)


def _outputs_text(problem: Problem) -> str:
    return "" if problem.outputs == 1 else f", {problem.outputs} outputs,"


def inputs(seen: np.ndarray, x: Any) -> np.ndarray:
    """New inputs as rows like those of the data `seen`, with their constant last column where `x` leaves it out."""
    d = seen.shape[1]
    constant = d > 1 and bool(np.all(seen[:, -1] == seen[0, -1])) and seen[0, -1] != 0.0
    rows = np.asarray(x, float)
    if rows.ndim == 1 and (d == 1 or (d == 2 and constant)):
        rows = rows[:, None]
    if rows.ndim == 2 and rows.shape[1] == d - 1 and constant:
        rows = np.column_stack([rows, np.full(len(rows), seen[0, -1])])
    if rows.ndim != 2 or rows.shape[1] != d:
        also = f" (or {d - 1}, without the constant one)" if constant else ""
        raise ValueError(f"`x` must have the data's {d} columns{also}, got shape {np.shape(x)}.")
    return as_finite("x", rows)


def _frames(sol: Solution) -> Moments:
    return Moments(sol.replay, sol.recording.frames)


def _checkpoints(sol: Solution) -> Moments:
    return Moments(sol.replay, sol.recording.checkpoints)


def _end(sol: Solution) -> Moments:
    return Moments(sol.replay, sol.recording.checkpoints.rows(slice(-1, None)))


def end_text(sol: Solution) -> str:
    """The end time as text."""
    return _text.time(sol.t_end, sol.log_t_end)


def stop_text(sol: Solution) -> str:
    """When a run stopped and, where neurons switch without end, which neuron and datum."""
    place = sol.stats.nearest_place
    if sol.outcome is Outcome.STORM and place is not None:
        return f"{end_text(sol)}, neuron {place[1]}, datum {place[2]}"
    return end_text(sol)


def _place(costs: Costs, clock: Clock, driver: Driver) -> tuple[float, int, int] | None:
    """When and where a run came nearest to a bifurcation, by log t, neuron and the first datum of the surface."""
    if costs.place is None:
        return None
    at, neuron, surface = costs.place
    data = np.flatnonzero(driver.packed.surf == surface)
    return float(clock.times(at)[1]), neuron, int(driver.coords.kept[data[0]]) if len(data) else -1


def penalty(problem: Problem, decay: float, q: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """(decay / 2) |theta|^2 of states e^c (q, b), one number a row."""
    if decay == 0.0:
        return np.zeros(len(c))
    of_a = b * b if b.ndim == c.ndim else np.sum(b * b, axis=-1)
    size = np.sum(q * q, axis=-1) + (of_a if problem.train == "both" else 0.0)
    return 0.5 * decay * np.sum(np.exp(2.0 * c) * size, axis=-1)


def recorded(problem: Problem, method: Method, run: Run, times: tuple | None = None) -> Solution:
    """The Solution of a run that has ended; `times` are those its frames were asked for."""
    driver, tape, outcome, seconds, costs = run
    clock = clock_for(problem, method)
    checkpoints, resume = tape.checkpoints()
    events = Events.from_surfaces(tape.all_events(), clock.times, driver.packed, driver.coords.kept)
    replay = Replay(driver, clock, checkpoints, resume)
    seen, wakes = len(events) if costs.seen is None else costs.seen, events.wakes
    with np.errstate(over="ignore"):  # the loss of a run that overflowed
        ends = checkpoints.rows([0, -1])
        # Along fitted networks it is |theta|^2 / 2 that falls, by the integral of |theta'|^2.
        decay = 1.0 if isinstance(method, DecayLimit) else problem.decay
        loss = 0.0 if isinstance(method, DecayLimit) and problem.tailed else np.exp(replay.look(ends)[1])
        first, last = (loss + penalty(problem, decay, *replay.split(ends.y))).tolist()
    spent = first - last - float(driver.energy(checkpoints.y[-1]))
    stats = Stats(
        steps=costs.steps,
        rejected=costs.rejected,
        events=seen,
        slides=int(np.sum(events.code == 2)),
        non_unique=int(np.sum(~events.unique & ~wakes)),
        fields=costs.fields,
        seconds=seconds,
        rtol=getattr(method, "rtol", float("nan")),
        energy_error=abs(spent) / first if first > 0 else abs(spent),
        nearest_bifurcation=costs.nearest,
        nearest_place=_place(costs, clock, driver),
        regimes=costs.regimes,
        unrecorded=seen - len(events),
        wakeable=len(set(events.neuron[wakes].tolist())),
    )
    if isinstance(method, Flow) and outcome.success and stats.energy_error > ENERGY_MOST:
        outcome = Outcome.INACCURATE
    frames = checkpoints
    if times is not None and isinstance(method, Descent):
        frames = tape.frames()
    elif times is not None:
        within = clock.of(np.array(times))
        frames = replay.at(within[within <= checkpoints.clock[-1]])
    return Solution(Recording(problem, method, outcome, stats, events, checkpoints, resume, frames), replay)
