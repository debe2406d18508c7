"""The quantities of a run that a sweep can keep, by dotted name.

`QUANTITIES` lists them with their meaning. A name may also be `package.module:function`, any function of a Solution
that workers can import and that returns a number, a text or an array.

A quantity is a number, a text, or an array with named dimensions; an undefined one (a crossing that never happened) is
NaN. Trajectories are thinned to FRAMES moments: `solve.save.times` where the experiment gives them, else evenly from 0
to t1 (from log t = 0, or log_t1 - 1 if that is less, to log_t1), else the run's own frames, evenly by number; the
moments are stored with them as `log_t`.
"""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from reluflow import observe
from reluflow._schema import near
from reluflow.checking import check
from reluflow.compare import compare
from reluflow.events import KINDS
from reluflow.methods import Descent
from reluflow.solution import Stats

FRAMES = 65
DEFAULT = ("final.log_loss", "final.log_squared_norm", "events.count", "stats.steps")

QUANTITIES = {
    "final.log_loss": "log of the loss at the end (final.loss: the loss)",
    "final.log_t": "log of the time at the end (final.t: the time)",
    "final.log_squared_norm": "log of |theta|^2 = sum_j |w_j|^2 + a_j^2 at the end (final.squared_norm: itself)",
    "final.log_moved": "log of |theta(end) - theta(0)| / |theta(0)|: below 0 is lazy, above 0 is rich",
    "final.outputs": "f(x_i) at the end, over `datum`",
    "stats.steps": "steps tried; any other number of `sol.stats` likewise (seconds and fields vary from run to run)",
    "events.count": "number of events; events.slide and so on count one kind",
    "time.half": "first time the loss is half of its start; time.below.0.01: 1% of it",
    "time.aligned": "last event before any output exceeds 1% of max |y|: the end of alignment",
    "log_time.half": "its logarithm; the same for every other time",
    "phases.count": "number of phases; phases.plateau.count: of plateaus",
    "phases.growth.0.half": "a number of `sol.phases()`: kind, which one from 0, then start, end, half, loss, ...",
    "compare.gap": "largest difference of outputs between this descent and the flow, over time",
    "compare.final_gap": "the same at the end",
    "compare.parted": "first time they differ by 1% of max(1, max |y|)",
    "compare.flips": "output weights that changed sign in descent",
    "observe.stable_rank": "any function of rf.observe, at the end; observe.<name>.<array> where it gives several",
    "check.min2024.theorem1.applies": "1 or 0: every hypothesis met; check.<name>.ok: no claim violated",
    "check.min2024.theorem1.margin": "smallest margin of a claim; check.<name>.verdict: the worst verdict",
    "check.min2024.theorem1.constants.mu": "a constant; check.<name>.claims.0.measured (bound, margin, verdict)",
    "log_loss": "trajectory: log of the loss over `frame` (loss: the loss)",
    "outputs": "trajectory: f(x_i) over `frame` and `datum`",
    "log_norm": "trajectory: log |w_j| over `frame` and `neuron`",
}
TRAJECTORIES = {"loss": (), "log_loss": (), "outputs": ("datum",), "log_norm": ("neuron",)}
FINAL = ("log_loss", "loss", "log_t", "t", "log_squared_norm", "squared_norm", "log_moved", "outputs")
COMPARED = ("gap", "final_gap", "parted", "flips")
WORST_FIRST = (
    "violated",
    "unfinished",
    "unmeasured",
    "constant fitted",
    "consistent so far",
    "holds within slack",
    "holds",
)
PHASES = ("alignment", "growth", "plateau", "convergence")
OF_PHASE = ("start", "end", "log_start", "log_end", "half", "loss", "log_loss")

Value = tuple[tuple[str, ...], Any]  # dimensions, and a number, a text or an array


