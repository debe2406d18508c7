"""The next event: the first root, within a step, of polynomials that are positive until then."""

from operator import mul

from reluflow.reference.arith import LOG2_10
from reluflow.reference.filippov import resolve
from reluflow.reference.roots import first_root


def earliest(run, now, cells, end):
    """The earliest event in (0, end]: its time and {neuron: causes}; without one, `end` and nothing.

    A cause is a surface that is met, a (surface, side) released, "sign" (a = 0) or "origin" (a neuron leaves w = 0).
    """
    found = []
    close = 1 << max(run.bits - int(run.digits * LOG2_10), 1)
    for j, cause, p in watched(run, now, cells):
        scaled, power = [], 1 << run.bits
        for c in p:
            scaled.append(c * power >> run.bits)
            power = power * end >> run.bits
        x = first_root(scaled, run.bits)
        if x is not None:
            tau = x * end >> run.bits
            found.append((tau, j, cause))
            end = min(end, tau + close)
    for j, neuron in enumerate(run.neurons):
        if neuron.held and not _held(run, neuron, run.drive_of(now, end, j)):
            found.append((_let_go(run, j, now, end), j, "origin"))
    if not found:
        return end, {}
    first = min(tau for tau, _, _ in found)
    hits: dict[int, list] = {}
    for tau, j, cause in found:
        if tau <= first + close:
            hits.setdefault(j, []).append(cause)
    return first, hits


def watched(run, now, cells):
    """Heights over surfaces, output weights of unbalanced neurons, multipliers of slid surfaces, all times a sign.

    A polynomial that starts at 0, because its neuron has just left a surface, is divided by its leading power of t.
    """
    for j in sorted(now.moving):
        neuron = run.neurons[j]
        tail = sum(abs(v) for line in now.q[j] for v in line[1:])
        for r, side in enumerate(neuron.sides):
            if side == 0 or r in neuron.resting:
                continue
            normal = run.normals[r]
            start = sum(line[0] * c for line, c in zip(now.q[j], normal, strict=True))
            if r in neuron.leaving or abs(start) <= tail * max(map(abs, normal)):
                yield j, r, [side * v for v in now.height(j, normal)][neuron.leaving.get(r, 0) :]
        if not neuron.balanced and now.both:
            b = [neuron.sign * v for v in now.b[j]]
            yield j, "sign", b[1:] if neuron.turning else b
    for j, (neuron, cell) in enumerate(zip(run.neurons, cells, strict=True)):
        if cell.slid and not neuron.held:
            drive = now.forces(j)
            for r, (nu, jump) in zip(cell.slid, cell.multipliers, strict=True):
                low = [-neuron.sign * sum(map(mul, nu, g)) >> run.bits for g in drive]
                top = [-neuron.sign * sum(map(mul, jump, g)) >> run.bits for g in drive]
                yield j, (r, -1), low
                yield j, (r, 1), [u - v for u, v in zip(top, low, strict=True)]


def _held(run, neuron, g):
    """Whether staying at w = 0 is the only motion."""
    choice = resolve(run.net, neuron.sign, g, neuron.sides, range(len(neuron.sides)), (), run.tol)
    return choice.unique and set(choice.sides.values()) == {0}


def _let_go(run, j, now, high):
    """The time at which a neuron held at the origin may leave, by bisection."""
    low = 0
    while high - low > 1:
        half = (low + high) // 2
        if _held(run, run.neurons[j], run.drive_of(now, half, j)):
            low = half
        else:
            high = half
    return high
