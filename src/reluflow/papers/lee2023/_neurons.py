r"""The runs of Figures 1 to 3: one, two and three layers from small, middle and large norms, for both readings of k.

    w* ~ N(0, k* I),   w_0 ~ N(0, k I),   k = k*/10, k*, 2 k* (SN, MN, LN);   k a standard deviation, or a variance

Iterations are counted in the paper's own steps: a run with ten times the step makes a tenth of them and is at the same
times. Every run is there twice, by descent on a sample and by descent on the population. Magnitudes are |w|/|w*|.
"""

import math
from functools import lru_cache

import numpy as np

from reluflow._checks import one_of
from reluflow.methods import Descent
from reluflow.papers.lee2023._bounds import angle_rates, printed_angles, range_of
from reluflow.papers.lee2023.theorem_a3 import _square
from reluflow.single import Problem, Sample, angle, draw, solve

READINGS = ("std", "variance")
NAMES = ("SN", "MN", "LN")
RATIOS = (0.1, 1.0, 2.0)
WORDS = {"std": "standard deviation", "variance": "variance"}
FRAMES = 1001


def start_of(layers: int, k_star: float, ratio: float, reading: str, d: int, start: str, seed: int) -> Problem:
    """`start="expected"`: |w*|, |w_0| and the angle that draws concentrate at, k sqrt(d) and pi/2; "drawn": a draw."""
    if one_of("start", start, ("expected", "drawn")) == "drawn":
        return draw(layers - 1, d, k_star, ratio, reading=reading, seed=seed)
    power = 1.0 if reading == "std" else 0.5
    target, norm = (k**power * math.sqrt(d) for k in (k_star, ratio * k_star))
    return Problem(m=layers - 1, norm=norm, phi=math.pi / 2, target=target)


@lru_cache(maxsize=64)
def run(
    problem: Problem, step: float, faster: int, last: int, n: int, d: int, seed: int, frames: int = FRAMES
) -> dict[str, np.ndarray]:
    """`frames` frames over `last` iterations of `step`, made with `faster` times the step.

    y = log tan(phi/2), phi and v = |w|/|w*|, by the sample and (`population_...`) by the population.
    """
    made: dict[str, np.ndarray] = {}
    for name, sample in (("", Sample(n, d, seed)), ("population_", None)):
        done = solve(problem, Descent(step=faster * step), last * step, sample=sample, frames=frames)
        made[f"{name}y"] = done.y
        made[f"{name}phi"] = done.phi
        made[f"{name}v"] = np.exp(done.log_norm - problem.log_target)
    made["iteration"] = done.iteration * faster
    return made


def printed_range(problem: Problem, name: str) -> tuple[float, float]:
    """log r and log R in units of |w*| as the paper's Appendix D.3 chooses them."""
    v0 = problem.log_v0 - problem.log_target
    half = -math.log(2.0)
    return {"SN": (v0, 0.0), "MN": (half, max(v0, 0.0)), "LN": (half, v0)}[name]


def legitimate_range(problem: Problem, name: str, least: float) -> tuple[float, float]:
    """log r and log R that do bound v: the paper's r where the run's least v/v* is not below it (else, or where it is
    larger, min(v_0, v* s(phi_0)^(1/(m+1)))), and R = max(v_0, v*), which is the paper's."""
    r, R = range_of(problem)
    theirs = printed_range(problem, name)[0]
    return max(r, theirs) if theirs <= math.log(least) else r, R


