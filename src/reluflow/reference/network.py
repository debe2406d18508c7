r"""The network, its data and its losses in exact form.

    f_i = sum_j a_j m_ji <w_j, x_i>,   g_i = -dL/df_i,   D_j = sum_i m_ji g_i x_i,   w_j' = a_j D_j,   a_j' = <D_j, w_j>

With weight decay, -decay w_j and -decay a_j are added to the velocities of the weights that are trained.

Rows on one line, x_i = alpha_i e, are one *surface* <w, e> = 0. A neuron lies on its side +1 or -1, or stays on it (0).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from reluflow.reference.arith import arb, dot, fix, norm, number, project

# Rows whose angle has a sine below this are one surface: the data are floats, and 3 * 0.1 is not 0.3.
PARALLEL = 8 * 2.0**-52
# Rows with |a^2 - |w|^2| below this times a^2 + |w|^2 are balanced, and stay so exactly.
BALANCED = 8 * 2.0**-52


@dataclass(frozen=True)
class Surface:
    """All rows alpha_i e of one line through the origin."""

    normal: list
    rows: list  # of (i, alpha_i)


@dataclass
class Network:
    x: list
    y: list
    loss: str
    count: int  # each datum's loss is divided by this: n for the mean, 1 for the sum
    slope: arb
    train: str
    decay: arb
    surfaces: list = field(default_factory=list)

    @property
    def n(self):
        return len(self.x)

    @property
    def d(self):
        return len(self.x[0])

    def bit(self, side: int, alpha: arb) -> arb:
        """The derivative of the activation at a row alpha e, for a neuron on that side of the surface of e."""
        return arb(1) if side * alpha > 0 else self.slope

    def push(self, surface: Surface, side: int, g) -> arb:
        """The force of a surface's rows along its normal, for a neuron on that side."""
        return sum((self.bit(side, alpha) * g[i] * alpha for i, alpha in surface.rows), arb(0)).mid()


@dataclass
class Neuron:
    """Weights, the sign of the output weight, and the side of every surface the neuron lies on (0: it slides)."""

    w: list
    a: arb
    sign: int
    balanced: bool
    sides: list
    resting: set = field(default_factory=set)  # surfaces it touches from side -1, where nothing can move it off
    leaving: dict = field(default_factory=dict)  # surface -> order in t with which <w, e> leaves 0 in the next step
    turning: bool = False  # a = 0 now
    held: bool = False  # w = 0 and kept there by normals that are linearly dependent

    def slid(self):
        return [r for r, side in enumerate(self.sides) if side == 0]


KNOWN = ("square", "logistic", "logistic2", "exponential")


def network(problem) -> Network:
    several = problem.outputs > 1
    if problem.loss not in KNOWN and not several:
        raise ValueError(
            f"The reference has its own formulas for {', '.join(KNOWN)}, got {problem.loss}: compare with one of these."
        )
    x = [[number(v) for v in row] for row in problem.data.x]
    net = Network(
        x=x,
        y=[[number(v) for v in row] for row in problem.targets] if several else [number(v) for v in problem.data.y],
        loss=problem.loss,
        count=len(x) if problem.reduction == "mean" else 1,
        slope=number(problem.activation.slope),
        train=problem.train,
        decay=number(problem.decay),
    )
    for i, row in enumerate(x):
        length = norm(row)
        if length == 0:
            continue
        for s in net.surfaces:
            off = project(row, [[(c / norm(s.normal)).mid() for c in s.normal]])
            if norm(off) <= PARALLEL * length:
                alpha = (dot(row, s.normal) / dot(s.normal, s.normal)).mid()
                s.rows.append((i, alpha))
                net.x[i] = [(alpha * c).mid() for c in s.normal]
                break
        else:
            net.surfaces.append(Surface(row, [(i, arb(1))]))
    return net


def initial(problem) -> Iterator[tuple[list, list, bool]]:
    """(w, a, whether the row is balanced) of every neuron, a as a list of its outputs."""
    init = problem.init
    for row, column, lw, la in zip(init.w, init.a.reshape(len(init.a), -1), *init.log_scales, strict=True):
        scale_w, scale_a = number(lw).exp(), number(la).exp()
        w, a = [(number(v) * scale_w).mid() for v in row], [(number(v) * scale_a).mid() for v in column]
        ww, aa = dot(w, w), dot(a, a)
        yield w, a, problem.train == "both" and bool(abs(aa - ww) <= BALANCED * (aa + ww))


