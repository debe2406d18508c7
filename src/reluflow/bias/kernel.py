r"""The tangent-kernel interpolant: the result of training if the network were linear in its weights.

    K(x, x') = sum_j a_j^2 m_j(x) m_j(x') <x, x'> + s(<w_j, x>) s(<w_j, x'>)        (the first sum alone: train="first")
    f_K(x)   = f_0(x) + K(x, X) K(X, X)^{-1} (y - f_0(X))

At a large scale the flow ends near f_K (lazy), at a small one far from it (rich). Log scales are factored out before K
is formed, so that e^-1000 causes no underflow.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow._checks import all_trained, one_of, one_output
from reluflow.bias._input import activation_of, as_data, outputs
from reluflow.data.core import Data
from reluflow.init import Params
from reluflow.problem import Problem


@dataclass(frozen=True, eq=False)
class Kernel:
    """The tangent kernel of the network `init` on `data`, and the function that interpolates with it.

    `gram` is K(X, X) e^{-`log_scale`}; `spectrum` its eigenvalues, largest first; `residual` is max |f_K - y| on the
    data: not 0 where K is singular.
    """

    data: Data
    init: Params
    slope: float = 0.0
    train: str = "both"

    @cached_property
    def log_scale(self) -> float:
        log_w, log_a = self.init.log_scales
        return 2.0 * float(max(np.max(log_w), np.max(log_a)))

    def between(self, x, z) -> np.ndarray:
        """K(x, z) e^{-log_scale} between rows of x and rows of z."""
        x, z = np.asarray(x, float), np.asarray(z, float)
        log_w, log_a = self.init.log_scales
        with np.errstate(under="ignore"):
            w = self.init.w * np.exp(log_w - 0.5 * self.log_scale)[:, None]
            a2 = (self.init.a * np.exp(log_a - 0.5 * self.log_scale)) ** 2
        u, v = x @ w.T, z @ w.T
        bits_x, bits_z = (
            np.where(x @ self.init.w.T > 0, 1.0, self.slope),
            np.where(z @ self.init.w.T > 0, 1.0, self.slope),
        )
        first = (bits_x * a2) @ bits_z.T * (x @ z.T)
        return first if self.train == "first" else first + (bits_x * u) @ (bits_z * v).T

    @cached_property
    def gram(self) -> np.ndarray:
        return self.between(self.data.x, self.data.x)

    @cached_property
    def spectrum(self) -> np.ndarray:
        return np.linalg.eigvalsh(self.gram)[::-1]

    @cached_property
    def _coefficients(self) -> np.ndarray:
        rest = self.data.y - outputs(self.init, self.data.x, self.slope)
        return np.linalg.lstsq(self.gram, rest, rcond=1e-13)[0]

    def __call__(self, x) -> np.ndarray:
        """f_K at the rows of x."""
        return outputs(self.init, x, self.slope) + self.between(x, self.data.x) @ self._coefficients

    @property
    def residual(self) -> float:
        return float(np.max(np.abs(self(self.data.x) - self.data.y)))

    def distance(self, trained, x=None, *, relative: str = "travel") -> float:
        """How far the trained function is from f_K, root mean squares over the rows of `x` (see `probe`).

        `relative="travel"`: |f - f_K| / |f_K - f_0|, the share of the way from f_0 that linearisation gets wrong;
        `relative="size"`: |f - f_K| / |f_K|. The two differ where f_0 is large against the labels. `trained` is a
        Solution (at its end) or a `Params`.
        """
        one_of("relative", relative, ("travel", "size"))
        x = probe(self.data) if x is None else np.asarray(x, float)
        params = getattr(trained, "final", trained)
        kernel = self(x)
        start = outputs(self.init, x, self.slope) if relative == "travel" else 0.0
        return float(np.linalg.norm(outputs(params, x, self.slope) - kernel) / np.linalg.norm(kernel - start))

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return {"log_scale": self.log_scale, "spectrum": self.spectrum.tolist(), "residual": self.residual}

    def __str__(self) -> str:
        top, low = self.spectrum[0], self.spectrum[-1]
        return (
            f"Tangent kernel of {self.init!r}: eigenvalues {low:.4g} .. {top:.4g} times e^{self.log_scale:.6g}, "
            f"interpolates to {self.residual:.2g}"
        )

    __repr__ = __str__


def kernel(data, init: Params | None = None, *, activation=None) -> Kernel:
    """The tangent kernel at `init` on `data`; for a Problem or a Solution, at its own."""
    problem = getattr(data, "problem", data)
    if init is None:
        init = getattr(problem, "init", None)
    if not isinstance(init, Params):
        raise TypeError("`rf.bias.kernel` needs initial weights: pass `rf.init.balanced(...)`, or a Problem.")
    all_trained(init, "`rf.bias.kernel`")
    one_output(init, "`rf.bias.kernel`")
    found = as_data(data, "rf.bias.kernel")
    if init.dim != found.d:
        raise ValueError(f"`init` must have the data's dimension, got {init.dim} for d = {found.d}: use `dim=data.d`.")
    return Kernel(found, init, activation_of(data, activation).slope, getattr(problem, "train", "both"))


def probe(data: Data, count: int = 400) -> np.ndarray:
    """Where functions are compared: a grid over the points of a line with a bias column and 1 beyond, else random
    inputs of the data's mean norm."""
    if data.d == 2 and np.ptp(data.x[:, 1]) == 0 and data.x[0, 1] != 0:
        grid = np.linspace(data.x[:, 0].min() - 1.0, data.x[:, 0].max() + 1.0, count)
        return np.column_stack([grid, np.full(count, data.x[0, 1])])
    z = np.random.default_rng([0, 3]).normal(size=(count, data.d))
    return z / np.linalg.norm(z, axis=1, keepdims=True) * np.mean(np.linalg.norm(data.x, axis=1))


