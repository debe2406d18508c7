"""Runs that have been tampered with: what a check of a theorem is worth is what it notices of these.

A mutant is a Solution whose states, events or problem are not those of the run it was made of; everything else is the
run's own. The only thing here that knows how a Solution keeps its states is `Tampered`.
"""

from __future__ import annotations

import numpy as np

import reluflow as rf
from reluflow.solution import Solution

CACHED = ("_looked", "outputs", "log_norm", "log_t", "t", "final", "_observed")


class Tampered(Solution):
    """`sol` with `change(t, w, a, c)` made to its states at times t: mantissas w, a and log scales c, in place."""

    def __init__(self, sol, change=None, *, clock=None, events=None, problem=None, last=None):
        vars(self).update({k: v for k, v in vars(sol).items() if k not in CACHED})
        self._honest, self._change, self._moved = sol, change, clock
        if events is not None:
            self.events = events
        if problem is not None:
            self.problem = problem
        frames, marks = sol._frames, sol._checkpoints
        if last is not None:  # a run that was stopped there
            self.outcome = rf.Outcome.REACHED
            frames = tuple(v[frames[0] <= last] for v in frames)
            marks = tuple(v[marks[0][:, 0] <= last] for v in marks)
        self._frames = self._made(frames[0], frames[1], frames[2])
        self._checkpoints = (marks[0], *self._made(marks[0][:, 0], marks[1], marks[2])[1:])

    def _made(self, clock, y, code):
        if self._moved is not None:
            _, y, code = self._honest._replay(self._moved(np.asarray(clock, float)))
        if self._change is not None:
            y = y.copy()
            q, b, c = self._honest._split(y)
            w = self._honest._machine.coords.expand(q)
            turned = self._change(self._honest._time.times(clock)[0], w, b, c)
            q *= turned[..., None]
        return clock, y, code

    def _replay(self, clock):
        clock, y, code = self._honest._replay(clock) if self._moved is None else (clock, None, None)
        return self._made(clock, y, code)


def since_when(sol) -> float:
    """The time of the middle event, or of the frame at a third of the run where that is earlier."""
    third = float(sol.t[len(sol.t) // 3])
    return min(third, float(sol.events.t[len(sol.events) // 2])) if len(sol.events) else third


def largest(sol) -> int:
    """The neuron that is largest at the end."""
    return int(np.argmax(sol.log_norm[-1]))


def reverse(sol, who):
    """Neurons whose direction is reversed from the middle event on."""
    since = since_when(sol)

    def change(t, w, a, c):
        turned = np.ones(a.shape)
        turned[np.ix_(np.atleast_1d(t) >= since, who)] = -1.0
        return turned

    return Tampered(sol, change)


def reverse_all(sol):
    return reverse(sol, np.arange(sol.problem.init.width))


def reverse_one(sol):
    return reverse(sol, np.array([largest(sol)]))


def scale_norms(sol):
    """Every neuron larger by e^(1/2) from the middle event on."""
    since = since_when(sol)

    def change(t, w, a, c):
        c[np.atleast_1d(t) >= since] += 0.5
        return np.ones(a.shape)

    return Tampered(sol, change)


def freeze(sol):
    """The neuron that is largest at the end keeps the size it has at the middle event."""
    since, j = since_when(sol), largest(sol)
    size = float(sol.at(since).log_scale[j])

    def change(t, w, a, c):
        c[np.atleast_1d(t) >= since, j] = size
        return np.ones(a.shape)

    return Tampered(sol, change)


def backwards(sol):
    """The run with time reversed."""
    last = float(sol._checkpoints[0][-1, 0])
    if isinstance(sol.method, rf.Descent):
        return Tampered(sol, clock=lambda k: last - np.rint(k))
    return Tampered(sol, clock=lambda clock: last - clock)


def drop_events(sol):
    """Every second event is missing from the log."""
    return Tampered(sol, events=sol.events[np.arange(len(sol.events)) % 2 == 1])


def swap_labels(sol):
    p = sol.problem
    data = rf.Data(p.data.x, -p.data.y)
    return Tampered(sol, problem=_problem(p, data))


def replace_data(sol):
    """The inputs in another order, the labels in theirs."""
    p = sol.problem
    return Tampered(sol, problem=_problem(p, rf.Data(np.roll(p.data.x, 1, axis=0), p.data.y)))


def other_constants(sol):
    """Inputs half as long: every constant that depends on norms is another."""
    p = sol.problem
    return Tampered(sol, problem=_problem(p, rf.Data(0.5 * p.data.x, p.data.y)))


def cut(sol):
    """The run stopped at a sixth of its frames: nothing in it is false, but much of it is missing."""
    return Tampered(sol, last=float(sol._frames[0][max(1, len(sol.t) // 6)]))


def _problem(p, data):
    return rf.Problem(data, p.init, loss=p.loss, reduction=p.reduction, activation=p.activation, train=p.train)


MUTANTS = {
    "reverse all neurons": reverse_all,
    "reverse one neuron": reverse_one,
    "scale norms": scale_norms,
    "freeze a neuron": freeze,
    "reverse time": backwards,
    "drop events": drop_events,
    "swap labels": swap_labels,
    "replace data": replace_data,
    "other constants": other_constants,
    "cut the run": cut,
}
