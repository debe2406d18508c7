"""Corollary 4.3 of [LSY23]: the iteration from which the angle is within epsilon of pi."""

import math

import numpy as np

from reluflow._checks import number, whole
from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._common import is_descent, starts_well
from reluflow.papers.lee2023._steps import steps, turning_rates, well_stepped
from reluflow.single import Run

needs = "single"
forms = ("corrected", "printed")


def stopping_time(epsilon: float, m: int, phi0: float, bound: float, target: float, step: float) -> float:
    """Iterations after which pi - epsilon < phi, by log((epsilon/2) tan(phi_0/2)) / log(1 - a_lo step); 0 when at once.

    `bound` is r, a lower bound of |w|, for m >= 1 and R, an upper bound, for m = 0. r = |w_0| is legitimate only if
    v_0 <= v* s(phi_0)^(1/(m+1)). The paper states it for step << 1/a_lo; see `check` for how exact it is.
    """
    for name, value in (("epsilon", epsilon), ("bound", bound), ("target", target), ("step", step)):
        number(name, value, rule="positive and finite", ok=lambda v: 0 < v < math.inf, hint="it must be a size")
    whole("m", m, least=0, hint="m = 0 is one layer")
    number("phi0", phi0, rule="in (0, pi)", ok=lambda v: 0 < v < math.pi, hint="it is pi minus the angle to w*")
    rate = phi0 / (2 * math.pi) * step * (target / bound if m == 0 else bound ** (m - 1) * target ** (m + 1))
    if rate >= 1:
        raise ValueError(f"`step` must be below {step / rate:.6g} here, got {step:g}: 1 - a_lo step must be positive.")
    return iterations(epsilon, phi0, -math.log1p(-rate))


def iterations(epsilon: float, phi0: float, log_gain: float) -> float:
    """log of (2/epsilon) cot(phi_0/2) over `log_gain`, the least growth of log tan(phi/2) in a step; at least 0."""
    return max(0.0, -math.log(0.5 * epsilon * math.tan(0.5 * phi0)) / log_gain)


def check(run: Run, *, form: str = "corrected", epsilon: float = 0.1) -> Report:
    r"""Claim: $\pi - \epsilon < \varphi(T) < \pi$ for every $T > \log(\frac\epsilon2\tan\frac{\varphi_0}2) / \log(1 -
    \frac{\varphi_0}{2\pi} r^{m-1}v^{*\,m+1}\eta)$.

    Corrected, exactly: with 1/(1 + q_lo) in place of 1 - a_lo eta (`_steps`). Both take r from the run. When the run is
    shorter than the time, nothing is measured. No slack. That phi < pi needs no claim: the angle is kept as
    log tan(phi/2), which is finite.
    """
    s = steps(run)
    p = run.problem
    q_lo, q_hi = turning_rates(run, s)
    if form == "printed":
        edge = float(s.l.max() if p.m == 0 else s.l.min())
        T = stopping_time(epsilon, p.m, p.phi0, math.exp(edge), 1.0, s.eta)
    else:
        T = iterations(epsilon, p.phi0, math.log1p(q_lo))
    late = s.T > T
    theta = float(np.max(run.theta[late])) if late.any() else math.nan
    first = s.T[np.argmax(run.theta < epsilon)] if (run.theta < epsilon).any() else math.inf
    claims = [Claim("pi - phi from that iteration on", theta, "<", epsilon, at=T)]
    constants = {"T": T, "first iteration within epsilon": float(first), "epsilon": epsilon}
    hypotheses = [*is_descent(run), *starts_well(run), *well_stepped(s, q_hi)]
    return Report("lee2023.corollary4_3", claims, hypotheses, constants, form)
