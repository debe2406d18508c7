"""Signs of polynomials on an interval, proved: by balls where they are far from 0, by monotony where they are near."""

from dataclasses import dataclass

from reluflow.certify._flint import arb, arb_poly, fmpq

DEPTH = 40
NOW = fmpq(0)


@dataclass
class Watch:
    """A quantity that must stay positive on a tube: the polynomial `q` up to `error`. What its end means is in
    `kind`, for neuron j and row i."""

    j: int
    i: int
    kind: str
    q: arb_poly
    error: arb
    row: tuple | None = None  # a row over g, None for u
    since: fmpq = NOW  # the time from which it is watched

    def __post_init__(self):
        self.dq = self.q.derivative()

    def value(self, s: fmpq) -> arb:
        return self.q(arb(s))


def span(lo: fmpq, hi: fmpq) -> arb:
    return arb(lo).union(arb(hi))


def bracket(watch: Watch, lo: fmpq, hi: fmpq):
    """None when the watch is positive on [lo, hi]; else the first part where that is not proved, (a, b, falls): there
    it falls through 0 for certain on midpoints (`falls`), or nothing is known.

    What begins at a small time, just after a boundary was left, is followed over doubling times.
    """
    while 0 < 4 * lo < hi:
        part = _bracket(watch, lo, 2 * lo)
        if part is not None:
            return part
        lo = 2 * lo
    return _bracket(watch, lo, hi)


def _bracket(watch: Watch, lo: fmpq, hi: fmpq):
    if watch.q(span(lo, hi)) > watch.error:
        return None
    return _centred(watch, lo, hi, watch.q(_line((lo + hi) / 2, (hi - lo) / 2)), 0)


def _line(start, slope) -> arb_poly:
    return arb_poly([arb(start), arb(slope)])


def _centred(watch: Watch, lo: fmpq, hi: fmpq, q: arb_poly, depth: int):
    """The same with q expanded about the middle, its variable from -1 to 1: exact where plain balls cancel."""
    error, c = watch.error, q.coeffs()
    size = [abs(v) for v in c]
    if c and c[0] - sum(size[1:], arb(0)) > error:
        return None
    if len(c) > 1:
        bend = sum((k * v for k, v in enumerate(size[2:], 2)), arb(0))
        rises, falls = c[1] > bend, -c[1] > bend
        if rises or falls:
            first, last = watch.value(lo), watch.value(hi)
            if first > error and last > error:
                return None
            return lo, hi, bool(falls and first > error)
    if depth >= DEPTH:
        return lo, hi, False
    mid, half = (lo + hi) / 2, fmpq(1, 2)
    left = _centred(watch, lo, mid, q(_line(-half, half)), depth + 1)
    return left or _centred(watch, mid, hi, q(_line(half, half)), depth + 1)


def root(watch: Watch, lo: fmpq, hi: fmpq) -> tuple[arb, arb]:
    """Where a polynomial that falls on [lo, hi] meets 0, on midpoints, and its slope there: Newton, kept inside."""
    a, b = arb(lo).mid(), arb(hi).mid()
    s = ((a + b) / 2).mid()
    for _ in range(200):
        slope = watch.dq(s).mid()
        new = min(max((s - watch.q(s).mid() / slope).mid(), a), b)
        near = abs(new - s) * abs(slope) < watch.error / 64
        s = new
        if near:
            break
    return s, watch.dq(s).mid()
