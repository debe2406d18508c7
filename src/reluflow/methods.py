"""How a problem is solved, what is kept of it and when to give up, as small immutable values."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reluflow._checks import as_finite, by_name, number, one_of, whole

_UNITS = {"": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9}


def _rtol(value: float, hint: str) -> float:
    return number("rtol", value, rule="in [1e-13, 1e-2]", ok=lambda v: 1e-13 <= v <= 1e-2, hint=hint)


@by_name
@dataclass(frozen=True)
class Flow:
    """Gradient flow to relative tolerance `rtol`, every crossing of an activation boundary located.

    Outputs and event times are right to 100 rtol away from bifurcations. For thousands of data see `rf.SteppedFlow`,
    which `events="stepped"` selected in version 0.1.
    """

    rtol: float = 1e-8
    events: str = "exact"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rtol", _rtol(self.rtol, "1e-8 suits most uses"))
        if one_of("events", self.events, ("exact", "stepped")) == "stepped":
            warnings.warn(
                f'`rf.Flow(events="stepped")` is deprecated: write `rf.SteppedFlow(rtol={self.rtol:g})`.',
                DeprecationWarning,
                stacklevel=4,
            )


@by_name
@dataclass(frozen=True)
class SteppedFlow:
    """Gradient flow on thousands of data: no crossing is located and no event listed.

    Activation patterns are read off signs; the error that crossings make is estimated and kept below `rtol`
    (`drive.stepped`).
    """

    rtol: float = 1e-4

    def __post_init__(self) -> None:
        object.__setattr__(self, "rtol", _rtol(self.rtol, "1e-4 suits most uses"))


@by_name
@dataclass(frozen=True)
class DecayLimit:
    """What weight decay does to a fitted network in the limit decay -> 0; time is tau = decay t.

    The problem, given without decay, is fitted by the flow first: that network is the start, tau = 0. From there on the
    weights move along the networks with the same outputs towards smaller norm (`drive.slow`).

    With the logistic or the exponential loss margins grow for ever. There the run is that of theta / sqrt(M), the
    network of smallest margin 1, in the time sigma = decay t + log(M) / 2, counted from its start: late training
    without decay and the slow motion with it are this one motion (`drive.slow_tail`). The start is the problem's own if
    it classifies the data, otherwise the flow at log t = 100.
    """

    rtol: float = 1e-8

    def __post_init__(self) -> None:
        object.__setattr__(self, "rtol", _rtol(self.rtol, "1e-8 suits most uses"))


@by_name
@dataclass(frozen=True)
class Descent:
    """Plain gradient descent with a fixed `step`; iteration k is at t = k step.

    A run ends with the last iteration that is not after its t1. `batch` rows at a time make it stochastic (`seed` fixes
    the order); None is all of them. `dtype="float32"` halves the work of large problems; output weights, outputs and
    scales stay float64.

    `fast_forward` (on unless False) makes many iterations at once where that gives the same iterates, with one output,
    in float64 and full batches only: closed forms while the drive rests (small neurons before a saddle is left), and
    leaps with an error estimate below 1e-13 of every neuron while no bit changes (`engine.adams`; in late phases their
    length grows like t). Events keep their iterations, and weights agree with stepping to 1e-10 of each neuron wherever
    training itself does not magnify errors more than a thousandfold. False takes every iteration.
    """

    step: float
    batch: int | None = None
    seed: int = 0
    dtype: str = "float64"
    fast_forward: bool | None = None  # None: where it applies

    def __post_init__(self) -> None:
        step = number(
            "step",
            self.step,
            rule="positive and finite",
            ok=lambda v: 0.0 < v < np.inf,
            hint="the papers use about 1e-3",
        )
        object.__setattr__(self, "step", step)
        if self.batch is not None:
            object.__setattr__(self, "batch", whole("batch", self.batch, least=1, hint="leave it out for full batches"))
        object.__setattr__(self, "seed", whole("seed", self.seed, least=0, hint="any non-negative seed"))
        one_of("dtype", self.dtype, ("float64", "float32"))
        if not isinstance(self.fast_forward, bool | np.bool_ | None):
            raise ValueError(
                f"`fast_forward` must be True or False, got {self.fast_forward!r}: False computes every iteration."
            )
        if self.fast_forward is not None:
            object.__setattr__(self, "fast_forward", bool(self.fast_forward))

    def iteration(self, t: float | np.ndarray) -> np.ndarray:
        """The last iteration at or before time t, up to rounding of t / step."""
        ratio = np.asarray(t, float) / self.step
        near = np.rint(ratio)
        return np.where(np.abs(ratio - near) <= 1e-12 * np.maximum(1.0, near), near, np.floor(ratio))


Method = Flow | SteppedFlow | DecayLimit | Descent


def as_bytes(memory: str) -> int:
    """ "64 MiB" as a number of bytes."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", str(memory))
    if not found or found[2].lower() not in _UNITS:
        raise ValueError(f'`memory` must be a size, got {memory!r}: write it like "64 MiB".')
    return int(float(found[1]) * _UNITS[found[2].lower()])


@by_name
@dataclass(frozen=True)
class Save:
    """What a Solution keeps: frames at `times`, or at most `frames` of the run's own steps, within `memory`.

    `to` is a folder that the run is written to every ten minutes while it is computed, and at its end; `rf.resume` goes
    on from there after a crash. A run that is there already is replaced.
    """

    times: tuple | None = None
    frames: int = 1000
    memory: str = "64 MiB"
    to: str | Path | None = None

    def __post_init__(self) -> None:
        whole("frames", self.frames, least=2, hint="the first and the last frame are always kept")
        if self.times is not None:
            times = np.atleast_1d(as_finite("times", self.times, hint="give times in increasing order"))
            if times.ndim != 1 or np.any(np.diff(times) <= 0) or np.any(times < 0):
                raise ValueError("`times` must be increasing and >= 0, got others: sort them and drop repeats.")
            object.__setattr__(self, "times", tuple(times.tolist()))
        as_bytes(self.memory)

    def __getattr__(self, name: str) -> int:
        if name == "bytes":
            warnings.warn("`Save.bytes` is deprecated: read `Save.memory`.", DeprecationWarning, stacklevel=2)
            return as_bytes(self.memory)
        raise AttributeError(f"`Save` has no attribute `{name}`.")


@by_name
@dataclass(frozen=True)
class Limits:
    """When to give up: steps (tried ones), events, seconds of wall time, without those in which
    kernels are compiled (None: no limit).

    `threads` is how many a large flow may use (None: RELUFLOW_THREADS of the environment, or 1); results do not depend
    on it.
    """

    steps: int = 5_000_000
    events: int = 1_000_000
    seconds: float | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        whole("steps", self.steps, least=1, hint="leave it out for the default")
        whole("events", self.events, least=1, hint="leave it out for the default")
        if self.seconds is not None:
            number("seconds", self.seconds, rule="positive", ok=lambda v: v > 0, hint="leave it out for no limit")
        if self.threads is not None:
            whole("threads", self.threads, least=1, hint="leave it out for one thread")
