r"""The slow motion of a network that classifies its data, for losses with an exponential tail.

Such a loss is never fitted: margins grow like log t, and with decay stop near log(1/decay). Both are one motion at two
speeds. With M the smallest margin, phi = theta / sqrt(M) obeys in sigma = decay t + log(M) / 2, up to errors like 1/M,

    phi' = J_A' nu - phi,   K_AA nu = 2 y_A,   A = {i: y_i f_i(phi) = 1},

the slow motion of `slow` for the data of margin 1 alone. A datum enters A when its margin comes down to 1, and leaves
when y_i nu_i would turn negative. Which data of margin 1 belong to A is decided by non-negative least squares,
|phi - J' nu|^2 -> min over y nu >= 0, whose residual is -phi' and always unique. The motion ends at a stationary point
of |theta|^2 among the networks of margin 1: a large-margin network.
"""

import numpy as np

from reluflow.drive.recorder import Costs
from reluflow.drive.slow import SINGULAR, Event, Machine
from reluflow.engine.layout import parts
from reluflow.outcome import Outcome
from reluflow.problem import Problem

LATE = 100.0  # log t to which a network that does not classify its data yet is trained: margins of about that size
NONE = 1e-9  # of the largest multiplier: a datum with less does not push


class TailMachine(Machine):
    """`Machine` for losses with an exponential tail; its time is sigma."""

    def __init__(self, *made_of):
        super().__init__(*made_of)
        self.active = np.zeros(self.n, bool)  # the data of A
        self.entered = self.left = 0
        self.close = 100.0 * self.method.rtol  # a margin this near to 1 is 1

    def _multipliers(self, J: np.ndarray, theta: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, int]:
        on = self.active
        nu, every = np.zeros(self.n), self.target
        self.target = every[on]
        nu[on], rank = super()._multipliers(J[on], theta, f[on])
        self.target = every
        return nu, rank + int(np.sum(~on))

    def margins_of(self, y: np.ndarray) -> np.ndarray:
        """y_i f_i of all data."""
        return self.packed.y * self.outputs(y)

    # The data of margin 1 ---------------------------------------------------------------------------------------------

    def choose(self) -> bool:
        """Decides which data of margin 1 belong to A; whether that has changed."""
        from scipy.optimize import nnls

        near = np.flatnonzero(self.margins_of(self.y) <= 1.0 + self.close)
        here = self.linear(self.y)
        back = np.linalg.lstsq(here.J[near], 2.0 * (self.packed.y - here.f)[near], rcond=SINGULAR)[0]
        share, _ = nnls((here.J[near] * self.packed.y[near, None]).T, here.theta + back)
        before, self.active = self.active, np.zeros(self.n, bool)
        self.active[near[share > NONE * np.max(share, initial=0.0)]] = True
        self.entered += int(np.sum(self.active & ~before))
        self.left += int(np.sum(before & ~self.active))
        return bool(np.any(before != self.active))

    def _others(self, inside, before: float, t: float) -> list[Event]:
        """The first datum in (before, t] whose margin comes down to 1, or whose nu changes sign."""
        from scipy.optimize import brentq

        # One that is at 1 and not in A goes up; what it falls by is error.
        level = np.minimum(1.0, self.margins_of(self.y) - self.close)

        def lowest(s: float) -> float:
            y = np.array(inside(s))
            waiting = np.where(self.active, np.inf, self.margins_of(y) - level)
            pushed = np.where(self.active, self.packed.y * self.motion(y).nu, np.inf)
            return float(min(np.min(waiting), np.min(pushed)))

        if lowest(t) >= 0.0:
            return []
        at = float(brentq(lowest, before, t, xtol=1e-13)) if lowest(before) > 0.0 else before
        return [Event(at, -1, -1, False)]

    def _happen(self, event: Event) -> Outcome | None:
        outcome = super()._happen(event) if event.neuron >= 0 else None
        # nu jumps at every event: data may have to leave, and boundaries to let go.
        for _ in range(self.n):
            if outcome is not None or not self.choose():
                break
            outcome = self.release()
        return outcome

    def _clear(self) -> None:
        super()._clear()
        self.choose()

    # The start --------------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> Outcome | None:
        """The start itself if it classifies the data, or else the flow until it is late; scaled to margin 1."""
        outcome = self._follow(problem, 0.0)
        if outcome is None and np.min(self.margins_of(self.y)) <= 0.0:
            outcome = self._follow(problem, LATE)
        if outcome is not None:
            return outcome
        least = float(np.min(self.margins_of(self.y))) + 0.0  # -0 is 0
        if least <= 0.0:
            raise ValueError(
                f"`rf.DecayLimit` needs a network that comes to classify its data, got a smallest margin of "
                f"{least:.3g} at log t = {LATE:g}: use more neurons, or solve with a small `decay`."
            )
        _, _, c, _ = parts(self.y, self.m)
        c -= 0.5 * np.log(least)
        return self._set_out()

    def _aim(self) -> None:
        self.target, self.force = self.packed.y, np.zeros(self.n)
        self.choose()

    def costs(self) -> Costs:
        found = super().costs()
        return found._replace(regimes=found.regimes | {"data_entered": self.entered, "data_left": self.left})
