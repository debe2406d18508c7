"""Lemmas 5.4, B.1, B.2, B.4 of Kou et al.: leaky ReLU coefficients stay balanced."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions, class_sums, leaky_balance, least_ratio, log_tau_pattern
from reluflow.papers.kou2023._path import path

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""$\sum_r |\rho_{j,r,i}| \ge c\gamma^2 \sum_r |\rho_{j',r,i'}|$ (B.1), $|\rho_{j,r,i}| \ge c\gamma^4
    |\rho_{j',r',i'}|$ (B.4), and up to $T_1$ with $|\ell'| \ge \bar c$: $|\rho| \ge \bar c \gamma R^{-2} |\rho'|$
    (B.2).

    c is measured. What B.1 may be is named by its proof: $c \le \frac16 \min(1, \log(1 + R^{-2}e^{-(1+\gamma)\beta}C')
    / \log(1 + \gamma e^{2\beta}C'))$ and $c \le \bar c R^{-2}$, with C' = T_pat h and c-bar = least |l'| up to T_pat
    measured. Slack: none but what rounding does to a ratio of coefficients.
    """
    run = path(sol, steps)
    at, frames = run.at, run.trained
    c = leaky_balance(run)
    sums, b1 = least_ratio(class_sums(run), frames)
    single, b4 = least_ratio(np.abs(run.rho), frames)
    early = np.flatnonzero((run.log_s > -np.inf) & (run.log_s <= max(run.log_pattern, run.log_s[frames[0]])))
    force = float(np.min(1.0 / (1.0 + np.exp(run.margin[early])))) if len(early) else np.nan
    least, b2 = least_ratio(np.abs(run.rho), early) if len(early) else (np.nan, int(frames[0]))
    c_prime = np.exp(log_tau_pattern(run))
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.log1p(at.ratio**-2 * np.exp(-(1 + at.gamma) * at.beta) * c_prime)
        far = np.log1p(at.gamma * np.exp(2 * at.beta) * c_prime)
    named = min((1.0 if not far > 0 else min(1.0, float(near / far))) / 6.0, force / at.ratio**2)
    slack = 2 * run.error / float(np.abs(run.rho[frames]).max())
    place = [f"s = e^{run.log_s[f]:.6g}" for f in (b1, b2, b4)]
    claims = [
        Claim("B.1: c = least ratio of sums / gamma^2", c, ">=", named, at=place[0], kind="fitted"),
        Claim("B.2: least ratio up to T_pat", least, ">=", force * at.gamma / at.ratio**2, slack=slack, at=place[1]),
        Claim("B.4: least ratio of single coefficients", single, ">=", sums * at.gamma**2, slack=slack, at=place[2]),
    ]
    constants = {**at.report(), "C'": c_prime, "least |l'| to T_pat": force, "ratio of sums": sums, "ratio": single}
    third = at.kappa / (at.gamma**3 * c) if c > 0 else np.inf
    small = Claim("gamma^-3 kappa/c, which the 1/6 of the proof needs", third, "<=", 0.5)
    return Report("kou2023.lemma5_4", claims, [*assumptions(at, leaky=True), small], constants)
