r"""How small lambda must be for the printed proof: its conditions one by one, each solved for log10 lambda.

The paper says "lambda small enough" throughout. These are the inequalities its steps use, for unit norms; C16 (the
slack 1/29 - 1/30 - 1/31 of Lemma 12) and some Groenwall steps of Lemma 11 leave their constants open, so that the
smallest threshold is an upper bound on the proof's own lambda*, and no certified value exists (E2).
"""

from collections.abc import Callable

import numpy as np

from reluflow.claim import Claim
from reluflow.papers.boursier2022._constants import Constants

LN10 = float(np.log(10.0))
PHASE_1 = ("C1", "C2", "C3", "C4", "C5")
PHASE_2 = (*PHASE_1, "C6", "C7", "C8", "C9")
PHASE_3 = (*PHASE_2, "C10", "C11", "C12")
FINAL = (*PHASE_3, "C13", "C14", "C15")


def conditions(const: Constants) -> dict[str, Callable[[float], bool]]:
    """The inequalities as functions of log lambda."""
    n, m, c, c_min, e, r = const.N, const.m, const.c, const.c_min, const.epsilon, const.r
    p, q = const.plus.size, const.minus.size
    y_plus, y_minus = (float(np.min(np.abs(const.y[k.members]))) for k in (const.plus, const.minus))
    y_min, last = min(y_plus, y_minus), const.limit.early.last
    T_plus, T_minus = (float(np.max(last[S], initial=0.0)) for S in (const.S_plus, const.S_minus))
    aligned = max(p * T_plus, q * T_minus) / e

    def power(s: float, v: float) -> float:
        return float(np.exp(s * v))

    def c4(v: float) -> bool:
        first = power(e / 2, v) + c * np.sqrt(m / p) * power(1 - 2 * e, v)
        return first < 1 and power(e / 2, v) + c * np.sqrt(m / q) * power(1 - (r + 1) * e, v) < 1

    def c7(v: float) -> bool:
        gap = p - power(e / 2, v)
        if gap <= 0:
            return False
        short = 2 * np.sqrt(2 / p) * power(e / 4, v) + 4 * power(e / 2, v) / gap
        a, b = 2 * gap * (1 - short), 2 * gap / (n * p)
        if a <= 0:
            return False
        log_tail = np.log(4 * a**2 / (c_min**2 * b**2)) + v * ((a / p) * (1 + 2 * e) - 2 * (1 + e) - e / 5)
        # Both sides over lambda^{eps/5}, so that neither underflows.
        head = n * p * (2 * np.sqrt(2 / p) * power(e / 20, v) + 4 * power(0.3 * e, v) / gap)
        return bool(head + np.exp(min(log_tail, 700.0)) < 1)

    def c13(v: float) -> bool:
        reach = 2 * power(e / 240, v) * np.sqrt(m / n)
        return all(power(e / 30, v) + reach * (np.sqrt(D) + power(e / 60, v)) <= D / 2 for D in (p, q))

    return {
        "C1": lambda v: power(2 * (1 - r * e), v) <= y_min / (4 * m * c**2),
        "C2": lambda v: -4 * r * e * m * c**2 * power(2 * (1 - r * e), v) * v <= p * np.log(2),
        "C3": lambda v: 4 * m * c**2 * power(2 * (1 - r * e), v) <= 7 / 16 * q,
        "C4": c4,
        "C5": lambda v: -v >= aligned,
        "C6": lambda v: power(7 * e / 4, v) <= np.sqrt(2 * p) / (4 * m * c**2),
        "C7": c7,
        "C8": lambda v: power(e / 20, v) <= y_plus / (n**2 * p * np.sqrt(2 * p)),
        "C9": lambda v: (
            power(e / 10, v) * 6 * p <= 1 and -(1 + 3 * e) * 4 * m * c**2 * power(2 * e, v) * v / p < np.log(2)
        ),
        "C10": lambda v: power(e / 812, v) <= y_minus / (n**2 * q * np.sqrt(2 * q)),
        "C11": lambda v: power(e / 812, v) * 2 * n * np.sqrt(2 * q) <= 1,
        "C12": lambda v: -power(e / 14, v) * (1 + 3 * r * e) * v / q < np.log(1.5),
        "C13": c13,
        "C14": lambda v: 4 * power(e / 120, v) <= q,
        "C15": lambda v: n * np.sqrt(p) * power(e / 120, v) <= 1,
    }


def thresholds(const: Constants) -> dict[str, float]:
    """log10 of the largest lambda below which each condition holds (0 where it always does)."""
    return {name: _largest(holds) / LN10 for name, holds in conditions(const).items()}


def _largest(holds: Callable[[float], bool]) -> float:
    low = -(2.0**40)
    if not holds(low):
        return -np.inf
    while low < -1e-9 and holds(low / 2):
        low /= 2
    if low >= -1e-9:
        return 0.0
    high = low / 2
    for _ in range(60):
        mid = 0.5 * (low + high)
        low, high = (mid, high) if holds(mid) else (low, mid)
    return low


def small_enough(const: Constants, names: tuple[str, ...]) -> Claim:
    """log10 lambda against the strictest of the proof's conditions up to this result."""
    found = {name: value for name, value in thresholds(const).items() if name in names}
    name = min(found, key=lambda k: found[k])
    return Claim(
        f"lambda small enough for the printed proof ({names[0]}-{names[-1]}), log10 lambda",
        -const.ell / LN10,
        "<=",
        found[name],
        note=f"{name} binds; sufficient, not necessary",
    )
