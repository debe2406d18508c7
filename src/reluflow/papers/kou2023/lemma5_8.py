"""Lemma 5.8 of Kou et al.: own-class ReLU units that start on stay on."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.kou2023._constants import assumptions
from reluflow.papers.kou2023._measure import worst
from reluflow.papers.kou2023._path import path

needs = "solution"


def check(sol, steps: int = 300) -> Report:
    r"""$S_i^{(0)} \subset S_i^{(t)}$: $\langle w_{y_i,r}, x_i\rangle \ge 0$ at 0 stays so for all t.

    Counted twice: in the run's list of switches, which sees every iteration (or moment of a flow), and in the signs at
    every frame, up to the rounding of a preactivation. Switches left out of the list leave the first count open.
    """
    run = path(sol, steps)
    at = run.at
    events = sol.events[np.isin(sol.events.kind, ("off", "release_off"))]
    mine = at.started[events.neuron, events.datum]
    place = None
    if np.any(mine):
        k = int(np.argmax(mine))
        place = (f"t = e^{events.log_t[k]:.6g}", int(events.neuron[k]), int(events.datum[k]))
    lost = float(np.sum(mine))
    if lost == 0 and sol.stats.unrecorded:
        lost = np.nan
    z = np.where(at.started, run.z, np.nan)
    claims = [
        Claim("units of S_i^(0) switched off, in the list of events", lost, "=", 0.0, at=place),
        worst("<w_{y_i,r}, x_i> at the frames, r in S_i^(0)", z, ">=", 0.0, slack=run.error, at=run.log_s),
    ]
    return Report("kou2023.lemma5_8", claims, assumptions(at, leaky=False), at.report())
