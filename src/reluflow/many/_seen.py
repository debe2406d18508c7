"""Bits and events from recorded states alone: the signs of <q_j, x_i>, and their changes from one state to the next.

A change is dated by the first record that shows it; what came and went between two records was not seen. The first bits
and these events give the bits of every record.
"""

import numpy as np

from reluflow.drive.descent import Machine
from reluflow.drive.loop import Run
from reluflow.drive.recorder import Costs, States, Tape
from reluflow.engine.field import OFF, ON, PINNED
from reluflow.engine.surfaces import EV_DEAD, EV_OFF, EV_ON, EV_SIGN
from reluflow.outcome import Outcome

LISTED = 100_000  # events of a run that are listed; the others are counted


def codes(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The bit codes (states, m n) of weights q (states, m, d) on data x (n, d)."""
    u = q @ x.T
    return np.where(u > 0, ON, np.where(u < 0, OFF, PINNED)).astype(np.int8).reshape(len(q), -1)


def watched(machine: Machine, name: str, states: tuple[np.ndarray, np.ndarray], ended: tuple[Outcome, float]) -> Run:
    """States (iterations, y) as a run whose iterations were made by `name`; `ended` is its outcome and its seconds."""
    clock, y = states
    m, r = machine.m, machine.r
    code = codes(np.asarray(machine.task.x, float), y[:, : m * r].reshape(-1, m, r))
    rows = _events(machine, clock, y, code)
    tape = Tape(len(clock))
    tape.marks, tape.resume, tape.events = [States(clock, y, code)], [np.ones(len(clock))], [rows[:LISTED]]
    steps = int(clock[-1])
    return Run(machine, tape, *ended, Costs(steps, 0, steps, float("nan"), {name: steps}, len(rows)))


def _events(machine: Machine, clock, y, code) -> np.ndarray:
    """(iteration, neuron, datum, kind, unique) in order of time."""
    m, n = machine.m, machine.n
    bits = machine.bits(code).reshape(-1, m, n)
    b = machine.split(y)[1]
    sign = np.sign(b) if b.ndim == 2 else np.zeros((len(y), m))  # with several outputs a_j has no sign
    live = machine.task.live.astype(bool)
    # With mini-batches bits are not part of the state, as in `rf.solve`.
    still = np.all((bits == 0.0) | ~live, axis=2) & machine.full
    rows = [np.array([[clock[0], j, -1, EV_DEAD, 1.0] for j in np.flatnonzero(still[0])]).reshape(-1, 5)]
    for k in range(1, len(clock)):
        turned = (bits[k] != bits[k - 1]) & ((bits[k] == 1.0) | (bits[k - 1] == 1.0)) & live & machine.full
        neuron, datum = np.nonzero(turned)
        kind = np.where(bits[k][turned] == 1.0, EV_ON, EV_OFF)
        flips = np.flatnonzero(sign[k] * sign[k - 1] < 0)
        dead = np.flatnonzero(still[k] & ~still[k - 1])
        who = np.concatenate([neuron, flips, dead])
        where = np.concatenate([datum, np.full(len(flips) + len(dead), -1)])
        what = np.concatenate([kind, np.full(len(flips), EV_SIGN), np.full(len(dead), EV_DEAD)])
        rows.append(np.column_stack([np.full(len(who), clock[k]), who, where, what, np.ones(len(who))]))
    return np.concatenate(rows)
