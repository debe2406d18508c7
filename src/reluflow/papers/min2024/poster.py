"""The poster of [MMV24]: its four boxed statements and its formula for the motion of directions."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._errors import log_gaps
from reluflow.papers.min2024._late import before_t2, rank_claims, rate_claims, t2_needed
from reluflow.papers.min2024._run import as_run, log_abs, worst

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected") -> Report:
    r"""Claims: directions move by $s_j P_w x_a$ (the poster prints no sign $s_j$: false for V-); alignment takes
    $O(\log n/\sqrt\mu)$, ends at $\Theta(\frac1n\log\frac1{\sqrt h\epsilon})$, the loss falls like O(1/t), W has
    asymptotic rank at most 2. Cosines $\ge \mu$ within and $\le -\mu$ across classes define $\mu$; that it is positive
    is the hypothesis.

    The O and Theta constants are not named: they are fitted, and compared with what the appendix's constants amount to.
    The direction formula is judged at t = 0, relative to $|x_a|$, where Lemma 4's error is $2 n X_{max}\max|f|$.
    """
    run = as_run(sol)
    geo, c = run.geo, run.c
    claims = [_direction(run, form)]
    root = np.sqrt(geo.mu) if geo.separable else np.nan
    first = float(max(run.t2.values()))
    horizon = np.log(geo.n) / root if geo.n > 1 else np.nan
    log_term = (-0.5 * np.log(c.h) - c.log_eps) / geo.n
    claims += [
        Claim(
            "alignment time over log n/sqrt(mu)",
            run.aligned / horizon,
            "<=",
            c.t1 / horizon,
            kind="fitted",
            missing="" if np.isfinite(run.aligned) else run.ends_before(c.t1, "t1"),
        ),
        Claim(
            "t2 over (1/n) log(1/(sqrt(h) eps)), from below",
            min(run.t2.values()) / log_term,
            ">=",
            1 / (4 * geo.x_max),
            kind="fitted",
            missing=before_t2(run) if not np.isfinite(min(run.t2.values())) else "",
        ),
        Claim(
            "t2 over (1/n) log(1/(sqrt(h) eps)), from above",
            first / log_term,
            "<=",
            8 * geo.n / (root * min(n for n in (geo.n_plus, geo.n_minus) if n) * geo.x_min),
            kind="fitted",
            missing=before_t2(run),
        ),
        *rate_claims(run)[:1],
        *rank_claims(run)[-1:],
    ]
    hypotheses = run.hypotheses(
        "separable", "two data", "balanced", "relu", "both layers", "tail", "eps_A", "eps_B", "both groups"
    )
    return Report("min2024.poster", claims, hypotheses, c.shown(), form, until=t2_needed(run))


def _direction(run, form) -> Claim:
    """|d/dt w/|w| - claimed| / |x_a| at the start, over neurons that are not dead."""
    signed = np.sign(run.data.y)[:, None] * run.data.x
    x_a = run.seen.bits[0] @ signed
    size = np.linalg.norm(x_a, axis=1)
    unit = run.seen.unit[0]
    across = x_a - np.sum(x_a * unit, axis=1)[:, None] * unit
    gap = log_gaps(run)[0]
    if form == "printed":  # claims + P x_a for every neuron: for V- the true motion is the opposite
        gap = np.where(run.sign < 0, np.logaddexp(gap, np.log(2.0) + log_abs(np.linalg.norm(across, axis=1))), gap)
    most, where = worst(np.where(size > 0, gap - log_abs(size), np.nan))
    text = "P x_a" if form == "printed" else "sign(v_j) P x_a"
    at = f"neuron {where[0]}" if where else None
    text = f"motion of directions at the start against {text}, over |x_a|"
    if not where:  # every neuron starts dead
        return Claim(text, np.nan, "<=", np.nan, log=True)
    error = np.log(2 * run.geo.n * run.geo.x_max / np.min(size[size > 0])) + run.log_f[0]
    return Claim(text, most, "<=", error, log=True, at=at)
