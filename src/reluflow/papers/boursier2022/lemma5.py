"""Lemma 5 of [BPF22]: near theta* the loss satisfies a Polyak-Lojasiewicz inequality with constant |D-|."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022 import _ball
from reluflow.papers.boursier2022._constants import Constants, hypotheses
from reluflow.papers.boursier2022._landscape import sharp_constants
from reluflow.papers.boursier2022._track import small

needs = "problem"


def check(problem, samples: int = 200, seed: int = 0, epsilon=None) -> Report:
    r"""Claim: $|\nabla L|^2/L \ge |D_-|$ for balanced $\theta$ with $|\theta - \theta^*| \le
    \lambda^{\varepsilon/240}$. Sharp: as $\theta \to \theta^*$ the ratio lies between $2|D_\pm|$ (residuals orthogonal
    to a class's labels) and $4|D_\pm|$ (along them; one-point classes have only that).

    Tried: random balanced perturbations, and scaling one cluster down as far as the radius allows, which breaks the
    claim once $\lambda^{\varepsilon/240} > \sqrt{u_-/2}$. Hypothesis: the radius is below a certified one (see
    `_ball`), which says how small lambda must be. Slack of the sharp constants: m n d roundings.
    """
    const = Constants(problem, epsilon=epsilon)
    w, a = const.theta()
    radius = const.power(const.epsilon / 240)
    there = bool(len(const.S_plus) and len(const.S_minus))
    safe = _ball.certified_radius(const, w) if there else 0.0
    least = min(const.plus.rate, const.minus.rate)
    sharp = sharp_constants(const, w, a)
    # 4 rate along the labels, 2 rate across them; what is left of the smaller class decides.
    expected = min((4.0 if np.sum(c.members) == 1 else 2.0) * c.rate for c in (const.plus, const.minus))
    rounding = const.m * const.n * const.data.d * 2.3e-16 * sharp[-1]
    even = max(const.plus.spread, const.minus.spread) < 1e-12
    ball = float(np.exp(radius))
    found = (
        (_ball.perturbed(const, w, ball, samples, seed), _ball.shrunk(const, w, ball), sharp[0])
        if there
        else [np.nan] * 3
    )
    claims = [
        Claim("least ratio, random networks in the ball", found[0], ">=", least),
        Claim("least ratio, a cluster shrunk within the ball", found[1], ">=", least),
        Claim("sharp constant at theta*", found[2], ">=", least),
        Claim("sharp constant against 2|D| or 4|D|", found[2] if even else np.nan, "=", expected, slack=rounding),
    ]
    return Report(
        name="boursier2022.lemma5",
        hypotheses=[
            *hypotheses(const),
            small("lambda^{eps/240} within the certified radius", radius, float(np.log(safe)) if safe > 0 else -np.inf),
        ],
        claims=claims,
        constants={**const.numbers(), "radius": ball, "certified radius": safe},
    )
