"""Theorem 3.3 of [LSY23]: magnitude of a one-layer neuron between two exponentials."""

import math

import numpy as np

from reluflow.claim import Report
from reluflow.papers.lee2023._bounds import log_magnitude
from reluflow.papers.lee2023._common import columns, is_flow, layers, starts_well, worst
from reluflow.single import Run, angle

needs = "single"
forms = ("corrected", "printed")


def check(run: Run, *, form: str = "corrected", restart: float = 0.0) -> Report:
    r"""Claim: $(1-\varepsilon_0)(1-e^{-t/2}) v^* + v_0 e^{-t/2} < v(t) < (1-e^{-t/2}) v^* + v_0 e^{-t/2}$ for $t >
    0$, m = 0.

    `restart` measures t, v_0 and eps_0 from that time on. The printed form adds (8), the same without its v_0 terms,
    whose upper half fails at small t for every v_0 > 0. Slack: 100 rtol on log(v/v*); at t -> 0 both bounds touch v.
    """
    c, l0, y0 = columns(run, restart)
    eps0 = float(angle.eps(angle.angles(y0)[1]))
    if form == "printed":
        # log of (1 - e^-t/2): the bound with v_0 = 0
        rise = np.log(-np.expm1(-0.5 * c.t))
        low, high, name = math.log1p(-eps0) + rise, rise, " (8), without v_0"
    else:
        low, high, name = log_magnitude(0, l0, eps0, c.log_t), log_magnitude(0, l0, 0.0, c.log_t), ""
    claims = [
        worst(f"log v/v* over its lower bound{name}", c.l, ">", low, c.slack, c.at),
        worst(f"log v/v* under its upper bound{name}", c.l, "<", high, c.slack, c.at),
    ]
    hypotheses = [is_flow(run), *starts_well(run), *layers(run, 0)]
    return Report("lee2023.theorem3_3", claims, hypotheses, {"eps_0": eps0, "log v_0/v*": l0}, form)
