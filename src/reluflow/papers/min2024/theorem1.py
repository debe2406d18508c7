"""Theorem 1 of [MMV24]: neurons align by t1; then the loss falls like 1/t and W becomes low-rank."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._late import growth_claims, rank_claims, rate_claims, t2_claims, t2_needed
from reluflow.papers.min2024._run import Run, as_run
from reluflow.papers.min2024.assumption1 import violations
from reluflow.papers.min2024.lemma12 import departures

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected") -> Report:
    r"""Claims. Part 1: by $t_1 = 16\log n/(m\sqrt\mu X_{min})$ every V+ neuron is in S+ or dead, every V- neuron in S-
    or dead; those that start active on a datum of their own class are not dead. Part 2: they stay; $T \le t_2 \le$
    (39); $L(t) \le L(t_2)/(1 + L(t_2)\alpha(t - t_2))$; $|W|_F^2 \le 2|W|_2^2 + 4\sqrt h\,\epsilon W_{max}^2$; and as
    $t\to\infty$ $L \to 0$, $|W| \to \infty$, stable rank at most 2.

    Assumes Assumptions 1 and 2, n >= 2, balance, ReLU, an exponential tail, eps below (28), and neurons in both S+ and
    S-. Other normalisations (mean, log(1+e^-z)) are converted exactly. Events are exact to 100 rtol, far below the
    margins; no slack. Printed: zeta = max (E2), 4 in (28) (E3), n = 1 admitted (E5), limsup = 2 (E8).
    """
    run = as_run(sol, form)
    names = ["labels", "separable", "assumption 2", "balanced", "relu", "both layers", "tail", "eps_A", "eps_B"]
    if form == "corrected":
        names.insert(2, "two data")
    hypotheses = run.hypotheses(*names, "both groups")
    claims = alignment_claims(run)
    gone = departures(run)
    left = gone["own"] + gone["dead"]
    claims.append(
        Claim("departures from S+, S- and the dead cone after arrival", len(left), "=", 0, at=left[0] if left else None)
    )
    claims += t2_claims(run) + growth_claims(run) + rate_claims(run)
    claims += rank_claims(run, limit="=" if form == "printed" else "<=")
    notes = []
    if run.tempo != 1.0:
        notes.append(
            f"Times and losses are in the paper's units: {run.tempo:.6g} t and {1 / run.tempo:.6g} L of the run."
        )
    if run.c.T < run.aligned < np.inf:
        notes.append(
            f"At this scale T = {run.c.T:.4g} ends before the last neuron arrives at t = {run.aligned:.4g}: eps_B "
            f"asks for log eps <= {run.c.log_eps_b:.6g} (with the sharper t1', {run.c.log_eps_b_sharp:.6g}), it is "
            f"{run.c.log_eps:.6g}."
        )
    if not run.geo.separable:
        notes += violations(run.data, run.geo)
    return Report("min2024.theorem1", claims, hypotheses, run.c.shown(), form, notes, until=t2_needed(run))


def alignment_claims(run: Run) -> list[Claim]:
    """Part 1."""
    claims = []
    for sign, name in ((1.0, "V+"), (-1.0, "V-")):
        who = np.flatnonzero(run.sign == sign)
        if len(who) == 0:
            continue
        j = int(who[np.argmax(run.arrival[who])])
        last, at = float(run.arrival[j]), f"neuron {j}"
        on_the_way = not np.isfinite(last)
        text = f"last arrival of {name} ({len(who)} neurons) in S{name[1]} or the dead cone"
        missing = run.ends_before(run.c.t1, "t1") if on_the_way else ""
        claims.append(Claim(text, last, "<=", run.c.t1, at=at, missing=missing))
        if run.form == "corrected":
            text = f"last arrival of {name}, against the sharper t1'"
            missing = run.ends_before(run.c.t1_sharp, "t1'") if on_the_way else ""
            claims.append(Claim(text, last, "<=", run.c.t1_sharp, at=at, missing=missing))
    own = np.sign(run.data.y)[None, :] == run.sign[:, None]
    started = np.any((run.seen.bits_of(slice(0, 1))[0] >= 1.0) & own, axis=1)
    lost = [j for j in np.flatnonzero(started) if run.ends[j] != "own"]
    text = (
        f"neurons active on their own class at the start ({int(np.sum(started))}) that are not in its cone at the end"
    )
    missing = run.ends_before(run.c.t1, "t1") if lost and not np.isfinite(np.max(run.arrival[lost])) else ""
    claims.append(Claim(text, len(lost), "=", 0, at=None if not lost else f"neuron {lost[0]}", missing=missing))
    return claims
