"""Claims about moments that a run does not reach: unfinished, with what is missing."""

from dataclasses import replace

from reluflow.claim import Claim


def ends_before(end: float, until: float, what: str) -> str:
    """What is missing where a run ends before the time `until`, called `what`; empty where it does not."""
    return f"the run ends at t = {end:.6g}, before {what} = {until:.6g}" if end < until else ""


def so_far(claim: Claim, missing: str) -> Claim:
    """A claim about a largest or smallest value: unfinished where moments are missing, unless violated already."""
    return replace(claim, missing=missing) if missing and claim.verdict != "violated" else claim
