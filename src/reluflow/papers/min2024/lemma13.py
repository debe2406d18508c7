"""Lemma 13 of [MMV24]: the neurons that arrive have not shrunk too much by t1."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._late import NAME, log_group_square
from reluflow.papers.min2024._run import as_run

needs = "flow"


def check(sol) -> Report:
    r"""Claim: $\sum_{\tilde V_\pm} |w_j(t_1)|^2 \ge e^{-4 n X_{max} t_1} \sum_{\tilde V_\pm} |w_j(0)|^2$.

    Judged at the observed alignment time and, where the run reaches it before T, at the paper's $t_1$. In logarithms,
    no slack. Assumes $\max|f| \le 1/2$ until then.
    """
    run = as_run(sol)
    claims = []
    for name, t1 in (("the observed alignment time", run.aligned), ("the paper's t1", run.c.t1)):
        if not np.isfinite(t1) or t1 > run.t_end or (name != "the observed alignment time" and t1 > run.c.T):
            continue
        k = int(np.argmin(np.abs(run.tau - t1)))
        for sign in run.sides:
            logs = log_group_square(run, sign)
            bound = logs[0] - 4 * run.geo.n * run.geo.x_max * t1
            text = f"sum of |w_j|^2 over Vt{NAME[sign]} at {name}"
            claims.append(Claim(text, logs[k], ">=", bound, log=True, at=f"t = {t1:.4g}"))
    if not np.isfinite(run.aligned):
        missing = run.ends_before(run.c.t1, "t1")
        text = "sum of |w_j|^2 over Vt+ and Vt- at the alignment time"
        claims.append(Claim(text, np.nan, ">=", np.nan, log=True, missing=missing))
    before = run.log_f[run.tau <= run.aligned]
    hypotheses = run.hypotheses("balanced", "both layers", "both groups")
    hypotheses.append(Claim("max |f| until alignment is at most 1/2", np.max(before), "<=", np.log(0.5), log=True))
    until = run.own_time(run.aligned if np.isfinite(run.aligned) else run.c.t1)
    return Report("min2024.lemma13", claims, hypotheses, run.c.shown(), until=until)
