"""Drivers of networks with several outputs, one for each method, or one sentence where there is none."""

import numpy as np

from reluflow.drive.descent import NEVER
from reluflow.drive.descent_outputs import Machine as DescentDriver
from reluflow.drive.loop import Driver
from reluflow.drive.stepped_outputs import Machine as SteppedDriver
from reluflow.drive.vector import Machine as FlowDriver
from reluflow.engine.pack import Units
from reluflow.methods import Descent, Method, SteppedFlow
from reluflow.problem import Problem


def driver(
    problem: Problem,
    method: Method,
    end: float,
    rest: float | None,
    units: Units | None,
    regime: str | None = None,
) -> Driver:
    """What runs `problem`, which has at least two outputs, by `method`; the arguments are those of `driver_for`."""
    if isinstance(method, Descent):
        return DescentDriver(problem, method, int(end) if np.isfinite(end) else NEVER)
    if isinstance(method, SteppedFlow):
        return SteppedDriver(problem, method.rtol, end)
    if rest is None:
        rest = 1e-14 if np.isfinite(end) else 1e-2 * method.rtol
    return FlowDriver(problem, method.rtol, end, rest=rest, units=units, regime=regime)
