"""Appendix F of [MMV24]: the same theorem for Filippov solutions, where relu'(0) may be anything in [0, 1]."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._run import as_run, worst
from reluflow.papers.min2024.equation7 import crossings, inward
from reluflow.papers.min2024.theorem1 import alignment_claims

needs = "flow"


def check(sol) -> Report:
    r"""Claims: at every crossing the neuron leaves the hyperplane at positive speed whatever value in [0, 1] the bit of
    the crossed datum takes (its own term $r_i|x_i|^2$ only helps, so the least speed is at bit 0); hence Filippov
    solutions neither slide nor branch outside $S_{dead}$ and are the Caratheodory ones; every decision on a surface was
    unique; alignment as in Theorem 1.

    The paper states this extension without proof. No slack.
    """
    run = as_run(sol)
    found = crossings(run)
    speed = inward(run, found)
    moving = np.where(speed == 0.0, np.nan, speed)  # dead on arrival: nothing else is active
    least, where = worst(moving, low=True)
    at = None if not where else f"t = {found[where[0]][0]:.4g}, neuron {found[where[0]][1]}, datum {found[where[0]][2]}"
    claims = [
        Claim(
            f"speed off the hyperplane at {len(found)} crossings, least over all choices of the bit",
            least,
            ">",
            0.0,
            at=at,
        ),
        Claim("surfaces slid on", run.sol.stats.slides, "=", 0),
        Claim("decisions on a surface that were not unique", run.sol.stats.non_unique, "=", 0),
        *alignment_claims(run),
    ]
    hypotheses = run.hypotheses(
        "separable", "two data", "assumption 2", "balanced", "relu", "both layers", "eps_A", "eps_B"
    )
    return Report("min2024.appendix_f", claims, hypotheses, run.c.shown(), until=run.own_time(run.c.t1))
