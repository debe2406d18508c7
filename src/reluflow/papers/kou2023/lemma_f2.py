"""Lemma F.2 of Kou et al.: on orthogonal data the start decides a ReLU network's pattern and slopes."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions, in_tail
from reluflow.papers.kou2023._measure import worst
from reluflow.papers.kou2023._path import path

needs = "solution"
forms = ("corrected", "printed")


def check(sol, form: str = "corrected", steps: int = 300) -> Report:
    r"""$x_i$ orthogonal. Started below 0: $\rho_{j,r,i} = 0$ for ever. Other class, started at or above 0: off by T,
    then frozen, $|\rho| \le \beta + h$. Own class, started at or above 0: on for ever, all alike, $\rho_{y_i,r,i}/\log
    t \to m/|S_i^{(0)}|$, and with $h_i = \eta|x_i|^2/(nm)$

        log(1 + (|S_i|/m) h_i e^-beta t/2) <= (1/m) sum_{r in S_i} rho_{y_i,r,i} <= log(1 + B e^B t),
        B = h_i e^{2 beta}.

    Printed: the lower bound without |S_i|/m. T is judged by the proof's contradiction step: a unit at beta falls at the
    rate |l'| |x_i|^2/R_max^2, so T h <= beta R^2/(least |l'| up to T) + h. The slope is read over the last decade, its
    slack the change from the decade before (deviations die like 1/t) and the run's error.
    """
    run = path(sol, steps)
    at, frames = run.at, run.trained
    log_s, rho = run.log_s[frames], run.rho[frames]
    below, other = at.z0 < 0, ~at.own & (at.z0 >= 0)
    quiet = np.where(below, np.abs(rho), np.nan)
    error = np.minimum(run.error, 1e-9 * np.abs(rho).max(axis=(1, 2)))[:, None, None]
    claims = [worst("|rho| of units that start below 0", quiet, "<=", 0.0, slack=error, at=log_s)]
    force = 1.0 / (1.0 + np.exp(np.minimum(run.margin, 700.0)))
    upto = run.log_s <= max(run.log_pattern, -700.0)
    latest = at.beta * at.ratio**2 / float(force[upto].min()) + at.h if np.any(upto) else at.h
    tau = float(np.exp(run.log_pattern)) * at.unit
    kept = log_s >= run.log_pattern
    claims += [
        Claim("T_pat h", tau, "<=", latest, slack=1e-12 * latest),
        worst(
            "<w, x_i> of other-class units after T",
            np.where(other, run.z[frames][kept], np.nan),
            "<",
            0.0,
            slack=run.error if at.eta == 0 else 0.0,
            at=log_s[kept],
        ),
        worst(
            "|rho| of other-class units",
            np.where(other, np.abs(rho), np.nan),
            "<=",
            at.beta + at.h,
            slack=run.error,
            at=log_s,
        ),
    ]
    if np.any(kept):
        moved = np.where(other, np.abs(rho[kept] - rho[kept][:1]), np.nan)
        claims.append(worst("change of them after T", moved, "<=", 0.0, slack=run.error, at=log_s[kept]))
    least, most = (np.where(at.started, rho, fill) for fill in (np.inf, -np.inf))
    seen = np.any(at.started, axis=0)
    spread = np.where(seen, most.max(axis=1), np.nan) - np.where(seen, least.min(axis=1), np.nan)
    claims.append(worst("spread of rho_{y_i,r,i} over S_i^(0)", spread, "<=", 0.0, slack=run.error, at=log_s))
    average = np.where(at.started, rho, 0.0).sum(axis=1) / at.m
    share = 1.0 if form == "printed" else at.size / at.m
    log_hs = log_s[:, None] + np.log(at.norm2 / (at.n * at.m))
    big = at.eta * at.norm2 / (at.n * at.m) * np.exp(2 * at.beta)
    with np.errstate(divide="ignore"):
        lower = np.logaddexp(0.0, np.log(0.5 * share) - at.beta + log_hs)
    upper = np.logaddexp(0.0, 2 * at.beta + big + log_hs)
    text = "(1/m) sum over S_i of rho_{y_i,r,i}"
    claims.append(worst(f"{text}, lower bound", average, ">=", lower, slack=error[:, 0], at=log_s))
    claims.append(worst(f"{text}, upper bound", average, "<=", upper, slack=error[:, 0], at=log_s))
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.where(at.started, at.size / at.m, np.nan)
    before, now = (unit * v for v in run.slopes(run.rho))
    r, i = np.unravel_index(int(np.nanargmax(np.abs(now - 1.0))), now.shape)
    text = "slope of rho_{y_i,r,i} in log t, times |S_i|/m"
    slack = abs(now[r, i] - before[r, i]) + 2 * run.error
    claims.append(Claim(text, now[r, i], "=", 1.0, slack=slack, kind="limit", at=f"unit {r}, datum {i}"))
    hypotheses = [
        *assumptions(at, leaky=False),
        Claim("kappa", at.kappa, "=", 0.0),
        Claim("least |S_i^(0)|", at.size.min(), ">=", 1.0),
    ]
    return Report("kou2023.lemma_f2", in_tail(run, claims), hypotheses, {**at.report(), "T h": tau}, form)
