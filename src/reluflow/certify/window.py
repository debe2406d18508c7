r"""A short window in which events happen: each exactly once, and nothing else.

From a state at its start, for a time w, the flow moves by at most w |theta| max |D_j|, whichever of the two patterns,
before or after its event, each neuron has: a ball of radius rho around the centre. On that ball

    hit:      u_i has the sign of its row at the start, V_i the other one, and |u_i| < w |a| |V_i|: it is reached, once;
    release:  the multiplier's form psi is positive at the start, psi' < 0, and psi < w |psi'|;
    after:    rows that are on, off or slid in the new pattern obey the strict conditions of Filippov's definition.

Uniqueness: every touched row has s g_i < 0 (the field is one-sidedly Lipschitz there), or the row is only crossed, V_i
having one strict sign with its bit on and off while all other touched rows stay what they are, or for all bits of the
touched rows, of which the others have s g < 0.
"""

from dataclasses import dataclass
from itertools import product

from reluflow.certify._flint import arb, fmpq, fmpq_mat
from reluflow.certify.cell import Cell, cell
from reluflow.certify.enclosure import Net, State, inner, length, rounded, up, upper
from reluflow.certify.exact import dot
from reluflow.certify.force import curvature
from reluflow.certify.refusal import Refused

KINDS = {("0", "1"): "on", ("1", "0"): "off", ("1", "r"): "off", ("1", "s"): "slide", ("0", "s"): "slide",
         ("s", "1"): "release_on", ("s", "0"): "release_off", ("s", "r"): "release_off", ("r", "1"): "on",
         ("r", "0"): "off", ("r", "s"): "slide", ("0", "r"): "off"}  # fmt: skip


@dataclass(frozen=True)
class Due:
    """An event that is expected in a window: neuron j hits row i (kind "hit"), or row i releases it."""

    j: int
    i: int
    kind: str


@dataclass(frozen=True)
class Event:
    """What was proved: in (start, end) the row i of neuron j changes from `before` to `after`, once."""

    start: fmpq
    end: fmpq
    j: int
    i: int
    before: str
    after: str

    @property
    def kind(self) -> str:
        return KINDS[self.before, self.after]


class Box:
    """Everything within rho of a state's centre, and g there, whichever of its patterns each neuron has.

    `shift` is what the change of pattern adds to g: the neuron is near its boundary, so that it is small.
    """

    def __init__(self, net: Net, state: State, rho: arb, patterns: list[tuple[Cell, ...]] | None = None):
        self.net, self.state, self.rho = net, state, rho
        self.norm = up(length([*state.a, *(v for w in state.w for v in w)])) + rho
        around = arb(0, rho)
        self.w = [[v + around for v in w] for w in state.w]
        self.a = [v + around for v in state.a]
        n = net.exact.n
        self.shift = [arb(0)] * n
        for j, (old, *new) in enumerate(patterns or []):
            for c in new:
                for i in range(n):
                    row = [p - q for p, q in zip(_seen(c, i), _seen(old, i))]
                    change = -arb(net.exact.weight) * net.mu * self.a[j] * inner(row, self.w[j])
                    self.shift[i] += change.union(arb(0)) if any(row) else 0
        middle, spread = net.drive(state.phi(net)), net.spread(self.norm, rho)
        self.g = [v + arb(0, up(e)) + s for v, e, s in zip(middle, spread, self.shift, strict=True)]

    def form(self, row) -> arb:
        return inner(row, self.g)

    def u(self, j: int, i: int) -> arb:
        return inner(self.net.exact.x[i], self.state.w[j]) + arb(0, up(self.net.size[i] * self.rho))

    def pull(self, c: Cell) -> list[arb]:
        return [inner([c.xi[i][k] for i in c.on], [self.g[i] for i in c.on]) if c.on else arb(0)
                for k in range(self.net.exact.d)]  # fmt: skip

    def drift(self, patterns: list[tuple[Cell, ...]]) -> list[arb]:
        """g_i', whichever of its patterns each neuron has."""
        exact = self.net.exact
        total = [arb(0)] * exact.n
        for j, cells in enumerate(patterns):
            for i in range(exact.n):
                total[i] += _hull([self._share(j, i, c) for c in cells])
        bend = curvature(exact, self.g)
        return [-arb(exact.weight) * self.net.mu * c * v for c, v in zip(bend, total, strict=True)]

    def _share(self, j: int, i: int, c: Cell) -> arb:
        if i not in c.on:
            return arb(0)
        D, w, a = self.pull(c), self.w[j], self.a[j]
        along = sum((p * q for p, q in zip(D, w)), arb(0))
        return along * inner(c.xi[i], w) + a * a * inner(c.xi[i], D)

    def jump(self, j: int, old: Cell, new: Cell) -> list[arb]:
        """How (w', a') of a neuron may differ from what the old patterns give at the same place."""
        D = []
        for k in range(self.net.exact.d):
            own = sum((self.g[i] * arb(_seen(new, i)[k] - _seen(old, i)[k]) for i in range(len(self.g))), arb(0))
            D.append(own.union(arb(0)) + sum((self.shift[i] * arb(old.xi[i][k]) for i in old.on), arb(0)))
        return [self.a[j] * v for v in D] + [sum((p * q for p, q in zip(D, self.w[j])), arb(0))]


