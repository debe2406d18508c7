"""Why a run stopped, as the sentence a user reads."""

from __future__ import annotations

from enum import Enum
from typing import Any


class Outcome(Enum):
    """How a run ended. The first two are success; an interrupted run is returned as far as it was computed."""

    REACHED = "The run reached its end time."
    STATIONARY = "The run converged: no output changes and no small neuron is growing."
    INTERRUPTED = "The run was interrupted; everything computed up to then is kept."
    STEP_LIMIT = "The run reached its step limit: raise `Limits(steps=...)`, or use a larger `rtol`."
    EVENT_LIMIT = (
        "The run reached its event limit: if neurons switch endlessly on nearly parallel data, merge those rows with "
        "`data.merged(angle=...)`, or raise `Limits(events=...)`."
    )
    STORM = (
        "Neurons switch without end at one instant, where the data are degenerate: merge nearly parallel rows with "
        "`data.merged(angle=...)`, or change the start slightly."
    )
    CANCELLED = (
        "The forces of conflicting labels cancel to rounding, and what is left of them no longer determines the flow; "
        "results up to here are valid."
    )
    INACCURATE = (
        "The loss and the dissipated energy disagree by more than a thousandth: the results are not accurate. Use a "
        "smaller `rtol`, and please report the problem."
    )
    TIME_LIMIT = "The run reached its time limit: raise `Limits(seconds=...)`, or use a smaller `t1`."
    STALLED = "The step size fell below the rounding error of t: use a larger `rtol`, or merge nearly parallel rows."
    NOT_FINITE = "Numbers overflowed: scale down the weights or the data, or use a smaller `step` in descent."

    @property
    def success(self) -> bool:
        return self in (Outcome.REACHED, Outcome.STATIONARY)


class SolveError(RuntimeError):
    """A run that ended before what was asked for; the part computed is in `.solution`."""

    def __init__(self, solution: Any, at: str = ""):
        super().__init__(solution.outcome.value + (f" (stopped at t = {at})" if at else ""))
        self.solution = solution
