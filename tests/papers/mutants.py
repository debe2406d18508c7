"""Runs that have been tampered with: what a check of a theorem is worth is what it notices of these.

A mutant is a Solution whose states, events or problem are not those of the run it was made of; everything else is the
run's own. Only `Tampered` and `_Replay` know how a Solution keeps its states.
"""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np

import reluflow as rf
from reluflow.engine.layout import parts


class _Replay:
    """The replay of a run with its states changed: everything else is the run's own."""

    def __init__(self, honest, change, clock):
        self._honest, self._change, self._moved = honest, change, clock

    def __getattr__(self, name):
        return getattr(self._honest, name)

    def at(self, clock):
        found = self._honest.at(clock if self._moved is None else self._moved(np.asarray(clock, float)))
        return self.changed(found._replace(clock=np.asarray(clock, float)))

    def changed(self, states):
        if self._change is None:
            return states
        y = states.y.copy()
        q, b, c = (v.copy() for v in self._honest.split(y))
        was_b, was_c = b.copy(), c.copy()
        factor = self._change(self._honest.clock.times(states.clock)[0], self._honest.expand(q), b, c)
        # States are kept in the run's own units: what changes is changed there by the same factors.
        own_q, own_b, own_c, _ = parts(y, self._honest.surfaces[0])
        own_q *= factor[..., None]
        own_b *= np.where(was_b != 0.0, b / np.where(was_b != 0.0, was_b, 1.0), 1.0)
        own_c += c - was_c
        return states._replace(y=y)


def Tampered(sol, change=None, *, clock=None, events=None, problem=None, last=None):
    """`sol` with `change(t, w, a, c)` made to its states at times t: mantissas w, a and log scales c, in place."""
    made, old = _Replay(sol.replay, change, clock), sol.recording
    frames, marks, resume, outcome = old.frames, old.checkpoints, old.resume, old.outcome
    if last is not None:  # a run that was stopped there
        kept = marks.clock <= last
        frames, marks, resume = frames.rows(frames.clock <= last), marks.rows(kept), resume[kept]
        outcome = rf.Outcome.REACHED
    states = [made.at(v.clock) if clock is not None else made.changed(v) for v in (frames, marks)]
    recording = replace(
        old,
        frames=states[0],
        checkpoints=states[1],
        resume=resume,
        outcome=outcome,
        events=old.events if events is None else events,
        problem=old.problem if problem is None else problem,
    )
    return rf.Solution(recording, made)


