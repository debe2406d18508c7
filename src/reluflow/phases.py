r"""Training as a sequence of phases: alignment, growth, plateaus, convergence.

    alignment     from the start, while max_i |f_i| <= tol max_i |y_i|
    plateau       |dL/dt| T < L / 100, T the longest growth time of a neuron that grew
    growth        between those: neurons grow and the loss falls
    convergence   the last growth, once the loss is 1% of what it was at its start; and the tail of an exponential loss

A neuron's size is |a_j| |w_j|, its growth time 2 over the largest rate of the logarithm of its size. dL/dt is taken
over T/10, so that the chatter of descent on an activation surface does not count as motion.

What depends on the end of the run: the name, the loss and the half-time of the last phase, because convergence is told
from growth by how far the loss falls, and a plateau from a limit by whether it is left. Edges before it move only when
neurons that come later grow more slowly than all before, because T is then longer. Alignment never depends on the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from reluflow import _text
from reluflow._checks import number
from reluflow.data.core import class_margins
from reluflow.methods import DecayLimit
from reluflow.outcome import Outcome
from reluflow.replay import Moments

if TYPE_CHECKING:
    from reluflow.solution import Solution

SLOW = 0.01  # of the loss in one growth time
AT_THE_END = {
    "alignment": "alignment: a longer run may show more phases",
    "growth": "a growth: a longer run may end it elsewhere, with another loss and half-time, and other neurons",
    "plateau": "a plateau: a longer run may leave it",
}
SHARE = 1e-3  # of the largest neuron, or of the largest growth: below it a neuron does not count


@dataclass(frozen=True)
class Phase:
    """One phase. `loss` is the saddle's for alignment and plateaus, else the loss at the end.

    `neurons` are those that grew; `half` is the time at which the loss is midway between the saddle before a growth
    and what comes after it.
    """

    kind: str
    start: float
    end: float
    log_start: float
    log_end: float
    log_loss: float
    neurons: tuple[int, ...] = ()
    half: float | None = None

    @property
    def loss(self) -> float:
        return float(np.exp(self.log_loss))


class Phases(tuple):
    """The phases of a run in order; prints as a table. `phases["plateau"]` picks a kind.

    A last plateau of a run that converged is where it came to rest with some loss left. `note` says what a longer run
    may change; it is empty for a run that converged.
    """

    note: str = ""

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, str):
            return Phases(p for p in self if p.kind == which)
        return tuple.__getitem__(self, which)

    def __repr__(self) -> str:
        lines = [f"{'phase':<12}{'start':>12}{'end':>12}{'half':>12}{'loss':>12}  neurons that grew"]
        for p in self:
            half = "" if p.half is None else f"{p.half:.6g}"
            start, end = _text.time(p.start, p.log_start), _text.time(p.end, p.log_end)
            loss, grew = _text.by_log(p.log_loss), _list_text(p.neurons)
            lines.append(f"{p.kind:<12}{start:>12}{end:>12}{half:>12}{loss:>12}  {grew}".rstrip())
        return "\n".join([*lines, self.note] if self.note else lines)


def _list_text(neurons: Sequence[int]) -> str:
    if len(neurons) > 8:
        return f"{len(neurons)}: {', '.join(map(str, neurons[:6]))}, ..."
    return ", ".join(map(str, neurons))


class Track:
    """A run on a grid of clock values that can be made finer: times, log losses, largest outputs, log sizes."""

    def __init__(self, sol: Solution):
        self.sol = sol
        self.columns = self._columns(sol.checkpoints)

    def _columns(self, at: Moments) -> tuple[np.ndarray, ...]:
        with np.errstate(divide="ignore"):
            of_a = np.abs(at.a) if at.a.ndim == 2 else np.linalg.norm(at.a, axis=-1)
            size = 2.0 * at.log_scale + np.log(of_a) + np.log(np.linalg.norm(at.q, axis=-1))
        top = np.max(np.abs(at.outputs), axis=tuple(range(1, at.outputs.ndim)))
        # Beyond 1e300 nothing but the end matters, and differences of infinities would.
        return at.clock, np.minimum(at.t, 1e300), at.log_loss, top, size

    def at(self, clock: float | np.ndarray) -> tuple[np.ndarray, ...]:
        """The same columns at any clock values."""
        return self._columns(self.sol.moments(clock=clock))

    def thin(self, gap: float) -> None:
        """Drops points closer than `gap` to the one before; the last stays."""
        t = self.columns[1]
        keep, last = [0], t[0]
        for k in range(1, len(t) - 1):
            if t[k] - last >= gap:
                keep.append(k)
                last = t[k]
        if len(t) > 1:
            keep.append(len(t) - 1)
        self.columns = tuple(col[keep] for col in self.columns)

    def refine(self, gap: float, most: int = 2000) -> None:
        """Halves intervals over which the loss moves by more than a tenth and that are longer than `gap`."""
        for _ in range(8):
            clock, t, logs, _, _ = self.columns
            with np.errstate(invalid="ignore"):
                wide = (
                    (np.abs(np.diff(logs)) > 0.1) & (np.diff(t) > gap) & (np.exp(logs[:-1]) > 1e-12 * np.exp(logs[0]))
                )
            middle = self.sol.clock.of(0.5 * (t[:-1] + t[1:])[wide])
            middle = np.setdiff1d(middle, clock)
            if len(middle) == 0 or len(clock) + len(middle) > most:
                return
            new = self.at(middle)
            order = np.argsort(np.concatenate([clock, new[0]]), kind="stable")
            self.columns = tuple(np.concatenate([a, b])[order] for a, b in zip(self.columns, new, strict=True))


def longest_growth_time(t: np.ndarray, size: np.ndarray) -> float:
    """T: over the neurons that come to matter and grew by e or more, the longest 2 / (largest rate of log size)."""
    peak = np.max(size, axis=0)
    matter = peak > np.max(peak) + np.log(SHARE)
    with np.errstate(invalid="ignore", divide="ignore"):
        rise = np.diff(size, axis=0)
        rate = rise / np.diff(t)[:, None]
    rate = np.max(np.where(np.isfinite(rate), rate, -np.inf), axis=0, initial=-np.inf)
    grew = matter & (peak - size[0] > 1.0) & (rate > 0)
    return float(2.0 / np.min(rate[grew])) if np.any(grew) else np.inf


def phases(sol: Solution, tol: float = 1e-2) -> Phases:
    """The phases of a flow or a descent; `tol` is the share of max |y| below which outputs count as nothing.

    The last phase is named by what the run shows up to its end: followed longer, a growth may end in a plateau or in
    convergence, and a plateau may be left. The module's text says what else depends on the end.
    """
    tol = number("tol", tol, rule="in (0, 1)", ok=lambda v: 0.0 < v < 1.0, hint="0.01 is the default")
    if isinstance(sol.method, DecayLimit):
        clock, log_loss = sol.checkpoints.clock, sol.checkpoints.log_loss
        found = Phases([_phase(sol, "plateau", clock[0], clock[-1], log_loss[-1])])
        found.note = (
            "In the slow motion of `rf.DecayLimit` the loss stays as it is, or jumps at events; `sol.log_norm` moves."
        )
        return found
    found = _phases(sol, tol)
    last = found[-1].kind
    if sol.outcome is not Outcome.STATIONARY and last != "convergence":
        found.note = f"The run ends at t = {_text.time(sol.t_end, sol.log_t_end)} during {AT_THE_END[last]}."
    return found


def _phases(sol: Solution, tol: float) -> Phases:
    track = Track(sol)
    small = tol * float(np.max(np.abs(sol.problem.targets), initial=0.0))
    clock, t, logs, top, size = track.columns
    T = longest_growth_time(t, size)
    if len(t) < 2 or np.all(top <= small):
        return Phases([_phase(sol, "alignment", clock[0], clock[-1], logs[0])])
    gap = T if np.isfinite(T) else t[-1] / 100
    track.thin(0.02 * gap)
    track.refine(0.1 * gap)
    clock, t, logs, top, size = track.columns

    edges, kinds = [clock[0]], []
    first = int(np.argmax(top > small))
    if first > 0:
        edges.append(_crossing(lambda c: track.at(c)[3] - small, clock[first - 1], clock[first]))
        kinds.append("alignment")
    delta = 0.05 * gap

    def quiet(c: np.ndarray) -> np.ndarray:
        """Positive where the loss moves by less than SLOW in a growth time."""
        at = np.minimum(sol.clock.times(c)[0], 1e300)
        lo, hi = np.maximum(at - delta, 0.0), np.minimum(at + delta, t[-1])
        a, b = track.at(sol.clock.of(lo)), track.at(sol.clock.of(hi))
        return SLOW - np.abs(a[2] - b[2]) / np.maximum(b[1] - a[1], 1e-300) * T

    k0 = max(first - 1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        pace = np.abs(np.diff(logs)) / np.diff(t) * T
    pace = np.where(np.isnan(pace), 0.0, pace)  # a perfect fit stays one
    slow = pace[k0:] < SLOW
    slow = _without_blips(slow, np.diff(t)[k0:], 0.1 * gap)
    if kinds:
        # After an alignment the largest output grows before the loss shows it: a plateau there lasts T or longer.
        first_end = runs_of(slow)[0][1]
        if slow[0] and np.sum(np.diff(t)[k0 : k0 + first_end]) < gap:
            slow[:first_end] = False
        slow[0] = False
    for k, end in runs_of(slow):
        kinds.append("plateau" if slow[k] else "growth")
        if end < len(slow):
            entering = -1.0 if slow[k] else 1.0
            at = _crossing(partial(_towards, quiet, entering), clock[k0 + end - 1], clock[k0 + end + 1])
            edges.append(max(edges[-1], at))
        else:
            edges.append(clock[-1])
    return _told(sol, track, edges, kinds)


def runs_of(flags: np.ndarray) -> list[tuple[int, int]]:
    """(start, end) of every run of equal flags."""
    cuts = (np.flatnonzero(flags[1:] != flags[:-1]) + 1).tolist()
    return list(pairwise([0, *cuts, len(flags)])) if len(flags) else []


def _without_blips(flags: np.ndarray, length: np.ndarray, least: float) -> np.ndarray:
    """Runs of equal flags shorter than `least` join what is before them (the first: what is after)."""
    out = flags.copy()
    for k, end in runs_of(flags):
        if np.sum(length[k:end]) < least and not (k == 0 and end == len(flags)):
            out[k:end] = out[k - 1] if k > 0 else out[end]
    return out


def _towards(value: Callable[[np.ndarray], np.ndarray], way: float, clock: np.ndarray) -> np.ndarray:
    return way * value(clock)


def _below(track: Track, level: float, clock: np.ndarray) -> np.ndarray:
    """Positive where the log loss is below `level`."""
    return level - track.at(clock)[2]


def _crossing(value: Callable[[np.ndarray], np.ndarray], lo: float, hi: float) -> float:
    """Where `value` (of clock values) changes sign between lo and hi: the bracket cut in 16 twice, then a line."""
    low = high = 0.0
    for _ in range(2):
        cuts = np.linspace(lo, hi, 17)
        found = value(cuts)
        changed = np.flatnonzero(np.sign(found[1:]) != np.sign(found[0]))
        if len(changed) == 0:
            return float(lo if found[0] > 0 else hi)
        k = changed[0]
        lo, hi, low, high = cuts[k], cuts[k + 1], found[k], found[k + 1]
    share = low / (low - high)
    return float(lo + (hi - lo) * share) if 0.0 <= share <= 1.0 else float(hi)


def _phase(
    sol: Solution,
    kind: str,
    lo: float,
    hi: float,
    log_loss: float,
    neurons: Sequence[int] = (),
    half: float | None = None,
) -> Phase:
    t, log_t = sol.clock.times(np.array([lo, hi]))
    return Phase(
        kind, float(t[0]), float(t[1]), float(log_t[0]), float(log_t[1]), float(log_loss), tuple(neurons), half
    )


def _grew(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Neurons that at least doubled and whose gain counts beside the largest gain."""
    gain = np.exp(after) - np.exp(before)
    return np.flatnonzero((after - before > np.log(2.0)) & (gain > SHARE * np.max(gain)))


