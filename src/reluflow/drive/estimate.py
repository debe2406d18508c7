"""Estimates of what a run takes: time and memory of an exact flow before it starts, the time left while it runs."""

import logging

import numpy as np

from reluflow.engine.pack import Pack
from reluflow.losses import Loss

MUCH_TIME = 60.0  # seconds, from which on a run is announced
MUCH_MEMORY = 4 * 2**30
KERNEL = 6  # operations of a matrix product, `newton.find_kernel`, that take as long as one of tracing
# Fitted to benchmarks/table.txt and to pieces of its runs on one core, n = 10 to 3000, m = 20 to 1000, right to a
# factor of 3. A turn is the time in which the first force turns a neuron by an angle of one.
PER_OPERATION = 9e-11  # seconds
FIRST_SWEEPS, SWEEPS, TURNS = 60, 170, 20.0  # sweeps over all neurons at the start and in a turn; turns of a long run
CROSSED, PER_EVENT = 0.5, 3.3  # pairs of a neuron and a datum that cross, at most; traces of a neuron for each event
# Of the time left. The length of stretches grows by this share of the time gone by, until EARLY of them tell more.
GROWTH, EARLY = 0.2, 3
LASTING = 0.6  # what of the growth of the speed so far is taken to go on
SURE, SOON = 0.01, 2.0  # fraction of a run from which on its time left is told; of stretches, seconds


def turns(packed: Pack, loss: Loss, time: float) -> float:
    """How far the force of f = 0 turns a neuron in this time, its active data half of them, drawn at random."""
    force = packed.weight * loss.force(packed.y, np.zeros_like(packed.y)) * packed.alpha
    mean = force @ packed.e[packed.surf]
    rate = 0.5 * float(np.sqrt(mean @ mean + force @ force))
    return rate * time if rate > 0.0 else 0.0


def seconds(m: int, n: int, r: int, turned: float) -> float:
    """Time of an exact flow with m neurons and n data in r dimensions over so many turns."""
    turned = min(turned, TURNS)
    traced = (FIRST_SWEEPS + SWEEPS * turned) * m * tracing(n, r)
    crossings = PER_EVENT * min(CROSSED, turned / (2.0 * np.pi)) * n * m * n * (115 + r)
    return PER_OPERATION * (traced + crossings)


def tracing(n: int, r: int) -> int:
    """Operations that it takes to trace one neuron on n surfaces through a stretch."""
    return n * (12 * r + 100)


def newton_pays(n: int, r: int) -> bool:
    """Whether the kernel of `engine.newton` costs no more than a sweep."""
    return 2 * n * n <= KERNEL * tracing(n, r)


def memory(m: int, n: int, r: int) -> int:
    """Bytes that its arrays take: inner products of all pairs of data, the log of events, numbers for every pair."""
    kernel = 8 * n * n + 16 * m * n if newton_pays(n, r) else 0
    return 8 * n * n + 200 * m * n + 240 * m * n + kernel


def announce(packed: Pack, m: int, loss: Loss, time: float) -> None:
    """Logs one sentence where m neurons will take long to this time, in units of `packed`, or much memory."""
    n, r = packed.e.shape
    size, longest = memory(m, n, r), seconds(m, n, r, np.inf)
    if longest <= MUCH_TIME and size <= MUCH_MEMORY:
        return
    takes = seconds(m, n, r, turns(packed, loss, time))
    if takes > MUCH_TIME or size > MUCH_MEMORY:
        logging.getLogger("reluflow").warning(
            f"An exact flow with {m} neurons on {n} data takes roughly {told(takes)} and {size / 2**30:.1f} GiB: "
            "`rf.SteppedFlow(rtol=1e-4)` or fewer data take less."
        )


def told(seconds: float) -> str:
    """A time in words, to one digit: it is known to a factor of 3."""
    for unit, name in ((86400.0, "day"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * unit:
            count = float(f"{seconds / unit:.0e}")
            return f"{count:.0f} {name}" + ("s" if name == "day" else "")
    return f"{seconds:.0f} s"


class Left:
    """The seconds that a run still takes, from how fast its clock has gone so far.

    The speed v, fraction done per second, is taken to grow with the fraction x at a rate c, by what it did between the
    two halves of the time so far: that leaves log(1 + c (1 - x) / v) / c seconds. Before the end of the first stretch v
    is that of the work at it; attempts at it that were refused do not count.
    """

    def __init__(self) -> None:
        self.seconds: list[float] = []  # at the ends of stretches or steps, the start of the first included
        self.fraction: list[float] = []
        self.first = 0.0  # length of the first stretch as it is tried now
        self.began = np.inf
        self.told: float | None = None

    def left(self, seconds: float, fraction: float | None, underway: tuple[float, float] = (0.0, 0.0)) -> float | None:
        """Seconds left at `seconds`, None where that is unknown. `underway`: the length of the stretch at hand, as a
        fraction of the run, and the share of it that is worked off."""
        if fraction is None:
            return None
        length, share = underway
        self.began = min(self.began, seconds)
        if not self.seconds or (fraction == 0.0 and length != self.first):
            self.seconds, self.fraction, self.first = [seconds], [fraction], length
        begun = self.seconds[0]
        if fraction > self.fraction[-1] and seconds - self.seconds[-1] >= SURE * (seconds - begun):
            self.seconds.append(seconds)
            self.fraction.append(fraction)
        now = fraction + length * share
        gone = now - self.fraction[0]
        unsure = now < SURE and (length == 0.0 or seconds - self.began < SOON)
        if gone <= 0.0 or seconds <= begun or unsure:
            return self.told
        if length > 0.0 and len(self.seconds) <= EARLY:
            speed = gone / (seconds - begun)
            growth = GROWTH * speed / length
        else:
            speed, growth = self._trend(seconds, now)
        rest = max(0.0, 1.0 - now)
        self.told = float(np.log1p(growth * rest / speed) / growth if growth > 0.0 else rest / speed)
        return self.told

    def _trend(self, seconds: float, now: float) -> tuple[float, float]:
        """The speed of the second half of the time so far, and how fast it grows with the fraction done."""
        begun, start = self.seconds[0], self.fraction[0]
        half = 0.5 * (seconds - begun)
        middle = float(np.interp(begun + half, [*self.seconds, seconds], [*self.fraction, now]))
        before, after = (middle - start) / half, (now - middle) / half
        if after <= 0.0:
            return 0.5 * (before + after), 0.0
        return after, LASTING * max(0.0, after - before) / (0.5 * (now - start))
