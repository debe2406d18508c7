"""Polar Euler: steps in (unit direction, log norm) with literal masks. Shares nothing with the engine; tends to the
sliding solution.

w_j += h s_j (D_j - <D_j, w_j> w_j), renormalised;   rho_j += h s_j <D_j, w_j>
"""

import numpy as np

from support.hand import NAMES, polar_euler


def outputs(problem, t1: float, steps: int, frames: int = 8) -> np.ndarray:
    """Outputs at `frames` + 1 equally spaced times up to t1 with `steps` (a multiple of `frames`) Euler steps."""
    init = problem.init
    norm = np.linalg.norm(init.w, axis=1)
    rho = init.log_scales[0] + np.log(norm)
    code = NAMES.index(problem.loss)
    return polar_euler(
        np.array(problem.data.x),
        np.array(problem.data.y),
        init.w / norm[:, None],
        rho,
        np.sign(init.a),
        code,
        problem.weight,
        problem.activation.slope,
        t1 / steps,
        steps,
        steps // frames,
    )


def reference(problem, t1: float, steps: int, frames: int = 8) -> tuple[np.ndarray, float]:
    """Outputs with the finest of four steps, and the largest spread over the four as their error (chatter spoils
    extrapolation)."""
    runs = [outputs(problem, t1, steps * k, frames) for k in (1, 2, 3, 4)]
    return runs[-1], float(np.max(np.max(runs, axis=0) - np.min(runs, axis=0)))