def since_when(sol) -> float:
    """The time of the middle event, or of the frame at a third of the run where that is earlier."""
    third = float(sol.t[len(sol.t) // 3])
    return min(third, float(sol.events.t[len(sol.events) // 2])) if len(sol.events) else third


def largest(sol) -> int:
    """The neuron that is largest at the end."""
    return int(np.argmax(sol.log_norm[-1]))


def reverse(sol, who):
    """Neurons whose direction is reversed from the middle event on."""
    since = since_when(sol)

    def change(t, w, a, c):
        turned = np.ones(a.shape)
        turned[np.ix_(np.atleast_1d(t) >= since, who)] = -1.0
        return turned

    return Tampered(sol, change)


def reverse_all(sol):
    return reverse(sol, np.arange(sol.problem.init.width))


def reverse_one(sol):
    return reverse(sol, np.array([largest(sol)]))


def scale_norms(sol):
    """Every neuron larger by e^(1/2) from the middle event on."""
    since = since_when(sol)

    def change(t, w, a, c):
        c[np.atleast_1d(t) >= since] += 0.5
        return np.ones(a.shape)

    return Tampered(sol, change)


def freeze(sol):
    """The neuron that is largest at the end keeps the size it has at the middle event."""
    since, j = since_when(sol), largest(sol)
    then = sol.at(since)
    size = float(then.log_scale[j]) + float(np.log(np.linalg.norm(then.w[j])))
    both = sol.problem.train == "both"

    def change(t, w, a, c):
        late = np.atleast_1d(t) >= since
        factor = np.ones(a.shape)
        with np.errstate(divide="ignore"):
            factor[late, j] = np.exp(size - c[late, j] - np.log(np.linalg.norm(w[late, j], axis=-1)))
        if both:
            a *= factor
        return factor

    return Tampered(sol, change)


def backwards(sol):
    """The run with time reversed."""
    last = float(sol.recording.checkpoints.clock[-1])
    if isinstance(sol.method, rf.Descent):
        return Tampered(sol, clock=lambda k: last - np.rint(k))
    return Tampered(sol, clock=lambda clock: last - clock)


def drop_events(sol):
    """Every second event is missing from the log."""
    return Tampered(sol, events=sol.events[np.arange(len(sol.events)) % 2 == 1])


def swap_labels(sol):
    p = sol.problem
    data = rf.Data(p.data.x, -p.data.y)
    return Tampered(sol, problem=_problem(p, data))


def replace_data(sol):
    """The inputs in another order, the labels in theirs."""
    p = sol.problem
    return Tampered(sol, problem=_problem(p, rf.Data(np.roll(p.data.x, 1, axis=0), p.data.y)))


def other_constants(sol):
    """Inputs half as long: every constant that depends on norms is another."""
    p = sol.problem
    return Tampered(sol, problem=_problem(p, rf.Data(0.5 * p.data.x, p.data.y)))


def cut(sol):
    """The run stopped at a sixth of its frames: nothing in it is false, but much of it is missing."""
    return Tampered(sol, last=float(sol.recording.frames.clock[max(1, len(sol.t) // 6)]))


def _problem(p, data):
    return rf.Problem(data, p.init, loss=p.loss, reduction=p.reduction, activation=p.activation, train=p.train)


MUTANTS = {
    "reverse all neurons": reverse_all,
    "reverse one neuron": reverse_one,
    "scale norms": scale_norms,
    "freeze a neuron": freeze,
    "reverse time": backwards,
    "drop events": drop_events,
    "swap labels": swap_labels,
    "replace data": replace_data,
    "other constants": other_constants,
    "cut the run": cut,
}


# Single neurons -------------------------------------------------------------------------------------------------------


def _single(run, **columns):
    """A run of one neuron with columns changed from a third of its frames on; what it shows elsewhere is its frames."""
    late = np.arange(len(run.log_t)) >= len(run.log_t) // 3
    new = {name: np.where(late, change(getattr(run, name)), getattr(run, name)) for name, change in columns.items()}
    return replace(run, **new, curve=None)


SINGLE = {
    "turn the neuron back": lambda run: _single(run, y=lambda y: -y),
    "freeze the angle": lambda run: _single(run, y=lambda y: np.full(len(y), y[len(y) // 3])),
    "scale the norm": lambda run: _single(run, log_norm=lambda v: v + 0.5, gap=lambda g: g + 0.5 * (run.problem.m + 1)),
    "reverse time": lambda run: replace(
        run, y=run.y[::-1], log_norm=run.log_norm[::-1], gap=run.gap[::-1], log_outer=run.log_outer[::-1], curve=None
    ),
    "another target": lambda run: replace(
        run, problem=replace(run.problem, log_target=run.problem.log_target + 1.0), curve=None
    ),
    "cut the run": lambda run: run.at(log_t=run.log_t[: max(3, len(run.log_t) // 6)]),
}


# The table ------------------------------------------------------------------------------------------------------------

_OWN, _TWO, _ORTHO = "six", "two points, 1e-60", "orthonormal, 1e-60"
SUBJECT = {
    **{c.name: _OWN for c in rf.checks("min2024") if c.needs == "flow"},
    **{c.name: _TWO for c in rf.checks("boursier2022") if c.needs in ("flow", "solution")},
    **{f"boursier2022.{k}": "small labels, 1e-70" for k in ("fact1", "lemma2", "lemma3", "lemma7", "lemma8", "lemma9")},
    "boursier2022.lemma10": "small labels, 1e-70",
    **{f"boursier2022.{k}": "small labels, 1e-560" for k in ("lemma4", "lemma11")},
    **{f"boursier2022.{k}": "two neurons, 1e-2220" for k in ("lemma12", "lemma13", "lemma15", "theorem2")},
    "boursier2022.larger_scale": "two points, 0.03/sqrt(m)",
    "boursier2022.leaky": "leaky two points, 1e-6",
    **{
        c.name: importlib.import_module("reluflow.papers.kou2023._standard").ON[c.name][0]
        for c in rf.checks("kou2023")
        if c.needs in ("flow", "solution", "descent")
    },
    **{
        c.name: importlib.import_module("reluflow.papers.lee2023._standard").ON[c.name][0]
        for c in rf.checks("lee2023")
        if c.needs == "single"
    },
}


def subject(name: str):
    paper = name.split(".")[0]
    return importlib.import_module(f"reluflow.papers.{paper}._standard").SUBJECTS[SUBJECT[name]]()


def row(name: str) -> dict[str, str]:
    """What a check makes of each mutant of its subject; empty where it does not apply to the honest run."""
    good = subject(name)
    before = rf.check(name, good)
    if not before.applies:
        return {}
    made = SINGLE if isinstance(good, rf.single.Run) else MUTANTS
    found = {}
    for mutant, make in made.items():
        try:
            with np.errstate(all="ignore"):
                found[mutant] = seen(before, rf.check(name, make(good)))
        except (ValueError, TypeError):  # refused in a sentence
            found[mutant] = "hypothesis"
    return found


def seen(before, after) -> str:
    if after.violated and not before.violated:
        return "claim"
    if not after.applies:
        return "hypothesis"
    for verdict in ("unfinished", "unmeasured"):
        if sum(c.verdict == verdict for c in after.claims) > sum(c.verdict == verdict for c in before.claims):
            return verdict
    return "record" if not after.consistent else "nothing"


def reason(name: str, mutant: str) -> str:
    """Why the statement does not speak of what was changed."""
    if mutant == "drop events":
        return _LISTED if name in LISTED else "the result is read off the weights; the log is the record's own claim"
    if mutant == "cut the run":
        return "what was left of the run decides every claim"
    return REASONS.get(name, {}).get(mutant) or REASONS.get(name, {}).get("*", "")


# Results that take times or numbers of switches from the log of events, which weights at frames alone cannot give.
LISTED = (
    "boursier2022.limit_alignment",
    "boursier2022.proposition2",
    "kou2023.lemma5_4",
    "kou2023.lemma5_6",
    "kou2023.lemma5_8",
    "kou2023.lemma_f2",
    "kou2023.limits",
    "kou2023.switching",
)
_LISTED = "times of switches come from the log, and that it agrees with the weights is the record's claim"
_PATH = "about directions, patterns and times: sizes of neurons do not enter"
_ROOM = "within the room of the bound, which is far from attained"
_FIELD = "an inequality of the vector field, true at any weights: that the run follows the field is the record's claim"
_SIZE = "about sizes: directions and signs do not enter"
_CLASSES = "labels and data enter only through what this leaves as it is"
_ONE_SIDED = "a bound from one side, which this moves away from"
_UP, _FREEZE, _OTHER = "scale norms", "freeze a neuron", "other constants"
_PATHS = {_UP: _PATH, _FREEZE: _PATH, _OTHER: _ROOM}
_TURNED = dict.fromkeys(("reverse all neurons", "reverse one neuron"), _SIZE)

REASONS: dict[str, dict[str, str]] = {
    **{
        f"min2024.{k}": _PATHS
        for k in ("appendix_f", "dwell", "equation7", "lemma12", "lemma14", "repulsion", "travel_time")
    },
    **{f"min2024.{k}": {"*": _FIELD} for k in ("lemma1", "lemma4", "lemma10", "equation46", "equation50", "lemma15")},
    "min2024.lemma3": {"*": "sizes and outputs up to T, far below their bounds at this scale"},
    "min2024.lemma13": {"*": _ONE_SIDED},
    "min2024.equation36": {_UP: _ROOM, _OTHER: _ROOM},
    "min2024.final_rate": {_UP: _ONE_SIDED},
    "min2024.poster": {_UP: _ONE_SIDED},
    "min2024.theorem1": {_UP: _ONE_SIDED},
    "min2024.refined_alignment": {_UP: _PATH},
    "min2024.sharp_t2": {_UP: _ROOM, _FREEZE: "the group's other neurons make up its outputs"},
    "min2024.low_rank": {"*": "the spectrum of W: a sign or a common size does not change it"},
    "boursier2022.lemma1": {"*": "a_j^2 - |w_j|^2 and the sign of a_j, which this leaves as they are"},
    "boursier2022.lemma9": {"*": "sizes from below, and no neuron gets as small"},
    "boursier2022.lemma6": dict.fromkeys(("swap labels", "replace data", _OTHER), _CLASSES),
    **{f"boursier2022.{k}": {_UP: _ROOM, _FREEZE: _ROOM} for k in ("lemma2", "lemma7")},
    "boursier2022.lemma8": {_UP: _ROOM, _FREEZE: _ROOM, "reverse one neuron": "the neuron is of the other class"},
    **{f"boursier2022.{k}": {_UP: "the moment of the phase's end moves with it"} for k in ("lemma3", "lemma10")},
    "boursier2022.lemma15": {_UP: "the ratio of gradient and loss is larger where neurons are"},
    "boursier2022.norms": {"reverse one neuron": "one of many neurons whose mean direction is measured"},
    "boursier2022.proposition2": {_UP: _PATH, _FREEZE: _PATH, _OTHER: _ROOM},
    "kou2023.lemma5_4": {"*": "ratios of sizes of coefficients, with constants that are fitted"},
    "kou2023.lemma5_5": {_OTHER: _ROOM},
    "kou2023.lemma5_6": {_UP: _PATH, _FREEZE: _PATH},
    "kou2023.lemma5_8": {_UP: _PATH, _FREEZE: _PATH, _OTHER: _PATH, "reverse time": "a pattern that never changes"},
    "kou2023.lemma_b3": {**_TURNED, _FREEZE: "averages over neurons"},
    "kou2023.lemma_c1": {"*": _ROOM},
    "kou2023.lemma_e2": {**_TURNED, _UP: _ROOM, _FREEZE: _ROOM, _OTHER: _ROOM},
    "kou2023.lemma_f1": {"*": "the spectrum of W: signs, labels and a common size do not change it"},
    "kou2023.relu_rate": {_UP: _ONE_SIDED},
    "kou2023.switching": {_UP: _PATH, _FREEZE: _PATH, _OTHER: _PATH},
    **{
        f"lee2023.{k}": dict.fromkeys(("turn the neuron back", "freeze the angle"), "the magnitude alone")
        for k in ("theorem3_3", "theorem3_8", "theorem_a1")
    },
    "lee2023.always_valid": {"*": "a range of magnitudes for all times: angle and order do not enter"},
    "lee2023.orbit": dict.fromkeys(("turn the neuron back", "freeze the angle"), "frames whose angle grows are judged"),
    "lee2023.corollary4_3": {"freeze the angle": _ROOM, "scale the norm": "the angle alone"},
    "lee2023.theorem4_2": {"scale the norm": "the angle alone"},
    "lee2023.theorem_a3": {"*": "the outer weight v_1 alone"},
}
