"""One run at a time, the newest request of a page first: whoever is overtaken stops.

Every page has an id and counts its requests. A run reads its limits after every burst of steps, of 40 ms or so, and
these ask the ticket: when its page has asked for something newer, it raises `Superseded` and the thread is free.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from reluflow.explorer.spec import SECONDS, Refused
from reluflow.solve import Limits

PAGES = 64  # page ids remembered
KEPT = 4  # solutions kept for the next question about them
QUEUE = 16


class Superseded(Exception):
    """A newer request of the same page has come."""


class Ticket:
    def __init__(self, desk: Desk, page: str, number: int):
        self.desk, self.page, self.number = desk, page, number
        self.began: float | None = None

    @property
    def stale(self) -> bool:
        return self.desk.newest.get(self.page, self.number) > self.number

    def check(self, *_) -> None:
        if self.stale:
            raise Superseded
        if self.began is not None and time.monotonic() - self.began > 2 * SECONDS:
            raise Refused(f"This takes more than {SECONDS:g} seconds: make it smaller, or use `rf.solve`.")


class Wanted:
    """The limits of a run whose answer may no longer be wanted: to read them is to ask."""

    events = Limits.events

    def __init__(self, ticket: Ticket, steps: int):
        self.ticket, self.steps = ticket, steps

    @property
    def seconds(self) -> float:
        self.ticket.check()
        return SECONDS


class Desk:
    """Tickets, the one thread that solves, and the last few solutions."""

    def __init__(self):
        self.newest: OrderedDict[str, int] = OrderedDict()
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="reluflow-explorer")
        self.kept: OrderedDict[str, object] = OrderedDict()
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

    def solved(self, experiment, ticket: Ticket):
        """The solution of an experiment, kept from last time or made now."""
        found = self.kept.get(experiment.key)
        if found is None:
            found = experiment.run(progress=ticket.check, limits=Wanted(ticket, experiment["solve.limits.steps"]))
            self.kept[experiment.key] = found
            while len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        self.kept.move_to_end(experiment.key)
        return found

    def close(self):
        self.newest = OrderedDict((page, 2**60) for page in self.newest)
        self.pool.shutdown(wait=False, cancel_futures=True)
