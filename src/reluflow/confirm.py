"""A run confirmed by a second one: the same flow at rtol / 100 in the other regime, compared with the first.

While events are few all neurons advance by one step (`engine.coupled`), and while they are many each neuron is traced
alone under a drive found by iteration (`engine.windows`). The two share the field, the rule on surfaces and the jumps
over phases at rest, but neither steps nor the search for events in them: a crossing that one of them misses there is
seen by the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reluflow import _progress, _text
from reluflow._checks import by_name, shown
from reluflow.clock import clock_for
from reluflow.drive import driver_for, loop
from reluflow.drive.loop import Progress
from reluflow.engine.pack import units_of
from reluflow.events import KINDS, Events
from reluflow.losses import TABLE
from reluflow.methods import Flow, Limits, Save
from reluflow.outcome import Outcome
from reluflow.problem import Problem
from reluflow.solution import CONFIRMED, Solution, recorded

FINER = 100.0  # how much smaller the tolerance of the second run is
LEAST = 1e-13  # the smallest tolerance of a flow
PROMISE = 100.0  # outputs and event times are right to this many rtol
INSTANTS = (30, 10)  # where outputs are compared: checkpoints, and times that the run's clock spaces evenly


class Place(NamedTuple):
    """A decision that came near to a bifurcation: its normalised distance, log t, neuron, datum (-1: sign of a_j)."""

    distance: float
    log_t: float
    neuron: int
    datum: int


class Difference(NamedTuple):
    """An event in which two runs differ; `what` says how."""

    log_t: float
    neuron: int
    datum: int
    kind: str
    what: str


@dataclass(frozen=True)
class Confirmation:
    """How far a second run, at `finer_rtol` in `regime`, agrees with the first. True if it agrees as promised.

    `outputs` is the largest difference of outputs, relative to the largest label for the square loss and to max(1, |f|)
    for the others. `agreeing` events occur in both runs at the same time to 100 rtol; `event_times` is the largest
    difference of a pair, relative to t (to the run's unit of time where t is smaller). `first` is the earliest event in
    which the runs differ, and `reason` is "not unique" or "near a bifurcation" (both with a `place`), "beyond the
    promise", or "stopped early", which the second run did at `log_t` with `outcome`.
    """

    rtol: float
    finer_rtol: float
    regime: str
    outputs: float
    event_times: float
    events: int
    finer_events: int
    agreeing: int
    log_t: float
    outcome: Outcome
    first: Difference | None = None
    reason: str | None = None
    place: Place | None = None

    @property
    def promise(self) -> float:
        """100 rtol."""
        return PROMISE * self.rtol

    @property
    def digits(self) -> float:
        """Decimal digits to which outputs agree, 16 at most."""
        return _digits(self.outputs)

    @property
    def event_digits(self) -> float:
        """Decimal digits to which times of paired events agree, 16 at most."""
        return _digits(self.event_times)

    def __bool__(self) -> bool:
        return self.reason is None

    def __str__(self) -> str:
        how = f"a second run with rtol {self.finer_rtol:g} in the {self.regime} regime"
        times = f", event times to {self.event_digits:.1f}" if self.agreeing else ""
        digits = f"outputs agree to {self.digits:.1f} digits{times}"
        if self:
            events = "it has no events either" if not self.events else f"all {self.events} events agree"
            return f"Confirmed by {how}: {events}, {digits}; promised: {_digits(self.promise):.1f}."
        events = f"{self.agreeing} of {max(self.events, self.finer_events)} events agree"
        promised = f"promised: {_digits(self.promise):.1f}"
        return f"Not confirmed by {how}: {events}, {digits}; {promised}. {self._why()}"

    def _why(self) -> str:
        if self.reason == "stopped early":
            return f"The second run stopped at t = {_text.by_log(self.log_t)}: {self.outcome.value}"
        f, p = self.first, self.place
        found = "No event differs"
        if f is not None:
            found = f"The first event that differs is `{f.kind}` of {_who(f.neuron, f.datum)} at "
            found += f"t = {_text.by_log(f.log_t)}, {f.what}"
        if p is None:
            return (
                f"{found}; no bifurcation near it explains that: use a smaller `rtol`, and please report the problem."
            )
        where = f"{_who(p.neuron, p.datum)} at t = {_text.by_log(p.log_t)}"
        if self.reason == "not unique":
            return f"{found}; the flow is not unique: it may go on in several ways from {where}."
        return f"{found}; the runs pass a bifurcation at a distance of {p.distance:.2g}, {where}."


@by_name
def confirm(
    sol: Solution, *, limits: Limits | None = None, progress: Callable[[Progress], None] | bool | None = None
) -> Confirmation:
    """Solves the problem of `sol` again, with rtol / 100 (1e-13 at least) and in the other regime, and compares.

    The runs are compared until the end of `sol`, wherever and for whatever reason that was. Training of the first
    layer alone, linear networks, and runs with several outputs from below e^-14 have one regime only, and only the
    tolerance differs. `print(sol)` then shows the result too.
    """
    if not isinstance(sol, Solution):
        raise TypeError(f"`sol` must be an rf.Solution, got {shown(sol)}: it is what `rf.solve` returns.")
    if not isinstance(sol.method, Flow):
        raise ValueError(
            f"`rf.confirm` is for exact flows, got a run by rf.{type(sol.method).__name__}: solve with `rf.Flow()`."
        )
    if sol.outcome is Outcome.NOT_FINITE:
        raise ValueError("`rf.confirm` needs a run of finite numbers, got one that overflowed: scale the data down.")
    found = compared(sol, again(sol, limits or Limits(), progress))
    sol._kept[CONFIRMED] = found
    return found


def again(
    sol: Solution, limits: Limits, progress: Callable[[Progress], None] | bool | None = None, other: bool = True
) -> Solution:
    """The second run, until the end of the first, in the other regime or in the same."""
    problem, method = sol.problem, Flow(max(LEAST, sol.stats.rtol / FINER))
    clock = clock_for(problem, method)
    end = float(clock.of_log(sol.log_t_end) if problem.endless else clock.of(sol.t_end))
    regime = _regime(sol)
    if other:
        regime = "coupled" if regime == "windows" and problem.activation.slope != 1.0 else "windows"
    with loop.stops() as stop:
        with _progress.shown(progress, _progress.of_run) as tell:
            run = loop.run(driver_for(problem, method, end, regime=regime), Save(), limits, tell, stop)
        found = recorded(problem, method, run)
    if stop.count or run.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    return found


def _regime(sol: Solution) -> str:
    return "windows" if sol.stats.regimes.get("windows", 0) else "coupled"


def compared(sol: Solution, other: Solution) -> Confirmation:
    """What two runs of one problem have in common, up to the end of the first or where the second stopped."""
    promise = PROMISE * sol.stats.rtol
    short = not other.outcome.success
    end = min(sol.log_t_end, other.log_t_end) if short else sol.log_t_end
    scale = Scale(end, -units_of(sol.problem).log_time, promise)
    events = _paired(sol.events, other.events, scale)
    first = events.first
    outputs = _outputs(sol, other, end)
    reason, place = None, None
    if first is not None or not outputs <= promise:
        reason, place = _reason((sol, other), first, scale)
    if short:
        reason, place = "stopped early", None
    return Confirmation(
        rtol=sol.stats.rtol,
        finer_rtol=other.stats.rtol,
        regime=_regime(other),
        outputs=outputs,
        event_times=events.worst,
        events=events.ours,
        finer_events=events.theirs,
        agreeing=events.agreeing,
        log_t=other.log_t_end,
        outcome=other.outcome,
        first=first,
        reason=reason,
        place=place,
    )


# Outputs --------------------------------------------------------------------------------------------------------------


def _outputs(sol: Solution, other: Solution, log_end: float) -> float:
    """The largest difference of outputs over about 40 instants, the end among them."""
    few, even = INSTANTS
    marks = sol.recording.checkpoints.clock
    rows = np.unique(np.linspace(0, len(marks) - 1, few).astype(int))
    clock = np.union1d(marks[rows], np.linspace(0.0, marks[-1], even))
    t, log_t = sol.clock.times(clock)
    within = log_t <= log_end
    there = other.clock.of_log(log_t[within]) if sol.problem.endless else other.clock.of(t[within])
    # Conversion may exceed the end by one rounding, and a run that converged is constant from its end on.
    there = np.minimum(there, other.end.clock[0])
    f, g = sol.moments(clock=clock[within]).outputs, other.moments(clock=there).outputs
    return float(np.max(np.abs(f - g) / _size(sol.problem, f), initial=0.0))


def _size(problem: Problem, f: np.ndarray) -> float | np.ndarray:
    """What outputs are measured by: the labels where they are numbers, and max(1, |f|) where they are signs."""
    if not TABLE[problem.loss].quadratic:
        return np.maximum(1.0, np.abs(f))
    return float(np.max(np.abs(problem.targets))) or float(np.max(np.abs(f))) or 1.0


# Events ---------------------------------------------------------------------------------------------------------------


Pair = tuple[float | None, float | None]  # log t of an event in the first run and in the second, None where it is not


class Scale(NamedTuple):
    """What times are measured by: the end of the comparison, the run's unit of time, and what is promised."""

    log_end: float
    log_unit: float
    promise: float

    def apart(self, one: float, two: float) -> float:
        """The difference of two times given by logarithms, relative to the later one or to the unit of time."""
        size = max(one, two, self.log_unit)
        return float(abs(np.exp(one - size) - np.exp(two - size)))


class Paired(NamedTuple):
    """Numbers of events of the first run, of the second, and of those that agree; largest difference of times."""

    ours: int
    theirs: int
    agreeing: int
    worst: float
    first: Difference | None


def _paired(ours: Events, theirs: Events, scale: Scale) -> Paired:
    """Events of equal neuron, datum and kind, paired in order of time."""
    mine, other = (_by_key(events, scale.log_end) for events in (ours, theirs))
    count, agreeing, worst = [0, 0], 0, 0.0
    first: Difference | None = None
    for key in mine | other:
        for a, b in _matched(mine.get(key, []), other.get(key, []), scale):
            lone = a if b is None else b if a is None else None
            if lone is not None and scale.apart(lone, scale.log_end) <= scale.promise:
                continue  # it may as well lie beyond the end
            count[0] += a is not None
            count[1] += b is not None
            gap = np.inf if a is None or b is None else scale.apart(a, b)
            worst = max(worst, gap) if gap < np.inf else worst
            agreeing += gap <= scale.promise
            when = min(v for v in (a, b) if v is not None)
            if gap > scale.promise and (first is None or when < first.log_t):
                first = Difference(when, key[0], key[1], KINDS[key[2]], _what(a, b))
    return Paired(count[0], count[1], agreeing, worst, first)


def _by_key(events: Events, log_end: float) -> dict[tuple[int, int, int], list[float]]:
    """log t of the events of each neuron, datum and kind, in order."""
    found: dict[tuple[int, int, int], list[float]] = {}
    columns = (events.neuron, events.datum, events.code, events.log_t)
    for neuron, datum, code, log_t in zip(*(c.tolist() for c in columns)):
        if log_t <= log_end:
            found.setdefault((neuron, datum, code), []).append(log_t)
    return found


def _matched(ours: list[float], theirs: list[float], scale: Scale) -> list[Pair]:
    """Times that agree are paired, and those left between two such pairs in order if there are as many of both."""
    found: list[Pair] = []
    i = j = 0
    lone: tuple[list[float], list[float]] = ([], [])
    while i < len(ours) and j < len(theirs):
        a, b = ours[i], theirs[j]
        if scale.apart(a, b) <= scale.promise:
            found += [*_in_order(*lone), (a, b)]
            lone = ([], [])
            i, j = i + 1, j + 1
        elif a < b:
            lone[0].append(a)
            i += 1
        else:
            lone[1].append(b)
            j += 1
    return found + _in_order(lone[0] + ours[i:], lone[1] + theirs[j:])


def _in_order(ours: list[float], theirs: list[float]) -> list[Pair]:
    if len(ours) == len(theirs):
        return list(zip(ours, theirs, strict=True))
    return [(a, None) for a in ours] + [(None, b) for b in theirs]


def _what(ours: float | None, theirs: float | None) -> str:
    if theirs is None:
        return "which the second run does not have"
    return "which only the second run has" if ours is None else f"in the second run at t = {_text.by_log(theirs)}"


# Reasons --------------------------------------------------------------------------------------------------------------


def _reason(runs: tuple[Solution, Solution], first: Difference | None, scale: Scale) -> tuple[str, Place | None]:
    """Why two runs differ: what happened at or before the first event that does, or before the end."""
    # An error e of the state moves a crossing by e, and the ends of a graze by its square root.
    error, graze = scale.promise, np.sqrt(scale.promise)
    until = scale.log_end if first is None else first.log_t
    before = lambda log_t: log_t <= until or scale.apart(log_t, until) <= graze
    for sol in runs:
        odd = sol.events[~sol.events.unique & ~sol.events.wakes]
        if len(odd) and before(odd.log_t[0]):
            return "not unique", Place(0.0, float(odd.log_t[0]), int(odd.neuron[0]), int(odd.datum[0]))
    near = []
    for sol in runs:
        distance, where = sol.stats.nearest_bifurcation, sol.stats.nearest_place
        if where is not None and before(where[0]):
            same = first is not None and first.neuron == where[1]
            if distance <= (graze if same else error):
                near.append(Place(distance, *where))
    return ("near a bifurcation", min(near)) if near else ("beyond the promise", None)


# Text -----------------------------------------------------------------------------------------------------------------


def _digits(difference: float) -> float:
    return float(min(16.0, -np.log10(difference))) if difference > 0.0 else 16.0


def _who(neuron: int, datum: int) -> str:
    return f"neuron {neuron}, datum {datum}" if datum >= 0 else f"neuron {neuron}"
