"""Appendix B.2 of [BPF22]: alpha and beta, by which neurons that miss one label of a class grow more slowly."""

from __future__ import annotations

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import EPS, Labels, data_hypotheses

needs = "data"
forms = ("corrected", "printed")


def check(data, form="corrected") -> Report:
    r"""Claim: without datum k a class pulls by at most $(1-\alpha)|D_+|$ (or $(1-\beta)|D_-|$), for every k of it,
    where $\alpha = \min_+ y_k^2|x_k|^2/(2n^2|D_+|^2)$.

    From $\sqrt{1-z} \le 1 - z/2$ with $z = y_k^2|x_k|^2/(n|D_+|)^2$. The print lacks the $n^2$ (E1): two equal labels
    give 1 instead of 1/4, the truth being $1 - 1/\sqrt2$. Also that epsilon, taken at its largest, meets its two
    conditions and $r\epsilon < 1/3$. Slack: n + d roundings.
    """
    const = Labels(data, form=form)
    rounding = (data.n + data.d) * EPS
    claims = []
    for name, cls, loss in (("alpha", const.plus, const.alpha), ("beta", const.minus, const.beta)):
        rows = np.flatnonzero(cls.members)
        left = [float(np.linalg.norm(cls.D - const.weight * const.y[k] * data.x[k])) / cls.size for k in rows]
        k = int(np.argmax(left))
        claims.append(
            Claim(f"pull without one datum, 1 - {name}", left[k], "<=", 1 - loss, slack=rounding, at=int(rows[k]))
        )
    e, r = const.epsilon, const.r
    most = max(1 - const.alpha, 1 / r)
    claims += [
        Claim("epsilon > 0", e, ">", 0.0),
        Claim("(1 + 3 eps) max(1 - alpha, 1/r) over 1 - eps", (1 + 3 * e) * most / (1 - e), "<=", 1.0, slack=rounding),
        Claim(
            "(1 + 3 r eps)(1 - beta) over 1 - eps",
            (1 + 3 * r * e) * (1 - const.beta) / (1 - e),
            "<=",
            1.0,
            slack=rounding,
        ),
        Claim("r eps < 1/3", r * e, "<", 1 / 3),
    ]
    return Report(
        name="boursier2022.alpha",
        hypotheses=data_hypotheses(const),
        claims=claims,
        constants=const.numbers(),
        form=form,
    )
