"""Proposition 2 of [BPF22]: the flow exists for ever only with relu'(0) = 0."""

from itertools import pairwise

import numpy as np

from reluflow import observe
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import track as run_of
from reluflow.papers.boursier2022.limit_alignment import turned_off

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected") -> Report:
    r"""Claim: with $relu'(0) = \sigma_0$ a solution exists on $[0, \infty)$ if and only if $\sigma_0 = 0$.

    Where a coordinate $\langle w_j, x_k\rangle$ reaches 0 it must stay there, while (39) would move it by
    $s_j|w_j||x_k|^2(y_k - h)\sigma_0/n$: no solution unless $\sigma_0 = 0$. Measured wherever the run's weights lose
    a datum: that speed over $\sigma_0|w_j|$, the coordinate just after, and on the run with $\sigma_0 = 0$ that none
    ever leaves. The "only if" needs that some coordinate does reach 0 (E10); printed it is claimed of every start.
    Slack: a coordinate is good to 100 rtol.
    """
    track = run_of(sol)
    const, events = track.const, turned_off(sol)
    nu = np.sqrt(const.nu2)
    if len(events):
        t, j, k = events.t, events.neuron, events.datum
        state = track.at(t)
        i = np.arange(len(t))
        speed = const.sign[j] * const.weight * nu[k] * (const.y[k] - state.h[i, k])
        stays = np.abs(np.einsum("id,id->i", state.W[i, j], const.data.x[k])) / nu[k]
        least = float(np.min(np.abs(speed)))
        outward, rest = float(np.max(speed)), float(np.max(stays))
    else:
        least, outward, rest = np.nan, np.nan, np.nan
    back = sum(len(set(b.on) - set(a.on)) for row in observe.patterns(sol) for a, b in pairwise(row))
    reached = Claim("coordinates that reach 0", len(events), ">=", 1)
    return Report(
        name="boursier2022.proposition2",
        hypotheses=[*hypotheses(const)[:1], *([] if form == "printed" else [reached])],
        claims=[
            *([reached] if form == "printed" else []),
            Claim("least speed off 0 over sigma_0 |w_j| |x_k|: not 0, so sigma_0 must be", least, ">", 0.0),
            Claim("the drive points into 0 there (sigma_0 = 0 lets it rest)", outward, "<=", 0.0),
            Claim("coordinate after it reached 0, over |w_j| |x_k|", rest, "<=", 0.0, slack=track.tol),
            Claim("coordinates that ever leave 0 on this solution", back, "<=", 0),
        ],
        form=form,
        notes=[
            "Discrete descent lands slightly below 0 and freezes there for any sigma_0: nothing numerical tells (2.8)."
        ],
    )
