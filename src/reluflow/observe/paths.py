"""Activation patterns: how many data of each class a neuron is active on, and the whole history of its pattern."""

from typing import NamedTuple

import numpy as np

from reluflow.observe._view import view
from reluflow.observe._witness import Witness

LATE = 1e-10  # how far past an event its new pattern is looked for, relative


def activation_path(sol, t=None, *, log_t=None):
    """(k+, k-): on how many positive and negative data each neuron is active: dims class, frame, neuron.

    With several outputs, on how many data of every class (0 to k - 1).
    """
    seen, y = view(sol, t, log_t), sol.problem.data.y
    if sol.problem.outputs > 1:
        own = np.argmax(sol.problem.targets, axis=1)
        names: list = list(range(sol.problem.outputs))
        members = [own == c for c in names]
    else:
        names, members = ["k+", "k-"], [y > 0, y < 0]

    def count(bits, _):
        on = bits >= 1.0
        return np.stack([np.sum(on[..., which], axis=-1) for which in members], axis=-1)

    counts = np.moveaxis(seen.reduce(count), -1, 0)
    return seen.array(counts, ("class", "frame", "neuron"), "activation_path", **{"class": names})


class Visit(NamedTuple):
    """A period of a neuron in one pattern: active data, from when, until when (inf: to the end of the run)."""

    on: tuple[int, ...]
    start: float
    end: float


def patterns(sol) -> list[list[Visit]]:
    """For each neuron the patterns it visits, in order, from the signs of <w_j, x_i>.

    The run is looked at at its frames, at every event and between any two events, so that the times of changes are
    those of the events, exact, as long as the log of events and the weights agree. A datum being slid on counts as not
    active. Needs a run whose events are all listed.
    """
    if sol.stats.unrecorded:
        raise ValueError(
            f"Patterns need all events of a run, got {sol.stats.unrecorded} that are not listed: use `rf.Flow()`, or "
            "`rf.observe.activation_path` at times of your choice."
        )
    return visits(Witness(sol, t=moments(sol)))


def moments(sol) -> np.ndarray:
    """The run's frames, its events, and a moment between any two events: no pattern lasts from one to the next.

    An event is looked at a relative 1e-12 and 1e-10 late: a time that goes through the run's clock, with others before
    it, comes back some roundings early (up to 1e-11 seen), and the pattern then is still the old one.
    """
    events = np.unique(sol.events.t) * (1.0 + 1e-12)
    later = events * (1.0 + LATE)
    found = np.concatenate([[0.0], sol.t, events, later, 0.5 * (events[1:] + events[:-1])])
    found = np.unique(found[found <= sol.t[-1]])
    return found[np.isfinite(found)]


def visits(seen: Witness) -> list[list[Visit]]:
    """The patterns at the moments of a Witness, each from the first moment at which it was seen: the event's own time
    where that moment is one."""
    on = seen.reduce(lambda bits, _: bits >= 1.0)
    known = np.unique(seen.sol.events.t)
    changed = np.any(on[1:] != on[:-1], axis=2)
    found = []
    for j in range(on.shape[1]):
        first = np.r_[0, 1 + np.flatnonzero(changed[:, j])]
        start = np.r_[0.0, _exact(seen.t[first[1:]], known)]
        end = np.r_[start[1:], np.inf]
        on_then = [tuple(np.flatnonzero(on[k, j]).tolist()) for k in first]
        found.append([Visit(p, float(a), float(b)) for p, a, b in zip(on_then, start, end, strict=True)])
    return found


def _exact(t: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Times, with those that are an event looked at late replaced by the event's."""
    if not len(known):
        return t
    before = known[np.maximum(np.searchsorted(known, t, side="right") - 1, 0)]
    return np.where((before <= t) & (t - before <= 2 * LATE * np.abs(t)), before, t)
