"""Writes population.json: 50 population problems integrated with 30 digits, in plain weights, by extrapolation.

    nice python tests/references/make_population.py          (python-flint: the extra [precise])

Nothing of the library's field is used: D(u) = sum_k b_k G(u; v_k) - sum_i a_i G(u; w_i), angles by arccos, dw/dt = a D,
da/dt = <w, D>, by the modified midpoint rule with Richardson extrapolation (Gragg, Bulirsch, Stoer); a step is halved
until its last two columns agree to 1e-17.
"""

import json
import sys
from pathlib import Path

import numpy as np
from flint import arb, ctx

COUNT, T1, COLUMNS, TOL = 50, 6, 9, 1e-17


def draw(seed):
    """(teacher w, a; student w, a; slope; train): sizes, scale and kind drawn with the seed."""
    rng = np.random.default_rng([seed, 31])
    m, teachers, d = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
    v, b = rng.normal(size=(teachers, d)), rng.normal(size=teachers)
    w = np.exp(-rng.uniform(0, 6)) * rng.normal(size=(m, d))
    kind = ("balanced", "gaussian", "first")[seed % 3]
    a = np.linalg.norm(w, axis=1) * rng.choice([-1.0, 1.0], size=m)
    if kind == "gaussian":
        a = a * np.exp(rng.uniform(-1, 1, size=m))
    if kind == "first":
        a, w = rng.choice([-1.0, 1.0], size=m), rng.normal(size=(m, d)) / 2
    return v, b, w, a, (0.0, 0.0, 0.3)[seed // 3 % 3], "first" if kind == "first" else "both"


def dot(x, y):
    return sum((p * q for p, q in zip(x, y)), arb(0))


def field(w, a, v, b, slope, first):
    rows, out_w, out_a = [*v, *w], [], []
    sizes = [*b, *(-x for x in a)]
    lengths = [dot(x, x).sqrt() for x in rows]
    keep = (1 - slope) ** 2 / (2 * arb.pi())
    for j, u in enumerate(w):
        length = lengths[len(v) + j]
        total = [arb(0)] * len(u)
        for k, row in enumerate(rows):
            theta = sine = arb(0)
            if k != len(v) + j:
                # Its rounding moves a small angle by its root, and the pull by no more than itself.
                cosine = min(max((dot(u, row) / (length * lengths[k])).mid(), arb(-1)), arb(1))
                theta, sine = cosine.acos(), ((1 - cosine) * (1 + cosine)).sqrt()
            own = keep * sine * lengths[k] / length
            along = keep * (arb.pi() - theta) + slope
            total = [x + sizes[k] * (along * p + own * q) for x, p, q in zip(total, row, u)]
        out_w.append([a[j] * x for x in total])
        out_a.append(arb(0) if first else dot(u, total))
    return out_w, out_a


def integrate(v, b, w, a, slope, first):
    m, d = len(w), len(w[0])
    v, b = [[arb(float(z)) for z in row] for row in v], [arb(float(x)) for x in b]
    slope = arb(slope)
    y = [arb(float(z)) for z in [*np.ravel(w), *a]]

    def rates(y):
        rows = [y[j * d : (j + 1) * d] for j in range(m)]
        dw, da = field(rows, y[m * d :], v, b, slope, first)
        return [z for row in dw for z in row] + da

    def step(y, f, size):
        table = []
        for k in range(1, COLUMNS + 1):
            n = 2 * k
            h = arb(size) / n
            old, new = y, [p + h * q for p, q in zip(y, f)]
            for _ in range(n - 1):
                old, new = new, [p + 2 * h * q for p, q in zip(old, rates(new))]
            row = [[(p + q + h * r) / 2 for p, q, r in zip(old, new, rates(new))]]
            for i, before in enumerate(table[-1] if table else []):
                ratio = (arb(n) / (2 * (k - i - 1))) ** 2 - 1
                row.append([p + (p - q) / ratio for p, q in zip(row[i], before)])
            table.append(row)
        last = table[-1]
        return last[-1], max(abs(float((p - q).mid())) for p, q in zip(last[-1], last[-2]))

    t, size = 0.0, 0.25
    while t < T1:
        size = min(size, T1 - t)
        new, error = step(y, rates(y), size)
        if not error <= TOL:
            size /= 2
            continue
        y, t = [x.mid() for x in new], t + size  # sizes are powers of 2: times are exact
        if error < TOL / 2**12:
            size *= 2
    return y


def main():
    ctx.dps = 30
    found = []
    for seed in range(COUNT):
        v, b, w, a, slope, train = draw(seed)
        y = integrate(v, b, w, a, slope, train == "first")
        cut = w.size
        found.append(
            {
                "seed": seed,
                "w": [x.str(20, radius=False) for x in y[:cut]],
                "a": [x.str(20, radius=False) for x in y[cut:]],
            }
        )
        print(seed, file=sys.stderr, flush=True)
    Path(__file__).with_name("population.json").write_text(json.dumps({"t1": T1, "problems": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
