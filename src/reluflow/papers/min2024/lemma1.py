"""Lemma 1 of [MMV24]: while weights are small, directions follow sign(v_j) P_w x_a(w)."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._errors import log_gaps
from reluflow.papers.min2024._run import as_run, so_far, worst

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected") -> Report:
    r"""Claim: $|d/dt\,(w_j/|w_j|) - s_j P_{w_j} x_a(w_j)| \le 4\epsilon n\sqrt h X_{max}^2 W_{max}^2$ for $t \le T$,
    any leaky slope (inactive data then count with the slope in $x_a$).

    Assumes balance and eps <= 1/(4 sqrt h Xmax Wmax^2); no separation. The left side is read off the field, in
    logarithms. No slack: rounding is 1e-15 of the gap. The printed form counts the logistic loss log(1+e^-z), whose
    r(0) is 1/2 (E1).
    """
    run = as_run(sol, form)
    c, geo = run.c, run.geo
    inside = run.tau <= c.T
    bound = np.log(4 * geo.n) + c.log_eps + 0.5 * np.log(c.h) + 2 * np.log(geo.x_max) + 2 * c.log_w_max
    gap, where = worst(np.where(inside[:, None], log_gaps(run), np.nan))
    at = run.where(*where) if where else None
    claim = Claim(f"gap from sign(v_j) P x_a, largest up to T = {c.T:.4g}", gap, "<=", bound, log=True, at=at)
    claims = [so_far(claim, run.ends_before(c.T, "T"))]
    hypotheses = run.hypotheses("balanced", "both layers", "horizon", "eps lemma 3")
    return Report("min2024.lemma1", claims, hypotheses, c.shown(), form, until=run.own_time(c.T))
