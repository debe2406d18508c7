"""Implicit-bias report of one run: one table, one figure."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from reluflow import _html, _words
from reluflow._checks import all_trained, one_output
from reluflow.bias._figure import draw
from reluflow.bias._input import squared_norm as norm_of
from reluflow.bias.extremal import Extremal, extremal
from reluflow.bias.kernel import Kernel, kernel, moved
from reluflow.bias.landscape import Landscape, saddles
from reluflow.bias.max_margin import MaxMargin, max_margin
from reluflow.bias.min_norm import MinNorm, min_norm
from reluflow.bias.optimal import Optimality, optimal
from reluflow.claim import Claim, _plain
from reluflow.losses import LOSSES
from reluflow.solution import Solution

LAZY, RICH = 0.3, 1.0  # relative change of the kernel above which a run is not lazy
ROUNDING = 1e-9  # relative: of |theta|^2, of outputs, and of the dual variables made feasible


@dataclass(frozen=True, eq=False)
class BiasReport:
    """What `rf.bias.report` found. Parts that do not apply are None; `notes` gives the reasons."""

    sol: object
    squared_norm: float
    min_norm: MinNorm | None
    max_margin: MaxMargin | None
    kernel: Kernel | None
    kernel_distance: float
    kernel_moved: float
    extremal: Extremal | None
    saddles: tuple[Landscape, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    optimality: Optimality | None = None  # of a run with decay

    @property
    def gap(self) -> float:
        """|theta|^2 at the end minus the minimum norm (its upper bound where that is all there is)."""
        return float("nan") if self.min_norm is None else self.squared_norm - self.min_norm.value

    @property
    def ok(self) -> bool:
        """Whether no claim is violated."""
        return all(c.verdict != "violated" for c in self.claims)

    def rows(self) -> list[tuple[str, str]]:
        """The table of quantities and values."""
        out = [("run", repr(self.sol)), ("|theta|^2 at the end", f"{self.squared_norm:.9g}")]
        if (o := self.optimality) is not None:
            out.append(("verdict", str(o)))
            out.append(("objective", f"{o.objective:.9g} (optimum >= {o.lower:.9g}, gap {o.gap:.3g})"))
            out.append(("dual ratio", f"{o.ratio:.9g}"))
        if (m := self.min_norm) is not None:
            sign = "" if m.exact else "<= "
            out.append(("minimum norm", f"{sign}{m.value:.9g} ({m.way}, {len(m.patterns)} patterns)"))
            out += [(f"  {name}", str(b)) for name, b in m.bounds.items() if name != "upper"]
            share = f"{100.0 * self.gap / m.value:.3g}%" if m.value > 0 else "the minimum is 0"
            out.append(("gap", f"{self.gap:.6g} ({share})"))
        if (g := self.max_margin) is not None:
            sign = "=" if g.exact else ">="
            linear = "none separates" if g.linear is None else f"{g.linear:.6g}"
            out.append(("margin / |theta|^2, optimum", f"{sign} {g.margin:.9g}; certified <= {g.margin_bound:.9g}"))
            if (p := g.path) is not None:
                if p.margin[-1] > 0:
                    out.append(("  of the run", f"{p.margin[-1]:.9g} (gap {100 * p.gap[-1]:.3g}%)"))
                    out.append(("  KKT residuals", f"{p.stationarity[-1]:.3g}, {p.complementarity[-1]:.3g}"))
                else:
                    out.append(("  of the run", f"none, because the run does not separate the data: {self._worst()}"))
            out.append(("linear hard margin", linear))
        if self.kernel is not None:
            lazy = "lazy" if self.kernel_moved < LAZY else "rich" if self.kernel_moved > RICH else "between"
            told = "of the distance from the initial outputs to it"
            out.append(("distance to kernel interpolant", f"{self.kernel_distance:.4g} {told}"))
            out.append(("kernel moved", f"{self.kernel_moved:.4g} of its size ({lazy})"))
        if self.extremal is not None:
            out += [(f"early direction {k}", text) for k, text in enumerate(_directions(self.extremal))]
        out += [(f"landscape {k}", str(s)) for k, s in enumerate(self.saddles)]
        out += [("claim", str(c)) for c in self.claims]
        return out + [("note", n) for n in self.notes]

    def _worst(self) -> str:
        """The row with the smallest y f, and why it is not positive."""
        sol: Any = self.sol
        yf = sol.problem.data.y * sol.end.outputs[0]
        k = int(np.argmin(yf))
        why = "no neuron is active on it" if not np.any(sol.end.bits[0][:, k]) else "a longer run may separate it"
        return f"row {k} has y f = {yf[k]:.6g} at the end ({why})"

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        parts = {k: getattr(self, k) for k in ("min_norm", "max_margin", "kernel", "extremal", "optimality")}
        return _deep(
            {
                "squared_norm": self.squared_norm,
                "gap": self.gap,
                "kernel_distance": self.kernel_distance,
                "kernel_moved": self.kernel_moved,
                **{k: None if v is None else v.to_dict() for k, v in parts.items()},
                "saddles": [s.to_dict() for s in self.saddles],
                "claims": [c.to_dict() for c in self.claims],
                "notes": list(self.notes),
            }
        )

    def __str__(self) -> str:
        rows = self.rows()
        wide = max(len(name) for name, _ in rows)
        lines = [f"{name:<{wide}}  {text}" for name, text in rows]
        return "\n".join([*lines, _words.line("\n".join(lines[1:]))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = self.rows()
        return _html.table(rows) + _words.html("\n".join(f"{name} {text}" for name, text in rows[1:]))

    def figure(self):
        """Loss and saddles, norm or margin, the functions, early directions: a matplotlib Figure."""
        return draw(self)


def report(sol, *, seconds: float = 20.0, samples: int = 400) -> BiasReport:
    """All quantities of this package for one run of `rf.solve`. Sampling of patterns takes at most `seconds`."""
    if not isinstance(sol, Solution):
        raise TypeError(f"`rf.bias.report` needs a Solution of rf.solve, got {type(sol).__name__}.")
    problem, notes = sol.problem, []
    all_trained(problem.init, "`rf.bias.report`")
    one_output(problem, "`rf.bias.report`", "use `rf.bias.min_norm(sol)` or `rf.bias.max_margin(sol)`")

    def tried(what, part):
        try:
            return part()
        except ValueError as error:
            notes.append(f"{what}: {error}")
            return None

    norm = margin = verdict = None
    decays = problem.decay > 0.0
    fits = LOSSES[problem.loss].quadratic  # only then does a loss of 0 mean that the labels are fitted
    if decays:
        verdict = tried("verdict", lambda: optimal(sol))
    elif problem.tailed:
        margin = tried("maximum margin", lambda: max_margin(sol, seconds=seconds))
    elif fits:
        norm = tried("minimum norm", lambda: min_norm(sol, network=sol, seconds=seconds))
        share = float(sol.loss[-1] / max(float(sol.loss[0]), 1e-300))
        if share > 1e-9:
            notes.append(f"The run ends at {share:.2g} of its first loss: the gap means little before it fits.")
    kern = kernel(sol) if fits else None
    directions = tried("early directions", lambda: extremal(sol, samples=samples))
    if directions is not None and directions.note:
        notes.append(directions.note)
    visited: tuple = ()
    if not sol.dense:
        notes.append("saddles: not looked for, because a recorded training is known at its recorded steps only.")
    elif not decays:
        visited = tried("saddles", lambda: saddles(sol)) or ()
    size = norm_of(sol.final)
    return BiasReport(
        sol=sol,
        squared_norm=size,
        min_norm=norm,
        max_margin=margin,
        kernel=kern,
        kernel_distance=float("nan") if kern is None else kern.distance(sol),
        kernel_moved=float("nan") if kern is None else moved(kern, sol.final),
        extremal=directions,
        saddles=visited,
        claims=tuple(_claims(sol, size, norm, margin, verdict)),
        notes=tuple(notes),
        optimality=verdict,
    )


def _claims(sol, size: float, norm, margin, verdict) -> list[Claim]:
    """Weak duality at the run's own outputs: |theta|^2 >= 2 <nu, f> for every network, fitted or not."""
    claims = []
    if verdict is not None and verdict.certified:
        slack = ROUNDING * abs(verdict.objective)
        claims.append(Claim("objective of the run over its dual bound", verdict.objective, ">=", verdict.lower, slack))
    if norm is not None and norm.exact:
        f = sol.outputs[-1]
        below = 2.0 * float(norm.nu @ f) / (1.0 + norm.residuals.get("dual", 0.0))
        slack = ROUNDING * max(1.0, size)
        claims.append(Claim("|theta|^2 of the run over 2 <nu, f> of the dual", size, ">=", below, slack))
    if margin is not None and margin.path is not None and margin.path.margin[-1] > 0:
        slack = ROUNDING * margin.margin_bound
        got = float(margin.path.margin[-1])
        claims.append(Claim("normalised margin under the certified bound", got, "<=", margin.margin_bound, slack))
    return claims


def _directions(found) -> list[str]:
    return [
        f"{'+' if d.sign > 0 else '-'} rate {d.rate:.6g}, {len(d.neurons)} neurons, basin {d.basin:.3f}"
        for d in found.attracting
        if d.neurons
    ][:6]


def _deep(value):
    if isinstance(value, dict):
        return {str(k): _deep(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_deep(v) for v in value]
    return _plain(value)
