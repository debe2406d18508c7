"""Section 5 of [BPF22]: on two points the final function has zero loss, two kinks, and less norm than the line."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.observe.kinks import merged
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol) -> Report:
    r"""Claim: one input and a bias column, one datum a class, orthogonal: the function learnt has two kinks, the
    cluster on $D_+$ kinks at the negative datum and that on $-D_-$ at the positive one, its loss is 0, its variation
    norm $\frac12|\theta|^2$ is below the linear interpolator's 2|v|.

    Limits in time and lambda. Neurons below 1e-6 of the largest do not count as kinks, so lambda must be smaller.
    Slack of a position: 100 rtol and the angle lambda/|w_j| that a neuron keeps (4.1), over the slope.
    """
    track = run_of(sol)
    const, data = track.const, sol.problem.data
    bias = float(np.max(np.abs(data.x[:, -1] - 1.0)))
    smallest = -const.ell + np.log(const.c) - 0.5 * np.log(min(const.plus.u, const.minus.u))
    conditions = [
        *hypotheses(const),
        Claim("one input and a bias column: d", data.d, "=", 2),
        Claim("the last column is 1: largest difference", bias, "=", 0.0),
        Claim("one datum in each class", int(max(np.sum(c.members) for c in (const.plus, const.minus))), "=", 1),
        Claim("neurons of no cluster are no kinks: lambda c over a cluster's norm", smallest, "<", -13.8, log=True),
    ]
    if data.d != 2 or not len(const.S_plus) or not len(const.S_minus):
        texts = ("loss at the end", "kinks of the final function", "half |theta|^2", "kink of a cluster")
        return Report("boursier2022.section5", [Claim(text, np.nan, "=", 0.0) for text in texts], conditions)
    state = track.at(track.end)
    total = float(np.sum(np.exp(2 * state.rho[0])) + np.sum(np.exp(2 * state.log_a[0])))
    angle = 1e-3
    groups = merged(sol, angle=angle, share=1e-6)
    line = 2 * float(np.linalg.norm(np.linalg.lstsq(data.x, data.y, rcond=None)[0]))
    loss, missing = float(np.exp(track.log_loss[-1])), track.unfit
    claims = [
        Claim("loss at the end", loss, "=", 0.0, slack=track.tol**2, kind="limit", missing=missing),
        Claim("kinks of the final function", len(groups), "=", 2, kind="limit", missing=missing),
        Claim("half |theta|^2, below the line's variation norm", 0.5 * total, "<", line, kind="limit", missing=missing),
    ]
    kept = float(np.exp(-const.ell - np.min(state.rho[0, np.r_[const.S_plus, const.S_minus]]))) * const.c
    for sign, other in ((const.flip, const.minus), (-const.flip, const.plus)):
        group = next((g for g in groups if g.sign == sign), None)
        datum = float(data.x[other.members][0, 0])
        measured = group.kink if group is not None else np.nan
        slack = 10 * (track.tol + kept) * (1 + datum**2)
        text = f"kink of the {'+' if sign > 0 else '-'} cluster"
        claims.append(Claim(text, measured, "=", datum, slack=slack, kind="limit", missing=missing))
    return Report(
        name="boursier2022.section5",
        hypotheses=conditions,
        until=track.fitted,
        claims=claims,
        constants={"half |theta|^2": 0.5 * total, "line": line},
    )
