"""Lemma 10 of [BPF22]: Lemma 3 with the steps of its proof, through the moment t_u."""

import numpy as np

from reluflow import observe
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022 import _fitting, _scale
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import log, small, worst
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol, epsilon=None) -> Report:
    r"""Claim: (i) $t_2 \le (1+3\varepsilon)\ell/|D_+|$; (ii) others $< 2c\lambda^\varepsilon$ up to $t_2$; (iii)
    $\langle W_j, D_+\rangle > |D_+| - \lambda^{\varepsilon/2}$ on $S_{+,1}$ on $[t_{+1}, t_2]$. At $t_u$, the first
    moment with $u_+ \ge n|D_+|/7$ or misalignment $\ge 5|D_+|\lambda^\varepsilon$: the first of the two happens, and
    $t_2 - t_u \le \varepsilon\ell/(5|D_+|)$.

    $\rho_j' \le \max((1-\alpha)|D_+|, |D_-|) + 4mc^2\lambda^{2\varepsilon}$ off $S_{+,1}$ is measured by the vector
    field. Slack: a misalignment is good to (100 rtol)^2, a rate to 100 rtol.
    """
    track = run_of(sol, epsilon)
    const, e, plus = track.const, track.const.epsilon, track.const.plus
    t, fired = track.t_2
    claims = [_fitting.end_in_time(track, t, 1 + 3 * e, plus, e / 5, "(i) t_2, (1 + 3 eps) ell / |D+|")]
    if np.isfinite(t):
        past, phase = track.during(0.0, t), track.during(const.t_plus, t)
        rest = np.setdiff1d(np.arange(const.m), const.S_plus)
        rho, at_rho = worst(track.largest(past, rest), past.t)
        apart, at_apart = worst(track.apart(phase, const.S_plus, plus), phase.t)
        t_u, by = track._stop(
            const.t_plus,
            {
                "norm": lambda s: track.u(s, const.S_plus) - plus.u / 7,
                "alignment": lambda s: log(track.apart(s, const.S_plus, plus) / (5 * plus.size)) - const.power(e),
            },
        )
        rates = observe.log_norm_rate(track.witness(past.t)).values[:, rest]
        rate, at_rate = worst(np.max(rates, axis=1, initial=-np.inf), past.t)
        extra = np.exp(np.log(4 * const.m) + 2 * np.log(const.c) + const.power(2 * e)) * np.max(const.nu2)
        bound = max((1 - const.alpha) * plus.size, const.minus.size) + extra
        claims += [
            small(
                "(ii) largest other |w_j| up to t_2", rho, np.log(2 * const.c) + const.power(e), relation="<", at=at_rho
            ),
            small(
                "(iii) misalignment of S_{+,1} in the phase, lambda^{eps/2}",
                log(apart),
                const.power(e / 2),
                track.tol**2 * plus.size,
                relation="<",
                at=at_apart,
            ),
            Claim("growth rate off S_{+,1} up to t_2", rate, "<=", bound, slack=track.tol * plus.size, at=at_rate),
            Claim(
                "at t_u it is u+ that has grown (1) and not the misalignment (0)", float(by == "norm"), "=", 1.0, at=t_u
            ),
            Claim("t_2 - t_u, eps ell / (5 |D+|)", t - t_u, "<=", e * const.ell / (5 * plus.size)),
        ]
    else:
        claims += _fitting.nowhere(track, t, claims[0].bound, e / 5, "(ii)", "(iii)", "rates", "t_u", "t_2 - t_u")
    return Report(
        name="boursier2022.lemma10",
        hypotheses=[
            *hypotheses(const),
            _fitting.not_vacuous(track, plus, e / 5, "lambda^{eps/5} < n|D+|"),
            _scale.small_enough(const, _scale.PHASE_2),
        ],
        claims=claims,
        constants={**const.numbers(), "t_2": t},
        until=claims[0].bound,
        notes=[
            f"Stopping condition of (17) that fired: {fired}.",
            f"By the logistic law t_2 - t_u = (eps ell/5 + log(6 n|D+|))/(2|D+|): its bound needs log(1/lambda) >= "
            f"{max(5 * np.log(6 * plus.u) / e, 0.0):.4g}.",
        ],
    )
