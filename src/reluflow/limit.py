r"""The limit of vanishing initialisation: what the flow does as scale -> 0, with times counted in ell = log(1/scale).

    early phase   every neuron alone under the drive of f = 0, by closed forms      (any loss)
    saddles       orthogonal inputs: by formula; otherwise by following the flow at two tiny scales     (square loss)

`scale` multiplies all weights of the problem together, so the log scale of the problem given does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow import _html, _text
from reluflow._checks import all_trained, as_finite, by_name, one_output
from reluflow._early import Early, early_phase
from reluflow._saddles import Course, Saddle, followed_course, orthogonal_course, orthogonal_inputs
from reluflow.engine.pack import loss_at_zero
from reluflow.init import Params
from reluflow.problem import Problem
from reluflow.solve import whole_runs

Scales = tuple[float, float] | list[float] | np.ndarray


@dataclass(frozen=True, eq=False)
class Limit:
    """What `rf.limit` found; prints as a summary.

    `early`       the early phase: see its own docstring
    `saddles`     in order, the first is the origin; each with its loss, exit time slope * ell + offset, who leaves it
    `params`      the limit network, rows of 0 for neurons that vanish; None where it is not known
    `loss`        its loss; `squared_norm` its |theta|^2
    `exponent`    |w_j| ends as e^{`log_factor`_j} scale^{exponent_j}: 0 in the limit network, nan where not known
    `way`         "formula", "followed" or "early phase"
    `determined`  whether nothing that is given is in doubt; `notes` says in sentences what is
    """

    problem: Problem
    early: Early
    saddles: tuple[Saddle, ...]
    params: Params | None
    loss: float
    exponent: np.ndarray
    log_factor: np.ndarray
    way: str
    determined: bool
    notes: tuple[str, ...]

    @property
    def squared_norm(self) -> float:
        """|theta|^2 of the limit network."""
        if self.params is None:
            return float("nan")
        return float(np.sum(self.params.w**2) + np.sum(self.params.a**2))

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The neurons that leave each saddle."""
        return tuple(s.neurons for s in self.saddles)

    @property
    def stray(self) -> np.ndarray:
        """Neurons that grow by a power of the scale and yet vanish with it: 0 < exponent < 1."""
        with np.errstate(invalid="ignore"):
            return np.flatnonzero((self.exponent > 0.0) & (self.exponent < 1.0 - 1e-9))

    def _repr_html_(self) -> str:
        return _html.lines(repr(self))

    def __repr__(self) -> str:
        lines = ["Limit of vanishing scale, ell = log(1/scale)", repr(self.early)]
        for k, s in enumerate(self.saddles):
            offset = "" if s.offset is None else f" {'+' if s.offset >= 0 else '-'} {abs(s.offset):.6g}"
            fits = "" if s.data is None else f", fitting {_text.listed(s.data)}"
            who = f": neurons {_text.listed(s.neurons)}{fits}" if s.neurons else ""
            lines.append(f"  saddle {k}: loss {s.loss:.6g}, left at t = {s.slope:.6g} ell{offset}{who}")
        if self.params is not None:
            alive = int(np.sum(self.exponent == 0.0))
            lines.append(f"Limit network: {alive} neurons, loss {self.loss:.6g}, |theta|^2 = {self.squared_norm:.8g}")
        if len(self.stray):
            lines.append(
                f"{len(self.stray)} stray neurons, the largest like scale^{np.min(self.exponent[self.stray]):.4g}"
            )
        lines += [f"{'Note' if self.determined else 'Open'}: {note}" for note in self.notes]
        return "\n".join(lines)


@by_name
@whole_runs()
def limit(problem: Problem, *, follow: bool = True, log_scales: Scales = (-1e4, -2e4), rtol: float = 1e-9) -> Limit:
    """The scale -> 0 limit of the flow from a balanced start.

    Orthogonal inputs with the square loss and ReLU are done by formula. Other square-loss problems are followed at the
    two `log_scales` (`follow=False` stops after the early phase). With an exponential tail only the early phase and the
    first exit are given.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"`problem` must be an rf.Problem, got {type(problem).__name__}.")
    one_output(problem, "`rf.limit`", "follow the flow at a tiny scale, as in `rf.init.balanced(..., log_scale=-1000)`")
    all_trained(problem.init, "`rf.limit`")
    if problem.train == "first":
        raise ValueError(
            '`rf.limit` needs `train="both"`, got "first": with fixed output weights nothing waits for log(1/scale).'
        )
    if problem.decay > 0.0:
        raise ValueError(
            f"`rf.limit` needs `decay=0`, got {problem.decay:g}: with decay the saddles are left at rates |D| - decay, "
            "which it does not follow; solve at a small `log_scale` instead."
        )
    two = as_finite("log_scales", log_scales, ndim=1, hint="give two, e.g. (-1e4, -2e4)")
    if two.shape != (2,) or not two[1] < two[0] <= -100.0:
        raise ValueError(f"`log_scales` must be two decreasing numbers <= -100, got {two.tolist()}: try (-1e4, -2e4).")
    early = early_phase(problem)
    notes = _early_notes(early)
    tie = None
    if orthogonal_inputs(problem):
        found = orthogonal_course(problem, early)
        if isinstance(found, Course):
            return _whole(problem, early, found, "formula", notes)
        tie = f"The formulas leave the order open: {found}."
    if problem.tailed or not follow:
        return _early_only(problem, early, notes + ([tie] if tie else []))
    found = followed_course(problem, early, two, rtol)
    return _whole(problem, early, found, "followed", notes + ([tie] if tie else []), tie is None)


def _early_notes(early: Early) -> list[str]:
    odd = int(np.sum(~early.events.unique))
    return (
        [f"{odd} events of the early phase have more than one continuation; the regular one is taken."] if odd else []
    )


def _whole(problem: Problem, early: Early, found: Course, way: str, notes: list[str], sure: bool = True) -> Limit:
    sure = sure and found.determined and bool(np.all(early.events.unique))
    every = (*notes, *found.notes)
    return Limit(
        problem, early, found.saddles, found.params, found.loss, found.exponent, found.log_factor, way, sure, every
    )


def _early_only(problem: Problem, early: Early, notes: list[str]) -> Limit:
    top = float(np.max(early.rate, initial=0.0))
    origin = loss_at_zero(problem, problem.data.y)
    saddles: tuple[Saddle, ...] = ()
    unknown = np.full(len(early.rate), np.nan)
    if top > 0:
        who = early.targets[0].neurons
        saddles = (Saddle(origin, 1.0 / top, None, who, None, top),)
    why = "the loss has no finite minimiser" if problem.tailed else "`follow=False`"
    notes = [*notes, f"Only the early phase and the first exit are given ({why}); what follows is not determined here."]
    return Limit(problem, early, saddles, None, float("nan"), unknown, unknown, "early phase", False, tuple(notes))
