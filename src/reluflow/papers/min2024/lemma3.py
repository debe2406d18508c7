"""Lemma 3 of [MMV24]: until T all weights and outputs stay of order eps."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._run import as_run, so_far, worst

needs = "flow"


def check(sol) -> Report:
    r"""Claims for $t \le T$: $\max_j |w_j|^2 \le 2\epsilon W_{max}^2/\sqrt h$ and $\max_i |f(x_i)| \le 2\epsilon\sqrt h
    X_{max} W_{max}^2$, any leaky slope; and both without the 2, as the proof gives.

    Assumes balance and eps <= 1/(4 sqrt h Xmax Wmax^2). Compared in logarithms; no slack.
    """
    run = as_run(sol)
    c, geo = run.c, run.geo
    inside = run.tau <= c.T
    norm, where_w = worst(np.where(inside[:, None], 2 * run.seen.log_norm, np.nan))
    out, where_f = worst(np.where(inside, run.log_f, np.nan))
    bound_w = c.log_eps + 2 * c.log_w_max - 0.5 * np.log(c.h)
    bound_f = c.log_eps + 0.5 * np.log(c.h) + np.log(geo.x_max) + 2 * c.log_w_max
    at_w, at_f = (run.where(*w) if w else None for w in (where_w, where_f))
    two = np.log(2.0)
    claims = [
        Claim("largest |w_j|^2 up to T", norm, "<=", bound_w + two, log=True, at=at_w),
        Claim("largest |f(x_i)| up to T", out, "<=", bound_f + two, log=True, at=at_f),
        Claim("largest |w_j|^2 up to T, without the 2", norm, "<=", bound_w, log=True, at=at_w),
        Claim("largest |f(x_i)| up to T, without the 2", out, "<=", bound_f, log=True, at=at_f),
    ]
    claims = [so_far(claim, run.ends_before(c.T, "T")) for claim in claims]
    hypotheses = run.hypotheses("balanced", "both layers", "horizon", "eps lemma 3")
    return Report("min2024.lemma3", claims, hypotheses, c.shown(), until=run.own_time(c.T))
