"""The maximal path of [MMV24], Appendix C.2: no path (k+, k-) costs more, and its cost is at most 4 log n."""

from functools import cache

import numpy as np

from reluflow.claim import Claim, Report

needs = "nothing"
forms = ("corrected", "printed")


def dearest(n_plus: int, n_minus: int, cost) -> float:
    """The largest cost of any path from anywhere to (n+, 0), jumps allowed, by dynamic programming."""

    @cache
    def best(a: int, b: int) -> float:
        if (a, b) == (n_plus, 0):
            return 0.0
        ahead = [best(p, q) for p in range(a, n_plus + 1) for q in range(b + 1) if (p, q) not in ((a, b), (0, 0))]
        return cost(a + b) + max(ahead)

    return max(best(a, b) for a in range(n_plus + 1) for b in range(n_minus + 1) if (a, b) != (0, 0))


def maximal(n_plus: int, n_minus: int, cost) -> float:
    """(0, n-), ..., (0, 1), (1, 1), (1, 0), ..., (n+, 0): every vertex but the last."""
    down = sum(cost(k) for k in range(1, n_minus + 1)) + (cost(2) if n_minus else 0.0)
    return down + sum(cost(k) for k in range(1, n_plus))


def check(most: int = 8, mu: float = 0.3, form="corrected") -> Report:
    r"""Claims, in units of $4/(m\sqrt\mu X_{min})$: for all $1 \le n_+, 0 \le n_- \le$ `most`, $n \ge 2$, the maximal
    path is the dearest, for the cost 1/k and for the sharper $1/\sqrt{k(1+\mu(k-1))}$; its cost $H(n_-) + \frac12 +
    H(n_+ - 1)$ (no 1/2 without negative data) is at most 2.28 log n, hence at most $4\log n$.

    Printed: the intermediate bound $2 H(n) + \frac12 \le 4\log n$, which fails at n = 2 (E5). Slack: sums of few terms,
    1e-12.
    """
    if form == "printed":
        over = [(2 * sum(1 / k for k in range(1, n + 1)) + 0.5 - 4 * np.log(n), n) for n in range(2, 2 * most + 1)]
        gap, n = max(over)
        claim = Claim("2 H(n) + 1/2 - 4 log n, largest over n >= 2", gap, "<=", 0.0, at=f"n = {n}")
        return Report("min2024.maximal_path", [claim], form=form)
    sizes = [(p, q) for p in range(1, most + 1) for q in range(most + 1) if p + q >= 2]
    claims = []
    for text, cost in (
        ("1/k", lambda k: 1 / k),
        ("1/sqrt(k (1 + mu (k-1)))", lambda k: 1 / np.sqrt(k * (1 + mu * (k - 1)))),
    ):
        gaps = [(dearest(p, q, cost) - maximal(p, q, cost), (p, q)) for p, q in sizes]
        gap, at = max(gaps)
        claims.append(
            Claim(f"dearest path minus maximal path, cost {text}, {len(sizes)} sizes", gap, "<=", 0.0, 1e-12, at=at)
        )
    ratio, at = max((maximal(p, q, lambda k: 1 / k) / np.log(p + q), (p, q)) for p, q in sizes)
    claims.append(Claim("cost of the maximal path over log n, largest", ratio, "<=", 4.0, at=f"(n+, n-) = {at}"))
    claims.append(Claim("the same, the constant that is enough", ratio, "<=", 2.28, at=f"(n+, n-) = {at}"))
    return Report("min2024.maximal_path", claims)
