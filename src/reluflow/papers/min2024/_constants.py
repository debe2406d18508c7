r"""Every constant of [MMV24] in closed form, O(n^2 d + h d); logarithms where numbers underflow.

    u_i = y_i x_i / |x_i|,   mu = min_{i != k} <u_i, u_k>,   xi = mu^2 (Lemma 9, exact)
    zeta_1 = min_i min(cos^2(x_i, x+), cos^2(x_i, x-))       zeta_2 = 1 - max(0, max_{V+} cos(w_j(0), x-), max_{V-} cos(w_j(0), x+))^2
    zeta = min(zeta_1, zeta_2),   m = min(zeta, xi),         ath = atanh sqrt(1 - m)
    T = log(1/(sqrt h eps)) / (4 n Xmax),                    t1 = 16 log n / (m sqrt mu Xmin),   t1' = m ath t1
    eps_A = m sqrt mu Xmin / (8 sqrt h n Xmax^2 Wmax^2),     eps_B: T = t1
    alpha = (mu Xmin)^2 / (32 Xmax)

The printed form takes zeta = max(zeta_1, zeta_2) and 4 for 8 in eps_A. Where mu <= 0 the rest is NaN.

The initial scale: eps = e^log_scale and W0 the mantissas where `Params.log_scale` is one number other than 0; else
eps = max_j |w_j(0)|, so that Wmax = 1. Times are those of the sum loss with r(0) = 1 (see `_run.py`).
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.data._gram import norms, unit_rows
from reluflow.data.core import Data
from reluflow.problem import Problem


@dataclass(frozen=True)
class Geometry:
    """What the data alone decide. `pair` attains mu; `plus`, `minus` are the class sums x+, x-."""

    n: int
    n_plus: int
    n_minus: int
    x_max: float
    x_min: float
    mu: float
    pair: tuple[int, int] | None
    xi: float
    zeta1: float
    plus: np.ndarray
    minus: np.ndarray
    u: np.ndarray

    @property
    def separable(self) -> bool:
        return self.mu > 0

    def shown(self) -> dict[str, float]:
        names = ("n", "n_plus", "n_minus", "x_max", "x_min", "mu", "xi", "zeta1")
        return {name: float(getattr(self, name)) for name in names}


def geometry(data: Data, mu: float | None = None) -> Geometry:
    """The constants of the data; `mu` overstates or understates the separation on purpose."""
    size, sign = norms(data.x), np.sign(data.y)
    u = sign[:, None] * unit_rows(data.x)
    least, pair = 1.0, None
    if data.n > 1:
        cosines = u @ u.T
        np.fill_diagonal(cosines, np.inf)
        i, k = np.unravel_index(int(np.argmin(cosines)), cosines.shape)
        least, pair = float(cosines[i, k]), (int(min(i, k)), int(max(i, k)))
    least = least if mu is None else float(mu)
    plus, minus = np.sum(data.x[sign > 0], axis=0), np.sum(data.x[sign < 0], axis=0)
    squares = [
        (u @ s / np.linalg.norm(s)) ** 2
        for s, there in ((plus, sign > 0), (minus, sign < 0))
        if np.any(there) and s.any()
    ]
    return Geometry(
        n=data.n,
        n_plus=int(np.sum(sign > 0)),
        n_minus=int(np.sum(sign < 0)),
        x_max=float(size.max()),
        x_min=float(size.min()),
        mu=least,
        pair=pair,
        xi=least**2 if least > 0 else np.nan,
        zeta1=float(np.min(squares)) if least > 0 and squares else np.nan,
        plus=plus,
        minus=minus,
        u=u,
    )


@dataclass(frozen=True)
class Constants:
    """What data and initial weights decide."""

    geo: Geometry
    h: int
    log_eps: float
    log_w_max: float
    log_w_min: float
    zeta2: float
    zeta: float
    m: float
    T: float
    t1: float
    t1_sharp: float
    log_eps_a: float
    log_eps_b: float
    log_eps_b_sharp: float
    log_eps_lemma3: float  # 1 / (4 sqrt h Xmax Wmax^2)
    alpha: float

    @property
    def ath(self) -> float:
        """atanh(sqrt(1 - m))."""
        return float(np.log((1.0 + np.sqrt(1.0 - self.m)) / np.sqrt(self.m)))

    def shown(self) -> dict[str, float]:
        names = ("h", "log_eps", "zeta2", "zeta", "m", "T", "t1", "t1_sharp", "log_eps_a", "log_eps_b", "alpha")
        return self.geo.shown() | {name: float(getattr(self, name)) for name in names}


def scale(init) -> tuple[float, np.ndarray]:
    """(log eps, log |W0_j|) of w_j(0) = eps W0_j."""
    log_w, _ = init.log_scales
    with np.errstate(divide="ignore"):
        size = np.log(np.linalg.norm(init.w, axis=1))
    one = np.ndim(init.log_scale) == 0 and init.log_scale != 0
    log_eps = float(init.log_scale) if one else float(np.max(log_w + size))
    return log_eps, log_w + size - log_eps


def constants(problem: Problem, form: str = "corrected") -> Constants:
    """All constants of a problem, in one of the two forms."""
    geo = geometry(problem.data)
    n, mu, h = geo.n, geo.mu, problem.init.width
    log_eps, log_w0 = scale(problem.init)
    log_w_max, log_w_min = float(np.max(log_w0)), float(np.min(log_w0))
    z2 = _zeta2(problem, geo)
    pick = np.fmax if form == "printed" else np.fmin
    zeta = float(pick(geo.zeta1, z2)) if geo.separable else np.nan
    m = min(zeta, geo.xi) if geo.separable else np.nan
    horizon = (-0.5 * np.log(h) - log_eps) / (4 * n * geo.x_max)
    with np.errstate(all="ignore"):
        core = m * np.sqrt(mu) * geo.x_min if geo.separable else np.nan
        t1 = 16 * np.log(n) / core
        ath = np.log((1 + np.sqrt(1 - m)) / np.sqrt(m))
        room = 4.0 if form == "printed" else 8.0
        log_a = np.log(core) - np.log(room * n) - 2 * np.log(geo.x_max) - 2 * log_w_max - 0.5 * np.log(h)
        alpha = (mu * geo.x_min) ** 2 / (32 * geo.x_max) if geo.separable else np.nan
    after = lambda t: float(-0.5 * np.log(h) - 4 * n * geo.x_max * t)
    return Constants(
        geo=geo,
        h=h,
        log_eps=log_eps,
        log_w_max=log_w_max,
        log_w_min=log_w_min,
        zeta2=z2,
        zeta=zeta,
        m=float(m),
        T=float(horizon),
        t1=float(t1),
        t1_sharp=float(m * ath * t1),
        log_eps_a=float(log_a),
        log_eps_b=after(t1),
        log_eps_b_sharp=after(m * ath * t1),
        log_eps_lemma3=float(-np.log(4 * geo.x_max) - 0.5 * np.log(h) - 2 * log_w_max),
        alpha=float(alpha),
    )


def _zeta2(problem: Problem, geo: Geometry) -> float:
    """Assumption 2 as it is used: V+ neurons away from x-, V- neurons away from x+."""
    worst = max(0.0, *(float(v) for v, _ in opposing(problem, geo)), 0.0)
    return 1.0 - worst**2 if worst < 1.0 else 0.0


def opposing(problem: Problem, geo: Geometry, swap: bool = False) -> list[tuple[float, int]]:
    """Largest cos(w_j(0), x-) over V+ and cos(w_j(0), x+) over V-, each with its neuron; `swap` pairs them the way the
    text around Assumption 2 does."""
    w, a = problem.init.w, problem.init.a
    unit = w / np.maximum(np.linalg.norm(w, axis=1), 1e-300)[:, None]
    found = []
    for sign, total in ((1.0, geo.minus), (-1.0, geo.plus)):
        total = {True: geo.plus if sign > 0 else geo.minus, False: total}[swap]
        who = np.flatnonzero(np.sign(a) == sign)
        if len(who) and np.linalg.norm(total) > 0:
            cos = unit[who] @ (total / np.linalg.norm(total))
            found.append((float(np.max(cos)), int(who[np.argmax(cos)])))
    return found or [(0.0, -1)]
