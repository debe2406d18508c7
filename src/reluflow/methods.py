"""How a problem is solved: gradient flow or gradient descent, as small immutable values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow._checks import by_name, number, one_of, whole


@by_name
@dataclass(frozen=True)
class Flow:
    """Gradient flow to relative tolerance `rtol`; outputs and event times are right to 100 rtol away from
    bifurcations.

    `events` is "exact", every crossing located, or "stepped" for thousands of data: bits are read off signs, the
    error of crossings is estimated and kept below `rtol` (1e-4 or so), and no events are listed (`drive.stepped`).
    """

    rtol: float = 1e-8
    events: str = "exact"

    def __post_init__(self):
        inside = dict(rule="in [1e-13, 1e-2]", ok=lambda v: 1e-13 <= v <= 1e-2, hint="1e-8 suits most uses")
        object.__setattr__(self, "rtol", number("rtol", self.rtol, **inside))
        one_of("events", self.events, ("exact", "stepped"))


@by_name
@dataclass(frozen=True)
class Descent:
    """Plain gradient descent with a fixed `step`; iteration k is at t = k step.

    A run ends with the last iteration that is not after its t1. `batch` rows at a time make it stochastic (`seed` fixes
    the order); None is all of them. `dtype="float32"` halves the work of large problems; output weights, outputs and
    scales stay float64.

    `fast_forward` (on unless False) makes many iterations at once where that gives the same iterates, in float64 and
    full batches only: closed forms while the drive rests (small neurons before a saddle is left), and leaps with an
    error estimate below 1e-13 of every neuron while no bit changes (`engine.adams`; in late phases their length grows
    like t). Events keep their iterations, and weights agree with stepping to 1e-10 of each neuron wherever training
    itself does not magnify errors more than a thousandfold. False takes every iteration.
    """

    step: float
    batch: int | None = None
    seed: int = 0
    dtype: str = "float64"
    fast_forward: bool | None = None  # None is True, and leaves the keys of experiments as they were without it

    def __post_init__(self):
        positive = dict(rule="positive and finite", ok=lambda v: 0.0 < v < np.inf, hint="the papers use about 1e-3")
        object.__setattr__(self, "step", number("step", self.step, **positive))
        if self.batch is not None:
            object.__setattr__(self, "batch", whole("batch", self.batch, least=1, hint="leave it out for full batches"))
        object.__setattr__(self, "seed", whole("seed", self.seed, least=0, hint="any non-negative seed"))
        one_of("dtype", self.dtype, ("float64", "float32"))
        if not isinstance(self.fast_forward, bool | np.bool_ | None):
            raise ValueError(f"`fast_forward` must be True or False, got {self.fast_forward!r}: False steps.")
        object.__setattr__(self, "fast_forward", self.fast_forward is None or bool(self.fast_forward))

    def iteration(self, t):
        """The last iteration at or before time t, rounding of t / step forgiven."""
        ratio = np.asarray(t, float) / self.step
        near = np.rint(ratio)
        return np.where(np.abs(ratio - near) <= 1e-12 * np.maximum(1.0, near), near, np.floor(ratio))
