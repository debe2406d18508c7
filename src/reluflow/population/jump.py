r"""Jumps over phases in which nothing but logarithms moves.

While small neurons align and grow, and again on every saddle, the large neurons rest and the directions of the others
have converged: then log |w_j| of small neurons and log |u_j - u_p| of neurons that point the same way are linear in
time, to rounding. A jump follows these lines until the first of them matters: a small neuron's size reaches `passive`,
or a difference reaches it. Small neurons that still turn, but slowly (next to the angle pi they do so as 1/t), are
followed by a run of their own in the field at rest.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow.population._field import Source, Tree, sizes
from reluflow.population.state import State, System, parents_first

SETTLED = 1e-14  # rate of turning below which a direction counts as at rest, in units of the teacher's size
SLOW = 1e-3  # rate of turning below which a small neuron may be followed apart from the others


@dataclass(frozen=True, eq=False)
class Rest:
    """A state at rest but for logarithms: their rates, who still turns, and until when this holds."""

    system: System
    state: State
    drift: np.ndarray  # rates of c
    spread: np.ndarray  # rates of log |u_j - u_p|
    turning: np.ndarray  # neurons followed apart
    follow: Callable  # their states at ascending times
    until: float

    def states(self, times: list[float]) -> list[State]:
        """The states at ascending times of the jump."""
        apart, inner = self.follow(times) if len(self.turning) else (self.system, [self.state] * len(times))
        return [self._at(t, apart, part) for t, part in zip(times, inner)]

    def _at(self, t: float, apart: System, inner: State) -> State:
        new = self.state.copy()
        new.t = t
        z, b, c = self.system.split(new.y)
        c += (t - self.state.t) * self.drift
        new.tree.ell[:] += (t - self.state.t) * self.spread
        if len(self.turning):
            z[self.turning], b[self.turning], c[self.turning] = apart.split(inner.y)
            own = inner.tree.parent
            new.tree.parent[self.turning] = np.where(own >= 0, self.turning[own], -1)
            new.tree.ell[self.turning] = inner.tree.ell
            new.tree.order[:] = parents_first(new.tree.parent)
        return new


def rest(system: System, state: State, passive: float, end: float, run: Callable) -> Rest | None:
    """What a jump from here would follow, or None where something else moves.

    `run(system, state, end, level, times)` follows a smaller system to `end`, or until some c reaches `level`, and
    gives when that was and the states at `times`.
    """
    m, rates = system.m, system.rates(state)
    z, b, c = system.split(state.y)
    dz, db, dc = system.split(rates)
    size = np.empty(m)
    sizes(b, c, system.first, size)
    small = np.abs(size) < passive
    if system.first and np.any(small):
        return None  # there small neurons turn fast
    child = state.tree.parent >= 0
    copy = child & (np.sum(z * z, axis=1) == 0.0)
    spread = system.spread(state)
    speed = np.linalg.norm(dz - spread[:, None] * z, axis=1)
    turning = speed > SETTLED
    if np.any(~small & (turning | (np.abs(dc) > SETTLED) | (np.abs(db) > SETTLED))):
        return None
    turning = _with_relatives(turning, state.tree.parent)
    if np.any(turning & (~small | (speed > SLOW))) or np.all(turning):
        return None
    drift = np.where(small, dc, 0.0)
    horizon = end
    level = 0.5 * np.log(passive)
    grow = small & ~turning & (drift > 0.0)
    if np.any(grow):
        horizon = min(horizon, state.t + float(np.min((level - c[grow]) / drift[grow])))
    part = child & ~copy & ~turning & (spread > 0.0)
    if np.any(part):
        horizon = min(horizon, state.t + float(np.min((np.log(passive) - state.tree.ell[part]) / spread[part])))
    who = np.flatnonzero(turning)
    drift, spread = np.where(turning, 0.0, drift), np.where(turning, 0.0, spread)
    if len(who) == 0:
        return Rest(system, state, drift, spread, who, lambda times: None, horizon)
    source, u = system.source, system.units(state)
    frozen = Source(
        np.concatenate([source.size, -size[~small]]),
        np.ascontiguousarray(np.concatenate([source.unit, u[~small]])),
        source.slope,
        source.first,
    )
    apart, inner = System(len(who), frozen), _part(system, state, who)
    horizon = run(apart, inner, horizon, level, [])[0]
    follow = lambda times: (apart, run(apart, inner, times[-1], np.inf, times)[1])
    return Rest(system, state, drift, spread, who, follow, horizon)


def _with_relatives(chosen: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """The neurons chosen and everyone in their trees."""
    root = np.arange(len(parent))
    while np.any(parent[root] >= 0):
        root = np.where(parent[root] >= 0, parent[root], root)
    return np.isin(root, root[chosen])


def _part(system: System, state: State, who: np.ndarray) -> State:
    """The state of some neurons alone; their trees come whole."""
    z, b, c = system.split(state.y)
    place = np.full(system.m, -1)
    place[who] = np.arange(len(who))
    old = state.tree.parent[who]
    parent = np.where(old >= 0, place[old], -1)
    tree = Tree(parent, state.tree.ell[who].copy(), parents_first(parent), np.zeros(len(who)))
    return State(state.t, np.concatenate([z[who].ravel(), b[who], c[who], [0.0]]), tree)
