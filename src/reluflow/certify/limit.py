r"""From a time T on: the pattern never changes again, the flow converges, and its limit is enclosed.

**Convergence.** Let Phi collect the projected rows m_ij P_j x_i of all neurons, Q be a basis of its range, and
K_ik = sum_j mu a_j^2 (<P_j x_i, P_j x_k> + <q_j, x_i> <q_j, x_k>), q_j = w_j/|w_j|, over the rows on for j. While the
pattern stays, r = f - y obeys r' = -omega K r: its part r* outside the range of Phi is constant, r* = -(y off the
range), a fraction, and r~ = r - r* decays. If K >= kappa on the range for all directions q_j and all log |a_j| within
eta of those at T, and eta_j = |Xi_j| |r~(T)| / kappa <= eta, |<q_j, x_i>| > eta_j |x_i| for the rows on or off of live
neurons, and the forms of slid and resting rows stay positive, then nothing changes after T, |r~| <= |r~(T)|
e^{-omega kappa (t - T)}, f -> y + r*, and |theta|^2 -> a number in sum_j 2 mu a_j^2 e^{+-2 eta_j}.
(|q_j'|, |(log a_j)'| <= |D_j| = omega |Xi_j' r~|; integrated up to a first exit, this shows that there is none.)

**Forms that stay positive.** R.g = R.g* + R.g~. If R.g* > 0 compare it with |R| |g~|. If R.g* = 0 the direction of g~
decides: g~ = Q C (p, z), C^{-1} K_Q C = [[alpha, b], [c, M]], sym M >= l: the cone |z| <= gamma p is invariant if
(l - alpha) gamma > |c| + |b| gamma^2; with g~(T) inside, R Q C = (R_0, R') needs R_0 > gamma |R'|. Data that no
neuron links make blocks, each with its own cone. A form over several blocks stays positive if every part does, or if
one does, exceeds the others at T, p (R_0 - gamma |R'|) > sum |R| |g~|, and decays more slowly than they do,
alpha + |b| gamma < kappa of each.
"""

from dataclasses import dataclass, replace

import numpy as np

from reluflow.certify._flint import arb, arb_mat, fmpq
from reluflow.certify.enclosure import Net, State, inner, length, up
from reluflow.certify.exact import dot, rational, words

MANY = 150  # pairs of neuron and datum from which `far` is asked before `_kernel`


@dataclass(frozen=True)
class Limit:
    """What holds for ever after T, and what was chosen to prove it (`choices`: decimals, for the checker)."""

    theorem: str  # "kernel" or "orthogonal"
    outputs: tuple  # fractions
    loss: fmpq
    norm2: arb
    alive: tuple
    choices: dict
    excess: arb | None = None  # of the orthogonal case: |theta|^2 = base + excess scale^2
    rate: arb | None = None


