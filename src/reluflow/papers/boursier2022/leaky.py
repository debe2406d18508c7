"""Section 3.2 of [BPF22]: with leaky ReLU the flow need not end at the interpolator of least norm."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.observe._witness import Witness
from reluflow.outcome import Outcome
from reluflow.papers.boursier2022._constants import EPS, Constants, data_hypotheses

needs = "flow"


def check(sol, grid: int = 2000, seed: int = 0) -> Report:
    r"""Claim: the run ends at zero loss with $|\theta|^2$ above that of another interpolator of the same width: "the
    training trajectory might not be biased towards minimal norm for leaky ReLU".

    The other interpolator is found by linear programming over measures on `grid` directions of the span (and the run's
    own): any interpolating measure with n atoms is a network with $|\theta|^2$ twice its mass. So the gap is certain,
    the least norm itself only bounded. Slack: none. Rejected for ReLU, where the run attains the least norm.
    """
    from scipy.optimize import linprog

    problem, final = sol.problem, sol.final
    const = Constants(problem)
    data, slope = problem.data, problem.activation.slope
    size = np.linalg.norm(final.w, axis=1)
    total = float(np.sum(np.exp(2 * final.log_scale) * (final.a**2 + size**2)))
    _, values, rows = np.linalg.svd(data.x, full_matrices=False)
    basis = rows[values > values[0] * max(data.x.shape) * EPS]
    rng = np.random.default_rng([seed, 3])
    directions = rng.normal(size=(grid, len(basis))) @ basis
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    directions = np.vstack(
        [directions, final.w / np.where(size > 0, size, 1.0)[:, None], const.plus.goal, const.minus.goal]
    )
    z = data.x @ directions.T
    features = np.where(z > 0, z, slope * z)
    found = linprog(np.ones(2 * features.shape[1]), A_eq=np.hstack([features, -features]), b_eq=data.y, method="highs")
    other = 2 * float(found.fun) if found.success else np.nan
    logs = Witness(sol).log_loss
    loss = float(np.exp(logs[-1] - logs[0]))
    fitted = loss < 1e-3 or sol.outcome is Outcome.STATIONARY
    floor = (100 * sol.stats.rtol) ** 2
    missing = "" if fitted else f"the run ends at t = {sol.t[-1]:.6g} with {loss:.2g} of the first loss"
    return Report(
        name="boursier2022.leaky",
        hypotheses=[*data_hypotheses(const), Claim("leaky, slope", slope, ">", 0.0)],
        claims=[
            Claim("loss at the end over the first", loss, "<=", floor, kind="limit", missing=missing),
            Claim(
                "|theta|^2 at the end, above that of another interpolator",
                total,
                ">",
                other * (1 + 1e-6),
                kind="limit",
                missing=missing,
            ),
        ],
        constants={"slope": slope, "|theta|^2": total, "another interpolator": other},
    )
