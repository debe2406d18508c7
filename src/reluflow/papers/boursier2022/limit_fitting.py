"""Handbook 4.2 and 4.3 for [BPF22]: each class is fitted along a logistic curve, at a time known to O(1)."""

from functools import partial

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import Class, hypotheses
from reluflow.papers.boursier2022._track import State, worst
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol) -> Report:
    r"""Claim: $u_\pm(t) = u_\infty/(1 + e^{-2|D_\pm|(t - t_\pm)})$ with $t_\pm = [\ell + \frac12\ln(u_\infty/\sum
    A_j^2)]/|D_\pm|$; the loss of a class falls by a fraction f at $t_\pm + \ln((1-\sqrt{1-f})/\sqrt{1-f})/(2|D_\pm|)$,
    f = 1%, 10%, 50%, 99%.

    Limits in lambda: the next order is the share of the stray neurons. So the slack is 100 rtol and twice their squared
    norm at the end over $u_\infty$; for a time, three times their squared norm then over u', which is what they change
    in the outputs, in the growth, and in what is left to fit. Until its last crossing a set does not follow the curve
    yet: its size then over $u_\infty$ is slack too. One norm per class.
    """
    track = run_of(sol)
    const, limit = track.const, track.const.limit
    claims = []
    state = track.at(track.end)
    stray = float(track.u(state, const.others)[0])
    for name, S, cls in (("+", const.S_plus, const.plus), ("-", const.S_minus, const.minus)):
        saddle = next((s for s in limit.saddles if s.data == tuple(np.flatnonzero(cls.members).tolist())), None)
        half = saddle.half(const.ell) if saddle is not None else None
        if half is None:
            claims.append(Claim(f"u{name}(t)", np.nan, "=", 0.0))
            continue
        with np.errstate(over="ignore"):
            curve = cls.u / (1 + np.exp(-2 * cls.size * (track.frames.t - half)))
        error, when = worst(np.abs(track.u(track.frames, S) - curve) / cls.u, track.frames.t)
        last = float(np.max(limit.early.last[S], initial=0.0))
        early = float(np.max(track.u(track.at(np.unique([0.0, min(last, track.end)])), S)))
        noise = track.tol + (2 * stray + early) / cls.u
        text = f"u{name}(t) against the logistic curve, worst over u_inf"
        claims.append(Claim(text, error, "=", 0.0, slack=noise, kind="limit", at=when))
        first = 0.5 * const.weight * float(np.sum(const.y[cls.members] ** 2))
        for f in (0.01, 0.1, 0.5, 0.99):
            level = first * (1 - f)
            t = track.first(partial(_below, track, cls, level), 0.0)
            root = np.sqrt(1 - f)
            predicted = half + np.log((1 - root) / root) / (2 * cls.size)
            then = float(track.u(track.at(t), const.others)[0]) / cls.u if np.isfinite(t) else 0.0
            slack = 3 * (track.tol + then) / (2 * cls.size * (1 - root) * root) + track.tol * half
            text = f"class {name} has lost {f:.0%} of its loss at"
            missing = track.ends_before(predicted + slack, "when it is predicted") if np.isinf(t) else ""
            claims.append(Claim(text, t, "=", predicted, slack=slack, kind="limit", missing=missing))
    return Report(
        name="boursier2022.limit_fitting",
        hypotheses=hypotheses(const),
        claims=claims,
        until=track.fitted,
        constants=const.numbers(),
    )


def _below(track, cls: Class, level: float, state: State) -> np.ndarray:
    return level - track.class_loss(state, cls)
