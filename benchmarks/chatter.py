"""How much of a descent whose bits chatter could be leapt over at all, on the five points of Figure 4.

python -m benchmarks.chatter            about ten seconds of processor time

Plain descent (m = 60, step 2e-3, 300,000 iterations), with the pattern of all 300 bits at every iteration. A leap needs
bits that are known in advance: a pattern that stays, or a sequence of p patterns that repeats. It is allowed here to
know, free of charge, from every iteration the period that will last longest and when it ends; it takes the p iterations
of one period plus `cost` for the leap, however far that goes. The cheapest way through the run is found by dynamic
programming: no method that leaps over repeating bits is faster. Today's leaps (p = 1) cost some 30 iterations and more:
12 of calm, 18 to collect nine changes, two gradients a leap.
"""

from __future__ import annotations

import json
import sys

import numba
import numpy as np
from benchmarks.descent import STEP, arrays, figure4

ITERATIONS = 300_000
PERIODS = (1, 8, 64, 512)
COSTS = (50.0, 30.0, 10.0)


@numba.njit(cache=True)
def patterns(x, y, w, a, iterations, step, key):
    """A number for the bits at every iteration of plain descent, and how many of them changed there."""
    (n, d), m = x.shape, a.size
    w, a = w.copy(), a.copy()
    bits = np.zeros((m, n), np.bool_)
    found, flips = np.zeros(iterations, np.uint64), np.zeros(iterations, np.int64)
    now = np.uint64(0)
    for it in range(iterations):
        f = np.zeros(n)
        for j in range(m):
            for i in range(n):
                u = 0.0
                for k in range(d):
                    u += x[i, k] * w[j, k]
                if (u > 0.0) != bits[j, i]:
                    bits[j, i] = u > 0.0
                    now ^= key[j, i]
                    flips[it] += it > 0
                if u > 0.0:
                    f[i] += a[j] * u
        found[it] = now
        for j in range(m):
            D = np.zeros(d)
            for i in range(n):
                if bits[j, i]:
                    D += (y[i] - f[i]) / n * x[i]
            pull = 0.0
            for k in range(d):
                pull += D[k] * w[j, k]
                w[j, k] += step * a[j] * D[k]
            a[j] += step * pull
    return found, flips


@numba.njit(cache=True)
def repeated(found, p, least):
    """How many iterations lie in runs of at least `least` repetitions of a period p."""
    total, run = 0, 0
    for i in range(p, found.size + 1):
        if i < found.size and found[i] == found[i - p]:
            run += 1
        else:
            total += run if run >= least * p else 0
            run = 0
    return total


@numba.njit(cache=True)
def cheapest(found, most, cost):
    """Iterations that the run takes at least when leaps over periods up to `most` cost `cost` each."""
    n = found.size
    best = np.zeros(n + 1)
    ahead = np.zeros(most + 1, np.int64)  # for how long each period goes on
    for i in range(n - 1, -1, -1):
        best[i] = 1.0 + best[i + 1]
        for p in range(1, most + 1):
            ahead[p] = ahead[p] + 1 if i + p < n and found[i] == found[i + p] else 0
            if ahead[p] > 0:
                best[i] = min(best[i], p + cost + best[i + p + ahead[p]])
    return best[0]


def main() -> None:
    x, y, w, a = arrays(figure4())
    key = np.random.default_rng(0).integers(1, 2**63, size=(len(a), len(y))).astype(np.uint64)
    found, flips = patterns(x, y, w, a, ITERATIONS, STEP, key)
    rows: list[dict] = [
        {
            "iterations": ITERATIONS,
            "changes of bits": int(flips.sum()),
            "iterations without one": round(float(np.mean(flips == 0)), 3),
        }
    ]
    for p in (1, 2, 3, 4, 5, 6, 7, 8):
        share = {least: round(repeated(found, p, least) / ITERATIONS, 3) for least in (10, 50)}
        rows.append({"period": p, "share in 10 repetitions": share[10], "in 50": share[50]})
    for most in PERIODS:
        bounds = {f"cost {cost:.0f}": round(ITERATIONS / cheapest(found, most, cost), 2) for cost in COSTS}
        rows.append({"periods up to": most, "speed-up at most": bounds})
    for row in rows:
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
