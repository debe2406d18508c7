"""Lemma 1 of [BPF22]: a_j^2 - |w_j|^2 is conserved, and balanced neurons keep their sign."""

import numpy as np

from reluflow import _text
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import EPS

needs = "solution"


def check(sol) -> Report:
    r"""Claim: $(a_j^t)^2 - |w_j^t|^2 = (a_j^0)^2 - |w_j^0|^2$; from $|a_j^0| = |w_j^0| > 0$, $a_j^t = s_j |w_j^t|$ for
    ever.

    The drift is measured against $(a_j^t)^2 + |w_j^t|^2$ at every frame, without underflow. For any inputs and any
    activation of degree one. Slack: the state is kept on its surface to 64 roundings (d + 8 more for the norm), and so
    is the initial gap, whose rounding a neuron that shrinks by a factor s makes $s^{-2}$ times as large beside it;
    descent has no slack of its own and loses balance by the square of its step.
    """
    scale, a = sol.log_scale, sol.a
    norm = np.linalg.norm(sol.w, axis=-1)
    gap = (np.abs(a) - norm) * (np.abs(a) + norm)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        past = gap[0] * np.exp(2.0 * (scale[0] - scale))
    drift = np.abs(gap - np.where(gap[0] == 0.0, 0.0, past)) / (a**2 + norm**2)
    balanced = np.abs(gap[0]) <= 8 * EPS * (a[0] ** 2 + norm[0] ** 2)
    flips = np.any(sol.sign[:, balanced] != sol.sign[0, balanced], axis=0)
    with np.errstate(over="ignore"):
        slacks = (72 + sol.problem.data.d) * EPS * (1.0 + np.exp(2.0 * (scale[0] - scale)))
    f, j = np.unravel_index(int(np.argmax(np.where(np.isfinite(slacks), drift - slacks, -np.inf))), drift.shape)
    slack, where = slacks[f, j], f"neuron {j}, t = {_text.time(sol.t[f], sol.log_t[f])}"
    return Report(
        name="boursier2022.lemma1",
        hypotheses=[Claim("both layers are trained (1: yes)", float(sol.problem.train == "both"), "=", 1.0)],
        claims=[
            Claim("drift of a^2 - |w|^2 over a^2 + |w|^2", drift[f, j], "<=", 0.0, slack=slack, at=where),
            Claim(
                f"sign changes among {int(np.sum(balanced))} balanced neurons",
                int(np.sum(flips)),
                "<=",
                0,
                at=np.flatnonzero(balanced)[flips][:8].tolist() or None,
            ),
        ],
    )
