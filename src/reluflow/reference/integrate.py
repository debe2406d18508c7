"""Gradient flow to any precision: Taylor steps between events, the Filippov definition at each."""

import math
from itertools import pairwise

from reluflow.reference.arith import LOG2_10, arb, basis, ctx, dot, fix, norm, number, project, unfix
from reluflow.reference.filippov import resolve
from reluflow.reference.network import drive, loss_value, network, neurons, outputs
from reluflow.reference.result import Event, Reference
from reluflow.reference.search import earliest
from reluflow.reference.series import Cell, Expansion

GUARD = 15  # decimal digits carried beyond those asked for


def flow(problem, times, digits: int = 30, *, order: int | None = None, steps: int = 1_000_000) -> Reference:
    """The gradient flow of `problem` at the given increasing `times` (floats or decimal strings).

    About `digits` digits are correct. For a neuron aligned to 10^-k only digits + 15 - k digits of the deviation are
    correct: take `digits` well above 0.9 |log scale| when a run passes several saddles, and compare two settings.
    """
    kind: type[_Run] = _Run
    if problem.outputs > 1:
        from reluflow.reference.outputs import OutputsRun

        kind = OutputsRun
    with ctx.workdps(digits + GUARD):
        return kind(problem, times, digits, order or int(1.2 * digits) + 12).run(steps)


