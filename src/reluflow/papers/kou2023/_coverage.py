"""Every numbered or named statement of the paper, and where it is looked at: a check, a figure, or why not."""
# ruff: noqa: E501

from reluflow.papers._coverage import Statement, statements

COVERAGE: tuple[Statement, ...] = statements(
    """
    Theorem 4.1 | theorem4_1
    Remark 4.2 | limits, lemma_d2 - constants and rates compared
    Theorem 4.3 | theorem4_3, uniform, relu_rate
    Theorems 4.1 and 4.3, probability 1 - delta | lemma_a1, lemma_a2, uniform - the randomness is that of the start, through the events of A.1 and A.2; uniform counts starts whose limit is below 5/2
    Remark 4.4 | lemma_f3
    Definition 5.1, Lemma 5.2, Lemma A.3 | lemma5_2
    Lemma 5.3, Lemmas H.1 and H.2 | lemma5_3
    Lemma 5.4, Lemmas B.1, B.2, B.4, (B.16)-(B.25) | lemma5_4 - the displays are steps of B.1 and B.4, whose constants are measured
    Lemma 5.5, Lemma E.1, (E.13)-(E.16) | lemma5_5 - the displays bound c1, which is measured
    Lemma 5.6, Lemma B.5 | lemma5_6
    Lemma 5.7, Lemma D.1 | lemma5_7
    Lemma 5.8 | lemma5_8
    (5.8)-(5.12) | lemma_d2, lemma_g1 - steps towards the loss bounds, which are judged at every frame
    Lemma A.1, probability 1 - delta | lemma_a1 - exact tails, and draws counted with exact confidence intervals
    Lemma A.2, probability 1 - delta | lemma_a2 - exact tails, and draws counted with exact confidence intervals
    Lemma B.3 | lemma_b3
    Lemmas C.1 and C.2 | lemma_c1
    Lemma C.3 | lemma_c3
    Lemma D.2, (D.3)-(D.6) | lemma_d2
    Lemma E.2, Corollary E.3 | lemma_e2
    Lemma F.1, (F.2) | lemma_f1, uniform
    Lemma F.2 | lemma_f2
    Lemma F.3 | lemma_f3
    Lemma G.1, margin (G.1) | lemma_g1, limits
    Lemma H.3 | lemma_h3
    Lemma H.4 | lemma_h4
    Uniformity of c in n and m | uniform, width - c = 5/2 is proved on orthogonal data (docs/papers/beyond.md) and swept over n and m, also at kappa > 0
    Section 7, which KKT point | limits - answered for leaky networks: equal margins and alpha > 0
    Section 7, switching of ReLU patterns | switching
    Figures 1 to 5 | fig1, fig2, fig3, fig4, fig5
    """
)
