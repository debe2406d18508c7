"""Lemma 15 of [MMV24]: a linear net that classifies correctly loses at least |v|^2 gamma^2 L^2 / 4 per unit of time."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._late import NAME, log_decay, log_group_square
from reluflow.papers.min2024._run import as_run, worst

needs = "flow"

# The largest constants for which the proof works; (1/(2 log 2))^2 for the logistic losses, where z = 0 is worst.
BEST = {"exponential": 1.0, "logistic": (0.5 / np.log(2.0)) ** 2, "logistic2": (0.5 / np.log(2.0)) ** 2}


def check(sol, gamma: float | None = None) -> Report:
    r"""Claim: $\dot L \le -\frac14 |v|^2 \gamma^2 L^2$ for each of the two linear subnets after alignment, whenever all
    its data are classified correctly; $\gamma = \mu X_{min}$ as in the proof of Theorem 1. The 1/4 may be 1 for the
    exponential and .52 for the logistic losses.

    Both sides come from the field, in logarithms; judged is the least of $-\dot L/(|v|^2\gamma^2 L^2)$. One datum in a
    class along the group's direction makes it an equality. Slack: roundings of the logarithms added. `gamma` claims
    another margin.
    """
    run = as_run(sol)
    claims = []
    margin = (run.geo.mu * run.geo.x_min if run.geo.separable else np.nan) if gamma is None else gamma
    best = BEST.get(run.problem.loss, np.nan)
    for sign in run.sides:
        if not np.any(run.group(sign)) or not run.problem.tailed:
            continue
        of = run.of_class(sign)
        right = np.all((run.data.y * run.seen.mantissa)[:, of] > 0, axis=1) & (run.tau >= run.aligned)
        added = [log_decay(run, sign), -log_group_square(run, sign), -2 * run.log_class_loss(sign)]
        logs = sum(added) - 2 * np.log(margin)
        rounding = 8 * np.finfo(float).eps * (1 + sum(np.abs(part) for part in added))
        least, where = worst(np.where(right, logs, np.nan), low=True)
        at = run.where(*where) if where else None
        slack = np.exp(least) * float(rounding[where[0]]) if where else 0.0
        text = f"-L'/(|v|^2 gamma^2 L^2) of the subnet Vt{NAME[sign]}, least"
        missing = "" if where else run.ends_before(run.c.t1, "t1")
        claims.append(Claim(text, np.exp(least), ">=", 0.25, slack=slack, at=at, missing=missing))
        claims.append(
            Claim(f"{text}, sharper constant", np.exp(least), ">=", best, slack=slack, at=at, missing=missing)
        )
    hypotheses = run.hypotheses("separable", "balanced", "relu", "both layers", "tail", "both groups")
    return Report("min2024.lemma15", claims, hypotheses, run.c.shown() | {"gamma": margin})
