"""Assumption 2 of [BPF22]: no label is zero and the two classes pull differently hard."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import EPS

needs = "data"
forms = ("corrected", "printed")


def check(data, form="corrected") -> Report:
    r"""Claim: all $y_k \ne 0$ and $\sum_+ y_k^2\nu_k^2 \ne \sum_- y_k^2\nu_k^2$, i.e. $|D_+| \ne |D_-|$.

    The printed form has no norms $\nu_k$; the two agree for unit inputs. Slack: a gap below (n + d) roundings counts as
    none, so the bound is that, not 0.
    """
    weight = np.sum(data.x**2, axis=1) if form == "corrected" else np.ones(data.n)
    pull = [float(np.sum((data.y**2 * weight)[s * data.y > 0])) for s in (1.0, -1.0)]
    gap = abs(pull[0] - pull[1]) / max(*pull, 1e-300)
    k = int(np.argmin(np.abs(data.y)))
    return Report(
        name="boursier2022.assumption2",
        claims=[
            Claim("no zero label, min |y_k|", abs(data.y[k]), ">", 0.0, at=k),
            Claim("the classes differ, gap of the sums over the larger", gap, ">", (data.n + data.d) * EPS),
        ],
        constants={"sum+": pull[0], "sum-": pull[1]},
        form=form,
    )
