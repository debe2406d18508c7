"""Equation (28) of [MMV24]: how small eps must be, and that the flow at that scale does what it is for."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim, Report
from reluflow.papers.min2024._constants import constants, scale
from reluflow.papers.min2024._run import Run, hypothesis

needs = "problem"
forms = ("corrected", "printed")
SMALLEST = -1e6  # log scale that `rf.Params` takes


def check(problem, form="corrected") -> Report:
    r"""Claims, measured on flows from this start at other scales: at $\epsilon = \epsilon_A$, $\max|f|$ up to T is at
    most the $m\sqrt\mu X_{min}/(4 n X_{max})$ that (29) needs; at $\epsilon = \min(\epsilon_A, \epsilon_B)$ every
    neuron has arrived before T. That this problem's own $\epsilon$ is below both is a hypothesis.

    Printed: (28) has $4\sqrt h n X_{max}^2 W_{max}^2$ below the fraction bar, for which Lemma 3 as stated gives twice
    what (29) needs; an inequality between formulas, judged as such. Slack: $10^{-12}$ in logarithms, rounding.
    """
    c = constants(problem, form)
    geo = c.geo
    names = ("separable", "two data", "balanced", "assumption 2", "eps_A", "eps_B")
    hypotheses = [hypothesis(k, problem, c) for k in names]
    if not geo.separable or geo.n < 2 or not c.m > 0:
        claims = [Claim("max|f| up to T at eps_A, against what (29) needs", np.nan, "<=", np.nan, log=True)]
        return Report("min2024.equation28", claims, hypotheses, c.shown(), form)
    bound = np.log(2 * geo.x_max) + 2 * c.log_w_max + 0.5 * np.log(c.h)  # Lemma 3, over eps
    need = float(np.log(c.m * np.sqrt(geo.mu) * geo.x_min / (4 * geo.n * geo.x_max)))
    sharp = f"With the sharper t1' = {c.t1_sharp:.4g} the second condition is log eps <= {c.log_eps_b_sharp:.6g}."
    if form == "printed":
        text = "max|f| by Lemma 3 at eps_A, against what (29) needs"
        claims = [Claim(text, c.log_eps_a + bound, "<=", need, 1e-12, log=True)]
    else:
        at_a, at_b = _run(problem, c.log_eps_a), _run(problem, min(c.log_eps_a, c.log_eps_b))
        largest = np.nan if at_a is None else np.max(at_a.log_f[at_a.tau <= at_a.c.T])
        arrival, horizon = (np.nan, np.nan) if at_b is None else (at_b.aligned, at_b.c.T)
        note = "" if at_b is not None else f"eps_B = e^{c.log_eps_b:.6g} is smaller than a run may start from"
        text = "last arrival in the flow at the smaller of eps_A and eps_B, against T"
        claims = [
            Claim("max|f| up to T in the flow at eps_A, against what (29) needs", largest, "<=", need, log=True),
            Claim(text, arrival, "<=", horizon, note=note),
        ]
    return Report("min2024.equation28", claims, hypotheses, c.shown(), form, (sharp,))


def _run(problem, log_eps: float) -> Run | None:
    """The flow of the problem up to T with its start moved to another eps, sum of exponential losses; None where no
    run can start from there."""
    init = problem.init
    log_w, log_a = init.log_scales
    moved = log_eps - scale(init)[0]
    if np.min(log_w) + moved < SMALLEST:
        return None
    start = rf.Params(init.w, init.a, log_scale=log_w + moved, log_scale_a=log_a + moved)
    other = rf.Problem(problem.data, start, loss="exponential", reduction="sum")
    return Run(rf.solve(other, rf.Flow(rtol=1e-8), t1=constants(other).T))
