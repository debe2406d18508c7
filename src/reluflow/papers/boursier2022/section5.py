"""Section 5 of [BPF22]: on two points the final function has zero loss, two kinks, and less norm than the line."""

from __future__ import annotations

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import data_hypotheses
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol) -> Report:
    r"""Claim: one input and a bias column, one datum a class, orthogonal: the function learnt has two kinks, the
    cluster on $D_+$ kinks at the negative datum and that on $-D_-$ at the positive one, its loss is 0, its variation
    norm $\frac12|\theta|^2$ is below the linear interpolator's 2|v|.

    Limits in time and lambda. Neurons below 1e-6 of the largest do not count as kinks. Slack of a position: 100 rtol
    and the angle lambda/|w_j| that a neuron keeps (4.1), over the slope.
    """
    from reluflow.observe.kinks import merged

    if sol.problem.data.d != 2:
        raise ValueError(f"Section 5 needs one input and a bias column (d = 2), got d = {sol.problem.data.d}.")
    track = run_of(sol)
    const, data = track.const, sol.problem.data
    state = track.at(track.end)
    total = float(np.sum(np.exp(2 * state.rho[0])) + np.sum(np.exp(2 * state.log_a[0])))
    angle = 1e-3
    groups = merged(sol, angle=angle, share=1e-6)
    line = 2 * float(np.linalg.norm(np.linalg.lstsq(data.x, data.y, rcond=None)[0]))
    claims = [
        Claim("loss at the end", float(np.exp(sol.log_loss[-1])), "=", 0.0, slack=track.tol**2, kind="limit"),
        Claim("kinks of the final function", len(groups), "=", 2, kind="limit"),
        Claim("half |theta|^2, below the line's variation norm", 0.5 * total, "<", line, kind="limit"),
    ]
    kept = float(np.exp(-const.ell - np.min(state.rho[0, np.r_[const.S_plus, const.S_minus]]))) * const.c
    for sign, other in ((const.flip, const.minus), (-const.flip, const.plus)):
        group = next((g for g in groups if g.sign == sign), None)
        datum = float(data.x[other.members][0, 0])
        measured = group.kink if group is not None else np.nan
        slack = 10 * (track.tol + kept) * (1 + datum**2)
        claims.append(
            Claim(f"kink of the {'+' if sign > 0 else '-'} cluster", measured, "=", datum, slack=slack, kind="limit")
        )
    one = Claim("one datum in each class", int(max(np.sum(c.members) for c in (const.plus, const.minus))), "=", 1)
    return Report(
        name="boursier2022.section5",
        hypotheses=[*data_hypotheses(const), one],
        claims=claims,
        constants={"half |theta|^2": 0.5 * total, "line": line},
    )