def angle_bounds(
    problem: Problem, log_range: tuple[float, float], step: float, T: np.ndarray, form: str
) -> tuple[np.ndarray, np.ndarray]:
    r"""Lower and upper bounds on phi(T), Theorems A.2 (one layer) and 4.2.

    Printed: $\pi - 2c(1-a_{lo}\eta)^T$ and
    $\pi - 2c(1-a_{hi}\eta)^T + \frac23 c^3 (1-3a_{hi}\eta)^T$, which is above pi, and says nothing, at first.
    Corrected, exact for every step given r <= v <= R (`_steps`): tan(phi/2) / tan(phi_0/2) is between
    $(1 + q_{lo})^T$ and $(1 - q_{hi})^{-T}$, with $q = \eta a/\alpha$ and $\alpha$ in
    $[1 - \eta R^{2m}/2,\ 1 + \eta a_{hi}/\pi]$: sharper, and phi_0 at T = 0.
    """
    eta = unit_step(problem, step)
    lo, hi = (eta * math.exp(a) for a in angle_rates(problem, *log_range))
    if form == "corrected":
        slow = math.log1p(lo / (1.0 + hi / math.pi))
        fast = -math.log1p(-hi / (1.0 - 0.5 * eta * math.exp(2 * problem.m * log_range[1])))
        return angle.angles(problem.y0 + slow * T)[0], angle.angles(problem.y0 + fast * T)[0]
    cube = T * (math.log1p(-3 * hi) if 3 * hi < 1 else -math.inf)
    top, bottom = printed_angles(problem.y0, T * math.log1p(-lo), T * math.log1p(-hi), cube)
    return math.pi - np.exp(top), math.pi - np.exp(bottom)


def magnitude(m: int, v0: float, eps: float, eta: float, T: np.ndarray) -> np.ndarray:
    """The bounds of Theorems A.1 (m = 0) and A.3 (m = 1) on v/v*, T steps after v_0; lower with eps_0, upper with 0.

    `eta` is the step in unit time, eta v*^2m.
    """
    a = 1.0 - eps
    if m == 0:
        return a + (v0 - a) * (1.0 - 0.5 * eta) ** T
    return np.sqrt(_square(a, v0 * v0, eta, T))


def unit_step(problem: Problem, step: float) -> float:
    """eta v*^2m: the step where the target is 1."""
    return step * math.exp(problem.log_unit_time)


def eps_of(y) -> np.ndarray:
    """1 - s(phi) from log tan(phi/2)."""
    return angle.eps(angle.angles(y)[1])


def band(
    made: dict, problem: Problem, step: float, at: int, faster: int = 1, prefix: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds on v/v* restarted at iteration `at`, for the steps that were made; NaN before it."""
    count = made["iteration"]
    k = int(np.searchsorted(count, at))
    T = np.where(count >= count[k], count - count[k], np.nan) / faster
    v0, eps0 = float(made[f"{prefix}v"][k]), float(eps_of(made[f"{prefix}y"][k]))
    low, high = (magnitude(problem.m, v0, e, unit_step(problem, faster * step), T) for e in (eps0, 0.0))
    return low, high


def outside(v, low, high) -> float:
    """By how much v leaves its bounds, at worst; negative when it never does."""
    return float(np.maximum(low - v, v - high).max())


# Drawing --------------------------------------------------------------------------------------------------------------


def other(reading: str) -> str:
    """The reading of k that is not `reading`."""
    return READINGS[1 - READINGS.index(reading)]


def titles(axes, starts, ratios) -> None:
    """A column's start over its first panel."""
    sizes = dict(zip(NAMES, ("small", "middle", "large")))
    for ax, start, ratio in zip(axes, starts, ratios):
        ax.set_title(f"{start}, {sizes[str(start)]}: |w₀| = {float(ratio):.2g} |w*|")


def said_of_draws(ds) -> str:
    """A sentence for captions about where the runs start."""
    if ds.attrs["begin"] == "expected":
        return " The start has the norms and the angle that draws concentrate at."
    return f" {1 + ds.sizes['draw']} random draws of w*, w₀ and the points, the first thick, with its bounds."


def layers_of(count: int) -> str:
    return f"{count} layer{'s' if count > 1 else ''}"


def key(ax, lines, top: float, gap: float) -> None:
    """What the colours are, one line each, along the right of the axes."""
    for k, (text, colour) in enumerate(lines):
        ax.text(0.98, top - gap * k, text, color=colour, fontsize=7, ha="right", transform=ax.transAxes)
