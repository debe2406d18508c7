"""The flow from start to end: explicit steps, implicit ones where only stability bounds a step, jumps over phases at
rest.

Explicit steps (DOP853) are never longer than stability allows, so that what converges does so to rounding; that is
when a jump is possible. Late in an overparametrised run convergence is algebraic: directions move over times of order
t while the fast rates stay of order 1, and implicit steps (Radau) take over for systems of moderate size.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import DOP853, Radau

from reluflow.outcome import Outcome
from reluflow.population._field import Tree, field
from reluflow.population.jump import rest
from reluflow.population.state import State, System

LEAST = 2.3e-14  # the relative tolerance scipy takes
REACH = 3.0  # explicit steps times the largest rate; DOP853 is stable to about 6
IMPLICIT_MOST = 400  # unknowns up to which implicit steps pay
PATIENCE = 25  # steps bounded by stability alone before implicit ones are tried
WORTH = 10.0  # a jump or an implicit step is worth so many explicit ones
WAYPOINTS = 12  # frames inside a jump
MEASURE = 8  # steps between two estimates of the largest rate


@dataclass
class Count:
    """What a run cost."""

    steps: int = 0
    fields: int = 0
    implicit: int = 0
    jumps: int = 0


def _after(moving: Tree, span: float) -> Tree:
    """The tree a while later, its differences where their rates have taken them."""
    ell = moving.ell + span * moving.growth
    return Tree(moving.parent.copy(), ell, moving.order.copy(), np.zeros_like(ell))


class Driver:
    """One run of a system: `state` is where it is, `go` carries it on."""

    def __init__(self, system: System, state: State, rtol: float, end: float, count: Count | None = None):
        self.system, self.rtol, self.end = system, rtol, end
        self.state = state.copy()
        self.count = count or Count()
        self.passive = max(1e-3 * rtol, 1e-15)
        self.level = np.inf  # of c: the run ends when a neuron reaches it
        self.unit = max(system.loss(state), 1e-300)
        self.step, self.rate = 1e-3, 1.0  # rate: the largest of the linearised field
        self.probe: np.ndarray | None = None
        self.implicit = False
        self.bounded = 0  # steps in a row bounded by stability alone
        self.measured = self.wait = 0
        self.moving = self.state.tree
        system.tidy(self.state)

    def go(
        self,
        keep: Callable[[State], None],
        wanted: Iterable[float] = (),
        show: Callable[[State], None] = lambda state: None,
        halt: Callable[[State], Outcome | None] = lambda state: None,
    ) -> Outcome:
        """Runs to `end` and says why it stopped. `keep` gets the state after every step, `show` the states at the
        `wanted` times (ascending), and `halt` may end the run with an outcome."""
        left = list(wanted)
        while left and left[0] <= self.state.t:
            left.pop(0)
            show(self.state.copy())
        while self.state.t < self.end:
            solver = self._solver()
            moving, start = self.moving, self.state.t
            while True:
                solver.step()
                self.count.steps += 1
                if solver.status == "failed":
                    return Outcome.STALLED
                if not np.all(np.isfinite(solver.y)):
                    return Outcome.NOT_FINITE
                if left and left[0] <= solver.t:
                    dense = solver.dense_output()
                    while left and left[0] <= solver.t:
                        t = left.pop(0)
                        show(State(t, dense(t), _after(moving, t - start)))
                self.state = State(solver.t, solver.y.copy(), _after(moving, solver.t - start))
                renewed = self.system.tidy(self.state)
                keep(self.state)
                said = halt(self.state)
                if said is not None:
                    return said
                if self.state.t >= self.end or self._renew(solver, renewed):
                    break
            self.count.fields += solver.nfev
            if self._arrived():
                return Outcome.REACHED
            if self._leap(keep, left, show):
                return Outcome.STATIONARY
        return Outcome.REACHED

    # ------------------------------------------------------------------------------------------------------------------

    def _solver(self):
        system, start = self.system, self.state.t
        tree = self.state.tree
        # Inside a step differences grow at their present rates, so that only what departs from it is integrated.
        moving = self.moving = tree._replace(growth=system.spread(self.state))
        close = bool(np.any(tree.parent >= 0))

        def rates(t, y):
            y = np.ascontiguousarray(y)
            out = np.empty_like(y)
            now = moving._replace(ell=tree.ell + (t - start) * moving.growth) if close else moving
            field(y, now, system.source, system.m, out)
            return out

        n = system.size
        absolute = np.full(n, max(0.1 * self.rtol / np.sqrt(n), 1e-16))
        absolute[-1] *= self.unit
        room = self.end - self.state.t
        more: dict[str, Any] = dict(rtol=LEAST, atol=absolute)
        if self.implicit:
            if self.count.steps >= self.measured + 8 * MEASURE:
                self._measure(lambda y: rates(start, y))
            return Radau(rates, self.state.t, self.state.y, self.end, first_step=min(self.step, room), **more)
        cap = self._cap(lambda y: rates(start, y))
        step = min(self.step, cap, room)
        return DOP853(rates, self.state.t, self.state.y, self.end, first_step=step, max_step=cap, **more)

    def _cap(self, rates) -> float:
        """The longest explicit step: by stability, and by when a neuron reaches the level at which the run ends."""
        if self.probe is None or self.count.steps >= self.measured + MEASURE:
            self._measure(rates)
        cap = REACH / self.rate
        if np.isfinite(self.level):
            c, dc = (self.system.split(y)[2] for y in (self.state.y, rates(self.state.y)))
            grow = dc > 0.0
            if np.any(grow):
                cap = min(cap, max(float(np.min((self.level - c[grow]) / dc[grow])), 1e-3 / float(np.max(dc[grow]))))
        return cap

    def _measure(self, rates):
        """The largest rate of the linearised field, by the power method, from the last direction found."""
        y = self.state.y
        base = rates(y)
        v = np.cos(np.arange(len(y)) ** 1.5) if self.probe is None else self.probe
        turns = 6 if self.probe is None else 2
        for _ in range(turns):
            v[-1] = 0.0
            size = float(np.linalg.norm(v))
            if not 0.0 < size < np.inf:
                v, size = np.cos(np.arange(len(y)) ** 1.5), float(np.sqrt(len(y)))
            v = (rates(y + 1e-7 / size * v) - base) * 1e7
            v[-1] = 0.0
            self.rate = max(float(np.linalg.norm(v)), 1e-9)
        self.probe, self.measured = v, self.count.steps
        self.count.fields += turns + 1

    def _renew(self, solver, renewed: bool) -> bool:
        """Whether the solver must be set up anew: directions are put back on the sphere now and then, differences to
        unit length after every step; or the other kind of step would be better."""
        self.step = solver.h_abs
        self.wait -= 1
        if self.implicit:
            self.count.implicit += 1
            self.bounded = self.bounded + 1 if solver.step_size < WORTH * REACH / self.rate else 0
            if self.bounded > 6:
                self.implicit, self.bounded, self.probe, self.step = False, -PATIENCE, None, REACH / self.rate
                return True
        else:
            self.bounded = self.bounded + 1 if solver.h_abs > solver.max_step else min(self.bounded, 0)
            if self.bounded > PATIENCE and self.system.size <= IMPLICIT_MOST:
                self.implicit, self.bounded, self.step = True, 0, 3.0 * solver.max_step
                return True
        return renewed or bool(np.any(self.state.tree.parent >= 0)) or self.count.steps % MEASURE == 0

    def _arrived(self) -> bool:
        """Whether a neuron has reached the level at which the run ends."""
        return bool(np.max(self.system.split(self.state.y)[2]) >= self.level - 1e-3)

    def _leap(self, keep, left: list, show) -> bool:
        """A jump where the state is at rest but for logarithms; True where nothing would ever end it."""
        if self.state.t >= self.end or self.wait > 0:
            return False
        found = rest(self.system, self.state, self.passive, self.end, self._apart)
        if found is None:
            return False
        if not np.isfinite(found.until):
            for state in found.states(left):
                show(state)
            return True
        if found.until - self.state.t < WORTH * REACH / self.rate:
            self.wait = MEASURE
            return False
        points = np.linspace(self.state.t, found.until, WAYPOINTS)[1:]
        asked = [t for t in left if t <= found.until]
        times = np.union1d(points, asked).tolist()
        for t, state in zip(times, found.states(times)):
            if t in asked:
                show(state)
            if t in points:
                self.state = state
                keep(state)
        del left[: len(asked)]
        self.count.jumps += 1
        self.implicit, self.bounded, self.step, self.probe = False, 0, 0.1 / self.rate, None
        return False

    def _apart(self, system: System, state: State, end: float, level: float, times: list[float]):
        """(when, states at the times): some small neurons on their own until `end`, or one of them reaches `level`."""
        inner = Driver(system, state, self.rtol, end, Count())
        inner.passive, inner.level, inner.step = self.passive, level, 1.0
        shown: list[State] = []
        outcome = inner.go(lambda state: None, [t for t in times if t > state.t], shown.append)
        self.count.steps += inner.count.steps
        self.count.fields += inner.count.fields
        shown = [state] * (len(times) - len(shown)) + shown
        return end if outcome is Outcome.STATIONARY else inner.state.t, shown
