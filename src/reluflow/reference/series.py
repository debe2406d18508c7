r"""One Taylor expansion of all neurons together, while every neuron keeps its sides and its slid surfaces.

    w = r q,  a = r b:      q' = b D,   b' = <D, q>,   D = sum_i M_i g_i,   f_i = sum_j r_j^2 m_ji <b_j q_j, x_i>

A neuron that slides on the surfaces S has D = P_S (force of all other rows), P_S the projection orthogonal to their
normals; M_i is therefore constant in every cell, and the system is polynomial in (q, b, g).
Time runs in units of 2^e; coefficients are integers, value times 2^bits.
"""

from operator import mul

from reluflow.reference.arith import arb, arb_mat, basis, dot, fix, horner, norm, project, unfix
from reluflow.reference.network import DriveSeries, Network


class Cell:
    """The constants of one pattern of sides: pull M (n columns), seen rows m_i x_i, multipliers of slid surfaces."""

    def __init__(self, net: Network, sides, bits: int):
        zero = [arb(0)] * net.d
        self.slid = [r for r, side in enumerate(sides) if side == 0]
        self.basis = basis([net.surfaces[r].normal for r in self.slid])
        self.rows = [zero] * net.n
        for s, side in zip(net.surfaces, sides, strict=True):
            if side != 0:
                for i, alpha in s.rows:
                    self.rows[i] = [(net.bit(side, alpha) * alpha * c).mid() for c in s.normal]
        self.columns = [project(row, self.basis) for row in self.rows]
        self.pull = [[fix(col[c], bits) for col in self.columns] for c in range(net.d)]
        self.seen = [[fix(v, bits) for v in row] for row in self.rows]
        self.moves = any(any(line) for line in self.pull)
        self.bits = bits
        self._net = net
        self._multipliers: list[tuple[list[int], list[int]]] | None = None

    @property
    def multipliers(self):
        """For each slid surface the rows (nu, K) of coefficients of g: 0 <= nu/K <= 1 while it slides [Filippov].

        nu = K theta is the part of the jump K = push(+1) - push(-1) that keeps <D, e> = 0.
        """
        if self._multipliers is None:
            net, S = self._net, [self._net.surfaces[r] for r in self.slid]
            units = [[arb(int(i == k)) for i in range(net.n)] for k in range(net.n)]
            gram = arb_mat([[dot(s.normal, t.normal) for t in S] for s in S])
            right = []
            for s in S:
                line = [dot(row, s.normal) for row in self.rows]
                for t in S:
                    along = dot(t.normal, s.normal)
                    line = [(v + net.push(t, -1, g) * along).mid() for v, g in zip(line, units, strict=True)]
                right.append(line)
            nu = (-gram.solve(arb_mat(right))).mid().tolist()
            jumps = [[(net.push(s, 1, g) - net.push(s, -1, g)).mid() for g in units] for s in S]
            self._multipliers = [
                ([fix(v, self.bits) for v in a], [fix(v, self.bits) for v in b]) for a, b in zip(nu, jumps, strict=True)
            ]
        return self._multipliers


def _times(rows, values, bits):
    return [sum(map(mul, row, values)) >> bits for row in rows]


