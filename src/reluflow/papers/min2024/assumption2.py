"""Assumption 2 of [MMV24]: no neuron starts exactly on the class sum that repels it."""

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._constants import constants, opposing, rounding
from reluflow.papers.min2024._run import hypothesis

needs = "problem"
forms = ("corrected", "printed")


def check(problem, form="corrected") -> Report:
    r"""Claim: $\max_{V_+} \cos(w_j(0), x_-) < 1$ and $\max_{V_-} \cos(w_j(0), x_+) < 1$.

    The text around the assumption pairs V+ with x+ (form "printed"); the formula and the proof pair V+ with x-, and
    only that keeps S- from holding a neuron for ever. Judged are sines (1 beyond a right angle), which must exceed the
    rounding of a direction, 4 sqrt(d) eps: a neuron on the sum but for rounding fails.
    """
    c = constants(problem, form)
    claims = []
    for sine, j, target in opposing(problem, c.geo, swap=form == "printed"):
        group = "V+" if j >= 0 and problem.init.a[j] > 0 else "V-"
        text = f"least sine of the angle of {group} neurons to {target}"
        claims.append(Claim(text, sine, ">", rounding(problem), at=f"neuron {j}"))
    hypotheses = [hypothesis(name, problem, c) for name in ("separable", "balanced")]
    return Report("min2024.assumption2", claims, hypotheses, c.shown(), form)
