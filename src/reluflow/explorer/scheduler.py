"""Requests of the pages, solved one at a time: a newer request of the same page cancels an older one.

Every page has an id and counts its requests. A run reads its limits after every burst of steps, of 40 ms or so, and
`CancellableLimits` raises `Superseded` when the page has sent a newer request, which frees the thread.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import reluflow as rf
from reluflow.explorer.request import SECONDS, SOLVE_SECONDS, Refused

PAGES = 64  # page ids remembered
KEPT = 4  # solutions kept for the next question about them
QUEUE = 16
EVENTS = rf.Limits().events


class Superseded(Exception):
    """A newer request of the same page has come."""


class Ticket:
    """One request of a page: when its work began, and whether a newer one has come."""

    def __init__(self, scheduler: Scheduler, page: str, number: int):
        self.scheduler, self.page, self.number = scheduler, page, number
        self.began: float | None = None

    @property
    def stale(self) -> bool:
        return self.scheduler.newest.get(self.page, self.number) > self.number

    def check(self, *_) -> None:
        if self.stale:
            raise Superseded
        if self.began is not None and time.monotonic() - self.began > SECONDS:
            raise Refused(f"This takes more than {SECONDS:g} seconds: make it smaller, or use `rf.solve`.")


class CancellableLimits:
    """The limits of a run; reading them raises `Superseded` when the request has been replaced by a newer one.

    What a run leaves out for a `draft` is in `drive.exact.Machine.begin`.
    """

    def __init__(self, ticket: Ticket, steps: int, draft: bool = False):
        self.ticket, self.steps, self.events = ticket, steps, EVENTS
        self.threads, self.draft = 1, draft

    @property
    def seconds(self) -> float:
        self.ticket.check()
        return SOLVE_SECONDS


class Scheduler:
    """The newest request of every page, the one thread that solves, and the last few solutions."""

    def __init__(self):
        self.newest: OrderedDict[str, int] = OrderedDict()
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="reluflow-explorer")
        self.kept: OrderedDict[str, object] = OrderedDict()
        self.moments: OrderedDict[str, np.ndarray] = OrderedDict()  # log t of the frames sent, by experiment
        self.waiting = 0

    def ticket(self, page, number) -> Ticket:
        if not isinstance(page, str) or not 1 <= len(page) <= 40:
            raise Refused("`page` must be a text of 1 to 40 letters.")
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**53:
            raise Refused("`number` must be a whole number from 0.")
        self.newest[page] = max(number, self.newest.get(page, number))
        self.newest.move_to_end(page)
        while len(self.newest) > PAGES:
            self.newest.popitem(last=False)
        return Ticket(self, page, number)

    async def do(self, ticket: Ticket, work):
        """`work(ticket)` in the one thread, when it is its turn and still wanted."""
        if self.waiting >= QUEUE:
            raise Refused("Too many requests are waiting: try again in a moment.")

        def job():
            ticket.began = time.monotonic()
            ticket.check()
            return work(ticket)

        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.pool, job)
        finally:
            self.waiting -= 1

    def solved(self, experiment, ticket: Ticket, draft: bool = False):
        """The solution of an experiment, kept from last time or made now."""
        found = self.kept.get(experiment.key)
        if found is None:
            found = experiment.run(
                progress=ticket.check, limits=CancellableLimits(ticket, experiment["solve.limits.steps"], draft)
            )
            self.kept[experiment.key] = found
            while len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        self.kept.move_to_end(experiment.key)
        return found

    def remember(self, key: str, log_t: np.ndarray) -> None:
        """Keeps the times of the frames of a picture: a descent laid over it is drawn at the same times."""
        self.moments[key] = log_t
        while len(self.moments) > KEPT:
            self.moments.popitem(last=False)

    def close(self):
        self.newest = OrderedDict((page, 2**60) for page in self.newest)
        self.pool.shutdown(wait=False, cancel_futures=True)
