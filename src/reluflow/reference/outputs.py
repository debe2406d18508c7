r"""The reference flow of networks with several outputs; everything that is not here is that of one output.

    w = r q,  a = r b:      q' = M' b,   b' = M q,   M = sum_i G_i M_i',   f_i = sum_j r_j^2 m_ji b_j <q_j, x_i>

On its surfaces a neuron is a neuron of one output under the drive <b_j, G_i>, with a positive output weight.
"""

from operator import mul

from reluflow.reference.arith import arb, dot, fix, horner, norm, unfix
from reluflow.reference.integrate import _Run
from reluflow.reference.network import Network, Neuron, initial, sides
from reluflow.reference.series import _times


def neurons(problem, net: Network) -> list[Neuron]:
    """The initial weights; a balanced row gets |a| = |w| to full precision."""
    return [
        Neuron(w, stretched(a, (dot(w, w) / dot(a, a)).sqrt()) if balanced else a, 1, balanced, sides(net, w))
        for w, a, balanced in initial(problem)
    ]


def stretched(v, factor):
    return [(c * factor).mid() for c in v]


def outputs(net: Network, cells) -> list:
    """f_i in R^k."""
    f = [[arb(0)] * len(net.y[0]) for _ in range(net.n)]
    for cell in cells:
        for s, side in zip(net.surfaces, cell.sides, strict=True):
            if side != 0:
                u = dot(cell.w, s.normal)
                for i, alpha in s.rows:
                    seen = net.bit(side, alpha) * alpha * u
                    f[i] = [(v + seen * b).mid() for v, b in zip(f[i], cell.a, strict=True)]
    return f


def shares(f) -> list:
    """Softmax."""
    top = max(f)
    grown = [(v - top).exp() for v in f]
    return [(v / sum(grown, arb(0))).mid() for v in grown]


def loss_value(net: Network, f) -> arb:
    if net.loss == "square":
        total = sum((dot(r, r) / 2 for r in residuals(net, f)), arb(0))
    else:
        total = sum((-dot(y, [p.log() for p in shares(v)]) for y, v in zip(net.y, f, strict=True)), arb(0))
    return (total / net.count).mid()


def residuals(net: Network, f) -> list:
    """y_i - f_i, or e_y - p_i."""
    seen = f if net.loss == "square" else [shares(v) for v in f]
    return [[(a - b).mid() for a, b in zip(y, v, strict=True)] for y, v in zip(net.y, seen, strict=True)]


def drive(net: Network, f) -> list:
    """G_i = -dL/df_i in R^k."""
    return [stretched(r, 1 / arb(net.count)) for r in residuals(net, f)]


