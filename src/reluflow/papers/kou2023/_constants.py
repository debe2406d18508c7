r"""Constants the paper only says exist, measured on a path, and those it could have given.

pattern kernel   K_ik = y_i y_k G_ik (1/m^2) sum_{j,r} s'_{jri} s'_{jrk},      alpha = K^-1 1
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reluflow.claim import Claim
from reluflow.papers.kou2023._path import Path
from reluflow.papers.kou2023._setting import Setting


def class_sums(path: Path) -> np.ndarray:
    """sum_r |rho_{j,r,i}|, (F, 2, n): classes +1, -1."""
    size = np.abs(path.rho)
    return np.stack([size[:, path.of_class(j)].sum(axis=1) for j in (1, -1)], axis=1)


def least_ratio(size: np.ndarray, frames: np.ndarray) -> tuple[float, int]:
    """min over frames of the least over the largest entry of `size` (F, ...), and the frame."""
    flat = size[frames].reshape(len(frames), -1)
    ratio = flat.min(axis=1) / flat.max(axis=1)
    worst = int(np.argmin(ratio))
    return float(ratio[worst]), int(frames[worst])


def leaky_balance(path: Path) -> float:
    """c3 of Lemma B.3 (c1 of B.1): the least ratio of the sums over r, over gamma^2."""
    if path.at.gamma == 0:
        raise ValueError(
            "The leaky ReLU results divide by the slope, got slope 0: for ReLU see kou2023.lemma5_5 and theorem4_3."
        )
    return least_ratio(class_sums(path), path.trained)[0] / path.at.gamma**2


def relu_balance(path: Path) -> tuple[float, int]:
    """c1 of Lemma E.1: min of rho_{y_i,r,i}, r in S_i^(0), over max |rho|, over all t >= 1; and the frame."""
    at, frames = path.at, path.trained
    mine = np.where(at.started, path.rho[frames], np.inf).min(axis=(1, 2))
    ratio = mine / np.abs(path.rho[frames]).max(axis=(1, 2))
    worst = int(np.argmin(ratio))
    return float(ratio[worst]), int(frames[worst])


def log_tau_pattern(path: Path) -> float:
    """log of T_pat h, the paper's C': the unit time after which no bit changes; nan when switches are not all
    listed."""
    return path.log_pattern + float(np.log(path.at.unit))


def matches(path: Path, frame: int = -1) -> bool:
    """Whether sign <w_{j,r}, x_i> = j y_i for all j, r, i."""
    z = path.z[frame] * path.at.sign[:, None] * path.at.y
    return bool(np.all(z > 0))


def in_tail(path: Path, claims: list[Claim]) -> list[Claim]:
    """The claims, those about limits in time unfinished where a run ends before its tail.

    Margins are log s - log(n alpha_i) then, with alpha_i on orthogonal data as in `limits`; 3 is asked a decade before
    the end, where 1 + e^-M is 1 to 5% (ours). The time decides, not the run's own margins, which may be wrong.
    """
    at = path.at
    seen = (1.0 + at.gamma**2) if at.gamma > 0 else max(int(at.size.min()), 1) / at.m
    needed = 3.0 + np.log(10.0) + float(np.log(at.n * at.m / (seen * at.r_min**2)))
    missing = "" if path.log_s[-1] >= needed else f"a run up to s = e^{needed:.4g}, where all data are in their tail"
    return [replace(c, missing=missing) if c.kind == "limit" else c for c in claims]


def frozen(path: Path) -> np.ndarray:
    """Frames from the last change of a bit on; none when switches are not all listed.

    An iteration that changes a bit has it changed; a flow is on the kink at that moment, and past it later.
    """
    edge = 1e-12 * max(1.0, abs(path.log_pattern)) if np.isfinite(path.log_pattern) else 0.0
    return np.flatnonzero(path.log_s > path.log_pattern + (edge if path.at.eta == 0 else -edge))


def c1_condition(at: Setting, big_c: float, form: str = "corrected") -> float:
    """The right side of the condition on c1 at the end of the proof of E.1, with T1 = C nm/(eta R_max^2) put in.

    Printed with R_min^2 and R_max^2 bare, which have a dimension: scaling data and weights inversely changes nothing in
    training and changes that number.
    """
    low, high = (at.r_min**2, at.r_max**2) if form == "printed" else (at.ratio**-2, 1.0)
    below = np.log1p(0.2 * big_c * np.exp(-at.beta) * low)
    return float(below / (14.0 * np.log1p(1.2 * big_c * np.exp(2 * at.beta) * high)))


@dataclass(frozen=True, eq=False)
class Frozen:
    """Where a run goes whose bits no longer change: logistic regression on the features of its pattern [+]."""

    at: Setting
    bits: np.ndarray  # (2m, n)

    @cached_property
    def kernel(self) -> np.ndarray:
        at = self.at
        return np.outer(at.y, at.y) * at.gram * (self.bits.T @ self.bits) / at.m**2

    @cached_property
    def condition(self) -> float:
        """The condition number of the kernel; inf where it is singular."""
        return float(np.linalg.cond(self.kernel))

    @cached_property
    def alpha(self) -> np.ndarray:
        """K^-1 1; NaN where the kernel is singular to rounding."""
        if not self.condition < 1e12:
            return np.full(self.at.n, np.nan)
        return np.linalg.solve(self.kernel, np.ones(self.at.n))

    @property
    def rate(self) -> float:
        """Deviations from the limit die like s^-rate: the least eigenvalue of K diag(alpha)."""
        if not self.condition < 1e12:
            return float("nan")
        return float(np.min(np.linalg.eigvals(self.kernel * self.alpha).real))

    @property
    def slopes(self) -> np.ndarray:
        """Limits of rho/log t, (2m, n)."""
        at = self.at
        return self.bits * np.outer(at.sign, at.y) * at.norm2 * self.alpha / at.m

    @property
    def directions(self) -> np.ndarray:
        """Limits u of w/log t, (2m, d)."""
        return (self.slopes / self.at.norm2) @ self.at.x


def final_limit(path: Path) -> Frozen:
    """The limit of the pattern in the last frame."""
    return Frozen(path.at, path.bits)


def assumptions(at: Setting, leaky: bool) -> list[Claim]:
    """Assumptions of Theorem 4.1 (leaky) or 4.3 with C = 1, the least the unnamed large constant can be."""
    note = "needed for any C >= 1"
    kappa, name, beta = at.ratio**2 * at.kappa, "R^2 kappa", 1.0
    if leaky:
        name, beta = "gamma^-4 R^2 kappa", at.gamma
        kappa = kappa / at.gamma**4 if at.gamma > 0 else np.inf
    claims = [
        Claim(name, kappa, "<=", 1.0, note=note),
        Claim("h = eta R_max^2/(nm)", at.h, "<=", 1.0, note=note),
        Claim("beta, of gamma" if leaky else "beta", at.beta, "<=", beta, note=note),
    ]
    if leaky:
        return [Claim("gamma", at.gamma, ">", 0.0), Claim("gamma", at.gamma, "<", 1.0), *claims]
    return [Claim("gamma", at.gamma, "=", 0.0), *claims, Claim("least |S_i^(0)|/m", at.size.min() / at.m, ">=", 0.4)]
