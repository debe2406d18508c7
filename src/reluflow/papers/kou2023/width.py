"""Remark after Lemma 5.8 of Kou et al.: margin over log t forgets the width."""

import numpy as np

from reluflow import init
from reluflow.claim import Claim, Report
from reluflow.methods import Flow
from reluflow.papers.kou2023._constants import final_limit
from reluflow.papers.kou2023._path import Path, path
from reluflow.papers.kou2023._setting import setting
from reluflow.problem import Problem
from reluflow.solve import solve

needs = "problem"
RTOL = 1e-9


def check(problem, widths=(8, 32, 128), log_t: float = 230.0, seed: int = 0) -> Report:
    r"""$y_i f(W^{(t)}, x_i)/\log t$ has, as $t \to \infty$, no correlation with the width m: it tends to 1 for every m.

    The same data, activation and initial scale are solved by the *flow* up to e^log_t for each m. The ratio itself
    still carries -log(n alpha_i)/log t, and alpha is proportional to m; so the limit is read as dM_i/d log s, from
    midway between the last switch of a bit and the end on: a switch changes alpha, and after it M_i - log s tends to
    its new limit like s^-rate (`limits`). Slack: 100 rtol of both outputs, and what is left of that at the first of the
    two moments, over the difference of log s. A run whose last switch is in the last tenth of log s is unfinished.
    """
    at = setting(problem)
    scale = float(np.log(2.0 * np.sqrt(np.mean(at.w0**2))))
    claims, hypotheses, shown, limits = [], [], {}, []
    for m in widths:
        start = init.fixed_output(2 * m, problem.data.d, log_scale=scale, seed=seed)
        other = Problem(problem.data, start, loss="logistic", activation=problem.activation, train="first")
        run = path(solve(other, Flow(rtol=RTOL), log_t1=log_t), steps=0)
        if at.gamma == 0:
            hypotheses.append(Claim(f"least |S_i^(0)|, m = {m}", run.at.size.min(), ">=", 1.0))
        shown[f"M/log s, m = {m}"] = float(run.margin[-1].mean() / run.log_s[-1])
        slope, slack, missing = _slope(run)
        i = int(np.argmax(np.abs(slope - 1.0)))
        text = f"M_i/log t extrapolated, m = {m}"
        claims.append(Claim(text, slope[i], "=", 1.0, slack, kind="limit", at=f"datum {i}", missing=missing))
        limits.append(slope)
    spread = float(np.max(np.ptp(np.array(limits), axis=0)))
    slack = 2 * max(c.slack for c in claims)
    missing = next((c.missing for c in claims if c.missing), "")
    claims.append(Claim("spread over widths, worst datum", spread, "<=", 0.0, slack, kind="limit", missing=missing))
    notes = ["Measured on the flow, not on descent."]
    return Report("kou2023.width", claims, hypotheses, {**at.report(), **shown}, notes=notes)


def _slope(run: Path) -> tuple[np.ndarray, float, str]:
    """dM_i/d log s after the last switch, its error, and what is missing where that is too late."""
    end, switch = run.log_s[-1], max(run.log_pattern, 0.0)
    if not switch <= 0.9 * end:
        missing = f"a bit changes at log s = {switch:.4g}, and the run ends at {end:.4g}"
        return np.full(run.at.n, np.nan), 0.0, missing
    k = int(np.searchsorted(run.log_s, 0.5 * (switch + end)))
    offset = (run.margin - run.log_s[:, None])[run.log_s >= switch]
    rate = final_limit(run).rate
    # NaN where a datum is active on no unit: there is no limit that anything is left of.
    decayed = 0.0 if np.isnan(rate) else np.exp(-min(max(rate, 0.0), 1.0) * (run.log_s[k] - switch))
    left = float(np.max(np.ptp(offset, axis=0)) * decayed)
    apart = end - run.log_s[k]
    return (run.margin[-1] - run.margin[k]) / apart, (200 * RTOL * end + left) / apart, ""
