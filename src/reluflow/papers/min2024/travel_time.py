"""Travel times of [MMV24], Appendix C.2: every neuron's path (k+, k-), its cost, and the time it really took."""

from itertools import pairwise

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._run import as_run

needs = "flow"


def check(sol) -> Report:
    r"""Claims: along a V+ neuron's path $k_+$ never falls and $k_-$ never rises (V- mirrored); it arrives within its
    path's travel time, $\sum_l 4/(m\sqrt\mu X_{min}(k_+^{(l)} + k_-^{(l)}))$ over all vertices but the last; sharper,
    within $\sum_l 4\,\mathrm{ath}/|x_a^{(l)}|$; a neuron that dies, within $(4/(m\sqrt\mu X_{min})) H(n_a(0))$.

    Arrival times are events, exact to 100 rtol; no slack.
    """
    run = as_run(sol)
    c, geo = run.c, run.geo
    signed = np.sign(run.data.y)[:, None] * run.data.x
    unit = 4 / (c.m * np.sqrt(geo.mu) * geo.x_min) if geo.separable else np.nan
    ath = c.ath if geo.separable else np.nan
    wrong, rows = 0, list[tuple[float, float, float, float, str, int, int]]()
    for j, (row, homes) in enumerate(zip(run.visits, run.homes, strict=True)):
        own = np.sign(run.data.y) == run.sign[j]
        path = [(int(np.sum(own[list(v.on)])), int(np.sum(~own[list(v.on)]))) for v in row]
        wrong += sum(b[0] < a[0] or b[1] > a[1] for a, b in pairwise(path))
        last = next((k for k, h in enumerate(homes) if h in ("own", "dead")), None)
        if not last:
            continue
        cost = sum(unit / (a + b) for a, b in path[:last])
        sharp = sum(4 * ath / np.linalg.norm(np.sum(signed[list(v.on)], axis=0)) for v in row[:last])
        h = sum(1 / k for k in range(1, sum(path[0]) + 1))
        rows.append((float(run.arrival[j]), float(cost), float(sharp), unit * h, homes[last], j, len(path[: last + 1])))
    claims = [Claim("steps of a path the wrong way", wrong, "=", 0)]
    for text, bound, kind in (
        ("arrival against its path's travel time", 1, None),
        ("arrival against the sharper travel time", 2, None),
        ("death against (4/(m sqrt(mu) Xmin)) H(n_a(0))", 3, "dead"),
    ):
        of = [(r[0], r[1:4][bound - 1], r) for r in rows if kind is None or r[4] == kind]
        if of:
            took, most, r = max(of, key=_ratio)
            at = f"neuron {r[5]}, path of {r[6]} patterns"
            claims.append(Claim(f"{text}, worst ratio of {len(of)}", took, "<=", most, at=at))
    late = np.flatnonzero(~np.isfinite(run.arrival))
    if len(late):
        text = f"neurons of {len(run.arrival)} that have not arrived"
        claims.append(Claim(text, len(late), "=", 0, at=f"neuron {late[0]}", missing=run.ends_before(c.t1, "t1")))
    hypotheses = run.hypotheses("separable", "balanced", "assumption 2", "relu", "both layers", "eps_A", "eps_B")
    return Report("min2024.travel_time", claims, hypotheses, c.shown(), until=run.own_time(c.t1))


def _ratio(row) -> float:
    return row[0] / row[1]
