r"""A curve with a proved tube around the flow, free of wrapping.

State theta = (w_j, a_j) / scale. With mu = scale^2 and phi_i = sum_j a_j m_ij <w_j, P_j x_i>,

    f_i = mu phi_i,   g_i = omega (y_i - f_i),   w_j' = a_j D_j,   a_j' = <D_j, w_j>,   D_j = sum_on g_i P_j x_i,

is the gradient flow of a quartic polynomial (the loss with the pattern kept), so that its Jacobian is symmetric,

    J = sum_i g_i hess(phi_i) - omega mu sum_i grad(phi_i) grad(phi_i)'  <=  max_j |D_j|.

**Step.** Let p be any polynomial curve with defect |p' - F(p)| <= delta on [0, h], and |D_j| <= L in the tube of
radius R around it. If |x(0) - p(0)| <= r and (r + h delta) e^{Lh} <= R, then |x(t) - p(t)| <= (r + t delta) e^{Lt} on
[0, h]: e = x - p has |e|' <= L |e| + delta while |e| <= R. The radius grows at the rate of the flow itself, |D_j| -> 0
at a limit, and one number bounds all coordinates: no boxes are turned and none grow by wrapping.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from operator import mul

from reluflow.certify._flint import arb, arb_poly, ctx, fmpq
from reluflow.certify.cell import Cell, cell
from reluflow.certify.exact import Exact, dot
from reluflow.certify.force import Series, along, force
from reluflow.certify.refusal import Refused

COARSE = 64  # bits for bounds, which need few
BLOCK = 24  # orders between two long products in `taylor`
PIECES = 4  # of a step, for the rate of growth


def up(x: arb) -> arb:
    """An exact number not below |x|."""
    return x.abs_upper()


def upper(x: arb) -> arb:
    """An exact number not below x."""
    return x.upper()


def length(values) -> arb:
    """A bound of the Euclidean length of a vector."""
    return sum((v.abs_upper() ** 2 for v in values), arb(0)).sqrt().abs_upper()


@dataclass(frozen=True)
class Net:
    """The numbers of a problem at the working precision."""

    exact: Exact
    mu: arb
    size: tuple  # |x_i|

    @classmethod
    def of(cls, exact: Exact) -> Net:
        mu = (2 * arb(exact.log_scale)).exp()
        if exact.below:
            mu = arb(0).union(mu)
        return cls(exact, mu, tuple(arb(dot(x, x)).sqrt() for x in exact.x))

    def spread(self, norm: arb, r: arb) -> list[arb]:
        """How far g_i can be from its value on the curve within distance r: omega mu |x_i| (|theta| r + r^2/2)."""
        omega = arb(self.exact.weight)
        return [omega * up(self.mu) * size * (norm * r + r * r / 2) for size in self.size]

    def drive(self, phi: list[arb]) -> list[arb]:
        """g_i where phi_i are those."""
        return force(self.exact, [self.mu * v for v in phi])


@dataclass
class State:
    """The flow is within `r` (Euclidean) of (w, a) at the time t; `leaving` holds the pairs that have just left a
    boundary and to which side, which is known although the tube touches it."""

    t: fmpq
    w: list
    a: list
    r: arb
    cells: list[Cell]
    leaving: dict = field(default_factory=dict)

    def norm(self) -> arb:
        return up(length([*self.a, *(v for w in self.w for v in w)])) + self.r

    def phi(self, net: Net) -> list[arb]:
        """phi_i at the centre."""
        total = [arb(0)] * net.exact.n
        for w, a, c in zip(self.w, self.a, self.cells, strict=True):
            for i in c.on:
                total[i] += a * inner(c.xi[i], w)
        return total

    def balls(self):
        """Every coordinate with the radius r."""
        r = arb(0, self.r)
        return [[v + r for v in w] for w in self.w], [v + r for v in self.a]


def inner(row, w):
    """<row, w> for a row of fractions; w of numbers or polynomials."""
    total = None
    for c, v in zip(row, w, strict=True):
        if c:
            total = arb(c) * v if total is None else total + arb(c) * v
    return w[0] * 0 if total is None else total


def start(net: Net) -> State:
    exact = net.exact
    w = [[arb(v) for v in row] for row in exact.w]
    a = [s * arb(dot(row, row)).sqrt() for s, row in zip(exact.s, exact.w, strict=True)]
    cells = [
        cell(exact.x, s, "".join("1" if dot(row, x) > 0 else "0" for x in exact.x))
        for s, row in zip(exact.s, exact.w, strict=True)
    ]
    return rounded(fmpq(0), w, a, arb(0), cells)


def rounded(t, w, a, r, cells, leaving=None) -> State:
    """A state with exact centre; what was rounded goes into the radius."""
    with ctx.workprec(COARSE):
        r = upper(r + length([v.rad() for v in a] + [v.rad() for row in w for v in row]))
    return State(t, [[v.mid() for v in row] for row in w], [v.mid() for v in a], r, list(cells), dict(leaving or {}))


# The curve ------------------------------------------------------------------------------------------------------------


class Product:
    """Coefficients of a product of two power series that are still being written: long parts at once, the rest term by
    term."""

    def __init__(self, p: list, q: list):
        self.p, self.q, self.first = p, q, 0
        self.base: list[arb] = []

    def begin(self, k: int) -> None:
        """Orders k, k + 1, ... from what is known below k."""
        self.first = k
        self.base = (arb_poly(self.p[:k]) * arb_poly(self.q[:k])).coeffs()[k : k + BLOCK]

    def at(self, k: int) -> arb:
        p, q, first = self.p, self.q, self.first
        if first == 0:
            return sum(map(mul, p[: k + 1], q[k::-1]), arb(0))
        base = self.base[k - first] if k - first < len(self.base) else arb(0)
        new = slice(first, k + 1)
        return sum(map(mul, p[new], q[k - first :: -1]), base) + sum(map(mul, q[new], p[k - first :: -1]), arb(0))


def taylor(net: Net, state: State, order: int):
    """Taylor coefficients of the flow from the centre, rounded: they suggest a curve, the defect judges it."""
    exact, mu, series = net.exact, net.mu.mid(), Series(net.exact)
    moving = [j for j, c in enumerate(state.cells) if c.on]
    w = [[[v] for v in row] for row in state.w]
    a = [[v] for v in state.a]
    pull: dict[Cell, list[list]] = {
        c: [[] for _ in range(exact.d)] for c in dict.fromkeys(state.cells[j] for j in moving)
    }
    axes = range(exact.d)
    aw = {(j, k): Product(a[j], w[j][k]) for j in moving for k in axes}
    aD = {(j, k): Product(a[j], pull[state.cells[j]][k]) for j in moving for k in axes}
    Dw = {(j, k): Product(pull[state.cells[j]][k], w[j][k]) for j in moving for k in axes}
    xi = {c: {i: [arb(v) for v in c.xi[i]] for i in c.on} for c in pull}
    for k in range(order):
        if k and k % BLOCK == 0:
            for table in (aw, aD, Dw):
                for product in table.values():
                    product.begin(k)
        f = [arb(0)] * exact.n
        for j in moving:
            q = [aw[j, axis].at(k) for axis in axes]
            for i, row in xi[state.cells[j]].items():
                f[i] += mu * sum(map(mul, row, q), arb(0))
        g = series.next(f)
        for c, lists in pull.items():
            for axis in axes:
                lists[axis].append(sum((g[i] * row[axis] for i, row in xi[c].items()), arb(0)).mid())
        for j in moving:
            for axis in axes:
                w[j][axis].append((aD[j, axis].at(k) / (k + 1)).mid())
            a[j].append((sum((Dw[j, axis].at(k) for axis in axes), arb(0)) / (k + 1)).mid())
    return w, a


def reach(coefficients, moving, order: int) -> float:
    """A length at which the last coefficients are as large as the first: the radius of convergence, roughly."""
    w, a = coefficients
    best = float("inf")
    with ctx.workprec(COARSE):
        for j in moving:
            size = length([a[j][0], *(c[0] for c in w[j])])
            for k in (order // 2, (2 * order) // 3, (5 * order) // 6, order - 1, order):
                now = length([a[j][k], *(c[k] for c in w[j])])
                if now > 0:
                    best = min(best, float(((size / now).log() / k).exp()))
    return best


@dataclass
class Tube:
    """A polynomial curve over [0, h], in the time s = t/h from 0 to 1, and the radius proved around it."""

    net: Net
    state: State
    h: fmpq
    w: list
    a: list
    g: list  # g_i along the curve
    D: dict  # of each cell
    r: arb
    norm: arb  # not below |theta| anywhere in the tube
    spread: list  # of g_i, within the tube
    coefficients: tuple

    def at(self, s: fmpq) -> State:
        """The state at a time inside, by the radius of the whole step."""
        s_ = arb(s)
        w = [[p(s_) for p in row] for row in self.w]
        return rounded(
            self.state.t + s * self.h, w, [p(s_) for p in self.a], self.r, self.state.cells, self.state.leaving
        )


def tube(net: Net, state: State, h: fmpq, coefficients, growth: float = 16.0) -> Tube | None:
    """The step theorem on [0, h], or None where its hypotheses fail."""
    exact, cells, precision = net.exact, state.cells, ctx.prec
    h_ = arb(h)
    powers = [arb(1)]
    order = max(map(len, coefficients[1]))
    while len(powers) < order:
        powers.append(powers[-1] * h_)
    curve = lambda c: arb_poly([(v * p).mid() for v, p in zip(c, powers)])
    w = [[curve(c) for c in row] for row in coefficients[0]]
    a = [curve(c) for c in coefficients[1]]
    mu, omega = net.mu.mid(), arb(exact.weight)
    phi = [arb_poly([0])] * exact.n
    for j, c in enumerate(cells):
        if c.on:
            q = [a[j] * v for v in w[j]]
            for i in c.on:
                phi[i] = phi[i] + inner(c.xi[i], q)
    g, rough = along(exact, [mu * v for v in phi], order)
    D = {
        c: [sum((arb(c.xi[i][k]) * g[i] for i in c.on), arb_poly([0])) for k in range(exact.d)]
        for c in dict.fromkeys(cells)
    }
    defects = []
    for j, c in enumerate(cells):
        if c.on:
            for k in range(exact.d):
                defects.append(w[j][k].derivative() - h_ * (a[j] * D[c][k]))
            defects.append(a[j].derivative() - h_ * sum((D[c][k] * w[j][k] for k in range(exact.d)), arb_poly([0])))
    with ctx.workprec(COARSE):
        defect = up(length([sum(map(abs, q.coeffs()), arb(0)) for q in defects]))
        whole = arb(0.5, 0.5)
        norm = up(length([q(whole) for q in a] + [q(whole) for row in w for q in row]))
        if not defect <= 4 * state.r + norm * arb(2) ** -(precision - 8):  # a curve that bad would waste digits
            return None
        off = net.mu.rad() * omega
        parameter = [up(off * up(v(whole)) + e) for v, e in zip(phi, rough, strict=True)]
        defect += up(h_ * norm * sum(map(mul, parameter, net.size), arb(0)))
        R = upper(arb(growth) * (state.r + defect))
        norm = upper(norm + R)
        spread = [up(u + v) for u, v in zip(net.spread(norm, R), parameter, strict=True)]
        r = state.r
        for piece in range(PIECES):
            s = arb((2 * piece + 1) / (2 * PIECES), 1 / (2 * PIECES))
            rate = arb(0)
            for c, pull in D.items():
                extra = sum((spread[i] * arb(dot(c.xi[i], c.xi[i])).sqrt() for i in c.on), arb(0))
                rate = max(rate, up(length([q(s) for q in pull]) + extra))
            r = upper((r + defect / PIECES) * (h_ * rate / PIECES).exp())
        if not r <= R:
            return None
        spread = [up(u + v) for u, v in zip(net.spread(norm, r), parameter, strict=True)]
    return Tube(net, state, h, w, a, g, D, r, norm, spread, coefficients)


def step(net: Net, state: State, order: int, longest: fmpq) -> Tube:
    """A tube as long as the curve is good to the working precision, at most `longest`."""
    moving = [j for j, c in enumerate(state.cells) if c.on]
    coefficients = taylor(net, state, order)
    if not moving:
        return _sure(tube(net, state, longest, coefficients), state)
    h = min(longest, _short(0.2 * reach(coefficients, moving, order)))
    for _ in range(60):
        found = tube(net, state, h, coefficients)
        if found is not None:
            return found
        h = h / 2
    raise Refused("No step of any length could be proved.", float(arb(state.t)))


def _short(h: float) -> fmpq:
    """h with few binary digits, so that times stay short."""
    mantissa, exponent = math.frexp(min(h, 1e9))
    return fmpq(int(64 * mantissa)) * fmpq(2) ** (exponent - 6)


def _sure(found, state):
    if found is None:
        raise Refused("No step could be proved.", float(arb(state.t)))
    return found
