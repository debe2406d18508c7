"""Theorem 1 of [BPF22]: zero loss, and in the limit of vanishing lambda the interpolator of least norm."""

from dataclasses import replace

import numpy as np

from reluflow import observe
from reluflow._early import at_scale
from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022._constants import Constants, hypotheses
from reluflow.papers.boursier2022._track import track as run_of
from reluflow.solve import solve

needs = "flow"


def check(sol, deeper: tuple[float, ...] | None = None) -> Report:
    r"""Claim: $\theta^t \to \theta^\infty_\lambda$ with $L = 0$, and $\lim_{\lambda\to0}\theta^\infty_\lambda =
    \theta^* \in \arg\min_{L=0}|\theta|^2$.

    Two limits, so nothing "holds". In time: the last loss, and what can still be moved, $2\sqrt{L/\kappa}$ with
    $\kappa$ the Polyak-Lojasiewicz ratio there. In lambda: the distance $|\theta^\infty - \theta^*|$ and the norm
    excess at this lambda and at lambda^`deeper` (2 and 3, or less where strays would sink below the accuracy of a run),
    whose slopes in log lambda are to be positive, $1-\rho_{max}$ and
    $2(1-\rho_{max})$ by 4.5 with $\rho_{max}$ the rate of the fastest stray neuron over that of its class. A loss below
    (100 rtol)^2 and a distance below 100 rtol are rounding, and are left out of the slopes. lambda* has no value that
    can be computed: in its place $\lambda^{1-\rho_{max}} \le 1/2$ is asked, so that the distance at $\lambda^3$ is a
    quarter of that here.
    """
    track = run_of(sol)
    const = track.const
    loss0 = float(np.exp(track.log_loss[0]))
    ratio = float(observe.pl_ratio(track.witness(track.end)).values[0])
    left = 2.0 * float(np.exp(0.5 * track.log_loss[-1])) / np.sqrt(ratio) if ratio > 0 else np.inf
    floor = track.tol**2 * max(1.0, loss0)
    ells, apart, excess = [], [], []
    for factor in (1.0, *(deeper or _deeper(track))):
        run = track if factor == 1.0 else run_of(solve(at_scale(sol.problem, -factor * const.ell), sol.method))
        state = run.at(run.end)
        ells.append(run.const.ell)
        apart.append(float(run.distance(state, run.const.theta())[0]))
        total = np.sum(np.exp(2 * state.rho[0])) + np.sum(np.exp(2 * state.log_a[0]))
        excess.append(float(total) - const.min_norm)
    gap, who = stray_exponent(const)
    limit_note = ", ".join(f"{d:.3g} at 1e-{ell / np.log(10):.0f}" for d, ell in zip(apart, ells, strict=True))
    excess_note = ", ".join(f"{d:.3g} at 1e-{ell / np.log(10):.0f}" for d, ell in zip(excess, ells, strict=True))
    if max(apart) <= track.tol:
        limit_note += f"; all below the accuracy of the runs, {track.tol:.3g}"
    if max(np.abs(excess)) <= track.tol * const.min_norm:
        excess_note += f"; all below the accuracy of the runs, {track.tol * const.min_norm:.3g}"
    claims = [
        Claim("loss at the end over the first", np.exp(track.log_loss[-1]) / loss0, "<=", floor / loss0, kind="limit"),
        Claim("how far the flow can still go, 2 sqrt(L/ratio)", left, "<=", track.tol * 10, kind="limit"),
        Claim(
            "|theta - theta*| falls with lambda, to less than half",
            apart[-1],
            "<=",
            max(0.5 * apart[0], track.tol),
            kind="limit",
            note=limit_note,
        ),
        *([] if who is None else [_rate(const, ells, apart, track.tol, gap, who)]),
        Claim(
            "|theta|^2 above the least of an interpolator",
            min(excess),
            ">=",
            0.0,
            slack=track.tol * const.min_norm,
            kind="limit",
            note=excess_note,
        ),
        Claim(
            "|theta|^2 falls to the least of an interpolator, to less than half",
            abs(excess[-1]),
            "<=",
            max(0.5 * abs(excess[0]), track.tol * const.min_norm),
            kind="limit",
            note=excess_note,
        ),
    ]
    claims = [replace(c, missing=track.unfit) for c in claims]
    return Report(
        name="boursier2022.theorem1",
        hypotheses=[
            *hypotheses(const),
            Claim(
                "lambda is small: stray neurons, lambda^{1 - rho_max}",
                -gap * const.ell,
                "<=",
                float(np.log(0.5)),
                log=True,
            ),
        ],
        claims=claims,
        until=track.fitted,
        constants={**const.numbers(), "1 - rho_max": gap, "min norm": const.min_norm},
    )


def _deeper(track) -> tuple[float, float]:
    """Powers of lambda at which the distance to theta* can still be told from the error of a run."""
    const = track.const
    gap, who = stray_exponent(const)
    if who is None:
        return 2.0, 3.0
    apart = float(track.distance(track.at(track.end), const.theta())[0])
    room = np.log(max(apart / (20.0 * track.tol), 1.0)) / (gap * const.ell)
    most = float(np.clip(1.0 + room, 1.1, 3.0))
    return 0.5 * (1.0 + most), most


def _rate(const: Constants, ells, apart, tol: float, gap: float, who: int) -> Claim:
    """Against the slope of the stray neurons' norm by 4.5, which tends to 1 - rho_max. Slack: a relative
    lambda^{2 gap}, taken ten times, and tol over the distance, spread over the log lambda between."""
    limit, rest = const.limit, const.others
    logs = [limit.log_factor[rest] - limit.exponent[rest] * ell for ell in ells]
    predicted = [
        float(np.sqrt(2 * np.sum(np.exp(2 * v)))) if d > tol else 0.0 for v, d in zip(logs, apart, strict=True)
    ]
    seen = [d for d in apart if d > tol]
    slack = (10 * float(np.exp(-2 * gap * ells[0])) + 2 * tol / min(seen, default=1.0)) / (ells[1] - ells[0])
    text = "slope of log|theta - theta*| in log lambda"
    note = f"1 - rho_max = {gap:.6g}, stray neuron {who}"
    return Claim(text, slope(ells, apart, tol), "=", slope(ells, predicted, 0.0), slack=slack, kind="limit", note=note)


def stray_exponent(const: Constants) -> tuple[float, int | None]:
    """1 - rho_max over neurons that vanish with lambda but grow, and which attains it; 1 without any (4.5)."""
    limit = const.limit
    stray = np.setdiff1d(limit.stray, np.r_[const.S_plus, const.S_minus])
    if not len(stray):
        return 1.0, None
    k = int(stray[np.argmin(limit.exponent[stray])])
    return float(limit.exponent[k]), k


def slope(ells, values, floor: float) -> float:
    """-d log(value) / d ell over the two smallest lambdas whose values are above rounding; nan with fewer than two."""
    good = [(e, v) for e, v in zip(ells, values, strict=True) if v > floor]
    if len(good) < 2:
        return float("nan")
    (e0, v0), (e1, v1) = good[-2:]
    return float(-(np.log(v1) - np.log(v0)) / (e1 - e0))
