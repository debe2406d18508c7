"""Drivers of networks with several outputs, one for each method, or one sentence where there is none."""

from __future__ import annotations

import numpy as np

from reluflow.drive.loop import Driver
from reluflow.engine.pack import Units
from reluflow.methods import DecayLimit, Descent, Method, SteppedFlow
from reluflow.problem import Problem


def driver(problem: Problem, method: Method, end: float, rest: float | None, units: Units | None) -> Driver:
    """What runs `problem`, which has at least two outputs, by `method`; the arguments are those of `driver_for`."""
    k = problem.outputs
    if isinstance(method, DecayLimit):
        raise ValueError(f"`rf.DecayLimit` is for networks with one output, got {k}: solve with a small `decay`.")
    if isinstance(method, Descent | SteppedFlow):
        raise ValueError(f"`{type(method).__name__}` is for networks with one output, got {k}: use `rf.Flow`.")
    from reluflow.drive.vector import Machine  # type: ignore[import-not-found]

    if rest is None:
        rest = 1e-14 if np.isfinite(end) else 1e-2 * method.rtol
    return Machine(problem, method.rtol, end, rest=rest, units=units)
