"""Handbook 4.4 and 4.5 for [BPF22]: the limit network, and the stray neurons that separate a run from it."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import track as run_of
from reluflow.papers.boursier2022.theorem1 import stray_exponent

needs = "flow"


def check(sol) -> Report:
    r"""Claim: a neuron whose $P_j$ is a proper part of its class ends at $|w_j| = \lambda A_j e^{|D_{P_j}|t_{s_j}} \sim
    \lambda^{1-\rho_j}$, so that $|\theta^\infty - \theta^*| \sim \lambda^{1-\rho_{max}}$; neurons of $S_{\pm,1}$ end on
    theta*, the rest stays of order lambda.

    Compared with `rf.limit`. Limits in lambda: the next order is relative $\lambda^{2(1-\rho_{max})}$, from the strays
    of the class, and $\lambda^{2\rho_j}$, from the neuron's own alignment, each taken ten times, and 100 rtol (times
    log(1/lambda) for a logarithm).
    """
    track = run_of(sol)
    const, limit = track.const, track.const.limit
    state = track.at(track.end)
    gap, who = stray_exponent(const)
    with np.errstate(invalid="ignore", over="ignore"):
        own = np.exp(-2 * (1.0 - limit.exponent) * const.ell)
    slacks = 10 * (float(np.exp(-2 * gap * const.ell)) + own) + track.tol * max(1.0, const.ell)
    claims = []
    with np.errstate(invalid="ignore"):
        error = np.abs(state.rho[0] - (limit.log_factor - limit.exponent * const.ell))
    grown = limit.stray
    if len(grown):
        j = int(grown[np.argmax(error[grown] - slacks[grown])])
        text = f"log|w_j| of {len(grown)} stray neurons, worst difference"
        claims.append(Claim(text, error[j], "=", 0.0, slack=slacks[j], kind="limit", at=j, missing=track.unfit))
    apart = float(track.distance(state, const.theta())[0])
    left = limit.log_factor[const.others] - limit.exponent[const.others] * const.ell
    predicted = float(np.sqrt(2 * np.sum(np.exp(2 * left)))) if len(left) else 0.0
    text = "|theta - theta*| against the stray neurons' norm"
    # The clusters give up as much norm as the strays take, second order in their size, and keep lambda off their rays.
    kept = float(np.exp(const.power(1.0))) * const.c * np.sqrt(2 * const.m)
    bound = predicted * (1 + 10 * predicted) + kept + 10 * track.tol
    claims.append(Claim(text, apart, "<=", bound, kind="limit", missing=track.unfit))
    return Report(
        name="boursier2022.limit_network",
        hypotheses=hypotheses(const),
        claims=claims,
        until=track.fitted,
        constants={**const.numbers(), "1 - rho_max": gap, "stray neuron": float(who if who is not None else -1)},
    )
