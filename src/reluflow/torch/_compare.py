"""Where a recorded training leaves the gradient flow of the same loss from the same weights.

Plain descent has a time, t = k step, and both are compared at equal times. Adam and the like have none: there each
record is compared with the moment at which the flow has the same loss, which asks whether the training goes the same
way, at whatever speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reluflow._checks import number
from reluflow.methods import Descent, Flow, Limits, Method, SteppedFlow
from reluflow.outcome import Outcome
from reluflow.plot.palette import FAINT, INK, MINUS, PLUS, THEORY, style
from reluflow.solution import Solution, end_text
from reluflow.solve import solve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# The exact flow does not support an output bias: there it is approximated, by a descent with a step this many times
# smaller than the training's, or by a stepped flow of this tolerance where the training has no step. The error is
# estimated by a second approximation, coarser by the last number: descent errs in proportion to its step.
FINER, STEPPED, COARSER = 16, 3e-4, 2
TRIES = 30  # doublings of the end time until the flow has the loss of the training
POINTS = 400  # records compared
NAMED = 4  # absences from the flow that a summary lists


@dataclass(frozen=True, eq=False)
class Departure:
    """A training and the flow; the arrays are columns over the records that could be compared."""

    flow: Solution
    training: Solution
    by: str  # "time" or "loss": what was equal where they were compared
    name: str  # of the optimiser
    tol: float
    step: np.ndarray  # steps of the loop
    t: np.ndarray  # the flow's time
    loss_training: np.ndarray
    loss_flow: np.ndarray
    gap: np.ndarray  # largest difference of an output
    bits: np.ndarray  # how many activations differ, of `activations`
    notes: tuple[str, ...] = ()
    error: float = 0.0  # estimated error of the flow's outputs where the flow is approximated

    @property
    def threshold(self) -> float:
        """The difference of outputs that counts as leaving."""
        return self.tol * max(1.0, float(np.max(np.abs(self.flow.problem.targets))))

    @property
    def left(self) -> int | None:
        """The first recorded step whose outputs differ by more than `threshold`; None if there is none."""
        return self.absences[0][0] if self.absences else None

    @property
    def absences(self) -> tuple[tuple[int, int | None], ...]:
        """(step at which the training leaves the flow, step at which it is back), in order; None: not back at the end.

        Steps are recorded ones: between two of them nothing is known.
        """
        away = np.r_[False, self.gap > self.threshold, False]
        out, back = np.flatnonzero(away[1:] & ~away[:-1]), np.flatnonzero(away[:-1] & ~away[1:])
        steps = self.step.tolist()
        return tuple((steps[i], steps[k] if k < len(steps) else None) for i, k in zip(out, back))

    @property
    def activations(self) -> int:
        """Neurons times data; the constant that stands for an output bias is no neuron."""
        return int(np.sum(_neurons(self.flow))) * self.flow.problem.data.n

    def summary(self) -> str:
        """A summary in sentences."""
        where = f"up to t = {self.t[-1]:.6g}" if self.by == "time" else "at equal losses"
        said = [f"{self.name}, {int(self.step[-1])} steps, against the gradient flow {where}."]
        most = float(np.max(self.gap))
        if self.left is None:
            said.append(f"Your training follows the flow: outputs differ by {most:.2g} at most.")
        else:
            said += self._left()
        if self.by == "time":
            said.append(f"At the end the losses are {self.loss_training[-1]:.6g} (training) and "
                        f"{self.loss_flow[-1]:.6g} (flow).")  # fmt: skip
        else:
            said.append(f"The flow needs t = {self.t[-1]:.6g} to reach the training's loss {self.loss_flow[-1]:.6g}.")
        said.append(f"At the end {self.bits[-1]} of {self.activations} activations differ.")
        return " ".join([*said, *self._approximated(), *self.notes])

    def _left(self) -> list[str]:
        """Every leaving and return, the largest difference, and the last."""
        k = int(np.flatnonzero(self.step == self.left)[0])
        when = f" (t = {self.t[k]:.6g})" if self.by == "time" else f" (loss {self.loss_training[k]:.4g})"
        worst = int(np.argmax(self.gap))
        said = [
            f"Your training leaves the flow at step {self.left}{when}, where outputs first differ by over "
            f"{self.threshold:.2g}; the largest difference is {self.gap[worst]:.3g}, at step {self.step[worst]}."
        ]
        if len(self.absences) > 1:
            spans = [f"from step {i} {'on' if b is None else f'to {b}'}" for i, b in self.absences]
            more = len(spans) - NAMED - 1
            shown = spans if more <= 0 else [*spans[:NAMED], f"{more} times more", spans[-1]]
            said.append(f"It is away from the flow {len(spans)} times: {', '.join(shown[:-1])} and {shown[-1]}.")
        last = self.absences[-1][1]
        if last is None:
            said.append(f"At the end it is {self.gap[-1]:.2g} away.")
        else:
            said.append(f"From step {last} on it is near the flow again, {self.gap[-1]:.2g} away at the end.")
        return said

    def _approximated(self) -> list[str]:
        """How the flow of a network with an output bias was approximated, and how well."""
        if isinstance(self.flow.method, SteppedFlow):
            how = f"to rtol {self.flow.method.rtol:g}"
        elif isinstance(self.flow.method, Descent):
            how = f"by descent with a step {FINER} times smaller"
        else:
            return []
        said = f"With an output bias the flow is approximated, {how}; its outputs are right to about {self.error:.1g}."
        if self.error <= self.threshold:
            return [said]
        return [said, "That is more than counts as leaving: what is said about it is not certain."]

    def __repr__(self) -> str:
        head = ("step", "t of the flow", "loss (training)", "loss (flow)", "output gap", "bits")
        lines = ["".join(f"{name:>{wide}}" for name, wide in zip(head, (10, 16, 18, 16, 14, 8)))]
        for k in np.unique(np.linspace(0, len(self.t) - 1, 9).astype(int)):
            losses = f"{self.loss_training[k]:>18.8g}{self.loss_flow[k]:>16.8g}"
            lines.append(f"{self.step[k]:>10d}{self.t[k]:>16.6g}{losses}{self.gap[k]:>14.3g}{self.bits[k]:>8d}")
        return "\n".join([*lines, "", self.summary()])

    def to_pandas(self) -> pd.DataFrame:
        """The columns as a table indexed by step."""
        import pandas as pd

        names = ("t", "loss_training", "loss_flow", "gap", "bits")
        return pd.DataFrame({k: getattr(self, k) for k in names}, index=pd.Index(self.step, name="step"))

    def figure(self) -> Figure:
        """Losses and output gap over the steps of the loop, as a matplotlib figure."""
        from reluflow.plot.shown import Picture

        with style():
            fig = Picture(figsize=(7.2, 4.6), layout="constrained")
            top, bottom = fig.subplots(2, 1, sharex=True)
            top.plot(self.step, self.loss_flow, color=THEORY, lw=3, label="gradient flow")
            top.plot(self.step, self.loss_training, color=INK, lw=1.2, label=self.name)
            top.set(yscale="log", ylabel="loss")
            top.set_title("Your training and the gradient flow" + ("" if self.by == "time" else ", at equal losses"))
            bottom.plot(self.step, np.where(self.gap > 0, self.gap, np.nan), color=MINUS)
            low, high = 1e-3 * self.threshold, 3.0 * max(self.threshold, float(np.max(self.gap)))
            bottom.set_ylim(max(low, 0.5 * float(np.min(self.gap[1:]))), high)
            bottom.axhline(self.threshold, color=FAINT, lw=0.8)
            bottom.annotate("counts as leaving", (self.step[-1], self.threshold), xytext=(0, 3), ha="right",
                            textcoords="offset points", fontsize=7.5, color=FAINT)  # fmt: skip
            bottom.set(yscale="log", ylabel="largest difference\nof an output", xlabel="step")
            for axes in (top, bottom):
                for k, (out, back) in enumerate(self.absences):
                    label = "away from the flow" if axes is top and k == 0 else None
                    until = self.step[-1] if back is None else back
                    axes.axvspan(out, until, color=PLUS, alpha=0.1, lw=0, zorder=0, label=label)
                    axes.axvline(out, color=PLUS, lw=0.8, ls=":")
            top.legend()
        return fig

    def _repr_html_(self) -> str:
        from reluflow._html import figure, text

        return text(self.summary()) + figure(self.figure())


def departure(
    sol: Solution,
    rate: float | None,
    name: str,
    notes: tuple[str, ...],
    *,
    tol: float,
    rtol: float,
    seconds: float | None,
) -> Departure:
    """Solves the flow and compares it with the records of `sol`."""
    tol = number("tol", tol, rule="in (0, 1)", ok=lambda v: 0.0 < v < 1.0, hint="0.01 is the default")
    if len(sol.t) < 2:
        raise ValueError("`compare` needs at least one step of training after the start, got none: train first.")
    if any("weight decay" in note for note in notes):
        raise ValueError(
            "`compare` needs a plain SGD where there is weight decay, got another optimiser: train without "
            "weight decay."
        )
    problem = sol.problem
    method: Method = Flow(rtol)
    if problem.init.fixed is not None:
        method = SteppedFlow(STEPPED) if rate is None else Descent(rate / FINER)
    rows = np.unique(np.linspace(0, len(sol.t) - 1, POINTS).astype(int))
    # A flow that cannot end at equal losses is stopped, and says so.
    limits = Limits(seconds=seconds if seconds is not None or rate is not None else 60.0)
    if rate is not None:
        flow = solve(problem, method, float(sol.t[-1]), limits=limits, throw=False)
        t = sol.t[rows]
        rows, t = (v[t <= flow.t_end * (1 + 1e-12)] for v in (rows, t))
        there = flow.moments(np.minimum(t, flow.t_end))
    else:
        flow = _until(problem, method, float(np.min(sol.log_loss)), limits)
        rows, t = _equal_losses(flow, sol, rows)
        there = flow.moments(t)
    if len(rows) < 2:
        raise ValueError(
            f"No record could be compared: the flow stopped at t = {end_text(flow)} ({flow.outcome.value})"
        )
    mine = sol.frames[rows]
    gap = np.max(np.abs(mine.outputs - there.outputs), axis=tuple(range(1, mine.outputs.ndim)))
    bits = np.sum(((mine.bits != there.bits) & ~there.sliding)[:, _neurons(flow)], axis=(1, 2))
    if not flow.outcome.success:
        stopped = f"The flow stopped at t = {end_text(flow)}, and later steps are not compared: {flow.outcome.value}"
        notes = (*notes, stopped)
    step = np.rint(mine.clock).astype(int)
    losses = np.exp(mine.log_loss), np.exp(there.log_loss)
    by, error = "time" if rate is not None else "loss", _error(flow, t, limits)
    return Departure(flow, sol, by, name, tol, step, t, *losses, gap, bits, notes, error)


def _neurons(flow: Solution) -> np.ndarray:
    """Which rows of w are neurons: those of which something is trained."""
    init = flow.problem.init
    return np.full(init.width, True) if init.fixed is None else ~np.all(init.fixed, axis=1)


def _error(flow: Solution, t: np.ndarray, limits: Limits) -> float:
    """The largest difference of an output from that of an approximation coarser by `COARSER`; 0 for an exact flow."""
    method: Method
    if isinstance(flow.method, Descent):
        method = Descent(COARSER * flow.method.step)
    elif isinstance(flow.method, SteppedFlow):
        method = SteppedFlow(COARSER * flow.method.rtol)
    else:
        return 0.0
    rough = solve(flow.problem, method, flow.t_end, limits=limits, throw=False)
    t = t[t <= min(flow.t_end, rough.t_end)]
    return float(np.max(np.abs(flow.outputs_at(t) - rough.outputs_at(t)))) / (COARSER - 1)


def _until(problem, method: Method, log_loss: float, limits: Limits) -> Solution:
    """A flow that goes on until its loss is at most e^log_loss, or converged, or was stopped."""
    t1 = 1.0
    flow = solve(problem, method, t1, limits=limits, throw=False)
    for _ in range(TRIES):
        if flow.outcome is not Outcome.REACHED or float(flow.end.log_loss[0]) <= log_loss:
            break
        t1 *= 2.0
        flow = solve(problem, method, t1, limits=limits, throw=False)
    return flow


def _equal_losses(flow: Solution, sol: Solution, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Records at which the flow has the training's loss, and the flow's times there, to 1e-6 of the loss."""
    wanted = sol.log_loss[rows]
    marks = flow.checkpoints
    low = np.minimum.accumulate(marks.log_loss)
    within = (wanted <= low[0]) & (wanted >= low[-1])
    rows, wanted = rows[within], wanted[within]
    after = np.clip(np.searchsorted(-low, -wanted), 1, len(low) - 1)
    lo, hi = marks.t[after - 1].copy(), marks.t[after].copy()
    for _ in range(40):
        middle = 0.5 * (lo + hi)
        losses = np.asarray(flow.log_loss_at(middle))
        above = losses > wanted
        lo, hi = np.where(above, middle, lo), np.where(above, hi, middle)
        if np.all(np.abs(losses - wanted) < 1e-6):
            break
    return rows, 0.5 * (lo + hi)