def sides(net: Network, w) -> list[int]:
    """On which side of every surface w is: 1, -1, or 0 where it touches one."""
    heights = [dot(w, s.normal) for s in net.surfaces]
    return [1 if u > 0 else -1 if u < 0 else 0 for u in heights]


def neurons(problem, net: Network) -> list[Neuron]:
    """The initial weights; a balanced row gets a = s|w| to full precision."""
    out = []
    for w, (a,), balanced in initial(problem):
        sign = 1 if a > 0 else -1 if a < 0 else 0
        out.append(Neuron(w, (sign * norm(w)).mid() if balanced else a, sign, balanced, sides(net, w)))
    return out


def outputs(net: Network, cells) -> list:
    f = [arb(0)] * net.n
    for cell in cells:
        for s, side in zip(net.surfaces, cell.sides, strict=True):
            if side != 0 and cell.a != 0:
                u = dot(cell.w, s.normal) * cell.a
                for i, alpha in s.rows:
                    f[i] += net.bit(side, alpha) * alpha * u
    return [v.mid() for v in f]


def loss_value(net: Network, f) -> arb:
    kinds = {
        "square": lambda y, v: (v - y) ** 2 / 2,
        "logistic": lambda y, v: (-y * v).exp().log1p(),
        "logistic2": lambda y, v: 2 * (-y * v).exp().log1p(),
        "exponential": lambda y, v: (-y * v).exp(),
    }
    total = sum((kinds[net.loss](y, v) for y, v in zip(net.y, f, strict=True)), arb(0))
    return (total / net.count).mid()


def drive(net: Network, f) -> list:
    """g_i = -dL/df_i."""
    kinds = {
        "square": lambda y, v: y - v,
        "logistic": lambda y, v: y / (1 + (y * v).exp()),
        "logistic2": lambda y, v: 2 * y / (1 + (y * v).exp()),
        "exponential": lambda y, v: y * (-y * v).exp(),
    }
    return [(kinds[net.loss](y, v) / net.count).mid() for y, v in zip(net.y, f, strict=True)]


class DriveSeries:
    """The Taylor coefficients of 2^e g_i in units of the time 2^e, found one order at a time, in fixed point.

    With z = y f and c = 2^e / count:  square: G = c (y - f);  exponential: G' = -G z';
    logistic: G = c y p, p = 1/(1 + e^z), so G' = -G (1 - p) z' (c doubled for logistic2).
    """

    def __init__(self, net: Network, g, e: int, bits: int):
        self.loss, self.count, self.e, self.bits = net.loss, net.count, e, bits
        self.twice = 2 if net.loss == "logistic2" else 1
        self.y = [1 if y > 0 else -1 for y in net.y]
        unit = arb((1, e))
        self.G = [[fix(v * unit, bits)] for v in g]
        self.slopes: list = [[] for _ in g]  # l f_l for l = 1, 2, ...
        if net.loss.startswith("logistic"):
            self.rest = [[fix(1 - v * net.count / (self.twice * y), bits)] for v, y in zip(g, net.y, strict=True)]
            self.product = [[G[0] * w[0] >> bits] for G, w in zip(self.G, self.rest, strict=True)]

    def _times_c(self, v: int) -> int:
        v *= self.twice
        return (v << self.e) // self.count if self.e >= 0 else (v // self.count) >> -self.e

    def _over_c(self, v: int) -> int:
        v *= self.count
        return (v >> self.e) // self.twice if self.e >= 0 else (v << -self.e) // self.twice

    def extend(self, k: int, f: list[int]) -> None:
        """Append order k >= 1, given the outputs' coefficients of that order."""
        for i, fk in enumerate(f):
            G = self.G[i]
            if self.loss == "square":
                G.append(-self._times_c(fk))
                continue
            slopes = self.slopes[i]
            slopes.append(k * fk)
            by = G if self.loss == "exponential" else self.product[i]
            total = sum(map(int.__mul__, slopes, by[k - 1 :: -1])) >> self.bits
            G.append(-self.y[i] * total // k)
            if self.loss != "exponential":
                rest = self.rest[i]
                rest.append(-self.y[i] * self._over_c(G[k]))
                by.append(sum(map(int.__mul__, G, rest[k::-1])) >> self.bits)
