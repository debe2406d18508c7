"""Lemma 13 of [BPF22]: where clusters are aligned, large enough and alone, the loss is small."""

import numpy as np

from reluflow.claim import Claim, Report
from reluflow.papers.boursier2022 import _scale
from reluflow.papers.boursier2022._constants import Constants, hypotheses
from reluflow.papers.boursier2022._track import log, small
from reluflow.papers.boursier2022._track import track as run_of
from reluflow.papers.boursier2022.lemma12 import latest

needs = "flow"
forms = ("corrected", "printed")
LOSS = "L(theta^{t_3}), 2 lambda^{eps'/2} (printed: without the 2)"


def check(sol, form="corrected", samples: int = 300, seed: int = 0, epsilon=None) -> Report:
    r"""Claim: with $\varepsilon' = \varepsilon/30$, if (ii) $|w_j| \le \lambda^{\varepsilon'}$ off the two sets, (iii)
    $|u_\pm/n - |D_\pm|| \le \lambda^{\varepsilon'}$, (iv) $|\langle W_j, \pm D_\pm\rangle - |D_\pm|| \le
    \lambda^{\varepsilon'}$ on them, then $L \le 2\lambda^{\varepsilon'/2}$ (the last line of the proof gives no less
    than the 2, which is not printed), for lambda small enough; measured at
    $\theta^{t_3}$, whose (ii)-(iv) are hypotheses here. (iv) is printed with $+D_-$ (E6), which no such network meets.
    Without "small enough", for every network with (i)-(iv):

    $|h(x_k) - y_k| \le \frac{\lambda'}{|D|}|y_k| + \sum_\pm n(|D_\pm| + \lambda')\sqrt{2\lambda'/|D_\pm|} +
    m\lambda'^2$, $\lambda' = \lambda^{\varepsilon'}$

    (the print forgets that neurons of the other set may be active: one term of the sum). It is tried on `samples`
    random networks at the edge of (i)-(iv). Slack: rounding of the outputs over the bound.
    """
    track = run_of(sol, epsilon)
    const = track.const
    p = const.epsilon / 30
    t, fired = track.t_3
    extra, claims = [], []
    if np.isfinite(t):
        state = track.at(t)
        extra.append(small("(ii) others, lambda^{eps'}", track.largest(state, const.others)[0], const.power(p)))
        for name, S, cls in (("+", const.S_plus, const.plus), ("-", const.S_minus, const.minus)):
            gap = abs(float(track.u(state, S)[0]) - cls.u) / const.N
            turned = -1.0 if form == "printed" and name == "-" else 1.0
            apart = float(np.max(np.abs(turned * state.W[0, S] @ cls.aim - 1.0), initial=0.0)) * cls.size
            extra += [
                small(f"(iii) |u{name}/n - |D{name}||, lambda^{{eps'}}", log(gap), const.power(p), track.tol),
                small(f"(iv) misalignment of S{name}, lambda^{{eps'}}", log(apart), const.power(p), track.tol),
            ]
        loss = sum(track.class_loss(state, c)[0] for c in (const.plus, const.minus))
        factor = 0.0 if form == "printed" else np.log(2.0)
        claims.append(small(LOSS, log(loss), factor + const.power(p / 2), track.tol))
    else:
        missing = track.ends_before(latest(const), "the latest t_3") if np.isinf(t) else ""
        claims.append(Claim(LOSS, np.nan, "<=", 0.0, missing=missing))
    ratio, pull, rounding = _sampled(const, samples, seed)
    text = "residual over its bound on sampled networks, worst"
    claims.append(Claim(text, ratio, "<=", 1.0, slack=rounding, at=pull))
    return Report(
        name="boursier2022.lemma13",
        hypotheses=[*hypotheses(const), *extra, _scale.small_enough(const, _scale.FINAL)],
        claims=claims,
        constants={**const.numbers(), "eps'": p, "t_3": t},
        until=latest(const),
        form=form,
        notes=[f"Stopping condition of (23) that fired: {fired}."],
    )


def _sampled(const: Constants, samples: int, seed: int) -> tuple[float, int, float]:
    """Random networks with (i)-(iv), chords and norms at their limits: the worst |h - y| over the explicit bound, which
    network, and what rounding m products of d terms does to that ratio."""
    rng = np.random.default_rng([seed, 3])
    small_ = np.exp(const.power(const.epsilon / 30))
    nu = np.sqrt(const.nu2)
    cross = sum((c.u + const.N * small_) * np.sqrt(2 * small_ / c.size) for c in (const.plus, const.minus))
    stray = const.m * small_**2
    worst, where, slack = 0.0, 0, 0.0
    for k in range(samples):
        w = np.zeros((const.m, const.data.d))
        for S, cls in ((const.S_plus, const.plus), (const.S_minus, const.minus)):
            short = min(small_ / cls.size * rng.random(), 2.0)  # 1 - cos, which may lie below rounding
            side = rng.normal(size=(len(S), const.data.d))
            side -= np.outer(side @ cls.aim, cls.aim)
            side /= np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-300)
            share = rng.dirichlet(np.ones(len(S))) if len(S) else np.zeros(0)
            u = max(cls.u + const.N * small_ * rng.choice([-1.0, 1.0]), 0.0)
            w[S] = np.sqrt(share * u)[:, None] * ((1.0 - short) * cls.aim + np.sqrt(short * (2.0 - short)) * side)
        free = rng.normal(size=(len(const.others), const.data.d))
        w[const.others] = small_ * free / np.linalg.norm(free, axis=1, keepdims=True)
        a = const.flip * const.sign * np.linalg.norm(w, axis=1)
        residual = np.abs(np.maximum(w @ const.data.x.T, 0.0).T @ a - const.data.y)
        size = np.where(const.plus.members, const.plus.u, const.minus.u) / const.N
        bound = small_ / size * np.abs(const.y) + nu * (cross + stray)
        ratio = float(np.max(residual / bound))
        if ratio > worst:
            largest = float(np.sum(np.abs(a) * np.linalg.norm(w, axis=1))) * float(np.max(nu))
            rounding = 2.3e-16 * (const.m + const.data.d) * max(largest, float(np.max(np.abs(const.y))))
            worst, where, slack = ratio, k, rounding / float(np.min(bound))
    return worst, where, slack
