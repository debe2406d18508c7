r"""Gradient descent on a finite sample, with the loss (1/2n) sum_i (f(x_i) - f*(x_i))^2.

Coordinates: w* lies along the first axis and w_0 in the plane of the first two. For a spherically symmetric law that
is no loss of generality, and only the product v*^(m+1) enters the labels.

While no datum changes sides the gradient is P^2 A w - P b, with A = (1/n) sum_active x x^T and b = (1/n) sum_active y
x. A datum can only change sides when w has moved by |<w, x>| / |x|; until then it is skipped. The iterates are
those of plain descent (up to rounding), at a small fraction of the products.
"""

import math
from dataclasses import dataclass

import numpy as np

from reluflow._checks import as_finite, number, one_of, whole
from reluflow.single.law import Gaussian, Law
from reluflow.single.problem import Problem

AHEAD = 32  # steps for which the data that may change sides are gathered


@dataclass(frozen=True, eq=False)
class Sample:
    """`n` inputs in `d` dimensions from the problem's law, or the rows of `x` (w* along its first axis).

    Inputs come from `numpy.random.default_rng([seed, 1])`.
    """

    n: int = 10_000
    d: int = 100
    seed: int = 0
    x: np.ndarray | None = None

    def __post_init__(self):
        if self.x is not None:
            x = as_finite("x", self.x, ndim=2, hint="give one row per input")
            x.setflags(write=False)
            for name, value in (("x", x), ("n", x.shape[0]), ("d", x.shape[1])):
                object.__setattr__(self, name, value)
        whole("n", self.n, least=1, hint="the paper uses 10000")
        whole("d", self.d, least=2, hint="the angle between w and w* needs a plane")
        whole("seed", self.seed, least=0, hint="any non-negative seed")

    def inputs(self, law: Law) -> np.ndarray:
        if self.x is not None:
            return self.x
        return law.draw(np.random.default_rng([self.seed, 1]), self.n, self.d)

    def __repr__(self) -> str:
        return f"Sample(n={self.n}, d={self.d}" + (")" if self.x is not None else f", seed={self.seed})")


def draw(m: int, d: int, k_star: float, ratio: float, *, reading: str = "std", seed: int = 0) -> Problem:
    """The paper's start: w* ~ N(0, k* I), then w_0 ~ N(0, ratio k* I), balanced, in `d` dimensions.

    `reading="std"` takes k as a standard deviation, as the paper's text suggests; `"variance"` as in its formula.
    """
    one_of("reading", reading, ("std", "variance"))
    for name, value in (("k_star", k_star), ("ratio", ratio)):
        number(name, value, rule="positive and finite", ok=lambda v: 0 < v < np.inf, hint="it scales the weights")
    rng, power = np.random.default_rng(seed), 1.0 if reading == "std" else 0.5
    w_star = k_star**power * rng.normal(size=d)
    w = (ratio * k_star) ** power * rng.normal(size=d)
    return Problem.between(w, w_star, m=m, law=Gaussian())


def descend(problem: Problem, sample: Sample, step: float, iterations: int, every: int) -> dict:
    """Frames as in `descent.descend`, with the loss on the sample."""
    if (problem.m + 1) * problem.log_v0 < -600.0:
        raise ValueError(
            f"`log_norm` must be above {-600 / (problem.m + 1):g} on a sample, got {problem.log_v0:.6g}: the output "
            "would underflow. Omit `sample` for the population, which has no such limit."
        )
    state = _State(problem, sample.inputs(problem.law))
    kept, finite = [], True
    for k in range(iterations + 1):
        gw, force = state.gradient()
        if k % every == 0 or k == iterations:
            kept.append((k, *state.observe()))
        if k == iterations:
            break
        finite = state.move(step, gw, force, k + 1)
        if not finite:
            break
    rows = np.array(kept)
    return dict(
        k=rows[:, 0],
        log_norm=rows[:, 1],
        y=rows[:, 2],
        gap=rows[:, 3],
        train_loss=rows[:, 4],
        log_outer=rows[:, 5:],
        finite=finite,
    )