class Frozen:
    """The pattern at T: its range, what is constant, and the forms that must stay positive."""

    def __init__(self, net: Net, state: State):
        exact = net.exact
        self.net, self.state = net, state
        self.live = [j for j, c in enumerate(state.cells) if c.on]
        columns = [
            [c.xi[i][k] if i in c.on else fmpq(0) for i in range(exact.n)]
            for c in dict.fromkeys(state.cells[j] for j in self.live)
            for k in range(exact.d)
        ]
        self.Q = independent(columns)
        self.star = off_range(self.Q, exact.y)  # y off the range
        self.w, self.a = state.balls()
        g = net.drive(state.phi(net))
        spread = net.spread(state.norm(), state.r)
        self.g = [v + arb(0, up(e)) for v, e in zip(g, spread, strict=True)]
        self.gt = [v - arb(exact.weight) * arb(s) for v, s in zip(self.g, self.star, strict=True)]

    def forms(self):
        """(j, i, row) of everything that must stay positive for ever."""
        for j, c in enumerate(self.state.cells):
            for i in (*c.slid, *c.rest):
                for row in c.stays(i).values():
                    yield j, i, row

    def kernel(self, eta: arb) -> arb_mat:
        """K for all directions and logarithms within eta."""
        n = self.net.exact.n
        K = [[arb(0)] * n for _ in range(n)]
        stretch = (arb(0, 2 * eta)).exp()
        for j in self.live:
            c, mass = self.state.cells[j], self.net.mu * self.a[j] ** 2 * stretch
            q = [v / abs(self.a[j]) for v in self.w[j]]
            u = {i: inner(c.xi[i], q) + arb(0, up(eta * self.net.size[i])) for i in c.on}
            for i in c.on:
                for k in c.on:
                    K[i][k] += mass * (arb(dot(c.xi[i], c.xi[k])) + u[i] * u[k])
        return arb_mat(K)

    def turn(self, kappa: arb) -> dict[int, arb]:
        """eta_j of each live neuron."""
        rest = length(self.gt) / arb(self.net.exact.weight)
        out = {}
        for j in self.live:
            c = self.state.cells[j]
            size = sum((arb(dot(c.xi[i], c.xi[i])) for i in c.on), arb(0)).sqrt()
            out[j] = up(size * rest / kappa)
        return out

    def apart(self, eta: dict) -> bool:
        """Whether every live neuron is farther from its boundaries than it can still turn."""
        for j in self.live:
            c = self.state.cells[j]
            for i in (*c.on, *c.off):
                side = 1 if i in c.on else -1
                u = side * inner(self.net.exact.x[i], self.w[j]) / abs(self.a[j])
                if not u > eta[j] * self.net.size[i]:
                    return False
        return True


def independent(columns):
    """Independent ones among columns of fractions, made orthogonal."""
    kept: list = []
    for v in columns:
        for u in kept:
            along = dot(u, v) / dot(u, u)
            v = [b - along * a for a, b in zip(u, v)]
        if any(v):
            kept.append(v)
    return kept


def off_range(Q, y):
    rest = list(y)
    for u in Q:
        along = dot(u, rest) / dot(u, u)
        rest = [b - along * a for a, b in zip(u, rest)]
    return rest


def close(net: Net, state: State) -> Limit | None:
    """The limit, when one of the theorems applies at this state."""
    found = _orthogonal(net, state)
    if found is not None or net.exact.below or net.exact.loss != "square":
        return found
    return None if net.exact.m * net.exact.n >= MANY and far(net, state) else _kernel(net, state)


def far(net: Net, state: State) -> bool:
    """Whether, in floating point, neurons can still turn four times too far for `_kernel`.

    It is a matter of time alone: on 30 data the basis of the range in fractions takes seconds at every step.
    """
    x = np.array([[float(arb(v)) for v in row] for row in net.exact.x])
    g = np.array([float(v.mid()) for v in net.drive(state.phi(net))]) / float(arb(net.exact.weight))
    K, columns, sizes = np.zeros((len(x), len(x))), [np.zeros((len(x), 1))], [0.0]
    for w, a, c in zip(state.w, state.a, state.cells, strict=True):
        if c.on:
            rows = np.array([[float(arb(v)) for v in c.xi[i]] if i in c.on else [0.0] * len(w) for i in range(len(x))])
            u = rows @ np.array([float((v / abs(a)).mid()) for v in w])
            K += float((net.mu * a**2).mid()) * (rows @ rows.T + np.outer(u, u))
            columns.append(rows)
            sizes.append(float(np.linalg.norm(rows)))
    U, s, _ = np.linalg.svd(np.hstack(columns), full_matrices=False)
    U = U[:, s > 1e-10 * max(s[0], 1e-300)]
    if not U.shape[1]:
        return False
    kappa = float(np.linalg.eigvalsh(U.T @ K @ U)[0])
    return not max(sizes) * float(np.linalg.norm(U.T @ g)) < 1.0 * kappa


# Kernel ---------------------------------------------------------------------------------------------------------------


