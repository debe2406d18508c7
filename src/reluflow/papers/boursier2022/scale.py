"""Section 3.2 of [BPF22]: how small lambda* is, by the conditions of the printed proof."""

from __future__ import annotations

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.init import balanced
from reluflow.papers.boursier2022._constants import Constants, hypotheses
from reluflow.papers.boursier2022._scale import LN10, thresholds
from reluflow.problem import Problem

needs = "problem"
forms = ("corrected", "printed")


def check(problem, form="corrected", draws: int = 8, seed: int = 0, epsilon=None) -> Report:
    r"""Claims: $\log_{10}\lambda$ against each of the conditions C1-C15 that the proof uses, solved for lambda.

    Most are violated at any scale a computer can write without logarithms, and are sufficient only: the true dynamics
    ask for $\lambda^{1-\rho_{max}} \ll 1$ (boursier2022.theorem1). Printed: "$\lambda^*$ depends only on the data and
    the width" (E2); then the strictest condition of the alignment phase must not vary over `draws` of the weights. It
    does, through the initial directions. No slack.
    """
    const = Constants(problem, epsilon=epsilon)
    found = thresholds(const)
    if form == "printed":
        spread = []
        for k in range(draws):
            init = balanced(const.m, const.data.d, log_scale=-const.ell, seed=seed + k)
            other = Constants(Problem(problem.data, init, reduction=problem.reduction), epsilon=epsilon)
            if len(other.S_plus) and len(other.S_minus):
                spread.append(thresholds(other)["C5"])
        text = f"spread of log10 lambda* for the alignment phase (C5) over {len(spread)} draws"
        claims = [Claim(text, np.ptp(spread) if len(spread) > 1 else np.nan, "=", 0.0)]
    else:
        claims = [Claim(f"{name}: log10 lambda", -const.ell / LN10, "<=", value) for name, value in found.items()]
    strictest = min(found, key=lambda k: found[k])
    return Report(
        name="boursier2022.scale",
        hypotheses=hypotheses(const),
        claims=claims,
        constants={**const.numbers(), f"log10 lambda* (upper bound, {strictest})": found[strictest]},
        form=form,
        notes=["C16 and some steps of Lemma 11 leave constants open: no certified lambda* can be read off the proof."],
    )