class _Run:
    def __init__(self, problem, times, digits, order):
        self.digits, self.order = digits, order
        self.bits = int((digits + GUARD) * LOG2_10)
        self.tol = arb(10) ** -digits
        self.net = network(problem)
        self.neurons = self._neurons(problem)
        self.times = [number(t) for t in times]
        if not self.times or any(u >= v for u, v in pairwise(self.times)) or self.times[0] < 0:
            raise ValueError("`times` must be increasing, not negative and at least one: sort them.")
        self.t = arb(0)
        self.e = 0  # set by `_start`
        self.stuck = 0
        self.events, self.saved = [], []
        self.cells = {}
        self.normals = [[fix(c, self.bits) for c in s.normal] for s in self.net.surfaces]
        self._start()
        self.initial_bits = [self._bits(neuron) for neuron in self.neurons]

    def run(self, steps) -> Reference:
        if self.times[0] == 0:
            self._save([(n.w, n.a) for n in self.neurons])
        taken = 0
        while len(self.saved) < len(self.times):
            self._step()
            taken += 1
            if taken > steps:
                raise RuntimeError(
                    f"The reference used all its {steps} steps at t = {float(self.t)}: give more `steps`."
                )
        f, loss, w, a = zip(*self.saved, strict=True)
        return Reference(
            self.digits, self.times, list(f), list(loss), list(w), list(a), self.events, self.initial_bits, taken
        )

    # --- the start -----------------------------------------------------------------------------------------------

    def _neurons(self, problem):
        return neurons(problem, self.net)

    def _exponent(self, sizes):
        """Steps of 2^e at first, given the sizes of the drive."""
        speed = max([sum(v * norm(x) for v, x in zip(sizes, self.net.x, strict=True)), arb(10) ** -300])
        if self.net.train == "first":
            speed *= max([arb(1), *(abs(n.a) / norm(n.w) for n in self.neurons if norm(n.w) != 0)])
        return math.floor(-float(speed.log()) / math.log(2))

    def _start(self):
        """Initialise neurons that start on a surface or with a = 0."""
        g = drive(self.net, outputs(self.net, self.neurons))
        for j, neuron in enumerate(self.neurons):
            if norm(neuron.w) == 0 and neuron.a == 0:
                neuron.sides = [-1] * len(neuron.sides)
                continue
            if neuron.sign == 0 and self.net.train == "both":
                self._first_sign(neuron, g)
            touched = neuron.slid()
            if touched and neuron.sign != 0:
                before = [None if r in touched else side for r, side in enumerate(neuron.sides)]
                self._settle(j, touched, g, before, leave=2 if neuron.turning else 1)
            elif touched:
                neuron.sides = [side or -1 for side in neuron.sides]
        self.e = self._exponent([abs(v) for v in g])

    def _first_sign(self, neuron, g):
        """a = 0: its sign just after is that of <D, w> (surfaces touched add nothing to it)."""
        seen = [(s, side) for s, side in zip(self.net.surfaces, neuron.sides, strict=True) if side]
        rate = dot([self.net.push(s, side, g) for s, side in seen], [dot(neuron.w, s.normal) for s, _ in seen])
        neuron.sign = 1 if rate > 0 else -1 if rate < 0 else 0
        neuron.turning = True

    # --- one step ------------------------------------------------------------------------------------------------

    def _expand(self):
        """The cells of the neurons, and the series of all of them."""
        g = drive(self.net, outputs(self.net, self.neurons))
        cells = [self._cell(neuron) for neuron in self.neurons]
        return cells, Expansion(self.net, self.neurons, cells, g, self.e, self.order, self.bits)

    def drive_of(self, now, tau, j):
        """The drive that neuron j is under."""
        return now.drive_at(tau)

    def _at_rest(self, now, neuron, tau):
        """(w, a) of a neuron that no force moves."""
        return now.shrunk(neuron.w, neuron.a, tau)

    def _seen(self):
        """Outputs and loss of the present weights."""
        f = outputs(self.net, self.neurons)
        return f, loss_value(self.net, f)

    def _step(self):
        net, bits = self.net, self.bits
        cells, now = self._expand()
        unit = arb((1, self.e))
        end, reach = self._length(now)
        until = fix((self.times[-1] - self.t) / unit, bits)
        last = until <= end
        end = min(end, until)
        end, hits = earliest(self, now, cells, end)
        self.stuck = self.stuck + 1 if end == 0 else 0
        if self.stuck > 2 * len(self.neurons) * len(net.surfaces):
            raise ArithmeticError(f"Events at t = {float(self.t)} repeat without end: a bifurcation.")
        last = last and end == until
        stop = self.times[-1] if last else (self.t + unfix(end, bits) * unit).mid()
        self._outputs(now, stop, end, unit)
        for j, neuron in enumerate(self.neurons):
            neuron.leaving, neuron.turning = {}, False
            if j in now.moving:
                self._move(neuron, cells[j], *now.weights(j, end))
            else:
                self._move(neuron, cells[j], *self._at_rest(now, neuron, end))
        self.t = stop
        if hits:
            soon = end + (1 << 3 * bits // 4)
            for j, causes in sorted(hits.items()):
                g = self.drive_of(now, soon if "origin" in causes else end, j)
                self._event(j, causes, g, now.scale[j])
        self.e += max(-8, min(2, reach))

    def _cell(self, neuron):
        key = tuple(neuron.sides)
        if key not in self.cells:
            self.cells[key] = Cell(self.net, key, self.bits)
        return self.cells[key]

    def _length(self, now):
        """How far the series is good, at most 1, and the change of the exponent that would make it nearly 1."""
        tail = now.tail()
        if tail == 0:
            return 1 << self.bits, 2
        goal = -(self.digits + 8) * math.log(10)
        size = math.log(tail) if tail.bit_length() < 1000 else tail.bit_length() * math.log(2)
        log_reach = (goal - size + self.bits * math.log(2)) / self.order - 0.1
        reach = math.ceil(log_reach / math.log(2))
        return (1 << self.bits if log_reach >= 0 else fix(number(math.exp(max(log_reach, -600.0))), self.bits)), reach

    def _move(self, neuron, cell, w, a):
        neuron.w = project(w, cell.basis) if cell.slid else w
        if neuron.balanced:
            neuron.a = (neuron.sign * norm(neuron.w)).mid()
        elif self.net.train == "both":
            neuron.a = a

    def _outputs(self, now, stop, end, unit):
        while len(self.saved) < len(self.times) and self.times[len(self.saved)] <= stop:
            t = self.times[len(self.saved)]
            tau = end if t == stop else fix((t - self.t) / unit, self.bits)
            rows = []
            for j, neuron in enumerate(self.neurons):
                w, a = now.weights(j, tau) if j in now.moving else self._at_rest(now, neuron, tau)
                rows.append((w, a if self.net.train == "both" else neuron.a))
            self._save(rows)

    def _save(self, rows):
        kept = [(n.w, n.a) for n in self.neurons]
        for neuron, (w, a) in zip(self.neurons, rows, strict=True):
            neuron.w, neuron.a = w, a
        f, loss = self._seen()
        self.saved.append((f, loss, [w for w, _ in rows], [a for _, a in rows]))
        for neuron, (w, a) in zip(self.neurons, kept, strict=True):
            neuron.w, neuron.a = w, a

    # --- events --------------------------------------------------------------------------------------------------

    def _event(self, j, causes, g, scale):
        neuron = self.neurons[j]
        before = list(neuron.sides)
        crossed = [c for c in causes if isinstance(c, int)]
        released = [c for c in causes if isinstance(c, tuple)]
        if "sign" in causes:
            neuron.sign, neuron.turning = -neuron.sign, True
            neuron.a = arb(0)
            touched = neuron.slid()
            unique = True
            if touched:
                unique = self._settle(j, sorted({*touched, *crossed, *neuron.resting}), g, before, leave=2)
            self._note(j, -1, "sign", unique)
            return
        if "origin" in causes:
            neuron.held = False
            unique = self._settle(j, range(len(before)), g, before, leave=2)
            self._note(j, -1, "origin", unique)
            return
        if crossed:
            touched = sorted({*crossed, *neuron.slid(), *neuron.resting})
            neuron.w = project(neuron.w, basis([self.net.surfaces[r].normal for r in touched]))
            if norm(neuron.w) <= self.tol * scale and len(before) > 1:
                neuron.w = [arb(0)] * self.net.d
                touched = list(range(len(before)))
                unique = self._settle(j, touched, g, before)
                self._note(j, -1, "origin", unique)
                return
            self._settle(j, touched, g, before)
        else:
            for r, side in released:
                neuron.sides[r] = side
                neuron.leaving[r] = 2
            self._changes(j, before, True, {})

    def _settle(self, j, touched, g, before, leave=1):
        neuron = self.neurons[j]
        choice = resolve(self.net, neuron.sign, g, neuron.sides, touched, neuron.resting, self.tol)
        arrival = self._arrival(neuron, touched, g, before)
        neuron.resting = choice.resting
        kept = [self.net.surfaces[r].normal for r, side in choice.sides.items() if side == 0]
        neuron.held = len(basis(kept)) < len(kept)
        if neuron.held and len(kept) < len(before):
            raise NotImplementedError("The reference slides on surfaces with dependent normals only at w = 0.")
        for r, side in choice.sides.items():
            neuron.sides[r] = side
            if side != 0 and r not in choice.resting:
                neuron.leaving[r] = leave
        nearest = min([*choice.margins.values(), *arrival.values()], default=math.nan)
        self._changes(j, before, choice.unique, dict.fromkeys(touched, nearest))
        return choice.unique

    def _arrival(self, neuron, touched, g, before):
        """The normalised rate with which a neuron met each surface."""
        if None in before:
            return {}
        cell = self._cell(neuron)
        D = [dot(line, g) for line in zip(*cell.columns, strict=True)]
        size = sum((abs(v) * norm(x) for v, x in zip(g, self.net.x, strict=True)), arb(10) ** -10000)
        rates = {}
        for r in touched:
            if before[r] != 0 and r not in neuron.resting:
                e = self.net.surfaces[r].normal
                rates[r] = float(abs(dot(D, e)) / (size * norm(e)))
        return rates

    def _bits(self, neuron):
        """Per datum: on, off or slide."""
        bits = ["off"] * self.net.n
        for s, side in zip(self.net.surfaces, neuron.sides, strict=True):
            for i, alpha in s.rows:
                bits[i] = "slide" if side == 0 else "on" if side * alpha > 0 else "off"
        return bits

    def _changes(self, j, before, unique, margins):
        """Record changes, one event per datum."""
        neuron = self.neurons[j]
        for r, (old, new) in enumerate(zip(before, neuron.sides, strict=True)):
            if old == new or (old is None and new != 0 and unique):
                continue
            for i, alpha in self.net.surfaces[r].rows:
                word = "slide" if new == 0 else "on" if new * alpha > 0 else "off"
                self._note(j, i, f"release_{word}" if old == 0 else word, unique, margins.get(r, float("nan")))
        changed = any(old != new for old, new in zip(before, neuron.sides, strict=True))
        if changed and None not in before and not self._cell(neuron).moves and not neuron.slid():
            self._note(j, -1, "dead", unique)

    def _note(self, j, datum, kind, unique, margin=float("nan")):
        self.events.append(Event(self.t, j, datum, kind, unique, margin))