def _kernel(net: Net, state: State) -> Limit | None:
    frozen = Frozen(net, state)
    exact = net.exact
    chosen = _spectrum(frozen)
    if chosen is None:
        return None
    eta, kappa, turned = chosen
    cone = _cone(frozen, eta)
    if cone is None:
        return None
    omega = arb(exact.weight)
    norm2 = arb(0)
    for j in range(exact.m):
        norm2 += 2 * net.mu * frozen.a[j] ** 2 * (arb(0, 2 * turned[j]).exp() if j in turned else 1)
    return Limit(
        "kernel",
        tuple(y - s for y, s in zip(exact.y, frozen.star, strict=True)),
        exact.weight * dot(frozen.star, frozen.star) / 2,
        norm2,
        tuple(frozen.live),
        {"eta": _short(eta), "kappa": _short(kappa), **cone},
        rate=omega * kappa,
    )


def _short(x: arb) -> str:
    return words(rational(float(f"{float(x):.6g}")))


def _spectrum(frozen: Frozen):
    """(eta, kappa, eta_j): the largest neighbourhood tried in which K is bounded below and no neuron turns too far."""
    if not frozen.Q:
        return arb(0), arb(1), {}
    tries = [arb(4) ** -k for k in range(1, 24)]
    while tries:
        eta = rational_ball(tries.pop(0))
        kappa = bounded_below(frozen, eta)
        if kappa is None:
            continue
        turned = frozen.turn(kappa)
        most = max(turned.values(), key=float)
        if not most < eta:
            return None
        if eta > 3 * most and float(most) > 1e-290:  # a smaller neighbourhood has a larger kappa
            tries = [2 * most]
            continue
        return (eta, kappa, turned) if frozen.apart(turned) else None
    return None


def rational_ball(x: arb) -> arb:
    """The decimal that a certificate will hold."""
    return arb(rational(float(f"{float(x):.6g}")))


def bounded_below(frozen: Frozen, eta: arb) -> arb | None:
    K = frozen.kernel(eta)
    Q = arb_mat([[arb(v) / arb(dot(u, u)).sqrt() for v in u] for u in frozen.Q])
    return _least(Q * K * Q.transpose())


def _least(A: arb_mat) -> arb | None:
    """A decimal below the spectrum of a symmetric matrix."""
    middle = np.array([[float(v.mid()) for v in row] for row in A.tolist()])
    if not np.all(np.isfinite(middle)):
        return None
    least = float(np.linalg.eigvalsh(middle)[0])
    for share in (0.999, 0.99, 0.9, 0.5, 0.1):
        if least <= 0:
            return None
        kappa = rational_ball(arb(share * least))
        if positive(A, kappa):
            return kappa
    return None


def positive(A: arb_mat, kappa: arb) -> bool:
    """Whether the symmetric part of A exceeds kappa: Cholesky in balls."""
    n = A.nrows()
    M = [[(A[i, k] + A[k, i]) / 2 - (kappa if i == k else 0) for k in range(n)] for i in range(n)]
    for p in range(n):
        if not M[p][p] > 0:
            return False
        for i in range(p + 1, n):
            share = M[i][p] / M[p][p]
            for k in range(p + 1, n):
                M[i][k] = M[i][k] - share * M[p][k]
    return True


def _cone(frozen: Frozen, eta: arb) -> dict | None:
    """Choices under which all forms stay positive; {} when none needs a cone."""
    exact = frozen.net.exact
    rest, undecided = length(frozen.gt), []
    for _, _, row in frozen.forms():
        constant = exact.weight * dot(row, frozen.star)
        if constant < 0:
            return None
        along = length([arb(dot(row, u)) / arb(dot(u, u)).sqrt() for u in frozen.Q])
        if constant > 0:
            if not arb(constant) > along * rest:
                return None
        elif any(dot(row, u) for u in frozen.Q):
            undecided.append(row)
        else:
            return None
    return _blocks(frozen, eta, undecided) if undecided else {}


