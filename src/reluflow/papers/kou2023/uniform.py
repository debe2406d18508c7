"""Theorem 4.3 of Kou et al., "c is an absolute constant": the stable rank does not grow with n and m."""

from __future__ import annotations

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._measure import excess_rank
from reluflow.papers.kou2023._path import path

needs = "nothing"
LOG_T = 60.0


def check(sizes=((8, 20), (12, 20), (16, 20)), widths=((8, 20), (8, 80)), kappas=(0.0, 0.03)) -> Report:
    r"""$SR(W_j)$ at $t = e^{60}$, the larger of the two classes, for ReLU flows with n = 8, 12, 16 data and with m =
    20, 80 neurons a class, orthogonal and with kappa = 0.03.

    Claim: the largest of each family is below 4, while n/2 would be 8 at n = 16. The threshold is ours, hence "constant
    fitted": the paper names no constant. Orthogonal data have about 2/((1+2/n)(1+1/m)) (Lemma F.3).
    """
    claims = []
    for kappa in kappas:
        for name, family, of in (("n", sizes, 0), ("m", widths, 1)):
            ranks = [_rank(n, m, kappa) for n, m in family]
            note = ", ".join(f"{rank:.4g} at {name} = {size[of]}" for rank, size in zip(ranks, family, strict=True))
            text = f"largest SR(W_j) over {name}, kappa = {kappa:g}"
            claims.append(Claim(text, max(ranks), "<", 4.0, kind="fitted", note=note))
    return Report("kou2023.uniform", claims)


def _rank(n: int, m: int, kappa: float) -> float:
    from reluflow import Flow, solve
    from reluflow.papers.kou2023._standard import problem, started

    made = (problem(kappa, 0.0, n=n, m=m, seed=seed) for seed in range(4000))
    of = next(p for p in made if started(p))  # the event of Lemma A.2, which the theorem assumes
    run = path(solve(of, Flow(rtol=1e-6), log_t1=LOG_T), steps=0)
    return max(1.0 + float(excess_rank(run.w[-1, run.of_class(j)])) for j in (1, -1))
