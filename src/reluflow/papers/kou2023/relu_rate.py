"""Beyond Theorem 4.3 of Kou et al.: ReLU networks on nearly orthogonal data have loss O(1/t), by a short proof."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions
from reluflow.papers.kou2023._measure import worst
from reluflow.papers.kou2023._path import path

needs = "flow"


def check(sol) -> Report:
    r"""[+] With $V_{j,r} = \sum_{y_k=j} x_k$ and Lemma 5.8 ($S_i^{(0)} \subset S_i^{(t)}$),

        -<grad L, V> >= B mean|l'|,   B = (min|S_i|/m)(R_min^2 - np) - np,

    so that the flow has $L' = -|\nabla L|^2 \le -(B/|V|)^2\,\mathrm{mean}|\ell'|^2$; and as $|\ell'| = 1 - e^{-\ell}
    \ge \ell/(1+\ell)$ and $\ell_i \le nL$, $L' \le -cL^2$ with $c = (B/|V|)^2/(1+nL(0))^2$: $L(s) \le 1/(1/L(0) +
    cs)$, exponent 1 in place of Lemma G.1's 0.16.

    Proof of the first line: data of class j with r in $S_i$ contribute at least $R_{min}^2 - np$ each, those of the
    other class at least $-np$. Both lines are judged at every frame, bits from the signs of $\langle w, x_i\rangle$,
    pairs on a kink counted as on where that is worse. Slack: the run's error relative to the right-hand side.
    """
    run = path(sol, 0)
    at = run.at
    share = at.size.min() / at.m
    bound = share * (at.r_min**2 - at.n * at.p) - at.n * at.p
    sums = {j: at.x[at.y == j].sum(axis=0) for j in (1, -1)}
    v = np.array([sums[int(j)] for j in at.sign])
    length = float(np.linalg.norm(v))
    force = 1.0 / (1.0 + np.exp(np.minimum(run.margin, 700.0)))
    along = (v @ at.x.T) * np.outer(at.sign, at.y)  # j y_i <x_i, V_jr>
    size = np.max(np.abs(run.w), axis=(1, 2))
    near = (run.error * size / np.max(size))[:, None, None]  # an error is relative to the weights of its own frame
    on = np.where(along > 0, run.z > near, run.z >= -near)
    descent = np.einsum("frn,rn,fn->f", on.astype(float), along, force) / (at.n * at.m)
    mean = force.mean(axis=1)
    log_l = run.log_loss
    c = (bound / length) ** 2 / (1 + at.n * np.exp(log_l[0])) ** 2 if bound > 0 else np.nan
    log_bound = -np.logaddexp(-log_l[0], np.log(c) + run.log_s)
    claims = [
        worst("-<grad L, V> over B mean|l'|", descent / (bound * mean), ">=", 1.0, slack=run.error, at=run.log_s),
        worst("log L(s)", log_l[1:], "<=", log_bound[1:], slack=run.error, at=run.log_s[1:], log=True),
    ]
    hypotheses = [*assumptions(at, leaky=False), Claim("B", bound, ">", 0.0)]
    return Report("kou2023.relu_rate", claims, hypotheses, {**at.report(), "B": bound, "|V|": length, "c": c})
