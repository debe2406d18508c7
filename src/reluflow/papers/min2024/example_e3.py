"""Appendix E.3 of [MMV24]: with relu'(0) = a > 0 there is no solution where relu'(0) = 0 has a constant one."""

import numpy as np

import reluflow as rf
from reluflow.claim import Claim, Report

needs = "nothing"
STEPS = (1e-1, 1e-2, 1e-3, 1e-4)


def check(a: float = 0.5, t: float = 1.0) -> Report:
    r"""x = (1, 0), y = -1, w(0) = (0, 1), v(0) = 1, exponential loss. Claims: with relu'(0) = 0 the neuron never moves.
    With relu'(0) = a, the constant curve misses the integral equation by $t\,a\,e^0$; Euler steps move the neuron
    exactly once, by step times a, into the interior of $S_{dead}$, where there is no flow: as the step goes to 0 the
    iterates tend to the constant curve, which is no solution.

    Slack: one rounding of the first step.
    """
    data, init = rf.Data(np.array([[1.0, 0.0]]), -np.ones(1)), rf.Params(np.array([[0.0, 1.0]]), np.ones(1))
    make = lambda at: rf.Problem(data, init, loss="exponential", reduction="sum", activation=rf.ReLU(at_zero=at))
    flow = rf.solve(make(0.0), rf.Flow(), t1=t)
    moved = float(np.max(np.abs(flow.at(t).arrays()[0] - init.w)))
    claims = [Claim("relu'(0) = 0: how far the neuron moves", moved, "=", 0.0)]
    jumps = []
    for step in STEPS:
        sol = rf.solve(make(a), rf.Descent(step=step), t1=20 * step)
        w = np.array([p.arrays()[0][0, 0] for p in sol.at(step * np.arange(21))])
        jumps.append(abs(w[-1]))
        moves = int(np.sum(np.diff(w) != 0))
        claims.append(Claim(f"Euler steps of {step:g} that move the neuron", moves, "=", 1))
        claims.append(Claim("its displacement, against a times the step", jumps[-1], "=", a * step, slack=1e-15))
    # Along the constant curve the right-hand side stays what the first step is made with: displacement over step.
    missed = t * jumps[0] / STEPS[0]
    text = "relu'(0) = a: what the constant curve misses the integral equation by, from the first Euler step"
    claims.append(Claim(text, missed, "=", t * a, slack=1e-14 * t))
    moved_by = np.maximum(jumps, np.finfo(float).tiny)
    slope = float(np.polyfit(np.log(STEPS), np.log(moved_by), 1)[0])
    claims.append(Claim("displacement goes to 0 with the step: its log-log slope", slope, ">", 0.0, kind="limit"))
    return Report("min2024.example_e3", claims, constants={"a": a, "t": t})
