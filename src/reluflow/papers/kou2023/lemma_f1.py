"""Lemma F.1 of Kou et al.: the stable rank of a ReLU network stays bounded."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions
from reluflow.papers.kou2023._measure import excess_rank
from reluflow.papers.kou2023._path import path
from reluflow.papers.kou2023.lemma_f3 import limit_rank

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""$\limsup SR(W_j) \le c$ with c free of n and m. c is left open by the paper (its constant goes with R^6).

    The limit is read off the slope $dW/d\log s$ of the last decade and judged against $c = \frac52R^2$, $R =
    R_{max}/R_{min}$: proved for orthogonal data (as in `kou2023.uniform`, the entries of A being $m/(|S_i||x_i|)$),
    taken over for kappa > 0, where the paper names none ("constant fitted"). The largest $SR(W_j)$ over the second half
    of log s is not the limit yet: 4R^4, a number of ours. A matrix whose neurons have one datum each has n/2 and more.
    That c does not grow with n and m is `kou2023.uniform`. (The proof's own inequalities between
    $|V|_2$, $|V|_F$ and $|A1|$ hold for every matrix V = AX, so they are no claims about a run.)
    """
    run = path(sol, steps)
    at = run.at
    frames = run.trained
    late = run.log_s[frames] >= min(0.5 * run.log_s[-1], run.log_s[-1])
    most, limit = 4.0 * at.ratio**4, 2.5 * at.ratio**2
    kind = "fitted" if at.kappa > 0 else "limit"
    claims = []
    for j in (1, -1):
        rows = run.of_class(j)
        largest = float(np.max(1 + excess_rank(run.w[frames][late][:, rows])))
        found, slack, note = limit_rank(run, rows)
        claims += [
            Claim(f"largest SR(W_{j:+d}) over the second half of log s", largest, "<", most, kind="fitted"),
            Claim(f"limsup SR(W_{j:+d}), from the slope of W", found, "<=", limit, slack=slack, kind=kind, note=note),
        ]
    return Report("kou2023.lemma_f1", claims, assumptions(at, leaky=False), at.report())
