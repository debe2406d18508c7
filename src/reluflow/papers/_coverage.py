"""Statements of a paper and what looks at them, one a line: `Lemma 3 | lemma3, fig4` or `Figure 1 | - reason`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """`by` are names of the paper's checks and figures (`paper.check` for those of another); without any, `reason`."""

    name: str
    by: tuple[str, ...]
    reason: str = ""


def statements(text: str) -> tuple[Statement, ...]:
    """One Statement for each line `name | check, figure` or `name | - reason`; a reason may follow the names."""
    found = []
    for line in text.strip().splitlines():
        name, _, rest = (part.strip() for part in line.partition("|"))
        names, dash, reason = rest.partition("- ")
        by = tuple(n.strip() for n in names.split(",") if n.strip())
        found.append(Statement(name, by, reason.strip() if dash else ""))
    return tuple(found)
