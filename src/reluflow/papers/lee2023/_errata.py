"""Where the text of Lee et al. and the truth differ. E1-E14 follow the handbook; E15 on were found by the checks."""

from reluflow.papers._erratum import Erratum, sorted_out

_ALL: tuple[Erratum, ...] = (
    Erratum(
        "E1",
        "(15) and the proof of Theorem 3.8",
        "v' = -(1/2) v^m (v^(m+1) + v*^(m+1) (1 - eps))",
        "the sign is minus",
        "v'/v of any run that rises, against the printed right-hand side",
        "lee2023.theorem3_8",
    ),
    Erratum(
        "E2",
        "Theorem 3.8, second term",
        "eps_0 for both bounds",
        "the same eps as in the first term, or u(0; 0) is not v_0",
        "residual of the implicit equation at the true u(t; 0), m = 0, 2, 3",
        "lee2023.theorem3_8",
    ),
    Erratum(
        "E3",
        "Theorem 3.8, 2F1 beyond 1",
        "2F1 of an argument above 1, without saying which value",
        "its real part: the imaginary part times u^(1-m) is constant and cancels",
        "`_bounds.hypergeometric` against mpmath, and the implicit equation for v_0 > v*",
    ),
    Erratum(
        "E4",
        "Proposition B.2",
        "zero mean and full-rank covariance make w* the unique minimiser",
        "E[1{<w*, x> > 0} x x^T] of full rank does",
        "x uniform on (2,0), (-1,1), (-1,-1), w* = (1,0): the loss is 0 at (1,b), |b| <= 1",
        "lee2023.proposition_b2",
    ),
    Erratum(
        "E5",
        "Theorem 4.1, uniform part",
        "error at most c eta M_3 / (2 (2 - c eta))",
        "O(eta), with another constant: upper bounds on the factors give 1 + c eta M_1 M_2, not 1 - c eta M_1 M_2",
        "g = 1.01 x - x^2/2: error .508 eta against .25 eta",
        "lee2023.theorem4_1",
    ),
    Erratum(
        "E6",
        "proof of Theorem A.1; Theorems 4.2, A.2, A.3",
        "|w| obeys (6) step by step; strict inequalities",
        "A.1 is exact for 0 < eta < 2 by another argument; A.3 holds for v_1 up to O(eta); 4.2 and A.2 are exact with "
        "(1 + q_lo)^-T and (1 - q_hi)^T",
        "two-layer descent: |w| leaves both printed bounds",
        "lee2023.theorem_a3",
    ),
    Erratum(
        "E7",
        "Theorems 4.2 and A.2, last term",
        "(1 - 3 a eta)^T",
        "(1 - a eta)^3T, by the paper's own Theorem 4.1",
        "one-layer descent with a step near the largest that A.2 allows",
        "lee2023.theorem4_2",
    ),
    Erratum(
        "E8",
        "Appendix D.1",
        "all bounds are convex; two-layer lower bound turns at (1 - eps) v*",
        "one layer: convex iff v_0 > A; two layers: inflection at sqrt(A/3), end at sqrt(1 - eps) v*",
        "second differences of both bounds from six starts",
        "lee2023.appendix_d1",
    ),
    Erratum(
        "E9",
        "Section 3.2, after (11)",
        "for sufficiently large m the magnitude is monotone regardless of the initialisation",
        "only as m -> infinity: for m >= 1 every v_0 > h(0) ends below v*, so it turns once",
        "m = 3 from v_0 = v* and 2 v*",
        "lee2023.criterion11",
    ),
    Erratum(
        "E10",
        "Section 3.2",
        "Theorems 3.8 and 3.9 show exponential convergence of both components",
        "3.9 does; the lower bound of 3.8 ends at v* (1 - eps_0)^(1/(m+1)). The true rate for m >= 2 is v*^2m, not "
        "that of u(t; 0)",
        "slope of log|v* - v| at the end",
        "lee2023.rates",
    ),
    Erratum("E11", "Section 2", "m > 1; second form of E[1{<x,u> > 0} x x^T]", "m >= 1; the two-indicator matrix", "-"),
    Erratum(
        "E12",
        "proof of Proposition C.1",
        "P(cos > eps) <= (1 - eps^2)^(d/2)",
        "fails for eps near 1; the final bound e^(-d eps^2/2) is right",
        "the exact beta law: d = 2, eps = .99 has .045 against .020",
        "lee2023.proposition_c1",
    ),
    Erratum(
        "E13",
        "(9), (10)",
        "the equations of a multi-layer neuron",
        "of a balanced one; unbalanced starts need all of (w, v_1..v_m)",
        "an unbalanced run read as a balanced one",
    ),
    Erratum(
        "E14",
        "Section 5",
        "the theorems are verified on a sample",
        "they are population statements; rates on a sample differ by O(sqrt(d/n))",
        "n = 10000, d = 100 against the population",
    ),
    Erratum(
        "E15",
        "Lemma C.2",
        "f <= g for all x suffices",
        "uniqueness is needed too, e.g. f or g locally Lipschitz",
        "f = g = 2 sqrt|x|: u = t^2 overtakes v = 0",
        "lee2023.lemma_c2",
    ),
    Erratum(
        "E16",
        "Theorem 3.3, (8)",
        "for |w_0| close to 0 the v_0 terms may be dropped",
        "not in the upper bound: v(0) = v_0 > 0 is above it at small t",
        "any one-layer run",
        "lee2023.theorem3_3",
    ),
    Erratum(
        "E17",
        "Appendix D.3",
        "r = |w_0| for small starts, k = .1 k* being a variance",
        "legitimate iff v_0/v* <= s(phi_0)^(1/(m+1)): about half of random one-layer starts fail; none if k is a "
        "standard deviation",
        "20000 random starts in d = 100",
        "lee2023.appendix_d3",
    ),
    Erratum(
        "E18",
        "proof of Proposition 3.5",
        "the derivative of v_k without its activation",
        "a factor 1_{v_k > 0}: a neuron with some v_k <= 0 does not move at all",
        "lee2023.proposition3_5 tries both signs of every inner weight",
    ),
    Erratum(
        "E19",
        "Section 5.2, conjecture",
        "from a large start |w| first decreases, then increases, in general",
        "for one layer if and only if K = (v*/v_0) phi_0/sin(phi_0) + pi cot(phi_0) >= -1; always for more layers",
        "one layer, v_0 = 3 v*, phi_0 = 2.9, K = -8.7: |w| falls for ever",
        "lee2023.conjecture5_2",
    ),
    Erratum(
        "E20",
        "Figure 4 (b), for whoever repeats it",
        "for large norm initialisation, magnitude strictly decreases (k = 0.44, step 1e-4; the target's scale is not "
        "given)",
        "so do |W_1| at that step, and every layer at a tenth of it; the norm of all parameters leaps in the first "
        "steps",
        "lee2023/fig4 (e): by 9% or more for seven targets with standard deviations from 0.02 to 0.44, and it blows up "
        "for 0.3, 0.6 and 0.8",
    ),
)

ERRATA = sorted_out(_ALL, false="E4 E5 E7 E8 E9 E10 E15 E16 E17 E19", caution="E3 E6 E12 E13 E14 E20")
