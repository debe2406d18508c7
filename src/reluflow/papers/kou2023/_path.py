r"""The coefficients rho along a run [Definition 5.1, Lemma 5.2].

    w_{j,r} = w^(0)_{j,r} + sum_i rho_{j,r,i} x_i/|x_i|^2
    rho_{j,r,i} += (eta/(nm)) |l'_i| s'(<w_{j,r}, x_i>) |x_i|^2 j y_i

A path holds the first iterates of a descent, all of them by that recursion, and every frame of the Solution, where rho
is read from the weights (linearly independent data) or from the recursion carried on (dependent data).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.papers.kou2023._setting import EPS, Setting, setting

MOST = 200_000  # iterations the recursion is carried through when nothing else gives rho
SWITCHES = ("on", "off", "slide", "release_on", "release_off")


@dataclass(frozen=True, eq=False)
class Path:
    """States in order of time: `log_s` (F,), `rho` and `z` (F, 2m, n), `w` (F, 2m, d)."""

    at: Setting
    log_s: np.ndarray
    rho: np.ndarray
    w: np.ndarray
    error: float  # what rounding or the integrator may have done to an entry of rho or z
    log_pattern: float  # log s of the last change of a bit; -inf when there was none, nan when not all are listed
    bits: np.ndarray  # s' at the last frame, (2m, n): a flow may rest on a kink, so signs do not tell

    @property
    def log_tau(self) -> np.ndarray:
        return self.log_s + np.log(self.at.unit)

    @property
    def s(self) -> np.ndarray:
        return np.exp(self.log_s)

    @cached_property
    def z(self) -> np.ndarray:
        return self.w @ self.at.x.T

    @cached_property
    def margin(self) -> np.ndarray:
        """y_i f(W, x_i), (F, n)."""
        return self.at.margins(self.z)

    @cached_property
    def log_loss(self) -> np.ndarray:
        z = self.margin
        terms = np.where(z > 30.0, -z - 0.5 * np.exp(-z), np.log(np.logaddexp(0.0, -z)))
        return np.logaddexp.reduce(terms, axis=1) - np.log(self.at.n)

    def of_class(self, j: int) -> np.ndarray:
        """Rows of the neurons with output sign j."""
        return np.flatnonzero(self.at.sign == j)

    def mean_size(self, own: bool) -> np.ndarray:
        """(1/m) sum_r |rho_{j,r,i}| with j = y_i (own) or j = -y_i, (F, n)."""
        which = self.at.own if own else ~self.at.own
        return np.einsum("frn,rn->fn", np.abs(self.rho), which.astype(float)) / self.at.m

    @property
    def trained(self) -> np.ndarray:
        """Frames after the start."""
        found = np.flatnonzero(self.log_s > -np.inf)
        if not len(found):
            raise ValueError("A run must leave its start, got one that rests at s = 0: no datum has an active neuron.")
        return found

    def slopes(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """dv/d log s of frames v (F, ...) over the decade before the last, and over the last."""
        two, one, last = self.decades()
        return tuple((v[b] - v[a]) / (self.log_s[b] - self.log_s[a]) for a, b in ((two, one), (one, last)))

    def decades(self) -> tuple[int, int, int]:
        """Frames about two decades and one decade of time before the end, and the last."""
        last = len(self.log_s) - 1
        one = int(np.searchsorted(self.log_s, self.log_s[last] - np.log(10.0), side="right")) - 1
        two = int(np.searchsorted(self.log_s, self.log_s[one] - np.log(10.0), side="right")) - 1
        if two < 0 or self.log_s[two] == -np.inf:
            raise ValueError(
                f"A limit needs frames over two decades of time, got {len(self.log_s)} frames up to "
                f"s = {np.exp(self.log_s[last]):.3g}: run longer, or keep more with `rf.Save(times=...)`."
            )
        return two, one, last


def recursion(at: Setting, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """rho and z by the recursion alone, at the iterations `keep` (ascending, from 0): the weights are never formed."""
    rho, z = np.zeros_like(at.z0), at.z0.copy()
    kept_rho, kept_z = np.empty((len(keep), *rho.shape)), np.empty((len(keep), *rho.shape))
    drive = np.outer(at.sign, at.y) * (at.eta / (at.n * at.m))
    row = 0
    for k in range(int(keep[-1]) + 1):
        if k == keep[row]:
            kept_rho[row], kept_z[row] = rho, z
            row += 1
        force = 0.5 * (1.0 - np.tanh(0.5 * at.margins(z)))  # 1/(1+e^M), without overflow
        step = drive * force * np.where(z >= 0, 1.0, at.gamma)
        z = z + step @ at.gram
        rho = rho + step * at.norm2
    return kept_rho, kept_z


def weights(at: Setting, rho: np.ndarray) -> np.ndarray:
    """W from rho."""
    return at.w0 + (rho / at.norm2) @ at.x


def coefficients(at: Setting, w: np.ndarray) -> np.ndarray:
    """rho from W by least squares: the only ones when the data are linearly independent."""
    return (w - at.w0) @ np.linalg.pinv(at.x) * at.norm2


def frames(sol, at: Setting) -> np.ndarray:
    """The weights of a Solution's frames in the paper's units, (F, 2m, d)."""
    return at.scale * sol.w * np.exp(sol.log_scale)[..., None]


def path(sol, steps: int = 300) -> Path:
    """The path of a run: every frame of `sol`, and for a descent the iterates 0..`steps` by recursion."""
    at = setting(sol)
    log_s = sol.log_t + 2.0 * np.log(at.scale)
    w = frames(sol, at)
    independent = at.rank == at.n
    if at.eta > 0:
        k = np.rint(sol.t / sol.method.step)
        first = np.arange(0.0, min(steps, sol.stats.steps) + 1)
        if independent:
            rho = coefficients(at, w)
        else:
            if k[-1] > MOST:
                raise ValueError(
                    f"rho of linearly dependent data needs every iteration, got {k[-1]:.0f}: at most {MOST} are taken."
                )
            rho = recursion(at, k)[0]
        mine = recursion(at, first)[0]
        order = np.argsort(np.concatenate([first, k]), kind="stable")
        with np.errstate(divide="ignore"):
            log_s = np.concatenate([np.log(first * at.eta), log_s])[order]
        rho = np.concatenate([mine, rho])[order]
        w = np.concatenate([weights(at, mine), w])[order]
        error = rounding(sol, float(k[-1])) * float(np.max(np.linalg.norm(w, axis=-1))) * at.r_max
    else:
        if not independent:
            raise ValueError(f"rho in a flow needs linearly independent data, got rank {at.rank} for n = {at.n}.")
        rho = coefficients(at, w)
        error = 100.0 * sol.stats.rtol * max(1.0, float(np.max(np.abs(rho))))
    condition = float(np.linalg.cond(at.x)) if independent else 1.0
    return Path(at, log_s, rho, w, error * condition**2, _last_switch(sol, at), _last_bits(sol, at, w[-1]))


def rounding(sol, iterations: float) -> float:
    """What iterations do to a neuron, relative to its norm: a rounding of sums over n data and d entries each, and what
    leaps over many are off by."""
    regimes, data = sol.stats.regimes, sol.problem.data
    return EPS * (data.n + data.d) * (iterations + 10.0) + regimes.get("leaps", 0) * regimes.get("leap_tolerance", 0.0)


def _last_bits(sol, at: Setting, w: np.ndarray) -> np.ndarray:
    if at.eta > 0:
        return np.where(w @ at.x.T >= 0, 1.0, at.gamma)
    return sol.bits_at(log_t=float(sol.log_t[-1]))


def _last_switch(sol, at: Setting) -> float:
    if sol.stats.unrecorded:
        return float("nan")
    bits = np.isin(sol.events.kind, SWITCHES)
    if not np.any(bits):
        return -np.inf
    return float(np.max(sol.events.log_t[bits])) + 2.0 * float(np.log(at.scale))