def _seen(c: Cell, i: int):
    """The vector with which row i acts on a neuron: 0 unless the row is on."""
    return c.xi[i] if i in c.on else [fmpq(0)] * len(c.x[i])


def _hull(parts) -> arb:
    total = parts[0]
    for p in parts[1:]:
        total = total.union(p)
    return total


def cross(net: Net, state: State, past: State, due: list[Due]) -> tuple[State, list[Event]]:
    """The state after a window in which the events due happen, and they alone; `past` is where the old pattern would
    have led at its end."""
    width = past.t - state.t
    t = float(arb(state.t))
    if len({d.j for d in due}) < len(due):
        j = next(d.j for d in due if sum(e.j == d.j for e in due) > 1)
        raise Refused(f"Neuron {j} has two events too near each other to be told apart.", t)
    time = arb(width)
    box = Box(net, state, state.r)
    after = {d.j: _resolve(box, state, d, t) for d in due}
    patterns: list[tuple[Cell, ...]] = [(c, after[j]) if j in after else (c,) for j, c in enumerate(state.cells)]
    box = _grow(net, state, time, patterns)
    drift = box.drift(patterns)
    for j, c in enumerate(state.cells):
        _holds(box, state, j, c, {d.i for d in due if d.j == j}, drift, t)
        if j in after:
            _holds(box, state, j, after[j], _changed(c, after[j]), drift, t)
    events = []
    for d in due:
        events += _proved(net, state, box, d, after[d.j], time, drift, width)
    return _moved(net, state, past, box, after, time, events), events


def _changed(old: Cell, new: Cell) -> set[int]:
    """The rows that differ between two patterns."""
    return {i for i, (p, q) in enumerate(zip(old.states, new.states)) if p != q}


def _grow(net, state, time, patterns) -> Box:
    """A box that the flow cannot leave within the time."""
    rho = state.r
    for _ in range(60):
        box = Box(net, state, rho, patterns)
        fastest = arb(0)
        for cells in patterns:
            for c in cells:
                fastest = max(fastest, up(length(box.pull(c))))
        need = upper(state.r + time * box.norm * fastest)
        if need <= rho:
            return box
        rho = upper(need * arb("1.01"))
    raise Refused("The window of an event is too wide to be enclosed.", float(arb(state.t)))


