"""The neurons of a stretch traced by several threads: the same blocks, added in the same order, so the same bits."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from reluflow._checks import whole
from reluflow.engine import layout, windows
from reluflow.engine.tracer import BAD, STRETCH, Single, Sums, Window
from reluflow.engine.windows import BLOCK

PAYS = 4_000_000  # operations of one sweep, below which handing them to threads takes longer than it saves


class Place(NamedTuple):
    """What one thread works in."""

    run: np.recarray  # of one row, as kernels get it: a row can be overwritten as a whole
    stretch: np.recarray
    work: layout.Work
    window: Window


class Traced(NamedTuple):
    """What became of one block."""

    status: int
    run: np.record
    log: np.ndarray
    sums: Sums


class Team:
    """Threads that share the blocks of a sweep."""

    def __init__(self, threads: int, work: layout.Work, window: Window):
        m, S = work.u.shape
        r, n = work.pull.shape[1], work.f.size
        self.pool = ThreadPoolExecutor(threads)
        self.places = []
        for _ in range(threads):
            own = layout.new_work(m, r, S, n)._replace(log=np.empty((4 * BLOCK * (S + 2), 5)), noise=work.noise)
            one = layout.all_apart(Single(*(np.zeros_like(a) for a in window.one)))
            run, stretch = (np.zeros(1, kind).view(np.recarray) for kind in (layout.RUN, STRETCH))
            place = window._replace(stretch=stretch[0], one=one, block=windows.sums(S))
            self.places.append(Place(run, stretch, own, place))

    def trace(self, problem: object, state: layout.State, run: np.record, work: layout.Work, window: Window) -> None:
        """All neurons of the present sweep; what they add goes where one thread would put it."""
        m = len(state.sign)
        blocks = [(first, min(m, first + BLOCK)) for first in range(0, m, BLOCK)]
        found: list[Traced | None] = [None] * len(blocks)
        turn = itertools.count()

        def serve(place: Place) -> None:
            while (k := next(turn)) < len(blocks):
                place.run[0], place.stretch[0] = run, window.stretch
                own = place.run[0]
                own.log_used = 0
                status = windows.trace_block(problem, state, own, place.work, place.window, *blocks[k])
                log = place.work.log[: own.log_used].copy()
                found[k] = Traced(status, place.run.copy()[0], log, Sums(*(a.copy() for a in place.window.block)))

        list(self.pool.map(serve, self.places))
        join([block for block in found if block is not None], run, work, window)
        window.stretch.next = m


def join(blocks: list[Traced], run: np.record, work: layout.Work, window: Window) -> None:
    """Adds what blocks found to the run, in their order, up to the first that is BAD."""
    seen = int(run.n_events)
    for block in blocks:
        rows = len(block.log)
        window.stretch.bad = block.status == BAD or run.log_used + rows >= len(work.log)
        if window.stretch.bad:
            run.origin = block.run.origin
            return
        work.log[run.log_used : run.log_used + rows] = block.log
        run.log_used += rows
        run.n_events += block.run.n_events - seen
        if block.run.nearest < run.nearest:
            for name in ("nearest", "nearest_clock", "nearest_neuron", "nearest_surface"):
                setattr(run, name, getattr(block.run, name))
        for total, more in zip(window.sums, block.sums, strict=True):
            total += more


def threads_wanted(threads: int | None) -> int:
    """`threads`, or RELUFLOW_THREADS of the environment, or 1."""
    if threads is not None:
        return threads
    given = os.environ.get("RELUFLOW_THREADS") or "1"
    found = int(given) if given.isdigit() else given
    return whole("RELUFLOW_THREADS", found, least=1, hint="it is the number of threads of a large flow")
