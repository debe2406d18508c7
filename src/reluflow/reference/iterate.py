"""Gradient descent to any precision: the iteration as written in the papers.

    w_j <- w_j + eta (a_j D_j - decay w_j),     a_j <- a_j + eta (<w_j, D_j> - decay a_j)   (both from the old values)

The derivative of the activation at 0 is `activation.at_zero`; bits are read off the sign of <w_j, x_i> every time.
"""

from reluflow.reference.arith import arb, combine, ctx, dot, number
from reluflow.reference.network import drive, loss_value, network, neurons
from reluflow.reference.result import Reference


def descent(problem, step, iterations, digits: int = 50) -> Reference:
    """Iterations of descent with the given step; `iterations` is a number, or an increasing list of those to keep.

    Iteration k is at t = k step. There are no events: `events` is empty.
    """
    keep = [iterations] if isinstance(iterations, int) else list(iterations)
    with ctx.workdps(digits):
        net = network(problem)
        at_zero, eta = number(problem.activation.at_zero), number(step)
        weights = [(neuron.w, neuron.a) for neuron in neurons(problem, net)]
        bits = None
        saved: list = []
        for k in range(keep[-1] + 1):
            heights = [[dot(w, x) for x in net.x] for w, _ in weights]
            bits = [[arb(1) if u > 0 else net.slope if u < 0 else at_zero for u in row] for row in heights]
            f = [
                sum((a * m[i] * u[i] for (_, a), m, u in zip(weights, bits, heights, strict=True)), arb(0)).mid()
                for i in range(net.n)
            ]
            if k == 0:
                first = bits
            if k == keep[len(saved)]:
                saved.append((f, loss_value(net, f), [w for w, _ in weights], [a for _, a in weights]))
            g = drive(net, f)
            weights = [_iterate(net, w, a, m, g, eta) for (w, a), m in zip(weights, bits, strict=True)]
        f, loss, w, a = (list(part) for part in zip(*saved, strict=True))
        times = [(k * eta).mid() for k in keep]
        names = [["on" if m == 1 else "off" for m in row] for row in first]
        return Reference(digits, times, f, loss, w, a, [], names, keep[-1])


def _iterate(net, w, a, m, g, eta):
    D = combine(net.x, [(u * v).mid() for u, v in zip(m, g, strict=True)])
    new = [(c + eta * (a * e - net.decay * c)).mid() for c, e in zip(w, D, strict=True)]
    return new, a if net.train == "first" else (a + eta * (dot(w, D) - net.decay * a)).mid()
