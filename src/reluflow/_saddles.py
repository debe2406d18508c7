r"""Saddle-to-saddle dynamics as the scale vanishes: by formula for orthogonal inputs, otherwise from the flow.

Orthogonal inputs, square loss [orthogonal_square_loss, 2.9 and 4.2-4.6]. With ell = log(1/scale), P_j the data on which
neuron j ends its early phase, R the labels not fitted yet and log|w_j| = a0_j + a1_j ell + rate_j t:

    rate_j = |D_{P_j & R}|,  D_S = (weight) sum_S y_k x_k
    next to arrive is the j with the least -a1_j / rate_j, and it fits G = P_j & R
    its neurons end on E_G = sum_G y_k x_k / |x_k|^2 with sum |w_j|^2 = |E_G|, divided in proportion to A_j^2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow import _text
from reluflow._early import Early, at_scale
from reluflow.data.core import Data
from reluflow.init import Params
from reluflow.methods import Flow
from reluflow.outcome import Outcome
from reluflow.problem import Problem
from reluflow.solution import Solution
from reluflow.solve import Save, solve

TIE = 1e-9  # relative difference of arrival times that counts as none
MIDWAY = float(np.log((1 - np.sqrt(0.5)) / np.sqrt(0.5)))  # 2 rate times (loss midway minus outputs half), 4.3
FLAT = 1e-7  # of the first loss: less than this does not count as motion
LONG = 2e-3  # of ell over the fastest rate: the least stay that may be a saddle's


@dataclass(frozen=True)
class Saddle:
    """A saddle and how it is left, at the time slope * ell + offset, ell = log(1/scale).

    That is when the loss is midway between this saddle's and the next one's (or the limit's); `offset` is None where
    it is not known. `neurons` are those that grow to order 1 then, `data` the labels they fit (None where the flow
    was followed), `rate` their growth rate.
    """

    loss: float
    slope: float
    offset: float | None
    neurons: tuple[int, ...]
    data: tuple[int, ...] | None = None
    rate: float | None = None
    even: bool = False  # whether the inputs fitted have one norm, so that outputs follow the logistic curve

    def exit(self, ell: float) -> float:
        """When it is left, for ell = log(1/scale)."""
        return self.slope * ell + (self.offset or 0.0)

    def half(self, ell: float) -> float | None:
        """When the outputs on `data` are half their labels [4.3]; None where that has no formula."""
        if self.offset is None or self.rate is None or not self.even:
            return None
        return self.exit(ell) - MIDWAY / (2.0 * self.rate)


@dataclass(frozen=True)
class Course:
    """The dynamics after the early phase. `exponent`, `log_factor`: |w_j| ends as e^log_factor scale^exponent."""

    saddles: tuple[Saddle, ...]
    params: Params
    loss: float
    exponent: np.ndarray
    log_factor: np.ndarray
    notes: tuple[str, ...]
    determined: bool


def orthogonal_inputs(problem: Problem) -> bool:
    """Whether 4.1-4.6 apply: square loss, ReLU, non-zero rows orthogonal to rounding."""
    if problem.loss != "square" or problem.activation.slope != 0.0:
        return False
    x = problem.data.x
    size = np.linalg.norm(x, axis=1)
    unit = x[size > 0] / size[size > 0, None]
    gram = unit @ unit.T
    return bool(np.max(np.abs(gram - np.eye(len(unit))), initial=0.0) < 1e-14 * max(8, x.shape[1]))


def orthogonal_course(problem: Problem, early: Early) -> Course | str:
    """The saddles by formula, or a sentence where a tie leaves them open.

    Between passages log|w_j| = a0_j + a1_j ell + rate_j t. A passage is the fit of a few labels, in a time of
    order 1; its effect on the other neurons is a closed form [4.3, 4.5] or one small run (`passage`).
    """
    x, y, weight = problem.data.x, problem.data.y, problem.weight
    nu2 = np.sum(x**2, axis=1)
    force2 = (weight * y) ** 2 * nu2
    members = (early.bits > 0) & (early.sign[:, None] * y > 0)
    width = len(early.rate)
    left = (y != 0) & (nu2 > 0)
    a0, a1 = early.log_amplitude.copy(), -np.ones(width)
    arrived = np.zeros(width, bool)
    w = np.zeros_like(early.direction)
    loss = 0.5 * weight * float(np.sum(y**2))
    saddles, notes = [], []
    rate = np.sqrt((members & left) @ force2)
    while np.any(rate > 0):
        arrival = np.where(rate > 0, -a1 / np.where(rate > 0, rate, 1.0), np.inf)
        T = float(np.min(arrival))
        leaders = np.flatnonzero(arrival <= T * (1 + TIE))
        fits = np.unique((members & left)[leaders], axis=0)
        shared = np.flatnonzero(np.sum(fits, axis=0) > 1)
        if len(shared):
            return f"groups that share label {shared[0]} arrive together at t = {T:.6g} ell, and sizes decide which"
        if len(fits) > 1:
            notes.append(
                f"{len(fits)} groups without a common label arrive together at t = {T:.6g} ell, in no fixed order."
            )
        for G in fits:
            who = leaders[np.all((members & left)[leaders] == G, axis=1)]
            E = (y * G / np.where(nu2 > 0, nu2, 1.0)) @ x
            u, r, log_size = (
                float(np.linalg.norm(E)),
                float(rate[who[0]]),
                0.5 * float(np.logaddexp.reduce(2.0 * a0[who])),
            )
            touched = np.flatnonzero(np.any(members & G, axis=1) & ~arrived)
            touched = np.setdiff1d(touched, who)
            patterns, which = np.unique((members & left)[touched], axis=0, return_inverse=True)
            even = np.ptp(nu2[G]) <= 1e-12 * np.max(nu2[G])
            if even and not np.any(patterns & ~G):
                # u(t) is logistic, and a stray neuron stops at the size it would have at the half-time.
                midway = (0.5 * np.log(u) + MIDWAY / 2.0) / r
                gain, after = 0.5 * np.log(u) / r * rate[touched], members
            else:
                midway, gains, kept = passage(nu2, y, weight, left, G, patterns)
                gain, after = gains[which.ravel()], members.copy()
                after[touched] &= kept[which.ravel()] | ~left
            saddles.append(
                Saddle(
                    loss,
                    T,
                    midway - log_size / r,
                    tuple(who.tolist()),
                    tuple(np.flatnonzero(G).tolist()),
                    r,
                    bool(even),
                )
            )
            loss -= 0.5 * weight * float(np.sum(y[G] ** 2))
            share = np.sqrt(u) * np.exp(a0[who] - log_size)
            w[who] = (early.sign[who] * share)[:, None] * E / u
            arrived[who] = True
            members, left = after, left & ~G
            new = np.sqrt((members & left) @ force2)
            # t = -(a0 + a1 ell) / rate of the group is the moment from which `passage` counts.
            a0[touched] += gain - (rate[touched] - new[touched]) * log_size / r
            a1[touched] += (rate[touched] - new[touched]) * T
            a0[who], a1[who] = np.log(share), 0.0
            rate = new
    rest = np.flatnonzero(left)
    loss = 0.5 * weight * float(np.sum(y[(y != 0) & ((nu2 == 0) | left)] ** 2))
    if len(rest):
        labels = _text.listed(rest)
        notes.append(f"No neuron of the right sign is active on label {labels}: it is never fitted and its loss stays.")
    params = Params(w, early.sign * np.linalg.norm(w, axis=1))
    return Course(tuple(saddles), params, loss, 0.0 - a1, a0, tuple(notes), True)


def passage(
    nu2: np.ndarray, y: np.ndarray, weight: float, left: np.ndarray, G: np.ndarray, patterns: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """One effective neuron e^{|D_G| t} D_G fits the labels G; negligible ones, e^{rate t} along D of `patterns`, follow
    passively.

    Returns when the loss is midway, what the passive neurons gain (log sizes are straight lines before and after: the
    second minus the first at t = 0), and the labels they keep."""
    seen = left & (y * y[np.argmax(G)] > 0)
    nu, labels, s = np.sqrt(nu2[seen]), y[seen], float(np.sign(y[np.argmax(G)]))
    rows = np.vstack([G, patterns])[:, seen]
    pull = rows * s * labels * nu
    d = np.linalg.norm(pull, axis=1)
    # Inactive coordinates are slightly negative, so that no neuron starts on a surface.
    w = np.where(rows, pull / d[:, None], -1e-9)
    log_scale = np.r_[-40.0, np.full(len(patterns), -400.0)]
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    small = Problem(Data(np.diag(nu), labels), Params(w, np.full(len(w), s), log_scale=log_scale), reduction="sum")
    fitted = rows[0]
    settle = 60.0 / (np.linalg.norm(labels[fitted] / nu[fitted]) * np.min(nu[fitted] ** 2)) + 60.0 / d[0]
    t1 = float(40.0 / d[0] + settle)
    sol = solve(small, Flow(rtol=1e-12), t1=t1)
    level = 0.5 * float(np.sum(labels**2)) - 0.25 * float(np.sum(labels[fitted] ** 2))
    midway = crossing(sol, level, 0, len(sol.t) - 1) - 40.0 / d[0]
    kept = np.zeros((len(patterns), len(y)), bool)
    kept[:, seen] = rows[1:] & (sol.bits_at(t1)[1:] > 0.5)
    pull = (kept & ~G)[:, seen] * s * labels * nu
    new = np.linalg.norm(pull, axis=1)
    end = sol.final.w[1:] / np.linalg.norm(sol.final.w[1:], axis=1, keepdims=True)
    cosine = np.where(new > 0, np.sum(end * pull, axis=1) / np.where(new > 0, new, 1.0), 1.0)
    grown = sol.log_norm[-1][1:] + 400.0 + np.log1p(cosine) - np.log(2.0)
    gains = grown - d[1:] * 40.0 / d[0] - new * (t1 - 40.0 / d[0])
    return midway / weight, gains, kept


def crossing(sol: Solution, level: float, lo: int, hi: int) -> float:
    """When the loss falls below `level`, between two frames."""
    i = lo + int(np.argmax(sol.loss[lo : hi + 1] < level))
    a, b = sol.t[i - 1], sol.t[i]
    for _ in range(4):
        cuts = np.linspace(a, b, 33)
        i = int(np.clip(np.argmax(sol.loss_at(cuts) < level), 1, 32))
        a, b = cuts[i - 1], cuts[i]
    return float(0.5 * (a + b))


def followed_course(problem: Problem, early: Early, log_scales: np.ndarray, rtol: float) -> Course:
    """The saddles of the flow at two very small scales, and whether the two agree."""
    ells = -np.asarray(log_scales, float)
    top = float(np.max(early.rate, initial=0.0))
    runs = [_Run(problem, ell, rtol, top) for ell in ells]
    a, b = runs
    notes, same = [], True
    for run in runs:
        if run.sol.outcome is not Outcome.STATIONARY:
            same = False
            notes.append(f"At log scale {-run.ell:g} the flow did not reach its end: {run.sol.outcome.value}")
        if run.sol.stats.non_unique:
            same = False
            notes.append(
                f"At log scale {-run.ell:g} {run.sol.stats.non_unique} events have more than one continuation."
            )
    # Plateaus whose length does not grow with ell are not saddles.
    count = min(len(a.stays), len(b.stays))
    # The first frame of a stay may still be arriving.
    losses = [[float(np.median(run.loss[lo : hi + 1])) for lo, hi in run.stays] for run in runs]
    first = float(a.loss[0])
    agree = next((k for k in range(count) if abs(losses[0][k] - losses[1][k]) > 1e-6 * first), count)
    if agree < max(len(a.stays), len(b.stays)):
        same = False
        notes.append(f"The two scales agree on the first {agree} saddles only; what follows is not determined.")
    saddles = []
    for k in range(agree):
        t = np.array([run.exit(k) for run in runs])
        who = [run.grew(k) for run in runs]
        if who[0] != who[1]:
            same = False
            notes.append(f"Different neurons leave saddle {k} at the two scales.")
        slope = float((t[1] - t[0]) / (ells[1] - ells[0]))
        saddles.append(Saddle(losses[1][k], slope, float(t[1] - slope * ells[1]), tuple(who[1])))
    if saddles and top > 0 and abs(saddles[0].slope * top - 1.0) > 1e-3:
        same = False
        notes.append(f"The first exit is at {saddles[0].slope:.6g} ell, the early phase predicts {1 / top:.6g} ell.")
    norms = np.stack([run.sol.log_norm[-1] for run in runs])
    exponent = -(norms[1] - norms[0]) / (ells[1] - ells[0])
    # A neuron that stays of order 1 has exponent 0 up to the error of the runs.
    exponent = np.where(np.abs(exponent) < 1e-3, 0.0, exponent)
    large = exponent == 0.0
    ends = [run.network(large) for run in runs]
    gap = float(np.max(np.abs(ends[0] - ends[1]), initial=0.0))
    if gap > 1e-4 * max(1.0, float(np.max(np.abs(ends[1]), initial=0.0))):
        same = False
        notes.append(f"The final weights differ by {gap:.2g} between the two scales, and so does the limit network.")
    notes.insert(0, f"Computed from the flow at log scales {-ells[0]:g} and {-ells[1]:g}, not by a formula.")
    params = Params(ends[1], early.sign * np.linalg.norm(ends[1], axis=1))
    log_factor = norms[1] + exponent * ells[1]
    return Course(tuple(saddles), params, float(b.loss[-1]), exponent, log_factor, tuple(notes), same)


class _Run:
    """The flow at one scale, divided into stays (saddles) and passages."""

    def __init__(self, problem: Problem, ell: float, rtol: float, rate: float):
        self.ell = float(ell)
        self.sol = solve(at_scale(problem, -ell), Flow(rtol=rtol), save=Save(frames=20_000), throw=False)
        self.t, self.loss = self.sol.t, self.sol.loss
        still = np.abs(np.diff(self.loss)) <= FLAT * self.loss[0]
        edges = np.flatnonzero(np.diff(np.r_[0, still.astype(int), 0]))
        runs = zip(edges[::2], edges[1::2])
        least = LONG * self.ell / max(rate, 1e-300)
        self.stays = [(lo, hi) for lo, hi in runs if hi < len(self.t) - 1 and self.t[hi] - self.t[lo] > least]

    def after(self, k: int) -> int:
        """A frame inside the next saddle, or the last one."""
        return self.stays[k + 1][0] if k + 1 < len(self.stays) else len(self.t) - 1

    def exit(self, k: int) -> float:
        """When the loss is midway between saddle k and what comes after."""
        at, to = self.stays[k][1], self.after(k)
        level = 0.5 * (self.loss[at] + self.loss[to])
        return crossing(self.sol, level, at, to)

    def grew(self, k: int) -> list[int]:
        """Neurons that are powers of the scale at saddle k and of order 1 at what comes after."""
        bound = -1e-2 * self.ell
        before, after = self.sol.log_norm[self.stays[k][0]], self.sol.log_norm[self.after(k)]
        return np.flatnonzero((before < bound) & (after >= bound)).tolist()

    def network(self, large: np.ndarray) -> np.ndarray:
        """The final rows of w, 0 for neurons that vanish with the scale."""
        final = self.sol.final
        return np.where(large[:, None], final.w * np.exp(np.where(large, final.log_scale, 0.0))[:, None], 0.0)