class _State:
    """Weights, and the sums over the active data."""

    def __init__(self, problem: Problem, x: np.ndarray):
        self.problem, self.n = problem, len(x)
        self.x, self.lengths = x, np.linalg.norm(x, axis=1)
        self.scale = math.exp((problem.m + 1) * problem.log_target)  # v*^(m+1)
        self.y = self.scale * np.maximum(x[:, 0], 0.0)
        across, along = (1.0 / math.cosh(problem.y0), math.tanh(problem.y0)) if abs(problem.y0) < 700 else (0.0, 1.0)
        if problem.y0 < -700:
            along = -1.0
        self.w = np.zeros(x.shape[1])
        self.w[:2] = problem.v0 * along, problem.v0 * across
        self.v = problem.v0 * np.array(problem.outer or (1.0,) * problem.m)
        self.on = x @ self.w > 0.0
        active = x[self.on]
        self.A, self.b = active.T @ active / self.n, active.T @ self.y[self.on] / self.n
        self.mean_square = float(self.y @ self.y) / self.n
        self.reference, self.reach, self.moved = self.w, 0.0, 0.0
        self.near = np.arange(0)

    def gradient(self) -> tuple[np.ndarray, float]:
        """dL/dw and v_k dL/dv_k, the same for every k."""
        p = math.prod(self.v)
        self.Aw = self.A @ self.w
        gw = p * p * self.Aw - p * self.b
        return gw, float(gw @ self.w)

    def observe(self) -> tuple[float, ...]:
        """log |w|, y, gap, the sample's loss, log v_k."""
        w, p = self.w, math.prod(self.v)
        length, across = float(np.linalg.norm(w)), float(np.linalg.norm(w[1:]))
        along = float(w[0])
        if across == 0.0:
            y = math.copysign(math.inf, along)
        else:
            y = math.log((length + along) / across) if along > 0 else math.log(across / (length - along))
        logs = np.log(self.v)
        gap = math.log(length) + float(logs.sum()) - (self.problem.m + 1) * self.problem.log_target
        loss = 0.5 * (p * p * float(w @ self.Aw) - 2.0 * p * float(w @ self.b) + self.mean_square)
        return math.log(length), y, gap, max(loss, 0.0), *logs

    def move(self, step: float, gw: np.ndarray, force: float, k: int) -> bool:
        v = self.v - step * force / self.v
        if np.any(v <= 0.0):
            raise ValueError(
                f"`step` must keep every v_k positive, got {step:g}: iteration {k} would carry one past 0, where the "
                "neuron is dead. Take a smaller `step`."
            )
        self.w, self.v = self.w - step * gw, v
        if not (np.all(np.isfinite(self.w)) and np.all(np.isfinite(v)) and np.linalg.norm(self.w) > 0.0):
            return False
        if np.linalg.norm(self.w - self.reference) > self.reach:
            self._look_at_all(AHEAD * step * float(np.linalg.norm(gw)))
        elif len(self.near):
            self._update(self.near, self.near_x @ self.w > 0.0)
        return True

    def _look_at_all(self, reach: float):
        z = self.x @ self.w
        self._update(slice(None), z > 0.0)
        # Outside `near`, |<w - reference, x>| <= reach |x| < |<reference, x>|: no side changes.
        self.near = np.flatnonzero(np.abs(z) <= reach * self.lengths * (1.0 + 1e-9))
        self.near_x = np.ascontiguousarray(self.x[self.near])
        self.reference, self.reach = self.w, reach

    def _update(self, rows, on: np.ndarray):
        changed = np.flatnonzero(on != self.on[rows])
        if not len(changed):
            return
        at = changed if isinstance(rows, slice) else rows[changed]
        self.on[at] = on[changed]
        x, sign = self.x[at], np.where(self.on[at], 1.0, -1.0) / self.n
        self.A += (x * sign[:, None]).T @ x
        self.b += x.T @ (sign * self.y[at])
