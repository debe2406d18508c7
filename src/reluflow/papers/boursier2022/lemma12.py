"""Lemma 12 of [BPF22]: at t_3 the network is near a minimum-norm interpolator that lambda has no part in."""

import numpy as np

from reluflow._early import at_scale
from reluflow.claim import Claim, Report
from reluflow.methods import Flow
from reluflow.papers.boursier2022 import _fitting, _scale
from reluflow.papers.boursier2022._constants import EPS, Constants, hypotheses
from reluflow.papers.boursier2022._landscape import loss_and_gradient
from reluflow.papers.boursier2022._track import Track, log, small
from reluflow.papers.boursier2022._track import track as run_of
from reluflow.solve import solve

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected", epsilon=None) -> Report:
    r"""Claim: $|\theta^{t_3} - \theta^*| \le \lambda^{\varepsilon/31}$ with $\theta^* \in \arg\min_{L=0}|\theta|^2$
    given by the draw and the data: $w_j^* = \sqrt{n|D_+|} A_j (\sum A_i^2)^{-1/2} D_+/|D_+|$ on $S_{+,1}$. On the way
    (i)-(v) at $t_3$, and with $\tilde\rho$ the flow with residuals frozen at y from $\tilde\rho^0 = \ln|g_j|$:
    $|\tilde\rho_j^{t_{+1}} - \rho_j^{t_{+1}} + \ln\lambda| \le
    \frac{8mc^2\varepsilon\ell}{|D_+|}\lambda^{2-2(1+\sqrt2)\varepsilon}$ (printed with $-\ln\lambda$, E6).

    Slack: weights and logarithms of norms are good to 100 rtol, the latter also to a rounding of themselves. The
    exponent 1/31 leaves room for what (iv) makes of the distance, $\lambda^{\varepsilon/29}/\sqrt{2u_-}$ (both layers,
    $|\sqrt u - \sqrt{u_-}| \approx |u - u_-|/(2\sqrt{u_-})$), only if that is at most $\lambda^{\varepsilon/31}/2$:
    condition C16. The paper leaves its constant open; that one half is for (iv) and the other for the terms of higher
    order is ours.
    """
    track = run_of(sol, epsilon)
    const, e = track.const, track.const.epsilon
    theta = const.theta()
    loss, _ = loss_and_gradient(const, *theta)
    norm = float(np.sum(theta[0] ** 2) + np.sum(theta[1] ** 2))
    rounding = const.m * const.n * const.data.d * EPS
    t, fired = track.t_3
    spare = 0.5 * np.log(const.minus.u / 2)
    claims = [
        Claim("L(theta*)", loss, "=", 0.0, slack=rounding**2 * float(np.max(const.y**2))),
        Claim("|theta*|^2 against the least of an interpolator", norm, "=", const.min_norm, slack=rounding * norm),
    ]
    if np.isfinite(t):
        state = track.at(t)
        chord = [
            float(np.max(np.linalg.norm(state.W[0, S] - cls.aim, axis=1), initial=0.0))
            for S, cls in ((const.S_plus, const.plus), (const.S_minus, const.minus))
        ]
        gap = [
            abs(float(track.u(state, S)[0]) - cls.u)
            for S, cls in ((const.S_plus, const.plus), (const.S_minus, const.minus))
        ]
        tol = track.tol
        claims += [
            small(
                "|theta^{t_3} - theta*|, lambda^{eps/31}",
                log(track.distance(state, theta)[0]),
                const.power(e / 31),
                tol,
            ),
            small("(i) |W_j - D+/|D+|| on S_{+,1}, lambda^{eps/15}", log(chord[0]), const.power(e / 15), tol),
            small("(ii) |u+ - n|D+||, lambda^{eps/15}", log(gap[0]), const.power(e / 15), tol),
            small(
                "(iii) |W_j + D-/|D-|| on S_{-,1}",
                log(chord[1]),
                0.5 * np.log(2 / const.minus.size) + const.power(e / 28),
                tol,
            ),
            small("(iv) |u- - n|D-||, lambda^{eps/29}", log(gap[1]), const.power(e / 29), tol),
            small(
                "(v) largest other |w_j|, 3 c lambda^eps",
                track.largest(state, const.others)[0],
                np.log(3 * const.c) + const.power(e),
            ),
        ]
    else:
        texts = ("|theta^{t_3} - theta*|", "(i)", "(ii)", "(iii)", "(iv)", "(v)")
        claims += _fitting.nowhere(track, t, latest(const), e / 29, *texts)
    claims.append(_frozen(track, form))
    return Report(
        name="boursier2022.lemma12",
        hypotheses=[
            *hypotheses(const),
            _scale.small_enough(const, _scale.PHASE_3),
            small(
                "C16, with a constant of ours: lambda^{eps/29 - eps/31}, sqrt(2 u_-)/2",
                const.power(e / 29 - e / 31),
                spare,
            ),
        ],
        claims=claims,
        constants={**const.numbers(), "t_3": t},
        form=form,
        until=latest(const),
        notes=[f"Stopping condition of (23) that fired: {fired}."],
    )


def latest(const: Constants) -> float:
    """The bound of Lemma 4 on t_3, (1 + 3 r eps) ell/|D-|."""
    return (1 + 3 * const.r * const.epsilon) * const.ell / const.minus.size if const.ell > 0 else 0.0


def _frozen(track: Track, form: str) -> Claim:
    """rho~ is the same flow at e^-20000, where residuals are y to every digit."""
    const = track.const
    text = f"|rho~ - rho {'-' if form == 'printed' else '+'} log lambda| on S_{{+,1}} at t_{{+1}}"
    t, e = const.t_plus, const.epsilon
    if not 0 < t <= track.end:
        return Claim(text, np.nan, "<=", 0.0, missing=track.ends_before(t, "t_{+1}"))
    deep = -2e4
    twin = solve(at_scale(track.sol.problem, deep), Flow(rtol=track.tol / 100), t1=t)
    there = twin.log_norm[-1][const.S_plus] - deep
    here = track.at(t).rho[0, const.S_plus]
    sign = 1.0 if form == "printed" else -1.0
    apart = float(np.max(np.abs(there - here + sign * const.ell), initial=0.0))
    bound = np.log(8 * const.m * const.c**2 * e * const.ell / const.plus.size) + const.power(
        2 - 2 * (1 + np.sqrt(2)) * e
    )
    return small(text, log(apart), bound, 2 * track.tol + 4 * EPS * (const.ell - deep))
