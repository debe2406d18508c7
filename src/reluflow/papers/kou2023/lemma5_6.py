"""Lemmas 5.6 and B.5 of Kou et al.: a leaky ReLU network takes its final pattern and keeps it."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions, frozen, least_ratio, log_tau_pattern
from reluflow.papers.kou2023._path import Path, path

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""There is $T_1 = C' nm/(\eta R_{max}^2)$ with $sign\langle w_{j,r}, x_i\rangle = j y_i$ for all $t \ge T_1$.

    T_pat is the last change of a bit in the run's own list of events (none is left out, or C' is unmeasured); the signs
    are read at every frame from there on. C' = T_pat h is judged against the proof's own constant, see `latest`.
    """
    run = path(sol, steps)
    at = run.at
    kept = frozen(run)
    toward = run.z[kept] * np.outer(at.sign, at.y)
    place = None
    if len(kept):
        f, r, i = np.unravel_index(int(np.argmin(toward)), toward.shape)
        place = (f"s = e^{run.log_s[kept[f]]:.6g}", int(r), int(i))
    log_c, log_latest = log_tau_pattern(run), latest(run)
    claims = [
        Claim("frames after the last switch", np.nan if np.isnan(run.log_pattern) else len(kept), ">=", 1.0),
        Claim(
            "signs unlike j y_i in them",
            np.sum(toward <= 0) if len(kept) else np.nan,
            "=",
            0.0,
            at=place,
            missing=before_pattern(run),
        ),
        Claim("C' = T_pat h", log_c, "<=", log_latest, log=True),
    ]
    with np.errstate(divide="ignore"):
        constants = {**at.report(), "C'": float(np.exp(log_c)), "2 beta/gamma": float(np.divide(2 * at.beta, at.gamma))}
    return Report("kou2023.lemma5_6", claims, assumptions(at, leaky=True), constants)


def before_pattern(run: Path) -> str:
    """What a run lacks that ends before the time by which the proof has every sign right: bits may still change."""
    last = latest(run)
    return f"a run up to t h = e^{last:.4g}" if run.log_tau[-1] < last else ""


def latest(run: Path) -> float:
    r"""log of the latest T_pat h that the proof of B.5 allows; nan where it allows none.

    With q the measured least ratio of two coefficients (B.4), neighbours add at most kappa/q of a coefficient, so signs
    are right once $\gamma(1 - \kappa/q) I_i > \beta$, $I_i = h_i \sum |\ell'_i|$. As $M_i \le (1+\gamma)\beta + a I_i$,
    $a = (1+\gamma)(1+\kappa/q)$, Lemma H.2 gives $I_i \ge a^{-1}\log(1 + a e^{-(1+\gamma)\beta}\tau/(2R^2))$. One step
    more, as iterations are whole.
    """
    at = run.at
    q = least_ratio(np.abs(run.rho), run.trained)[0]
    if not (at.gamma > 0 and q > at.kappa):
        return float("nan")
    a = (1 + at.gamma) * (1 + at.kappa / q)
    needed = a * at.beta / (at.gamma * (1 - at.kappa / q))
    tau = np.log(2 * at.ratio**2 / a) + (1 + at.gamma) * at.beta + np.log(np.expm1(min(needed, 700.0)))
    return float(np.logaddexp(tau, np.log(at.h))) if at.h > 0 else float(tau)
