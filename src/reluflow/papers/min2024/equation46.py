"""Equation (46) of [MMV24]: every hyperplane is crossed one way only, so there is no Zeno behaviour."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._run import as_run, worst
from reluflow.papers.min2024.equation7 import crossings

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected") -> Report:
    r"""Claims, at every moment and for every neuron that is not dead: $y_i s_j\langle x_i, \dot w_j\rangle > 0$,
    quantified: it is at least $\mu |w_j||x_i|\sum_{A} r_k|x_k|$; hence each neuron crosses each hyperplane at most
    once, finitely often in all, and nothing slides.

    Judged is $\langle u_i, D_j\rangle/\sum_A r_k|x_k|$, which carries no scale. Slack: rounding of a sum of n terms.
    Printed: the appendix takes F = grad L, for which the sign is the opposite one (E7).
    """
    run = as_run(sol)
    r, _ = run.force
    size = np.linalg.norm(run.data.x, axis=1)
    flip = -1.0 if form == "printed" else 1.0
    total = run.seen.reduce(lambda bits, part: np.einsum("fmn,fn,n->fm", bits, r[part], size))
    along = flip * np.einsum("fmd,nd->fmn", run.pull, run.geo.u)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(total[..., None] > 0, along / total[..., None], np.nan)
    least, where = worst(ratio, low=True)
    at = f"{run.where(where[0], where[1])}, datum {where[2]}" if where else None
    pairs = [(j, i) for _, j, i, _ in crossings(run)]
    eps = float(np.finfo(float).eps)
    claims = [
        Claim("<u_i, D_j> over the sum of r_k |x_k|, least", least, ">", 0.0, at=at),
        Claim("the same, against mu", least, ">=", run.geo.mu, slack=4 * (run.geo.n + run.data.d) * eps, at=at),
        Claim(f"crossings ({len(pairs)}) of a hyperplane crossed before", len(pairs) - len(set(pairs)), "=", 0),
        Claim("surfaces slid on", run.sol.stats.slides, "=", 0),
    ]
    hypotheses = run.hypotheses("separable", "balanced", "relu", "both layers", "tail")
    return Report("min2024.equation46", claims, hypotheses, run.c.shown(), form)
