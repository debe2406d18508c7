"""Theorem A.1 of [LSY23]: magnitude of a one-layer neuron under gradient descent."""

import math

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._common import is_descent, layers, starts_well, worst
from reluflow.papers.lee2023._steps import steps
from reluflow.single import Run

needs = "single"


def check(run: Run) -> Report:
    r"""Claim: $A + (v_0 - A)(1-\eta/2)^T < v(T) < v^* + (v_0 - v^*)(1-\eta/2)^T$ with $A = (1-\varepsilon_0)v^*$, for
    every $0 < \eta < 2$.

    The paper asks eta << 2 and argues as if |w| obeyed (6) step by step, which is false at O(eta^2); the statement is
    exact all the same: the radial part of a step is the lower recursion, and |phi w* + sin(phi) w/|w|| <= pi v* gives
    the upper one. Slack: 8 rounding errors an iteration.
    """
    s = steps(run)
    a, v0 = 1.0 - run.problem.eps, math.exp(s.l[0])
    after = s.T > 0
    T, l, slack = s.T[after], s.l[after], s.slack[after]
    decay = (1.0 - 0.5 * s.eta) ** T
    with np.errstate(divide="ignore"):  # a step above 2 makes bounds negative
        low, high = (np.log(np.maximum(A + (v0 - A) * decay, 0.0)) for A in (a, 1.0))
    claims = [
        worst("log v/v* over its lower bound", l, ">", low, slack, T),
        worst("log v/v* under its upper bound", l, "<", high, slack, T),
    ]
    hypotheses = [*is_descent(run), *starts_well(run), *layers(run, 0), Claim("eta", s.eta, "<", 2.0)]
    return Report("lee2023.theorem_a1", claims, hypotheses, {"eta": s.eta, "eps_0": run.problem.eps})