@dataclass(frozen=True)
class Block:
    """Data that no neuron links with others: K and g~ there, in the coordinates of its part of Q, and its cone."""

    Q: list
    K: arb_mat
    c: list
    kappa: arb
    digits: list | None = None  # C
    level: str = "0"
    gamma: str = "0"

    def cone(self):
        """(p(T), the fastest that p can decay, C), or None where the hypotheses of the invariant cone fail."""
        if self.digits is None:
            return None
        C = arb_mat([[arb(rational(v)) for v in row] for row in self.digits])
        k, gamma, level = C.nrows(), arb(rational(self.gamma)), arb(rational(self.level))
        try:
            inverse = C.inv()
        except ZeroDivisionError:
            return None
        B, at = inverse * self.K * C, inverse * arb_mat([[v] for v in self.c])
        p, z = at[0, 0], length([at[i, 0] for i in range(1, k)])
        b, down = length([B[0, i] for i in range(1, k)]), length([B[i, 0] for i in range(1, k)])
        if not (p > 0 and gamma * p > z):
            return None
        if k > 1:
            M = arb_mat([[B[i, j] for j in range(1, k)] for i in range(1, k)])
            if not positive(M, level) or not (level - B[0, 0]) * gamma > down + b * gamma**2:
                return None
        return p, B[0, 0] + b * gamma, C

    def parts(self, row):
        """A form on this block: what multiplies p at least, and its length."""
        along = length([arb(dot(row, u)) / arb(dot(u, u)).sqrt() for u in self.Q])
        found = self.cone()
        if found is None:
            return None, along
        C, k = found[2], len(self.Q)
        r = [inner([dot(row, u) for u in self.Q], [C[i, j] for i in range(k)]) for j in range(k)]
        return r[0] - arb(rational(self.gamma)) * length(r[1:]), along

    def size(self) -> arb:
        """|g~(T)| on this block."""
        return length([v * arb(dot(u, u)).sqrt() for v, u in zip(self.c, self.Q)])


def components(cells) -> list[set[int]]:
    """Rows that neurons link, in the order of the first neuron active on them."""
    groups: list[set[int]] = []
    for c in cells:
        if c.on:
            mine = set(c.on)
            linked = [g for g in groups if g & mine]
            for g in linked[1:]:
                groups.remove(g)
                mine |= g
            if linked:
                linked[0] |= mine
            else:
                groups.append(mine)
    return groups


def _blocks(frozen: Frozen, eta: arb, forms) -> dict | None:
    """Choices for each block under which the forms stay positive."""
    K = frozen.kernel(eta)
    blocks = []
    for rows in components(frozen.state.cells):
        Q = [u for u in frozen.Q if any(u[i] for i in rows)]
        matrix = arb_mat([[arb(v) for v in u] for u in Q])
        square = [arb(dot(u, u)) for u in Q]
        A = matrix * K * matrix.transpose()
        k = len(Q)
        here = arb_mat([[A[i, j] / square[i] for j in range(k)] for i in range(k)])
        even = arb_mat([[A[i, j] / (square[i] * square[j]).sqrt() for j in range(k)] for i in range(k)])
        kappa = _least(even)
        if kappa is None:
            return None
        blocks.append(_with_cone(Block(Q, here, [inner(u, frozen.gt) / s for u, s in zip(Q, square)], kappa)))
    if not all(stays_positive(row, blocks) for row in forms):
        return None
    named = [{"kappa": _short(b.kappa), "C": b.digits, "level": b.level, "gamma": b.gamma} for b in blocks]
    return {"blocks": named}


