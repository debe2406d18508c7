r"""Every constant of [MMV24] in closed form, O(n^2 d + h d); logarithms where numbers underflow.

    u_i = y_i x_i / |x_i|,   mu = min_{i != k} <u_i, u_k>,   xi = mu^2 (Lemma 9, exact)
    zeta_1 = min_i min(cos^2(x_i, x+), cos^2(x_i, x-))       zeta_2 = min sin^2 of the angles of V+ to x-, V- to x+ (1 beyond a right angle)
    zeta = min(zeta_1, zeta_2),   m = min(zeta, xi),         ath = atanh sqrt(1 - m)
    T = log(1/(sqrt h eps)) / (4 n Xmax),                    t1 = 16 log n / (m sqrt mu Xmin),   t1' = m ath t1
    eps_A = m sqrt mu Xmin / (8 sqrt h n Xmax^2 Wmax^2),     eps_B: T = t1
    alpha = (mu Xmin)^2 / (32 Xmax)

The printed form takes zeta = max(zeta_1, zeta_2) and 4 for 8 in eps_A. Where mu <= 0 the rest is NaN.

The initial scale: eps = e^log_scale and W0 the mantissas where `Params.log_scale` is one number other than 0; else
eps = max_j |w_j(0)|, so that Wmax = 1. Times are those of the sum loss with r(0) = 1 (see `_run.py`).
"""  # noqa: E501

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
        sharp = 16 * np.log(n) * ath * m / core  # m ath t1
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
        t1_sharp=float(sharp),
        log_eps_a=float(log_a),
        log_eps_b=after(t1),
        log_eps_b_sharp=after(sharp),
        log_eps_lemma3=float(-np.log(4 * geo.x_max) - 0.5 * np.log(h) - 2 * log_w_max),
        alpha=float(alpha),
    )


def _zeta2(problem: Problem, geo: Geometry) -> float:
    """Assumption 2 as it is used: V+ neurons away from x-, V- neurons away from x+; 0 for one on it to rounding."""
    sine = min(s for s, _, _ in opposing(problem, geo))
    return sine**2 if sine > rounding(problem) else 0.0


def rounding(problem: Problem) -> float:
    """The sine of the angle between two directions that are equal but for rounding."""
    return float(4 * np.sqrt(problem.data.d) * np.finfo(float).eps)


def opposing(problem: Problem, geo: Geometry, swap: bool = False) -> list[tuple[float, int, str]]:
    """For V+ and x-, then for V- and x+: the least sine of the angle between a w_j(0) and the class sum (1 beyond a
    right angle), its neuron, and the sum's name; `swap` pairs them the way the text around Assumption 2 does.

    Sines, not cosines: 1 - cos^2 forgets angles below 1e-8.
    """
    w, a = problem.init.w, problem.init.a
    unit = w / np.maximum(np.linalg.norm(w, axis=1), 1e-300)[:, None]
    sums = {1.0: ("x+", geo.plus), -1.0: ("x-", geo.minus)}
    found = []
    for sign in (1.0, -1.0):
        name, total = sums[sign if swap else -sign]
        who = np.flatnonzero(np.sign(a) == sign)
        if len(who) and np.linalg.norm(total) > 0:
            axis = total / np.linalg.norm(total)
            cos = unit[who] @ axis
            sine = np.where(cos > 0, np.linalg.norm(unit[who] - cos[:, None] * axis, axis=1), 1.0)
            found.append((float(np.min(sine)), int(who[np.argmin(sine)]), name))
    return found or [(1.0, -1, "x-")]
