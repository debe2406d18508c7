r"""The loss around one point of a run: Hessian in the current cell, escape directions, type of saddle.

    H = sum_i l_i'' grad f_i grad f_i' - sum_j [0 D_j; D_j' 0]      (the block of neuron j in its (w_j, a_j))

Neurons too small to matter have no grad f, so each contributes its block alone: eigenvalues -|D_j|, |D_j| and 0. The
first belongs to (w, a) along (s D/|D|, s)/sqrt 2: the neuron grows like e^{|D_j| t} there. On sliding surfaces w_j is
confined to them, and so are D_j and grad f. A plateau is classified by the neurons that can leave it:

    minimum            the loss is 0 (1e-9 of the zero network's); with an exponential tail "minimum at infinity"
    strict saddle      a negative eigenvalue, and a neuron of the run with the sign and side to follow it
    closed saddle      a new neuron could lower the loss, none of this run's can
    stationary         no direction at all lowers the loss to second order
    slow passage       the active neurons alone go on to a loss more than 1% lower: no saddle
"""

from dataclasses import dataclass, replace

import numpy as np

from reluflow import _text
from reluflow.bias._state import State, loss_of, loss_slopes, state_at, state_of
from reluflow.bias.extremal import Direction, extremal
from reluflow.bias.patterns import span
from reluflow.data.core import Data
from reluflow.init import Params, balanced
from reluflow.methods import Flow
from reluflow.outcome import Outcome
from reluflow.problem import Problem
from reluflow.solve import Limits, solve

SMALL = 1e-3  # of the largest |a_j| |w_j|: below, a neuron is passive
AT_REST = 1e-2  # |grad L|^2 of active neurons over (largest eigenvalue * L): below, they rest


@dataclass(frozen=True, eq=False)
class Landscape:
    """The loss around one point.

    `eigenvalues`  of the Hessian, ascending, without zeros of directions on which it does not act
    `negative`     how many are below -1e-9 of the largest modulus
    `bottom`       the most negative one; `top` the sharpness
    `escapes`      (neuron, rate) of small neurons that grow now, fastest first: rate s_j <D_j, w_j>/|w_j|
    `places`       attracting directions of the present drive, fastest first: where a new small neuron would go
    `pl`           |grad L|^2 / L, the Polyak-Lojasiewicz ratio
    `rest`         |grad L|^2 / (top L): small at a stationary point
    `settled`      the loss at which the active neurons alone come to rest from here, where `saddles` computed
                   it: a saddle's own loss; a slow passage is not a saddle and ends far below
    """

    log_t: float
    loss: float
    eigenvalues: np.ndarray
    negative: int
    bottom: float
    top: float
    escapes: tuple[tuple[int, float], ...]
    places: tuple[Direction, ...]
    pl: float
    rest: float
    active: tuple[int, ...]
    sliding: int
    kind: str
    settled: float = float("nan")

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return {
            **{k: getattr(self, k) for k in ("log_t", "loss", "negative", "bottom", "top", "pl", "rest", "kind")},
            "active": list(self.active),
            "sliding": self.sliding,
            "escapes": [list(e) for e in self.escapes],
            "places": [{"sign": p.sign, "rate": p.rate, "direction": p.direction.tolist()} for p in self.places],
        }

    def __str__(self) -> str:
        rate = f", fastest escape rate {self.escapes[0][1]:.6g}" if self.escapes else ""
        t = "" if np.isnan(self.log_t) else f"t = {_text.by_log(self.log_t)}: "
        return (
            f"{t}{self.kind}, loss {self.loss:.6g}, curvature {self.bottom:.6g} .. {self.top:.6g} "
            f"({self.negative} negative), {len(self.escapes)} neurons can leave{rate}, PL ratio {self.pl:.4g}"
        )

    __repr__ = __str__


