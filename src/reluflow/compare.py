"""Descent compared with the flow: the same problem by both methods, at the same times.

    gap(t) = max_i |f_i^descent - f_i^flow|       parted: the first iteration with gap > tol max(1, max_i |y_i|)

Bits differ where descent's s'(<w_j, x_i>) is not the flow's; a datum on which the flow slides is not counted, because
descent switches back and forth there. A flip is a neuron whose a_j has another sign at the end than at the
start.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reluflow import _html
from reluflow._checks import by_name, number, shown, whole
from reluflow.drive.loop import Progress
from reluflow.methods import Descent, Flow, Limits
from reluflow.phases import Phase, Phases
from reluflow.problem import Problem
from reluflow.solution import Solution
from reluflow.solve import solve, whole_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Comparison:
    """A flow and a descent of one problem; the arrays are columns over common times `t`."""

    flow: Solution
    descent: Solution
    tol: float
    t: np.ndarray
    loss_flow: np.ndarray
    loss_descent: np.ndarray
    gap: np.ndarray  # largest difference of an output
    bits: np.ndarray  # how many of the width * n bits differ
    parted: float | None  # first time the outputs differ by more than `tol` max(1, max |y|); None: never

    @cached_property
    def phases(self) -> tuple[Phases, Phases]:
        """The phases of the flow and of the descent."""
        return self.flow.phases(), self.descent.phases()

    @cached_property
    def shifts(self) -> list[tuple[Phase, Phase | None, float | None]]:
        """(the flow's phase, descent's counterpart, how much later descent enters it; negative: earlier).

        Counterparts are of one kind and in order, and their losses on entering (of plateaus also on the plateau) agree
        within a factor of two; of several such pairings it is the one with the nearest losses.
        """
        mine, theirs = self.phases
        other = _counterparts(mine, theirs, float(np.log(self.loss_flow[0])))
        found = [None if k is None else theirs[k] for k in other]
        return [(p, q, None if q is None else q.start - p.start) for p, q in zip(mine, found, strict=True)]

    @cached_property
    def extra_phases(self) -> tuple[Phase, ...]:
        """Descent's phases without a counterpart in the flow."""
        paired = [id(q) for _, q, _ in self.shifts]
        return tuple(q for q in self.phases[1] if id(q) not in paired)

    @cached_property
    def flips(self) -> np.ndarray:
        """Neurons whose output weight changed sign in descent from start to end."""
        return _flipped(self.descent)

    @cached_property
    def flow_flips(self) -> np.ndarray:
        """The same in the flow, where only unbalanced neurons can."""
        return _flipped(self.flow)

    @cached_property
    def trapped(self) -> bool:
        """True when descent ends on a plateau that the flow has left for a smaller loss."""
        last = self.phases[1][-1]
        return last.kind == "plateau" and self.loss_flow[-1] < 0.9 * self.loss_descent[-1]

    def summary(self) -> str:
        """A summary in sentences."""
        end, n_bits = self.t[-1], self.bits.size and int(np.max(self.bits))
        said = [
            f"Descent with step {self.step:g} against the flow at rtol {self.flow.stats.rtol:g}, "
            f"up to t = {end:.6g} ({self.descent.stats.steps} iterations)."
        ]
        if self.parted is None:
            said.append(f"They stay together: outputs differ by {np.max(self.gap):.2g} at most.")
        else:
            said.append(
                f"They separate at t = {self.parted:.6g}, where outputs first differ by over {self.threshold:.2g}; "
                f"the largest difference is {np.max(self.gap):.3g}, at t = {self.t[np.argmax(self.gap)]:.6g}, and the "
                f"last {self.gap[-1]:.3g}."
            )
        if self.trapped:
            last = self.phases[1][-1]
            left = [p for p in self.phases[0]["plateau"] if abs(p.loss - last.loss) <= 0.02 * last.loss]
            passes = f" leaves it at t = {left[-1].end:.6g} and" if left else ""
            said.append(
                f"Descent is trapped: from t = {last.start:.6g} on it stays at loss {last.loss:.6g}, a saddle, "
                f"while the flow{passes} has loss {self.loss_flow[-1]:.6g} at the end."
            )
        else:
            said.append(
                f"At the end the losses are {self.loss_descent[-1]:.6g} (descent) and {self.loss_flow[-1]:.6g} (flow)."
            )
        width = self.flow.problem.init.width
        both = f", and {len(self.flow_flips)} in the flow" if len(self.flow_flips) else "; in the flow none did"
        flips = f"{len(self.flips)} of {width} output weights changed sign in descent{both}"
        if self.flow.problem.outputs == 1:
            said.append((flips if len(self.flips) else "No output weight changed sign in descent") + ".")
        of = width * self.flow.problem.data.n
        said.append(f"At most {n_bits} of {of} activation bits differ at one of the times compared.")
        moved = [_moved(p, shift) for p, _, shift in self.shifts if shift is not None and p.start > 0]
        if moved:
            said.append(f"Phases of descent against those of the flow: {', '.join(moved)}.")
        missing = [_named(p) for p, q, _ in self.shifts if q is None]
        if missing:
            said.append(f"Only the flow has {' and '.join(missing)}.")
        more = [_named(q) for q in self.extra_phases]
        if more:
            said.append(f"Only descent has {' and '.join(more)}.")
        return " ".join(said)

    @property
    def step(self) -> float:
        """The step of the descent."""
        assert isinstance(self.descent.method, Descent)
        return self.descent.method.step

    @property
    def threshold(self) -> float:
        """The difference of outputs that counts as separation."""
        return self.tol * max(1.0, float(np.max(np.abs(self.flow.problem.targets))))

    def __repr__(self) -> str:
        lines = [f"{'t':>12}{'loss (flow)':>16}{'loss (descent)':>16}{'output gap':>14}{'bits':>8}"]
        for k in np.unique(np.linspace(0, len(self.t) - 1, 9).astype(int)):
            losses = f"{self.loss_flow[k]:>16.8g}{self.loss_descent[k]:>16.8g}"
            lines.append(f"{self.t[k]:>12.6g}{losses}{self.gap[k]:>14.3g}{self.bits[k]:>8d}")
        lines += [
            "",
            f"{'phase':<12}{'flow from':>12}{'descent from':>14}{'shift':>12}{'flow loss':>14}{'descent loss':>14}",
        ]
        for p, q, shift in self.shifts:
            other = f"{'-':>14}{'-':>12}" if q is None else f"{q.start:>14.6g}{shift:>12.3g}"
            lines.append(
                f"{p.kind:<12}{p.start:>12.6g}{other}{p.loss:>14.6g}{'-' if q is None else format(q.loss, '.6g'):>14}"
            )
        return "\n".join([*lines, "", self.summary()])

    def _repr_html_(self) -> str:
        return _html.text(self.summary()) + _html.figure(self.figure())

    def figure(self) -> Figure:
        """Losses, output gap and differing bits over time, as a matplotlib figure."""
        from reluflow.plot.shown import Picture

        fig = Picture(figsize=(7.0, 7.5), layout="constrained")
        top, middle, bottom = fig.subplots(3, 1, sharex=True)
        top.semilogy(self.t, self.loss_flow, color="C0", label="flow")
        top.semilogy(self.t, self.loss_descent, color="C3", ls="--", label=f"descent, step {self.step:g}")
        top.set_ylabel("loss")
        middle.semilogy(self.t, np.maximum(self.gap, 1e-17), color="k", lw=1)
        middle.axhline(self.threshold, color="0.6", lw=0.8)
        middle.set_ylabel("largest output gap")
        bottom.step(self.t, self.bits, where="post", color="k", lw=1)
        bottom.set_ylabel("bits that differ")
        bottom.set_xlabel("t")
        for k, when in enumerate(self.descent.events["sign"].t):
            bottom.axvline(when, color="C3", lw=0.6, label="sign of some $a_j$ flips" if k == 0 else None)
        for axes in (top, middle, bottom):
            if self.parted is not None:
                axes.axvline(self.parted, color="C1", lw=0.8, ls=":", label="they part" if axes is top else None)
        top.legend(frameon=False)
        if len(self.descent.events["sign"]):
            bottom.legend(frameon=False)
        return fig


