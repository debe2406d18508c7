"""Section 3.2 of [BPF22]: at larger lambda there is no saddle between, and the norm still ends near the least."""

import numpy as np

from reluflow import observe
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol, slowest: float = 0.1, excess: float = 0.5) -> Report:
    r"""Claim: for larger lambda, "still in the mean field regime", the flow "empirically seems to also converge towards
    a minimal norm interpolator" and "there is no intermediate saddle in the trajectory".

    Measured: the least $-L'/L$ (the Polyak-Lojasiewicz ratio) while the loss falls from 90% to 1%, over $|D_-|$. It is
    that of a saddle only as $\lambda \to 0$: when the first class is fitted the sets of the other have grown to
    $\lambda^{2(1-1/r)}$, $r = |D_+|/|D_-|$, up to a constant, and the ratio is of that order. And the excess of
    $|\theta|^2$ over the least, beyond $|\theta(0)|^2$ (neurons that see no datum keep what they start with), against
    `excess` times that of a neuron for each datum, $2\sum|y_k|/|x_k|$: nearer to the least than to that. The paper
    names no constants: `slowest` and `excess` are ours, so the verdicts are never more than "constant fitted".
    "Larger": the wait at the saddle, $\ell(1/|D_-| - 1/|D_+|)$, is at most twice the time $2/|D_-|$ a fit takes; "mean
    field": $\lambda\sqrt m < 1$.
    """
    track = run_of(sol)
    const = track.const
    gone = track.log_loss - track.log_loss[0]
    inside = (gone < np.log(0.9)) & (gone > np.log(0.01))
    t = sol.t[inside]
    rate, when = np.nan, None
    if len(t):
        t = np.unique(np.r_[t, np.linspace(t[0], t[-1], 65)])
        ratio = observe.pl_ratio(track.witness(t)).values / const.minus.rate
        rate, when = float(np.min(ratio)), float(t[int(np.argmin(ratio))])
    states = (track.at(0.0), track.at(track.end))
    start, end = (float(np.sum(np.exp(2 * s.rho[0])) + np.sum(np.exp(2 * s.log_a[0]))) for s in states)
    loss = float(np.exp(track.log_loss[-1] - track.log_loss[0]))
    spread = 2 * float(np.sum(np.abs(const.y) / np.sqrt(const.nu2)))
    wait = const.ell * (1 - 1 / const.r) / 2
    return Report(
        name="boursier2022.larger_scale",
        hypotheses=[
            *hypotheses(const),
            Claim("larger lambda: wait at the saddle over the time of a fit, ell (1 - 1/r) / 2", wait, "<=", 2.0),
            Claim("mean field: log(lambda sqrt(m))", 0.5 * np.log(const.m) - const.ell, "<", 0.0),
        ],
        claims=[
            Claim("loss at the end over the first", loss, "<=", track.tol**2, kind="limit", missing=track.unfit),
            Claim(
                "least -L'/L between the fits, over |D-| lambda^{2 (1 - 1/r)}",
                rate * np.exp(4 * wait),
                ">=",
                slowest,
                kind="fitted",
                at=when,
                missing=track.unfit,
            ),
            Claim(
                "excess of |theta|^2 over the least beyond that of the start, relative",
                (end - start) / const.min_norm - 1,
                "<=",
                excess * (spread / const.min_norm - 1),
                kind="fitted",
                missing=track.unfit,
            ),
        ],
        until=track.fitted,
        constants={
            **const.numbers(),
            "lambda sqrt(m)": float(np.exp(-const.ell)) * np.sqrt(const.m),
            "least -L'/L between the fits over |D-|": rate,
        },
    )
