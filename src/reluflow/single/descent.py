r"""Gradient descent on the population, at any scale.

With the target and kappa scaled to 1 (step eta kappa v*^2m), n = w/|w| and P = v_1 ... v_m, one step is

    w   <- (1 - eta P^2 / 2) w + (eta P / 2 pi) (phi e* + sin(phi) n)
    v_k <- v_k + (eta / 2 v_k) Q (s(phi) - Q),   Q = P |w|

with the old values on the right. The state is log |w|, n in the plane of w and w*, and log v_k; the component of w
across w* is only ever multiplied, so that small angles keep their digits. Descent does not keep |w| = v_k.
"""

import math

import numpy as np

from reluflow.single.angle import s_and_eps
from reluflow.single.problem import Problem

LOG_TWO_PI = math.log(2.0 * math.pi)


def descend(problem: Problem, step: float, iterations: int, every: int) -> dict:
    """Frames of log |w|, y, gap and log v_k at every `every`-th iteration, and whether numbers stayed finite."""
    layers, counts = problem.layers()
    log_w, outer = float(layers[0]), [float(v) for v in layers[1:]]
    if problem.balanced and problem.m:
        outer, counts = [log_w], [1, problem.m]
    counts = counts[1:] if problem.m else []
    log_eta = math.log(step) + problem.log_unit_time
    eta = math.exp(log_eta)
    across, along = _direction(problem.y0)
    kept = []
    finite, k = True, 0
    while True:
        if k % every == 0 or k == iterations:
            kept.append((k, log_w, _log_cot_half(across, along), *outer))
        if k == iterations:
            break
        log_p = sum(c * v for c, v in zip(counts, outer))
        phi, s, eps = _angle(across, along)
        lam = log_p + log_w
        log_pull = log_eta + log_p - LOG_TWO_PI
        if not (lam < 300.0 and log_p < 300.0):
            finite = False
            break
        force = 0.5 * eta * (s - math.exp(lam) if lam < -0.5 else -(math.expm1(lam) + eps))
        # w in units of e^top, so that neither |w| nor the pull on it underflows.
        top = max(log_w, log_pull)
        keep = math.exp(log_w - top) * (1.0 - 0.5 * eta * math.exp(2.0 * log_p))
        gain = math.exp(log_pull - top)
        keep += gain * across  # sin phi = across
        across, along = keep * across, keep * along + gain * phi
        for j, v in enumerate(outer):
            change = force * math.exp(lam - 2.0 * v)
            if change <= -1.0:
                raise ValueError(
                    f"`step` must keep every v_k positive, got {step:g}: iteration {k + 1} would carry one from "
                    f"{problem.target * math.exp(v):.6g} past 0, where the neuron is dead. Take a smaller `step`."
                )
            outer[j] = v + math.log1p(change)
        length = math.hypot(across, along)
        log_w = top + math.log(length)
        if across < 0.0:  # overshot the line of w*: the plane's other side is the same by symmetry
            across = -across
        across, along = across / length, along / length
        k += 1
    return _frames(problem, np.array(kept), counts, finite)


def _frames(problem: Problem, kept: np.ndarray, counts: list[int], finite: bool) -> dict:
    unit = problem.log_target
    outer = np.repeat(kept[:, 3:], counts, axis=1) if counts else np.empty((len(kept), 0))
    if not outer.shape[1] == problem.m:
        raise AssertionError("one column per outer layer")
    gap = kept[:, 1] + outer.sum(axis=1)
    return dict(k=kept[:, 0], log_norm=kept[:, 1] + unit, y=kept[:, 2], gap=gap, log_outer=outer + unit, finite=finite)


def _direction(y: float) -> tuple[float, float]:
    """n across and along w*: (sin theta, cos theta)."""
    if math.isinf(y):
        return 0.0, math.copysign(1.0, y)
    return 1.0 / math.cosh(y) if abs(y) < 700 else 2.0 * math.exp(-abs(y)), math.tanh(y)


def _angle(across: float, along: float) -> tuple[float, float, float]:
    """(phi, s, eps)."""
    if across == 0.0:
        return (math.pi, 1.0, 0.0) if along > 0 else (0.0, 0.0, 1.0)
    return s_and_eps(_log_cot_half(across, along))


def _log_cot_half(across: float, along: float) -> float:
    """y = log cot(theta / 2) = log tan(phi / 2)."""
    if across == 0.0:
        return math.copysign(math.inf, along)
    return math.log1p(along) - math.log(across) if along > 0 else math.log(across) - math.log1p(-along)
