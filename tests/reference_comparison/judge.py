r"""The engine's answer to a stored problem, judged by the reference's digits.

The promise (design): outputs right to E_i = 100 rtol max(1, |f_i|), event times to 100 rtol max(1, t). A loss may then
be off by L(f + E) - L(f) with every output wrong in the worse direction: no tolerance of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import reluflow as rf

TESTS = Path(__file__).parents[1]


@cache
def stored(name: str) -> list[dict]:
    """The problems of `<name>.json`, in `tests/references` or beside this file."""
    places = TESTS / "references" / f"{name}.json", Path(__file__).with_name(f"{name}.json")
    path = next(p for p in places if p.exists())
    found = json.loads(path.read_text())
    return found.get("problems") or found["runs"]


def problem(spec: dict) -> rf.Problem:
    """The problem a record describes by its numbers."""
    return rf.Problem(
        rf.Data(spec["x"], spec["y"]),
        rf.Params(spec["w"], spec["a"], log_scale=spec["log_scale"], log_scale_a=spec["log_scale_a"]),
        loss=spec["loss"],
        reduction=spec["reduction"],
        activation=rf.LeakyReLU(spec["slope"]),
        train=spec["train"],
    )


def total_loss(problem: rf.Problem, f: np.ndarray, worse: np.ndarray | float = 0.0) -> np.ndarray:
    """The loss of outputs f (times, n), each moved by `worse` in the direction that raises it."""
    y = problem.data.y
    if problem.loss == "square":
        each = 0.5 * (np.abs(f - y) + worse) ** 2
    elif problem.loss == "exponential":
        each = np.exp(-y * f + worse)
    else:
        each = np.logaddexp(0.0, -y * f + worse) * (2.0 if problem.loss == "logistic2" else 1.0)
    return problem.weight * each.sum(axis=1)


@dataclass(frozen=True)
class Verdict:
    """Largest errors over the times of a record, and what only one of the two lists of events has."""

    rtol: float
    outputs: float  # relative to max(1, |f|)
    losses: float  # relative to max(1, L)
    loss_share: float  # of what the promise on outputs allows a loss to be off by
    times: float  # of events, relative to max(1, t)
    eased: float  # the same times min(1, margin so far): what slow crossings make of an error of the state is taken out
    missing: list  # (t, neuron, datum, kind) of the reference alone
    extra: list  # of the engine alone
    margin: float  # the reference's distance to the nearest bifurcation

    @property
    def same_events(self) -> bool:
        return not self.missing and not self.extra

    @property
    def holds(self) -> bool:
        """Whether the promise of the design is kept."""
        limit = 100 * self.rtol
        return self.same_events and self.outputs <= limit and self.times <= limit and self.loss_share <= 1.0

    @property
    def holds_eased(self) -> bool:
        """The same with event times as exact as their crossing's rate lets them be."""
        limit = 100 * self.rtol
        return self.same_events and self.outputs <= limit and self.eased <= limit and self.loss_share <= 1.0

    def __str__(self) -> str:
        errors = f"outputs {self.outputs:.1e}, losses {self.losses:.1e}, event times {self.times:.1e}"
        odd = f"missing {self.missing}, extra {self.extra}"
        return f"{errors} at rtol {self.rtol:.0e}; distance to a bifurcation {self.margin:.1e}; {odd}"


def ledger(rows, rtol: float, end: float, first_origin: dict, linear: bool) -> dict:
    """Times of each (neuron, datum, kind), in order.

    Left out: neurons dead at t = 0, which the reference does not list; what happens within the promise of the end; what
    a neuron does from its passage through w = 0 on (`origin`: not unique in general, numerics section 8); and, for
    slope 1, bits, since there is nothing to switch.
    """
    found: dict = {}
    for t, *key in rows:
        started_dead = t == 0.0 and key[2] == "dead"
        passed = t >= first_origin.get(key[0], np.inf) * (1 - 100 * rtol)
        if t < end * (1 - 100 * rtol) and not started_dead and not passed and not (linear and key[1] >= 0):
            found.setdefault(tuple(key), []).append(t)
    return found


def engine_rows(sol) -> list:
    """(t, neuron, datum, kind) of every event, without those at which a neuron stays dead."""
    e = sol.events[~sol.events.wakes]
    return list(zip(e.t.tolist(), e.neuron.tolist(), e.datum.tolist(), e.kind.tolist(), strict=True))


def so_far(margins: dict) -> dict:
    """The smallest margin of a neuron's events up to each of them.

    A margin is the rate at which a neuron comes to a surface, over its speed: an error of its state, over that, is how
    late it is there. From then on it goes the same way, as much later, however fast it crosses the next one.
    """
    found, least = {}, {}
    for row in sorted(margins):
        least[row[1]] = found[row] = min(margins[row], least.get(row[1], 1.0))
    return found


def solve(spec: dict, rtol: float):
    return rf.solve(problem(spec), rf.Flow(rtol=rtol), t1=float(spec["times"][-1]))


def compare(spec: dict, rtol: float, sol=None) -> Verdict:
    """Solve the problem of a record at `rtol` (or take `sol`, a run of it) and measure the run."""
    sol = sol or solve(spec, rtol)
    times = [float(t) for t in spec["times"]]
    exact, losses = np.array(spec["f"], float), np.array(spec["losses"], float)
    errors = np.abs(sol.outputs_at(times) - exact) / np.maximum(1.0, np.abs(exact))
    loss_errors = np.abs(sol.loss_at(times) - losses)
    allowed = total_loss(sol.problem, exact, 100 * rtol * np.maximum(1.0, np.abs(exact))) - losses
    rows = [(float(t), *key) for t, *key, _, _ in spec["events"]]
    own = {row: spec["margin"] if e[5] is None else e[5] for row, e in zip(rows, spec["events"], strict=True)}
    margins = so_far(own)
    first_origin = {j: t for t, j, _, kind in reversed(rows) if kind == "origin"}
    linear = sol.problem.activation.slope == 1.0
    theirs, ours = (ledger(r, rtol, times[-1], first_origin, linear) for r in (rows, engine_rows(sol)))
    missing, extra, worst, eased = [], [], 0.0, 0.0
    for key in theirs.keys() | ours.keys():
        a, b = theirs.get(key, []), ours.get(key, [])
        if len(a) != len(b):
            missing += [(t, *key) for t in a]
            extra += [(t, *key) for t in b]
            continue
        for t, s in zip(a, b, strict=True):
            error = abs(s - t) / max(1.0, t)
            worst, eased = max(worst, error), max(eased, error * margins[(t, *key)])
    return Verdict(
        rtol=rtol,
        outputs=float(errors.max()),
        losses=float(np.max(loss_errors / np.maximum(1.0, losses))),
        loss_share=float(np.max(loss_errors / allowed)),
        times=worst,
        eased=eased,
        missing=sorted(missing),
        extra=sorted(extra),
        margin=spec["margin"],
    )


def table(verdicts: dict[float, list[Verdict]]) -> str:
    """Median and worst error at each tolerance, in Markdown."""
    lines = ["| rtol | promise | | outputs | losses | event times |", "| --- | --- | --- | --- | --- | --- |"]
    for rtol, found in verdicts.items():
        for name, pick in (("median", np.median), ("worst", np.max)):
            # Medians of times over the problems that have events.
            columns = [[v.outputs for v in found], [v.losses for v in found], [v.times for v in found if v.times > 0.0]]
            cells = " | ".join(f"{pick(c):.1e}" for c in columns)
            lines.append(f"| {rtol:.0e} | {100 * rtol:.0e} | {name} | {cells} |")
    return "\n".join(lines)
