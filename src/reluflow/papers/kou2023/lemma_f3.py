"""Lemma F.3 of Kou et al.: on orthonormal data the limit of W/log t, and its stable rank, are read off the start."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import in_tail
from reluflow.papers.kou2023._measure import excess_rank
from reluflow.papers.kou2023._path import Path, path
from reluflow.papers.kou2023._setting import Setting

needs = "solution"
forms = ("corrected", "printed")


def limits(at: Setting) -> dict[int, np.ndarray]:
    """A_j of both classes from W^(0): A_{r,i} = 1[<w^(0), x_i> >= 0] m/|S_i| on the columns of class j, 0 elsewhere."""
    share = at.m / np.maximum(at.size, 1) / np.sqrt(at.norm2)
    return {j: (at.started[at.sign == j] * share) for j in (1, -1)}


def check(sol, form: str = "corrected", steps: int = 0) -> Report:
    r"""$W_j/\log t \to A_j X$ (X orthogonal rows, scaled to 1); $SR(W_j)$ and $SR(W)$ tend to those of the A's.

    Printed: SR(W_j) -> 2 + o(1), SR(W) in [16/9, 9] + o(1), (5/3) sqrt n <= |a| <= (5/2) sqrt n for a_i = m/|S_i|, i in
    one class. Corrected [+]: the limits exactly, from W^(0) alone, |A_j|_F^2 = sum m^2/(|S_i||x_i|^2); finite size
    2/((1+2/n)(1+1/m)) about; |a| has n/2 entries, and the paper's argument then gives [26/9, 4] + o(1); both intervals
    are about the leading term of SR(W), as nothing is said of o(1). The limit of W/log s is
    read as the slope of W in log s over the last decade, which is off by 1/s only; slack: its change from the decade
    before, and the run's error. Stable ranks at the end itself, in the notes, are still off by 1/log s.
    """
    run = path(sol, steps)
    at = run.at
    goal = limits(at)
    claims = []
    for j in (1, -1):
        found, slack, shown = limit_rank(run, run.of_class(j))
        limit = 1.0 + float(excess_rank(goal[j])) if form == "corrected" else 2.0
        text = f"SR(W_{j:+d}) of W/log s"
        claims.append(Claim(text, found, "=", limit, slack=slack, kind="limit", note=shown))
        a = at.m / np.maximum(at.size[at.y == j], 1)
        half = len(a) if form == "corrected" else at.n
        claims += [
            Claim(f"|a| of class {j:+d}, lower", float(np.linalg.norm(a)), ">=", 5 / 3 * np.sqrt(half)),
            Claim(f"|a| of class {j:+d}, upper", float(np.linalg.norm(a)), "<=", 5 / 2 * np.sqrt(half)),
        ]
        unit = at.x / np.sqrt(at.norm2)[:, None]
        before, now = (v[at.sign == j] @ unit.T for v in run.slopes(run.w))
        # Deviations die like 1/s: what is left is less than the change from the decade before.
        slack = float(np.abs(now - before).max()) + 2 * run.error / at.r_min
        gap = float(np.abs(now - goal[j]).max())
        text = f"d W_{j:+d}/d log s against A X, largest difference"
        claims.append(Claim(text, gap, "<=", 0.0, slack=slack, kind="limit"))
        size, square = float(np.sum(now**2)), float(np.sum(at.m * a / at.norm2[at.y == j]))
        room = (np.sqrt(size) + np.sqrt(square)) * np.sqrt(now.size) * slack
        text = f"|d W_{j:+d}/d log s|_F^2 against sum m^2/(|S_i| |x_i|^2)"
        claims.append(Claim(text, size, "=", square, slack=float(room), kind="limit"))
    whole = sum(np.sum(goal[j] ** 2) for j in (1, -1)) / max(np.linalg.norm(goal[j], 2) ** 2 for j in (1, -1))
    found, slack, shown = limit_rank(run, np.arange(2 * at.m))
    low, high = (26 / 9, 4.0) if form == "corrected" else (16 / 9, 9.0)
    if form == "corrected":
        claims.append(Claim("SR(W) of W/log s", found, "=", whole, slack=slack, kind="limit", note=shown))
    squares = [np.sum((at.m / np.maximum(at.size[at.y == j], 1)) ** 2) for j in (1, -1)]
    leading = 2 * sum(squares) / max(squares)
    claims += [
        Claim("2(|a|^2+|b|^2)/max(|a|,|b|)^2, which SR(W) is but for o(1), lower end", leading, ">=", low),
        Claim("the same, upper end", leading, "<=", high),
    ]
    hypotheses = [
        Claim("kappa", at.kappa, "=", 0.0),
        Claim("R - 1", at.ratio - 1.0, "<=", 0.0, slack=1e-12),
        Claim("sum of labels", float(np.sum(at.y)), "=", 0.0),
        Claim("gamma", at.gamma, "=", 0.0),
        Claim("least |S_i|/m", at.size.min() / at.m, ">=", 0.4),
        Claim("largest |S_i|/m", at.size.max() / at.m, "<=", 0.6),
    ]
    finite = 2 / ((1 + 2 / at.n) * (1 + 1 / at.m))
    return Report("kou2023.lemma_f3", in_tail(run, claims), hypotheses, {**at.report(), "finite size": finite}, form)


def limit_rank(run: Path, rows: np.ndarray) -> tuple[float, float, str]:
    """The limit of the stable rank of some rows, its slack, and what it is at the end.

    W = u log s + b + O(1/s): the stable rank of W differs from that of u by 1/log s, that of the slope dW/d log s by
    1/s.
    """
    before, now = (1.0 + float(excess_rank(v[rows])) for v in run.slopes(run.w))
    end = 1.0 + float(excess_rank(run.w[-1, rows]))
    error = 4 * (now + 1) * run.error / float(np.linalg.norm(run.w[-1, rows], 2)) * run.log_s[-1] / np.log(10.0)
    return now, abs(now - before) + error, f"{end:.6g} at s = e^{run.log_s[-1]:.4g}"
