"""The main theorem of [CEL23]: with one teacher neuron and correlated inputs, small starts reach loss 0
and rank one."""

from __future__ import annotations

import numpy as np

import reluflow as rf
from reluflow_followups.chistikov2023._inputs import norm, ratio

needs = "flow"


def check(solution) -> rf.Report:
    r"""Claims: the loss is 0 at the end; as the scale goes to 0, $s_2/s_1$ of $W$ tends to 0 and $|\theta|^2$
    to $2|v|$, $v$ the teacher.

    The teacher is found by least squares. Hypotheses: it fits, every input is within $\pi/4$ of it, there are as
    many inputs as dimensions that they span, balanced start. The last two claims are about the limit of small
    scales: with one run they are never more than consistent so far, judged against the scale itself, to which
    $s_2/s_1$ is proportional. Slack: a loss below (100 rtol)^2 of the labels is 0.
    """
    problem, data = solution.problem, solution.problem.data
    teacher = np.linalg.lstsq(data.x, data.y, rcond=None)[0]
    size = float(np.linalg.norm(teacher))
    cos = data.x @ teacher / np.maximum(np.linalg.norm(data.x, axis=1) * size, 1e-300)
    tol = 100 * solution.stats.rtol
    labels = float(np.max(np.abs(data.y)))
    scale = float(np.exp(np.max(problem.init.log_scales[0])))
    balance = float(np.max(np.abs(rf.observe.balancedness(solution).values[0])))
    spread = len(problem.init.a)
    at_rest = solution.outcome is rf.Outcome.STATIONARY
    missing = "" if at_rest else f"the run ends at t = {solution.t_end:.4g}, before it converges"
    return rf.Report(
        name="chistikov2023.theorem",
        hypotheses=[
            rf.Claim("square loss and both layers trained (1: yes)", _setting(problem), "=", 1),
            rf.Claim(
                "labels of one neuron: largest |<v, x> - y|",
                float(np.max(np.abs(data.x @ teacher - data.y))),
                "<=",
                1e-9 * labels,
            ),
            rf.Claim(
                "angle between an input and the teacher, largest",
                float(np.max(np.arccos(np.clip(cos, -1, 1)))),
                "<",
                np.pi / 4,
            ),
            rf.Claim("balanced start: |a^2 - |w|^2| / (a^2 + |w|^2), largest", balance, "<=", 1e-12),
        ],
        constants={"|v|": size, "scale": scale},
        claims=[
            rf.Claim("loss at the end", float(solution.loss[-1]), "<=", (tol * labels) ** 2, missing=missing),
            rf.Claim(
                "s2/s1 of W at the end, against the scale times the width",
                ratio(solution),
                "<=",
                scale * spread,
                slack=tol,
                kind="limit",
                missing=missing,
            ),
            rf.Claim(
                "|theta|^2 over 2 |v|, against the scale times the width",
                abs(norm(solution) / (2 * size) - 1),
                "<=",
                scale * spread,
                slack=tol,
                kind="limit",
                missing=missing,
            ),
        ],
    )


def _setting(problem) -> bool:
    return problem.loss == "square" and problem.train == "both" and problem.activation.slope == 0.0
