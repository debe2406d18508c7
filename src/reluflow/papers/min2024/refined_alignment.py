"""[MMV24], remark after Theorem 1: once in S+, a neuron is drawn to x+ itself (in S- to x-)."""

from itertools import pairwise

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._errors import log_bounds
from reluflow.papers.min2024._late import NAME
from reluflow.papers.min2024._run import as_run, log_abs, worst

needs = "flow"
WAIT = 5.0  # in units of 1/|x+|: angles are then e^-5 of what they were, still far above rounding


def check(sol) -> Report:
    r"""Claims, each side. (a) In its own cone and while $\max|f| \le 1$, $\cos(w_j, x_+)$ falls no faster than Lemma
    10's error, $2 n X_{max}\max|f|$. (b) While outputs are negligible, $\log\tan(\mathrm{angle}/2)$ falls at rate
    exactly $|x_+|$: over $5/|x_+|$ from the last arrival it falls by 5. (c) From there on the largest angle $\theta$
    stays below the solution of $\theta' = -|x_+|\sin\theta + 2nX_{max}\max|f|$, which Lemma 4 gives: it falls to
    $2nX_{max}\max|f|/|x_+|$, before outputs matter to nothing.

    Slack of (b): event and state accuracy 100 rtol relative to the angle, and Lemma 4's error over the wait, $2 n
    X_{max}\max|f|\cdot 5/|x_+|$, relative to the sine of the angle left. Slack of (c): 100 rtol.
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
        at = run.where(where[0]) if where else None
        claims.append(Claim(text, np.exp(min(most, 700.0)) if where else 0.0, "<=", 1.0, at=at))
        claims += _pace(run, who, axis, size, name)
        claims.append(_fall(run, who, axis, size, name))
    hypotheses = run.hypotheses("separable", "balanced", "relu", "both layers", "both groups")
    return Report("min2024.refined_alignment", claims, hypotheses, run.c.shown())


def _half_tan(unit, axis) -> np.ndarray:
    """tan(angle/2) = |u - x| / |u + x|, without the cancellation of 1 - cos."""
    return np.linalg.norm(unit - axis, axis=-1) / np.linalg.norm(unit + axis, axis=-1)


def _pace(run, who, axis, size, name) -> list[Claim]:
    start = float(np.max(run.arrival[who]))
    end = start + WAIT / size
    text = f"fall of log tan(angle to x{name}, halved) over 5/|x{name}| from the last arrival, worst neuron"
    if end > run.t_end:
        return [Claim(text, np.nan, "=", WAIT, missing=run.ends_before(end, "the last arrival and 5/|x|"))]
    seen = run.at(np.array([start, end]) / run.tempo)
    outputs = float(np.exp(min(np.max(seen.log_outputs), 1.0)))
    if outputs > 1.0:
        return [Claim(text, np.nan, "=", WAIT, note="outputs pass 1 before that")]
    tan = _half_tan(seen.unit[:, who], axis)
    if not np.all(tan > 0):
        return [Claim(text, np.nan, "=", WAIT, note="a neuron is along x to every digit: its angle has no logarithm")]
    fall = np.log(tan[0]) - np.log(tan[1])
    left = float(np.sin(2 * np.arctan(np.min(tan[1]))))
    slack = 100 * run.sol.stats.rtol / left + 2 * run.geo.n * run.geo.x_max * outputs * WAIT / size / left
    j = int(np.argmax(np.abs(fall - WAIT)))
    return [Claim(text, fall[j], "=", WAIT, slack=slack, at=f"neuron {int(np.flatnonzero(who)[j])}")]


def _fall(run, who, axis, size, name) -> Claim:
    """(c): the angle against the solution of the comparison equation, moment by moment while max|f| <= 1.

    One interval: the equation without its second term is solved exactly, tan(theta/2) e^{-|x| dt}, and what the second
    term adds is at most its largest value times dt, as angles below a right angle only come closer to each other.
    """
    text = f"largest angle to x{name} in S{name} over its bound from Lemma 4, while max|f| <= 1"
    start = float(np.max(run.arrival[who]))
    inside = np.flatnonzero((run.tau >= start) & (run.log_f <= 0))
    if len(inside) < 2:
        return Claim(text, np.nan, "<=", 1.0, missing=run.ends_before(run.c.t1, "t1"))
    theta = 2 * np.arctan(np.max(_half_tan(run.seen.unit[:, who], axis), axis=1))
    error = 2 * run.geo.n * run.geo.x_max * np.exp(run.log_f)
    bound, worst_, at, slack = float(theta[inside[0]]), -np.inf, int(inside[0]), 100 * run.sol.stats.rtol
    ratio, room = 1.0, 0.0
    for a, b in pairwise(inside):
        dt = float(run.tau[b] - run.tau[a])
        bound = 2 * np.arctan(np.tan(min(bound, 3.0) / 2) * np.exp(-size * dt)) + max(error[a], error[b]) * dt
        gap = theta[b] / max(bound, 1e-300) - 1.0 - slack / max(bound, 1e-300)
        if gap > worst_:
            worst_, at, ratio, room = gap, int(b), theta[b] / max(bound, 1e-300), slack / max(bound, 1e-300)
    return Claim(text, ratio, "<=", 1.0, slack=room, at=run.where(at))
