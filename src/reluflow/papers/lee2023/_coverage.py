"""Every numbered or named statement of the paper, and where it is looked at: a check, a figure, or why not."""
# ruff: noqa: E501

from reluflow.papers._coverage import Statement, statements

COVERAGE: tuple[Statement, ...] = statements(
    """
    Lemma 2.1 | lemma2_1
    Section 2, conservation of v_(k+1)^2 - v_k^2 | conservation
    Vector equation (5) | proposition3_1 - the gradient is integrated from the definition of the loss, radial and angular part
    Proposition 3.1, Proposition 3.6 | proposition3_1
    Theorem 3.2, Theorem 3.7 | theorem3_2
    Theorem 3.3 | theorem3_3
    Theorem 3.4, Theorem 3.9 | theorem3_4, always_valid
    Proposition 3.5 | proposition3_5
    Theorem 3.8 | theorem3_8
    Criterion (11) | criterion11
    Section 3.2 (scale and speed) | scale_speed, rates
    Theorem 4.1, O(eta) uniformly, and O(T eta^2) | theorem4_1 - the bound O(T eta^2) follows from its one-step error, which the halving of eta measures; the paper states no converse
    Theorem 4.2, Theorem A.2 | theorem4_2
    Corollary 4.3 | corollary4_3
    Theorem A.1 | theorem_a1
    Theorem A.3 | theorem_a3
    Proposition B.1 | proposition_b1
    Proposition B.2 | proposition_b2
    Proposition C.1 | proposition_c1
    Lemma C.2 | lemma_c2
    Section 5.2, restarted bounds | restarts
    Section 5.2, conjecture | conjecture5_2
    Appendix D.1 | appendix_d1
    Appendix D.3 | appendix_d3
    The exact orbit (beyond the paper) | orbit
    Figures 1 to 4 | fig1, fig2, fig3, fig4
    """
)