def _holds(box: Box, state: State, j: int, c: Cell, events: set[int], drift, t: float) -> None:
    """Every row that has no event keeps its state on the box."""
    for i, letter in enumerate(c.states):
        if i in events:
            continue
        if letter in "10":
            side = 1 if letter == "1" else -1
            if side * box.u(j, i) > 0:
                continue
            V = side * box.form(c.rate(i))
            if (j, i) in state.leaving and (V > 0 or (state.leaving[j, i] > 1 and side * inner(c.rate(i), drift) > 0)):
                continue
            raise Refused(f"Neuron {j} may meet datum {i} in the window of another event.", t)
        if letter == "r" and not c.rests(i):
            raise Refused(f"Neuron {j} rests on the boundary of datum {i} and is pushed at another event.", t)
        for row in c.stays(i).values():
            if not box.form(row) > 0:
                raise Refused(f"Whether neuron {j} keeps to the boundary of datum {i} is not decided in a window.", t)


def _resolve(box: Box, state: State, due: Due, t: float) -> Cell:
    """The one pattern after the event that obeys Filippov's definition strictly."""
    exact, j, old = box.net.exact, due.j, state.cells[due.j]
    if due.kind == "wakes":
        raise Refused(
            f"Neuron {j} rests on the boundary of datum {due.i} when the residual there changes sign: it may stay or "
            "leave at any time, the flow is not unique.", t, final=True)  # fmt: skip
    if due.kind != "hit":
        letter = "1" if due.kind == "release_on" else "0"
        new = cell(exact.x, exact.s[j], _with(old.states, {due.i: letter}))
        return new
    touched = sorted({due.i, *old.slid, *old.rest})
    found = []
    for letters in product("10sr", repeat=len(touched)):
        new = cell(exact.x, exact.s[j], _with(old.states, dict(zip(touched, letters))))
        if new.independent and all(_fits(box, new, i) for i in touched):
            found.append(new)
    if len(found) != 1:
        raise Refused(f"What neuron {j} does at the boundary of datum {due.i} is not decided ({len(found)} ways).", t)
    return found[0]


def _fits(box: Box, c: Cell, i: int) -> bool:
    """Whether a touched row may have its state: strictly so."""
    letter = c.states[i]
    if letter == "1":
        return bool(box.form(c.rate(i)) > 0)
    if letter == "0":
        return bool(box.form(c.rate(i)) < 0)
    if letter == "r":
        return c.rests(i) and bool(box.form(c.stays(i)["wakes"]) > 0)
    return not _idle(c, i) and all(box.form(row) > 0 for row in c.stays(i).values())


def _idle(c: Cell, i: int) -> bool:
    """Whether the multiplier of a slid row is 0 identically: then the row is at rest."""
    return not any(c.multiplier(i))


def _with(states: str, letters: dict) -> str:
    return "".join(letters.get(i, s) for i, s in enumerate(states))


def _proved(net, state, box: Box, due: Due, new: Cell, time: arb, drift, width) -> list[Event]:
    """The event happens, once, and leads to the new pattern and to no other."""
    j, i, t = due.j, due.i, float(arb(state.t))
    old, s = state.cells[j], net.exact.s[j]
    if due.kind == "hit":
        side = 1 if old.states[i] == "1" else -1
        V = side * box.form(old.rate(i))
        first = side * (inner(net.exact.x[i], state.w[j]) + arb(0, up(net.size[i] * state.r)))
        if not V < 0:
            raise Refused(f"Neuron {j} may only touch the boundary of datum {i}: no transversal crossing.", t)
        if not (first > 0 and first < time * abs(box.a[j]) * -V):
            raise Refused(f"Neuron {j} is not proved to reach the boundary of datum {i} in its window.", t)
        touched = {i, *old.slid, *old.rest}
        if not all(_fits(box, new, k) for k in touched):
            raise Refused(f"What neuron {j} does at the boundary of datum {i} is not decided over its window.", t)
        crossed = _changed(old, new) == {i} and new.states[i] in "10"
        attracting = {k for k in touched if -s * box.g[k] > 0}
        if not (
            crossed or attracting == touched or (attracting | {i} == touched and _driven(box, old, new, i, touched))
        ):
            raise Refused(f"Uniqueness at the boundary of datum {i} is not proved for neuron {j}.", t)
    else:
        row = old.stays(i)[due.kind]
        phi = [v + arb(0, up(e)) for v, e in zip(net.drive(state.phi(net)), net.spread(box.norm, state.r))]
        first, fall = inner(row, phi), inner(row, drift)
        if not (first > 0 and fall < 0 and first < time * -fall):
            raise Refused(f"The release of neuron {j} from the boundary of datum {i} is not proved transversal.", t)
        side = 1 if new.states[i] == "1" else -1
        if not side * inner(new.rate(i), drift) > 0:
            raise Refused(f"Neuron {j} is not proved to leave the boundary of datum {i}.", t)
        touched = {i, *old.slid, *old.rest}
        if not all(-s * box.g[k] > 0 for k in touched):
            raise Refused(f"Uniqueness at the release from datum {i} is not proved for neuron {j}.", t)
    return [Event(state.t, state.t + width, j, k, old.states[k], new.states[k]) for k in sorted(_changed(old, new))]


