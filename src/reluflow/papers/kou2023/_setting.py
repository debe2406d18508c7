r"""A problem in the letters of Kou, Chen and Gu (2023).

    f(W, x) = (1/m) sum_{j = +-1} j sum_{r <= m} s(<w_{j,r}, x>),      s(z) = max(gamma z, z)

Output weights +-c other than +-1/m are the same network with W' = c m W and eta = (c m)^2 step, so that
`rf.init.fixed_output` (c = 1/(2m)) fits. Time is s = eta k after k iterations and s = (c m)^2 t in the flow, whose eta
is 0; the paper's unit of time nm/(eta R_max^2) iterations is tau = s R_max^2/(nm) = 1.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.methods import Descent

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Setting:
    """Data, initial weights and step in the paper's units; neurons are rows 0..2m-1 with `sign` j."""

    x: np.ndarray
    y: np.ndarray
    gamma: float
    eta: float
    w0: np.ndarray
    sign: np.ndarray
    scale: float  # c m: the paper's weights are `scale` times the problem's

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def m(self) -> int:
        return len(self.sign) // 2

    @cached_property
    def gram(self) -> np.ndarray:
        return self.x @ self.x.T

    @cached_property
    def norm2(self) -> np.ndarray:
        """|x_i|^2."""
        return np.diag(self.gram).copy()

    @property
    def r_max(self) -> float:
        return float(np.sqrt(self.norm2.max()))

    @property
    def r_min(self) -> float:
        return float(np.sqrt(self.norm2.min()))

    @property
    def ratio(self) -> float:
        """R = R_max / R_min."""
        return self.r_max / self.r_min

    @cached_property
    def p(self) -> float:
        """max |<x_i, x_k>| over pairs; products below the rounding of one are 0."""
        off = float(np.max(np.abs(self.gram - np.diag(self.norm2)))) if self.n > 1 else 0.0
        return off if off > 4 * self.x.shape[1] * EPS * self.r_max**2 else 0.0

    @property
    def kappa(self) -> float:
        return self.n * self.p / self.r_min**2

    @cached_property
    def z0(self) -> np.ndarray:
        """<w^(0)_{j,r}, x_i>, (2m, n)."""
        return self.w0 @ self.x.T

    @property
    def beta(self) -> float:
        return float(np.max(np.abs(self.z0)))

    @property
    def h(self) -> float:
        """eta R_max^2/(nm); 0 for a flow."""
        return self.eta * self.r_max**2 / (self.n * self.m)

    @property
    def unit(self) -> float:
        """tau / s."""
        return self.r_max**2 / (self.n * self.m)

    @cached_property
    def own(self) -> np.ndarray:
        """Where j = y_i, (2m, n)."""
        return self.sign[:, None] * self.y[None, :] > 0

    @cached_property
    def started(self) -> np.ndarray:
        """Where r is in S_i^(0): own class, <w^(0), x_i> >= 0, (2m, n)."""
        return self.own & (self.z0 >= 0)

    @cached_property
    def size(self) -> np.ndarray:
        """|S_i^(0)|, (n,)."""
        return self.started.sum(axis=0)

    @property
    def rank(self) -> int:
        return int(np.linalg.matrix_rank(self.x))

    def act(self, z: np.ndarray) -> np.ndarray:
        return np.maximum(self.gamma * z, z)

    def margins(self, z: np.ndarray) -> np.ndarray:
        """y_i f(W, x_i) from preactivations (..., 2m, n)."""
        return self.y * np.einsum("r,...rn->...n", self.sign, self.act(z)) / self.m

    def report(self) -> dict[str, float]:
        """The numbers the paper's assumptions are about."""
        return {
            "n": self.n,
            "m": self.m,
            "gamma": self.gamma,
            "beta": self.beta,
            "kappa": self.kappa,
            "R": self.ratio,
            "h": self.h,
        }


def setting(subject) -> Setting:
    """The setting of a Problem, or of a Solution with its step."""
    problem = getattr(subject, "problem", subject)
    method = getattr(subject, "method", None)
    for name, wanted in (("loss", "logistic"), ("reduction", "mean"), ("train", "first")):
        got = getattr(problem, name)
        if got != wanted:
            raise ValueError(f'`{name}` must be "{wanted}" for Kou et al., got "{got}": use `{name}="{wanted}"`.')
    w, a = problem.init.arrays()
    sign, c = np.sign(a), float(np.abs(a[0]))
    if np.ptp(np.abs(a)) > 4 * EPS * c or np.sum(sign) != 0:
        raise ValueError(
            f"Output weights must be +-c, half of each sign, got {np.sum(sign > 0)} plus and {np.sum(sign < 0)} minus "
            f"with sizes {np.abs(a).min():g} to {np.abs(a).max():g}: try `rf.init.fixed_output(2 * m, dim)`."
        )
    scale = c * (len(a) // 2)
    eta = 0.0
    if isinstance(method, Descent):
        if method.batch is not None and method.batch < problem.data.n:
            raise ValueError(f"The paper's descent takes full batches, got `batch={method.batch}`: leave it out.")
        if problem.activation.slope < 1.0 and problem.activation.at_zero != 1.0:
            raise ValueError(
                f"The paper takes s'(0) = 1, got `at_zero={problem.activation.at_zero:g}`: use "
                "`rf.LeakyReLU(slope, at_zero=1)`."
            )
        eta = method.step * scale**2
    data = problem.data
    return Setting(np.array(data.x), np.array(data.y), float(problem.activation.slope), eta, scale * w, sign, scale)
