"""Why a run stopped, as the sentence a user reads."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """How a run ended. The first two are success; interrupted returns what there is."""

    REACHED = "The run reached its end time."
    STATIONARY = "Nothing moves any more, and no small neuron is growing."
    INTERRUPTED = "The run was interrupted; everything up to then is kept."
    STEP_LIMIT = "The run met its step limit: raise `Limits(steps=...)`, or a larger `rtol` needs fewer steps."
    EVENT_LIMIT = (
        "The run met its event limit: if neurons switch endlessly on nearly parallel data, merge those rows with "
        "`data.merged(angle=...)`, or raise `Limits(events=...)`."
    )
    TIME_LIMIT = "The run met its limit of seconds: raise `Limits(seconds=...)`, or ask for a smaller `t1`."
    STALLED = "The step size fell below the rounding of t: try a larger `rtol`, or merge nearly parallel rows."
    NOT_FINITE = "Numbers overflowed: scale the weights or the data down, or give descent a smaller `step`."

    @property
    def success(self) -> bool:
        return self in (Outcome.REACHED, Outcome.STATIONARY)


class SolveError(RuntimeError):
    """A run that could not do what was asked; what it did is in `.solution`."""

    def __init__(self, solution, at: str = ""):
        super().__init__(solution.outcome.value + (f" (stopped at t = {at})" if at else ""))
        self.solution = solution
