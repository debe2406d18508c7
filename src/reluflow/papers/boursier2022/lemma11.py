"""Lemma 11 of [BPF22]: Lemma 4 with the steps of its proof, through the moments tau and t_u."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022 import _fitting, _scale
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import log, small, worst
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol, epsilon=None) -> Report:
    r"""Claim: (i) $t_3 \le (1+3r\varepsilon)\ell/|D_-|$; (ii) neurons outside both sets $< 3c\lambda^\varepsilon$ up to
    $t_3$; (iii) $\langle W_j, -D_-\rangle > |D_-| - \lambda^{\varepsilon/14}$ on $S_{-,1}$ on $[t_{-1}, t_3]$; (iv)
    $|D_+^t| < \lambda^{\varepsilon/14}$ on $[t_2, t_3]$. On the way $t_3 - \tau \le \varepsilon\ell/(8|D_-|)$ and $t_3
    - t_u \le \varepsilon\ell/(57|D_-|)$, with $\tau$ when $u_- \ge n\lambda^{\varepsilon/5}$, $t_u$ when $u_- \ge
    n|D_-|/7$ (or misalignment $\ge 5|D_-|\lambda^{\varepsilon/8}$).

    Where $t_2$ cannot be told, (iv) is judged from its bound on. The last two are consequences of "lambda small
    enough", used in the proof with constants of their own. Slack: a misalignment is good to (100 rtol)^2, a residual
    to 100 rtol.
    """
    track = run_of(sol, epsilon)
    const, e, minus = track.const, track.const.epsilon, track.const.minus
    t_2, (t, fired) = track.t_2_known, track.t_3
    enough = max(57 * 29 * np.log(6 * minus.u) / e, 0.0)
    claims = [_fitting.end_in_time(track, t, 1 + 3 * const.r * e, minus, e / 29, "(i) t_3, (1 + 3 r eps) ell / |D-|")]
    if np.isfinite(t) and np.isfinite(t_2):
        past, phase, after = track.during(0.0, t), track.during(const.t_minus, t), track.during(t_2, t)
        rho, at_rho = worst(track.largest(past, const.others), past.t)
        apart, at_apart = worst(track.apart(phase, const.S_minus, minus), phase.t)
        left, at_left = worst(track.residual(after, const.plus), after.t)
        tau = min(
            t, track.first(lambda s: track.u(s, const.S_minus) - const.N * np.exp(const.power(e / 5)), const.t_minus)
        )
        t_u, by = track._stop(
            const.t_minus,
            {
                "norm": lambda s: track.u(s, const.S_minus) - minus.u / 7,
                "alignment": lambda s: (
                    log(track.apart(s, const.S_minus, minus) / (5 * minus.size)) - const.power(e / 8)
                ),
            },
        )
        bound = np.log(3 * const.c) + const.power(e)
        claims += [
            small("(ii) largest other |w_j| up to t_3", rho, bound, relation="<", at=at_rho),
            small(
                "(iii) misalignment of S_{-,1} in the phase, lambda^{eps/14}",
                log(apart),
                const.power(e / 14),
                track.tol**2 * minus.size,
                relation="<",
                at=at_apart,
            ),
            small("(iv) |D+^t| from t_2 to t_3", log(left), const.power(e / 14), track.tol, relation="<", at=at_left),
            Claim("t_3 - tau, eps ell / (8 |D-|)", t - tau, "<=", e * const.ell / (8 * minus.size), at=tau),
            Claim(
                "at t_u it is u- that has grown (1) and not the misalignment (0)", float(by == "norm"), "=", 1.0, at=t_u
            ),
            Claim("t_3 - t_u, eps ell / (57 |D-|)", t - t_u, "<=", e * const.ell / (57 * minus.size)),
        ]
    else:
        texts = ("(ii)", "(iii)", "(iv)", "t_3 - tau", "t_u", "t_3 - t_u")
        claims += _fitting.nowhere(track, t, claims[0].bound, e / 29, *texts)
    return Report(
        name="boursier2022.lemma11",
        hypotheses=[
            *hypotheses(const),
            _fitting.not_vacuous(track, minus, e / 29, "lambda^{eps/29} < n|D-|"),
            _scale.small_enough(const, _scale.PHASE_3),
            Claim("log(1/lambda) for the step from t_u on, by the logistic law", const.ell, ">=", enough),
        ],
        claims=claims,
        constants={**const.numbers(), "t_2": t_2, "t_3": t},
        until=claims[0].bound,
        notes=[
            f"Stopping condition of (23) that fired: {fired}.",
            f"By the logistic law t_3 - t_u = (eps ell/29 + log(6 n|D-|))/(2|D-|): its bound needs log(1/lambda) >= "
            f"{enough:.4g}.",
        ],
    )
