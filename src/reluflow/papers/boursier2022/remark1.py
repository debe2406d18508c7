"""Remark 1 of [BPF22]: the convergence criterion borrowed from Chatterjee, for ReLU and balanced weights."""

import numpy as np

from reluflow import observe
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected", start: float | None = None) -> Report:
    r"""Claim: if $|\nabla L|^2 \ge \kappa L$ on the way from $t_0$ on, the flow moves by at most
    $2\sqrt{L(t_0)/\kappa}$ from there, so that it stays in a ball of radius $\rho$ as soon as $\kappa \ge
    4L(t_0)/\rho^2$. The paper omits the 4 (E9): moves at most $\sqrt{L/\kappa}$.

    $t_0$ is the first moment with the loss at 1e-4 of its first value unless `start` is given; $\kappa$ is the least
    ratio met from there until the loss is below (1e3 tol)^2, and so far the distance is measured. The factor is
    sharp: near a minimum $|\theta - \theta^\infty| \to 2\sqrt{L/\kappa}$. Slack: 100 rtol of the distance over it.
    """
    track = run_of(sol)
    logs = track.log_loss
    if start is None:
        low = np.flatnonzero(logs < logs[0] + np.log(1e-4))
        start = float(sol.t[low[0]]) if len(low) else np.inf
    text = "distance moved from t_0 over its bound"
    claims = [Claim(text, np.nan, "<=", 1.0, missing=track.unfit)]
    constants = {}
    after = track.during(start, track.end)
    losses = track.witness(after.t).log_loss if len(after.t) else np.zeros(0)
    seen = losses > 2 * np.log(1e3 * track.tol)
    if np.sum(seen) > 1:
        after, losses = after[seen], losses[seen]
        kappa = float(np.min(observe.pl_ratio(track.witness(after.t)).values))
        w = np.exp(after.rho)[..., None] * after.W
        a = np.exp(after.log_a)
        moved = np.sqrt(np.sum((w - w[0]) ** 2, axis=(1, 2)) + np.sum((a - a[0]) ** 2, axis=1))
        factor = 1.0 if form == "printed" else 2.0
        bound = factor * float(np.exp(0.5 * losses[0])) / np.sqrt(kappa)
        k = int(np.argmax(moved))
        claims = [Claim(text, moved[k] / bound, "<=", 1.0, slack=track.tol / bound, at=after.t[k])]
        constants = {"t_0": start, "L(t_0)": float(np.exp(losses[0])), "kappa": kappa, "distance": float(moved[k])}
    return Report(
        name="boursier2022.remark1",
        hypotheses=hypotheses(track.const)[5:7],
        claims=claims,
        constants=constants,
        form=form,
    )
