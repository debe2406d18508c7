"""Equations (7) and (8) of [MMV24]: V+ only gains positive and loses negative data, V- the other way round."""

from itertools import pairwise

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._run import Run, as_run, so_far, worst

needs = "flow"


def crossings(run: Run) -> list[tuple[float, int, int, bool]]:
    """(theory time, neuron, datum, turned on) for every change of the sign of <w_j, x_i>, in order of time."""
    found = []
    for j, row in enumerate(run.visits):
        for a, b in pairwise(row):
            found += [(b.start, j, i, True) for i in sorted(set(b.on) - set(a.on))]
            found += [(b.start, j, i, False) for i in sorted(set(a.on) - set(b.on))]
    return sorted(found)


def inward(run: Run, found) -> np.ndarray:
    r"""$s_j\,d/dt\langle w_j/|w_j|, u_i\rangle = \langle D_j, u_i\rangle$ at crossings, the crossed datum left out."""
    if not found:
        return np.zeros(0)
    seen = run.at(np.unique([t for t, *_ in found]) / run.tempo)
    g, logs = seen.drive
    rate = np.exp(logs) * run.gain / run.problem.weight
    speeds = []
    for t, j, i, _ in found:
        k = int(np.argmin(np.abs(seen.t - t / run.tempo)))
        bits = (seen.bits_of([k])[0, j] >= 1.0).astype(float)
        bits[i] = 0.0
        speeds.append(rate[k] * ((bits * g[k]) @ run.data.x) @ run.geo.u[i])
    return np.array(speeds)


def check(sol) -> Report:
    r"""Claims: every crossing has ($s_j y_i > 0$, turning on) or ($s_j y_i < 0$, turning off); each (i, j) at most
    once; nothing slides; and, up to T, $s_j\,d/dt\langle w_j/|w_j|, u_i\rangle \ge \mu^{3/2} X_{min}/2$ at $\langle
    w_j, x_i\rangle = 0$ unless the neuron is dead there.

    The signs hold at any scale under Assumption 1, only the constant needs eps <= eps_A. Every event is looked at; the
    speed comes from the field at the event. No slack.
    """
    run = as_run(sol)
    found = crossings(run)
    wrong = [f for f in found if (run.sign[f[1]] * run.data.y[f[2]] > 0) != f[3]]
    pairs = [(j, i) for _, j, i, _ in found]
    again = len(pairs) - len(set(pairs))
    slides = run.sol.stats.slides
    claims = [
        Claim(f"crossings the wrong way, of {len(found)}", len(wrong), "=", 0, at=_tell(wrong)),
        Claim("crossings of a hyperplane by a neuron that crossed it before", again, "=", 0),
        Claim("neurons that slid along a hyperplane", slides, "=", 0),
    ]
    early = [f for f in found if f[0] <= run.c.T]
    speed = inward(run, early)
    # A neuron that loses its last datum is dead on arrival: nothing else is active, and the speed says nothing.
    speed = np.where(speed == 0.0, np.nan, speed)
    least, where = worst(speed, low=True)
    bound = run.geo.mu**1.5 * run.geo.x_min / 2 if run.geo.separable else np.nan
    at = _tell([early[where[0]]]) if where else None
    claims.append(Claim(f"inward speed at the {len(early)} crossings up to T, least", least, ">=", bound, at=at))
    # Once every neuron has arrived nothing crosses any more.
    missing = run.ends_before(run.c.T, "T") if not np.isfinite(run.aligned) else ""
    claims = [so_far(claim, missing) for claim in claims]
    hypotheses = run.hypotheses("separable", "balanced", "relu", "both layers", "eps_A")
    return Report("min2024.equation7", claims, hypotheses, run.c.shown(), until=run.own_time(min(run.c.T, run.c.t1)))


def _tell(found) -> str | None:
    if not found:
        return None
    t, j, i, on = found[0]
    return f"t = {t:.4g}, neuron {j}, datum {i}, {'on' if on else 'off'}"
