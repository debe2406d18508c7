"""Drivers: they run the engine in bursts, keep what it returns, and take a run up again from any checkpoint."""

import numpy as np

from reluflow.drive import fixed, outputs
from reluflow.drive.descent import NEVER
from reluflow.drive.descent import Machine as DescentDriver
from reluflow.drive.exact import Machine as ExactDriver
from reluflow.drive.loop import Driver
from reluflow.drive.slow import Machine as SlowDriver
from reluflow.drive.slow_tail import TailMachine
from reluflow.drive.stepped import Machine as SteppedDriver
from reluflow.engine.pack import Units
from reluflow.methods import DecayLimit, Descent, Method, SteppedFlow
from reluflow.problem import Problem


def driver_for(
    problem: Problem,
    method: Method,
    end: float,
    rest: float | None = None,
    units: Units | None = None,
    regime: str | None = None,
) -> Driver:
    """What runs `problem` by `method` until the clock reads `end`; `rest` is the share of a residual that counts as
    none, `units` those of a stored flow, `regime` that of an exact flow, "coupled" or "windows" (None: by size)."""
    if problem.outputs > 1:
        return outputs.driver(problem, method, end, rest, units, regime)
    if problem.init.fixed is not None:
        return fixed.driver(problem, method, end if np.isfinite(end) or not isinstance(method, Descent) else NEVER)
    if isinstance(method, Descent):
        return DescentDriver(problem, method, int(end) if np.isfinite(end) else NEVER)
    if isinstance(method, DecayLimit):
        return (TailMachine if problem.tailed else SlowDriver)(problem, method, end, units)
    if isinstance(method, SteppedFlow):
        return SteppedDriver(problem, method.rtol, end)
    if rest is None:
        rest = 1e-14 if np.isfinite(end) else 1e-2 * method.rtol
    return ExactDriver(problem, method.rtol, end, rest=rest, units=units, regime=regime)
