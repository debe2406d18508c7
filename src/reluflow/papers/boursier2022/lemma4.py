"""Lemma 4 of [BPF22] (third phase): the negative labels are fitted by S_{-,1} alone, at a time ell/|D-|."""

import numpy as np

from reluflow.claim import Report
from reluflow.papers.boursier2022 import _fitting, _scale
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import log, small
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol, epsilon=None) -> Report:
    r"""Claim: for some $t_3 \le (1+3r\varepsilon)\ell/|D_-|$, (i) $\langle W_j, -D_-\rangle \ge |D_-| -
    \lambda^{\varepsilon/14}$ on $S_{-,1}$; (ii) $u_- = n|D_-| - \lambda^{\varepsilon/29}$; (iii) $|w_j^{t_2} -
    w_j^{t_3}| \le \lambda^{\varepsilon/15}$ on $S_{+,1}$; (iv) all others $\le 3c\lambda^\varepsilon$.

    Where $t_2$ cannot be told, as $\lambda^{\varepsilon/5}$ is below the accuracy of the run, (iii) is judged from its
    bound $(1+3\varepsilon)\ell/|D_+|$ on. Slack: a misalignment is good to (100 rtol)^2, weights and u to 100 rtol.
    """
    track = run_of(sol, epsilon)
    const, e, minus = track.const, track.const.epsilon, track.const.minus
    t, fired = track.t_3
    claims = [_fitting.end_in_time(track, t, 1 + 3 * const.r * e, minus, e / 29, "t_3, (1 + 3 r eps) ell / |D-|")]
    if np.isfinite(t) and np.isfinite(track.t_2_known):
        state = track.at(t)
        w2, w3 = (np.exp(s.rho[0])[:, None] * s.W[0] for s in (track.at(track.t_2_known), state))
        moved = float(np.max(np.linalg.norm(w3 - w2, axis=1)[const.S_plus], initial=0.0))
        bound = np.log(3 * const.c) + const.power(e)
        claims += [
            _fitting.aligned(
                track, state, const.S_minus, minus, e / 14, "(i) misalignment of S_{-,1}, lambda^{eps/14}"
            ),
            _fitting.level(track, state, const.S_minus, minus, e / 29, fired, "(ii) n|D-| - u-, lambda^{eps/29}"),
            small("(iii) motion of S_{+,1} from t_2 to t_3", log(moved), const.power(e / 15), track.tol),
            small("(iv) largest other |w_j|, 3 c lambda^eps", track.largest(state, const.others)[0], bound),
        ]
    else:
        claims += _fitting.nowhere(track, t, claims[0].bound, e / 29, "(i)", "(ii)", "(iii)", "(iv)")
    return Report(
        name="boursier2022.lemma4",
        hypotheses=[
            *hypotheses(const),
            _fitting.not_vacuous(track, minus, e / 29, "lambda^{eps/29} < n|D-|"),
            _scale.small_enough(const, _scale.PHASE_3),
        ],
        claims=claims,
        constants={**const.numbers(), "t_2": track.t_2[0], "t_3": t},
        until=claims[0].bound,
    )
