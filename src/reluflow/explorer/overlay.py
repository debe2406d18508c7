"""Descent beside the flow: where each is at the same times, and when their outputs part."""

import numpy as np

from reluflow.explorer import request
from reluflow.explorer.frames import picture
from reluflow.explorer.request import Refused

APART = 1e-2  # of max(1, max |y|): what counts as parting, as in `rf.compare`
POINTS = 240


def beside(flow, tables: dict, step, ticket, moments) -> tuple[dict, dict[str, np.ndarray]]:
    """Picture of the descent with `step` on the flow's problem, and `parted`, the first time seen apart (or None).

    Its frames include the iterations nearest to `moments`, logarithms of the times of the flow's own frames: what is
    drawn side by side was computed for the same time, not interpolated.
    """
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < 1e6:
        raise Refused("`step` must be a positive number.")
    end = float(min(flow.t[-1], request.ITERATIONS * step))
    if end < step:
        raise Refused(f"`step` must be below the run's end, got {step:g}: try a smaller one.")
    method = {"kind": "descent", "step": float(step)}
    experiment = request.experiment({**tables, "method": method, "solve": {"t1": end}})
    descent = ticket.scheduler.solved(experiment, ticket)
    ticket.check()
    header, arrays = picture(descent, also=moments)
    parted, gap = parting(flow, descent, float(step))
    header |= {"parted": parted, "gap": gap, "step": float(step), "end": end, "flips": flips(descent)}
    return header, arrays


def parting(flow, descent, step: float) -> tuple[float | None, float]:
    """(first time at which outputs differ by more than APART, largest difference) on a common grid of iterations."""
    last = int(np.floor(min(flow.t[-1], descent.t[-1]) / step * (1 + 1e-12)))
    half = POINTS // 2
    counts = np.unique(np.rint(np.r_[np.linspace(0, last, half), np.geomspace(1, max(last, 2), half)]).astype(int))
    t = counts[counts <= last] * step
    gap = np.max(np.abs(flow.outputs_at(t) - descent.outputs_at(t)).reshape(len(t), -1), axis=1)
    gap = np.where(np.isfinite(gap), gap, np.inf)
    beyond = np.flatnonzero(gap > APART * max(1.0, float(np.max(np.abs(flow.problem.data.y)))))
    worst = float(np.max(gap))
    return (float(t[beyond[0]]) if len(beyond) else None), (worst if np.isfinite(worst) else 1.7e308)


def flips(descent) -> int:
    """Output weights that changed sign, which the flow of balanced neurons never does; vectors have none."""
    if descent.problem.outputs > 1:
        return 0
    return int(np.sum(descent.sign[0] * descent.sign[-1] < 0))