def _counterparts(mine: Sequence[Phase], theirs: Sequence[Phase], log_start: float) -> list[int | None]:
    """For each phase of `mine` the index of its counterpart in `theirs`, in order; None: none.

    `log_start` is the log loss at the start of both runs.
    """
    one, two = ([log_start, *(p.log_loss for p in phases[:-1])] for phases in (mine, theirs))
    apart = [[_apart(p, enters, q, on) for q, on in zip(theirs, two)] for p, enters in zip(mine, one)]
    gain = np.log(2.0) - np.array(apart)
    best = np.zeros((len(mine) + 1, len(theirs) + 1))  # the most that the phases from i and from k on can gain
    for i in reversed(range(len(mine))):
        for k in reversed(range(len(theirs))):
            best[i, k] = max(best[i + 1, k], best[i, k + 1], gain[i, k] + best[i + 1, k + 1])
    found: list[int | None] = []
    k = 0
    for i in range(len(mine)):
        while k < len(theirs) and best[i, k] == best[i, k + 1]:
            k += 1
        paired = k < len(theirs) and best[i, k] > best[i + 1, k]
        found.append(k if paired else None)
        k += paired
    return found


def _apart(p: Phase, enters: float, q: Phase, on: float) -> float:
    """How far the log losses of two phases differ: on entering, and on a plateau; inf for different kinds."""
    if p.kind != q.kind:
        return np.inf
    pairs = [(enters, on), *([(p.log_loss, q.log_loss)] if p.kind == "plateau" else [])]
    return max(0.0 if a == b else abs(a - b) for a, b in pairs)


