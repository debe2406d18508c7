"""Theorem 3.8 of [LSY23]: magnitude of a neuron of any depth between two solutions of a scalar equation."""

import math

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.lee2023._bounds import implicit, log_magnitude
from reluflow.papers.lee2023._common import EPS, Columns, columns, is_flow, starts_well, worst
from reluflow.single import Run, angle

needs = "single"
forms = ("corrected", "printed")


def check(run: Run, *, form: str = "corrected", restart: float = 0.0) -> Report:
    r"""Claim: $u(t;\varepsilon_0) < v(t) < u(t;0)$ where $u' = -\frac12 u^m (u^{m+1} - (1-\varepsilon) v^{*\,m+1})$,
    $u(0) = v_0$.

    Also the implicit form for m != 1, F(u; eps) - F(v_0; eps) = -t/2 with the hypergeometric F of `_bounds.implicit`.
    Printed, the second term has eps_0 for both bounds, so that the upper one does not start at v_0, and (15) has + for
    -: both are measured by form="printed". Slack: 100 rtol on log(v/v*); on the implicit equation 1e-10 of its terms
    (u is integrated to 1e-11 and F changes by dt/2 when u changes by du) plus 100 rounding errors of the terms.
    """
    c, l0, y0 = columns(run, restart)
    eps0 = float(angle.eps(angle.angles(y0)[1]))
    m, at = run.problem.m, c.at
    if form == "printed":
        claims = _printed(c, m, l0, eps0)
    else:
        bounds = [log_magnitude(m, l0, e, c.log_t) for e in (eps0, 0.0)]
        claims = [
            worst("log v/v* over u(t; eps_0)", c.l, ">", bounds[0], c.slack, at),
            worst("log v/v* under u(t; 0)", c.l, "<", bounds[1], c.slack, at),
            _implicit(c, m, l0, eps0, eps0, "implicit form of u(t; eps_0)", bounds[0]),
            _implicit(c, m, l0, 0.0, 0.0, "implicit form of u(t; 0)", bounds[1]),
        ]
    hypotheses = [is_flow(run), *starts_well(run)]
    constants = {"eps_0": eps0, "log v_0/v*": l0, "m": m}
    return Report("lee2023.theorem3_8", [k for k in claims if k], hypotheses, constants, form)


def _printed(c: Columns, m: int, l0: float, eps0: float) -> list[Claim | None]:
    """The implicit equation with eps_0 in its second term, at the true u(t; 0); and v' < -v^m (v^(m+1) + 1)/2."""
    rise = np.diff(c.l) / np.diff(c.t)
    v = np.exp(0.5 * (c.l[1:] + c.l[:-1]))
    plus = -0.5 * v ** (m - 1) * (v ** (m + 1) + 1.0)
    with_plus = worst("v'/v under the right-hand side of (15) with eps = 0", rise, "<", plus, 0.0, c.t[1:], log=False)
    text = "printed implicit form of u(t; 0)"
    if l0 == 0.0 and m != 1:  # u(t; 0) = v* for ever: the first term is infinite, the second is not
        return [Claim(f"{text}, residual", math.inf, "<=", 0.0, at=0.0), with_plus]
    return [_implicit(c, m, l0, 0.0, eps0, text, log_magnitude(m, l0, 0.0, c.log_t)), with_plus]


def _implicit(
    c: Columns, m: int, l0: float, eps: float, eps_second: float, text: str, log_u: np.ndarray
) -> Claim | None:
    """F(u) - F(v_0) = -t/2 at eight times, the worst; where u is not yet too close to where it ends."""
    if m == 1 or not -200.0 < l0 * (m + 1) < 200.0:
        return None
    a = 1.0 - eps
    away = np.abs(np.expm1((m + 1) * log_u - math.log(a))) > 1e-3
    keep = np.flatnonzero(away)[:: max(1, int(away.sum()) // 8)]
    if not len(keep):
        return None
    u, t = np.exp(log_u[keep]), c.t[keep]
    first, second = implicit(m, u, a), float(implicit(m, math.exp(l0), 1.0 - eps_second))
    size = np.abs(first) + abs(second) + t
    residual = np.abs(first - second + 0.5 * t)
    # u integrated to 1e-11 moves z by (m+1) 1e-11 u^(m+1)/A, and F by that over |1 - z|.
    slack = (1e-10 + 100 * EPS) * size / np.minimum(1.0, np.abs(np.expm1((m + 1) * log_u[keep] - math.log(a))))
    return worst(f"{text}, residual", residual, "<=", 0.0, slack, c.at[keep], log=False)
