"""Results of the reference solver: numbers of any precision, and their decimal strings."""

from dataclasses import dataclass

import numpy as np

from reluflow.reference.arith import arb, ctx, norm


def text(value: arb, digits: int) -> str:
    """A decimal string with so many digits."""
    return value.mid().str(digits, radius=False)


@dataclass(frozen=True)
class Event:
    """A change of one bit (`datum` >= 0) or of a neuron (`datum` = -1) at time `t`.

    `margin` is the normalised distance from a different outcome: of the rate across the surface from 0 at a crossing,
    of the slid bit from its bounds at a slide; nan if there was no decision.
    """

    t: arb
    neuron: int
    datum: int
    kind: str
    unique: bool = True
    margin: float = float("nan")


@dataclass(frozen=True)
class Reference:
    """Outputs f[k][i], loss[k], weights w[k][j], a[k][j] at times[k]; events; initial bits."""

    digits: int
    times: list
    f: list
    loss: list
    w: list
    a: list
    events: list
    initial_bits: list
    steps: int

    def outputs(self) -> np.ndarray:
        return np.array([[[float(c) for c in v] if isinstance(v, list) else float(v) for v in row] for row in self.f])

    def losses(self) -> np.ndarray:
        return np.array([float(v) for v in self.loss])

    def log_norms(self) -> list:
        """log |w_j| at each time."""
        with ctx.workdps(self.digits + 15):
            return [[norm(w).log().mid() if norm(w) != 0 else arb("-inf") for w in row] for row in self.w]

    def directions(self) -> np.ndarray:
        """w_j / |w_j| as floats; 0 for a neuron that is 0."""
        unit = [[[float(c / norm(w)) if norm(w) != 0 else 0.0 for c in w] for w in row] for row in self.w]
        return np.array(unit)

    @property
    def unique(self) -> bool:
        return all(event.unique for event in self.events)

    @property
    def margin(self) -> float:
        """The distance to the nearest bifurcation met: the smallest margin of all events, 0 if one was not unique."""
        if not self.unique:
            return 0.0
        return min([e.margin for e in self.events if e.margin == e.margin], default=1.0)

    def record(self, digits: int | None = None) -> dict:
        """Everything except the weights as decimal strings, for a JSON file."""
        n = digits or self.digits
        return {
            "times": [text(t, n) for t in self.times],
            "f": [[[text(c, n) for c in v] if isinstance(v, list) else text(v, n) for v in row] for row in self.f],
            "losses": [text(v, n) for v in self.loss],
            "initial_bits": self.initial_bits,
            "events": [
                [text(e.t, n), e.neuron, e.datum, e.kind, e.unique, e.margin if e.margin == e.margin else None]
                for e in self.events
            ],
            "margin": self.margin,
            "unique": self.unique,
        }
