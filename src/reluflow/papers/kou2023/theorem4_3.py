"""Theorem 4.3 of Kou et al.: ReLU networks: bounded stable rank, loss to 0."""

from reluflow.claim import Report
from reluflow.papers.kou2023 import lemma_f1, lemma_g1
from reluflow.papers.kou2023._constants import assumptions
from reluflow.papers.kou2023._setting import setting

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""$\limsup SR(W_j) \le c$ and $L_S = O(t^{-c_1(1-c_2\kappa)/(1+c_2\kappa)})$: the claims of Lemmas F.1 and G.1.

    The paper's remark that the stable rank is about 2 belongs to orthogonal data and n -> infinity (`lemma_f3`): at n =
    10 the limit is about 1.67, and any p > 0 changes it.
    """
    at = setting(sol)
    claims = [*lemma_f1.check(sol, steps).claims, *lemma_g1.check(sol, steps).claims]
    return Report("kou2023.theorem4_3", claims, assumptions(at, leaky=False), at.report())