def landscape(sol, t: float | None = None, *, log_t: float | None = None, samples: int | None = None) -> Landscape:
    """The loss around time t (or e^log_t) of a run, or around a network: `landscape((problem, params))`.

    `samples` random starts per sign look for `places` (0: none; by default 200, or 25 beyond 20 points).
    """
    if isinstance(sol, tuple) and len(sol) == 2 and isinstance(sol[0], Problem) and isinstance(sol[1], Params):
        return around(state_of(*sol), float("nan"), samples)
    if (t is None) == (log_t is None):
        raise ValueError("Give a time `t` or `log_t=...`, one of the two.")
    with np.errstate(divide="ignore"):
        when = float(log_t) if log_t is not None else float(np.log(t or 0.0))
    return around(state_at(sol, t, log_t=log_t), when, samples)


def saddles(sol, samples: int | None = None, seconds: float = 5.0) -> tuple[Landscape, ...]:
    """The origin (when the run begins with alignment: midway through it), every plateau, and the end.

    The active neurons of a plateau of a square loss are also followed to rest, for at most `seconds`.
    """
    rows = []
    for phase in sol.phases():
        middle = 0.5 * (phase.start + min(phase.end, 1e300))
        if phase.kind == "alignment":
            rows.append(landscape(sol, t=middle, samples=samples))
        elif phase.kind == "plateau":
            rows.append(_followed(sol, landscape(sol, t=middle, samples=samples), seconds))
    if not rows or rows[-1].log_t < sol.log_t[-1]:
        rows.append(landscape(sol, log_t=float(sol.log_t[-1]), samples=samples))
    return tuple(rows)


def _followed(sol, here: Landscape, seconds: float) -> Landscape:
    """`here` with the loss at which its active neurons alone come to rest."""
    problem = sol.problem
    if problem.tailed or not here.active or here.kind == "minimum":
        return here
    now, who = sol.at(log_t=here.log_t), list(here.active)
    log_w, log_a = now.log_scales
    alone = Params(now.w[who], now.a[who], log_scale=log_w[who], log_scale_a=log_a[who])
    run = solve(replace(problem, init=alone), Flow(), limits=Limits(seconds=seconds), throw=False)
    if run.outcome is not Outcome.STATIONARY:
        return here
    settled = float(run.loss[-1])
    return replace(here, settled=settled, kind="slow passage" if settled < 0.99 * here.loss else here.kind)


def around(state: State, log_t: float, samples: int | None) -> Landscape:
    """Everything about one state."""
    problem, D = state.problem, state.pulls
    if problem.train != "both":
        raise ValueError(
            '`rf.bias.landscape` needs `train="both"`, got "first": with fixed output weights 0 is no saddle.'
        )
    if problem.decay > 0.0:
        raise ValueError(
            f"`rf.bias.landscape` needs `decay=0`, got {problem.decay:g}: for a run with decay use `rf.bias.optimal`."
        )
    w, a = state.weights
    size = np.abs(a) * np.linalg.norm(w, axis=1)
    active = np.flatnonzero(size > SMALL * np.max(size)) if _matters(state) else np.zeros(0, int)
    passive = np.setdiff1d(np.arange(len(a)), active)
    own = _active_eigenvalues(state, active, D, w, a)
    pull = np.linalg.norm(D[passive], axis=1)
    pull = pull[pull > 1e-13 * _force(state)]
    values = np.sort(np.concatenate([own, pull, -pull])) if len(own) + len(pull) else np.zeros(1)
    scale = float(np.max(np.abs(values))) or 1.0
    loss = loss_of(problem, state.f)
    gradient2 = float(np.sum((a[:, None] * D) ** 2) + np.sum(np.sum(D * w, axis=1) ** 2))
    escapes = _escapes(state, passive, D)
    places = tuple(p for p in _places(problem, state.drive, samples) if p.rate > 1e-9 * _force(state))
    pl = gradient2 / loss if loss > 0 else float("nan")
    top = float(values[-1])
    rest = pl / top if top > 0 and loss > 0 else 0.0
    share = loss / loss_of(problem, np.zeros_like(state.f))
    kind = _kind(share, problem.tailed, rest, values[0] < -1e-9 * scale, escapes, places)
    return Landscape(
        log_t=log_t,
        loss=loss,
        eigenvalues=values,
        negative=int(np.sum(values < -1e-9 * scale)),
        bottom=float(values[0]),
        top=top,
        escapes=escapes,
        places=places,
        pl=pl,
        rest=rest,
        active=tuple(active.tolist()),
        sliding=int(np.sum(state.sliding[passive]) + np.sum(state.sliding[active])),
        kind=kind,
    )


