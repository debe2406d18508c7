"""The neurons of a large stretch traced by one or more threads: the same blocks, added in the same order.

The number of threads changes no bit, because it changes no code: from a size on, which does not depend on it, one
thread too goes this way. Two compiled copies of one loop may round differently.
"""

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from reluflow._checks import whole
from reluflow.engine import layout, windows
from reluflow.engine.tracer import BAD, STRETCH, Sums, Window
from reluflow.engine.windows import BLOCK

PAYS = 8_000_000  # operations of one sweep, below which handing them to threads takes longer than it saves
PAUSE = 100_000_000  # operations after which a stretch pauses, for progress and requests to stop
TURNS = 3  # shares that each thread takes between two pauses: neurons do not cost the same


class Place(NamedTuple):
    """What one thread works in."""

    run: np.recarray  # of one row, as kernels get it: a row can be overwritten as a whole
    stretch: np.recarray
    work: layout.Work
    window: Window


class Share(NamedTuple):
    """Neurons first .. last - 1, and the sums of their blocks."""

    first: int
    last: int
    sums: Sums


class Traced(NamedTuple):
    """What became of a share."""

    status: int
    run: np.record
    log: np.ndarray
    sums: Sums


class Team:
    """Threads that share the neurons of a sweep. `cost`: operations it takes to trace one neuron."""

    def __init__(self, threads: int, cost: int, work: layout.Work, window: Window):
        m, S = work.u.shape
        r, n = work.pull.shape[1], work.f.size
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.turns = TURNS * threads
        blocks = -(-m // BLOCK)
        each = BLOCK * max(1, min(-(-blocks // self.turns), PAUSE // (TURNS * cost * BLOCK)))
        self.shares = [Share(k, min(m, k + each), room(min(m, k + each) - k, S)) for k in range(0, m, each)]
        self.found: list[Traced | None] = []
        self.places = []
        for _ in range(threads):
            own = layout.new_work(m, r, S, n)._replace(log=np.empty((4 * each * (S + 2), 5)), noise=work.noise)
            one = windows.single(S, r)
            run, stretch = (np.zeros(1, kind).view(np.recarray) for kind in (layout.RUN, STRETCH))
            place = window._replace(stretch=stretch[0], one=one, block=windows.sums(S))
            self.places.append(Place(run, stretch, own, place))

    def trace(self, problem: object, state: layout.State, run: np.record, work: layout.Work, window: Window) -> None:
        """The next neurons of the present sweep, some shares of them; after the last, what all of them add goes where
        it belongs."""
        if window.stretch["next"] == 0:  # a new sweep; one that was left may have been half done
            self.found = []
        begun = len(self.found)
        last = min(len(self.shares), begun + self.turns)
        turn = itertools.count(begun)
        self.found += [None] * (last - begun)

        def serve(place: Place) -> None:
            while (k := next(turn)) < last:
                share = self.shares[k]
                place.run[0], place.stretch[0] = run, window.stretch
                own = place.run[0]
                own["log_used"] = 0
                status = windows.trace_blocks(problem, state, own, place.work, place.window, *share)
                log = place.work.log[: own["log_used"]].copy()
                self.found[k] = Traced(status, place.run.copy()[0], log, share.sums)

        if self.pool is None:
            serve(self.places[0])
        else:
            list(self.pool.map(serve, self.places))
        window.stretch["next"] = self.shares[last - 1].last
        if last == len(self.shares):
            join([share for share in self.found if share is not None], run, work, window)


def room(neurons: int, S: int) -> Sums:
    """Room for the sums of all blocks of so many neurons."""
    blocks = -(-neurons // BLOCK)
    return Sums(*(np.zeros((blocks, *a.shape)) for a in windows.sums(S)))


def join(shares: list[Traced], run: np.record, work: layout.Work, window: Window) -> None:
    """Adds what threads found to the run, in the order of neurons, up to the first share that is BAD."""
    # Fields by their keys: attributes of a record take ten times as long.
    seen, used, found = int(run["n_events"]), int(run["log_used"]), 0
    for share in shares:
        rows = len(share.log)
        if share.status == BAD or used + rows >= len(work.log):
            window.stretch["bad"] = 1
            run["origin"] = share.run["origin"]
            break
        work.log[used : used + rows] = share.log
        used += rows
        found += int(share.run["n_events"]) - seen
        if share.run["nearest"] < run["nearest"]:
            for name in ("nearest", "nearest_clock", "nearest_neuron", "nearest_surface"):
                run[name] = share.run[name]
        for total, blocks in zip(window.sums, share.sums, strict=True):
            for more in blocks:
                total += more
    run["log_used"], run["n_events"] = used, seen + found


def threads_wanted(threads: int | None) -> int:
    """`threads`, or RELUFLOW_THREADS of the environment, or 1."""
    if threads is not None:
        return threads
    given = os.environ.get("RELUFLOW_THREADS") or "1"
    found = int(given) if given.isdigit() else given
    return whole("RELUFLOW_THREADS", found, least=1, hint="it is the number of threads of a large flow")
