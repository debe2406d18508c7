"""[MMV24], remark after Theorem 1: once in S+, a neuron is drawn to x+ itself (in S- to x-)."""

from __future__ import annotations

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.observe._view import View
from reluflow.papers.min2024._errors import log_bounds
from reluflow.papers.min2024._late import NAME
from reluflow.papers.min2024._run import as_run, log_abs, worst

needs = "flow"
WAIT = 5.0  # in units of 1/|x+|: angles are then e^-5 of what they were, still far above rounding


def check(sol) -> Report:
    r"""Claims, each side. (a) In its own cone and while $\max|f| \le 1$, $\cos(w_j, x_+)$ falls no faster than Lemma
    10's error, $2 n X_{max}\max|f|$. (b) While outputs are negligible, $\log\tan(\mathrm{angle}/2)$ falls at rate
    exactly $|x_+|$: over $5/|x_+|$ from the last arrival it falls by 5. (c) The largest angle to $x_+$ tends to 0
    before outputs matter.

    Slack of (b): event and state accuracy 100 rtol relative to the angle, and $4 n X_{max}\max|f|\cdot 5/|x_+|$ for the
    forces' distance from 1.
    """
    run = as_run(sol)
    claims = []
    bounds = log_bounds(run)
    for sign in run.sides:
        who = run.group(sign)
        total = run.geo.plus if sign > 0 else run.geo.minus
        size = float(np.linalg.norm(total))
        if not np.any(who) or size == 0:
            continue
        axis, name = total / size, NAME[sign]
        unit = run.seen.unit[:, who]
        cos = unit @ axis
        pull = sign * run.pull[:, who]
        rate = pull @ axis - np.sum(pull * unit, axis=-1) * cos
        arrived = (run.tau[:, None] >= run.arrival[who]) & np.isfinite(bounds)[:, None]
        logs = np.where(arrived & (rate < 0), log_abs(rate) + run.force[1][:, None] - bounds[:, None], np.nan)
        # A rate below the rounding of its two terms has no sign.
        noise = np.linalg.norm(pull, axis=-1) * 8 * np.finfo(float).eps
        logs = np.where(np.abs(rate) > noise, logs, np.nan)
        most, where = worst(logs)
        text = f"fall of cos(w_j, x{name}) in S{name}, over 2 n Xmax max|f|"
        claims.append(Claim(text, np.exp(most) if where else 0.0, "<=", 1.0, at=run.where(where[0]) if where else None))
        claims += _pace(run, who, axis, size, name)
        tan = _half_tan(unit, axis)
        quiet = np.flatnonzero(np.exp(np.minimum(run.log_f, 0)) <= 0.01)
        k = int(quiet[-1]) if len(quiet) else 0
        angle = 2 * np.arctan(np.max(tan[k]))
        claims.append(
            Claim(
                f"largest angle to x{name} in S{name}, just before max|f| = 0.01",
                angle,
                "<",
                0.1,
                kind="limit",
                at=run.where(k),
            )
        )
    hypotheses = run.hypotheses("separable", "balanced", "relu", "both layers", "both groups")
    return Report("min2024.refined_alignment", claims, hypotheses, run.c.shown())


def _half_tan(unit, axis) -> np.ndarray:
    """tan(angle/2) = |u - x| / |u + x|, without the cancellation of 1 - cos."""
    return np.linalg.norm(unit - axis, axis=-1) / np.linalg.norm(unit + axis, axis=-1)


def _pace(run, who, axis, size, name) -> list[Claim]:
    start = float(np.max(run.arrival[who]))
    end = start + WAIT / size
    if end > run.t_end:
        return []
    # A hair after the arrival: at the event itself bits have changed already, the direction has not.
    seen = View(run.sol, t=np.array([start, end]) / run.tempo)
    tan = _half_tan(seen.unit[:, who], axis)
    fall = np.log(tan[0]) - np.log(tan[1])
    j = int(np.argmax(np.abs(fall - WAIT)))
    outputs = float(np.exp(np.max(seen.log_outputs)))
    slack = 100 * run.sol.stats.rtol / float(np.min(tan[1])) + 4 * run.geo.n * run.geo.x_max * outputs * WAIT / size
    text = f"fall of log tan(angle to x{name}, halved) over 5/|x{name}| from the last arrival, worst neuron"
    return [Claim(text, fall[j], "=", WAIT, slack=slack, at=f"neuron {int(np.flatnonzero(who)[j])}")]
