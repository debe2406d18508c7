"""Fact 1 of [BPF22]: between the two fits the flow waits near a strict saddle theta_S."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.init import Params
from reluflow.observe.saddles import escape
from reluflow.papers.boursier2022 import _scale
from reluflow.papers.boursier2022._constants import EPS, hypotheses
from reluflow.papers.boursier2022._landscape import loss_and_gradient
from reluflow.papers.boursier2022._track import log, small, worst
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol, epsilon=None) -> Report:
    r"""Claim: $|\theta^t - \theta_S| \le \lambda^{\varepsilon/5}$ for all $t \in [(1+3\varepsilon)\ell/|D_+|,
    (1-\varepsilon)\ell/|D_-|]$, with $\theta_S$ a strict saddle: $L(\theta_S) = \frac{1}{2n}\sum_- y_k^2$ ($=
    n|D_-|^2/2$ for unit norms), gradient 0, curvature $-|D_-|$ along a zero neuron put on $-D_-$ with a < 0.

    $\theta_S$ has $S_{+,1}$ at its value in the limit network (2.8) and zeros elsewhere. Slack: weights are good to 100
    rtol; loss, gradient and curvature at $\theta_S$ to m n d roundings of what they are sums of. Empty or false at
    experimental scales (E12): violated at 1e-6 on Figure 2's data (0.78 against 0.71).
    """
    track = run_of(sol, epsilon)
    const, e = track.const, track.const.epsilon
    lo, hi = (1 + 3 * e) * const.ell / const.plus.size, (1 - e) * const.ell / const.minus.size
    theta = const.theta(saddle=True)
    stay = track.during(lo, hi) if hi <= track.end else track.during(1.0, 0.0)
    distance, when = worst(track.distance(stay, theta), stay.t)
    loss, square = loss_and_gradient(const, *theta)
    expected = 0.5 * const.weight * float(np.sum(const.y[const.minus.members] ** 2))
    rounding = const.m * const.n * const.data.d * EPS
    # A gradient is a sum of residuals times weights; a curvature is a length of D.
    length, turn = float(np.sqrt(sum(np.sum(part**2) for part in theta))), rounding * const.minus.size
    relu = sol.problem.activation.slope == 0.0
    down = escape(sol.problem, Params(*theta)).curvature if relu else np.nan
    return Report(
        name="boursier2022.fact1",
        hypotheses=[
            *hypotheses(const),
            Claim("the window is not empty", lo, "<=", hi),
            _scale.small_enough(const, _scale.PHASE_2),
        ],
        claims=[
            small(
                "|theta^t - theta_S| in the window, lambda^{eps/5}",
                log(distance),
                const.power(e / 5),
                track.tol,
                at=when,
                missing=track.ends_before(hi, "the end of the window") if lo <= hi else "",
            ),
            Claim("L(theta_S)", loss, "=", expected, slack=rounding * expected),
            Claim("|grad L(theta_S)|", np.sqrt(square), "=", 0.0, slack=rounding * const.plus.size * length),
            Claim("curvature at theta_S along a zero neuron", down, "=", -const.minus.size, slack=turn),
        ],
        constants={**const.numbers(), "window from": lo, "to": hi},
        until=hi if lo <= hi else 0.0,
    )
