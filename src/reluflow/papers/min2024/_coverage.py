"""Every numbered or named statement of the paper, and where it is looked at: a check, a figure, or why not."""
# ruff: noqa: E501

from reluflow.papers._coverage import Statement, statements

COVERAGE: tuple[Statement, ...] = statements(
    """
    Assumption 1 (orthogonal separability) | assumption1, poster
    Assumption 2 | assumption2
    Definition 1 (regular solutions) | example_e4, lemma12
    Theorem 1, part 1 (alignment by t1) | theorem1, appendix_f, fig20, theorem1_scale
    Theorem 1, part 2 (T <= t2, (39)) | theorem1, equation36, sharp_t2
    Theorem 1, part 2 (rate, low rank) | theorem1, final_rate, low_rank
    Remark 1 (balancedness is technical) | fig6, fig7 - the experiments start unbalanced; the checks take balance as a hypothesis
    Remark 2 (zero columns) | - a neuron with w = 0 and a = 0 is refused by `rf.solve` in one sentence, as the remark leaves it out of every statement
    Remark 3 (largest and smallest initial norm) | equation36, lemma3 - both enter the constants of every check
    Remark 4 (square loss) | remark4, lemma1, lemma3, lemma4, lemma10
    Remark 5 (leaky ReLU) | lemma1, lemma3, lemma4, lemma10 - judged on the subject "six, leaky at e^-50"
    Remark 6 (Filippov solutions are not unique either) | example_e4, appendix_f
    Remark 7 (irregular solutions are rare) | remark7
    Remark 8 (corners) | remark7
    Remark after Theorem 1 (neurons are drawn to x+) | refined_alignment
    Remark after Theorem 1 (random starts) | random_init
    Remark after Theorem 1 (mu and the alignment time) | separability, fig7, fig8, fig9
    Maennel et al.'s extremal vectors (related work) | refined_alignment - a statement of another paper, which a second package has; `rf.bias.extremal` finds the vectors, which here are x+ and x-
    Conjecture on the dip of alignment (Section 4) | fig5, fig10, fig11 - an explanation offered for MNIST; the figures show the dip, no quantity is stated
    Lemma 1 | lemma1
    Lemma 2 | lemma2
    Lemma 3 | lemma3
    Lemma 4 | lemma4
    Lemma 5 | lemma5
    Lemma 6 | lemma6
    Lemma 7 | lemma7
    Lemma 8 | lemma8
    Lemma 9 | lemma9
    Lemma 10 | lemma10
    Lemma 11 | lemma11
    Lemma 12 | lemma12
    Lemma 13 | lemma13
    Lemma 14 | lemma14
    Lemma 15 | lemma15
    (7), (8) | equation7
    (28), (29) | equation28
    (36)-(40) | equation36, equation37
    (46) | equation46
    (50) | equation50
    Appendix C.2 (dwell, travel time, maximal path, repulsion) | dwell, travel_time, maximal_path, repulsion, fig4, fig14, fig15, fig16, fig17
    Appendix E.3 | example_e3
    Appendix E.4 | example_e4
    Appendix E.5 (global existence) | equation46, equation50 - existence itself is proved there from (46) and (50), which are measured; every run of a flow that ends is an instance
    Convexity of S_dead | lemma6
    Appendix F | appendix_f
    Poster | poster, poster_panel
    Figures 1, 2, 3, 18, 19 | drawings - drawings of the paper, redone from computed fields and runs
    Figures 4 to 17, 20, 21 | fig4, fig5, fig6, fig7, fig8, fig9, fig10, fig11, fig12, fig13, fig14, fig15, fig16, fig17, fig20, fig21
    """
)
