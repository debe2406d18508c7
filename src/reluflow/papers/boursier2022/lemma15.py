"""Lemma 15 of [BPF22]: the Polyak-Lojasiewicz inequality around theta^{t_3}, and along the rest of the run."""

import numpy as np

from reluflow import observe
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022 import _ball, _scale
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import track as run_of
from reluflow.papers.boursier2022._track import worst
from reluflow.papers.boursier2022.lemma12 import latest

needs = "flow"
FLOOR = 1e-20  # of the first loss: below it the square loss is rounding


def check(sol, samples: int = 100, seed: int = 0, epsilon=None) -> Report:
    r"""Claim: $|\nabla L|^2/L \ge \min(|D_+|, |D_-|)$ on balanced networks within $\lambda^{\varepsilon/240}$ of
    $\theta^{t_3}$.

    Measured at every moment of the run after $t_3$ (which is what the conclusion needs) while the loss is above `FLOOR`
    of its first value, at random balanced networks in the ball, and where a cluster is shrunk as far as the ball
    allows. Slack of the ratio on the run: 100 rtol.
    """
    track = run_of(sol, epsilon)
    const = track.const
    t, fired = track.t_3
    least = min(const.plus.rate, const.minus.rate)
    if np.isfinite(t):
        after = track.during(t, track.end).t
        after = after[track.witness(after).log_loss > track.witness(0.0).log_loss[0] + np.log(FLOOR)]
        low, when = worst(-observe.pl_ratio(track.witness(after)).values, after)
        state = track.at(t)
        w = np.exp(state.rho[0])[:, None] * state.W[0]
        radius = float(np.exp(const.power(const.epsilon / 240)))
        random, shrunk = _ball.perturbed(const, w, radius, samples, seed), _ball.shrunk(const, w, radius)
    else:
        low, when, random, shrunk = np.nan, None, np.nan, np.nan
    missing = track.ends_before(latest(const), "the latest t_3") if np.isinf(t) else ""
    return Report(
        name="boursier2022.lemma15",
        hypotheses=[*hypotheses(const), _scale.small_enough(const, _scale.FINAL)],
        claims=[
            Claim(
                "least ratio on the run after t_3", -low, ">=", least, slack=track.tol * least, at=when, missing=missing
            ),
            Claim("least ratio, random networks in the ball", random, ">=", least, missing=missing),
            Claim("least ratio, a cluster shrunk within the ball", shrunk, ">=", least, missing=missing),
        ],
        constants={**const.numbers(), "t_3": t},
        until=latest(const),
        notes=[f"Stopping condition of (23) that fired: {fired}."],
    )
