"""Lemma 12 of [MMV24]: the dead cone, S+ for V+ and S- for V- are never left by regular solutions."""

from reluflow.claim import Claim, Report
from reluflow.papers.min2024._run import as_run

needs = "flow"


def departures(run) -> dict[str, list[str]]:
    """For "dead" and "own": who left it, and when."""
    found: dict[str, list[str]] = {"dead": [], "own": []}
    for j, (row, homes) in enumerate(zip(run.visits, run.homes, strict=True)):
        for k in range(len(row) - 1):
            if homes[k] in found and homes[k + 1] != homes[k]:
                found[homes[k]].append(f"t = {row[k].end:.4g}, neuron {j}")
    return found


def check(sol) -> Report:
    r"""Claims: no neuron ever leaves $S_{dead}$; none of V+ leaves S+; none of V- leaves S-. At all times and any
    scale.

    Counted over every event of the run. The lemma says "any solution", but only regular ones stay in $S_{dead}$ (E6,
    see `example_e4`); the engine takes the regular one.
    """
    run = as_run(sol)
    left = departures(run)
    visits = {h: sum(home == h for homes in run.homes for home in homes) for h in left}
    claims = [
        Claim(
            f"departures from the dead cone ({visits['dead']} stays)",
            len(left["dead"]),
            "=",
            0,
            at=_first(left["dead"]),
        ),
        Claim(
            f"departures of V+ from S+ and of V- from S- ({visits['own']} stays)",
            len(left["own"]),
            "=",
            0,
            at=_first(left["own"]),
        ),
    ]
    hypotheses = run.hypotheses("separable", "balanced", "relu", "both layers")
    return Report("min2024.lemma12", claims, hypotheses, run.c.shown())


def _first(found):
    return found[0] if found else None