# Why a quantity may not exist, by the beginning of its name: the reason behind a NaN.
ALIGNED = "no event comes before an output exceeds 1% of max |y|: there is no alignment phase at this scale"
MISSING = {
    "time.aligned": ALIGNED,
    "log_time.aligned": ALIGNED,
    "time.": "the loss does not fall that far within the run",
    "log_time.": "the loss does not fall that far within the run",
    "phases.": "the run has no such phase, or the phase no such number",
    "compare.parted": "the descent does not leave the flow",
    "check.": "the claim cannot be measured on this run",
    "stats.": "this method does not compute it",
    "final.": "it is not a number at the end of the run",
}


def missing(name: str) -> str:
    """Why `name` is NaN at a point that did not fail."""
    return next((why for start, why in MISSING.items() if name.startswith(start)), "it is not defined for this run")


def checked(names) -> list[str]:
    """The names, checked to be known and distinct."""
    if isinstance(names, str):
        names = [names]
    found = list(dict.fromkeys(str(name) for name in names if name != "outcome"))  # always kept
    for name in found:
        _function(name)
    return found


def measure(names: list[str], sol) -> dict[str, Value]:
    """The quantities of one run."""
    run = Run(sol)
    found = {name: _labelled(_function(name)(run)) for name in names}
    if any(name in TRAJECTORIES for name in names):
        found["log_t"] = (("frame",), run.moments)
    return found


class Run:
    """A Solution, with intermediate results shared by several quantities."""

    def __init__(self, sol):
        self.sol = sol

    @cached_property
    def moments(self) -> np.ndarray:
        """log t of thinned trajectories."""
        solve = {} if self.sol.experiment is None else self.sol.experiment["solve"]
        with np.errstate(divide="ignore"):
            if solve.get("save", {}).get("times"):
                return np.log(np.array(solve["save"]["times"], float))
            if solve.get("t1") is not None:
                return np.log(np.linspace(0.0, solve["t1"], FRAMES))
        if solve.get("log_t1") is not None:
            return np.linspace(min(0.0, solve["log_t1"] - 1.0), solve["log_t1"], FRAMES)
        count = len(self.sol.log_t)
        return self.sol.log_t[np.unique(np.linspace(0, count - 1, FRAMES).astype(int))]

    @cached_property
    def phases(self):
        return self.sol.phases()

    @cached_property
    def comparison(self):
        if not isinstance(self.sol.method, Descent):
            raise ValueError('`compare.*` needs a descent, got a flow: set `method.kind = "descent"` and its `step`.')
        return compare(self.sol.problem, Descent(self.sol.method.step), float(self.sol.t[-1]))

    @cached_property
    def reports(self) -> dict:
        return {}

    def report(self, name: str):
        if name not in self.reports:
            self.reports[name] = check(name, self.sol)
        return self.reports[name]


