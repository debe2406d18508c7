"""A network of smaller norm that fits the data exactly, in fractions: the limit of the flow is not of minimum norm.

f = sum_k s_k max(<v_k, x>, 0) has |theta|^2 = 2 sum |v_k| when balanced.
"""

import numpy as np

from reluflow import bias
from reluflow.certify._flint import arb, fmpq, fmpq_mat
from reluflow.certify.exact import Exact, dot, rational, words

NUDGE = 1e-9  # how far off a boundary a neuron on it is moved, so that its pattern is certain


def rival(exact: Exact, data) -> dict | None:
    """The minimum-norm network in fractions, or None when none was found that fits."""
    try:
        params = bias.min_norm(data).params
    except Exception:  # no network fits, or the programme failed: nothing to compare with
        return None
    size = np.abs(params.a)
    v = params.w * size[:, None] * np.exp(params.log_scales[0] + params.log_scales[1])[:, None]
    signs = [int(s) for s in np.sign(params.a)]
    x = np.asarray(data.x, dtype=float)
    for row in v:
        for z in x:
            if abs(row @ z) < 1e-6 * np.linalg.norm(row) * np.linalg.norm(z):
                row -= z * (row @ z + NUDGE * np.linalg.norm(row)) / (z @ z)
    V = [[rational(float(f"{c:.15g}")) for c in row] for row in v]
    V = corrected(exact, V, signs)
    if V is None or outputs(exact.x, V, signs) != list(exact.y):
        return None
    return {"v": [[words(c) for c in row] for row in V], "s": signs}


def outputs(x, V, signs):
    return [sum((s * max(dot(v, z), fmpq(0)) for s, v in zip(signs, V)), fmpq(0)) for z in x]


def corrected(exact: Exact, V, signs):
    """V moved by the least amount that fits with the patterns it has."""
    n = exact.n
    on = [[dot(v, z) > 0 for z in exact.x] for v in V]
    miss = [y - f for y, f in zip(exact.y, outputs(exact.x, V, signs))]
    gram = [[dot(exact.x[i], exact.x[k]) * sum(b[i] and b[k] for b in on) for k in range(n)] for i in range(n)]
    try:
        c = fmpq_mat(gram).solve(fmpq_mat([[m] for m in miss]))
    except ZeroDivisionError:
        return None
    out = []
    for v, b, s in zip(V, on, signs):
        out.append(
            [v[k] + sum((s * c[i, 0] * exact.x[i][k] for i in range(n) if b[i]), fmpq(0)) for k in range(exact.d)]
        )
    return out


def norm2(V) -> arb:
    return sum((2 * arb(dot(v, v)).sqrt() for v in V), arb(0))
