"""A rough estimate of the time and memory of an exact flow, shown before the start of a long one."""

from __future__ import annotations

import logging

MUCH_TIME = 60.0  # seconds, from which on a run is announced
MUCH_MEMORY = 4 * 2**30
# Fitted to the table of benchmarks/medium.py on one core; n = 50 to 3000, m = 50 to 1000: right to a factor of 3.
PER_OPERATION = 3.5e-10  # seconds
CROSSED = 0.5  # pairs of a neuron and a datum that cross during a training, as a share
SWEEPS, PER_EVENT = 350, 3.3  # sweeps over all neurons in a run, and traces of a neuron for each of its events


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