def _labelled(value) -> Value:
    """The value of a function as dimensions and numbers; of a labelled array with frames, the last one."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], tuple):
        return value
    if isinstance(value, str):
        return (), value
    dims = getattr(value, "dims", None)
    if dims is not None and "frame" in dims:
        value = value.isel(frame=-1)
        dims = value.dims
    if hasattr(value, "data_vars"):
        raise ValueError(f"It returns several arrays: add one of {', '.join(map(str, value.data_vars))} to its name.")
    array = np.asarray(value, float)
    return tuple(dims) if dims is not None else tuple(f"axis_{k}" for k in range(array.ndim)), array


# Names ----------------------------------------------------------------------------------------------------------------


def _function(name: str) -> Callable[[Run], Any]:
    """The function that computes a named quantity; an error if there is none."""
    if ":" in name:
        function = _imported(name)
        return lambda run: function(run.sol)
    if name in TRAJECTORIES:
        return lambda run: _trajectory(run, name)
    family, _, rest = name.partition(".")
    if family in FAMILIES and rest:
        found = FAMILIES[family](rest)
        if found is not None:
            return found
    # Accept "loss.final" for "final.loss".
    said = f"{rest}.{family}" if rest in FAMILIES else name
    raise ValueError(f"`{name}` is not a quantity to keep: {near(said, _known())}")


def _known() -> list[str]:
    names = [*QUANTITIES, *TRAJECTORIES, *(f"final.{k}" for k in FINAL), *(f"compare.{k}" for k in COMPARED)]
    return list(dict.fromkeys(names))


def _imported(name: str):
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        raise ValueError(f"`{name}` must be an importable `module:function`: check its path.") from None


def _final(rest: str):
    if rest not in FINAL:
        return None
    if rest == "outputs":
        return lambda run: (("datum", "output")[: _last(run.sol)[0].ndim], _last(run.sol)[0])
    of = {
        "log_loss": lambda sol: _last(sol)[1],
        "log_t": lambda sol: sol.log_t_end,
        "log_squared_norm": lambda sol: _log_squares(sol.final),
        "log_moved": _log_moved,
    }
    log = of.get(rest) or of["log_" + rest]
    return lambda run: log(run.sol) if rest in of else np.exp(log(run.sol))


def _last(sol) -> tuple[np.ndarray, float]:
    """Outputs and log loss at the end of the run, whatever frames were requested."""
    return sol.end.outputs[0], float(sol.end.log_loss[0])


def _log_squares(params) -> float:
    """log sum_j |w_j|^2 + a_j^2."""
    log_w, log_a = params.log_scales
    with np.errstate(divide="ignore"):
        return float(
            np.logaddexp.reduce(
                np.r_[2 * log_w + np.log(np.sum(params.w**2, axis=1)), 2 * (log_a + np.log(_lengths(params.a)))]
            )
        )


def _lengths(a: np.ndarray) -> np.ndarray:
    """|a_j|."""
    return np.abs(a) if a.ndim == 1 else np.linalg.norm(a, axis=1)


def _log_moved(sol) -> float:
    start, end = sol.problem.init, sol.final
    top = max(float(s.max()) for p in (start, end) for s in p.log_scales)

    def theta(p):
        log_w, log_a = p.log_scales
        return np.r_[(p.w * np.exp(log_w - top)[:, None]).ravel(), (p.a.T * np.exp(log_a - top)).ravel()]

    with np.errstate(divide="ignore"):
        return float(top + np.log(np.linalg.norm(theta(end) - theta(start))) - 0.5 * _log_squares(start))


def _stats(rest: str):
    if rest not in {f.name for f in fields(Stats)} - {"regimes"}:
        return None
    return lambda run: getattr(run.sol.stats, rest)


def _events(rest: str):
    if rest == "count":
        return lambda run: run.sol.stats.events
    return (lambda run: run.sol.events.counts().get(rest, 0)) if rest in KINDS else None


def _log_time(rest: str):
    if rest == "aligned":
        return lambda run: _aligned(run.sol)
    kind, _, share = rest.partition(".")
    if kind == "half" and not share:
        return lambda run: _first_below(run.sol, 0.5)
    try:
        level = float(share) if kind == "below" else np.nan
    except ValueError:
        return None
    return (lambda run: _first_below(run.sol, level)) if 0 < level < 1 else None


def _time(rest: str):
    log = _log_time(rest)
    return None if log is None else lambda run: np.exp(log(run))


def _aligned(sol) -> float:
    """log of the time of the last event before outputs matter; NaN where no event comes before."""
    small = 0.01 * float(np.max(np.abs(sol.problem.targets)))
    outputs = sol.outputs.reshape(len(sol.log_t), -1)
    before = sol.log_t[np.max(np.abs(outputs), axis=1) <= small]
    log_t = sol.events.log_t
    seen = log_t[(log_t <= before[-1]) & (log_t > -np.inf)] if len(before) else log_t[:0]
    return float(seen[-1]) if len(seen) else np.nan


def _first_below(sol, share: float) -> float:
    """log of the first time the loss is `share` of its start: frames bracket it, replay narrows the bracket."""
    with np.errstate(divide="ignore"):
        level = sol.log_loss[0] + np.log(share)
    below = np.flatnonzero(sol.log_loss <= level)
    if len(below) == 0:
        return np.nan
    if below[0] == 0:
        return float(sol.log_t[0])
    late = not np.isfinite(sol.t[below[0]])
    axis = sol.log_t if late else sol.t
    lo, hi = float(axis[below[0] - 1]), float(axis[below[0]])
    losses = np.zeros(0)
    for _ in range(3):
        cuts = np.linspace(lo, hi, 17)
        losses = sol.log_loss_at(log_t=cuts) if late else sol.log_loss_at(cuts)
        k = max(int(np.argmax(losses <= level)), 1) if np.any(losses <= level) else len(cuts) - 1
        lo, hi, left, right = cuts[k - 1], cuts[k], losses[k - 1], losses[k]
    at = lo + (hi - lo) * ((left - level) / (left - right) if left > right else 1.0)
    with np.errstate(divide="ignore"):
        return float(at if late else np.log(at))


def _phases(rest: str):
    kind, _, after = rest.partition(".")
    if rest == "count":
        return lambda run: len(run.phases)
    if kind not in PHASES:
        return None
    if after == "count":
        return lambda run: len(run.phases[kind])
    number, _, what = after.partition(".")
    if not number.isdigit():
        number, what = "0", after
    if what not in OF_PHASE:
        return None

    def of(run):
        found = run.phases[kind]
        value = getattr(found[int(number)], what) if int(number) < len(found) else None
        return np.nan if value is None else value

    return of


def _compare(rest: str):
    of = {
        "gap": lambda c: float(np.max(c.gap)),
        "final_gap": lambda c: float(c.gap[-1]),
        "parted": lambda c: np.nan if c.parted is None else c.parted,
        "flips": lambda c: len(c.flips),
    }
    return (lambda run: of[rest](run.comparison)) if rest in of else None


def _observe(rest: str):
    name, _, part = rest.partition(".")
    function = getattr(observe, name, None) if name in observe.__all__ else None
    if function is None:
        return None

    def last(run):
        where = {"log_t": np.array([run.sol.log_t_end])} if "log_t" in inspect.signature(function).parameters else {}
        found = function(run.sol, **where)
        return found[part] if part else found

    return last


def _check(rest: str):
    from reluflow.checking import names

    known = [name for name in names() if rest.startswith(name + ".")]
    if not known:
        return None
    name = max(known, key=len)
    what = rest[len(name) + 1 :]
    read = _of_report(what)
    return None if read is None else lambda run: read(run.report(name))


def _of_report(what: str):
    simple: dict[str, Callable] = {
        "applies": lambda r: float(r.applies),
        "ok": lambda r: float(r.ok),
        "margin": lambda r: min((c.margin for c in r.claims if not np.isnan(c.margin)), default=np.nan),
        "verdict": lambda r: min((c.verdict for c in r.claims), key=WORST_FIRST.index, default=""),
    }
    if what in simple:
        return simple[what]
    family, _, rest = what.partition(".")
    if family == "constants" and rest:
        return lambda r: dict(r.constants)[rest]
    number, _, field = rest.partition(".")
    if family == "claims" and number.isdigit() and field in ("measured", "bound", "slack", "margin", "verdict"):
        return lambda r: getattr(r.claims[int(number)], field)
    return None


FAMILIES: dict[str, Callable[[str], Callable | None]] = {
    "final": _final,
    "stats": _stats,
    "events": _events,
    "time": _time,
    "log_time": _log_time,
    "phases": _phases,
    "compare": _compare,
    "observe": _observe,
    "check": _check,
}


def _trajectory(run: Run, name: str) -> Value:
    """A quantity at the run's moments; NaN after the end of a run that stopped early."""
    sol, at = run.sol, run.moments
    within = (
        at <= sol.log_t_end * (1 + 1e-14 * np.sign(sol.log_t_end))
        if not sol.outcome.success
        else np.full(len(at), True)
    )
    if name == "log_norm":
        states = sol.at(log_t=at[within])
        with np.errstate(divide="ignore"):
            found = np.stack([p.log_scales[0] + np.log(np.linalg.norm(p.w, axis=1)) for p in states])
    elif name == "outputs":
        found = sol.outputs_at(log_t=at[within])
    else:
        found = sol.log_loss_at(log_t=at[within])
        found = np.exp(found) if name == "loss" else found
    full = np.full((len(at), *found.shape[1:]), np.nan)
    full[within] = found
    return ("frame", *TRAJECTORIES[name], "output")[: full.ndim], full