def _told(sol: Solution, track: Track, edges: list[float], kinds: list[str]) -> Phases:
    """Phases from their edges: convergence split off, losses, neurons and half-times filled in."""
    edges, kinds = _without_empty(edges, kinds)
    clock, t, logs, _, _ = track.columns
    ends = track.at(np.array(edges))
    if kinds[-1] == "plateau" and sol.problem.tailed and _fitted(sol):
        kinds[-1] = "convergence"
    elif kinds[-1] == "plateau" and ends[2][-1] < ends[2][0] + np.log(1e-16):
        kinds[-1] = "convergence"
    elif kinds[-1] == "growth" and ends[2][-1] < ends[2][-2] + np.log(0.01):
        level = ends[2][-2] + np.log(0.01)
        inside = np.flatnonzero((clock > edges[-2]) & (logs <= level))
        lo = max(edges[-2], clock[inside[0] - 1])
        edges = [*edges[:-1], _crossing(partial(_below, track, level), lo, clock[inside[0]]), edges[-1]]
        kinds = [*kinds, "convergence"]
        ends = track.at(np.array(edges))
    saddle = []
    for k, kind in enumerate(kinds):
        within = (clock >= edges[k]) & (clock <= edges[k + 1])
        if kind == "plateau" and np.sum(within) > 1:
            i = np.flatnonzero(within)
            with np.errstate(invalid="ignore", divide="ignore"):
                pace = np.abs(np.diff(logs[i])) / np.diff(t[i])
            saddle.append(logs[i[int(np.nanargmin(pace))]] if np.any(np.isfinite(pace)) else logs[i[-1]])
        else:
            saddle.append(ends[2][0] if kind == "alignment" else ends[2][k + 1])
    rows = []
    for k, kind in enumerate(kinds):
        neurons, half = (), None
        if kind in ("growth", "convergence"):
            neurons = _grew(ends[4][k], ends[4][k + 1]).tolist()
        if kind == "growth":
            start = saddle[k - 1] if k > 0 else ends[2][0]
            after = saddle[k + 1] if k + 1 < len(kinds) else ends[2][-1]
            half = _half(sol, track, edges[k : k + 2], start, after)
            if half is None:  # a slow end of it counts as the plateau behind: half of what it does itself
                half = _half(sol, track, edges[k : k + 2], ends[2][k], ends[2][k + 1])
        rows.append(_phase(sol, kind, edges[k], edges[k + 1], saddle[k], neurons, half))
    return Phases(rows)


