"""Figures 2 and 3 of [BPF22]: the iterations shown are those of descent on 2L, twice as fast as on the printed L."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.data.toys import two_points
from reluflow.papers.boursier2022._constants import Constants, hypotheses

needs = "problem"
forms = ("corrected", "printed")


def check(problem, form="corrected", step: float = 1e-3, first: float = 5000.0, second: float = 11000.0) -> Report:
    r"""Claim: on two points with $\lambda = 10^{-6}/\sqrt{60}$ and step $10^{-3}$ "5000 iterations" leave the first
    saddle and the trajectory "only leaves" the second "around iteration 11000".

    Times are those at which each class has lost 1% of its loss (4.3), t = iterations times the step on L (printed), or
    twice that (corrected, E4): the authors' code takes the gradient of the mean square. Slack: the text gives
    thousands, so 500 and 1000 iterations. Hypotheses: the data, the scale and the width are Figure 2's.
    """
    const = Constants(problem)
    rate = (1.0 if form == "printed" else 2.0) * step
    root = np.sqrt(0.99)
    claims = []
    for name, saddle, shown, slack in zip(
        ("first", "second"), const.limit.saddles, (first, second), (500.0, 1000.0), strict=False
    ):
        half = saddle.half(const.ell)
        t = half + np.log((1 - root) / root) / (2 * saddle.rate) if half is not None else np.nan
        claims.append(Claim(f"iteration that leaves the {name} saddle", t / rate, "=", shown, slack=slack))
    return Report(
        name="boursier2022.loss_scale",
        hypotheses=[*hypotheses(const), *_as_figure_2(const)],
        claims=claims,
        constants={**const.numbers(), "step on L": rate},
        form=form,
    )


def _as_figure_2(const: Constants) -> list[Claim]:
    """The data are the two points, lambda is 1e-6/sqrt(60) and the width 60: iteration counts are those of no other."""
    points = two_points()
    same = const.data.x.shape == points.x.shape
    gap = max(np.max(np.abs(const.data.x - points.x)), np.max(np.abs(const.data.y - points.y))) if same else np.inf
    return [
        Claim("the data of Figure 2: largest difference", float(gap), "=", 0.0),
        Claim("log lambda of Figure 2, log(1e-6/sqrt(60))", -const.ell, "=", float(np.log(1e-6 / 60**0.5)), slack=1e-9),
        Claim("its width", const.m, "=", 60),
    ]
