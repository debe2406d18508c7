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
    r"""Claim: by the conditions of the proof $\lambda^*$ falls like $m^{-120/\epsilon}$ with the width (C13), and
    varies with the draw.

    Hypotheses: $\log_{10}\lambda$ against each of the conditions C1-C15, solved for lambda; most fail at any scale a
    computer can write without logarithms, and are sufficient only: the true dynamics ask for $\lambda^{1-\rho_{max}}
    \ll 1$ (boursier2022.theorem1). Printed: "$\lambda^*$ scales as $m^{-1/2}e^{-\Theta(n)}$" and "depends only on the
    data and the width" (E2); then the condition of the alignment phase, C5, must not vary over `draws` of the weights.
    It does, through the initial directions. Slack of the exponent: 0.1%, the terms of C13 that do not have the width,
    at the widths m and 16 m.
    """
    const = Constants(problem, epsilon=epsilon)
    found = thresholds(const)
    wide = Constants(problem, epsilon=epsilon)
    wide.m = 16 * const.m
    fall = (thresholds(wide)["C13"] - found["C13"]) * LN10 / np.log(16.0)
    spread = []
    for k in range(draws):
        init = balanced(const.m, const.data.d, log_scale=-const.ell, seed=seed + k)
        other = Constants(Problem(problem.data, init, reduction=problem.reduction), epsilon=epsilon)
        if len(other.S_plus) and len(other.S_minus):
            spread.append(thresholds(other)["C5"])
    varies = float(np.ptp(spread)) if len(spread) > 1 else np.nan
    text = f"spread of log10 lambda* for the alignment phase (C5) over {len(spread)} draws"
    expected = -0.5 if form == "printed" else -120.0 / const.epsilon
    claims = [
        Claim("exponent of m in lambda* (C13)", fall, "=", expected, slack=1e-3 * abs(expected)),
        Claim(text, varies, *(("=", 0.0) if form == "printed" else (">", 0.0))),
    ]
    conditions = [Claim(f"{name}: log10 lambda", -const.ell / LN10, "<=", value) for name, value in found.items()]
    strictest = min(found, key=lambda k: found[k])
    return Report(
        name="boursier2022.scale",
        hypotheses=[*hypotheses(const), *conditions],
        claims=claims,
        constants={**const.numbers(), f"log10 lambda* (upper bound, {strictest})": found[strictest]},
        form=form,
        notes=["C16 and some steps of Lemma 11 leave constants open: no certified lambda* can be read off the proof."],
    )
