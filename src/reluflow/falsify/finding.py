"""What `rf.falsify` returns: a verdict, the counterexample or the tightest run, and how it was found."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from reluflow._checks import plainly
from reluflow.claim import Claim, Report, said, sides
from reluflow.falsify.judgement import Judged, chosen, excess, name
from reluflow.falsify.picture import picture
from reluflow.falsify.target import Target
from reluflow.falsify.verify import Test

VERDICTS = ("refuted", "doubtful", "not refuted", "vacuous")


@dataclass(frozen=True)
class History:
    """Runs by tier, hypotheses that failed, errors with an example of each, the largest tightness of each claim with
    where it was found, and the trace of the best: (run, tier, value)."""

    runs: int
    seconds: float
    tiers: dict[str, int]
    hypotheses: dict[str, int]
    errors: dict[str, int]
    examples: dict[str, Any] = field(repr=False)
    tight: dict[str, tuple[float, Any]] = field(repr=False)
    trace: tuple[tuple[int, int, float], ...] = field(repr=False)

    @property
    def applied(self) -> int:
        """Runs that met all hypotheses."""
        return sum(self.tiers.get(t, 0) for t in ("unmeasured", "holds", "violated", "doubtful"))

    def line(self) -> str:
        order = ("error", "hypotheses", "unmeasured", "holds", "doubtful", "violated")
        words = {"error": "failed", "hypotheses": "outside the hypotheses", "holds": "hold"}
        said = [f"{self.tiers[t]:,} {words.get(t, t)}" for t in order if self.tiers.get(t)]
        return ", ".join(said) or "none"


@dataclass(frozen=True, eq=False)
class Finding:
    """`verdict`: "refuted" (a counterexample that was judged again by other means and made small), "doubtful" (a
    violation that was not upheld; `reason`), "not refuted" (`tightness`), "vacuous" (never judged; `reason`).

    `spec` holds the counterexample, or the run that came nearest, in plain numbers; `subject` is it, solved; `report`
    the claim judged on it; `tests` how it was judged again; `first` the specification before it was made small.
    """

    target: Target
    space: Any
    verdict: str
    spec: Any
    judged: Judged | None
    history: History
    tests: Sequence[Test]
    reason: str
    first: Any
    shrinking: int = 0
    note: str = ""

    def __bool__(self) -> bool:
        """Whether the claim is refuted."""
        return self.verdict == "refuted"

    @cached_property
    def subject(self):
        """Data, problem or run, as the claim needs."""
        return None if self.spec is None else self.spec.subject(self.target.needs)

    @cached_property
    def report(self) -> Report | None:
        return None if self.spec is None else self.target.report(self.subject)

    @property
    def claim(self) -> Claim | None:
        """The claim that is violated, or comes nearest to it."""
        if self.report is None or self.judged is None:
            return None
        mine = [c for c in chosen(self.report, self.target.only) if name(c) == self.judged.text]
        return max(mine, key=lambda c: (c.verdict == "violated", excess(c)), default=None)

    @property
    def tightness(self) -> float:
        """The largest measured/bound of any claim found (bound/measured for >=); NaN where no claim has a ratio."""
        return max((value for value, _ in self.history.tight.values()), default=math.nan)

    def toml(self) -> str:
        """The counterexample as an experiment file."""
        head = [f"# {line}" for line in self.sentences()]
        return "\n".join(head) + "\n\n" + ("" if self.spec is None else self.spec.toml(self.target.needs))

    def python(self) -> str:
        """A snippet that makes the subject and judges it, bit for bit."""
        if self.spec is None:
            return ""
        return "\n".join([*self.spec.python(self.target.needs), self.target.python(self.claim)]) + "\n"

    def plot(self):
        """A picture: the run, what was measured against its bound, and how the search came to it."""
        return picture(self)

    def save(self, folder: str | Path) -> Path:
        """Writes `counterexample.toml`, `counterexample.py`, `report.md` and `picture.png` into a folder, and
        `before_shrinking.toml` where it was made small."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "counterexample.toml").write_text(self.toml(), encoding="utf-8")
        (folder / "counterexample.py").write_text(self.python(), encoding="utf-8")
        (folder / "report.md").write_text(self.table(), encoding="utf-8")
        if self.first is not self.spec:
            (folder / "before_shrinking.toml").write_text(self.first.toml(self.target.needs), encoding="utf-8")
        if self.spec is not None:
            self.plot().savefig(folder / "picture.png", dpi=200)
        return folder

    def table(self) -> str:
        """Hypotheses and claims in Markdown: measured, bound, verdict."""
        lines = [f"# {self.target.name}", "", *(f"{s}\n" for s in self.sentences())]
        if self.report is None:
            return "\n".join(lines)
        lines += ["| | measured | | bound | verdict |", "| --- | ---: | --- | ---: | --- |"]
        for kind, claims in (("hypothesis", self.report.hypotheses), ("claim", self.report.claims)):
            for c in claims:
                power = "e^" if c.log else ""
                sides = f"{power}{c.measured:.6g} | {c.relation} | {power}{c.bound:.6g}"
                lines.append(f"| {kind}: {_cell(c.text)} | {sides} | {c.verdict} |")
        return "\n".join([*lines, ""])

    def sentences(self) -> list[str]:
        """The result in a few lines."""
        h = self.history
        name = f"{self.target.name} ({self.target.form})" if self.target.form else self.target.name
        took = f"after {h.runs:,} runs ({h.seconds:.1f} s)"
        tail = f" ({self.note})" if self.note else ""
        if self.verdict == "vacuous":
            return [f"{name}: vacuous {took}{tail}. {self.reason}"]
        claim = self.claim
        nearest = f": {_sides(claim)}" if claim is not None else ""
        runs = f"runs: {h.line()}{_failure(h)}"
        if self.verdict == "not refuted":
            tight = self.tightness
            ratio = f", tightness {tight:.4g}" if tight == tight else ""
            return [f"{name}: not refuted {took}{tail}{ratio} ({h.applied:,} runs apply)", f"nearest{nearest}", runs]
        tests = "; ".join(str(t) for t in self.tests)
        shrunk = ""
        if self.spec is not self.first:
            shrunk = (
                f"its numbers shortened from {self.first.characters} to {self.spec.characters} characters in all, in "
                f"{self.shrinking} runs; "
            )
        lines = [f"{name}: {self.verdict} {took}{tail}{nearest}", f"{shrunk}{tests}", runs]
        return lines if self.verdict == "refuted" else [*lines, f"doubtful because {self.reason}"]

    def to_dict(self) -> dict:
        """Plain values for JSON."""
        claim, h = self.claim, self.history
        return {
            "claim": self.target.name,
            "form": self.target.form or "corrected",
            "verdict": self.verdict,
            "reason": self.reason,
            "runs": h.runs,
            "seconds": round(h.seconds, 2),
            "tiers": h.tiers,
            "hypotheses": dict(list(h.hypotheses.items())[:5]),
            "errors": dict(list(h.errors.items())[:5]),
            "examples": {text: spec.numbers for text, spec in list(h.examples.items())[:5]},
            "tightness": {text: value for text, (value, _) in h.tight.items()},
            "worst": None if claim is None else claim.to_dict(),
            "tests": [{"name": t.name, "upheld": t.upheld, "said": t.said} for t in self.tests],
            "spec": None if self.spec is None else self.spec.numbers,
            "first": None if self.first is None else self.first.numbers,
            "characters": None if self.spec is None else [self.first.characters, self.spec.characters],
            "toml": self.toml(),
            "python": self.python(),
        }

    def __str__(self) -> str:
        return "\n".join([*self.sentences(), *([""] if self.spec is not None else []), self.python().rstrip()]).rstrip()

    __repr__ = __str__


def _sides(claim: Claim) -> str:
    where = f" (at {claim.at})" if claim.at is not None else ""
    return f"{said(claim)}: {sides(claim)}{where}"


def _failure(history: History) -> str:
    """Why runs failed: the most frequent reason."""
    if not history.errors:
        return ""
    text, times = next(iter(history.errors.items()))
    most = "" if len(history.errors) == 1 else f" {times:,} times"
    return f" (failed{most} with {plainly(text, 200)})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