@dataclass(frozen=True, eq=False)
class LazyRich:
    """For every scale: `distance` of the trained function to its kernel interpolant, `moved` = |K_end - K_0| / |K_0|,
    and the loss the run ended at."""

    log_scale: np.ndarray
    distance: np.ndarray
    moved: np.ndarray
    log_loss: np.ndarray

    def __str__(self) -> str:
        lines = [f"{'log scale':>12}{'distance':>12}{'K moved':>12}{'loss':>12}"]
        for row in zip(self.log_scale, self.distance, self.moved, self.log_loss):
            lines.append(f"{row[0]:>12.5g}{row[1]:>12.4g}{row[2]:>12.4g}{np.exp(row[3]):>12.4g}")
        return "\n".join(lines)

    __repr__ = __str__


def lazy_rich(problem: Problem, log_scales, method=None, t1: float | None = None, **options) -> LazyRich:
    """Trains `problem` from each of `log_scales` (until convergence, or to t1) and measures how lazy each run is."""
    from reluflow._early import at_scale
    from reluflow.solve import solve, whole_runs

    one_output(problem, "`rf.bias.lazy_rich`")
    rows = []
    for log_scale in np.atleast_1d(np.asarray(log_scales, float)):
        own = at_scale(problem, float(log_scale))
        with whole_runs():
            sol = solve(own, method, t1, **options)
        k = kernel(own)
        rows.append((float(log_scale), k.distance(sol), moved(k, sol.final), float(sol.log_loss[-1])))
    return LazyRich(*np.array(rows).T)


def moved(start: Kernel, params: Params) -> float:
    """|K_end - K_0| / |K_0| in the Frobenius norm."""
    end = Kernel(start.data, params, start.slope, start.train)
    with np.errstate(over="ignore"):
        ratio = np.exp(end.log_scale - start.log_scale)
        return float(np.linalg.norm(end.gram * ratio - start.gram) / np.linalg.norm(start.gram))


@dataclass(frozen=True, eq=False)
class KernelPath:
    """Along a run: eigenvalues of K, largest first, (times, n), and the sharpness, the largest eigenvalue of the
    Hessian of the loss in the cell the run is in."""

    log_t: np.ndarray
    spectrum: np.ndarray
    sharpness: np.ndarray


def kernel_path(sol, t=None, *, log_t=None) -> KernelPath:
    """Spectrum and sharpness at the times given, or at a few dozen of the run's own."""
    from reluflow.bias.landscape import landscape

    if t is None and log_t is None:
        log_t = sol.log_t[np.unique(np.linspace(0, len(sol.log_t) - 1, 30).astype(int))]
    with np.errstate(divide="ignore"):
        log_t = np.atleast_1d(np.log(np.asarray(t, float)) if log_t is None else np.asarray(log_t, float))
    one_output(sol.problem, "`rf.bias.kernel_path`")
    slope, train = sol.problem.activation.slope, sol.problem.train
    rows = [Kernel(sol.problem.data, p, slope, train) for p in sol.at(log_t=log_t)]
    with np.errstate(under="ignore"):
        spectrum = np.array([k.spectrum * np.exp(k.log_scale) for k in rows])
    sharp = np.array([landscape(sol, log_t=float(s)).top for s in log_t])
    return KernelPath(log_t, spectrum, sharp)
