"""Restarted bounds of [LSY23], Section 5.2 and Appendix D.1: every restart narrows the band around the magnitude."""

from itertools import pairwise

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._bounds import log_magnitude
from reluflow.papers.lee2023._common import EPS, columns, is_flow, starts_well, worst
from reluflow.single import Run, angle

needs = "single"


def check(run: Run, *, restarts: tuple[float, ...] | None = None) -> Report:
    r"""Claim: restarted at $t_0$ with $v_0 := v(t_0)$, $\varepsilon_0 := \varepsilon(t_0)$, both bounds still hold
    and lie inside the earlier ones.

    The lower bound restarts higher and is driven by a smaller eps; the upper restarts lower under the same equation.
    `restarts` are a twentieth, a tenth and a fifth of the run unless given. Slack: 100 rtol on log(v/v*).
    """
    times = restarts or tuple(float(run.t[-1]) * f for f in (0.05, 0.1, 0.2))
    bands = {k: _band(run, k) for k in (0.0, *times)}
    claims: list[Claim] = []
    widths = []
    for earlier, later in zip((0.0, *times), times):
        c, new = columns(run, later)[0], bands[later]
        old = bands[earlier][:, -len(c.t) :]
        name = f", restarted at {later:.6g}"
        claims += [
            worst(f"log v/v* over its lower bound{name}", c.l, ">", new[0], c.slack, c.at),
            worst(f"log v/v* under its upper bound{name}", c.l, "<", new[1], c.slack, c.at),
            worst(f"new lower bound over the old{name}", new[0], ">", old[0], c.slack, c.at),
            worst(f"new upper bound under the old{name}", new[1], "<=", old[1], c.slack, c.at),
        ]
        widths.append(float(np.max(new[1] - new[0])))
    # A band is the difference of two logarithms, with their rounding.
    size = float(np.max(np.abs(bands[0.0])))
    claims += [
        Claim("width of the band, each over the one before", b / a, "<=", 1.0, slack=8 * EPS * size / a)
        for a, b in pairwise(widths)
    ]
    return Report("lee2023.restarts", claims, [is_flow(run), *starts_well(run)])


def _band(run: Run, restart: float) -> np.ndarray:
    """Lower and upper log bounds restarted at `restart`, at the frames after it."""
    c, l0, y0 = columns(run, restart)
    eps0 = float(angle.eps(angle.angles(y0)[1]))
    return np.array([log_magnitude(run.problem.m, l0, e, c.log_t) for e in (eps0, 0.0)])
