"""Theorem 1 of [MMV24], part 2: after t2 the loss is at most L(t2)/(1 + L(t2) alpha (t - t2))."""

from reluflow.claim import Report
from reluflow.papers.min2024._late import growth_claims, rate_claims, t2_needed
from reluflow.papers.min2024._run import as_run

needs = "flow"


def check(sol) -> Report:
    r"""Claims: $L(t) \le L(t_2)/(1 + L(t_2)\alpha(t-t_2))$, $\alpha = (\mu X_{min})^2/(32 X_{max})$, and each group's
    $\sum|w_j|^2 \ge 1/(4X_{max})$, both for all $t \ge t_2$; $L \to 0$.

    Hypothesis, in place of the eps conditions of Theorem 1, which give $t_1 \le T \le t_2$: the last neuron arrives
    before $t_2^\pm$. Only then are the outputs of a class, 1/4 at $t_2$, those of its own group.
    L(t2) is read at the first moment looked at from t2 on; the bound, an equality there, is judged at all later ones.
    True decay is about 1/(t log t): the note has the log-log slope.
    """
    run = as_run(sol)
    names = ("separable", "balanced", "relu", "both layers", "tail", "both groups", "aligned")
    claims = rate_claims(run) + growth_claims(run)
    return Report("min2024.final_rate", claims, run.hypotheses(*names), run.c.shown(), until=t2_needed(run))
