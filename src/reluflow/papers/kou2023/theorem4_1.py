"""Theorem 4.1 of Kou et al.: leaky ReLU networks: norms like log t, stable rank to 1, loss to 0."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023 import lemma_c3, lemma_d2
from reluflow.papers.kou2023._constants import assumptions, final_limit, in_tail
from reluflow.papers.kou2023._path import path

needs = "solution"
forms = ("corrected", "printed")


def check(sol, form: str = "corrected", steps: int = 300) -> Report:
    r"""$|w_{j,r}| = \Theta(\log t)$; $SR(W_j) \to 1$; $L_S = O(t^{-a})$, $a =
    (1-c\gamma^{-2}\kappa)/(1+c\gamma^{-2}\kappa)$.

    The two last from Lemmas C.3 and D.2, with the corrected rates $1/\log^2 t$ and $1/t$ [+]. For the first the
    constant is named [+]: $|w_{j,r}|/\log t \to |u_j|$, read as a slope in log s over the last decade, with its change
    from the decade before as slack. Printed: the condition on sigma0 without the factor gamma that (B.2) has, and the
    rate and constants of Lemma C.3 as printed.
    """
    run = path(sol, steps)
    at = run.at
    u = np.linalg.norm(final_limit(run).directions, axis=1)
    before, now = (np.linalg.norm(v, axis=1) for v in run.slopes(run.w))
    slack = np.abs(now - before) + 2 * run.error / at.r_min
    r = int(np.argmax(np.abs(now - u) - slack))
    note = f"|w|/log s is {np.linalg.norm(run.w[-1, r]) / run.log_s[-1]:.6g} at the end"
    text = "|d w_{j,r}/d log s| over the last decade, of |u_j|"
    claims = [
        Claim(text, now[r], "=", u[r], slack=slack[r], kind="limit", at=f"neuron {r}", note=note),
        *lemma_c3.check(sol, form=form, steps=steps).claims,
        *lemma_d2.check(sol, steps=steps).claims,
    ]
    hypotheses = assumptions(at, leaky=True)
    if form == "printed":
        hypotheses[-1] = Claim("beta", at.beta, "<=", 1.0, note="as printed: no factor gamma")
    return Report("kou2023.theorem4_1", in_tail(run, claims), hypotheses, at.report(), form)