class DriveSeries:
    """The Taylor coefficients of 2^e G_i in units of the time 2^e, found one order at a time, in fixed point.

    Softmax: G = c (e_y - p), p_o' = p_o (f_o' - sum_c p_c f_c').
    """

    def __init__(self, net: Network, f, G, e: int, bits: int):
        self.loss, self.count, self.e, self.bits = net.loss, net.count, e, bits
        unit = arb((1, e))
        self.G = [[[fix(v * unit, bits)] for v in row] for row in G]
        if net.loss == "softmax":
            self.p = [[[fix(v, bits)] for v in shares(row)] for row in f]
            self.slopes: list = [[[] for _ in row] for row in f]  # l f_l for l = 1, 2, ...
            self.mean: list = [[] for _ in f]

    def _times_c(self, v: int) -> int:
        return (v << self.e) // self.count if self.e >= 0 else (v // self.count) >> -self.e

    def extend(self, k: int, f: list[list[int]]) -> None:
        """Append order k >= 1, given the outputs' coefficients of that order."""
        for i, row in enumerate(f):
            if self.loss == "square":
                for G, fk in zip(self.G[i], row, strict=True):
                    G.append(-self._times_c(fk))
                continue
            pushed = []
            for p, slopes, fk in zip(self.p[i], self.slopes[i], row, strict=True):
                slopes.append(k * fk)
                pushed.append(sum(map(mul, slopes, p[::-1])) >> self.bits)
            self.mean[i].append(sum(pushed))
            for p, push, G in zip(self.p[i], pushed, self.G[i], strict=True):
                p.append((push - (sum(map(mul, self.mean[i], p[::-1])) >> self.bits)) // k)
                G.append(-self._times_c(p[k]))


class Expansion:
    """Coefficients of q and b of every neuron and of the scaled drive; see `series.Expansion`."""

    both = False  # no output weight changes its sign

    def __init__(self, net: Network, members, cells, f, G, e: int, order: int, bits: int):
        self.e, self.order, self.bits = e, order, bits
        self.drive = DriveSeries(net, f, G, e, bits)
        self.scale, self.q, self.b = [], [], []
        groups: dict = {}
        for j, (neuron, cell) in enumerate(zip(members, cells, strict=True)):
            r = norm([*neuron.w, *neuron.a])
            self.scale.append(r)
            self.q.append([[fix(v / r, bits)] for v in neuron.w])
            self.b.append([[fix(v / r, bits)] for v in neuron.a])
            if cell.moves and not neuron.held:
                groups.setdefault(id(cell), (cell, []))[1].append((j, fix(r * r, bits)))
        self.moving = {j for _, found in groups.values() for j, _ in found}
        self.last = [0, 0]
        self._run(net, list(groups.values()))

    def _run(self, net, groups):
        bits, n, k = self.bits, net.n, len(net.y[0])
        pulls: list = [[[[] for _ in range(net.d)] for _ in range(k)] for _ in groups]
        for at in range(self.order):
            f = [[0] * k for _ in range(n)]
            for (cell, found), M in zip(groups, pulls, strict=True):
                for o, lines in enumerate(M):
                    G = [rows[o][at] for rows in self.drive.G]
                    for line, value in zip(lines, _times(cell.pull, G, bits), strict=True):
                        line.append(value)
                back = [[line[::-1] for line in lines] for lines in M]
                total = [[0] * net.d for _ in range(k)]
                for j, weight in found:
                    self._advance(j, at, back)
                    if weight:
                        for o, b in enumerate(self.b[j]):
                            for c, line in enumerate(self.q[j]):
                                total[o][c] += weight * (sum(map(mul, b, line[::-1])) >> bits)
                for o in range(k):
                    for i, v in enumerate(_times(cell.seen, [v >> bits for v in total[o]], bits)):
                        f[i][o] += v
            self.last.append(max((abs(v) for row in f for v in row), default=0))
            self.drive.extend(at + 1, f)

    def _advance(self, j, at, back):
        """Order at + 1 of q' = M' b and b' = M q."""
        q, b, bits = self.q[j], self.b[j], self.bits
        lifts = [sum(sum(map(mul, line, M)) for line, M in zip(q, lines, strict=True)) >> bits for lines in back]
        for c, line in enumerate(q):
            line.append((sum(sum(map(mul, b[o], back[o][c])) for o in range(len(b))) >> bits) // (at + 1))
        for line, value in zip(b, lifts, strict=True):
            line.append(value // (at + 1))

    def tail(self) -> int:
        """The largest of the last two coefficients of anything."""
        ends = [abs(v) for j in self.moving for line in (*self.q[j], *self.b[j]) for v in line[-2:]]
        return max([*ends, *self.last[-2:]], default=0)

    def height(self, j, normal: list[int]) -> list[int]:
        """The coefficients of <q_j, e>."""
        return [v >> self.bits for v in (sum(map(mul, at, normal)) for at in zip(*self.q[j], strict=True))]

    def weights(self, j, tau: int):
        """(w, a) of neuron j at the fixed-point time tau."""
        r, bits = self.scale[j], self.bits
        return tuple(
            [(unfix(horner(line, tau, bits), bits) * r).mid() for line in lines] for lines in (self.q[j], self.b[j])
        )

    def forces(self, j) -> list:
        """The coefficients of <b_j, G_i>, one list of data for each order."""
        found = []
        for rows in self.drive.G:
            b = [line if len(line) == len(rows[0]) else line + [0] * (len(rows[0]) - len(line)) for line in self.b[j]]
            found.append(
                [
                    sum(sum(map(mul, line[: at + 1], G[at::-1])) for line, G in zip(b, rows, strict=True)) >> self.bits
                    for at in range(len(rows[0]))
                ]
            )
        return list(zip(*found, strict=True))

    def drive_at(self, tau: int, j: int) -> list:
        """<b_j, G_i> at the fixed-point time tau."""
        unit, bits = arb((1, self.e)), self.bits
        b = [unfix(horner(line, tau, bits), bits) for line in self.b[j]]
        return [dot(b, [(unfix(horner(line, tau, bits), bits) / unit).mid() for line in rows]) for rows in self.drive.G]


class OutputsRun(_Run):
    """A run of a network with several outputs."""

    def _neurons(self, problem):
        return neurons(problem, self.net)

    def _start(self):
        G = drive(self.net, outputs(self.net, self.neurons))
        for j, neuron in enumerate(self.neurons):
            touched = neuron.slid()
            if touched:
                before = [None if r in touched else side for r, side in enumerate(neuron.sides)]
                self._settle(j, touched, [dot(neuron.a, row) for row in G], before)
        self.e = self._exponent([norm(row) for row in G])

    def _expand(self):
        f = outputs(self.net, self.neurons)
        cells = [self._cell(neuron) for neuron in self.neurons]
        G = drive(self.net, f)
        return cells, Expansion(self.net, self.neurons, cells, f, G, self.e, self.order, self.bits)

    def drive_of(self, now, tau, j):
        return now.drive_at(tau, j)

    def _at_rest(self, now, neuron, tau):
        return neuron.w, neuron.a

    def _move(self, neuron, cell, w, a):
        super()._move(neuron, cell, w, a)
        neuron.a = stretched(a, norm(neuron.w) / norm(a)) if neuron.balanced and norm(neuron.w) != 0 else a

    def _seen(self):
        f = outputs(self.net, self.neurons)
        return f, loss_value(self.net, f)
