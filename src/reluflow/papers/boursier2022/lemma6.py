"""Lemma 6 of [BPF22]: a neuron that is off on a datum stays off, and that coordinate never moves again."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import data_hypotheses
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"


def check(sol) -> Report:
    r"""Claim: $\langle w_j^t, x_k\rangle < 0$ implies $\langle w_j^{t'}, x_k\rangle = \langle w_j^t, x_k\rangle$ for
    $t' \ge t$.

    By (11) such a coordinate has derivative 0. Counted: pairs whose sign turns from negative to positive between
    frames. Measured: how far the coordinates that start negative move, over $|w_j^t||x_k|$. Slack: a direction is
    good to 100 rtol.
    """
    track = run_of(sol)
    const, state = track.const, track.frames
    nu = np.sqrt(const.nu2)
    unit = np.einsum("fjd,kd->fjk", state.W, const.data.x) / nu
    start = unit[0] * np.exp(state.rho[0] - state.rho)[..., None]
    off = unit[0] < 0
    moved = np.where(off, np.abs(unit - start), 0.0)
    f, j, k = np.unravel_index(int(np.argmax(moved)), moved.shape)
    active = unit > track.tol
    on = np.argwhere(active[1:] & ~active[:-1] & (unit[:-1] < -track.tol))
    first = _where(state.t[on[0][0] + 1], *on[0][1:]) if len(on) else None
    return Report(
        name="boursier2022.lemma6",
        hypotheses=data_hypotheses(const)[:1] + [Claim("ReLU, slope", sol.problem.activation.slope, "<=", 0.0)],
        claims=[
            Claim("coordinates that turn from negative to positive", len(on), "<=", 0, at=first),
            Claim(
                f"motion of the {int(np.sum(off))} coordinates that start negative",
                moved[f, j, k],
                "<=",
                0.0,
                slack=track.tol,
                at=_where(state.t[f], j, k),
            ),
        ],
        notes=[
            "A coordinate at exactly 0 may legally leave again; the run takes the solution in which it stays (2.2)."
        ],
    )


def _where(t, neuron, datum) -> str:
    return f"neuron {neuron}, datum {datum}, t = {t:.6g}"
