"""Section 4 of [BPF22]: the exponential rate |D-| is a lower bound; the true rates are 4|D-|, then 2|D-|."""

import numpy as np

from reluflow import observe
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected") -> Report:
    r"""Claim: at the end $-L'/L = |\nabla L|^2/L \ge |D_-|$ (printed: "at a rate $|D_-|$"). Sharp: it tends to $4|D_-|$
    while the residual is along the labels of the last class and to $2|D_-|$ once stray neurons have turned it (E13),
    with the $u_-/n$ they leave for $|D_-|$ (Lemma 14).

    Read where the loss is between (100 tol)^2 and 1e-6 of its first value, tol = 100 rtol, $-L'/L$ being the
    Polyak-Lojasiewicz ratio of the vector field, not a difference. Printed form: the rate equals $|D_-|$. Slack: an
    error tol in residuals of 100 tol turns them by 1%, and moves the ratio by 2%; neurons beside the sets add their
    share of $u_\infty$ to it. Hypotheses, as lambda* has no value
    that can be computed: there the two sets have at least half the size they end with and are active on their classes,
    which is what Lemma 14 needs.
    """
    track = run_of(sol)
    const = track.const
    logs = track.witness(sol.t).log_loss
    inside = (logs > 2 * np.log(100 * track.tol)) & (logs < logs[0] + np.log(1e-6)) & (sol.t > 0)
    t = sol.t[inside]
    ratio = observe.pl_ratio(track.witness(t)).values if len(t) else np.full(1, np.nan)
    missing = track.unfit if not len(t) else ""
    least = min(const.plus.rate, const.minus.rate)
    state = track.at(track.end)
    sharp = 2 * min(
        float(track.u(state, S)[0]) / c.u * c.rate
        for S, c in ((const.S_plus, const.plus), (const.S_minus, const.minus))
    )
    high = 4 * max(const.plus.size, const.minus.size)
    slack = 0.02
    if form == "printed":
        text = "-L'/L at the end, over |D-|"
        claims = [Claim(text, float(ratio[-1]) / least, "=", 1.0, slack=slack, missing=missing)]
    else:
        low = float(np.min(ratio))
        found = (
            ("least -L'/L, over |D-|", low / least, ">="),
            ("least -L'/L, over 2 min(u+, u-)/n at the end", low / sharp if sharp > 0 else np.nan, ">="),
            ("largest -L'/L, over 4|D+|", float(np.max(ratio)) / high, "<="),
        )
        beside = float(np.max(track.u(track.at(t), const.others))) / min(const.plus.u, const.minus.u) if len(t) else 0.0
        rooms = (slack, slack, slack + beside)
        claims = [
            Claim(text, value, way, 1.0, slack=room, missing=missing)
            for (text, value, way), room in zip(found, rooms, strict=True)
        ]
    return Report(
        name="boursier2022.rates",
        hypotheses=[*hypotheses(const), *_grown(track, t, missing)],
        claims=claims,
        until=track.fitted,
        constants={**const.numbers(), "first ratio/|D-|": float(ratio[0] / least), "last": float(ratio[-1] / least)},
        form=form,
    )


def _grown(track, t: np.ndarray, missing: str) -> list[Claim]:
    """Lemma 14's hypotheses where the rate is read: the sets are at least half grown, and active on their classes."""
    const = track.const
    share, off = (np.nan, np.nan) if not len(t) else (np.inf, 0)
    if len(t):
        state, seen = track.at(t), track.witness(t)
        for S, c in ((const.S_plus, const.plus), (const.S_minus, const.minus)):
            share = min(share, float(np.min(track.u(state, S))) / c.u)
            off += int(np.sum(seen.bits[:, S][:, :, c.members] < 1.0))
    return [
        Claim("the sets have grown: least u over u_inf where the rate is read", share, ">=", 0.5, missing=missing),
        Claim("neurons of the sets that are off on their class there, pairs", off, "=", 0, missing=missing),
    ]
