"""Lemma 9 of [BPF22]: no neuron of S_{+,1} or S_{-,1} collapses to 0 while it aligns."""

import numpy as np

from reluflow.claim import Report
from reluflow.papers._unfinished import so_far
from reluflow.papers.boursier2022 import _scale
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import small, worst
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol, epsilon=None) -> Report:
    r"""Claim: $|w_j^t| > c_{min}\lambda^{1+\varepsilon}/2$ on $[0, t_{+1}]$ for $S_{+,1}$, and $>
    c_{min}\lambda^{1+r\varepsilon}/2$ on $[0, t_{-1}]$ for $S_{-,1}$. No slack: logarithms of norms, good to 100 rtol,
    are compared with bounds that are far away.
    """
    track = run_of(sol, epsilon)
    const = track.const
    claims = []
    for name, S, t, p in (
        ("(i) S_{+,1}", const.S_plus, const.t_plus, const.epsilon),
        ("(ii) S_{-,1}", const.S_minus, const.t_minus, const.r * const.epsilon),
    ):
        past = track.during(0.0, t)
        low, when = worst(-np.min(past.rho[:, S], axis=1, initial=np.inf), past.t) if len(S) else (np.nan, None)
        bound = np.log(const.c_min / 2) + const.power(1 + p)
        claims.append(small(f"{name}: smallest |w_j| up to then", -low, bound, relation=">", at=when))
        claims[-1] = so_far(claims[-1], track.ends_before(t, "the end of its phase"))
    return Report(
        name="boursier2022.lemma9",
        hypotheses=[*hypotheses(const), _scale.small_enough(const, _scale.PHASE_1)],
        claims=claims,
        constants={**const.numbers(), "c_min": const.c_min},
        until=const.t_minus,
    )
