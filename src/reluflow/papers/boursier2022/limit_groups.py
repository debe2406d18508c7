"""Section 3.2 of [BPF22] and handbook 4.6: narrow networks without Assumption 3, one saddle per group."""

import numpy as np

from reluflow._saddles import crossing
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import Constants, hypotheses
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected") -> Report:
    r"""Claim: groups of labels are fitted one after another, the next being that whose neurons arrive first; the loss
    ends at $\frac{1}{2n}\sum y_k^2$ over labels that no neuron of their sign starts active on, $|\theta|^2$ at
    $2\sum_G|E_G|$, above the least of an interpolator unless Assumption 3 holds; the flow passes one saddle per group.

    Printed: with few neurons "the training loss should still converge to 0", which needs every label covered. Limits in
    lambda: slack of losses, norms and times is 100 rtol, and the squared norm that the vanishing neurons still have;
    for times also what the next group has fitted by then. Hypotheses: a balanced start, ReLU, lambda < 1, one norm,
    and saddles that are left one after another, three times the width of a fit apart (a number of ours: e^-3 of the
    one fit is left when the next begins).
    """
    track = run_of(sol)
    const: Constants = track.const
    limit = const.limit
    state = track.at(track.end)
    loss = float(np.exp(track.log_loss[-1]))
    first = float(np.exp(track.log_loss[0]))
    total = float(np.sum(np.exp(2 * state.rho[0])) + np.sum(np.exp(2 * state.log_a[0])))
    gone = float(track.u(state, np.flatnonzero(limit.exponent != 0))[0]) + _kept(track)
    exits, rates = [s.exit(const.ell) for s in limit.saddles], [s.rate or 1.0 for s in limit.saddles]
    last = max((t + 20.0 / r for t, r in zip(exits, rates, strict=True)), default=0.0)
    missing = track.ends_before(last, "twenty times the width of a fit after the last saddle")
    if form == "printed":
        slack = track.tol**2 * max(1.0, first)
        claims = [Claim("loss at the end", loss, "=", 0.0, slack=slack, kind="limit", missing=missing)]
    else:
        claims = [
            Claim("loss at the end", loss, "=", limit.loss, slack=track.tol * first, kind="limit", missing=missing),
            Claim(
                "|theta|^2 at the end",
                total,
                "=",
                limit.squared_norm,
                slack=track.tol * total + 5 * gone,
                kind="limit",
                missing=missing,
            ),
        ]
        levels = [s.loss for s in limit.saddles] + [limit.loss]
        worst, where = 0.0, None
        for k, saddle in enumerate(limit.saddles):
            middle = 0.5 * (levels[k] + levels[k + 1])
            if not np.any(sol.loss < middle):
                worst, where = np.inf if not missing else worst, k
                break
            t = crossing(sol, middle, 0, len(sol.t) - 1)
            error = abs(t - saddle.exit(const.ell)) * (saddle.rate or 1.0)
            if error > worst:
                worst, where = error, k
        # The next group has already fitted e^{-2 rate (its exit - this exit)} of its labels.
        overlap = max(
            (np.exp(-2 * rates[k + 1] * (exits[k + 1] - exits[k])) for k in range(len(exits) - 1)), default=0.0
        )
        slack = (
            10 * overlap + track.tol * const.ell + 20 * gone / max(min(c.u for c in (const.plus, const.minus)), 1e-300)
        )
        text = "exit times of the saddles, worst difference times the rate"
        claims.append(Claim(text, worst, "=", 0.0, slack=slack, kind="limit", at=where, missing=missing))
        if limit.loss == 0.0 and not (len(const.S_plus) and len(const.S_minus)):
            text = "|theta|^2 in the limit: above the least of an interpolator, for want of Assumption 3"
            claims.append(Claim(text, limit.squared_norm, ">", const.min_norm))
            claims.append(Claim("saddles before the end, origin included: more than two", len(limit.saddles), ">", 2))
    return Report(
        name="boursier2022.limit_groups",
        hypotheses=[*(h for h in hypotheses(const) if not h.text.startswith("A3")), _apart(exits, rates)],
        until=last,
        claims=claims,
        constants={
            **const.numbers(),
            "groups": len(limit.saddles),
            "min norm": const.min_norm,
            "limit norm": limit.squared_norm,
        },
        form=form,
        notes=limit.notes,
    )


def _apart(exits: list[float], rates: list[float]) -> Claim:
    """Three widths of a fit, 1/(2 rate), between any two exits."""
    gaps = [(exits[k + 1] - exits[k]) * 2 * min(rates[k], rates[k + 1]) for k in range(len(exits) - 1)]
    return Claim(
        "saddles are left one after another: least gap over the width of a fit", min(gaps, default=np.inf), ">=", 3.0
    )


def _kept(track) -> float:
    """Sum of |w_j| of later groups at the exits of earlier ones: to first order it is added to outputs fitted then."""
    saddles, ell = track.const.limit.saddles, track.const.ell
    total = 0.0
    for k, saddle in enumerate(saddles[:-1]):
        later = [j for s in saddles[k + 1 :] for j in s.neurons]
        t = saddle.exit(ell)
        if later and 0 <= t <= track.end:
            total += float(np.sum(np.exp(track.at(t).rho[0, later])))
    return total
