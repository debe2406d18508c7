"""Lemma 14 of [MMV24]: after alignment the neurons of S+ and S- never shrink."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._late import NAME, class_pull
from reluflow.papers.min2024._run import as_run, worst

needs = "flow"


def check(sol) -> Report:
    r"""Claim: $\sum_{\tilde V_\pm} |w_j|^2$ is non-decreasing after $t_1$; in fact each $|w_j|$ is.

    From the field: $d/dt\,|w_j|^2 = 2|w_j|^2 s_j\langle D_j, w_j/|w_j|\rangle$, so the cosine of $D_j = \pm\sum_{I_\pm}
    r_i x_i$ with $w_j$ must be $\ge 0$ at every moment; in S+ it is at least about mu. No slack.
    """
    run = as_run(sol)
    claims = []
    for sign in run.sides:
        who = run.group(sign)
        pull, _ = class_pull(run, sign)
        size = np.linalg.norm(pull, axis=1)
        cos = np.einsum("fmd,fd->fm", run.seen.unit[:, who], pull) / np.where(size > 0, size, 1.0)[:, None]
        arrived = run.tau[:, None] >= run.arrival[who]
        least, where = worst(np.where(arrived, cos, np.nan), low=True)
        at = run.where(where[0], int(np.flatnonzero(who)[where[1]])) if where else None
        text = f"Vt{NAME[sign]}: least cosine of w_j with what pulls it, which is the sign of (|w_j|^2)'"
        missing = "" if where else run.ends_before(run.c.t1, "t1")
        claims.append(Claim(text, least, ">=", 0.0, at=at, missing=missing))
    hypotheses = run.hypotheses("separable", "balanced", "relu", "both layers", "tail", "both groups")
    return Report("min2024.lemma14", claims, hypotheses, run.c.shown())
