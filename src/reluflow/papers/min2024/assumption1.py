"""Assumption 1 of [MMV24]: any two data agree in label exactly as they agree in direction."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._constants import geometry

needs = "data"
SHOWN = 3


def check(data) -> Report:
    r"""Claim: $\mu = \min_{i \ne k} \langle x_i y_i, x_k y_k\rangle / (|x_i||x_k|) > 0$.

    No slack: a separation that only rounding decides is not one. Where it fails, the notes name the worst pairs, how
    many there are, which rows to leave out, and which results need no separation.
    """
    geo = geometry(data)
    at = None if geo.pair is None else f"rows {geo.pair[0]} and {geo.pair[1]}"
    claims = [Claim("mu, the least label-signed cosine, is positive", geo.mu, ">", 0.0, at=at)]
    labels = float(np.max(np.abs(np.abs(data.y) - 1.0)))
    return Report(
        name="min2024.assumption1",
        claims=claims,
        hypotheses=[Claim("labels are +1 and -1: max ||y_i| - 1|", labels, "=", 0.0)],
        constants=geo.shown(),
        notes=() if geo.separable else violations(data, geo),
    )


def violations(data, geo) -> tuple[str, ...]:
    """What is wrong with data that are not orthogonally separable, and what can still be said."""
    cosines = geo.u @ geo.u.T
    i, k = np.triu_indices(data.n, 1)
    bad = np.flatnonzero(cosines[i, k] <= 0)
    order = bad[np.argsort(cosines[i[bad], k[bad]])]
    pairs = "; ".join(
        f"rows {i[p]} and {k[p]} ({'same label' if data.y[i[p]] * data.y[k[p]] > 0 else 'different labels'}, cosine "
        f"{np.sign(data.y[i[p]] * data.y[k[p]]) * cosines[i[p], k[p]]:.4g} must be "
        f"{'above' if data.y[i[p]] * data.y[k[p]] > 0 else 'below'} 0)"
        for p in order[:SHOWN]
    )
    more = "" if len(order) <= SHOWN else f"; {len(order) - SHOWN} more"
    out = _left_out(cosines)
    rest = np.setdiff1d(np.arange(data.n), out)
    left = cosines[np.ix_(rest, rest)][np.triu_indices(len(rest), 1)]
    mu = float(left.min()) if len(left) else 1.0
    return (
        f"{len(bad)} of {len(i)} pairs break Assumption 1: {pairs}{more}.",
        f"Without row{'s' if len(out) > 1 else ''} {', '.join(map(str, out))} the other {len(rest)} satisfy it with "
        f"mu = {mu:.4g} (a greedy choice, not always the smallest).",
        "xi, zeta, m, t1, eps_A, eps_B and alpha are undefined. Lemmas 1 to 4, 6 and 10, balancedness and the signs of "
        "v_j need no separation and hold as stated; what the other results claim is still measured on a run.",
    )


def _left_out(cosines: np.ndarray) -> list[int]:
    """Rows that, left out one by one, remove the most bad pairs each time."""
    bad = cosines <= 0
    np.fill_diagonal(bad, False)
    out: list[int] = []
    while bad.any():
        worst = int(np.argmax(bad.sum(axis=1)))
        out.append(worst)
        bad[worst] = bad[:, worst] = False
    return sorted(out)
