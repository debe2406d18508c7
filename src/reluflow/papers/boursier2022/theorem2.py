"""Theorem 2 of [BPF22]: after t_3 the flow stays near theta* and converges exponentially."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022 import _scale
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import log, small, worst
from reluflow.papers.boursier2022._track import track as run_of
from reluflow.papers.boursier2022.lemma12 import latest

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected", epsilon=None) -> Report:
    r"""Claim: $\theta^t \in B(\theta^*, 2\lambda^{\varepsilon/240})$, balanced, for all $t \ge t_3$, where $L(t) \le
    L(t_3) e^{-|D_-|(t - t_3)}$.

    Printed without the 2, which the proof's triangle inequality needs (E6). The rate is worst at the moment where
    $\log L + |D_-|(t - t_3)$ is largest. Slack: 100 rtol of a distance; a loss below (100 rtol)^2 is rounding and not
    judged.
    """
    track = run_of(sol, epsilon)
    const = track.const
    t, fired = track.t_3
    radius = const.power(const.epsilon / 240) + (0.0 if form == "printed" else np.log(2.0))
    least = min(const.plus.rate, const.minus.rate)
    if np.isfinite(t):
        after = track.during(t, track.end)
        distance, at = worst(track.distance(after, const.theta()), after.t)
        logs = track.witness(after.t).log_loss
        seen = logs > 2 * np.log(track.tol)
        late = logs[seen] - logs[0] + least * (after.t[seen] - t)
        rate, when = worst(late[1:], after.t[seen][1:])
    else:
        distance, at, rate, when = np.nan, None, np.nan, None
    missing = track.ends_before(latest(const), "the latest t_3") if np.isinf(t) else ""
    return Report(
        name="boursier2022.theorem2",
        hypotheses=[*hypotheses(const), _scale.small_enough(const, _scale.FINAL)],
        claims=[
            small("|theta^t - theta*| from t_3 on", log(distance), radius, track.tol, at=at, missing=missing),
            Claim("log L(t)/L(t_3) + |D-| (t - t_3), worst", rate, "<=", 0.0, track.tol, at=when, missing=missing),
        ],
        constants={**const.numbers(), "t_3": t},
        until=latest(const),
        form=form,
        notes=[
            f"Stopping condition of (23) that fired: {fired}.",
            "The end of the run and theta*: boursier2022.theorem1.",
        ],
    )