class Expansion:
    """Coefficients of q and b of every neuron (None where it does not move) and of the scaled drive G."""

    def __init__(self, net: Network, neurons, cells, g, e: int, order: int, bits: int):
        self.e, self.order, self.bits = e, order, bits
        self.both = net.train == "both"
        self.drive = DriveSeries(net, g, e, bits)
        self.decay, self.fade = net.decay * arb((1, e)), fix(net.decay * arb((1, e)), bits)
        self.scale, self.q, self.b = [], [], []
        reach = sum((abs(v) * norm(x) for v, x in zip(g, net.x, strict=True)), arb(0)) * arb((1, e))
        groups: dict = {}
        for j, (neuron, cell) in enumerate(zip(neurons, cells, strict=True)):
            # The first layer alone may pass w = 0: there the distance it moves in this step is the scale.
            r = norm([*neuron.w, neuron.a]) if self.both else (norm(neuron.w) + abs(neuron.a) * reach).mid()
            r = r if r != 0 else arb(1)
            self.scale.append(r)
            self.q.append([[fix(v / r, bits)] for v in neuron.w])
            self.b.append([fix(neuron.a / r, bits)])
            if cell.moves and neuron.sign != 0 and not neuron.held:
                weight = fix(r * r if self.both else r * neuron.a, bits)
                groups.setdefault(id(cell), (cell, []))[1].append((j, weight))
        self.moving = {j for _, members in groups.values() for j, _ in members}
        self.last = [0, 0]
        self._run(net, list(groups.values()))

    def _run(self, net, groups):
        bits, n = self.bits, net.n
        pulls: list[list[list[int]]] = [[[] for _ in range(net.d)] for _ in groups]
        for k in range(self.order):
            G = [coefficients[k] for coefficients in self.drive.G]
            f = [0] * n
            for (cell, members), D in zip(groups, pulls, strict=True):
                for line, value in zip(D, _times(cell.pull, G, bits), strict=True):
                    line.append(value)
                back = [line[::-1] for line in D]
                total = [0] * net.d
                for j, weight in members:
                    self._advance(j, k, back)
                    if weight:
                        for c, v in enumerate(self._contribution(j)):
                            total[c] += weight * v
                total = [v >> bits for v in total]
                for i, v in enumerate(_times(cell.seen, total, bits)):
                    f[i] += v
            self.last.append(max(map(abs, f), default=0))
            self.drive.extend(k + 1, f)

    def _advance(self, j, k, back):
        """Order k + 1 of q' = b D - decay q and b' = <D, q> - decay b."""
        q, b, bits, fade = self.q[j], self.b[j], self.bits, self.fade
        if self.both:
            new = (sum(sum(map(mul, line, D)) for line, D in zip(q, back, strict=True)) - fade * b[k]) >> bits
            for line, D in zip(q, back, strict=True):
                line.append(((sum(map(mul, b, D)) - fade * line[k]) >> bits) // (k + 1))
            b.append(new // (k + 1))
        else:
            for line, D in zip(q, back, strict=True):
                line.append(((b[0] * D[0] - fade * line[k]) >> bits) // (k + 1))

    def _contribution(self, j):
        if not self.both:
            return [line[-1] for line in self.q[j]]
        b = self.b[j]
        return [sum(map(mul, b, line[::-1])) >> self.bits for line in self.q[j]]

    def tail(self) -> int:
        """The largest of the last two coefficients of anything."""
        lines = [line for j in self.moving for line in (*self.q[j], self.b[j] if self.both else [0])]
        ends = [abs(v) for line in lines for v in line[-2:]]
        return max([*ends, *self.last[-2:]], default=0)

    def height(self, j, normal: list[int]) -> list[int]:
        """The coefficients of <q_j, e>."""
        return [v >> self.bits for v in (sum(map(mul, at, normal)) for at in zip(*self.q[j], strict=True))]

    def weights(self, j, tau: int):
        """(w, a) of neuron j at the fixed-point time tau."""
        r, bits = self.scale[j], self.bits
        w = [(unfix(horner(line, tau, bits), bits) * r).mid() for line in self.q[j]]
        a = (unfix(horner(self.b[j], tau, bits), bits) * r).mid()
        return w, a

    def shrunk(self, w, a, tau: int):
        """(w, a) of a neuron that only decay moves, at the fixed-point time tau."""
        if self.decay == 0:
            return w, a
        factor = (-self.decay * unfix(tau, self.bits)).exp()
        return [(c * factor).mid() for c in w], (a * factor).mid()

    def forces(self, j) -> list:
        """The coefficients of the drive that neuron j is under, one list of data for each order."""
        return list(zip(*self.drive.G, strict=True))

    def drive_at(self, tau: int) -> list:
        """The drive g at the fixed-point time tau."""
        unit = arb((1, self.e))
        return [(unfix(horner(G, tau, self.bits), self.bits) / unit).mid() for G in self.drive.G]
