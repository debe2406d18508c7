"""Theorem 2 of [BF25a]: on three correlated points every small start ends at the least-squares line, not at loss 0."""

from __future__ import annotations

import numpy as np

import reluflow as rf
from reluflow_followups.boursier2025sword._points import least_squares

needs = "flow"


def check(solution) -> rf.Report:
    r"""Claims: at the end $f(x_k) = \langle x_k, \beta^* \rangle$ for every point, $\beta^*$ the
    least-squares solution, so that the loss is that of the line and not 0; the network is one line on the data.

    Assumption 3 with $\eta < 1/6$ is measured: it asks for three points near (-1, 1), (0, 1), (1, 1) with labels
    near 1, 0+, 1. The paper's own experiment (Section 5) does not satisfy it, on purpose. The largest scale for
    which the theorem holds is not named in it, so that a violated claim at a large scale says only that the scale is
    too large. Slack: outputs are right to 100 rtol relative to the labels' size. Without convergence the claims are
    unfinished.
    """
    points = solution.problem.data
    beta, level = least_squares(points)
    size = float(np.max(np.abs(points.y)))
    slack = 100 * solution.stats.rtol * size
    off = float(np.max(np.abs(solution.outputs[-1] - points.x @ beta)))
    at_rest = solution.outcome is rf.Outcome.STATIONARY
    missing = "" if at_rest else f"the run ends at t = {solution.t_end:.4g}, before it converges"
    if at_rest:
        end = float(solution.loss[-1])
        claims = [
            rf.Claim("largest distance of an output from the line", off, "=", 0.0, slack=slack),
            rf.Claim("loss at the end over that of the line", end / level, "=", 1.0, slack=4 * slack / size),
        ]
    else:
        claims = [rf.Claim("largest distance of an output from the line", off, "=", 0.0, missing=missing)]
    return rf.Report(
        name="boursier2025sword.theorem2",
        hypotheses=_hypotheses(solution.problem),
        constants={"loss of the line": level},
        claims=claims,
    )


def _hypotheses(problem) -> list[rf.Claim]:
    eta = _eta(problem.data)
    return [
        rf.Claim("square loss, ReLU, both layers trained (1: yes)", _setting(problem), "=", 1),
        rf.Claim("eta, the distance from the three corner points of Assumption 3", eta, "<", 1 / 6),
        rf.Claim("|a_j| over |w_j| at the start, least", _domination(problem.init), ">=", 1.0, slack=1e-12),
    ]


def _setting(problem) -> bool:
    return problem.loss == "square" and problem.train == "both" and problem.activation.slope == 0.0


def _domination(init) -> float:
    log_w, log_a = init.log_scales
    with np.errstate(divide="ignore"):
        log_ratio = log_a + np.log(np.abs(init.a)) - log_w - np.log(np.linalg.norm(init.w, axis=1))
    return float(np.exp(np.min(log_ratio)))


def _eta(data) -> float:
    """The least eta with which Assumption 3 holds, the points in order of their first coordinate; inf if it cannot."""
    if data.x.shape != (3, 2):
        return float("inf")
    order = np.argsort(data.x[:, 0])
    (x1, x2, x3), (y1, y2, y3) = data.x[order], data.y[order]
    inside = x1[0] > -1 and x3[0] < 1 and x1[1] >= 1 and x3[1] >= 1 and y1 >= 1 and y3 >= 1 and y2 > 0
    if not inside:
        return float("inf")
    outer = (x1[0] + 1, x1[1] - 1, y1 - 1, 1 - x3[0], x3[1] - 1, y3 - 1)
    return float(max(*outer, abs(x2[0]), abs(x2[1] - 1), y2))
