"""Plain descent on (w, a) with literal masks, and its extrapolation to step 0. Shares nothing with the engine."""

import numpy as np

from support.hand import NAMES, plain_descent


def outputs(problem, t1: float, steps: int, frames: int = 8) -> np.ndarray:
    w, a = problem.init.arrays()
    code = NAMES.index(problem.loss)
    return plain_descent(
        np.array(problem.data.x),
        np.array(problem.data.y),
        w.copy(),
        a.copy(),
        code,
        problem.weight,
        problem.activation.slope,
        problem.train == "both",
        t1 / steps,
        steps,
        steps // frames,
    )


def reference(problem, t1: float, steps: int, frames: int = 8) -> tuple[np.ndarray, float]:
    """Outputs extrapolated to step 0 from the finest of four runs, and the largest spread over the four as their error.

    Along slides the error of descent is of the order of the step with a phase of its own, which extrapolation does
    not remove.
    """
    # Steps without a common measure, so that the phases differ too.
    runs = [outputs(problem, t1, frames * round(steps * k / frames), frames) for k in (1, 1.37, 2, 2.11, 3.3, 4)]
    return 2 * runs[5] - runs[2], float(np.max(np.max(runs, axis=0) - np.min(runs, axis=0)))