def _with_cone(block: Block) -> Block:
    """The same with the narrowest cone tried that is invariant and holds g~; without one where none is."""
    k = len(block.c)
    values, vectors = np.linalg.eig(np.array([[float(v.mid()) for v in row] for row in block.K.tolist()]))
    order = np.argsort(values.real)
    C, size = vectors.real[:, order], float(length(block.c))
    if size == 0 or not np.all(np.isfinite(C)):
        return block
    if np.linalg.solve(C, np.array([float(v.mid()) / size for v in block.c]))[0] < 0:
        C[:, 0] = -C[:, 0]
    digits = [[words(rational(float(f"{v:.15g}"))) for v in row] for row in C]
    second = float(values.real[order[1]]) if k > 1 else 1.0
    for gamma in ("0.001", "0.003", "0.01", "0.03", "0.1", "0.2", "0.3", "0.5", "0.8"):
        for share in (0.99, 0.9, 0.7, 0.5):
            level = words(rational(float(f"{share * second:.6g}")))
            found = replace(block, digits=digits, level=level, gamma=gamma)
            if found.cone() is not None:
                return found
    return block


def stays_positive(row, blocks: list[Block]) -> bool:
    """Every part positive, or one that is, and that outweighs the others now and decays more slowly than they do."""
    parts = [(b, *b.parts(row)) for b in blocks if any(dot(row, u) for u in b.Q)]
    rest = [(b, along) for b, least, along in parts if least is None or not least > 0]
    if not rest:
        return True
    weight = sum((along * b.size() for b, along in rest), arb(0))
    for b, least, _ in parts:
        if least is not None and least > 0:
            p, fastest, _ = b.cone()
            if least * p > weight and all(o.kappa > fastest for o, _ in rest):
                return True
    return False


# Orthogonal rows ------------------------------------------------------------------------------------------------------


def _orthogonal(net: Net, state: State) -> Limit | None:
    r"""Orthogonal rows, each live neuron on one row i that it can fit, s_j y_i > 0, f_i short of y_i.

    With p, m = (|a_j| +- u/|x_i|)/2: p' = s g_i |x_i| p, m' = -s g_i |x_i| m, f_i = |x_i| mu sum s (p^2 - m^2). So g_i
    keeps its sign and tends to 0, p m is constant, and 2 mu sum a_j^2 -> 2 |y_i|/|x_i| + 4 mu sum (p m + m'^2) with
    0 <= m' <= m(T). Rows off or at rest stay.
    """
    exact = net.exact
    live = [j for j, c in enumerate(state.cells) if c.on]
    if any(dot(exact.x[i], exact.x[k]) for i in range(exact.n) for k in range(i)) or not exact.loss == "square":
        return None
    frozen = Frozen(net, state)
    seen = {state.cells[j].on[0] for j in live}
    excess = arb(0)
    for j, c in enumerate(state.cells):
        if len(c.on) > 1 or c.slid:
            return None
        if any(not -exact.s[j] * exact.y[k] > 0 for k in c.rest):
            return None
        if any(not inner(exact.x[k], frozen.w[j]) < 0 for k in c.off):
            return None
        if not c.on:
            excess += 2 * frozen.a[j] ** 2
            continue
        i = c.on[0]
        u = inner(exact.x[i], frozen.w[j])
        if not (exact.s[j] * exact.y[i] > 0 and u > 0 and arb(exact.y[i]) * frozen.g[i] > 0):
            return None
        size = abs(frozen.a[j])
        p, m = (size + u / net.size[i]) / 2, up((size - u / net.size[i]) / 2)
        excess += 4 * (p * ((size - u / net.size[i]) / 2) + (arb(0).union(arb(m * m))))
    base = sum((2 * abs(arb(exact.y[i])) / net.size[i] for i in seen), arb(0))
    loss = exact.weight * sum((exact.y[i] ** 2 for i in range(exact.n) if i not in seen), fmpq(0)) / 2
    outputs = tuple(exact.y[i] if i in seen else fmpq(0) for i in range(exact.n))
    norm2 = base + net.mu * excess
    return Limit("orthogonal", outputs, loss, norm2, tuple(live), {}, excess=excess)
