"""Remark after Lemma 5.8 of Kou et al.: margin over log t forgets the width."""

from __future__ import annotations

import numpy as np

from reluflow import init
from reluflow.claim import Claim, Report
from reluflow.methods import Flow
from reluflow.papers.kou2023._path import path
from reluflow.papers.kou2023._setting import setting
from reluflow.problem import Problem
from reluflow.solve import solve

needs = "problem"


def check(problem, widths=(8, 32, 128), log_t: float = 230.0, seed: int = 0) -> Report:
    r"""$y_i f(W^{(t)}, x_i)/\log t$ has, as $t \to \infty$, no correlation with the width m: it tends to 1 for every m.

    The same data, activation and initial scale are solved by the *flow* up to e^log_t for each m. The ratio itself
    still carries -log(n alpha_i)/log t, and alpha is proportional to m; so it is extrapolated in 1/log s from the last
    two of three frames, exactly linear there up to 1/s. Slack: 100 rtol of the outputs through that extrapolation.
    """
    at = setting(problem)
    rtol = 1e-9
    scale = float(np.log(2.0 * np.sqrt(np.mean(at.w0**2))))
    claims, hypotheses, shown, limits = [], [], {}, []
    for m in widths:
        start = init.fixed_output(2 * m, problem.data.d, log_scale=scale, seed=seed)
        other = Problem(problem.data, start, loss="logistic", activation=problem.activation, train="first")
        run = path(solve(other, Flow(rtol=rtol), log_t1=log_t), steps=0)
        if at.gamma == 0:
            hypotheses.append(Claim(f"least |S_i^(0)|, m = {m}", run.at.size.min(), ">=", 1.0))
        k = int(np.searchsorted(run.log_s, 0.5 * run.log_s[-1]))
        slope = (run.margin[-1] - run.margin[k]) / (run.log_s[-1] - run.log_s[k])
        shown[f"M/log s, m = {m}"] = float(run.margin[-1].mean() / run.log_s[-1])
        slack = 400 * rtol + 4 * float(np.exp(-0.5 * run.log_s[-1]))
        i = int(np.argmax(np.abs(slope - 1.0)))
        text = f"M_i/log t extrapolated, m = {m}"
        claims.append(Claim(text, slope[i], "=", 1.0, slack=slack, kind="limit", at=f"datum {i}"))
        limits.append(slope)
    spread = float(np.max(np.ptp(np.array(limits), axis=0)))
    claims.append(Claim("spread over widths, worst datum", spread, "<=", 0.0, slack=2 * slack, kind="limit"))
    notes = ["Measured on the flow, not on descent."]
    return Report("kou2023.width", claims, hypotheses, {**at.report(), **shown}, notes=notes)