def _half(sol: Solution, track: Track, span: list[float], start: float, after: float) -> float | None:
    """When the loss is half-way between two log losses, None if that is outside the span of the clock."""
    clock, _, logs, _, _ = track.columns
    level = np.log(0.5 * (np.exp(start) + np.exp(after)))
    i = np.flatnonzero((clock > span[0]) & (logs <= level))
    if len(i) == 0 or i[0] == 0:
        return None
    at = _crossing(partial(_below, track, level), clock[i[0] - 1], clock[i[0]])
    return float(sol.clock.times(at)[0]) if span[0] <= at <= span[1] else None


def _without_empty(edges: list[float], kinds: list[str]) -> tuple[list[float], list[str]]:
    """The same without phases of no length; what they parted is one phase."""
    left: list[float] = [edges[0]]
    names: list[str] = []
    for k, kind in enumerate(kinds):
        if edges[k + 1] <= edges[k] and len(kinds) > 1:
            continue
        if names and names[-1] == kind:
            left[-1] = edges[k + 1]
        else:
            left.append(edges[k + 1])
            names.append(kind)
    return left, names


def _fitted(sol: Solution) -> bool:
    """Whether every datum is on its right side at the end."""
    data, f = sol.problem.data, sol.end.outputs[0]
    right = data.y * f > 0 if sol.problem.outputs == 1 else class_margins(sol.problem.targets, f) > 0
    return bool(np.all(right | ~np.any(data.x, axis=1)))