def _matters(state: State) -> bool:
    """Whether outputs are large enough for any neuron to count as active."""
    return bool(np.max(np.abs(state.f), initial=0.0) > 1e-2 * np.max(np.abs(state.problem.data.y)))


def _force(state: State) -> float:
    """The sum of the pulls at f = 0: the unit for judging rates."""
    g, _ = loss_slopes(state.problem, np.zeros_like(state.f))
    return float(np.sum(np.abs(g) * np.linalg.norm(state.problem.data.x, axis=1))) or 1.0


def _escapes(state: State, passive, D) -> tuple[tuple[int, float], ...]:
    """Small neurons that grow: s <D, w>/|w| > 0."""
    w = state.params.w[passive]
    size = np.linalg.norm(w, axis=1)
    rate = np.sign(state.params.a[passive]) * np.sum(D[passive] * w, axis=1) / np.where(size > 0, size, 1.0)
    grows = np.flatnonzero(rate > 1e-9 * _force(state))
    order = grows[np.argsort(-rate[grows], kind="stable")]
    return tuple((int(passive[k]), float(rate[k])) for k in order)


def _places(problem: Problem, g: np.ndarray, samples: int | None) -> tuple[Direction, ...]:
    data = Data(problem.data.x, g)
    samples = (200 if data.n <= 20 else 25) if samples is None else samples
    if samples == 0 or not np.any(np.abs(g) > 0):
        return ()
    given = Problem(data, balanced(2, data.d), "square", "sum", problem.activation)
    found = extremal(given, how="flow", samples=samples).attracting
    return tuple(sorted((d for d in found if d.rate > 0), key=lambda d: -d.rate))


def _kind(share: float, tailed: bool, rest: float, negative: bool, escapes, places) -> str:
    if share < 1e-9:
        return "minimum at infinity" if tailed else "minimum"
    if rest > AT_REST:
        return "moving"
    if negative and escapes:
        return "strict saddle"
    return "closed saddle" if negative or places else "stationary"


def _active_eigenvalues(state: State, active, D, w, a) -> np.ndarray:
    """Eigenvalues of the Hessian restricted to the active neurons, w_j on its sliding surfaces, without trivial zeros.

    The Hessian's range lies in the span of the n gradients grad f_i, the vectors (D_j, 0) and (0, 1) of each neuron:
    that is all that is diagonalised.
    """
    if len(active) == 0:
        return np.zeros(0)
    x = state.problem.data.x
    bases = [_tangent(x[state.sliding[j]], x) for j in active]
    start = np.concatenate([[0], np.cumsum([len(b) + 1 for b in bases])])
    J = np.empty((len(x), start[-1]))
    hollow = np.zeros((2 * len(active), start[-1]))  # rows (-D_j, 0) and (0, 1)
    for k, (j, basis) in enumerate(zip(active, bases)):
        lo, last = start[k], start[k + 1] - 1
        J[:, lo:last] = (state.bits[j] * a[j])[:, None] * (x @ basis.T)
        J[:, last] = state.bits[j] * (x @ w[j])
        hollow[2 * k, lo:last] = -basis @ D[j]
        hollow[2 * k + 1, last] = 1.0
    size = np.linalg.norm(np.vstack([J, hollow]), axis=1)
    rows = np.vstack([J, hollow])[size > 0] / size[size > 0, None]
    Q, _ = np.linalg.qr(rows.T)
    P, B = J @ Q, hollow @ Q
    H = P.T @ (state.curvature[:, None] * P) + B[::2].T @ B[1::2] + B[1::2].T @ B[::2]
    return np.linalg.eigvalsh(H)


def _tangent(held: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the span of x, less the directions held."""
    basis = span(x)
    if len(held) == 0:
        return basis
    inside = span(held @ basis.T)
    q, _ = np.linalg.qr(inside.T, mode="complete")
    return q[:, len(inside) :].T @ basis
