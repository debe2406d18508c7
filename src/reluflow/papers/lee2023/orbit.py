"""The exact orbit of a balanced neuron: magnitude and time as functions of the angle, by quadrature."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._common import is_flow, starts_well, worst
from reluflow.single import Run, orbit

needs = "single"


def check(run: Run) -> Report:
    r"""Claim: $(\frac{v^*}{v}\frac{\varphi}{\sin\varphi})^{m+1}$ grows by $(m+1)\pi\int \psi^m / \sin^{m+2}\psi\,
    d\psi$, and t follows by quadrature.

    For m = 0 it is the first integral K = (v*/v)(phi/sin phi) + pi cot phi. Slack: an error of 100 rtol in y moves
    log v along the orbit by |d log v / dy| times that, and log t by |d log t / dy| times that; log v itself may be
    off by 100 rtol.
    """
    fits = run.problem.balanced and np.isfinite(run.problem.y0)
    keep = np.flatnonzero(np.diff(run.y, prepend=-np.inf) > 0)[1:] if fits else np.arange(0)
    hypotheses = [is_flow(run), *starts_well(run)]
    if not len(keep):
        return Report("lee2023.orbit", [Claim("log v on the orbit", np.nan, "=", np.nan)], hypotheses)
    exact = orbit(run.problem, y=run.y[keep])
    rtol = 100 * getattr(run.method, "rtol", 1e-12)
    claims = []
    for name, true, found in (("log v", exact.log_norm, run.log_norm[keep]), ("log t", exact.log_t, run.log_t[keep])):
        slope = np.abs(np.gradient(true, exact.y)) if len(keep) > 1 else np.zeros(1)
        slack = rtol * (1.0 + slope)
        off = np.abs(found - true)
        claims.append(worst(f"|{name} - that of the exact orbit|", off, "<=", 0.0, slack, run.t[keep], log=False))
    return Report("lee2023.orbit", claims, hypotheses)
