"""A second run of the same problem, in rotated coordinates and at a smaller tolerance, beside a run with several
outputs from a tiny start.

Neurons that aligned leave a saddle along components that alignment made small, and errors of the neurons, by rounding
or of steps, grow as fast as these do [vector_outputs, section 4]. Rotating the inputs and the first layer changes
rounding alone, a smaller tolerance the errors of steps: where the outputs of the two runs differ by more than the
promise, such errors have decided what is learnt. They are compared every few steps, at places that do not depend on
where bursts end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from reluflow.drive.vector import Machine

EVERY = 8  # steps, those tried included, between two comparisons
PROMISE = 100.0  # outputs are right to this many rtol
FINER, LEAST = 0.1, 1e-13  # tolerance of the second run over that of the first, and its least value
SEED = 30


class Parting(NamedTuple):
    """The two runs differ: by how much, when, and the neuron whose part of the outputs differs most."""

    distance: float
    clock: float
    neuron: int


def rotation(e: np.ndarray) -> np.ndarray:
    """A random rotation of the space of the unit rows `e`, always the same one.

    Coordinates in which every row is an axis (orthogonal data) are put in the opposite order instead: there <w, x> is
    known to its own last digit, however small it is beside |w|, and in rotated coordinates to that of |w| only.
    """
    r = e.shape[1]
    if np.all(np.count_nonzero(e, axis=1) == 1):
        return np.eye(r)[::-1]
    return np.linalg.qr(np.random.default_rng(SEED).normal(size=(r, r)))[0]


def parts(machine: Machine, y: np.ndarray) -> np.ndarray:
    """What every neuron contributes to the outputs in a state, (m, n, k)."""
    q, b, c = machine.split(y)
    packed = machine.packed
    u = packed.alpha * (q @ packed.e.T)[:, packed.surf]
    act = np.where(u > 0.0, u, packed.slope * u)
    act[:, :] *= np.exp(2.0 * np.minimum(c + machine.units.log_size, 300.0))[:, None]
    return act[:, :, None] * b[:, None, :]


class Twin:
    """The second run. It follows the first one, and counts in no limit."""

    def __init__(self, machine: Machine):
        problem, rtol, end, rest, units = machine.made_of[:5]
        self.machine = type(machine)(problem, rtol, end, rest, units, turned=True)
        self.machine.run.rtol = max(FINER * machine.run.rtol, LEAST)
        self.promise = PROMISE * rtol
        self.due = EVERY

    def compare(self, first: Machine, tried: int) -> Parting | None:
        """Brings the second run to where the first one is and looks whether they differ by more than the promise."""
        self.due = EVERY * (tried // EVERY + 1)
        clock = float(first.run.clock)
        if clock < self.machine.run.clock:
            return None  # its last step went farther
        y, _ = self.machine.frames(np.array([clock]), 1)
        one, two = parts(first, first.state.y), parts(self.machine, y[0])
        f = np.sum(one, 0)
        distance = float(np.max(np.abs(f - np.sum(two, 0)) / np.maximum(1.0, np.abs(f)), initial=0.0))
        if distance <= self.promise:
            return None
        return Parting(distance, clock, int(np.argmax(np.max(np.abs(one - two), axis=(1, 2)))))
