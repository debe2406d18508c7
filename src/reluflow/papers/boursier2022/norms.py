"""Section 2.1 of [BPF22], "normalised only for convenience": orthogonal inputs of any norms."""

from dataclasses import replace
from functools import partial

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import Class, Constants, hypotheses
from reluflow.papers.boursier2022._track import State, Track, worst
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected", epsilon=None) -> Report:
    r"""Claim: with norms $\nu_k$, clusters align with $D_\pm = \frac1n\sum y_k x_k$ and end on $E_\pm = \sum y_k
    x_k/\nu_k^2$ with $u_\pm = |E_\pm|$, so that $|\theta|^2 \to 2(|E_+| + |E_-|)$. Where a class has several norms the
    cluster turns from D to E while it grows, and overshoots: one effective neuron, $c_k' = |\omega|\nu_k^2(\tilde y_k -
    |\omega|c_k)/n$, tells by how much.

    Printed: "the neurons do not change in direction once they have a non-zero norm", read from a thousandth of the
    final size on, which needs one norm per class (E11). All are limits in lambda: slack is 100 rtol, what the stray
    neurons, as measured at the end, can do to u and to the outputs, and the angle lambda/|w_j| a neuron keeps.
    """
    track = run_of(sol, epsilon)
    const = track.const
    state = track.at(track.end)
    stray = float(track.u(state, const.others)[0])
    total = float(np.sum(np.exp(2 * state.rho[0])) + np.sum(np.exp(2 * state.log_a[0])))
    claims: list[Claim] = []
    for name, S, cls in (("+", const.S_plus, const.plus), ("-", const.S_minus, const.minus)):
        if not len(S):
            claims.append(Claim(f"S{name}", np.nan, "<=", 0.0))
            continue
        mean = _mean(state, S)
        # A neuron keeps what it had off its ray: lambda c against |w_j|.
        kept = float(np.exp(const.power(1.0))) * const.c * np.sqrt(len(S) / cls.u)
        noise = track.tol + stray / cls.u + kept
        if form == "printed":
            young = track.first(partial(_grown, track, S, 1e-3 * cls.u), 0.0)
            turn = float(np.linalg.norm(mean - _mean(track.at(young), S))) if np.isfinite(young) else np.nan
            text = f"turn of S{name} from a thousandth of its size to the end, chord"
            claims.append(Claim(text, turn, "=", 0.0, slack=2 * noise))
            continue
        chord = float(np.linalg.norm(mean - cls.goal))
        claims += [
            Claim(f"S{name} ends on E, chord", chord, "=", 0.0, slack=2 * noise, kind="limit"),
            Claim(
                f"u{name} at the end", float(track.u(state, S)[0]), "=", cls.u, slack=2 * noise * cls.u, kind="limit"
            ),
            _overshoot(track, cls, name, noise),
        ]
    if form == "corrected":
        text = "|theta|^2 at the end, 2(|E+| + |E-|)"
        slack = track.tol * total + 4 * stray
        claims.append(Claim(text, total, "=", const.min_norm, slack=slack, kind="limit"))
    claims = [replace(c, missing=track.unfit) for c in claims]
    turned = [float(c.aim @ c.goal) for c in (const.plus, const.minus)]
    keep = [h for h in hypotheses(const) if not h.text.startswith("one norm")]
    return Report(
        name="boursier2022.norms",
        hypotheses=keep,
        claims=claims,
        constants={**const.numbers(), "cos(D+, E+)": turned[0], "cos(D-, E-)": turned[1]},
        form=form,
        until=track.fitted,
    )


def _mean(state: State, S: np.ndarray) -> np.ndarray:
    """Direction of sum_S |w_j| w_j."""
    total = np.sum(np.exp(2 * (state.rho[0, S] - np.max(state.rho[0, S])))[:, None] * state.W[0, S], axis=0)
    return total / np.linalg.norm(total)


def _grown(track: Track, S: np.ndarray, level: float, state: State) -> np.ndarray:
    return track.u(state, S) - level


def _overshoot(track: Track, cls: Class, name: str, noise: float) -> Claim:
    """max_t h(x_k)/y_k - 1 over the class against the effective neuron's."""
    ratio = track.frames.h[:, cls.members] / track.const.y[cls.members]
    high, when = worst(np.max(ratio, axis=1) - 1.0, track.frames.t)
    near = float(when or 0.0)
    seen = track.during(max(near - 1.0 / cls.size, 0.0), near + 1.0 / cls.size)
    high = max(high, float(np.max(seen.h[:, cls.members] / track.const.y[cls.members])) - 1.0)
    y = np.abs(track.const.y[cls.members]) / np.sqrt(track.const.nu2[cls.members])
    return Claim(
        f"overshoot of h(x_k)/y_k in class {name}",
        max(high, 0.0),
        "=",
        effective_overshoot(track.const, cls),
        slack=noise * cls.u / float(np.min(y)) + 1e-4,
        kind="limit",
        note="slack 1e-4: the peak is read on a grid",
        at=when,
    )


def effective_overshoot(const: Constants, cls: Class) -> float:
    """max h(x_k)/y_k - 1 of one neuron that starts along D, e^-15 small, by an independent integrator."""
    from scipy.integrate import solve_ivp

    nu2, y = const.nu2[cls.members], np.abs(const.y[cls.members])
    if np.ptp(nu2) <= 1e-12 * np.max(nu2):
        return 0.0
    goal = y / np.sqrt(nu2)
    start = np.sqrt(nu2) * y
    start *= np.exp(-15.0) / np.linalg.norm(start)

    def field(_, c):
        size = np.linalg.norm(c)
        return size * nu2 * const.weight * (goal - size * c)

    slow = np.linalg.norm(goal) * np.min(nu2) * const.weight
    run = solve_ivp(
        field,
        (0.0, 20.0 / cls.size + 20.0 / slow),
        start,
        method="DOP853",
        rtol=1e-10,
        atol=1e-14,
        max_step=0.05 / cls.size,
    )
    return max(float(np.max(np.linalg.norm(run.y, axis=0) * run.y / goal[:, None])) - 1.0, 0.0)
