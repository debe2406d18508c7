"""Handbook 4.1 for [BPF22]: crossing times and amplitudes of the alignment phase, in closed form as lambda -> 0."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from reluflow import observe
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import Constants, hypotheses
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol) -> Report:
    r"""Claim: while outputs are 0 each neuron moves alone; a coordinate of the wrong sign dies at the clock value
    $\eta_k = n c_k(0)/(|y_k|\nu_k^2)$, $\eta = \int|w|$, hence at a time in closed form; after its last crossing
    $|w_j(t)| \to \lambda A_j e^{|D_{P_j}|t}$.

    All crossings, as the signs of $\langle w_j, x_k\rangle$ show them, are compared with `rf.limit(problem).early`,
    and $\log|w_j|$ midway to the first exit, for neurons whose direction has settled. Hypothesis: at this scale the
    last crossing comes so long before the first exit that outputs are still small. Limits in lambda: slack is 100
    rtol of the time, and the outputs met by then over the least label, times t, which is how far a drive wrong by
    that much moves a crossing.
    """
    track = run_of(sol)
    const, early = track.const, track.const.limit.early
    off, predicted = turned_off(sol), early.events["off"]
    last = float(np.max(predicted.t, initial=0.0))
    missing = track.ends_before(last, "the last crossing") if len(off) < len(predicted) else ""
    count = Claim("crossings", len(off), "=", len(predicted), kind="limit", missing=missing)
    claims = [count]
    if len(off) == len(predicted) and len(off):
        order = [np.lexsort((e.datum, e.neuron)) for e in (off, predicted)]
        same = all(
            np.array_equal(getattr(off, k)[order[0]], getattr(predicted, k)[order[1]]) for k in ("neuron", "datum")
        )
        gap = np.abs(off.t[order[0]] - predicted.t[order[1]])
        k = int(np.argmax(gap))
        t = float(off.t[order[0]][k])
        drive = float(np.max(np.abs(track.at(np.max(off.t)).h))) / float(np.min(np.abs(const.y)))
        slack = (track.tol + 10 * drive) * max(1.0, t)
        claims += [
            Claim("the same neurons and data cross", float(same), "=", 1.0),
            Claim("crossing times, worst difference", gap[k], "=", 0.0, slack=slack, kind="limit", at=t),
        ]
    first = min(track.exits, default=0.0)
    if 0 < first <= track.end:
        state = track.at(0.5 * first)
        grows = early.rate > 0
        # An amplitude is reached up to e^{-2 rate (t - last)}, and moved by rate times the outputs over the labels.
        left = np.exp(-2 * early.rate * (0.5 * first - early.last))
        error = np.abs(state.rho[0] - (-const.ell + early.log_amplitude + early.rate * 0.5 * first))
        drive = float(np.max(np.abs(state.h))) / float(np.min(np.abs(const.y)))
        slack = track.tol * max(1.0, 0.5 * first) + 10 * drive
        over = np.where(grows, error - 100 * left, -np.inf)
        j = int(np.argmax(over))
        text = "log|w_j| midway to the first exit, worst difference beyond what has not settled"
        claims.append(Claim(text, max(float(over[j]), 0.0), "=", 0.0, slack=slack, kind="limit", at=j))
    elif first > 0:
        missing = track.ends_before(0.5 * first, "half the time to the first exit")
        claims.append(Claim("log|w_j| midway to the first exit", np.nan, "=", 0.0, kind="limit", missing=missing))
    return Report(
        name="boursier2022.limit_alignment",
        hypotheses=[*hypotheses(const)[:1], *hypotheses(const)[5:8], _small_outputs(const, last)],
        claims=claims,
        constants={**const.numbers(), "last crossing": float(np.max(early.last, initial=0.0))},
        until=max(last, 0.5 * first),
    )


def _small_outputs(const: Constants, last: float) -> Claim:
    """Outputs are still small at the last crossing: sum lambda^2 A_j^2 e^{2 rate t} |x| by then, over the least label.
    That a hundredth is small is ours."""
    early = const.limit.early
    sizes = 2 * (-const.ell + early.log_amplitude + early.rate * last)
    logs = float(np.logaddexp.reduce(sizes)) + 0.5 * float(np.log(np.max(const.nu2)))
    least = float(np.log(np.min(np.abs(const.y))))
    return Claim("outputs at the last crossing, over the labels", logs - least, "<=", float(np.log(0.01)), log=True)


class Crossings(NamedTuple):
    """When which neuron stopped being active on which datum."""

    t: np.ndarray
    neuron: np.ndarray
    datum: np.ndarray

    def __len__(self) -> int:
        return len(self.t)


def turned_off(sol) -> Crossings:
    """Every change of a pattern by which a datum is lost, from the weights."""
    found = [
        (b.start, j, i)
        for j, row in enumerate(observe.patterns(sol))
        for a, b in pairwise(row)
        for i in sorted(set(a.on) - set(b.on))
    ]
    t, neuron, datum = zip(*sorted(found), strict=True) if found else ((), (), ())
    return Crossings(np.array(t, float), np.array(neuron, int), np.array(datum, int))
