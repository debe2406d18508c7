"""Every numbered or named statement of the paper, and where it is looked at: a check, a figure, or why not."""
# ruff: noqa: E501

from reluflow.papers._coverage import Statement, statements

COVERAGE: tuple[Statement, ...] = statements(
    """
    Assumption 1 | assumption1
    Assumption 2 | assumption2
    Assumption 3 | assumption3
    Theorem 1 | theorem1
    Theorem 2 | theorem2
    Fact 1 | fact1
    Lemma 1 | lemma1
    Lemma 2 | lemma2
    Lemma 3 | lemma3
    Lemma 4 | lemma4
    Lemma 5 | lemma5
    Lemma 6 | lemma6
    Lemma 7 | lemma7
    Lemma 8 | lemma8
    Lemma 9 | lemma9
    Lemma 10, with (18)-(22) | lemma10 - the steps are judged through t_u and the growth rates; the constants a and b of (21) enter C7
    Lemma 11, with (24)-(27) | lemma11 - the steps are judged through tau and t_u
    Lemma 12 | lemma12
    Lemma 13 | lemma13
    Lemma 14 | lemma14
    Lemma 15 | lemma15
    Lemma 16 | lemma16
    Proposition 1, its value and its minimisers | proposition1 - that there are no other minimisers is shown by the dual bound being attained on the two rays alone
    Proposition 2, both halves | proposition2, min2024.example_e3
    Remark 1 (Chatterjee's criterion) | remark1
    Equation (8) | equation8
    KKT conditions (35)-(37) | proposition1, equation8 - the dual certificate of both is the multiplier of these conditions
    alpha, beta and epsilon (Appendix B.2) | alpha
    lambda* and its law m^{-1/2} e^{-Theta(n)} | scale
    Polyak-Lojasiewicz fails near saddles | fact1 - gradient 0 and loss above 0 at theta_S
    The bias column (Section 2.1) | section5, fig2
    Norms other than 1 (Section 2.1) | norms
    Rates after the third phase (Section 4) | rates
    Nearly orthogonal inputs (Section 3.2) | nearly_orthogonal
    Gaussian output weights (Section 3.2) | gaussian_output
    Narrow networks (Section 3.2) | limit_groups
    Leaky ReLU (Section 3.2) | leaky
    Larger initialisation (Section 3.2) | larger_scale
    Section 5 (two points) | section5
    Limits in closed form (beyond the paper) | limit_alignment, limit_fitting, limit_network, limit_groups
    Figures 1 to 7 | fig1, fig2, fig3, fig4, fig5, fig6, fig7, loss_scale
    """
)
