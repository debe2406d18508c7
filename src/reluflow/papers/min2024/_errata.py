"""Where the text of [MMV24] and the truth differ; labels as in the order of discovery, E12 to E14 are cautions."""

from __future__ import annotations

from reluflow.papers._erratum import Erratum, sorted_out

_ALL: tuple[Erratum, ...] = (
    Erratum(
        "E1",
        "Section 2.1 against Lemmas 1, 2, 4, 10",
        "the logistic loss is log(1 + e^-z)",
        "2 log(1 + e^-z), as in Appendix B; or x_a/2 and half the pace",
        "with log(1+e^-z), r(0) = 1/2: the gap tends to |P x_a|/2 while the bound tends to 0",
        "min2024.lemma4",
    ),
    Erratum(
        "E2",
        "proof of Theorem 1, below (26); proof of Lemma 8",
        "zeta := max{zeta_1, zeta_2}; x+ = -x-",
        "zeta := min{zeta_1, zeta_2}; -x- lies in K",
        "a V+ neuron at angle 1e-12 from x- stays in S- longer than the bound with max allows",
        "min2024.dwell",
    ),
    Erratum(
        "E3",
        "(28) and (29)",
        "4 sqrt(h) n Xmax^2 Wmax^2 in eps_A",
        "8 sqrt(h) n Xmax^2 Wmax^2 (or Lemma 3 without its 2, which its proof supports)",
        "at the printed eps_A Lemma 3 gives max|f| twice as large as (29) needs",
        "min2024.equation28",
    ),
    Erratum(
        "E4",
        "abstract, Theorem 1: t1 = O(log n/sqrt(mu))",
        "the constant depends on data and initialisation but not on mu",
        "min{zeta, xi} <= mu^2, so the stated constants give mu^(-5/2); with the sharper dwell log(1/mu)/sqrt(mu)",
        "over mu from .3 to .001 the exponent of t1 of (28) is -5/2",
        "min2024.separability",
    ),
    Erratum(
        "E5",
        "travel time, n = 1 and n = 2",
        "2 H(n) + 1/2 <= 4 log n, and t1 = 16 log n/(...) for every n",
        "n >= 2, with the sum of the maximal path in place of 2 H(n) + 1/2",
        "n = 1 gives t1 = 0, but a V- neuron at 45 degrees to the only positive datum needs asinh(1) = .88",
        "min2024.theorem1",
    ),
    Erratum(
        "E6",
        "Lemma 12",
        "any solution stays in the dead cone",
        "any regular solution (Definition 1); the last S+ of the proof reads S-",
        "the solution of Appendix E.4 that waits and leaves",
        "min2024.example_e4",
    ),
    Erratum(
        "E7",
        "(2) and Appendix E",
        "W' in dL, F = grad L",
        "W' in -dL, F = -grad L",
        "(46) holds for -grad L, with F = grad L its sign is the opposite one everywhere",
        "min2024.equation46",
    ),
    Erratum(
        "E8",
        "end of Appendix D.3",
        "limsup |W|_F^2/|W|_2^2 = 2; f(x_i) -> infinity",
        "limsup <= 2; y_i f(x_i) -> infinity",
        "the stable rank tends to what the two groups give, 1.008 on the six points; f tends to -infinity on I-",
        "min2024.low_rank",
    ),
    Erratum(
        "E9",
        "Theorem 1, part 2",
        "t2 = Theta((1/n) log(1/(sqrt(h) eps)))",
        "T <= t2 <= (39), which has n+ (n-) for n, no h, and a term 16 n Xmax t1/(sqrt(mu) n+ Xmin)",
        "one positive against 19 negative data: t2+ exceeds (39) with n in place of n+",
        "min2024.equation36",
    ),
    Erratum(
        "E10",
        "text before Assumption 2; Section 4; Lemmas 4, 11",
        "V+ must not align with x+; V+ defined twice, w- over V+; M_x; off-diagonal sum without factor 2",
        "V+ must not align with x- (as in the formula), V- not with x+; V- = {v_j < 0}; Xmax; 2 times that sum",
        "a V+ neuron on x- passes the printed wording and never leaves S-",
        "min2024.assumption2",
    ),
    Erratum(
        "E11",
        "(37)",
        "d/dt cos(x+, w_j) >= (1/3 - cos(x+, w_j)) k/2 in S+",
        "only while cos(x+, w_j) <= 1/3: above, the factor is negative and |x~| >= k/2 bounds the wrong way",
        "two long data and a short one: between x+ and x~ the cosine falls faster",
        "min2024.equation37",
    ),
    Erratum(
        "poster",
        "poster, key dynamics",
        "d/dt w_j/|w_j| = P x_a(w_j)",
        "sign(v_j(0)) P x_a(w_j)",
        "V- neurons move the opposite way",
        "min2024.poster",
    ),
    Erratum(
        "E12",
        "all bounds",
        "",
        "caution: bounds are loose by 10 to 10^4; eps_B underflows double precision, so log eps is what is kept",
        "every report has measured value and bound beside each other",
    ),
    Erratum(
        "E13",
        "Lemma 1 at practical scales",
        "",
        "caution: T ends before alignment unless eps is astronomically small",
        "six points at e^-14: T = .52, last arrival .64",
        "min2024.theorem1",
    ),
    Erratum(
        "E14",
        "Appendix F; experiments",
        "",
        "caution: the Filippov extension is stated without proof; figures are reproduced elsewhere",
        "measured: no slide and no branch on the standard runs",
        "min2024.appendix_f",
    ),
)

ERRATA = sorted_out(_ALL, false="E1 E6 E11", caution="E4 E9 E12 E13 E14")
