"""Estimates of what a run takes: time and memory of an exact flow before it starts, the time left while it runs."""

import logging

import numpy as np

MUCH_TIME = 60.0  # seconds, from which on a run is announced
MUCH_MEMORY = 4 * 2**30
# Fitted to the table of benchmarks/medium.py on one core; n = 50 to 3000, m = 50 to 1000: right to a factor of 3.
PER_OPERATION = 3.5e-10  # seconds
CROSSED = 0.5  # pairs of a neuron and a datum that cross during a training, as a share
SWEEPS, PER_EVENT = 350, 3.3  # sweeps over all neurons in a run, and traces of a neuron for each of its events
# Of the time left. The length of stretches grows by this share of the time gone by, until EARLY of them tell more.
GROWTH, EARLY = 0.2, 3
LASTING = 0.6  # what of the growth of the speed so far is taken to go on
SURE, SOON = 0.01, 2.0  # fraction of a run from which on its time left is told; of stretches, seconds


def seconds(m: int, n: int, r: int) -> float:
    """Time of an exact flow with m neurons and n data in r dimensions."""
    traced = SWEEPS * m * n * (12 * r + 100)
    crossings = PER_EVENT * CROSSED * n * m * n * (115 + r)
    return PER_OPERATION * (traced + crossings)


def memory(m: int, n: int) -> int:
    """Bytes that its arrays take: inner products of all pairs of data, the log of events, numbers for every pair."""
    return 8 * n * n + 200 * m * n + 240 * m * n


def announce(m: int, n: int, r: int) -> None:
    """Logs one sentence where a run will take long or much memory."""
    time, size = seconds(m, n, r), memory(m, n)
    if time > MUCH_TIME or size > MUCH_MEMORY:
        logging.getLogger("reluflow").warning(
            f"An exact flow with {m} neurons on {n} data takes roughly {told(time)} and {size / 2**30:.1f} GiB: "
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