def _driven(box: Box, old: Cell, new: Cell, i: int, touched: set[int]) -> bool:
    """Whether row i is crossed whatever the bits of the touched rows are: V_i is linear in them, so corners decide."""
    side = {"1": 1, "0": -1}.get(new.states[i])
    if side is None:
        return False
    for bits in product((False, True), repeat=len(touched)):
        on = {k for k in old.on if k not in touched} | {k for k, bit in zip(sorted(touched), bits) if bit}
        row = old.row({k: side * old.s * dot(old.x[k], old.x[i]) for k in on})
        if not box.form(row) > 0:
            return False
    return True


def _moved(net, state, past, box: Box, after, time, events) -> State:
    """The state at the end: where the old pattern leads, x_A, and what the change of field can add within the window.

    Both stay in the box. With J the change of field, |x - x_A|' <= L |x - x_A| + |J|, L = max |D_j|, so that
    |x - x_A| <= Y = time sup |J| e^{L time}, and x - x_A - time mid(J) is at most time (rad(J) + |F'| Y), where
    |F'| <= L + omega mu sum |x_i|^2 |theta|^2.
    """
    exact, d = net.exact, net.exact.d
    w, a, apart, most = [list(row) for row in past.w], list(past.a), [], []
    for j, old in enumerate(state.cells):
        jump = box.jump(j, old, after.get(j, old))
        apart += [v.rad() for v in jump]
        most += jump
        w[j] = [p + time * v.mid() for p, v in zip(w[j], jump[:d])]
        a[j] = a[j] + time * jump[d].mid()
    cells = [after.get(j, c) for j, c in enumerate(state.cells)]
    for j in after:
        w[j] = _projected(w[j], cells[j])
    leaving = {k: v for k, v in state.leaving.items() if cells[k[0]].states[k[1]] in "10"}
    for e in events:
        if e.after in "10":
            leaving[e.j, e.i] = 2 if e.before == "s" and not _hit(events, e) else 1
    L = max((length(box.pull(c)) for c in state.cells), key=float)
    whole = L + arb(exact.weight) * up(net.mu) * sum((s * s for s in net.size), arb(0)) * box.norm**2
    r = upper(past.r + time * (length(apart) + whole * time * length(most) * (L * time).exp()))
    return rounded(past.t, w, a, r, cells, leaving)


def _hit(events, e) -> bool:
    """Whether another row of the same neuron was hit in this window."""
    return any(o.j == e.j and o.before in "10" for o in events)


def _projected(w, c: Cell):
    """w on the boundaries that the neuron keeps to: where the flow is, so that this brings the centre nearer."""
    rows = [c.x[i] for i in (*c.slid, *c.rest)]
    kept: list = []
    for row in rows:
        if fmpq_mat([[dot(u, v) for v in [*kept, row]] for u in [*kept, row]]).det() != 0:
            kept.append(row)
    if not kept:
        return w
    inverse = fmpq_mat([[dot(u, v) for v in kept] for u in kept]).inv()
    along = [inner(row, w) for row in kept]
    for p, row in enumerate(kept):
        lam = inner([inverse[p, q] for q in range(len(kept))], along)
        w = [v - lam * arb(c_) for v, c_ in zip(w, row)]
    return w
