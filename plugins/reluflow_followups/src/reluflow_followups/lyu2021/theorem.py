"""[LLWA21] for symmetric separable data: from small scale a leaky network tends to the max-margin linear classifier."""

from __future__ import annotations

import numpy as np

import reluflow as rf
from reluflow_followups._margin import hard_margin
from reluflow_followups.lyu2021._symmetric import linear_part, rest

needs = "flow"


def check(solution) -> rf.Report:
    r"""Claims: the normalised margin never exceeds the certified maximum and grows over the last half of
    $\log t$; the network is linear and its direction is that of the hard-margin linear classifier, up to order
    $1/\log t$ (limits).

    Hypotheses: leaky ReLU, logistic or exponential loss, both layers trained, data symmetric under
    $(x, y) \to (-x, -y)$ and linearly separable. That the scale be small enough is not quantified in the theorem.
    Slack of the margins: weights are right to 100 rtol and the margin, a ratio of squares, to four times that; the
    maximum has the gap of its certificate.
    """
    problem, data = solution.problem, solution.problem.data
    slope, tol = problem.activation.slope, 400 * solution.stats.rtol
    log_t = solution.log_t[-1] * np.array([0.5, 1.0])
    largest = rf.bias.max_margin(data, activation=problem.activation)
    margin = rf.observe.normalised_margin(solution, log_t=log_t).values
    scale = np.exp(solution.end.log_scale[0] - np.max(solution.end.log_scale[0]))
    w, a = scale[:, None] * solution.end.w[0], scale * solution.end.a[0]
    b = linear_part(w, a, slope)
    share = _rms(rest(w, a, data.x, slope)) / _rms(data.x @ b + rest(w, a, data.x, slope))
    cos = float(b @ hard_margin(data) / np.linalg.norm(b)) if largest.linear else np.nan
    late = 1 / float(log_t[-1])
    return rf.Report(
        name="lyu2021.theorem",
        hypotheses=[
            rf.Claim("leaky ReLU (1: yes)", 0 < slope < 1, "=", 1),
            rf.Claim(
                "an exponential tail and both layers trained (1: yes)",
                problem.loss != "square" and problem.train == "both",
                "=",
                1,
            ),
            rf.Claim("asymmetry of the data, largest distance of (-x, -y) from a datum", _asymmetry(data), "<=", 1e-12),
            rf.Claim("hard margin of a linear classifier", largest.linear or 0.0, ">", 0.0),
        ],
        constants={"largest margin": largest.margin},
        claims=[
            rf.Claim(
                "normalised margin at the end, below the largest",
                float(margin[1]),
                "<=",
                largest.margin_bound,
                slack=tol,
            ),
            rf.Claim("its growth over the last half of log t", float(margin[1] - margin[0]), ">=", 0.0, slack=tol),
            rf.Claim("non-linear share of f on the data, against 1/log t", float(share), "<=", late, kind="limit"),
            rf.Claim("1 - cos to the hard-margin classifier, against 1/log t", 1 - cos, "<=", late, kind="limit"),
        ],
    )


def _rms(values) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _asymmetry(data) -> float:
    rows = np.column_stack([data.x, data.y])
    apart = np.linalg.norm(rows[:, None] + rows[None], axis=2)
    return float(np.max(np.min(apart, axis=1)))
