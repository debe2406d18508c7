"""[FVB+23]: gradient flow of the first layer on nearly orthogonal data tends to rank at most two, all
data on the margin."""

from __future__ import annotations

import numpy as np

import reluflow as rf
from reluflow_followups.frei2023._orthogonal import condition, spectrum

needs = "flow"


def check(solution) -> rf.Report:
    r"""Claims: the loss goes to 0; $s_3/s_1$ of $W$, the spread of the margins $y_i f(x_i)$ and the
    differences between neurons of one sign go to 0 (limits). All three fall like $1/\log t$, against which they are
    compared.

    Hypotheses: leaky ReLU, logistic or exponential loss, first layer trained with output weights of one size, and
    $|x_i|^2 \ge 5 \gamma^{-2} n \max_k |\langle x_i, x_k \rangle|$ with $\gamma$ the slope (the paper's condition as
    we remember it).
    """
    problem, data = solution.problem, solution.problem.data
    slope = problem.activation.slope
    w, a = solution.end.w[0] * np.exp(solution.end.log_scale[0])[:, None], problem.init.a
    s = spectrum(w)
    margin = data.y * solution.outputs[-1]
    apart = max(
        np.max(np.linalg.norm(w[a * j > 0] - w[a * j > 0].mean(axis=0), axis=1)) for j in (1, -1) if np.any(a * j > 0)
    )
    late = 1 / float(solution.log_t[-1])
    size = np.abs(a)
    tail = problem.loss != "square" and problem.train == "first"
    norm = float(np.sqrt(np.mean(np.sum(w**2, axis=1))))
    start = float(np.max(np.exp(problem.init.log_scales[0])) * np.max(np.linalg.norm(problem.init.w, axis=1)))
    return rf.Report(
        name="frei2023.theorem",
        hypotheses=[
            rf.Claim("leaky ReLU (1: yes)", 0 < slope < 1, "=", 1),
            rf.Claim("an exponential tail and the first layer alone trained (1: yes)", tail, "=", 1),
            rf.Claim(
                "output weights of one size: largest over least", float(size.max() / size.min()), "=", 1.0, slack=1e-12
            ),
            rf.Claim("near orthogonality over what the condition asks", condition(data, slope), ">=", 1.0),
        ],
        constants={"stable rank": float(np.sum(s**2) / s[0] ** 2), "s3/s1": float(s[2] / s[0])},
        claims=[
            rf.Claim(
                "log of the loss at the end, against -log t / 2",
                float(solution.log_loss[-1]),
                "<=",
                -0.5 / late,
                kind="limit",
            ),
            rf.Claim(
                "s3/s1 of W, against size of the start / log t",
                float(s[2] / s[0]),
                "<=",
                max(start, 1e-8) * 5 * late,
                kind="limit",
            ),
            rf.Claim(
                "largest margin over the least, minus 1, against 1/log t",
                float(margin.max() / margin.min() - 1),
                "<=",
                late,
                kind="limit",
            ),
            rf.Claim(
                "neurons of one sign apart, relative, against size of the start / log t",
                float(apart / norm),
                "<=",
                max(start, 1e-8) * 5 * late,
                kind="limit",
            ),
        ],
    )
