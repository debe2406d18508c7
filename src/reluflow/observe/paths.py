"""Activation patterns: how many data of each class a neuron is active on, and the whole history of its pattern."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.observe._view import view


def activation_path(sol, t=None, *, log_t=None):
    """(k+, k-): on how many positive and negative data each neuron is active: dims class, frame, neuron."""
    seen, y = view(sol, t, log_t), sol.problem.data.y

    def count(bits, _):
        on = bits >= 1.0
        return np.stack([np.sum(on[..., y > 0], axis=-1), np.sum(on[..., y < 0], axis=-1)], axis=-1)

    counts = np.moveaxis(seen.reduce(count), -1, 0)
    return seen.array(counts, ("class", "frame", "neuron"), "activation_path", **{"class": ["k+", "k-"]})


class Visit(NamedTuple):
    """A period of a neuron in one pattern: active data, from when, until when (inf: to the end of the run)."""

    on: tuple[int, ...]
    start: float
    end: float


def patterns(sol) -> list[list[Visit]]:
    """For each neuron the patterns it visits, in order, with exact times, from the run's events.

    A datum being slid on counts as not active. Needs a run whose events are all listed.
    """
    if sol.stats.unrecorded:
        raise ValueError(
            f"Patterns need all events of a run, got {sol.stats.unrecorded} that are not listed: use `rf.Flow()`, or "
            "`rf.observe.activation_path` at times of your choice."
        )
    on = sol.initial_bits >= 1.0
    visits: list[list[Visit]] = []
    events = sol.events
    turns = {"on": True, "release_on": True, "off": False, "release_off": False, "slide": False}
    for j in range(sol.problem.init.width):
        now, since, found = on[j].copy(), 0.0, []
        mine = np.flatnonzero((events.neuron == j) & (events.datum >= 0))
        kinds = events.kind[mine]
        for time in np.unique(events.t[mine]):
            before = now.copy()
            for k in np.flatnonzero(events.t[mine] == time):
                if kinds[k] in turns:
                    now[events.datum[mine[k]]] = turns[kinds[k]]
            if np.any(before != now):
                if time > since:
                    found.append(Visit(tuple(np.flatnonzero(before).tolist()), since, float(time)))
                since = float(time)
        found.append(Visit(tuple(np.flatnonzero(now).tolist()), since, np.inf))
        visits.append(found)
    return visits
