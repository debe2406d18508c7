r"""Gradient descent on the population loss, in the flow's coordinates.

    w <- w + eta a D(w),   a <- a + eta <w, D(w)>        w = e^c r u, a = e^c b, r^2 = 2 - b^2

taken on mantissas and put back into c, so that no scale underflows. Descent loses balance, as it does in plain numbers.
"""

import numpy as np

from reluflow.population._field import directions, jit, pull, sizes


@jit
def descend(y, tree, source, m, eta, count):
    """`count` iterations with step `eta`, in place; the sum of eta |grad L|^2 goes into the last entry."""
    r = source.unit.shape[1]
    z = y[: m * r].reshape(m, r)
    b = y[m * r : m * r + m]
    c = y[m * r + m : m * r + 2 * m]
    u, d, a = np.empty((m, r)), np.empty((m, r)), np.empty(m)
    theta, sine = np.empty((m, m + source.size.size)), np.empty((m, m + source.size.size))
    for _ in range(count):
        directions(z, tree, u)
        sizes(b, c, source.first, a)
        pull(u, a, source, theta, sine, d)
        for j in range(m):
            h = 0.0
            norm = 0.0
            for i in range(r):
                h += u[j, i] * d[j, i]
                norm += d[j, i] * d[j, i]
            length = 1.0 if source.first else np.sqrt(max(2.0 - b[j] * b[j], 0.0))
            gain = eta * b[j] * (np.exp(-c[j]) if source.first else 1.0)
            square = 0.0
            for i in range(r):
                z[j, i] = length * u[j, i] + gain * d[j, i]
                square += z[j, i] * z[j, i]
            if source.first:
                y[m * r + 2 * m] += eta * b[j] * b[j] * norm
                c[j] += 0.5 * np.log(square)
            else:
                y[m * r + 2 * m] += eta * np.exp(2.0 * c[j]) * (b[j] * b[j] * norm + length * length * h * h)
                new = b[j] + eta * length * h
                scale = np.sqrt(0.5 * (square + new * new))
                b[j] = new / scale
                c[j] += np.log(scale)
            square = np.sqrt(square)
            for i in range(r):
                z[j, i] /= square
