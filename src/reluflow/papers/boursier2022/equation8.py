"""Equation (8) of [BPF22]: least parameter norm and least variation norm are the same problem."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import EPS, Labels, data_hypotheses

needs = "data"


def check(data, grid: int = 1500, seed: int = 0) -> Report:
    r"""Claim: $\min_{L(\theta)=0}\frac12|\theta|^2 = \min_{L(f)=0}\|f\|_{F_1}$, the least mass of a signed measure on
    the sphere that interpolates.

    The right side by linear programming over measures on `grid` directions of the span of the inputs (evenly spaced for
    rank 2, random otherwise, the two minimising ones and each class's faces among neither): always an upper bound, and
    a limit. Rank 2, spacing h: moving mass to the nearest direction costs a relative h^2-ish to h, so the slack is 2 h;
    for higher rank only the inequality is judged. Section 5: it lies below the linear interpolator's, 2|v|.
    """
    from scipy.optimize import linprog

    const = Labels(data)
    half = 0.5 * const.min_norm
    _, values, rows = np.linalg.svd(data.x, full_matrices=False)
    basis = rows[values > values[0] * max(data.x.shape) * EPS]
    if len(basis) == 2:
        angle = (np.arange(grid) + 0.5) * 2 * np.pi / grid
        directions = np.column_stack([np.cos(angle), np.sin(angle)]) @ basis
        slack = 2 * (2 * np.pi / grid) * half
    else:
        rng = np.random.default_rng([seed, 3])
        directions = rng.normal(size=(grid, len(basis))) @ basis
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        slack = 0.0
    features = np.maximum(data.x @ directions.T, 0.0)
    found = linprog(np.ones(2 * grid), A_eq=np.hstack([features, -features]), b_eq=data.y, method="highs")
    mass = float(found.fun) if found.success else np.nan
    v = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    line = 2 * float(np.linalg.norm(v)) if np.allclose(data.x @ v, data.y, atol=1e-10) else np.inf
    near = "=" if len(basis) == 2 else ">="
    return Report(
        name="boursier2022.equation8",
        hypotheses=data_hypotheses(const)[:2],
        claims=[
            Claim(
                "least mass on the grid against half the least |theta|^2",
                mass,
                near,
                half,
                slack=slack or 1e-7 * half,
                kind="limit",
                note=f"{grid} directions",
            ),
            Claim("least variation norm, below the linear interpolator's 2|v|", half, "<", line),
        ],
        constants={"F1": half, "linear": line},
    )
