"""Lemma 3 of [BPF22] (second phase): the positive labels are fitted by S_{+,1} alone, at a time ell/|D+|."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022 import _fitting, _scale
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import Track, log, small
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected", epsilon=None) -> Report:
    r"""Claim: for some $t_2 \le (1+3\varepsilon)\ell/|D_+|$, (i) $\langle W_j, D_+\rangle \ge |D_+| -
    \lambda^{\varepsilon/2}$ on $S_{+,1}$; (ii) $u_+ = n|D_+| - \lambda^{\varepsilon/5}$; (iii) all others $\le
    2c\lambda^\varepsilon$. Hence the loss on the positive labels is $\lambda^{2\varepsilon/5}/(2n)$ to leading order.

    The text prints $\lambda^{\varepsilon/5}$ for that loss, its footnote the square (E5). $n|D_+|$ is $|E_+|$ for
    inputs of norm $\nu$, and the loss has $\nu^2$ before it. Slack of the exponent: what the other neurons and the
    misalignment, as measured, can do to the residuals, relative to $\lambda^{\varepsilon/5}$. Vacuous where
    $\lambda^{\varepsilon/5} > n|D_+|$.
    """
    track = run_of(sol, epsilon)
    const, e, plus = track.const, track.const.epsilon, track.const.plus
    t, fired = track.t_2
    claims = [_fitting.end_in_time(track, t, 1 + 3 * e, plus, e / 5, "t_2, (1 + 3 eps) ell / |D+|")]
    if np.isfinite(t):
        state = track.at(t)
        rest = np.setdiff1d(np.arange(const.m), const.S_plus)
        bound = np.log(2 * const.c) + const.power(e)
        claims += [
            _fitting.aligned(track, state, const.S_plus, plus, e / 2, "(i) misalignment of S_{+,1}, lambda^{eps/2}"),
            _fitting.level(track, state, const.S_plus, plus, e / 5, fired, "(ii) n|D+| - u+, lambda^{eps/5}"),
            small("(iii) largest other |w_j|, 2 c lambda^eps", track.largest(state, rest)[0], bound),
            _loss(track, state, rest, 1.0 if form == "printed" else 2.0),
        ]
    else:
        claims += _fitting.nowhere(track, t, claims[0].bound, e / 5, "(i)", "(ii)", "(iii)", "loss")
    return Report(
        name="boursier2022.lemma3",
        hypotheses=[
            *hypotheses(const),
            _fitting.not_vacuous(track, plus, e / 5, "lambda^{eps/5} < n|D+|"),
            _scale.small_enough(const, _scale.PHASE_2),
        ],
        claims=claims,
        constants={**const.numbers(), "t_2": t},
        form=form,
        until=claims[0].bound,
    )


def _loss(track: Track, state, rest, times: float) -> Claim:
    """The exponent of lambda in 2n L_+ / nu^2 at t_2."""
    const, e, plus = track.const, track.const.epsilon, track.const.plus
    nu2 = float(np.sum(const.y[plus.members] ** 2)) / plus.u**2
    loss = track.class_loss(state, plus)[0]
    exponent = -float(log(2 * const.N * loss / nu2)) / const.ell
    # |h_k - y_k (1 - u/u_inf)| <= |x_k| (sum of the others' squares + u sqrt(2 h / |D+|)), the decomposition (19).
    noise = track.u(state, rest)[0] + track.u(state, const.S_plus)[0] * np.sqrt(
        2 * track.apart(state, const.S_plus, plus)[0] / plus.size
    )
    whole = np.exp(const.power(e / 5)) * np.sqrt(np.sum(const.y[plus.members] ** 2)) / plus.u
    # and the outputs themselves are good to tol.
    relative = (noise + track.tol * max(1.0, plus.u)) * np.sqrt(np.sum(const.nu2[plus.members])) / whole
    slack = -2 * np.log1p(-relative) / const.ell if relative < 1 else np.inf
    if not slack < e / 5:  # then it tells no exponent from another
        exponent, slack = np.nan, 0.0
    return Claim("exponent of lambda in the loss on positive labels", exponent, "=", times * e / 5, slack=slack)
