"""What a theorem says, beside what was measured.

A `Claim` is one inequality or equation with both sides filled in; a `Report` is a numbered result: its hypotheses, its
constants, its claims. Claims are judged even when hypotheses fail: `report.applies` is separate.

Verdicts: "holds" and "violated" are strict; "holds within slack" would be violated without the slack, which is the
rounding or discretisation that the checker's docstring derives. A limit is never more than "consistent so far", a
constant the paper does not name never more than "constant fitted". "unfinished" is a claim about moments later than the
end of the run, with what is missing; "unmeasured" one that this subject cannot decide at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from reluflow import _html, _words
from reluflow._checks import one_of

RELATIONS = ("<=", "<", ">=", ">", "=")
KINDS = ("exact", "limit", "fitted")
YES = " (1: yes)"  # at the end of the text of a claim that is a question, its sides being 0 or 1
NOT_COMPUTED = "not computed"


@dataclass(frozen=True)
class Claim:
    """`text`: `measured` `relation` `bound`, up to `slack`.

    With `log=True` both sides are natural logarithms, and so is the slack's unit: nothing is lost at e^-100000. `at`
    says where the worst case was: a time, a neuron, a pair. `kind="limit"` is a statement about t or scale going to a
    limit, `measured` being what extrapolation gives; `kind="fitted"` has a constant the paper leaves open, and
    `measured` is its smallest value. `note` shows the extrapolation or the fit. A measured NaN is "unmeasured".
    `missing` says what the run would have to reach for the claim to be decided: such a claim is "unfinished". A text
    that ends in "(1: yes)" is a question: reports show yes or no for its 1 or 0.
    """

    text: str
    measured: float
    relation: str
    bound: float
    slack: float = 0.0
    log: bool = False
    at: object = None
    kind: str = "exact"
    note: str = ""
    missing: str = ""

    def __post_init__(self):
        one_of("relation", self.relation, RELATIONS)
        one_of("kind", self.kind, KINDS)
        for name in ("measured", "bound", "slack"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if math.isnan(self.slack) and (math.isnan(self.measured) or math.isnan(self.bound)):
            object.__setattr__(self, "slack", 0.0)  # a slack computed from what cannot be measured
        if not self.slack >= 0.0:
            raise ValueError(f"`slack` must be >= 0, got {self.slack} for {self.text!r}: derive it, or leave it out.")

    @property
    def margin(self) -> float:
        """How far the claim is from failing, in its own units (of the logarithm with `log`); negative: violated."""
        if self.measured == self.bound:  # also two infinities
            return 0.0
        gap = self.bound - self.measured
        return {"<": gap, "<=": gap, ">": -gap, ">=": -gap, "=": -abs(gap)}[self.relation]

    @property
    def verdict(self) -> str:
        """holds, holds within slack, violated, unfinished, unmeasured, consistent so far, constant fitted."""
        if self.missing:
            return "unfinished"
        if math.isnan(self.measured) or math.isnan(self.bound):
            return "unmeasured"
        margin = self.margin
        strict = margin > 0 or (margin == 0 and self.relation not in "<>")
        if not strict and not (margin >= -self.slack and self.slack > 0):
            return "violated"
        if self.kind != "exact":
            return "consistent so far" if self.kind == "limit" else "constant fitted"
        return "holds" if strict else "holds within slack"

    @property
    def ok(self) -> bool:
        """Neither violated nor unfinished nor unmeasured."""
        return self.verdict not in ("violated", "unfinished", "unmeasured")

    def to_dict(self) -> dict:
        """Plain values for JSON; infinities and NaN as strings."""
        numbers = {k: _plain(getattr(self, k)) for k in ("measured", "bound", "slack", "margin")}
        rest = dict(text=self.text, relation=self.relation, log=self.log, kind=self.kind, note=self.note)
        rest["missing"] = self.missing
        return {**rest, **numbers, "at": _plain(self.at), "verdict": self.verdict}

    def statement(self) -> str:
        """The text with both sides filled in, without the verdict."""
        where = "" if self.at is None else f" (at {place(self.at)})"
        slack = f" slack {self.slack:.2g}" if self.slack else ""
        note = "".join(f"; {text}" for text in (self.missing, self.note) if text)
        return f"{said(self)}: {sides(self)}{slack}{where}{note}"

    def __str__(self) -> str:
        return f"{self.verdict:<18} {self.statement()}"


def said(claim: Claim) -> str:
    """The text of a claim, without the mark of a question that is answered by yes or no."""
    return claim.text.removesuffix(YES)


def sides(claim: Claim, digits: int = 6) -> str:
    """Both sides of a claim as text; "yes" or "no" where it is a question, and in words what was not computed."""
    if claim.text.endswith(YES) and not math.isnan(claim.measured):
        return "yes" if claim.measured else "no"
    left, right = (_number(v, claim.log, digits) for v in (claim.measured, claim.bound))
    if math.isnan(claim.measured) and math.isnan(claim.bound):
        return NOT_COMPUTED
    if math.isnan(claim.bound):
        return f"{left}, the bound is {NOT_COMPUTED}"
    if math.isnan(claim.measured):
        return f"{NOT_COMPUTED} (needs {claim.relation} {right})"
    return f"{left} {claim.relation} {right}"


def _cells(claim: Claim) -> tuple[str, str, str]:
    """Both sides of a claim and its relation, for a table."""
    if claim.text.endswith(YES) and not math.isnan(claim.measured):
        return sides(claim), "", ""
    return _number(claim.measured, claim.log), claim.relation, _number(claim.bound, claim.log)


def lacking(claim: Claim, digits: int = 6) -> str:
    """A claim that is not met: what was measured, and what it would have to be."""
    if claim.verdict != "violated" or claim.text.endswith(YES):
        return f"{said(claim)}: {sides(claim, digits)}"
    left, right = (_number(v, claim.log, digits) for v in (claim.measured, claim.bound))
    return f"{said(claim)}: {left} (needs {claim.relation} {right})"


def counted(report: Report) -> str:
    """How many claims of a report have which verdict, as text."""
    return ", ".join(f"{n} {plural(verdict, n)}" for verdict, n in report.counts().items())


def plural(verdict: str, n: int) -> str:
    """The verdict on n claims: one holds, two hold."""
    return verdict if n == 1 else verdict.replace("holds", "hold", 1)


def met(hypothesis: Claim) -> str:
    """The verdict on a hypothesis: a condition of a result is not violated but not met."""
    return "not met" if hypothesis.verdict == "violated" else hypothesis.verdict


@dataclass(frozen=True)
class Report:
    """A numbered result judged on one subject. `form` is "corrected" (as in the handbook) or "printed".

    `record` are claims about the run itself, the same for every result judged on it: that its log of events, its
    weights, its outputs and its equations of motion agree. A report on a run whose record contradicts itself proves
    nothing. `until` is the run's own time up to which the result needs the run (0: none; inf: a limit in time).
    """

    name: str
    claims: Sequence[Claim]
    hypotheses: Sequence[Claim] = ()
    constants: Mapping[str, float] = field(default_factory=dict)
    form: str = "corrected"
    notes: Sequence[str] = ()
    title: str = ""
    record: Sequence[Claim] = ()
    until: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "until", float(self.until))
        for name in ("claims", "hypotheses", "notes", "record"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def applies(self) -> bool:
        """Whether every hypothesis was measured and met."""
        return all(h.ok for h in self.hypotheses)

    @property
    def ok(self) -> bool:
        """Whether no claim is violated, those about the run's own record included."""
        return self.consistent and not self.violated

    @property
    def consistent(self) -> bool:
        """Whether the run's record does not contradict itself."""
        return all(c.verdict != "violated" for c in self.record)

    @property
    def violated(self) -> tuple[Claim, ...]:
        return tuple(c for c in self.claims if c.verdict == "violated")

    @property
    def unfinished(self) -> tuple[Claim, ...]:
        """Claims about moments later than the end of the run."""
        return tuple(c for c in self.claims if c.verdict == "unfinished")

    def counts(self) -> dict[str, int]:
        """How many claims have which verdict."""
        found: dict[str, int] = {}
        for claim in self.claims:
            found[claim.verdict] = found.get(claim.verdict, 0) + 1
        return found

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "form": self.form,
            "applies": self.applies,
            "hypotheses": [h.to_dict() for h in self.hypotheses],
            "constants": {k: _plain(v) for k, v in self.constants.items()},
            "claims": [c.to_dict() for c in self.claims],
            "record": [c.to_dict() for c in self.record],
            "until": _plain(self.until),
            "notes": list(self.notes),
        }

    def conclusion(self) -> str:
        """The verdict of the report as a sentence."""
        if not self.consistent:
            return "The record of the run contradicts itself, so that nothing above is evidence."
        count = len(self.claims)
        bad, late = len(self.violated), len(self.unfinished)
        open_ = sum(c.verdict == "unmeasured" for c in self.claims)
        held = sum(c.verdict.startswith("holds") for c in self.claims)
        so_far = count - bad - late - open_ - held
        met = "The hypotheses are met" if self.hypotheses else "There are no hypotheses"
        start = f"{met}, and" if self.applies else "The hypotheses are not met, so that the result does not apply here;"
        if count == 0:
            return f"{start} there is no claim to judge."
        if held == count:
            return f"{start} {'the claim holds' if count == 1 else f'all {count} claims hold'}."
        if so_far == count:
            return f"{start} {'the claim is' if count == 1 else f'all {count} claims are'} consistent with this run."
        parts = [f"{held} of {count} claims {'holds' if held == 1 else 'hold'}"] if held else []
        parts += [f"{so_far} {'is' if so_far == 1 else 'are'} consistent with this run"] if so_far else []
        parts += [f"{bad} {'is' if bad == 1 else 'are'} violated"] if bad else []
        parts += [f"{late} need{'s' * (late == 1)} a longer run"] if late else []
        parts += [f"{open_} cannot be measured on this subject"] if open_ else []
        parts[0] = parts[0] if held else f"of {count} claims {parts[0]}"
        return f"{start} {', '.join(parts[:-1])}{' and ' if len(parts) > 1 else ''}{parts[-1]}."

    def _repr_html_(self) -> str:
        head = ("", "verdict", "statement", "measured", "", "bound")
        rows = [
            (kind, word(c), said(c), *_cells(c))
            for kind, word, claims in (("hypothesis", met, self.hypotheses), ("claim", _verdict, self.claims))
            for c in claims
        ]
        title = f"{self.name}{': ' + self.title if self.title else ''}"
        made = _html.text(title) + _html.table(rows, head) + _html.text(self.conclusion())
        return made + _words.html(self._text())

    def __str__(self) -> str:
        form = "" if self.form == "corrected" else f" [{self.form}]"
        head = f"{self.name}{form}{': ' + self.title if self.title else ''}"
        lines = [head]
        if self.hypotheses:
            lines += [
                "  hypotheses are met"
                if self.applies
                else "  hypotheses are not all met; the claims are measured anyway"
            ]
        lines += [f"    {met(h):<18} {h.statement()}" for h in self.hypotheses]
        if self.constants:
            lines.append("  constants  " + ", ".join(f"{k} = {_number(v, False)}" for k, v in self.constants.items()))
        lines += ["  claims"] + [f"    {c}" for c in self.claims]
        if not self.consistent:
            lines += ["  the record of the run contradicts itself: nothing above is evidence"]
            lines += [f"    {c}" for c in self.record if c.verdict == "violated"]
        lines += [f"  note: {n}" for n in self.notes]
        words = _words.line(self._text())
        lines += [f"  {words}"] if words else []
        lines.append(f"  {self.conclusion()}")
        return "\n".join(lines)

    def _text(self) -> str:
        """What is read of the report besides numbers."""
        every = (*self.hypotheses, *self.claims)
        return "\n".join([self.title, *self.notes, *(f"{c.verdict} {c.text} {c.note}" for c in every)])

    __repr__ = __str__


def _verdict(claim: Claim) -> str:
    return claim.verdict


def _number(value: object, log: bool, digits: int = 6) -> str:
    if isinstance(value, float | np.floating) and math.isnan(value):
        return NOT_COMPUTED
    text = f"{value:.{digits}g}" if isinstance(value, float | int | np.number) else str(value)
    return f"e^{text}" if log else text


def place(at: object) -> str:
    """Where the worst case of a claim was, as text."""
    if isinstance(at, list | tuple | np.ndarray):
        return ", ".join(place(part) for part in at)
    return f"{at:.6g}" if isinstance(at, float | np.floating) else str(at)


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    return str(value)
