r"""The quantities of the paper, for orthogonal inputs of any norms nu_k = |x_k|.

    D+ = (1/n) sum_{y_k > 0} y_k x_k          E+ = sum_{y_k > 0} y_k x_k / nu_k^2         (D-, E- likewise)
    r = |D+| / |D-| > 1       alpha = min_{y_k > 0} y_k^2 nu_k^2 / (2 n^2 |D+|^2)         (beta on the other class)
    epsilon = min{ (1 - M) / (1 + 3 M), beta / (1 + 3 r (1 - beta)) },   M = max(1 - alpha, 1/r)
    ell = log(1/lambda),   c = max_j |w_j| / lambda at t = 0,  c_min the smallest

Where |D+| < |D-| the two classes change roles: `y` and `sign` below are then minus the data's and the network's, as
the paper's "without loss of generality". For unit norms E = n D; a cluster ends at u = |E| on the ray of E.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.claim import Claim
from reluflow.data.core import Data
from reluflow.problem import Problem

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Class:
    """One of the two classes. Its neurons are those that start active on all of it with its sign: S_{+,1} or S_{-,1}.

    `aim` is the unit vector they turn to, D+/|D+| or -D-/|D-|; `goal` the one they end on, along E; `u` the squared
    norm they reach together, |E|; `rate` = u min nu^2 / n, which is |D| where the class has one norm.
    """

    members: np.ndarray  # data, (n,) bool
    D: np.ndarray
    size: float  # |D|
    aim: np.ndarray
    goal: np.ndarray
    u: float
    rate: float
    share: float  # min y^2 nu^2 / sum y^2 nu^2 over the class
    spread: float  # largest norm over the smallest, minus 1


class Labels:
    """What depends on the data alone. `form="printed"` leaves the n^2 out of alpha and beta, as in print (E1)."""

    def __init__(self, data: Data, weight: float | None = None, form: str = "corrected", epsilon: float | None = None):
        self.data, self.n = data, data.n
        self.weight = 1.0 / data.n if weight is None else weight
        self.N = 1.0 / self.weight  # n where the loss is a mean
        self.nu2 = np.sum(data.x**2, axis=1)
        if np.any(self.nu2 == 0.0):
            k = int(np.flatnonzero(self.nu2 == 0.0)[0])
            raise ValueError(f"Inputs must not be zero, got row {k} = 0: no network can fit it; leave it out.")
        pulls = [np.linalg.norm((data.y * (s * data.y > 0)) @ data.x) for s in (1.0, -1.0)]
        if min(pulls) == 0.0:
            sign = "positive" if pulls[0] == 0.0 else "negative"
            raise ValueError(
                f"Labels must have both signs, got none that is {sign}: turn the label of a row round, or add one."
            )
        self.flip = 1.0 if pulls[0] >= pulls[1] else -1.0
        self.y = self.flip * data.y
        self.plus, self.minus = self._class(1.0), self._class(-1.0)
        self.r = self.plus.size / self.minus.size
        printed = self.N**2 if form == "printed" else 1.0
        self.alpha, self.beta = 0.5 * printed * self.plus.share, 0.5 * printed * self.minus.share
        M = max(1.0 - self.alpha, 1.0 / self.r)
        self.epsilon_max = min((1.0 - M) / (1.0 + 3.0 * M), self.beta / (1.0 + 3.0 * self.r * (1.0 - self.beta)))
        self.epsilon = self.epsilon_max if epsilon is None else float(epsilon)

    def _class(self, s: float) -> Class:
        x, y, nu2 = self.data.x, self.y, self.nu2
        members = s * y > 0
        D = self.weight * (y * members) @ x
        E = (y * members / nu2) @ x
        size, u = float(np.linalg.norm(D)), float(np.linalg.norm(E))
        weights = y[members] ** 2 * nu2[members]
        return Class(
            members=members,
            D=D,
            size=size,
            aim=s * D / size,
            goal=s * E / u,
            u=u,
            rate=u * float(np.min(nu2[members])) * self.weight,
            share=float(np.min(weights) / np.sum(weights)),
            spread=float(np.sqrt(np.max(nu2[members]) / np.min(nu2[members])) - 1.0),
        )

    @property
    def min_norm(self) -> float:
        """The least |theta|^2 of an interpolator, 2 (|E+| + |E-|)."""
        return 2.0 * (self.plus.u + self.minus.u)

    def numbers(self) -> dict[str, float]:
        """For `Report.constants`."""
        return {
            "|D+|": self.plus.size,
            "|D-|": self.minus.size,
            "r": self.r,
            "alpha": self.alpha,
            "beta": self.beta,
            "epsilon": self.epsilon,
        }


class Constants(Labels):
    """What depends on the data and the initial weights."""

    def __init__(self, problem: Problem, form: str = "corrected", epsilon: float | None = None):
        if problem.loss != "square":
            raise ValueError(
                f'`loss` must be "square" for Boursier et al., got "{problem.loss}": solve it with the square loss.'
            )
        if problem.train != "both":
            raise ValueError('`train` must be "both" for Boursier et al., got "first": both of its layers move.')
        super().__init__(problem.data, problem.weight, form, epsilon)
        self.problem, init = problem, problem.init
        log_w, log_a = init.log_scales
        top = float(np.max(log_w))
        self.m, self.ell = init.width, -top
        self.g = init.w * np.exp(log_w - top)[:, None]
        sizes = np.linalg.norm(self.g, axis=1)
        self.c, self.c_min = float(np.max(sizes)), float(np.min(sizes))
        self.sign = self.flip * np.sign(init.a)
        with np.errstate(divide="ignore"):
            gap = log_a - log_w + np.log(np.abs(init.a)) - np.log(np.linalg.norm(init.w, axis=1))
        self.unbalance = float(np.max(np.abs(gap)))
        u = self.g @ self.data.x.T
        self.S_plus = np.flatnonzero((self.sign > 0) & np.all(u[:, self.plus.members] >= 0, axis=1))
        self.S_minus = np.flatnonzero((self.sign < 0) & np.all(u[:, self.minus.members] >= 0, axis=1))
        self.others = np.setdiff1d(np.arange(self.m), np.r_[self.S_plus, self.S_minus])

    def power(self, p: float) -> float:
        """log lambda^p."""
        return -p * self.ell

    @property
    def t_plus(self) -> float:
        """t_{+1} = eps ell / |D+|, end of the alignment of S_{+,1}; inf for lambda >= 1, where there is no such
        phase."""
        return self.epsilon * self.ell / self.plus.size if self.ell > 0 else np.inf

    @property
    def t_minus(self) -> float:
        """t_{-1} = eps ell / |D-|, end of the alignment of S_{-,1}; inf for lambda >= 1."""
        return self.epsilon * self.ell / self.minus.size if self.ell > 0 else np.inf

    @cached_property
    def limit(self):
        """`rf.limit` of the problem: amplitudes, saddles, the limit network."""
        from reluflow.limit import limit

        return limit(self.problem, follow=False)

    def theta(self, saddle: bool = False) -> tuple[np.ndarray, np.ndarray]:
        r"""(w*, a*) of 2.8: |w_j*| = sqrt(u) A_j / (sum A_i^2)^{1/2} on the ray of E; with `saddle` theta_S, in which
        S_{-,1} is 0 as well."""
        w = np.zeros((self.m, self.data.d))
        log_A = self.limit.early.log_amplitude
        for S, cls in ((self.S_plus, self.plus), (self.S_minus, self.minus)):
            if len(S) and not (saddle and S is self.S_minus):
                share = np.exp(log_A[S] - 0.5 * np.logaddexp.reduce(2.0 * log_A[S]))
                w[S] = (np.sqrt(cls.u) * share)[:, None] * cls.goal
        return w, self.flip * self.sign * np.linalg.norm(w, axis=1)

    def numbers(self) -> dict[str, float]:
        more = {"log10 lambda": -self.ell / np.log(10.0), "|S+|": len(self.S_plus), "|S-|": len(self.S_minus)}
        return {**super().numbers(), **more}


def data_hypotheses(const: Labels) -> list[Claim]:
    """Assumptions 1 (any norms) and 2. Slack: an inner product of d terms and an orthonormal basis of n rows."""
    x, n = const.data.x, const.n
    rounding = (n + const.data.d) * EPS
    cos, pair = worst_cosine(x)
    gap = abs(const.plus.size - const.minus.size) / const.plus.size
    return [
        Claim(
            "A1: orthogonal rows, max |cos|",
            cos,
            "<=",
            0.0,
            slack=rounding,
            at=pair and f"rows {pair[0]} and {pair[1]}",
        ),
        Claim("A2: no zero label, min |y|", float(np.min(np.abs(const.y))), ">", 0.0),
        Claim("A2: |D+| and |D-| differ, gap over the larger", gap, ">", rounding),
    ]


def hypotheses(const: Constants) -> list[Claim]:
    """Assumptions 1-3, the balanced start (4), ReLU, lambda < 1, one norm per class (E11)."""
    spread = max(const.plus.spread, const.minus.spread)
    return [
        *data_hypotheses(const),
        Claim("A3: neurons in S_{+,1}", len(const.S_plus), ">=", 1),
        Claim("A3: neurons in S_{-,1}", len(const.S_minus), ">=", 1),
        Claim("balanced start, max |log(|a|/|w|)|", const.unbalance, "<=", 0.0, slack=(const.data.d + 8) * EPS),
        Claim("ReLU, slope", const.problem.activation.slope, "<=", 0.0),
        Claim("lambda < 1, log lambda", -const.ell, "<", 0.0),
        Claim(
            "one norm in each class, spread",
            spread,
            "<=",
            0.0,
            slack=(const.n + const.data.d) * EPS,
            note="unit norms in print; any common norm will do, see boursier2022.norms",
        ),
        Claim(
            "epsilon within its conditions",
            const.epsilon,
            "<=",
            const.epsilon_max,
            slack=4 * EPS * max(const.epsilon_max, 0.0),
        ),
    ]


def worst_cosine(x: np.ndarray) -> tuple[float, tuple[int, int] | None]:
    """The largest |cos| between two rows, and which."""
    size = np.linalg.norm(x, axis=1)
    unit = x / np.where(size > 0, size, 1.0)[:, None]
    gram = np.abs(np.triu(unit @ unit.T, k=1))
    if len(x) < 2:
        return 0.0, None
    i, k = np.unravel_index(int(np.argmax(gram)), gram.shape)
    return float(gram[i, k]), (int(i), int(k))
