"""What comes back from a run on the population: frames, any moment by going on from a frame, order parameters.

Logarithms are authoritative: `log_t`, `log_loss`, `log_norm`; `t` and `loss` are their exponentials. Directions are
unit vectors, but neurons that point the same way may differ by e^-500: `log_gap` has that, differences of `w` do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from reluflow.init import Params
from reluflow.methods import Descent
from reluflow.outcome import Outcome
from reluflow.population import closed_form
from reluflow.population._descent import descend
from reluflow.population.driver import Driver
from reluflow.population.plot import run
from reluflow.population.state import Coordinates, State


@dataclass(frozen=True)
class Stats:
    """What a run cost, and its estimate of its own error."""

    steps: int
    fields: int
    implicit: int  # of the steps
    jumps: int
    seconds: float
    rtol: float
    energy_error: float  # |L(0) - L(t) - int |grad L|^2| / L(0)


class Overlaps(NamedTuple):
    """Order parameters: Q = w w^T, R = w v^T, T = v v^T, and the output weights a."""

    Q: np.ndarray
    R: np.ndarray
    T: np.ndarray
    a: np.ndarray


class Recording:
    """States of a run, thinned to at most `limit`: the first always stays, and so does the last."""

    def __init__(self, limit: int):
        self.limit, self.stride, self.seen = limit, 1, 0
        self.states: list[State] = []
        self.asked: list[State] | None = None  # at the times of `Save(times=...)`, in the order of time

    def show(self, state: State):
        if self.asked is not None:
            self.asked.append(state)

    def add(self, state: State):
        if self.seen % self.stride == 0:
            self.states.append(state.copy())
            if len(self.states) > self.limit:
                self.states = self.states[::2]
                self.stride *= 2
        self.seen += 1

    def close(self, state: State):
        """The end of the run."""
        if self.states[-1].t < state.t:
            self.states.append(state.copy())


class Solution:
    """A run on the population. Frames are the run's own steps, thinned, or the times asked for by `Save(times=...)`."""

    def __init__(self, problem, method, coords: Coordinates, recording: Recording, outcome: Outcome, stats: Stats):
        self.problem, self.method, self.outcome, self.stats = problem, method, outcome, stats
        self._coords, self._checkpoints = coords, recording.states
        self._frames = recording.states if recording.asked is None else recording.asked

    def resampled(self, times) -> Solution:
        """The same run with frames at these times."""
        new = Solution.__new__(Solution)
        new.__dict__.update({k: v for k, v in self.__dict__.items() if k.startswith("_") or k in KEPT})
        inside = [t for t in times if t <= self._checkpoints[-1].t / self._coords.time_unit * (1 + 1e-14)]
        new._frames = self._states(np.array(inside))
        return new

    # Frames -----------------------------------------------------------------------------------------------------------

    @cached_property
    def t(self) -> np.ndarray:
        return np.array([s.t for s in self._frames]) / self._coords.time_unit

    @property
    def log_t(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.t)

    @cached_property
    def loss(self) -> np.ndarray:
        """E (f - f*)^2 / 2 at every frame, right to about 1e-16 of its first value."""
        return np.array([self._coords.loss(s) for s in self._frames]) * self._coords.loss_unit

    @property
    def log_loss(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.loss)

    @cached_property
    def _weights(self):
        """Mantissas w, a and log scales of both, each stacked over the frames."""
        parts = [self._coords.weights(s) for s in self._frames]
        return tuple(np.array([p[k] for p in parts]) for k in range(4))

    @cached_property
    def log_norm(self) -> np.ndarray:
        """log |w_j| at every frame, (frames, width)."""
        w, _, log_w, _ = self._weights
        with np.errstate(divide="ignore"):
            return log_w + np.log(np.linalg.norm(w, axis=-1))

    @cached_property
    def log_output(self) -> np.ndarray:
        """log |a_j| at every frame, (frames, width)."""
        _, a, _, log_a = self._weights
        with np.errstate(divide="ignore"):
            return log_a + np.log(np.abs(a))

    @property
    def sign(self) -> np.ndarray:
        """Sign of a_j at every frame, (frames, width)."""
        return np.sign(self._weights[1])

    @property
    def w(self) -> np.ndarray:
        """Mantissas of w: true rows are w e^`log_scale`, (frames, width, dim)."""
        return self._weights[0]

    @property
    def a(self) -> np.ndarray:
        """Mantissas of a, (frames, width); their log scale is that of w where both layers are trained."""
        return self._weights[1]

    @property
    def log_scale(self) -> np.ndarray:
        """Log scale of the mantissas `w`, (frames, width)."""
        return self._weights[2]

    @cached_property
    def angles(self) -> np.ndarray:
        """Angle between student j and teacher k, (frames, width, teachers)."""
        v = self.problem.teacher.w
        return np.array([closed_form.angles(w, v) for w in self._weights[0]])

    @cached_property
    def overlaps(self) -> Overlaps:
        """Order parameters at every frame; entries smaller than e^-745 read 0."""
        w, a, log_w, log_a = self._weights
        v = self.problem.teacher.arrays()[0]
        w = w * np.exp(log_w)[..., None]
        return Overlaps(w @ np.swapaxes(w, 1, 2), w @ v.T, v @ v.T, a * np.exp(log_a))

    def log_gap(self, i: int, j: int) -> np.ndarray:
        """log |u_i - u_j| of the directions of two students at every frame, also where it is e^-500."""
        return np.array([_log_gap(self._coords, s, i, j) for s in self._frames])

    # Any moment -------------------------------------------------------------------------------------------------------

    def at(self, t):
        """The weights at time t as `Params`; a list of them for several times."""
        found = [self._params(s) for s in self._states(np.atleast_1d(np.asarray(t, float)))]
        return found[0] if np.ndim(t) == 0 else found

    def loss_at(self, t):
        """The loss at time t."""
        states = self._states(np.atleast_1d(np.asarray(t, float)))
        found = np.array([self._coords.loss(s) for s in states]) * self._coords.loss_unit
        return float(found[0]) if np.ndim(t) == 0 else found

    def predict(self, x, t=None) -> np.ndarray:
        """f(x) for rows x at time t (left out: the end)."""
        params = self.final if t is None else self.at(t)
        w, a = params.arrays()
        z = np.asarray(x, float) @ w.T
        return (np.maximum(z, 0.0) + self.problem.slope * np.minimum(z, 0.0)) @ a

    @cached_property
    def final(self) -> Params:
        """The weights at the end of the run."""
        return self._params(self._checkpoints[-1])

    def _params(self, state: State) -> Params:
        w, a, log_w, log_a = self._coords.weights(state)
        same = np.array_equal(log_w, log_a)
        return Params(w, a, log_scale=np.maximum(log_w, -1e6), log_scale_a=None if same else np.maximum(log_a, -1e6))

    def _states(self, t: np.ndarray) -> list[State]:
        """States at these times, each by going on from the checkpoint before it."""
        unit = self._coords.time_unit
        last = self._checkpoints[-1].t
        wanted = np.asarray(t, float) * unit
        wanted = np.where((wanted > last) & (wanted <= last * (1 + 1e-13)), last, wanted)
        if self.outcome is Outcome.STATIONARY:
            wanted = np.minimum(wanted, last)
        if np.any(~((wanted >= 0.0) & (wanted <= last))):
            bad = float(np.asarray(t)[~((wanted >= 0.0) & (wanted <= last))][0])
            raise ValueError(f"A time must lie in [0, {self.t_end_text}], the span of the run, got {bad:g}.")
        order = np.argsort(wanted, kind="stable")
        marks = np.array([s.t for s in self._checkpoints])
        found: dict[int, State] = {}
        base = np.searchsorted(marks, wanted[order], side="right") - 1
        for k in np.unique(base):
            mine = order[base == k]
            for place, state in zip(mine, self._go_on(self._checkpoints[k], wanted[mine])):
                found[int(place)] = state
        return [found[k] for k in range(len(wanted))]

    def _go_on(self, start: State, wanted: np.ndarray) -> list[State]:
        shown = [start] * int(np.sum(wanted <= start.t))
        later = wanted[wanted > start.t].tolist()
        if not later:
            return shown
        if isinstance(self.method, Descent):
            state, eta, done = (
                start.copy(),
                self.method.step * self._coords.time_unit,
                round(start.t / (self.method.step * self._coords.time_unit)),
            )
            for t in later:
                count = int(np.floor(t / eta * (1 + 1e-13))) - done
                descend(state.y, state.tree, self._coords.source, self._coords.m, eta, count)
                done += count
                state.t = done * eta
                shown.append(state.copy())
            return shown
        Driver(self._coords, start, self.method.rtol, later[-1]).go(lambda state: None, later, shown.append)
        return shown

    # ------------------------------------------------------------------------------------------------------------------

    def phases(self, tol: float = 1e-2):
        """Alignment, growth, plateaus, convergence, as `rf.Solution.phases` has them."""
        from reluflow.population.phases import phases

        return phases(self, tol)

    def plot(self):
        """Loss, norms and angles over time, as a matplotlib figure."""
        return run(self)

    def to_xarray(self):
        """Frames as an `xarray.Dataset`: dims frame, neuron, teacher, feature."""
        from reluflow.population.store import to_xarray

        return to_xarray(self)

    def save(self, path):
        """Write the run to one file for `rf.population.load`; when this returns it is on disk, whole."""
        from reluflow.population.store import save

        return save(self, path)

    @property
    def t_end_text(self) -> str:
        return f"{self._checkpoints[-1].t / self._coords.time_unit:.6g}"

    def __repr__(self) -> str:
        s = self.stats
        loss = self._coords.loss(self._checkpoints[-1]) * self._coords.loss_unit
        descent = isinstance(self.method, Descent)
        cost = f"{s.steps} iterations" if descent else f"{s.steps} steps, {s.jumps} jumps"
        accuracy = f"step {self.method.step:g}" if descent else f"rtol {s.rtol:g}"
        return (
            f"population.Solution(t = 0..{self.t_end_text}: {cost}, loss {loss:.6g}, {accuracy}; {self.outcome.value})"
        )


KEPT = ("problem", "method", "outcome", "stats")


def _log_gap(coords: Coordinates, state: State, i: int, j: int) -> float:
    """From the tree where both have a common ancestor, else from the unit vectors."""
    z, _, _ = coords.split(state.y)
    parent, ell = state.tree.parent, state.tree.ell
    chains = []
    for k in (i, j):
        chain = [k]
        while parent[chain[-1]] >= 0:
            chain.append(int(parent[chain[-1]]))
        chains.append(chain)
    if chains[0][-1] != chains[1][-1]:
        u = coords.units(state)
        with np.errstate(divide="ignore"):
            return float(np.log(np.linalg.norm(u[i] - u[j])))
    parts = [(1.0, k) for k in chains[0] if k not in chains[1]] + [(-1.0, k) for k in chains[1] if k not in chains[0]]
    if not parts:
        return -np.inf
    top = max(ell[k] for _, k in parts)
    total = sum(sign * np.exp(ell[k] - top) * z[k] for sign, k in parts)
    with np.errstate(divide="ignore"):
        return float(top + np.log(np.linalg.norm(total)))
