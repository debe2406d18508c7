"""The first root of a polynomial on (0, 1], in fixed point.

In the Bernstein basis the number of sign changes of the coefficients bounds the number of roots from above, with
equality at 0 and 1 (Descartes): halving the interval until it is 0 or 1 misses no pair of crossings.
"""

from itertools import pairwise
from math import comb

from reluflow.reference.arith import horner


def bernstein(p: list[int]) -> list[int]:
    """Bernstein coefficients on [0, 1] of sum p_k x^k: b_i = sum_k C(i,k)/C(K,k) p_k."""
    K = len(p) - 1
    return [sum(comb(i, k) * p[k] // comb(K, k) for k in range(i + 1)) for i in range(K + 1)]


def halves(b):
    """The Bernstein coefficients on the two halves of the interval (de Casteljau)."""
    left, right, row = [], [], list(b)
    while row:
        left.append(row[0])
        right.append(row[-1])
        row = [(u + v) >> 1 for u, v in pairwise(row)]
    return left, right[::-1]


def changes(b) -> int:
    signs = [v > 0 for v in b if v != 0]
    return sum(u != v for u, v in pairwise(signs))


def first_root(p: list[int], bits: int, depth: int = 60) -> int | None:
    """The first x in (0, 1] where p, positive at 0, is no longer positive; None if there is none."""
    if p[0] > sum(map(abs, p[1:])):
        return None
    one = 1 << bits
    stack = [(bernstein(p), 0, 0)]  # coefficients, left end in units of the width, level
    while stack:
        b, left, level = stack.pop()
        count = changes(b)
        if count == 0 and b[-1] > 0:
            continue
        if (count == 1 and b[0] > 0) or level == depth or count == 0:
            return polish(p, left * one >> level, (left + 1) * one >> level, bits)
        low, high = halves(b)
        stack.append((high, 2 * left + 1, level + 1))
        stack.append((low, 2 * left, level + 1))
    return None


def polish(p, low: int, high: int, bits: int) -> int:
    """The root in [low, high]: Newton's method, kept inside by bisection. p(low) > 0 >= p(high)."""
    slope = [k * c for k, c in enumerate(p)][1:]
    x = (low + high) // 2
    for _ in range(4 * bits):
        value = horner(p, x, bits)
        if value > 0:
            low = x
        else:
            high = x
        rate = horner(slope, x, bits)
        new = x - (value << bits) // rate if rate else (low + high) // 2
        if not low <= new <= high:
            new = (low + high) // 2
        if abs(new - x) <= 1 or high - low <= 1:
            return new
        x = new
    return x
