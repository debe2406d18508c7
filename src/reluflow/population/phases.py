r"""Training on the population as a sequence of phases, by the rules of `reluflow.phases`.

    alignment     from the start, while E f^2 <= tol^2 E f*^2
    plateau       |dL/dt| T < L / 100, T the longest growth time of a neuron that grew
    growth        between those
    convergence   the last growth, once the loss is 1% of what it was at its start

The phases are read off the run's frames: edges are interpolated between them.
"""

import numpy as np

from reluflow._checks import number
from reluflow.phases import Phase, Phases, runs_of

SLOW = 0.01  # of the loss in one growth time
SHARE = 1e-3  # of the largest neuron: below it a neuron does not count
NOISE = 1e-14  # of the first loss


def phases(sol, tol: float = 1e-2) -> Phases:
    """The phases of a run; `tol` is the share of the teacher's size below which the student counts as nothing."""
    tol = number("tol", tol, rule="in (0, 1)", ok=lambda v: 0.0 < v < 1.0, hint="0.01 is the default")
    t, loss = sol.t, np.maximum(sol.loss, NOISE * sol.loss[0])
    size = sol.log_norm + sol.log_output
    top = np.max(size, axis=1)
    peak = np.max(size, axis=0)
    grew = (peak > np.max(peak) + np.log(SHARE)) & (peak - size[0] > 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.max(np.diff(size[:, grew], axis=0) / np.diff(t)[:, None], axis=0, initial=0.0)
        span = 2.0 / np.min(rate) if np.any(grew) and np.min(rate) > 0 else np.inf
        pace = np.abs(np.diff(np.log(loss))) / np.diff(t) * (span if np.isfinite(span) else t[-1])
    v, b = sol.problem.teacher.arrays()
    level = np.log(tol * float(np.sum(np.abs(b) * np.linalg.norm(v, axis=1))))
    small = top < level
    start = int(np.argmin(small)) if not np.all(small) else len(t) - 1
    kinds: list[tuple[str, int, int]] = [("alignment", 0, start)] if start > 0 else []
    slow = np.nan_to_num(pace[start:]) < SLOW
    slow = _long_enough(slow, np.diff(t)[start:], 0.5 * span if np.isfinite(span) else 0.0)
    kinds += [("plateau" if slow[k] else "growth", start + k, start + end) for k, end in runs_of(slow)]
    return Phases(_told(kinds, t, loss, size))


def _long_enough(flags: np.ndarray, length: np.ndarray, least: float) -> np.ndarray:
    """Plateaus shorter than `least` belong to the growth around them."""
    out = flags.copy()
    for k, end in runs_of(flags):
        if flags[k] and end < len(flags) and np.sum(length[k:end]) < least:
            out[k:end] = False
    return out


def _told(kinds, t, loss, size) -> list[Phase]:
    rows = []
    for place, (kind, lo, hi) in enumerate(kinds):
        value = loss[hi]
        if kind == "alignment":
            value = loss[0]
        elif kind == "plateau":
            value = loss[(lo + hi) // 2]
        neurons: tuple[int, ...] = ()
        half = None
        if kind == "growth":
            gain = np.exp(size[hi]) - np.exp(size[lo])
            neurons = tuple(np.flatnonzero((size[hi] - size[lo] > np.log(2.0)) & (gain > SHARE * gain.max())).tolist())
            middle = 0.5 * (loss[lo] + loss[hi])
            at = lo + int(np.argmax(loss[lo : hi + 1] <= middle))
            half = float(np.interp(-middle, -loss[at - 1 : at + 1], t[at - 1 : at + 1])) if at > 0 else float(t[0])
            if place == len(kinds) - 1 and loss[hi] < 0.01 * loss[lo]:
                cut = lo + int(np.argmax(loss[lo : hi + 1] < 0.01 * loss[lo]))
                rows += [_phase("growth", t, lo, cut, loss[cut], neurons, half)]
                rows += [_phase("convergence", t, cut, hi, loss[hi], neurons)]
                continue
        if kind == "plateau" and place == len(kinds) - 1 and loss[hi] <= 1e-12 * loss[0]:
            kind = "convergence"
        rows.append(_phase(kind, t, lo, hi, value, neurons, half))
    return rows


def _phase(kind: str, t, lo: int, hi: int, loss: float, neurons=(), half=None) -> Phase:
    with np.errstate(divide="ignore"):
        first, last, level = np.log([t[lo], t[hi], loss]).tolist()
    return Phase(kind, float(t[lo]), float(t[hi]), first, last, level, neurons, half)
