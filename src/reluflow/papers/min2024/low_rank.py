"""Theorem 1 of [MMV24], part 2, low-rank bias: two rank-one groups, stable rank at most 2 in the limit."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.observe.rank import singular
from reluflow.papers.min2024._late import NAME, before_t2, predicted_rank, rank_claims, t2_needed
from reluflow.papers.min2024._run import as_run, log_abs, worst

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected") -> Report:
    r"""Claims for $t \ge t_1$: $|W|_F^2 \le 2|W|_2^2 + 4\sqrt h\,\epsilon W_{max}^2$; per group $|W_\pm|_F^2 -
    |W_\pm|_2^2 \le 4\epsilon W_{max}^2|\tilde V_\pm|/\sqrt h$; stable rank at the end as the two groups predict; limsup
    $\le 2$ (printed: $= 2$, E8); $y_i f(x_i) \to \infty$ for all i (printed: $f(x_i) \to \infty$).

    The group's excess is a sum of squared small singular values. Directions of a run are good to tol = 100 rtol, so the
    singular values to tol $|W_\pm|_F$: where the bound is above the square of that, the claim is judged in logarithms,
    with slack $2\log(1 + \mathrm{tol}\,|W_\pm|_F/\sqrt{\mathrm{bound}})$; where it is below, relative to
    $|W_\pm|_F^2$ with tol^2 as slack.
    """
    run = as_run(sol, form)
    c = run.c
    claims = rank_claims(run, limit="=" if form == "printed" else "<=")
    after = run.tau >= run.aligned
    rtol = sol.stats.rtol if np.isfinite(sol.stats.rtol) else 1e-8
    floor = 2 * np.log(100 * rtol)  # log of what can be measured, relative to |W|_F^2
    for sign in run.sides:
        who = run.group(sign)
        if not np.any(who):
            continue
        values, top = singular(run.seen, np.broadcast_to(who, run.seen.a.shape))
        log_all = np.log(np.sum(values**2, axis=1)) + 2 * top
        log_excess = log_abs(np.sum(values[:, 1:] ** 2, axis=1)) + 2 * top
        bound = np.log(4.0) + c.log_eps + 2 * c.log_w_max + np.log(np.sum(who)) - 0.5 * np.log(c.h)
        visible = after & (bound > log_all + floor)
        room = 2 * np.log1p(np.exp(0.5 * (log_all + floor - bound)))
        name = f"|W{NAME[sign]}|_F^2 - |W{NAME[sign]}|_2^2"
        _, where = worst(np.where(visible, log_excess - room, np.nan))
        most, slack = (log_excess[where[0]], room[where[0]]) if where else (np.nan, 0.0)
        at = run.where(*where) if where else None
        missing = "" if np.any(after) else run.ends_before(c.t1, "t1")
        text = f"{name} after alignment, largest while it can be measured"
        claims.append(Claim(text, most, "<=", bound, slack, log=True, at=at, missing=missing))
        if not np.any(after & ~visible):
            continue
        share, where = worst(np.where(after & ~visible, np.exp(log_excess - log_all), np.nan))
        claims.append(
            Claim(
                f"{name} over |W{NAME[sign]}|_F^2 afterwards, largest",
                share,
                "<=",
                0.0,
                slack=np.exp(floor),
                at=run.where(*where) if where else None,
            )
        )
    missing = before_t2(run)
    values, _ = singular(run.seen)
    rank = float(np.sum(values[-1] ** 2) / values[-1, 0] ** 2)
    text = "stable rank at the end, against the two groups' prediction"
    claims.append(Claim(text, rank, "=", predicted_rank(run), slack=_room(run), missing=missing))
    grown = run.seen.outputs[-1] * (1.0 if form == "printed" else run.data.y)
    text = f"{'f(x_i)' if form == 'printed' else 'y_i f(x_i)'} grows without bound: least at the end"
    claims.append(Claim(text, float(np.min(grown)), ">", 0.25, kind="limit", missing=missing))
    hypotheses = run.hypotheses("separable", "balanced", "relu", "both layers", "tail", "eps lemma 3", "both groups")
    return Report("min2024.low_rank", claims, hypotheses, c.shown(), form, until=t2_needed(run))


def _room(run) -> float:
    """How far the stable rank may be from that of two rank-one groups.

    With W = (two rank-one groups) + E, E the groups' other singular values and the neurons of no group, |W|_2 moves by
    |E| and |W|_F^2 by what the neurons of no group have: 6 |E|/|W|_2 in all where the stable rank is at most 2.
    """
    logs, unit = run.seen.log_norm[-1], run.seen.unit[-1]
    rows = unit * np.exp(logs - np.max(logs))[:, None]
    rest, grouped = 0.0, np.zeros(len(logs), bool)
    for sign in run.sides:
        who = run.group(sign)
        grouped |= who
        if np.any(who):
            rest += float(np.sum(np.linalg.svd(rows[who], compute_uv=False)[1:] ** 2))
    rest += float(np.sum(rows[~grouped] ** 2))
    return 6.0 * float(np.sqrt(rest)) / float(np.linalg.norm(rows, 2)) + 1e-12
