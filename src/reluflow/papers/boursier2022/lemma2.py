"""Lemma 2 of [BPF22] (first phase): at t_1 both groups are aligned while every neuron is still small."""

import numpy as np

from reluflow.claim import Report
from reluflow.papers.boursier2022 import _scale
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import log, small
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol, epsilon=None) -> Report:
    r"""Claim, at $t_1 = \varepsilon\ell/|D_-|$: (i) $\langle W_j, D_+\rangle \ge (1-2\lambda^\varepsilon)|D_+|$ on
    $S_{+,1}$; (ii) $\langle W_j, -D_-\rangle \ge (1-2\lambda^\varepsilon)|D_-|$ on $S_{-,1}$; (iii) all $|w_j| \le
    2c\lambda^{1-r\varepsilon}$.

    Slack: a misalignment, half a squared chord between directions good to 100 rtol, is good to (100 rtol)^2.
    """
    track = run_of(sol, epsilon)
    const, t = track.const, track.const.t_minus
    claims = []
    if t <= track.end:
        state = track.at(t)
        for name, S, cls in (("(i) S_{+,1}", const.S_plus, const.plus), ("(ii) S_{-,1}", const.S_minus, const.minus)):
            bound = np.log(2 * cls.size) + const.power(const.epsilon)
            apart = log(track.apart(state, S, cls)[0])
            claims.append(small(f"{name}: misalignment, 2 lambda^eps |D|", apart, bound, track.tol**2 * cls.size))
        rho = track.largest(state, np.arange(const.m))[0]
    else:
        rho = np.nan
    missing = track.ends_before(t, "t_1")
    bound = np.log(2 * const.c) + const.power(1 - const.r * const.epsilon)
    claims.append(small("(iii) largest |w_j|, 2 c lambda^{1 - r eps}", rho, bound, missing=missing))
    return Report(
        name="boursier2022.lemma2",
        hypotheses=[*hypotheses(const), _scale.small_enough(const, _scale.PHASE_1)],
        claims=claims,
        constants={**const.numbers(), "t_1": t},
        until=t,
    )
