"""The space of a check: `SPACE` of its paper's `_standard.py`, changed by its row in `SPACES`; or a table of a file."""

from typing import Any

from reluflow import space as spaces
from reluflow._schema import near
from reluflow.falsify.target import Target
from reluflow.papers import _found
from reluflow.space.core import SingleSpace, Space


def space_of(at: Target, over) -> Space | SingleSpace:
    """The space to search: what was given, or the check's own."""
    if isinstance(over, Space | SingleSpace):
        return over
    if isinstance(over, dict):
        return made(over)
    if over is not None:
        raise TypeError(
            f"`over` must be a space, got {type(over).__name__}: for instance `rf.space.line(n=3, width=6)`."
        )
    return made(own(at))


def own(at: Target) -> dict[str, Any]:
    """The table of a check's own space."""
    if not isinstance(at.claim, str):
        raise ValueError(
            f"`{at.name}` has no space of its own: give `over=`, for instance `rf.space.line(n=3, width=6)`."
        )
    paper = at.claim.split(".")[0]
    try:
        standard: Any = _found.module(paper, "_standard")
    except ModuleNotFoundError:
        standard = None
    table = dict(getattr(standard, "SPACE", {}))
    rows = getattr(standard, "SPACES", {})
    for name in (at.claim, f"{at.claim} {at.form or 'corrected'}"):
        change = rows.get(name, {})
        table = dict(change) if "kind" in change and change["kind"] != table.get("kind") else table | change
    if not table:
        raise ValueError(f"{at.claim} has no space of its own: give `over=`, for instance `rf.space.free(n=3, dim=2)`.")
    return table


def made(table: dict[str, Any]) -> Space | SingleSpace:
    """`kind = "line", n = 3, width = 6` as `rf.space.line(n=3, width=6)`."""
    table = dict(table)
    kind = table.pop("kind", None)
    if kind not in spaces.__all__:
        got = "no `kind`" if kind is None else f'"{kind}"'
        raise ValueError(
            f"`space.kind` must be one of {', '.join(spaces.__all__)}, got {got}: {near(str(kind), spaces.__all__)}"
        )
    return getattr(spaces, kind)(**table)