def _moved(p: Phase, shift: float) -> str:
    return f"{p.kind} {abs(shift):.3g} {'later' if shift > 0 else 'earlier'}" if shift else f"{p.kind} at the same time"


def _named(p: Phase) -> str:
    level = f"at loss {p.loss:.6g}" if p.kind == "plateau" else f"down to loss {p.loss:.6g}"
    article = "an" if p.kind == "alignment" else "a"
    return f"{article} {p.kind} from t = {p.start:.6g} to {p.end:.6g} {level}"


def _gap(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """The largest difference of an output at each time."""
    return np.max(np.abs(one - two), axis=tuple(range(1, one.ndim)))


def _flipped(sol: Solution) -> np.ndarray:
    a = sol.checkpoints.a
    if a.ndim == 3:  # with several outputs a_j has no sign
        return np.empty(0, int)
    return np.flatnonzero(a[0] * a[-1] < 0)


@whole_runs()
@by_name
def compare(
    problem: Problem,
    method: Descent | float | None = None,
    t1: float | None = None,
    *,
    step: float | None = None,
    rtol: float = 1e-8,
    tol: float = 1e-2,
    points: int = 400,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
) -> Comparison:
    """Runs `problem` up to t1 by the flow and by the descent `method`, and finds where they separate.

    `points` common times, half of them equally spaced and half geometrically, are iterations of the descent; `tol`
    times max(1, max |y|) is the difference of outputs that counts as separation. `step` is deprecated. For an
    `rf.population.Problem` give numbers of points in place of the method: its flow is compared with those on samples.
    """
    with_samples = getattr(problem, "compared", None)
    if with_samples is not None:
        return with_samples(method, t1)
    tol = number("tol", tol, rule="in (0, 1)", ok=lambda v: 0.0 < v < 1.0, hint="0.01 is the default")
    points = whole("points", points, least=2, hint="the start and the end are always among them")
    if isinstance(method, int | float):
        step = method
    if step is not None:
        method = Descent(step)
        way_out = f"write `rf.compare(problem, rf.Descent({method.step:g}), t1)`"
        warnings.warn(f"A step in place of a method is deprecated: {way_out}.", DeprecationWarning, stacklevel=4)
    if not isinstance(method, Descent):
        raise TypeError(f"`method` must be rf.Descent(step=...), got {shown(method)}.")
    if t1 is None:
        raise TypeError("`compare` is missing the argument `t1`: add `t1=...`.")
    step = method.step
    descent = solve(problem, method, t1, limits=limits, progress=progress)
    flow = solve(problem, Flow(rtol), t1, limits=limits, progress=progress)
    last = int(method.iteration(t1))
    half = max(2, points // 2)
    counts = np.unique(np.rint(np.r_[np.linspace(0, last, half), np.geomspace(1, max(last, 2), half)])).astype(int)
    counts = counts[counts <= last]
    t = counts * step
    one, two = flow.moments(t), descent.moments(t)
    gap = _gap(one.outputs, two.outputs)
    differ = np.sum((one.bits != two.bits) & ~one.sliding, axis=(1, 2))
    found = Comparison(flow, descent, tol, t, np.exp(one.log_loss), np.exp(two.log_loss), gap, differ, None)
    beyond = np.flatnonzero(gap > found.threshold)
    if len(beyond):
        lo, hi = counts[max(beyond[0] - 1, 0)], counts[beyond[0]]
        object.__setattr__(found, "parted", float(_first(flow, descent, step, lo, hi, found.threshold) * step))
    return found


def _first(flow: Solution, descent: Solution, step: float, lo: int, hi: int, threshold: float) -> int:
    """The first iteration after lo whose outputs differ by more than the threshold, as 17 cuts at a time show it."""
    while hi - lo > 1:
        cuts = np.unique(np.linspace(lo, hi, 17).astype(int))
        gap = _gap(flow.outputs_at(cuts * step), descent.outputs_at(cuts * step))
        k = int(np.argmax(gap > threshold))
        if k == 0:
            return int(cuts[0])
        lo, hi = int(cuts[k - 1]), int(cuts[k])
    return hi
