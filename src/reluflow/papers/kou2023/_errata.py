"""Where the paper's text and the truth differ. Rates and intervals that are only loose (E4, E5, E6) hold as
printed; the tests show by how much."""

from reluflow.papers._erratum import Erratum, sorted_out

_ALL: tuple[Erratum, ...] = (
    Erratum(
        "E1",
        "Lemma 5.3",
        "log(e^{-x_0} + C1 t) <= x_t <= log(e^{-x_0} + C2 e^{C2} t)",
        "e^{+x_0} in both logarithms, as in Lemmas H.1 and H.2",
        "500 random sequences of 200 steps, x_0 in [0, 5]: the printed upper bound fails in a third of the checks",
        "kou2023.lemma5_3",
    ),
    Erratum(
        "E2",
        "Theorem 4.1 and Lemma 5.6",
        "sigma0 <= 1/(C R_max sqrt(log(mn/delta))), and T1 = C' nm/(eta R_max^2) with C' free of gamma",
        "sigma0 <= gamma/(C R_max sqrt(log(mn/delta))), as in (B.2): without the gamma C' grows like beta/gamma",
        "at fixed beta C' = T_pat h of kou2023.lemma5_6 is 2 beta/gamma or more; at fixed beta/gamma it does not grow",
    ),
    Erratum(
        "E3",
        "Definition 5.1",
        "there exist unique coefficients rho",
        "unique iff the x_i are linearly independent; otherwise the recursion defines them",
        "any data with n > d",
        "kou2023.lemma5_2",
    ),
    Erratum(
        "E4",
        "Theorems 4.1 and 4.3",
        "L_S = O(t^-a) with a < 1 for p > 0 (4.1), a = 0.16 at p = 0 (G.1)",
        "L_S = Theta(1/t): after T_pat this is logistic regression on fixed separable features",
        "kou2023.lemma_d2 and lemma_g1: the measured exponent is 1 to the run's error at t = 1e100, leaky and ReLU, "
        "kappa = 0 and > 0; for ReLU kou2023.relu_rate has a proof",
    ),
    Erratum(
        "E5",
        "Theorem 4.1, Lemma C.3",
        "SR(W_j) - 1 = O(1/log t); C3 = 1.5 sigma0 sqrt d + 3 C' sqrt n/R_min",
        "SR(W_j) - 1 = Theta(1/log^2 t), with its constant; coefficient 2 sqrt(1.5) in C3",
        "1/sqrt(SR - 1) is linear in log t with the predicted slope; C3 as printed is exceeded at n = 2, d = 10000",
        "kou2023.lemma_c3",
    ),
    Erratum(
        "E6",
        "Lemma F.3",
        "SR(W) in [16/9, 9] + o(1); (5/3) sqrt n <= |a| <= (5/2) sqrt n; |A| >= |C| - |A - E A|",
        "[26/9, 4] + o(1), typically 4; sqrt(n/2) for sqrt n; |E A| for |C|; |A|_F^2 = sum m^2/|S_i| exactly",
        "|a| has n/2 entries of size about 2: the printed lower bound fails unless all |S_i| <= 0.424 m",
        "kou2023.lemma_f3",
    ),
    Erratum(
        "E7",
        "Lemma F.2",
        "(1/m) sum_S rho >= log(1 + h_i e^-beta t/2)",
        "(1/m) sum_S rho >= log(1 + (|S_i|/m) h_i e^-beta t/2)",
        "data with |S_i| below m/2 break it early and late; the limit m/|S_i| is unaffected",
        "kou2023.lemma_f2",
    ),
    Erratum(
        "E8",
        "Lemma E.2, Corollary E.3, Lemma F.1",
        "there is a time T2 after which |rho_{y_i,r,i'}| <= c kappa rho_{y_i,r',i}",
        "for p > 0 only, and then log T2 is of order 1/kappa; F.1's conclusion does not need it",
        "orthogonal data: other-class coefficients freeze at nonzero values while kappa = 0",
        "kou2023.lemma_e2",
    ),
    Erratum(
        "E9",
        "Lemma E.1, the condition on c1",
        "log(1 + 0.2 C e^-beta R_min^2)/(14 log(1 + 1.2 C e^{2 beta} R_max^2))",
        "R_min^2/R_max^2 and no R_max^2",
        "data times 10, weights over 10 and step over 100 is the same training, and changes the printed number",
    ),
    Erratum(
        "E10",
        "Lemma F.2",
        "T = C nm/(eta R_max^2) with a constant C",
        "C depends on beta and R: c C R_min^2/R_max^2 >= beta is needed",
        "T h is about 2 beta: ten times as large from a start ten times as large",
    ),
    Erratum(
        "E11",
        "Remark 4.4",
        "the stable rank of ReLU networks converges to about 2",
        "2 belongs to p = 0 and n -> infinity: about 2/((1+2/n)(1+1/m)), and any p > 0 changes it",
        "the mean limit over starts is 1.67 at n = 10; a run with kappa = 0.03 ends elsewhere",
        "kou2023.lemma_f3",
    ),
    Erratum(
        "E12",
        "Section 6 and the proof of Lemma A.1",
        "weight variance sigma0; N(0, sigma0 I)",
        "N(0, sigma0^2 I), as in Section 3: sigma0 is the standard deviation",
        "with variance sigma0 = 0.01 every |w|^2 is far above 3 sigma0^2 d/2",
    ),
)

ERRATA = sorted_out(_ALL, false="E7 E8", caution="E2 E3 E4 E10 E11")
