"""How near a report comes to a violation: a tier, and a number within it.

    error < a hypothesis fails < nothing measured < the claims hold < a claim is violated

Within a tier: minus the sum of the excesses of the failing hypotheses, or the excess of the worst claim, positive where
it is violated. An optimiser that uses ranks alone needs no more than this order (`score`, to be minimised).
"""

import math
import re
from dataclasses import asdict, dataclass, field

from reluflow.claim import Claim, Report

TIERS = ("error", "hypotheses", "unmeasured", "holds", "violated")
ERROR, HYPOTHESES, UNMEASURED, HOLDS, VIOLATED = range(5)
LARGEST = 700.0  # of an excess: a ratio of e^700
UNMET = 10.0  # the excess of a hypothesis that cannot be measured
NO_CLAIM = "no claim"
NEVER = ("unmeasured", "unfinished")


@dataclass(frozen=True)
class Judged:
    """One run judged. `text` is the worst claim, the failing hypothesis, or the error; `tight` the tightness of every
    claim that has one; `doubtful` marks a violation that did not survive a closer look."""

    tier: int
    value: float
    text: str = ""
    tight: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def score(self) -> float:
        """What the search minimises."""
        return -(10.0 * self.tier + 4.0 * self.value / (1.0 + abs(self.value)))

    def to_dict(self) -> dict:
        return asdict(self)


def judged(report: Report, only: str = "", seconds: float = 0.0) -> Judged:
    """The tier and the value of a report; `only` keeps the claims whose text contains it."""
    if not report.consistent:
        wrong = next(c for c in report.record if c.verdict == "violated")
        return Judged(ERROR, 0.0, f"the record of the run contradicts itself: {wrong.text}", {}, seconds)
    failing = [h for h in report.hypotheses if not h.ok]
    if failing:
        value = -sum(min(max(excess(h), 0.0), LARGEST) if h.verdict not in NEVER else UNMET for h in failing)
        worst = max(failing, key=lambda h: excess(h) if h.verdict not in NEVER else UNMET)
        return Judged(HYPOTHESES, value, name(worst), {}, seconds)
    claims = chosen(report, only)
    measured = [c for c in claims if c.verdict not in NEVER]
    if not measured:
        return Judged(UNMEASURED, 0.0, name(claims[0]) if claims else NO_CLAIM, {}, seconds)
    worst = max(measured, key=lambda c: (c.verdict == "violated", excess(c)))
    tight = {name(c): tightness(c) for c in measured}
    tier = VIOLATED if worst.verdict == "violated" else HOLDS
    return Judged(tier, excess(worst), name(worst), {k: v for k, v in tight.items() if v == v}, seconds)


def chosen(report: Report, only: str) -> list[Claim]:
    """Claims whose text contains `only`; without it, all but those whose constant the paper leaves open."""
    if only:
        return [c for c in report.claims if only.lower() in c.text.lower()]
    return [c for c in report.claims if c.kind != "fitted"]


def name(claim: Claim) -> str:
    """The text of a claim without the counts and values that differ from run to run."""
    text = re.sub(r"\s*\(\d+ [a-z]+\)", "", claim.text)
    text = re.sub(r"= -?\d[\d.e+-]*", "= ...", text)
    return re.sub(r"\b\d+ (frames|samples|draws|directions|neurons|pairs)", r"... \1", text)


def excess(claim: Claim) -> float:
    """How far a claim is violated, negative where it holds: differences of logarithms where both sides have one."""
    m, b = claim.measured, claim.bound
    if math.isnan(m) or math.isnan(b):
        return -LARGEST
    if claim.relation == "=":
        gap = abs(m - b) if m != b else 0.0
        if claim.slack > 0:
            return _clip(math.log(gap / claim.slack)) if 0 < gap < math.inf else math.copysign(LARGEST, gap - 1.0)
        return gap / (abs(m) + abs(b)) if 0 < gap < math.inf else (LARGEST if gap else -1.0)
    sign = 1.0 if claim.relation in ("<", "<=") else -1.0
    if claim.log:
        return _clip(sign * (m - b)) if m != b else 0.0
    if m > 0 and b > 0:
        return _clip(sign * (_log(m) - _log(b))) if m != b else 0.0
    if not (math.isfinite(m) and math.isfinite(b)):
        return math.copysign(LARGEST, sign * (m - b)) if m != b else 0.0
    gap = sign * (m - b)
    if b == 0.0 and m != 0.0:  # the relative difference is 1 whatever m is: let its logarithm count a little
        return math.copysign(max(1e-3, 1.0 + 0.05 * math.log10(abs(m))), gap)
    return gap / (abs(m) + abs(b)) if gap else 0.0


def tightness(claim: Claim) -> float:
    """measured over bound (bound over measured for >=), at most 1 where the claim holds; NaN where no ratio is."""
    sides = claim.log or (claim.measured > 0 and claim.bound > 0)
    if claim.relation == "=" or claim.kind != "exact" or not sides or not math.isfinite(claim.bound):
        return math.nan
    allowed = claim.slack if claim.log else math.log1p(claim.slack / claim.bound)
    if claim.verdict == "holds within slack" and allowed > 0.01:  # the bound lies below what can be told
        return math.nan
    ratio = math.exp(min(excess(claim), LARGEST))
    return ratio if claim.verdict == "violated" else min(1.0, ratio)


def firm(claim: Claim, slacks: float = 10.0) -> bool:
    """Whether a violation exceeds its slack so many times: as a factor, where both sides are logarithms of what may
    lie far below rounding."""
    beyond = -claim.margin >= slacks * claim.slack or (claim.log and -claim.margin >= claim.slack + math.log(slacks))
    return claim.verdict == "violated" and beyond


def _log(v: float) -> float:
    return math.log(v) if math.isfinite(v) else LARGEST


def _clip(v: float) -> float:
    return max(-LARGEST, min(LARGEST, v))
