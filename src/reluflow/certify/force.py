r"""The force g_i = -dL/df_i of each loss, at a point, along a curve, and as a power series.

    square     g = omega (y - f)
    logistic   g = omega y S,  S = 1/(1 + e^{yf}),  S' = -y f' S (1 - S)

Both fall with f, at a rate omega l'' with 0 <= l'' <= 1: the bounds of the square loss hold for both. Along a
polynomial f the logistic S is replaced by a polynomial Z: with eta = Z' + y f' Z (1 - Z),

    |S - Z| <= (|S(0) - Z(0)| + sup |eta|) exp(sup |f'| (1 + sup |1 - Z|))   on [0, 1].
"""

from operator import mul

from reluflow.certify._flint import arb, arb_poly, arb_series, ctx
from reluflow.certify.exact import Exact

UNIT = arb(0.5, 0.5)  # [0, 1]


def force(exact: Exact, f: list[arb]) -> list[arb]:
    """g_i at outputs f_i."""
    omega = arb(exact.weight)
    if exact.loss == "square":
        return [omega * (arb(y) - v) for y, v in zip(exact.y, f, strict=True)]
    return [omega * arb(y) / (1 + (arb(y) * v).exp()) for y, v in zip(exact.y, f, strict=True)]


def curvature(exact: Exact, g: list[arb]) -> list[arb]:
    """l'' where the forces are g_i."""
    if exact.loss == "square":
        return [arb(1)] * exact.n
    share = [arb(y) * v / arb(exact.weight) for y, v in zip(exact.y, g, strict=True)]
    return [s * (1 - s) for s in share]


def along(exact: Exact, f: list[arb_poly], terms: int) -> tuple[list[arb_poly], list[arb]]:
    """g_i as polynomials over [0, 1], and how far they may be from the truth."""
    omega = arb(exact.weight)
    if exact.loss == "square":
        return [omega * (arb(y) - v) for y, v in zip(exact.y, f, strict=True)], [arb(0)] * exact.n
    found = [_sigmoid(arb(y) * v, terms) for y, v in zip(exact.y, f, strict=True)]
    return [(omega * arb(y)) * Z for y, (Z, _) in zip(exact.y, found)], [omega * error for _, error in found]


def _sigmoid(v: arb_poly, terms: int) -> tuple[arb_poly, arb]:
    """1/(1 + e^v) as a polynomial, and its error."""
    cap, ctx.cap = ctx.cap, terms
    try:
        series = 1 / (1 + arb_series(v.coeffs()[:terms], terms).exp())
    finally:
        ctx.cap = cap
    Z = arb_poly([c.mid() for c in series.coeffs()])
    first = (1 / (1 + v(arb(0)).exp()) - Z(arb(0))).abs_upper()
    slope = v.derivative()
    eta = sum(map(abs, (Z.derivative() + slope * Z * (1 - Z)).coeffs()), arb(0)).abs_upper()
    growth = (slope(UNIT).abs_upper() * (1 + (1 - Z(UNIT)).abs_upper())).exp()
    return Z, ((first + eta) * growth).abs_upper()


class Series:
    """g_i order by order, from f_i order by order; rounded."""

    def __init__(self, exact: Exact):
        self.exact, self.omega = exact, arb(exact.weight)
        self.f: list[list] = [[] for _ in range(exact.n)]
        self.S: list[list] = [[] for _ in range(exact.n)]
        self.T: list[list] = [[] for _ in range(exact.n)]  # S (1 - S)

    def next(self, f: list[arb]) -> list[arb]:
        """The next coefficients of g from those of f."""
        k, y = len(self.f[0]), [arb(v) for v in self.exact.y]
        for row, v in zip(self.f, f, strict=True):
            row.append(v.mid())
        if self.exact.loss == "square":
            return [self.omega * ((y[i] if k == 0 else 0) - f[i]) for i in range(self.exact.n)]
        out = []
        for i in range(self.exact.n):
            S, T = self.S[i], self.T[i]
            if k == 0:
                S.append((1 / (1 + (y[i] * f[i]).exp())).mid())
            else:
                weighted = [j * v for j, v in enumerate(self.f[i])][1:]
                S.append((-y[i] * sum(map(mul, weighted, T[::-1]), arb(0)) / k).mid())
            T.append((S[k] - sum(map(mul, S, S[::-1]), arb(0))).mid())
            out.append(self.omega * y[i] * S[k])
        return out
