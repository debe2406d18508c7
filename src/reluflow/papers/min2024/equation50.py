"""Equation (50) of [MMV24]: the gradient grows at most linearly with the weights."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.observe import log_gradient
from reluflow.papers.min2024._run import as_run, log_abs, worst

needs = "flow"


def check(sol) -> Report:
    r"""Claims at every moment: $|\nabla L|_F \le X_{max} L(\theta)|\theta|_F$ pointwise, hence $\le X_{max}
    L(\theta(0)) |\theta|_F$ along the flow.

    In logarithms, no slack; exponential and logistic losses (there $|\ell'| \le \ell$), sum or mean alike.
    """
    run = as_run(sol)
    seen = run.seen
    log_grad = 0.5 * log_gradient(sol, log_t=seen.log_t).values
    logs = 2 * seen.log_scale + log_abs(seen.norm**2 + seen.a**2)
    log_theta = 0.5 * np.logaddexp.reduce(logs, axis=1)
    claims = []
    for text, loss in (("L(t)", seen.log_loss), ("L(0)", np.full(len(seen), seen.log_loss[0]))):
        ratio, where = worst(log_grad - log_theta - np.log(run.geo.x_max) - loss)
        claims.append(
            Claim(
                f"|grad L| over Xmax {text} |theta|, largest",
                np.exp(ratio),
                "<=",
                1.0,
                at=run.where(*where) if where else None,
            )
        )
    return Report("min2024.equation50", claims, run.hypotheses("tail"), run.c.shown())
