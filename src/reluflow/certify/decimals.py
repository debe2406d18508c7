"""Intervals in decimals, rounded outward: what a certificate prints and stores."""

import math

from reluflow.certify._flint import arb, fmpq
from reluflow.certify.exact import rational, words


def interval(x: arb, most: int = 40) -> list[str]:
    """[lo, hi] around a ball: wider than it by at most about a fifth, and by 10^-`most` of its size if it is thin."""
    size = float(x.abs_upper())
    width = max(float(x.rad()), size * 10.0**-most)
    if width == 0:
        return ["0", "0"]
    places = math.ceil(-math.log10(width)) + 1
    unit = fmpq(10) ** places
    lo, hi = _floor(fraction(x.lower()) * unit), -_floor(-fraction(x.upper()) * unit)
    return [words(fmpq(v) / unit) for v in (lo, hi)]


def fraction(x: arb) -> fmpq:
    """The middle of a ball, exactly."""
    man, exp = x.mid().man_exp()
    return fmpq(int(man)) * fmpq(2) ** int(exp)


def ball(pair) -> arb:
    """The ball of a stored interval."""
    lo, hi = (arb(rational(v)) for v in pair)
    return lo.union(hi)


def spoken(pair, digits: int = 12) -> str:
    """An interval in print: the digits that both ends share, as [lo, hi] of at most so many digits."""
    lo, hi = (rational(v) for v in pair)
    if lo == hi:
        return words(lo)
    gap, size = float(arb(hi - lo)), max(abs(float(arb(lo))), abs(float(arb(hi))))
    places = max(0, math.ceil(-math.log10(max(gap, size * 10.0**-digits))) + 1)
    unit = fmpq(10) ** places
    down, up = fmpq(_floor(lo * unit)) / unit, fmpq(-_floor(-hi * unit)) / unit
    return f"[{words(down)}, {words(up)}]"


def _floor(q: fmpq) -> int:
    return int(q.p) // int(q.q)
